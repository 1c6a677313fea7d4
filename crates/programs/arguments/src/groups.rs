//! `--group`, `--session` and `--piece`: what of a capture a command reads.

use std::path::PathBuf;

use clap::Args;
use nanotape_feed::{CaptureChoice, Group, SessionName};

/// The choice of groups and of a session, and further files.
#[derive(Args, Clone, Debug, Default)]
pub struct GroupArguments {
    /// Read only datagrams of a capture to this destination, with or without a port; can be
    /// repeated [default: all destinations of the session]
    #[arg(help_heading = "Input", long = "group", value_name = "IP[:PORT]")]
    pub groups: Vec<Group>,

    /// Read this MoldUDP64 session of a capture [default: the first one in the file that has
    /// messages]
    #[arg(help_heading = "Input", long = "session", value_name = "NAME")]
    pub read_session: Option<SessionName>,

    /// Further file of the capture, such as one of a rotated capture, in any order; can be repeated
    #[arg(help_heading = "Input", long = "piece", value_name = "FILE")]
    pub pieces: Vec<PathBuf>,
}

impl GroupArguments {
    /// What of a capture is read.
    pub fn choice(&self) -> CaptureChoice {
        let (groups, pieces) = (self.groups.clone(), self.pieces.clone());
        CaptureChoice { groups, session: self.read_session, pieces }
    }
}
