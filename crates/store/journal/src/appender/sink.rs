//! The appender as the writer of a numbered stream, with payloads that exist and in place.

use nanotape_clock::UtcNanos;
use nanotape_tape::{InPlaceSink, Sink};

use super::{Appender, Claim};
use crate::{Disk, JournalError};

impl<D: Disk> Sink for Appender<D> {
    type Error = JournalError;

    #[inline]
    fn next_sequence(&self) -> u64 {
        self.next_sequence()
    }

    #[inline]
    fn append_at(
        &mut self,
        sequence: u64,
        type_id: u16,
        ts: UtcNanos,
        payload: &[u8],
    ) -> Result<(), JournalError> {
        if sequence != self.next_sequence() {
            self.skip_to(sequence)?;
        }
        self.append(type_id, ts.unix_ns(), payload).map(drop)
    }

    fn skip_to(&mut self, sequence: u64) -> Result<(), JournalError> {
        self.skip_to(sequence)
    }

    fn rewind_to(&mut self, sequence: u64) -> Result<(), JournalError> {
        self.rewind_to(sequence).map(drop)
    }

    fn durable(&mut self) -> u64 {
        self.durable()
    }
}

impl<D: Disk> InPlaceSink for Appender<D> {
    type Error = JournalError;
    type Room<'sink>
        = Claim<'sink, D>
    where
        D: 'sink;

    #[inline]
    fn reserve(
        &mut self,
        type_id: u16,
        ts: UtcNanos,
        length: usize,
    ) -> Result<Claim<'_, D>, JournalError> {
        self.claim(type_id, ts.unix_ns(), length)
    }
}
