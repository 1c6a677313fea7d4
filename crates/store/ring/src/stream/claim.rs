//! A message being written in place.

use nanotape_shm::Word;

use super::writer::{Frame, Writer};
use crate::{Claimed, Publish as _};

/// Room for one message in the ring's own memory. Dropping it discards the message.
#[derive(Debug)]
#[must_use = "a claim that is dropped publishes nothing"]
pub struct Claim<'writer> {
    writer: &'writer mut Writer,
    frame: Frame,
}

impl<'writer> Claim<'writer> {
    #[inline(always)]
    pub(super) fn new(writer: &'writer mut Writer, frame: Frame) -> Self {
        // Clears the rest of the last word, which could be from an older message.
        if let Some(last) = writer.payload(&frame).last() {
            last.store(0);
        }
        Self { writer, frame }
    }
}

impl Claimed for Claim<'_> {
    #[inline(always)]
    fn publish(self) -> u64 {
        let gate = self.writer.finish(&self.frame, self.writer.next_sequence(), None);
        self.writer.open(gate, self.frame.end, 1)
    }

    #[inline]
    fn payload(&self) -> &[Word] {
        self.writer.payload(&self.frame)
    }

    #[inline]
    fn len(&self) -> usize {
        self.frame.length as usize
    }
}
