//! ringfire: a ring of fixed slots in shared memory, whose writer overtakes slow readers.
//!
//! It is used with its defaults: no registry of readers, and no waiting for them. A slot has a
//! sequence number of its own, which a reader checks before and after it copies the message.

use std::path::Path;

use ringfire::{RingConsumer, RingProducer};
use rivals_measure::Failure;

use super::SLOTS;
use crate::{
    broadcast,
    options::Options,
    report::Run,
    work::{Message, Reader, Writer},
};

/// Messages that a reader takes at most at once: as many as in the crate's own benchmark of a
/// reader beside a writer.
const BATCH: usize = 64;

pub(super) fn run_single(options: &Options) -> Result<Option<Run>, Failure> {
    broadcast::run(options, create, |path| open(path).map(Single))
}

pub(super) fn run_batch(options: &Options) -> Result<Option<Run>, Failure> {
    broadcast::run(options, create, |path| open(path).map(Batches::new))
}

fn create(path: &Path) -> Result<RingProducer<Message>, Failure> {
    Ok(RingProducer::create(path, SLOTS as u64)?)
}

fn open(path: &Path) -> Result<Consumer, Failure> {
    Ok(Consumer { ring: RingConsumer::attach(path)?, lost: 0, laps: 0 })
}

impl Writer for RingProducer<Message> {
    #[inline]
    fn send(&mut self, message: &Message) -> Result<(), Failure> {
        self.push(message);
        Ok(())
    }
}

/// Counts how often the writer has overtaken the reader. The crate counts the lost messages.
struct Consumer {
    ring: RingConsumer<Message>,
    lost: u64,
    laps: u64,
}

impl Consumer {
    #[inline]
    fn count_lap(&mut self) {
        let lost = self.ring.lapped_count();
        self.laps += u64::from(lost != self.lost);
        self.lost = lost;
    }
}

/// One message for each call.
struct Single(Consumer);

impl Reader for Single {
    #[inline]
    fn poll(&mut self, see: &mut impl FnMut(&Message)) -> Result<usize, Failure> {
        let Some(message) = self.0.ring.try_recv() else { return Ok(0) };
        self.0.count_lap();
        see(&message);
        Ok(1)
    }

    fn laps(&self) -> u64 {
        self.0.laps
    }
}

/// All available messages for each call, as many as fit.
struct Batches {
    ring: Consumer,
    messages: Vec<Message>,
}

impl Batches {
    fn new(ring: Consumer) -> Self {
        Self { ring, messages: vec![[0; 73]; BATCH] }
    }
}

impl Reader for Batches {
    #[inline]
    fn poll(&mut self, see: &mut impl FnMut(&Message)) -> Result<usize, Failure> {
        let count = self.ring.ring.recv_batch(&mut self.messages);
        self.ring.count_lap();
        self.messages[..count].iter().for_each(see);
        Ok(count)
    }

    fn laps(&self) -> u64 {
        self.ring.laps
    }
}

#[cfg(test)]
mod tests {
    use rivals_measure::{message, scratch};

    use super::*;

    fn overtaken<R: Reader>(name: &str, reader: impl Fn(Consumer) -> R) {
        let path = Path::new("/dev/shm").join(format!("{}{name}", scratch::prefix()));
        let mut writer = create(&path).unwrap();
        let mut reader = reader(open(&path).unwrap());
        let slots = SLOTS as u64;
        for sequence in 1..=slots + 10 {
            let mut message = [0; 73];
            message::fill(&mut message, sequence);
            Writer::send(&mut writer, &message).unwrap();
        }
        let mut sequences = vec![];
        while reader.poll(&mut |message| sequences.push(message::head(message)[0])).unwrap() > 0 {}
        assert_eq!(reader.laps(), 1);
        assert!(sequences.into_iter().eq(11..=slots + 10));
    }

    #[test]
    fn an_overtaken_reader_counts_a_lap_and_goes_on_with_the_oldest_message() {
        overtaken("ringfire-single", Single);
        overtaken("ringfire-batches", Batches::new);
    }
}
