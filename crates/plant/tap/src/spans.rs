//! The spans of a thread that reads the records of a plant: its recorder, and taps.
//!
//! Protocol: the record of an order, an inside or a print has the number of its message, so the
//! thread numbers its spans as the plant does. The number of a record has 32 bits; the board of the
//! plant has the others. A record of another run, of a snapshot or without a number has no span.
//! A [`Watch`] makes the region when the plant has one, and answers requests to switch the sites.
//! Failure: a thread that cannot write beside the ring, such as a tap of another user, has no
//! spans.
//! Cost: off, a load for each poll and a test for each record. On, a fenced stamp for each record
//! with a span, another one for each record, and one for each poll.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use nanotape_board::{BoardReader, PLANT_THREAD, Watch, trace_path};
use nanotape_clock::{Clock, Stamp};
use nanotape_records::RecordKind;
use nanotape_ring::{RingError, Start};
use nanotape_shm::{OwnerState, Refusal, RegionOptions};
use nanotape_tape::Message;
use nanotape_trace::spans::{
    Answers, Site, Sites, SpanReader, TraceError, Tracer, TracerOptions, build_of_this_program,
    spans_path,
};

/// The stages of a record in a thread that reads it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stages {
    /// The name of the thread. Further threads of the kind have a number after it.
    name: &'static str,
    sites: Sites,
    /// The record was read from the ring (its number on the ring).
    read: Site,
    /// The thread's work on it is done (its number on the ring).
    done: Site,
    /// It is on the disk (its number on the ring), if the thread waits for that.
    synced: Option<Site>,
    /// Others see the result (its number on the ring). Only of the last message before that.
    shown: Site,
}

const RECORDER_SITES: Sites =
    Sites::new(&["recorder.read", "recorder.append", "recorder.sync", "recorder.show"]);

/// The stages of a recorder.
pub(crate) const RECORDER: Stages = Stages {
    name: "recorder",
    sites: RECORDER_SITES,
    read: RECORDER_SITES.site("recorder.read"),
    done: RECORDER_SITES.site("recorder.append"),
    synced: Some(RECORDER_SITES.site("recorder.sync")),
    shown: RECORDER_SITES.site("recorder.show"),
};

const TAP_SITES: Sites = Sites::new(&["tap.read", "tap.print", "tap.write"]);

/// The stages of a tap.
pub(crate) const TAP: Stages = Stages {
    name: "tap",
    sites: TAP_SITES,
    read: TAP_SITES.site("tap.read"),
    done: TAP_SITES.site("tap.print"),
    synced: None,
    shown: TAP_SITES.site("tap.write"),
};

/// Spans that a thread keeps: 1 MiB.
const SPANS: usize = 1 << 14;

/// Threads of a kind that have spans at the same time.
const MOST_THREADS: usize = 16;

/// How long the clock is calibrated. Its rate is not used: that of the plant is better.
const CALIBRATION: Duration = Duration::from_millis(1);

/// What turns the numbers of records into those of messages: the run of a plant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RunNumbers {
    /// The first record of the run.
    first_sequence: u64,
    /// A message of the run, less than 2^31 from those of its records.
    near: u64,
}

impl RunNumbers {
    /// Those of the run of a board; `None` before its first check.
    pub(crate) fn of(board: &BoardReader) -> Option<Self> {
        let near = board.messages();
        (near > 0).then_some(Self { first_sequence: board.first_sequence(), near })
    }

    /// The number of the message that a record was published for.
    fn message_of(&self, record: &Message<'_>) -> Option<u64> {
        let kind = RecordKind::of_type_id(record.type_id)?;
        let low =
            kind.message_of(record.payload).filter(|_| record.sequence >= self.first_sequence)?;
        let distance = low.wrapping_sub(self.near as u32) as i32;
        self.near.checked_add_signed(distance.into()).filter(|&number| number > 0)
    }
}

/// The spans of a thread.
#[derive(Debug)]
pub(crate) struct ReaderTrace {
    stages: Stages,
    made: Arc<Made>,
    /// Makes the tracer, and answers requests.
    watch: Watch,
    traced: Option<Traced>,
    /// One message in so many has spans in this poll; 0 if all sites are off.
    rate: u64,
    run: Option<RunNumbers>,
    /// The end of the last stage.
    last: Stamp,
    /// The record whose stage `done` has not ended.
    current: Option<Numbers>,
    /// The last record whose stage `shown` has not ended, and the end of its stage before.
    unshown: Option<(Numbers, Stamp)>,
}

/// The numbers of a message and of a record.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    message: u64,
    record: u64,
}

