//! Threads that do nothing but check for gaps, one for each processor.
//!
//! Failure: what the system refuses, such as a real-time class, is a sentence in the result.

use std::{
    sync::Barrier,
    thread::{self, ScopedJoinHandle},
    time::Duration,
};

use nanotape_clock::{Clock, Stamp};
use nanotape_lab::{Pin, Placement};

use crate::{
    attribution::Rung,
    cause::Cause,
    gaps::Gap,
    interrupts::InterruptCounts,
    kernel_trace::{KernelEvents, Losses},
    speed::{self, Point, Speed, Window},
    watch::{Interruption, Watch, WatchOptions, Watched},
};

/// The time in which the turns of the loop are counted.
const WINDOW: Duration = Duration::from_millis(1);

/// What to run and for how long.
#[derive(Clone, PartialEq, Debug)]
pub struct SpinOptions {
    /// The processors, one thread each.
    pub cpus: Vec<u32>,
    /// How long to check.
    pub duration: Duration,
    /// What to keep.
    pub watch: WatchOptions,
    /// The priority in the real-time class SCHED_FIFO; `None` leaves the class as it is.
    pub real_time_priority: Option<u8>,
}

/// The interruptions of one processor.
#[derive(Clone, Debug)]
pub struct ProcessorGaps {
    /// The processor.
    pub cpu: u32,
    /// Whether the thread could be pinned to it; else it ran anywhere.
    pub is_pinned: bool,
    /// The first and the last stamp.
    pub whole: Gap,
    /// The interruptions.
    pub watched: Watched,
    /// Turns of the loop.
    pub turns: u64,
    /// The speed of the loop over time.
    pub speed: Speed,
    /// The interruptions at which the speed changed.
    pub speed_changes: Vec<Gap>,
    /// Interrupts and softirqs of the processor meanwhile, by name, largest first; `None` if the
    /// kernel's counts of interrupts cannot be read.
    pub interrupts: Option<Vec<(String, u64)>>,
    /// System management interrupts meanwhile; `None` if they cannot be read.
    pub system_management: Option<u64>,
    /// Events of the kernel since the trace began, read and lost; `None` without a trace.
    pub events: Option<Losses>,
    /// What the system refused, a sentence each.
    pub refused: Vec<String>,
}

/// Why no gaps were measured.
#[derive(Debug, thiserror::Error)]
pub enum SpinError {
    /// No processor was named.
    #[error("no processor to measure")]
    NoProcessor,
    /// A thread ended early.
    #[error("a measuring thread ended early")]
    Lost,
}

impl ProcessorGaps {
    /// Length of the measurement in nanoseconds.
    pub fn watched_ns(&self, clock: &Clock) -> u64 {
        self.whole.nanos(clock)
    }

    /// The interruptions, in order.
    pub fn kept(&self) -> &[Interruption] {
        &self.watched.kept
    }

    /// Time in kept interruptions, in nanoseconds.
    pub fn lost_ns(&self, clock: &Clock) -> u64 {
        self.kept().iter().map(|one| one.gap.nanos(clock)).sum()
    }

    /// Lengths of all interruptions in nanoseconds, shortest first.
    pub fn sorted_ns(&self, clock: &Clock) -> Vec<u64> {
        let mut nanos: Vec<u64> = self.kept().iter().map(|one| one.gap.nanos(clock)).collect();
        nanos.sort_unstable();
        nanos
    }

    /// Interruptions beyond the number of interrupts: no interrupt of this kernel explains them.
    /// `None` if the kernel's counts cannot be read.
    pub fn unmatched(&self) -> Option<u64> {
        let found = self.kept().len() as u64 + self.watched.not_kept;
        let interrupts = self.interrupts.as_deref().map(InterruptCounts::interrupts_in);
        interrupts.map(|interrupts| found.saturating_sub(interrupts))
    }

    /// The begins of those without an explanation, in nanoseconds since the start.
    pub fn unexplained_at_ns(&self, clock: &Clock) -> Vec<u64> {
        let unexplained = self.kept().iter().filter(|one| one.cause == Cause::Unexplained);
        unexplained.map(|one| clock.nanos_between(self.whole.from, one.gap.from)).collect()
    }

