//! An excerpt that is written in place.

use nanotape_shm::{WORD_BYTES, Word, copy_into};
use nanotape_tape::MessageRoom;

use super::Appender;
use crate::{
    JournalError,
    disk::Disk,
    segment::{excerpt::Front, excerpt::excerpt_words, writer::SegmentWriter},
};

/// Room for one excerpt in the journal itself. Discarded when dropped without
/// [`commit`](Self::commit).
#[derive(Debug)]
pub struct Claim<'appender, D: Disk> {
    appender: &'appender mut Appender<D>,
    front: Front,
    is_committed: bool,
}

impl<'appender, D: Disk> Claim<'appender, D> {
    /// The caller has checked that there is room.
    pub(super) fn new(
        appender: &'appender mut Appender<D>,
        type_id: u16,
        ts_ns: u64,
        length: usize,
    ) -> Self {
        let front = writer(appender).front(type_id, ts_ns, length);
        Self { appender, front, is_committed: false }
    }

    /// The words to write, all zero before. Bytes of the last word after the length are set to
    /// zero.
    #[inline]
    pub fn words(&self) -> &[Word] {
        match &self.appender.writer {
            Some(writer) => writer.payload(self.front.length as usize),
            None => &[],
        }
    }

    /// Copies bytes to the beginning of the payload.
    ///
    /// # Panics
    ///
    /// If there are more bytes than were claimed.
    #[inline]
    pub fn copy_from(&mut self, bytes: &[u8]) {
        assert!(bytes.len() <= self.front.length as usize, "more bytes than were claimed");
        copy_into(self.words(), bytes);
    }

    /// Commits the excerpt; returns its sequence number. The error is
    /// [`NotOnDisk`](crate::ErrorKind::NotOnDisk).
    #[inline]
    pub fn commit(mut self) -> Result<u64, JournalError> {
        self.is_committed = true;
        let front = self.front;
        let writer = writer(self.appender);
        writer.commit(&front);
        let at = writer.place().at;
        self.appender.committed(1, at)?;
        Ok(front.sequence)
    }
}

impl<D: Disk> MessageRoom for Claim<'_, D> {
    type Error = JournalError;

    #[inline]
    fn set_words<const N: usize>(&mut self, words: [[u8; 8]; N]) {
        for (word, bytes) in self.words()[..N].iter().zip(words) {
            word.store(u64::from_ne_bytes(bytes));
        }
    }

    #[inline]
    fn write(&mut self, first_word: usize, bytes: &[u8]) {
        let end = first_word * WORD_BYTES + bytes.len();
        let length = self.front.length as usize;
        assert!(end <= length, "{end} bytes in a claim of {length}");
        copy_into(&self.words()[first_word..], bytes);
    }

    #[inline]
    fn commit(self) -> Result<u64, JournalError> {
        self.commit()
    }
}

impl<D: Disk> Drop for Claim<'_, D> {
    fn drop(&mut self) {
        if !self.is_committed {
            let words = excerpt_words(self.front.length as usize);
            let writer = writer(self.appender);
            writer.clear(writer.place().at + words);
        }
    }
}

/// The writer, in which there is room.
#[inline(always)]
pub(super) fn writer<D: Disk>(appender: &mut Appender<D>) -> &mut SegmentWriter<D::Writable> {
    let Some(writer) = &mut appender.writer else { unreachable!("room was made in it") };
    writer
}
