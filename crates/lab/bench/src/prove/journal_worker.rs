//! The workers of `nanotape journal prove`.
//!
//! Protocol: an appender is ready when the journal exists. It appends the requested number of
//! excerpts, or until it is stopped. Then a last excerpt of the type [`END_TYPE`] ends the tailers.
//! After each append the appender stores the committed number in a region beside the journal: the
//! next appender checks that the journal has everything that was committed.

use std::{
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use anyhow::{Context as _, bail};
use nanotape_clock::Clock;
use nanotape_console::status::warn;
use nanotape_journal::{
    Appender, AppenderOptions, ErrorKind, NamedTailer, Resumed, RollCycle, Start, SyncPolicy, Tail,
    checksum_bytes, excerpt_bytes,
};
use nanotape_lab::rng::mix;
use nanotape_shm::{OwnedRegion, RegionOptions, RegionSpec};
use nanotape_tape::{WaitStrategy, Waiter};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    contents::{Contents, END_TYPE, MAX_LENGTH, Scribe},
    listen,
    watch::has_space,
};
use crate::{engine::report_ready, error::failed};

/// The region in which an appender notes what it has committed, beside the journal.
const NOTE: &str = "committed";

/// The kind of that region.
pub(super) const NOTE_KIND: [u8; 8] = *b"NOTE    ";

/// The type of all excerpts but the last: their bytes must not depend on the appender.
const TYPE: u16 = 7;

/// What a worker does.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct JournalJob {
    /// The folder of the journal and of the note.
    pub(super) path: PathBuf,
    pub(super) seed: u64,
    pub(super) segment_bytes: u64,
    /// The appender syncs after this number of excerpts; 0: never.
    pub(super) sync: u64,
    /// The number of excerpts to append; 0: until it is stopped.
    pub(super) excerpts: u64,
    /// Bytes that the journal may take: where they are taken the appender waits. 0: any number.
    pub(super) space: u64,
    /// How long a tailer rests after each excerpt.
    pub(super) rest: Duration,
    /// Which tailer; nothing for the appender.
    pub(super) tailer: Option<u64>,
}

impl JournalJob {
    pub(crate) const WORK: &'static str = "journal prove";

    pub(super) fn journal(&self) -> PathBuf {
        self.path.join("journal")
    }

    pub(super) fn note(&self) -> PathBuf {
        self.path.join(NOTE)
    }

    pub(crate) fn run(&self) -> anyhow::Result<Value> {
        nanotape_shm::guard_against_truncation().context("cannot install a handler for SIGBUS")?;
        let stop = listen()?;
        match self.tailer {
            None => self.append(&stop),
            Some(number) => self.tail(number),
        }
    }

    fn append(&self, stop: &AtomicBool) -> anyhow::Result<Value> {
        let options = AppenderOptions {
            segment_bytes: self.segment_bytes,
            roll_cycle: RollCycle::Size,
            sync: if self.sync == 0 { SyncPolicy::Never } else { SyncPolicy::Excerpts(self.sync) },
            // One segment ahead: those that are prepared take space, too.
            ahead_bytes: (8 << 20).min(self.segment_bytes / 2),
            ..AppenderOptions::default()
        };
        let mut appender = Appender::open(&self.journal(), &options).map_err(failed)?;
        let spec = RegionSpec { kind: NOTE_KIND, layout: 1, parameters: [0; 4], words: 1 };
        let (note, _) = OwnedRegion::create(&self.note(), spec, &RegionOptions::default(), |_| ())?;
        let noted = &note.words()[0];
        let committed = noted.as_read_only().load();
        if appender.next_sequence() <= committed {
            let next = appender.next_sequence();
            bail!("LOST: {committed} excerpts were committed, but the next one is {next}");
        }
        report_ready()?;
        let clock = Clock::calibrate();
        let mut scribe = Scribe::new(self.seed, TYPE);
        let last = if self.excerpts == 0 { u64::MAX } else { self.excerpts };
        let (mut steps, mut segment) = (0, 0);
        while appender.next_sequence() <= last && !stop.load(Ordering::Relaxed) {
            if appender.segment() != segment {
                segment = appender.segment();
                self.wait_for_space(stop)?;
            }
            let left = last - appender.next_sequence() + 1;
            steps += 1;
            let drawn = mix(self.seed, steps);
            append(&mut appender, &mut scribe, drawn, left, clock.utc_ns())?;
            noted.store(appender.next_sequence() - 1);
        }
        // An appender that was killed after this has appended it for the next one.
        if last.checked_add(2) != Some(appender.next_sequence()) {
            appender.append(END_TYPE, clock.utc_ns(), &[]).map_err(failed)?;
        }
        let appended = appender.next_sequence() - 1;
        noted.store(appended);
        appender.close().map_err(failed)?;
        Ok(json!({ "appended": appended, "checksum": self.checksum(appended) }))
    }

