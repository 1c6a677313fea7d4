//! rtrb: a queue of slots between one writer and one reader of one process.
//!
//! The writer pushes one message at a time. The reader takes all available messages as one chunk
//! and frees their slots together: that is how rtrb reads in batches.

use std::hint::spin_loop;

use rivals_measure::Failure;
use rtrb::{Consumer, Producer, PushError, RingBuffer};

use super::SLOTS;
use crate::{
    options::Options,
    report::Run,
    threads,
    work::{Message, Reader, Writer},
};

pub(super) fn run(options: &Options) -> Result<Option<Run>, Failure> {
    threads::run(options, |_| {
        let (writer, reader) = RingBuffer::<Message>::new(SLOTS);
        (writer, vec![reader])
    })
}

impl Writer for Producer<Message> {
    #[inline]
    fn send(&mut self, message: &Message) -> Result<(), Failure> {
        while let Err(PushError::Full(_)) = self.push(*message) {
            spin_loop();
        }
        Ok(())
    }
}

impl Reader for Consumer<Message> {
    #[inline]
    fn poll(&mut self, see: &mut impl FnMut(&Message)) -> Result<usize, Failure> {
        let count = self.slots();
        if count == 0 {
            return Ok(0);
        }
        let chunk = self.read_chunk(count)?;
        let (first, second) = chunk.as_slices();
        first.iter().chain(second).for_each(see);
        chunk.commit_all();
        Ok(count)
    }
}
