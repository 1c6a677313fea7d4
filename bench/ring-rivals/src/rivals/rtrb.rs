//! rtrb: a queue of slots between one writer and one reader of one process.
//!
//! The writer pushes one message at a time; the reader takes all that are there as one chunk, which
//! is rtrb's way of reading in batches, and gives their slots back together.

use std::hint::spin_loop;

use rtrb::{Consumer, Producer, PushError, RingBuffer};

use super::SLOTS;
use crate::{
    Failure,
    message::Message,
    options::{Mode, Options},
    report::Run,
    threads,
    work::{Reader, Writer},
};

pub(super) fn run(options: &Options) -> Result<Option<Run>, Failure> {
    let queue = || RingBuffer::<Message>::new(SLOTS);
    let run = match options.mode {
        Mode::PingPong => threads::there_and_back(options, queue(), queue()),
        _ => {
            let (writer, reader) = queue();
            threads::one_way(options, writer, vec![reader])
        }
    };
    run.map(Some)
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
