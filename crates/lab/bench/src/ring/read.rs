//! The loops of the reader: read everything available, check each message, count losses.

use nanotape_clock::{Clock, Stamp};
use nanotape_ring::{Read, Subscribe};
use nanotape_shm::Word;

use super::message::{check, wrong};
use crate::{
    engine::{
        Taken, Timeout,
        message::{END, Length, MESSAGE},
    },
    error::Error,
};

/// Most bytes that a reader copies per batch: they fit in the first-level cache.
const BATCH_BYTES: usize = 16 << 10;

/// Where and how often a reader stores its position.
#[derive(Debug)]
pub(super) struct Progress<'region> {
    pub(super) word: &'region Word,
    /// Messages between two stores; None if no writer waits for the reader.
    pub(super) interval: Option<u64>,
}

impl Progress<'_> {
    /// Reports that the reader has started; returns the sequence number of the next report.
    fn begin(&self, next: u64) -> u64 {
        self.word.store(next);
        self.interval.map_or(u64::MAX, |interval| next + interval)
    }

    /// Reports that everything before `next` was read; returns the number of the next report.
    #[inline(always)]
    fn report(&self, next: u64) -> u64 {
        self.word.store(next);
        next + self.interval.unwrap_or(0)
    }
}

/// One message per call.
#[inline(never)]
pub(super) fn single<R: Subscribe>(
    reader: &mut R,
    length: impl Length,
    clock: Clock,
    progress: &Progress<'_>,
    timeout: &mut Timeout,
) -> Result<Taken, Error> {
    let buffer = &mut vec![0; length.bytes()][..length.bytes()];
    let (mut messages, mut lost, mut first) = (0, 0, None);
    let mut due = progress.begin(reader.next_sequence());
    loop {
        match reader.try_read(buffer)? {
            Read::Message(received) => {
                check(buffer, length, received)?;
                if received.type_id != MESSAGE {
                    break;
                }
                if messages == 0 {
                    first = Some(clock.stamp_start());
                }
                messages += 1;
                if received.sequence >= due {
                    due = progress.report(received.sequence + 1);
                }
            }
            Read::Empty => timeout.idle(messages)?,
            Read::Lapped(lapped) => lost += lapped.count(),
        }
    }
    Ok(Taken { messages, lost, nanos: since(clock, first), ..Taken::default() })
}

/// As many messages per call as are available.
#[inline(never)]
pub(super) fn batches<R: Subscribe>(
    reader: &mut R,
    length: impl Length,
    clock: Clock,
    progress: &Progress<'_>,
    timeout: &mut Timeout,
) -> Result<Taken, Error> {
    let mut buffer = vec![0; BATCH_BYTES.max(2 * length.bytes() + 64)];
    let mut sizes = Sizes::of_buffer(buffer.len());
    let (mut messages, mut lost, mut first, mut is_over) = (0, 0, None, false);
    let mut due = progress.begin(reader.next_sequence());
    while !is_over {
        let mut bad = None;
        let read = reader.read_batch(&mut buffer, |received, payload| {
            is_over |= received.type_id == END;
            if payload.len() != length.bytes()
                || check(&payload[..length.bytes()], length, received).is_err()
            {
                bad.get_or_insert(received);
            }
        });
        match read? {
            Read::Message(count) => {
                if let Some(received) = bad {
                    return Err(wrong(received));
                }
                if messages == 0 {
                    first = Some(clock.stamp_start());
                }
                messages += count - u64::from(is_over);
                sizes.count(count);
                if reader.next_sequence() > due {
                    due = progress.report(reader.next_sequence());
                }
            }
            Read::Empty => timeout.idle(messages)?,
            Read::Lapped(lapped) => lost += lapped.count(),
        }
    }
    let nanos = since(clock, first);
    Ok(Taken { messages, lost, nanos, batch_p50: sizes.p50(), ..Taken::default() })
}

/// The time since the first message; 0 if there was none.
fn since(clock: Clock, first: Option<Stamp>) -> u64 {
    first.map_or(0, |first| clock.nanos_between(first, clock.stamp()))
}

/// Histogram of the sizes of batches: one addition per batch.
#[derive(Debug)]
struct Sizes(Vec<u64>);