    /// Adds what the kernel's events show about the causes.
    pub fn explain(&mut self, events: &KernelEvents, clock: &Clock) {
        self.watched.explain(events, clock);
        self.events = Some(events.losses());
    }

    /// Gives those that nothing else explains to a change of the frequency, if the speed changed
    /// with them. Not for a guest: there it can be the host that moved the processor.
    pub fn explain_by_speed(&mut self) {
        let changes = &self.speed_changes;
        for one in self.watched.kept.iter_mut().filter(|one| one.cause == Cause::Unexplained) {
            if changes.iter().any(|change| change.overlaps(&one.gap)) {
                one.cause = Cause::Frequency;
            }
        }
    }

    /// The accounts that were used, and those that were not.
    pub fn rungs(&self) -> &[Rung] {
        &self.watched.rungs
    }
}

/// Spins on each processor at the same time and returns their gaps, in the order of the processors.
pub fn spin(clock: &Clock, options: &SpinOptions) -> Result<Vec<ProcessorGaps>, SpinError> {
    if options.cpus.is_empty() {
        return Err(SpinError::NoProcessor);
    }
    let barrier = Barrier::new(options.cpus.len());
    let before = InterruptCounts::read();
    let mut found = thread::scope(|scope| {
        let mut threads: Vec<ScopedJoinHandle<'_, ProcessorGaps>> = Vec::new();
        for &cpu in &options.cpus {
            let barrier = &barrier;
            threads.push(scope.spawn(move || spin_on(cpu, clock, options, barrier)));
        }
        let joined = threads.into_iter().map(|thread| thread.join().map_err(|_| SpinError::Lost));
        joined.collect::<Result<Vec<_>, _>>()
    })?;
    let after = InterruptCounts::read();
    for one in &mut found {
        one.interrupts = after.has_interrupts().then(|| after.since(&before, one.cpu));
    }
    Ok(found)
}

fn spin_on(cpu: u32, clock: &Clock, options: &SpinOptions, barrier: &Barrier) -> ProcessorGaps {
    let placement = Placement::on(Pin::To(cpu), options.real_time_priority);
    let ticks = |time: Duration| (time.as_secs_f64() * clock.rate().ticks_per_second) as u64;
    let window_ticks = ticks(WINDOW);
    let count = ticks(options.duration).div_ceil(window_ticks.max(1));
    let nothing = Window { end_ns: 1, turns: 1, busy_ns: 1 };
    let mut windows = vec![nothing; usize::try_from(count).unwrap_or(0)];
    windows.clear();
    let mut points = Points::with_room(windows.capacity(), options.watch.most);
    let mut watch = Watch::start(clock, options.watch);
    barrier.wait();
    watch.restart();
    let begin = clock.stamp_start();
    let mut now = begin;
    for index in 1..=count {
        let end = Stamp::from_ticks(begin.ticks() + index * window_ticks);
        let (turns, busy_ns) = (points.turns, points.busy_ns);
        now = run_until(end, clock, &mut watch, &mut points);
        windows.push(Window {
            end_ns: clock.nanos_between(begin, now),
            turns: points.turns - turns,
            busy_ns: points.busy_ns - busy_ns,
        });
    }
    let speed = Speed::of(&windows);
    ProcessorGaps {
        cpu,
        is_pinned: placement.cpu() == Some(cpu),
        whole: Gap { from: begin, to: now },
        watched: watch.finish(),
        turns: points.turns,
        speed_changes: speed::interruptions_at(&speed.steps, &points.kept, begin, clock),
        speed,
        interrupts: None,
        system_management: None,
        events: None,
        refused: placement.refused().to_vec(),
    }
}

/// Runs until `end`, and returns the last stamp.
#[inline(always)]
fn run_until(end: Stamp, clock: &Clock, watch: &mut Watch, points: &mut Points) -> Stamp {
    let mut turns = 0;
    let mut now = clock.stamp_unfenced();
    let mut since = now;
    while now < end {
        let before = now;
        now = clock.stamp_unfenced();
        turns += 1;
        if watch.turn(now) {
            let gap = Gap { from: before, to: now };
            points.add(gap, core::mem::take(&mut turns), clock.nanos_between(since, before));
            now = clock.stamp_unfenced();
            since = now;
        }
    }
    points.add(Gap { from: now, to: now }, turns, clock.nanos_between(since, now));
    now
}

