//! Why a live session, or a kept one, cannot be read.

use std::{io, path::PathBuf};

use nanotape_feed::udp::UdpError;
use nanotape_journal::{ErrorKind, JournalError};
use nanotape_records::TradeDate;

use crate::{Interface, ServerAddress, SettingsError};

/// Why a live session cannot be received, kept or run again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LiveError {
    /// An address cannot be opened or read.
    #[error(transparent)]
    Udp(#[from] UdpError),
    /// The settings of the lines or servers contradict each other.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// An interface has no address on which groups can be joined.
    #[error("interface {interface}: {source}")]
    Interface {
        /// The interface.
        interface: Interface,
        /// The cause.
        source: io::Error,
    },
    /// The address of a server cannot be found.
    #[error("server {server}: {source}")]
    Server {
        /// The server.
        server: ServerAddress,
        /// The cause.
        source: io::Error,
    },
    /// The journal of packets cannot be opened or read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The thread that receives while the plant catches up cannot be started.
    #[error("cannot start a thread that receives packets: {0}")]
    Thread(io::Error),
    /// The folder for those of several sessions is that of one.
    #[error("{}: has packets of one session, and with --follow each session gets a folder below it; \
             keep in another folder", folder.display())]
    OneSession {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder for those of several sessions cannot be made.
    #[error("{}: cannot make it: {source}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The session in the folder in which packets are to be kept has ended.
    #[error("{}: the session in it has ended; keep each session in a folder of its own",
            folder.display())]
    Over {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder in which packets are to be kept has those of another trade date.
    #[error("{}: has packets of {kept}, and the trade date is {now}; keep each session in a folder \
             of its own, or give --date {kept} to go on with it", folder.display())]
    OtherDate {
        /// The folder.
        folder: PathBuf,
        /// Its trade date.
        kept: TradeDate,
        /// That of the plant.
        now: TradeDate,
    },
    /// The packets in the folder were received with other settings.
    #[error("{}: was kept with another setting ({what}); start the plant with that one, or keep in \
             another folder", folder.display())]
    OtherSettings {
        /// The folder.
        folder: PathBuf,
        /// The first setting that differs.
        what: &'static str,
    },
    /// A folder is a journal, but not of a session's packets.
    #[error("{}: not a kept session: excerpt {sequence} is {found}, expected {expected}",
            folder.display())]
    Kept {
        /// The folder.
        folder: PathBuf,
        /// The number of the excerpt.
        sequence: u64,
        /// What it is.
        found: String,
        /// What was expected.
        expected: &'static str,
    },
}

impl LiveError {
    /// Whether a folder is not that of a kept session.
    pub fn is_other_folder(&self) -> bool {
        match self {
            Self::Kept { sequence, .. } => *sequence <= 1,
            Self::Journal(error) => {
                matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotAJournal)
            }
            Self::Udp(_)
            | Self::Settings(_)
            | Self::Interface { .. }
            | Self::Server { .. }
            | Self::Thread(_)
            | Self::OneSession { .. }
            | Self::Folder { .. }
            | Self::Over { .. }
            | Self::OtherDate { .. }
            | Self::OtherSettings { .. } => false,
        }
    }
}
