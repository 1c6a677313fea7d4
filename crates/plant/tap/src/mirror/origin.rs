//! What is mirrored: a ring of either kind, or a journal.

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use nanotape_journal::{ErrorKind, Tailer, TailerSource};
use nanotape_ring::{Capacity, Rejoin, RingError, RingSource, Start, StartError, Subscribe as _};
use nanotape_tape::{Item, Progress, Source, Tape, Writer};

use super::MirrorError;
use crate::recorder::recorded_ring;

/// A source with its path in errors.
#[derive(Debug)]
pub(super) enum Origin {
    Ring(Box<RingSource>, PathBuf),
    Journal(Box<TailerSource>, PathBuf),
}

/// What a source has under a number.
#[derive(Debug)]
pub(super) enum Found {
    Message {
        type_id: u16,
        payload: Vec<u8>,
    },
    /// It no longer has the message, or never had.
    Nothing,
    /// The number is not given yet.
    NotYet {
        next: u64,
    },
}

impl Origin {
    /// Opens a journal if the path is that of a folder, else a ring.
    pub(super) fn open(path: &Path) -> Result<Self, MirrorError> {
        if path.is_dir() {
            let tailer = Tailer::open(path, Start::Oldest)?;
            return Ok(Self::Journal(Box::new(TailerSource::new(tailer)), path.to_owned()));
        }
        let opened = RingSource::open(path, Start::Newest);
        let mut source = opened.map_err(|error| MirrorError::of_ring(path, error))?;
        // To lose as few as possible: a loss here is one of every reader of the mirror.
        source.reader_mut().set_rejoin(Rejoin::Oldest);
        Ok(Self::Ring(Box::new(source), path.to_owned()))
    }

    /// The creation time of the ring, or of the ring that the journal was recorded from; `None` if
    /// that is unknown.
    pub(super) fn identity(&self) -> Result<Option<u64>, MirrorError> {
        let created_ns = match self {
            Self::Ring(source, _) => Some(source.reader().region().created_ns()),
            Self::Journal(_, path) => {
                recorded_ring(path).map_err(|error| MirrorError::Mark(Box::new(error)))?
            }
        };
        Ok(created_ns.filter(|&created_ns| created_ns != 0))
    }

    pub(super) fn is_journal(&self) -> bool {
        matches!(self, Self::Journal(..))
    }

    /// The size of the ring.
    pub(super) fn capacity(&self) -> Option<Capacity> {
        match self {
            Self::Ring(source, _) => Some(Capacity::of(source.reader().region().spec())),
            Self::Journal(..) => None,
        }
    }

    /// The message of this number. Changes the position.
    pub(super) fn find(&mut self, sequence: u64) -> Result<Found, MirrorError> {
        match self.seek(Start::Sequence(sequence)) {
            Ok(()) => {}
            Err(error) if is_not_yet(&error) => return Ok(Found::NotYet { next: self.end()? }),
            Err(error) => return Err(error),
        }
        let mut found = None;
        let polled = self.poll_one(|item| {
            found = match item {
                Item::Message(message) if message.sequence == sequence => {
                    let (type_id, payload) = (message.type_id, message.payload.to_vec());
                    Some(Found::Message { type_id, payload })
                }
                _ => Some(Found::Nothing),
            };
        })?;
        match (polled, found) {
            (Progress::Nothing, _) => Ok(Found::NotYet { next: self.end()? }),
            (_, found) => Ok(found.unwrap_or(Found::Nothing)),
        }
    }
}

impl Tape for Origin {
    type Error = MirrorError;

    #[inline]
    fn next_sequence(&self) -> u64 {
        match self {
            Self::Ring(source, _) => source.next_sequence(),
            Self::Journal(source, _) => source.next_sequence(),
        }
    }

    fn end(&self) -> Result<u64, MirrorError> {
        match self {
            Self::Ring(source, path) => {
                source.end().map_err(|error| MirrorError::of_ring(path, error))
            }
            Self::Journal(source, _) => Ok(source.end()?),
        }
    }

    fn writer(&self) -> Writer {
        match self {
            Self::Ring(source, _) => source.writer(),
            Self::Journal(source, _) => source.writer(),
        }
    }

    fn check(&mut self) -> Result<(), MirrorError> {
        match self {
            Self::Ring(source, path) => {
                source.check().map_err(|error| MirrorError::of_ring(path, error))
            }
            Self::Journal(source, _) => Ok(source.check()?),
        }
    }
}

impl Source for Origin {
    #[inline]
    fn poll(
        &mut self,
        visit: impl FnMut(Item<'_>) -> ControlFlow<()>,
    ) -> Result<Progress, MirrorError> {
        match self {
            Self::Ring(source, path) => {
                source.poll(visit).map_err(|error| MirrorError::of_ring(path, error))
            }
            Self::Journal(source, _) => Ok(source.poll(visit)?),
        }
    }

    fn seek(&mut self, start: Start) -> Result<(), MirrorError> {
        match self {
            Self::Ring(source, path) => {
                source.seek(start).map_err(|error| MirrorError::of_ring(path, error))
            }
            Self::Journal(source, _) => Ok(source.seek(start)?),
        }
    }
}

/// Whether a start has a number that is not given yet.
fn is_not_yet(error: &MirrorError) -> bool {
    match error {
        MirrorError::Ring { error, .. } => {
            matches!(**error, RingError::Start(StartError::NotYet { .. }))
        }
        MirrorError::Journal(error) => matches!(error.kind(), ErrorKind::NotYet { .. }),
        _ => false,
    }
}
