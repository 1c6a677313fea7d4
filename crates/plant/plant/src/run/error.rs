//! Why a plant cannot run, or ended early.

use std::{io, path::PathBuf};

use nanotape_book::Room;
use nanotape_feed::SourceError;
use nanotape_live::LiveError;
use nanotape_ring::{PublishError, RingError};
use nanotape_shm::{Refusal, RegionError};
use nanotape_trace::spans::TraceError;

use crate::{config::ConfigError, followers::WaitForError, recording::RecordingError};

/// Why a plant cannot run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The configuration has no input.
    #[error("no input: name a day file, or - for standard input")]
    NoInput,
    /// The configuration has no ring.
    #[error("no ring: give it a name, such as equities")]
    NoRing,
    /// The trade date is unknown.
    #[error(
        "{name}: no trade date in the file name, and no message has one: give it, as in --date \
         2019-12-30"
    )]
    NoDate {
        /// The input.
        name: String,
    },
    /// The input is a journal or a DBN file.
    #[error("{name}: is {what}, expected a day file; read it with nanotape tap, inside or book")]
    NoDay {
        /// The input.
        name: String,
        /// Its kind.
        what: &'static str,
    },
    /// The input cannot be opened.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The configuration of the live session has no line.
    #[error("no line: give the live session at least line_a, as in 233.54.12.111:26477")]
    NoLine,
    /// The configuration has a schedule, and ends with its first session.
    #[error(
        "the configuration has a schedule, which is for a live plant that follows sessions: give \
         --follow, or follow = true in [input.live]"
    )]
    NoSessions,
    /// The schedule, or its file of holidays, is not valid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A live session cannot be received or kept, or a kept one cannot be read.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// The ring cannot be created or taken over.
    #[error("{}: {error}", path.display())]
    Ring {
        /// The ring.
        path: PathBuf,
        /// The cause.
        error: Box<RingError>,
    },
    /// The configuration has a journal, but there is no program that records.
    #[error("the configuration has a journal: open the plant with `PlantRun::open_recorded`")]
    NoRecorder,
    /// The recorder cannot be started.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// There is not enough memory for the configured number of live orders.
    #[error("{room}; give fewer, with --live-orders or machine.orders")]
    Orders {
        /// The tables.
        room: Room,
    },
    /// The same, and the system would end the plant when it uses the memory.
    #[error(
        "the tables for {} live orders need {} bytes, and {available_bytes} are available; give \
         fewer, with --live-orders or machine.orders", room.orders, room.bytes
    )]
    Memory {
        /// The tables.
        room: Room,
        /// The memory that the kernel can give without taking it from other programs.
        available_bytes: u64,
    },
    /// The plant cannot wait for named followers.
    #[error(transparent)]
    WaitFor(#[from] WaitForError),
    /// The name is invalid, or the board cannot be created.
    #[error(transparent)]
    Region(#[from] RegionError),
    /// The plant cannot be traced.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A thread cannot be started: the one that checks the ring and the board, or that of a plant
    /// in private memory.
    #[error("{}: cannot start a thread for it: {error}", path.display())]
    Thread {
        /// The ring, or the input.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// The ring or the board was removed, replaced or truncated during the run, and the plant
    /// stopped.
    #[error(
        "{error}; the plant stopped after ring message {last_sequence}: {}",
        what_to_do(error.refusal())
    )]
    RegionLost {
        /// The region, and the change.
        error: RegionError,
        /// The sequence number of the last record.
        last_sequence: u64,
    },
    /// A record does not fit the ring.
    #[error("{}: {error}", path.display())]
    Refused {
        /// The ring.
        path: PathBuf,
        /// The cause.
        error: PublishError,
    },
}

impl RunError {
    /// Whether the session in the folder of kept packets has ended: there is nothing to do.
    pub fn is_kept_to_its_end(&self) -> bool {
        matches!(self, Self::Live(LiveError::Over { .. }))
    }

    /// Whether the content is bad, rather than a name, a permission or the disk.
    pub fn is_bad_data(&self) -> bool {
        match self {
            Self::Source(error) => error.is_bad_data(),
            Self::Ring { error, .. } => error.is_bad_data(),
            Self::Region(error) => error.is_bad_data(),
            Self::RegionLost { .. } => true,
            _ => false,
        }
    }
}

/// The advice after the loss of a region.
fn what_to_do(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::Truncated { .. } => "remove the file and start the plant again",
        _ => "start the plant again",
    }
}
