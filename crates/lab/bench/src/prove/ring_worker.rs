//! The workers of `nanotape ring prove`.
//!
//! Protocol: a writer is ready when the ring exists, and publishes until its parent requests the
//! end. Then a last message of the type [`END_TYPE`] ends the readers. Readers that lost it end
//! when the ring is closed.

use std::{
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use anyhow::{Context as _, bail};
use nanotape_clock::Clock;
use nanotape_lab::rng::mix;
use nanotape_ring::{
    AnyReader, Batched as _, Claimed as _, Gap, Publish, PublishError, Read, Received, Rejoin,
    RingError, RingSource, Start, StartError, Subscribe as _, slots, stream,
};
use nanotape_shm::RegionOptions;
use nanotape_tape::{Follow, Progress, Step, WaitStrategy, WriterState};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    contents::{Contents, END_TYPE, MAX_LENGTH, Scribe},
    listen,
};
use crate::{engine::report_ready, error::Error};

/// The job of a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RingJob {
    pub(super) path: PathBuf,
    pub(super) seed: u64,
    pub(super) part: Part,
}

/// The side of the ring, and its kind.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Part {
    /// The writer of a stream ring of this size.
    StreamWriter { capacity_bytes: usize },
    /// The writer of a ring with this many slots.
    SlotsWriter { slots: usize },
    /// The reader with this number.
    Reader { number: usize },
}

/// How a reader reads, by its number: one of the three ways.
pub(super) const WAYS: [&str; 3] = ["copied", "batches", "in place"];

impl RingJob {
    pub(crate) const WORK: &'static str = "ring prove";

    pub(crate) fn run(&self) -> anyhow::Result<Value> {
        nanotape_shm::guard_against_truncation().context("cannot install a handler for SIGBUS")?;
        let stop = listen()?;
        let options = RegionOptions::default();
        let failed = |error: RingError| Error::from(error).judged();
        match self.part {
            Part::StreamWriter { capacity_bytes } => {
                let made = stream::Writer::create(&self.path, capacity_bytes, &options);
                self.write(made.map_err(failed)?.0, &stop)
            }
            Part::SlotsWriter { slots } => {
                let made = slots::Writer::create(&self.path, slots, MAX_LENGTH, &options);
                self.write(made.map_err(failed)?.0, &stop)
            }
            Part::Reader { number } => self.read(number),
        }
    }

    fn write(&self, mut writer: impl Publish, stop: &AtomicBool) -> anyhow::Result<Value> {
        report_ready()?;
        let clock = Clock::monotonic();
        let mut scribe = Scribe::new(self.seed, Contents::type_id(writer.region().epoch()));
        // Steps between two checks for a request to end, and of the clock.
        const STEPS: u64 = 256;
        for step in 0_u64.. {
            if step.is_multiple_of(STEPS) {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                writer.heartbeat(clock.utc_ns());
            }
            publish(&mut writer, &mut scribe, mix(self.seed, step))?;
        }
        writer.publish(END_TYPE, &[])?;
        Ok(json!({ "published": writer.next_sequence() - 1 }))
    }