impl Sizes {
    /// For a buffer of `bytes`: a message takes at least 32 of them.
    fn of_buffer(bytes: usize) -> Self {
        Self(vec![0; bytes / 32 + 2])
    }

    #[inline(always)]
    fn count(&mut self, messages: u64) {
        let last = self.0.len() - 1;
        self.0[(messages as usize).min(last)] += 1;
    }

    /// The median size.
    fn p50(&self) -> Option<u64> {
        let half = self.0.iter().sum::<u64>().div_ceil(2);
        let mut seen = 0;
        let place = self.0.iter().position(|count| {
            seen += count;
            seen >= half
        })?;
        (half > 0).then_some(place as u64)
    }
}

#[cfg(test)]
mod tests {
    use nanotape_ring::{Publish, Start, slots, stream};

    use super::*;
    use crate::{
        engine::Wait,
        engine::{
            Amount,
            message::{USUAL_BYTES, Usual, fill},
            pace::{Until, Window, progress_interval},
        },
        ring::write,
    };

    type Loop<R> = fn(&mut R, Usual, Clock, &Progress<'_>, &mut Timeout) -> Result<Taken, Error>;

    fn timeout() -> Timeout {
        Timeout::new(Clock::monotonic(), Wait::Yield)
    }

    /// The error of a reader for twenty messages, one of them with a flipped bit.
    fn with_a_flipped_bit<W: Publish>(mut writer: W, read: Loop<W::Reader>) -> Error {
        let mut reader = writer.reader(Start::Oldest).unwrap();
        let mut message = [0; USUAL_BYTES];
        for sequence in 1..=20 {
            fill(&mut message, sequence);
            message[40] ^= u8::from(sequence == 13);
            let type_id = if sequence == 20 { END } else { MESSAGE };
            writer.publish(type_id, &message).unwrap();
        }
        let word = Word::new(0);
        let progress = Progress { word: &word, interval: None };
        read(&mut reader, Usual, Clock::monotonic(), &progress, &mut timeout()).unwrap_err()
    }

    #[test]
    fn every_loop_notices_a_corrupted_payload() {
        let stream = || stream::Writer::on_heap(1 << 16).unwrap();
        let slots = || slots::Writer::on_heap(64, USUAL_BYTES).unwrap();
        for error in [
            with_a_flipped_bit(stream(), single),
            with_a_flipped_bit(stream(), batches),
            with_a_flipped_bit(slots(), single),
            with_a_flipped_bit(slots(), batches),
        ] {
            assert!(matches!(error, Error::Wrong { sequence: 13, .. }), "{error}");
        }
    }

    /// Publishes far more messages than the ring holds; none may be lost.
    fn nothing_is_lost<W: Publish + Send>(mut writer: W, ring: u64, read: Loop<W::Reader>) {
        let mut reader = writer.reader(Start::Oldest).unwrap();
        let (word, clock) = (Word::new(1), Clock::monotonic());
        let taken = std::thread::scope(|scope| {
            scope.spawn(|| {
                let window = Window { progress: word.as_read_only(), messages: ring / 2 };
                let until = Until::new(clock, Amount::Messages(20_000));
                write::lossless(&mut writer, Usual, &until, &window, &mut timeout()).unwrap()
            });
            let progress = Progress { word: &word, interval: Some(progress_interval(ring)) };
            read(&mut reader, Usual, clock, &progress, &mut timeout()).unwrap()
        });
        assert_eq!((taken.messages, taken.lost), (20_000, 0));
    }

    #[test]
    fn a_paced_writer_loses_nothing_of_a_ring_that_is_far_too_small() {
        // 682 messages of 96 bytes.
        let stream = || stream::Writer::on_heap(1 << 16).unwrap();
        let slots = || slots::Writer::on_heap(512, USUAL_BYTES).unwrap();
        nothing_is_lost(stream(), 682, single);
        nothing_is_lost(stream(), 682, batches);
        nothing_is_lost(slots(), 512, single);
        nothing_is_lost(slots(), 512, batches);
    }

    #[test]
    fn half_of_the_batches_are_not_larger_than_the_median() {
        let mut sizes = Sizes::of_buffer(1_024);
        assert_eq!(sizes.p50(), None);
        [1, 1, 5, 7, 1_000_000].iter().for_each(|&size| sizes.count(size));
        assert_eq!(sizes.p50(), Some(5));
    }
}
