//! The time that a thread loses in the normal and in the real-time class, alone and beside a busy
//! thread on the same processor.
//!
//! Since Linux 6.12 the kernel gives normal threads up to 50 ms of each second if a real-time
//! thread starves them; before, it throttles real-time threads. A real-time thread that rests in
//! time avoids both, so it is a case of its own.
//! Failure: without the permission for the real-time class its cases are not measured.

mod answers;
mod slices;

use std::{
    fs,
    hint::spin_loop,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use nanotape_clock::Clock;
use nanotape_lab::{Pin, Placement, placement::Burst, text::nanos};
use nanotape_machine::{ProcessorGaps, SpinOptions, WatchOptions, spin};
use serde_json::json;

use self::slices::lost_in_slices;
use super::{
    Setup, StudyError,
    findings::{Axis, Cell, Findings, Plot, Point, Series, cells},
    numbers::Quartiles,
    rounds::Rounds,
};

/// Rounds: few, because a turn must be longer than the second in which the kernel acts.
const ROUNDS: u32 = 3;

/// A turn in which the kernel can act at least once.
const LONG_ENOUGH: Duration = Duration::from_millis(1_200);

/// The longest piece of a turn between two rests.
const PIECE: Duration = Duration::from_millis(800);

/// The time in which losses are added up.
const SLICE: Duration = Duration::from_millis(100);

/// Shorter interruptions are not counted.
const THRESHOLD_NS: u64 = 1_000;

const CELLS: &[Cell<(Case, Measured)>] = cells! {
    "class" Words = |(case, _)| if case.is_real_time { "fifo" } else { "normal" };
    "processor" Words = |(case, _)| if case.is_busy { "shared" } else { "alone" };
    "rests" Words = |(case, _)| if case.rests { "yes" } else { "no" };
    "slice p25" Nanos = |(_, measured)| measured.quartiles().map(|lost| lost.low);
    "slice p50" Nanos = |(_, measured)| measured.quartiles().map(|lost| lost.median);
    "slice p75" Nanos = |(_, measured)| measured.quartiles().map(|lost| lost.high);
    "worst slice" Nanos = |(_, measured)| measured.worst();
    "longest" Nanos = |(_, measured)| measured.longest_ns;
    "lost" Percent = |(_, measured)| 100.0 * measured.lost_share();
};

/// A case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Case {
    name: &'static str,
    is_real_time: bool,
    /// Whether a normal thread that never sleeps has the same processor.
    is_busy: bool,
    rests: bool,
}

const NORMAL_ALONE: Case =
    Case { name: "normal", is_real_time: false, is_busy: false, rests: false };
const NORMAL_BUSY: Case =
    Case { name: "normal, busy", is_real_time: false, is_busy: true, rests: false };
const FIFO_ALONE: Case = Case { name: "fifo", is_real_time: true, is_busy: false, rests: false };
const FIFO_BUSY: Case =
    Case { name: "fifo, busy", is_real_time: true, is_busy: true, rests: false };
const FIFO_RESTS: Case =
    Case { name: "fifo, busy, rests", is_real_time: true, is_busy: true, rests: true };

const CASES: [Case; 5] = [NORMAL_ALONE, NORMAL_BUSY, FIFO_ALONE, FIFO_BUSY, FIFO_RESTS];

/// The measurements of a case.
#[derive(Clone, Debug, Default)]
struct Measured {
    /// Time lost in each whole slice, in ns.
    slices: Vec<f64>,
    longest_ns: u64,
    lost_ns: u64,
    watched_ns: u64,
}

/// Everything that the answers are computed from.
#[derive(Debug)]
struct Study {
    slice: Duration,
    cases: Vec<(Case, Measured)>,
}

pub(super) fn study(setup: &Setup<'_>) -> Result<Findings, StudyError> {
    let mut not_measured = Vec::new();
    let refused = real_time_refused(setup.cpus[0], setup.priority());
    if let Some(reason) = &refused {
        not_measured.push(format!("the class fifo: {reason}"));
    }
    let is_possible = |case: &&Case| refused.is_none() || !case.is_real_time;
    let cases: Vec<Case> = CASES.iter().filter(is_possible).copied().collect();
    let names: Vec<&str> = cases.iter().map(|case| case.name).collect();
    let turns = ROUNDS * u32::try_from(cases.len()).unwrap_or(1);
    let rounds = Rounds { count: ROUNDS, turn: setup.options.time / turns };
    if rounds.turn < LONG_ENOUGH && refused.is_none() {
        not_measured.push(format!(
            "what the kernel takes from a real-time thread that never rests: turns of {} are too \
             short for it; use more seconds",
            nanos(rounds.turn.as_nanos() as f64)
        ));
    }
    let slice = SLICE.min(rounds.turn / 2);
    let mut measured = vec![Measured::default(); cases.len()];
    rounds.run(setup.progress, &names, |index| {
        measure(setup, cases[index], rounds.turn, slice, &mut measured[index])
    })?;
    let study = Study { slice, cases: cases.into_iter().zip(measured).collect() };
    Ok(study.findings(setup, rounds.turn, not_measured))
}

/// Why this process must not use the real-time class; `None` if it may.
fn real_time_refused(cpu: u32, priority: u8) -> Option<String> {
    let apply = || {
        let placement = Placement::on(Pin::To(cpu), Some(priority));
        placement.refused().first().cloned()
    };
    match thread::scope(|scope| scope.spawn(apply).join()) {
        Ok(refused) => refused,
        Err(_) => Some("a thread could not be started".to_owned()),
    }
}