    /// Waits until tailers have read enough that there is space for one more segment.
    fn wait_for_space(&self, stop: &AtomicBool) -> anyhow::Result<()> {
        while !stop.load(Ordering::Relaxed) && !has_space(self)? {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// The sum of sums of all excerpts, which does not depend on where reading was interrupted.
    fn checksum(&self, appended: u64) -> u64 {
        let mut scribe = Scribe::new(self.seed, TYPE);
        let sum = |sequence: u64| sum_of(sequence, scribe.payload(sequence));
        (1..appended).map(sum).fold(sum_of(appended, &[]), u64::wrapping_add)
    }

    fn tail(&self, number: u64) -> anyhow::Result<Value> {
        let name = tailer_name(number);
        let opened = NamedTailer::open(&self.journal(), &name, Start::Oldest);
        let (mut tailer, resumed) = opened.map_err(failed)?;
        let contents = Contents { seed: self.seed };
        let sleep = Duration::from_micros(200);
        let mut waiter = Waiter::new(WaitStrategy::Backoff { polls: 50, sleep });
        let (mut missing, mut checksum, mut is_over) = (0_u64, 0_u64, false);
        let mut buffer = vec![0; MAX_LENGTH];
        let mut expected = match resumed {
            Resumed::At(sequence) => sequence,
            Resumed::Reused { from, .. } => from,
            _ => 1,
        };
        while !is_over {
            // The excerpt before was checked.
            tailer.done();
            match tailer.next().map_err(failed)? {
                Tail::Excerpt(excerpt) => {
                    let (sequence, type_id) = (excerpt.sequence(), excerpt.type_id());
                    let length = excerpt.copy_to(&mut buffer);
                    let payload = &buffer[..length];
                    let is_whole = length == excerpt.len()
                        && contents.is_whole(sequence, type_id, payload)
                        && sequence == expected;
                    if !is_whole {
                        // Reported at once: a tailer that is killed later could not report it.
                        bail!(
                            "{name}: excerpt {sequence} is not whole; expected excerpt {expected}"
                        );
                    }
                    expected = sequence + 1;
                    checksum = checksum.wrapping_add(sum_of(sequence, payload));
                    is_over = type_id == END_TYPE;
                    waiter.reset();
                    if !self.rest.is_zero() {
                        std::thread::sleep(self.rest);
                    }
                }
                Tail::Gap(gap) => {
                    missing += gap.count();
                    expected = gap.to + 1;
                }
                Tail::Reused(reused) => {
                    bail!("{name}: sequence numbers from {} on were used again", reused.from)
                }
                Tail::Nothing => waiter.idle(),
            }
        }
        // Its position stays at the last excerpt. If it is killed now, the next tailer of this name
        // reads that excerpt again, and ends too.
        Ok(json!({
            // Each of them once: its position is after an excerpt only when that was checked.
            "read": expected - 1,
            "missing": missing,
            // Of all excerpts only if the name is new.
            "checksum": matches!(resumed, Resumed::New).then_some(checksum),
        }))
    }
}

/// The name of a tailer in the journal.
pub(super) fn tailer_name(number: u64) -> String {
    format!("tailer-{number}")
}

fn sum_of(sequence: u64, payload: &[u8]) -> u64 {
    let sum = checksum_bytes(sequence as u32, payload);
    mix(u64::from(sum), sequence)
}

/// Appends in one of the ways there are: one excerpt, or some together but not more than `left`.
fn append(
    appender: &mut Appender,
    scribe: &mut Scribe,
    drawn: u64,
    left: u64,
    ts_ns: u64,
) -> anyhow::Result<()> {
    let next = appender.next_sequence();
    match drawn % 32 {
        0..=3 => {
            let room = 8 * excerpt_bytes(MAX_LENGTH);
            let mut batch = appender.batch(ts_ns, room).map_err(failed)?;
            for _ in 0..((drawn >> 8) % 8).min(left) {
                let sequence = next + batch.len();
                batch.append(TYPE, ts_ns, scribe.payload(sequence)).map_err(failed)?;
            }
            batch.commit().map_err(failed)?;
            return Ok(());
        }
        // In place; one in three is given up.
        kind @ 4..=6 => {
            let payload = scribe.payload(next);
            let mut claim = appender.claim(TYPE, ts_ns, payload.len()).map_err(failed)?;
            claim.copy_from(payload);
            if kind != 6 {
                claim.commit().map_err(failed)?;
                return Ok(());
            }
        }
        _ => {}
    }
    // Where the disk is full the test goes on when there is room again.
    loop {
        match appender.append(TYPE, ts_ns, scribe.payload(next)) {
            Ok(_) => return Ok(()),
            Err(error) if matches!(error.kind(), ErrorKind::NoSpace { .. }) => {
                warn(&error);
                std::thread::sleep(Duration::from_millis(500));
            }
            Err(error) => return Err(failed(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, thread};

    use super::*;
    use crate::engine::Folder;

    #[test]
    fn a_tailer_that_replaces_one_killed_at_the_end_ends_too() {
        let folder = Folder::new("end").unwrap();
        let job = JournalJob {
            path: folder.path().to_owned(),
            seed: 1,
            segment_bytes: 1 << 16,
            sync: 0,
            excerpts: 100,
            space: 0,
            rest: Duration::ZERO,
            tailer: None,
        };
        job.append(&AtomicBool::new(false)).unwrap();
        let first = job.tail(0).unwrap();
        assert_eq!((&first["read"], &first["missing"]), (&json!(101), &json!(0)));
        let (ended, ends) = mpsc::channel();
        thread::spawn(move || ended.send(job.tail(0).unwrap()));
        let second = ends.recv_timeout(Duration::from_secs(60)).expect("it waits for another end");
        assert_eq!((&second["read"], &second["checksum"]), (&json!(101), &Value::Null));
    }
}
