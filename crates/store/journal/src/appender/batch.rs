//! Excerpts that are committed together.

use super::{Appender, claim::writer};
use crate::{
    ErrorKind, JournalError,
    disk::Disk,
    segment::{
        excerpt::{MAX_LENGTH, excerpt_words},
        view::Place,
    },
};

/// Excerpts that readers see together or not at all. Discarded when dropped without
/// [`commit`](Self::commit).
#[derive(Debug)]
pub struct Batch<'appender, D: Disk> {
    /// The position after the last excerpt.
    end: Place,
    count: u64,
    /// The commit word of the first excerpt.
    gate: u64,
    appender: &'appender mut Appender<D>,
}

impl<'appender, D: Disk> Batch<'appender, D> {
    pub(super) fn new(appender: &'appender mut Appender<D>) -> Self {
        let end = *writer(appender).place();
        Self { end, count: 0, gate: 0, appender }
    }

    /// Adds an excerpt; returns the sequence number that it will have.
    #[inline]
    pub fn append(
        &mut self,
        type_id: u16,
        ts_ns: u64,
        payload: &[u8],
    ) -> Result<u64, JournalError> {
        let writer = writer(self.appender);
        if payload.len() > MAX_LENGTH as usize {
            return Err(self.too_long(payload.len()));
        }
        let words = excerpt_words(payload.len());
        if words > writer.layout().limit() - self.end.at {
            return Err(self.full(payload.len()));
        }
        let mut front = writer.front(type_id, ts_ns, payload.len());
        front.sequence = self.end.sequence;
        self.gate = writer.stage(self.end.at, self.gate, &front, payload);
        self.end = self.end.behind(&front);
        self.count += 1;
        Ok(front.sequence)
    }

    /// The number of excerpts.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Whether there are no excerpts.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Commits all excerpts; returns the sequence number after the last one. The error is
    /// [`NotOnDisk`](ErrorKind::NotOnDisk).
    #[inline]
    pub fn commit(mut self) -> Result<u64, JournalError> {
        let (count, gate, end) = (std::mem::take(&mut self.count), self.gate, self.end);
        if count > 0 {
            writer(self.appender).commit_staged(gate, &end);
            self.appender.committed(count, end.at)?;
        }
        Ok(end.sequence)
    }

    #[cold]
    fn too_long(&self, length: usize) -> JournalError {
        let problem = ErrorKind::TooLong { length, max: MAX_LENGTH as usize };
        JournalError::new(self.appender.disk.path(""), problem)
    }

    #[cold]
    fn full(&self, length: usize) -> JournalError {
        JournalError::new(self.appender.disk.path(""), ErrorKind::BatchFull { length })
    }
}

impl<D: Disk> Drop for Batch<'_, D> {
    fn drop(&mut self) {
        if self.count > 0 {
            writer(self.appender).clear(self.end.at);
        }
    }
}