    fn read(&self, number: usize) -> anyhow::Result<Value> {
        let failed = |error: RingError| Error::from(error).judged();
        let mut reader = loop {
            // Reading starts at the first message, so that read and lost messages add up to all.
            match AnyReader::open(&self.path, Start::Sequence(1)) {
                Err(RingError::Start(StartError::Overtaken { .. })) => {}
                outcome => break outcome.map_err(failed)?,
            }
        };
        let rejoins = [Rejoin::Halfway, Rejoin::Oldest, Rejoin::Newest];
        reader.set_rejoin(rejoins[number % rejoins.len()]);
        let mut tally = Tally { next: 1, ..Tally::default() };
        let contents = Contents { seed: self.seed };
        let is_whole = |received: Received, payload: &[u8]| {
            contents.is_whole(received.sequence, received.type_id, payload)
        };
        let sleep = Duration::from_micros(50);
        let mut follow = Follow::new(RingSource::new(reader))
            .strategy(WaitStrategy::Backoff { polls: 50, sleep });
        let mut buffer = vec![0; 64 << 10];
        while !tally.is_over {
            let step = follow.step_by(|source| -> Result<_, RingError> {
                let reader = source.reader_mut();
                let read = match WAYS[number % WAYS.len()] {
                    "copied" => reader.try_read(&mut buffer).map(|read| {
                        map(read, |received| {
                            let payload = &buffer[..received.length as usize];
                            tally.message(received, is_whole(received, payload));
                        })
                    }),
                    "batches" => reader
                        .read_batch(&mut buffer, |received, payload| {
                            tally.message(received, is_whole(received, payload));
                        })
                        .map(|read| map(read, |_| ())),
                    _ => reader
                        .try_visit(|message| {
                            (message.received(), contents.is_whole_in_place(message))
                        })
                        .map(|read| {
                            map(read, |(received, is_whole)| tally.message(received, is_whole))
                        }),
                };
                match read? {
                    Read::Message(()) => {}
                    Read::Lapped(gap) => tally.lapped(gap),
                    Read::Empty => return Ok(Progress::Nothing),
                }
                Ok(Progress::Read)
            });
            match step {
                // A reader that is lapped and continues after the last message can lose the message
                // that ends it.
                Ok(Step::Gone(WriterState::Closed)) => tally.is_over = true,
                Ok(_) => {}
                Err(error) => bail!("{}: reader {number}: {error}", self.path.display()),
            }
        }
        Ok(serde_json::to_value(&tally)?)
    }
}

fn map<T>(read: Read<T>, with: impl FnOnce(T)) -> Read<()> {
    match read {
        Read::Message(message) => {
            with(message);
            Read::Message(())
        }
        Read::Empty => Read::Empty,
        Read::Lapped(lapped) => Read::Lapped(lapped),
    }
}

/// Publishes in one of several ways, drawn at random.
fn publish(writer: &mut impl Publish, scribe: &mut Scribe, drawn: u64) -> Result<(), PublishError> {
    let (next, type_id) = (writer.next_sequence(), scribe.type_id);
    match drawn % 32 {
        // Up to seven messages together, fewer if the ring is small.
        0..=3 => {
            let mut batch = writer.batch();
            for _ in 0..(drawn >> 8) % 8 {
                let sequence = next + batch.len();
                match batch.push(type_id, scribe.payload(sequence)) {
                    Err(PublishError::BatchFull { .. }) => break,
                    outcome => outcome?,
                }
            }
            batch.publish();
        }
        // In place; one in three is abandoned.
        kind @ 4..=6 => {
            let payload = scribe.payload(next);
            let mut claim = writer.claim(type_id, payload.len())?;
            claim.write(0, payload);
            if kind == 6 {
                claim.abandon();
            } else {
                claim.publish();
            }
        }
        _ => {
            writer.publish(type_id, scribe.payload(next))?;
        }
    }
    Ok(())
}

/// The counts of a reader.
#[derive(Debug, Default, Serialize)]
struct Tally {
    /// The next expected sequence number.
    #[serde(skip)]
    next: u64,
    read: u64,
    lost: u64,
    laps: u64,
    torn: u64,
    repeated: u64,
    #[serde(skip)]
    is_over: bool,
}

impl Tally {
    fn message(&mut self, received: Received, is_whole: bool) {
        self.is_over |= received.type_id == END_TYPE;
        if received.sequence < self.next {
            self.repeated += 1;
            return;
        }
        self.read += 1;
        self.torn += u64::from(!is_whole);
        // A skipped number shows as a difference in the sum at the end.
        self.next = received.sequence + 1;
    }

    fn lapped(&mut self, lapped: Gap) {
        self.laps += 1;
        self.repeated += self.next.saturating_sub(lapped.from);
        self.lost += lapped.count();
        self.next = lapped.to + 1;
    }
}
