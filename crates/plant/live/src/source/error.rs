//! Why a live session, or a kept one, cannot be read.

use std::{io, path::PathBuf};

use nanotape_feed::udp::UdpError;
use nanotape_journal::{ErrorKind, JournalError};

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
    /// The folder in which packets are to be kept has a journal.
    #[error("{}: has a journal already; keep each session in a folder of its own", folder.display())]
    NotEmpty {
        /// The folder.
        folder: PathBuf,
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
            | Self::NotEmpty { .. } => false,
        }
    }
}