/// A tracer that the watch has made.
#[derive(Debug)]
struct Traced {
    tracer: Tracer,
    clock: Clock,
}

/// Hands a tracer from the watch to the thread.
#[derive(Debug, Default)]
struct Made {
    is_there: AtomicBool,
    traced: Mutex<Option<Traced>>,
}

impl Made {
    fn take(&self) -> Option<Traced> {
        self.traced.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl ReaderTrace {
    /// The spans of a thread that reads this ring; `None` if no watch can be started. They can be
    /// switched on as soon as the ring has a plant whose spans can be.
    pub(crate) fn start(ring: &Path, stages: Stages) -> Option<Self> {
        let made = Arc::<Made>::default();
        let mut maker = Maker { ring: ring.to_owned(), stages, plant: 0 };
        let (to, mut answers) = (Arc::clone(&made), None::<Answers>);
        let watch = Watch::calling(Vec::new(), move || {
            if answers.is_none()
                && let Some(traced) = maker.poll()
            {
                answers = traced.tracer.answers();
                *to.traced.lock().unwrap_or_else(PoisonError::into_inner) = Some(traced);
                to.is_there.store(true, Ordering::Release);
            }
            answers.iter_mut().for_each(Answers::poll);
        });
        Some(Self {
            stages,
            made,
            watch: watch.ok()?,
            traced: None,
            rate: 0,
            run: None,
            last: Stamp::from_ticks(0),
            current: None,
            unshown: None,
        })
    }

    /// A poll of the ring begins. `run` is that of the records to come.
    #[inline]
    pub(crate) fn begin_poll(&mut self, run: impl FnOnce() -> Option<RunNumbers>) {
        let rate = match &self.traced {
            Some(traced) => traced.tracer.rate(),
            None if self.made.is_there.load(Ordering::Acquire) => {
                self.traced = self.made.take();
                None
            }
            None => None,
        };
        self.rate = rate.unwrap_or(0);
        if self.rate != 0
            && let Some(traced) = &self.traced
        {
            self.run = run();
            self.last = traced.clock.stamp_unfenced();
        }
    }

    /// A record was read.
    #[inline]
    pub(crate) fn read(&mut self, record: &Message<'_>) {
        if self.rate != 0 {
            self.end_read(record);
        }
    }

    #[cold]
    #[inline(never)]
    fn end_read(&mut self, record: &Message<'_>) {
        let Some(traced) = &mut self.traced else { return };
        let number = self.run.and_then(|run| run.message_of(record));
        // A rate is a power of two.
        let Some(message) = number.filter(|number| number & (self.rate - 1) == 0) else { return };
        let numbers = Numbers { message, record: record.sequence };
        // With a fence: an unfenced stamp may be older than the record.
        let now = traced.clock.stamp().max(self.last);
        traced.span(self.stages.read, numbers, self.last..now);
        (self.last, self.current) = (now, Some(numbers));
    }

    /// The work on the record that was read last is done.
    #[inline]
    pub(crate) fn done(&mut self) {
        if self.rate != 0 {
            self.end_done();
        }
    }

    #[cold]
    #[inline(never)]
    fn end_done(&mut self) {
        let Some(traced) = &mut self.traced else { return };
        let now = traced.clock.stamp_unfenced().max(self.last);
        if let Some(numbers) = self.current.take() {
            traced.span(self.stages.done, numbers, self.last..now);
            self.unshown = Some((numbers, now));
        }
        self.last = now;
    }

    /// The result of everything that was read is on the disk.
    #[inline]
    pub(crate) fn synced(&mut self) {
        if self.rate != 0 {
            self.end_synced();
        }
    }

    #[cold]
    #[inline(never)]
    fn end_synced(&mut self) {
        let Some(traced) = &mut self.traced else { return };
        let now = traced.clock.stamp_unfenced().max(self.last);
        // Only of the record before it: an earlier one has not waited for the sync alone.
        if let (Some(site), Some((numbers, from))) = (self.stages.synced, &mut self.unshown)
            && *from == self.last
        {
            traced.span(site, *numbers, *from..now);
            *from = now;
        }
        self.last = now;
    }

    /// Others see the result of everything that was read.
    #[inline]
    pub(crate) fn shown(&mut self) {
        if self.unshown.is_some() {
            self.end_shown();
        }
    }

    #[cold]
    #[inline(never)]
    fn end_shown(&mut self) {
        let (Some(traced), Some((numbers, from))) = (&mut self.traced, self.unshown.take()) else {
            return;
        };
        let now = traced.clock.stamp_unfenced().max(from);
        traced.span(self.stages.shown, numbers, from..now);
    }
}

impl Drop for ReaderTrace {
    fn drop(&mut self) {
        // It keeps the region open, and might just be making it.
        self.watch = Watch::default();
        let Some(Traced { tracer, .. }) = self.traced.take().or_else(|| self.made.take()) else {
            return;
        };
        let path = tracer.region().path().map(Path::to_owned);
        let is_unused = tracer.written() == 0;
        drop(tracer);
        // Files without spans are of no use. Another thread might have taken them over by now.
        if let Some(path) = path.filter(|_| is_unused) {
            let _ = nanotape_shm::remove(&path);
            let _ = nanotape_shm::remove(&spans_path(&path));
        }
    }
}

impl Traced {
    fn span(&mut self, site: Site, numbers: Numbers, stamps: std::ops::Range<Stamp>) {
        self.tracer.span(site, numbers.message, numbers.record, stamps);
    }
}

/// Makes the tracer of a thread when the plant has one.
struct Maker {
    ring: PathBuf,
    stages: Stages,
    /// When the region of the plant was created for which the last attempt was; 0: none.
    plant: u64,
}

impl Maker {
    fn poll(&mut self) -> Option<Traced> {
        let plant = SpanReader::open(&trace_path(&self.ring, PLANT_THREAD), Start::Newest).ok()?;
        let created_ns = plant.region().created_ns();
        let is_alive = plant.owner().state == OwnerState::Alive;
        if !is_alive || std::mem::replace(&mut self.plant, created_ns) == created_ns {
            return None;
        }
        let clock = Clock::calibrate_for(CALIBRATION);
        // A clock of another source has other stamps.
        let second = Stamp::from_ticks(clock.rate().ticks_per_second as u64);
        let plants_ns = plant.nanos_between(Stamp::from_ticks(0), second);
        if (plants_ns - 1e9).abs() > 1e7 {
            return None;
        }
        // The users that can read the ring can read the spans.
        let mode = fs::metadata(&self.ring).map_or(0o600, |ring| ring.mode() & 0o777 | 0o600);
        let options = TracerOptions {
            spans: SPANS,
            build: build_of_this_program(),
            region: RegionOptions { mode, ..RegionOptions::default() },
        };
        let Stages { name, sites, .. } = self.stages;
        for number in 1..=MOST_THREADS {
            let name = if number == 1 { name.to_owned() } else { format!("{name}-{number}") };
            let path = trace_path(&self.ring, &name);
            match Tracer::create_beside(&plant, &path, sites, clock, &options) {
                Ok(tracer) => return Some(Traced { tracer, clock }),
                Err(error) if is_in_use(&error) => {}
                Err(_) => return None,
            }
        }
        None
    }
}

/// Whether another thread has the files, or they are of another user.
fn is_in_use(error: &TraceError) -> bool {
    let is_taken = |refusal: &Refusal| {
        use Refusal as R;
        matches!(
            refusal,
            R::OwnerAlive { .. } | R::BeingCreated | R::OfAnotherUser { .. } | R::Permission { .. }
        )
    };
    match error {
        TraceError::Region(error) => is_taken(error.refusal()),
        TraceError::Ring { error, .. } => {
            matches!(&**error, RingError::Region(error) if is_taken(error.refusal()))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_32_bits_is_that_of_the_nearest_message() {
        let mut bytes = [0_u8; size_of::<nanotape_records::dbn::MboMsg>()];
        let mut message_of = |near: u64, low: u32, sequence: u64| {
            let place = std::mem::offset_of!(nanotape_records::dbn::MboMsg, sequence);
            bytes[place..][..4].copy_from_slice(&low.to_le_bytes());
            let run = RunNumbers { first_sequence: 10, near };
            let type_id = RecordKind::Mbo.type_id();
            run.message_of(&Message { sequence, type_id, ts: None, payload: &bytes })
        };
        const HIGH: u64 = 1 << 32;
        for (near, low, expected) in [
            (100, 90, Some(90)),
            (100, 115, Some(115)),
            (HIGH + 5, u32::MAX, Some(HIGH - 1)),
            (HIGH - 5, 3, Some(HIGH + 3)),
            (3 * HIGH + 7, 7, Some(3 * HIGH + 7)),
            (HIGH, 0, Some(HIGH)),
            (100, 0, None),
            (100, u32::MAX, None),
        ] {
            assert_eq!(message_of(near, low, 10), expected, "{near} {low}");
            assert_eq!(message_of(near, low, 9), None, "of another run");
        }
    }
}
