//! The formats of a capture that a command writes.

use clap::ValueEnum;
use nanotape_exchange::transport::CaptureFormat;

use crate::output::FileFormat;

/// The format of a capture that is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum FileOfCapture {
    /// A file header, then packets
    Pcap,
    /// Blocks of several types
    Pcapng,
}

impl FileFormat for FileOfCapture {
    const SUFFIXES: &str = ".pcap or .pcapng";
    const OPTION: &str = "--capture-format";

    fn of_suffix(suffix: &str) -> Option<Self> {
        match suffix {
            "pcap" => Some(Self::Pcap),
            "pcapng" => Some(Self::Pcapng),
            _ => None,
        }
    }
}

impl From<FileOfCapture> for CaptureFormat {
    fn from(format: FileOfCapture) -> Self {
        match format {
            FileOfCapture::Pcap => Self::Pcap,
            FileOfCapture::Pcapng => Self::Pcapng,
        }
    }
}