/// The progress of the loop. What does not fit is not kept: then a step has no interruption.
struct Points {
    kept: Vec<Point>,
    turns: u64,
    busy_ns: u64,
}

impl Points {
    /// Filled and cleared, so that a later push is no page fault.
    fn with_room(windows: usize, interruptions: usize) -> Self {
        let gap = Gap { from: Stamp::from_ticks(1), to: Stamp::from_ticks(1) };
        let mut kept = vec![Point { gap, turns: 1, busy_ns: 1 }; windows + interruptions];
        kept.clear();
        Self { kept, turns: 0, busy_ns: 0 }
    }

    /// Adds the turns and the time up to an interruption.
    #[inline]
    fn add(&mut self, gap: Gap, turns: u64, busy_ns: u64) {
        self.turns += turns;
        self.busy_ns += busy_ns;
        if self.kept.len() < self.kept.capacity() {
            self.kept.push(Point { gap, turns: self.turns, busy_ns: self.busy_ns });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn each_processor_has_its_gaps_in_order_within_the_time() {
        let clock = Clock::calibrate();
        let options = SpinOptions {
            cpus: vec![0],
            duration: Duration::from_millis(50),
            watch: WatchOptions { threshold_ns: 100, ..WatchOptions::default() },
            real_time_priority: None,
        };
        let found = spin(&clock, &options).unwrap();
        let [one] = &found[..] else { panic!("one processor: {}", found.len()) };
        let gaps: Vec<Gap> = one.kept().iter().map(|one| one.gap).collect();
        assert!(one.watched_ns(&clock) >= 49_900_000);
        assert!(one.turns > 1_000);
        assert!(gaps.windows(2).all(|pair| pair[0].to <= pair[1].from));
        assert!(gaps.iter().all(|gap| gap.nanos(&clock) >= 99));
        assert!(one.lost_ns(&clock) <= one.watched_ns(&clock));
        let turn_ns = one.speed.turn_ns.expect("there are windows");
        assert!(turn_ns > 0.1 && turn_ns < 10_000.0, "{turn_ns}");
    }

    /// The share of the lost time that a busy thread on the same processor is the cause of.
    fn share_of_a_neighbour(clock: &Clock) -> f64 {
        let cpu = *nanotape_host::allowed_cpus().last().expect("a processor is allowed");
        let options = SpinOptions {
            cpus: vec![cpu],
            duration: Duration::from_millis(300),
            watch: WatchOptions::default(),
            real_time_priority: None,
        };
        let is_over = AtomicBool::new(false);
        let found = thread::scope(|scope| {
            scope.spawn(|| {
                let _placement = Placement::on(Pin::To(cpu), None);
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            let found = spin(clock, &options);
            is_over.store(true, Ordering::Relaxed);
            found.unwrap()
        });
        let by_neighbour =
            found[0].kept().iter().filter(|one| one.cause == Cause::Preempted { by: None });
        let nanos: u64 = by_neighbour.map(|one| one.gap.nanos(clock)).sum();
        nanos as f64 / found[0].lost_ns(clock).max(1) as f64
    }

    #[test]
    fn a_busy_neighbour_is_found_by_the_accounts_alone() {
        // Questions are interrupted too: without those, a third of the time is not found.
        let clock = Clock::calibrate();
        let shares = [(); 3].map(|()| share_of_a_neighbour(&clock));
        assert!(shares.iter().any(|&share| share > 0.85), "{shares:?}");
    }

    #[test]
    fn without_a_processor_there_is_nothing_to_measure() {
        let options = SpinOptions {
            cpus: Vec::new(),
            duration: Duration::ZERO,
            watch: WatchOptions::default(),
            real_time_priority: None,
        };
        assert!(matches!(spin(&Clock::monotonic(), &options), Err(SpinError::NoProcessor)));
    }
}
