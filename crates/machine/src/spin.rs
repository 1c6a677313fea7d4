//! Threads that do nothing but look for gaps, one for each processor.
//!
//! Bounds: each thread keeps the gaps in memory of its own, which it touches before it begins; a
//! thread that has found [`MOST_GAPS`] drops the rest, and counts them.

use std::{
    sync::Barrier,
    thread::{self, ScopedJoinHandle},
    time::Duration,
};

use nanotape_clock::{Clock, Stamp};
use nanotape_lab::{Pin, Placement, PlacementRequest};

use crate::gaps::{Gap, GapMeter};

/// Most gaps that a thread keeps: 16 MiB.
const MOST_GAPS: usize = 1 << 20;

/// What to run and for how long.
#[derive(Clone, PartialEq, Debug)]
pub struct SpinOptions {
    /// The processors, one thread each.
    pub cpus: Vec<u32>,
    /// How long to look.
    pub duration: Duration,
    /// Shorter interruptions are not kept, in nanoseconds; at least [`GapMeter::LEAST_NS`].
    pub threshold_ns: u64,
    /// The priority in the real-time class SCHED_FIFO; `None` leaves the class as it is.
    pub real_time_priority: Option<u8>,
}

/// The gaps of one processor.
#[derive(Clone, Debug)]
pub struct ProcessorGaps {
    /// The processor.
    pub cpu: u32,
    /// Whether the thread could be pinned to it; else it ran anywhere.
    pub is_pinned: bool,
    /// The first and the last stamp.
    pub whole: Gap,
    /// The gaps, in order.
    pub gaps: Vec<Gap>,
    /// Gaps that were found but not kept.
    pub not_kept: u64,
    /// Turns of the loop.
    pub turns: u64,
    /// What the system refused, a sentence each.
    pub refused: Vec<String>,
}

/// Why no gaps were measured.
#[derive(Debug, thiserror::Error)]
pub enum SpinError {
    /// No processor was named.
    #[error("no processor to measure")]
    NoProcessor,
    /// A thread could not be started.
    #[error("cannot start a thread for each processor: {0}")]
    Thread(std::io::Error),
    /// A thread ended early.
    #[error("a measuring thread ended early")]
    Lost,
}

impl ProcessorGaps {
    /// Length of the measurement in nanoseconds.
    pub fn watched_ns(&self, clock: &Clock) -> u64 {
        self.whole.nanos(clock)
    }

    /// Time in kept gaps, in nanoseconds.
    pub fn lost_ns(&self, clock: &Clock) -> u64 {
        self.gaps.iter().map(|gap| gap.nanos(clock)).sum()
    }

    /// Lengths of all gaps in nanoseconds, shortest first.
    pub fn sorted_ns(&self, clock: &Clock) -> Vec<u64> {
        let mut nanos: Vec<u64> = self.gaps.iter().map(|gap| gap.nanos(clock)).collect();
        nanos.sort_unstable();
        nanos
    }
}

/// Spins on each processor at the same time and returns their gaps, in the order of the processors.
pub fn spin(clock: &Clock, options: &SpinOptions) -> Result<Vec<ProcessorGaps>, SpinError> {
    if options.cpus.is_empty() {
        return Err(SpinError::NoProcessor);
    }
    let barrier = Barrier::new(options.cpus.len());
    thread::scope(|scope| {
        let mut threads: Vec<ScopedJoinHandle<'_, ProcessorGaps>> = Vec::new();
        for &cpu in &options.cpus {
            let barrier = &barrier;
            let body = move || spin_on(cpu, clock, options, barrier);
            // A thread that is missing would keep the others at the barrier for ever.
            threads.push(scope.spawn(body));
        }
        threads.into_iter().map(|thread| thread.join().map_err(|_| SpinError::Lost)).collect()
    })
}

fn spin_on(cpu: u32, clock: &Clock, options: &SpinOptions, barrier: &Barrier) -> ProcessorGaps {
    let mut gaps = vec![Gap { from: Stamp::from_ticks(1), to: Stamp::from_ticks(1) }; MOST_GAPS];
    gaps.clear();
    let placement = Placement::apply(&PlacementRequest {
        pin: Pin::To(cpu),
        real_time_priority: options.real_time_priority,
        lock_memory: false,
    });
    let mut not_kept = 0;
    let mut turns = 0_u64;
    barrier.wait();
    let begin = clock.stamp_start();
    let ticks = options.duration.as_secs_f64() * clock.rate().ticks_per_second;
    let end = Stamp::from_ticks(begin.ticks() + ticks as u64);
    let mut meter = GapMeter::start(clock, options.threshold_ns.max(GapMeter::LEAST_NS));
    let mut now = begin;
    while now < end {
        now = clock.stamp_unfenced();
        turns += 1;
        if let Some(gap) = meter.turn(now) {
            if gaps.len() < MOST_GAPS {
                gaps.push(gap);
            } else {
                not_kept += 1;
            }
        }
    }
    ProcessorGaps {
        cpu,
        is_pinned: placement.cpu() == Some(cpu),
        whole: Gap { from: begin, to: now },
        gaps,
        not_kept,
        turns,
        refused: placement.refused().to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_processor_has_its_gaps_in_order_within_the_time() {
        let clock = Clock::calibrate();
        let options = SpinOptions {
            cpus: vec![0],
            duration: Duration::from_millis(50),
            threshold_ns: 100,
            real_time_priority: None,
        };
        let found = spin(&clock, &options).unwrap();
        let [one] = &found[..] else { panic!("one processor: {}", found.len()) };
        assert!(one.watched_ns(&clock) >= 50_000_000);
        assert!(one.turns > 1_000);
        assert!(one.gaps.windows(2).all(|pair| pair[0].to <= pair[1].from));
        assert!(one.gaps.iter().all(|gap| gap.nanos(&clock) >= 99));
        assert!(one.gaps.iter().all(|gap| one.whole.from <= gap.from && gap.to <= one.whole.to));
        assert!(one.lost_ns(&clock) <= one.watched_ns(&clock));
    }

    #[test]
    fn without_a_processor_there_is_nothing_to_measure() {
        let clock = Clock::monotonic();
        let options = SpinOptions {
            cpus: Vec::new(),
            duration: Duration::ZERO,
            threshold_ns: 100,
            real_time_priority: None,
        };
        assert!(matches!(spin(&clock, &options), Err(SpinError::NoProcessor)));
    }
}