/// Measures a turn of a case.
fn measure(
    setup: &Setup<'_>,
    case: Case,
    turn: Duration,
    slice: Duration,
    into: &mut Measured,
) -> Result<(), StudyError> {
    let pieces = match case.rests {
        true => u32::try_from(turn.as_nanos().div_ceil(PIECE.as_nanos()).max(1)).unwrap_or(1),
        false => 1,
    };
    let options = SpinOptions {
        cpus: vec![setup.cpus[0]],
        duration: turn / pieces,
        // The causes are not shown here, so they are not requested.
        watch: WatchOptions {
            threshold_ns: THRESHOLD_NS,
            attribute_ns: u64::MAX,
            ..WatchOptions::default()
        },
        real_time_priority: case.is_real_time.then(|| setup.priority()),
    };
    beside(setup.cpus[0], case.is_busy, || {
        for _ in 0..pieces {
            if case.rests {
                Burst::start(&setup.clock).rest(&setup.clock);
            }
            for gaps in spin(&setup.clock, &options)? {
                into.add(&setup.clock, &gaps, slice);
            }
        }
        Ok(())
    })
}

/// Runs `work` while a normal thread keeps the processor busy, if requested.
fn beside<R>(
    cpu: u32,
    is_busy: bool,
    work: impl FnOnce() -> Result<R, StudyError>,
) -> Result<R, StudyError> {
    if !is_busy {
        return work();
    }
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let _end = SetOnDrop(&is_over);
        let body = || {
            let _placement = Placement::on(Pin::To(cpu), None);
            while !is_over.load(Ordering::Relaxed) {
                spin_loop();
            }
        };
        thread::Builder::new().spawn_scoped(scope, body).map_err(|_| StudyError::Thread)?;
        work()
    })
}

/// Ends the busy thread, however the work ends: the scope waits for it.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Measured {
    fn add(&mut self, clock: &Clock, found: &ProcessorGaps, slice: Duration) {
        let whole = found.whole;
        let at = |stamp| clock.nanos_between(whole.from, stamp);
        let gaps: Vec<(u64, u64)> =
            found.kept().iter().map(|one| (at(one.gap.from), at(one.gap.to))).collect();
        let watched = found.watched_ns(clock);
        self.slices.extend(lost_in_slices(watched, &gaps, slice));
        self.watched_ns += watched;
        for one in found.kept() {
            let nanos = one.gap.nanos(clock);
            self.longest_ns = self.longest_ns.max(nanos);
            self.lost_ns += nanos;
        }
    }

    /// Time lost in a slice.
    fn quartiles(&self) -> Option<Quartiles> {
        Quartiles::of(&self.slices)
    }

    fn worst(&self) -> Option<f64> {
        self.slices.iter().copied().reduce(f64::max)
    }

    /// The share of the time that was lost.
    fn lost_share(&self) -> f64 {
        self.lost_ns as f64 / self.watched_ns.max(1) as f64
    }
}

impl Study {
    fn findings(&self, setup: &Setup<'_>, turn: Duration, not_measured: Vec<String>) -> Findings {
        let limit = fs::read_to_string("/proc/sys/kernel/sched_rt_runtime_us");
        let limit = limit.map_or("unknown".to_owned(), |text| format!("{} us", text.trim()));
        Findings {
            method: format!(
                "A thread on processor {} reads the clock all the time; a step of more than {} is \
                 an interruption. Lost time is added up in slices of {}, over {ROUNDS} turns of \
                 {}; \"longest\" is a single interruption. A shared processor also has a normal \
                 thread that never sleeps, which the noise below includes. A thread that rests \
                 sleeps {} before at most {} of work, which does not count. The kernel's limit of \
                 real-time work in a second is {limit}.",
                setup.cpus[0],
                nanos(THRESHOLD_NS as f64),
                nanos(self.slice.as_nanos() as f64),
                nanos(turn.as_nanos() as f64),
                nanos(Burst::REST.as_nanos() as f64),
                nanos(PIECE.as_nanos() as f64),
            ),
            answers: self.answers(),
            plots: vec![self.lost_plot(), self.longest_plot()],
            not_measured,
            ..Findings::of(CELLS, &self.cases)
        }
    }

    fn lost_plot(&self) -> Plot {
        let point = |(case, measured): &(Case, Measured)| {
            // A logarithmic scale has no zero.
            let lost = measured.quartiles()?;
            let range = Some((lost.low.max(1.0), lost.high.max(1.0)));
            Some(Point { x: json!(case.name), y: lost.median.max(1.0), range })
        };
        self.plot("Time lost in a slice", "median and quartiles", point)
    }

    fn longest_plot(&self) -> Plot {
        let point = |(case, measured): &(Case, Measured)| {
            let y = measured.longest_ns.max(1) as f64;
            Some(Point { x: json!(case.name), y, range: None })
        };
        self.plot("Longest interruption", "longest", point)
    }

    fn plot(
        &self,
        title: &'static str,
        name: &str,
        point: impl FnMut(&(Case, Measured)) -> Option<Point>,
    ) -> Plot {
        Plot {
            title,
            x: Axis::words("case"),
            y: Axis::TIME,
            series: vec![Series::new(name, self.cases.iter().filter_map(point))],
        }
    }
}
