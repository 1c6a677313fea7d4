//! Cuts time into samples and epochs around the runs of one fixture.
//!
//! A sample is a batch of runs between two stamps, long enough that the clock's own cost is below a
//! thousandth of it. An epoch is a group of samples of about a millisecond in total, and its value
//! is the median of its samples: an interruption of a sample or two does not move it.
//! Means are not used: on a shared machine a single interruption of some milliseconds outweighs all
//! other values of an epoch (measured: epochs' means spread by 90%, their medians by 0.9%).

use core::hint::black_box;

use nanotape_clock::Clock;

use crate::{
    callgrind::counted_region,
    fixture::{Fixture, Prepared, WrongAnswer},
};

/// The length of an epoch, unless a single run is longer.
const EPOCH_NANOS: u64 = 1_000_000;

/// A sample takes at least this many times the cost of a stamp.
const SAMPLE_STAMPS: f64 = 1_000.0;

/// Samples in an epoch, unless runs are too long for that many.
const SAMPLES_PER_EPOCH: u64 = 50;

/// The cut of time for one benchmark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cut {
    /// Runs between two stamps.
    pub runs_per_sample: u32,
    /// Samples whose median is the value of an epoch.
    pub samples_per_epoch: u32,
}

impl Cut {
    /// The cut for runs of `run_nanos`. With `single`, a sample has one run.
    pub(crate) fn for_runs_of(run_nanos: f64, stamp_nanos: f64, single: bool) -> Self {
        let run_nanos = run_nanos.max(0.1);
        let sample_nanos = (EPOCH_NANOS / SAMPLES_PER_EPOCH) as f64;
        let sample_nanos = sample_nanos.max(SAMPLE_STAMPS * stamp_nanos);
        let runs = if single { 1.0 } else { (sample_nanos / run_nanos).ceil().max(1.0) };
        let samples = (EPOCH_NANOS as f64 / (runs * run_nanos)).round();
        Self {
            runs_per_sample: runs.min(1e9) as u32,
            samples_per_epoch: samples.clamp(1.0, 10_000.0) as u32,
        }
    }

    /// The longer epoch of two cuts of the same benchmark: that of the slower arm, so that neither
    /// arm exceeds the plan.
    pub(crate) fn of_the_slower(self, other: Self) -> Self {
        if other.runs_per_epoch() < self.runs_per_epoch() { other } else { self }
    }

    pub(crate) fn runs_per_epoch(self) -> u64 {
        u64::from(self.runs_per_sample) * u64::from(self.samples_per_epoch)
    }
}

/// Limits of single runs: the first limit reached ends them. The vector for their times must have
/// the capacity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Extent {
    pub(crate) runs: usize,
    pub(crate) nanos: u64,
}

/// A fixture that is ready to run, of any type.
pub(crate) trait Running {
    fn operations(&self) -> u64;

    /// Runs for about `warm_up_nanos` and returns how to cut time.
    fn calibrate(&mut self, clock: &Clock, warm_up_nanos: u64) -> Result<Cut, WrongAnswer>;

    /// Runs one epoch and appends the nanoseconds of each sample. `samples` must have the capacity.
    fn epoch(&mut self, clock: &Clock, cut: Cut, samples: &mut Vec<u64>)
    -> Result<(), WrongAnswer>;

    /// Times single runs, one after the other.
    fn single_runs(
        &mut self,
        clock: &Clock,
        extent: Extent,
        nanos: &mut Vec<u64>,
    ) -> Result<(), WrongAnswer>;

    /// Times single runs against an absolute schedule of one every `period_nanos`. A run that
    /// starts late is timed from its scheduled start.
    fn scheduled_runs(
        &mut self,
        clock: &Clock,
        period_nanos: f64,
        extent: Extent,
        nanos: &mut Vec<u64>,
    ) -> Result<(), WrongAnswer>;

    /// Runs `runs` times and only checks the answers.
    fn warm_runs(&mut self, runs: u64) -> Result<(), WrongAnswer>;

    /// Runs `runs` times inside the region whose instructions are counted.
    fn counted_runs(&mut self, runs: u64) -> Result<(), WrongAnswer>;
}

impl<F: Fixture> Running for F {
    fn operations(&self) -> u64 {
        Fixture::operations(self).max(1)
    }

    fn calibrate(&mut self, clock: &Clock, warm_up_nanos: u64) -> Result<Cut, WrongAnswer> {
        let mut single = self.prepare() == Prepared::ForOneRun;
        let began = clock.stamp();
        let mut batch = 1u64;
        loop {
            let mut run_nanos = f64::INFINITY;
            // The minimum of a few: the cost of a run without interruptions.
            for _ in 0..3 {
                let before = clock.stamp_start();
                let answer = timed_batch(self, batch);
                let nanos = clock.nanos_between(before, clock.stamp());
                WrongAnswer::check(self, &answer)?;
                run_nanos = run_nanos.min(nanos as f64 / batch as f64);
                single |= self.prepare() == Prepared::ForOneRun;
            }
            let elapsed = clock.nanos_between(began, clock.stamp());
            let long_enough = single || run_nanos * batch as f64 >= EPOCH_NANOS as f64 / 10.0;
            if long_enough && elapsed >= warm_up_nanos {
                return Ok(Cut::for_runs_of(run_nanos, clock.cost_nanos(), single));
            }
            if !long_enough {
                batch *= 2;
            }
        }
    }

    fn epoch(
        &mut self,
        clock: &Clock,
        cut: Cut,
        samples: &mut Vec<u64>,
    ) -> Result<(), WrongAnswer> {
        for _ in 0..cut.samples_per_epoch {
            if cut.runs_per_sample == 1 {
                self.prepare();
            }
            let before = clock.stamp_start();
            let answer = timed_batch(self, u64::from(cut.runs_per_sample));
            let after = clock.stamp();
            samples.push(clock.nanos_between(before, after));
            WrongAnswer::check(self, &answer)?;
        }
        Ok(())
    }

    fn single_runs(
        &mut self,
        clock: &Clock,
        extent: Extent,
        nanos: &mut Vec<u64>,
    ) -> Result<(), WrongAnswer> {
        let began = clock.stamp();
        for _ in 0..extent.runs {
            self.prepare();
            let before = clock.stamp_start();
            let answer = black_box(self.run());
            let after = clock.stamp();
            nanos.push(clock.nanos_between(before, after));
            WrongAnswer::check(self, &answer)?;
            if clock.nanos_between(began, after) > extent.nanos {
                break;
            }
        }
        Ok(())
    }

    fn scheduled_runs(
        &mut self,
        clock: &Clock,
        period_nanos: f64,
        extent: Extent,
        nanos: &mut Vec<u64>,
    ) -> Result<(), WrongAnswer> {
        let began = clock.stamp();
        for index in 0..extent.runs {
            self.prepare();
            let due = (index as f64 * period_nanos) as u64;
            while clock.nanos_between(began, clock.stamp()) < due {
                core::hint::spin_loop();
            }
            let answer = black_box(self.run());
            let done = clock.nanos_between(began, clock.stamp());
            nanos.push(done.saturating_sub(due));
            WrongAnswer::check(self, &answer)?;
            if done > extent.nanos {
                break;
            }
        }
        Ok(())
    }

    fn warm_runs(&mut self, runs: u64) -> Result<(), WrongAnswer> {
        for _ in 0..runs {
            self.prepare();
            let answer = black_box(self.run());
            WrongAnswer::check(self, &answer)?;
        }
        Ok(())
    }

    fn counted_runs(&mut self, runs: u64) -> Result<(), WrongAnswer> {
        for _ in 0..runs {
            self.prepare();
            let answer = counted_region(|| black_box(self.run()));
            WrongAnswer::check(self, &answer)?;
        }
        Ok(())
    }
}

/// `runs` runs; returns the answer of the last one.
#[inline]
fn timed_batch<F: Fixture>(fixture: &mut F, runs: u64) -> F::Answer {
    for _ in 1..runs {
        black_box(fixture.run());
    }
    black_box(fixture.run())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Counter {
        runs: u64,
        prepared: u64,
        wrong_at: u64,
        per_run: Prepared,
    }

    impl Counter {
        fn new(per_run: Prepared) -> Self {
            Self { runs: 0, prepared: 0, wrong_at: u64::MAX, per_run }
        }
    }

    impl Fixture for Counter {
        type Answer = u64;

        fn prepare(&mut self) -> Prepared {
            self.prepared += 1;
            self.per_run
        }

        fn run(&mut self) -> u64 {
            self.runs += 1;
            self.runs + u64::from(self.runs >= self.wrong_at)
        }

        fn expected(&self) -> u64 {
            self.runs
        }
    }

    #[test]
    fn a_cut_fills_an_epoch_and_outweighs_the_clock() {
        for run_nanos in [0.3, 7.0, 90.0, 3_000.0, 19_999.0, 20_001.0, 400_000.0, 5e6, 3e9] {
            let cut = Cut::for_runs_of(run_nanos, 18.0, false);
            let sample = run_nanos * f64::from(cut.runs_per_sample);
            let epoch = sample * f64::from(cut.samples_per_epoch);
            assert!(sample >= 18_000.0, "{run_nanos}: {cut:?}");
            assert!(epoch >= 0.5e6, "{run_nanos}: {cut:?}");
            assert!(epoch <= 2e6 || cut.samples_per_epoch == 1, "{run_nanos}: {cut:?}");
        }
        assert_eq!(Cut::for_runs_of(100.0, 18.0, true).runs_per_sample, 1);
    }

    #[test]
    fn a_fixture_that_needs_it_is_prepared_before_every_run() {
        let clock = Clock::calibrate();
        let mut counter = Counter::new(Prepared::ForOneRun);
        let cut = counter.calibrate(&clock, 0).unwrap();
        assert_eq!(cut.runs_per_sample, 1);
        (counter.runs, counter.prepared) = (0, 0);
        let mut samples = Vec::with_capacity(cut.samples_per_epoch as usize);
        counter.epoch(&clock, cut, &mut samples).unwrap();
        assert_eq!(counter.runs, u64::from(cut.samples_per_epoch));
        assert_eq!(counter.prepared, counter.runs);
    }

    #[test]
    fn a_wrong_answer_ends_the_measurement_and_says_both() {
        let clock = Clock::calibrate();
        let mut counter = Counter::new(Prepared::ForAllRuns);
        let cut = counter.calibrate(&clock, 0).unwrap();
        assert!(cut.runs_per_sample > 1);
        counter.wrong_at = counter.runs + 1;
        let error = counter.epoch(&clock, cut, &mut Vec::new()).unwrap_err();
        assert_ne!(error.answer, error.expected);
        assert!(error.to_string().contains(&error.expected), "{error}");
        let once = Extent { runs: 1, nanos: u64::MAX };
        assert!(counter.single_runs(&clock, once, &mut Vec::new()).is_err());
        assert!(counter.counted_runs(1).is_err());
    }

    /// A long run delays the runs after it: the delay counts.
    #[test]
    fn a_late_start_counts_as_latency() {
        struct Stall {
            clock: Clock,
            runs: u64,
        }
        const STALL_NANOS: u64 = 3_000_000;
        impl Fixture for Stall {
            type Answer = ();
            fn run(&mut self) {
                self.runs += 1;
                let began = self.clock.stamp();
                let nanos = if self.runs == 11 { STALL_NANOS } else { 0 };
                while self.clock.nanos_between(began, self.clock.stamp()) < nanos {}
            }
            fn expected(&self) {}
        }
        let clock = Clock::calibrate();
        let mut nanos = Vec::with_capacity(20);
        let mut stall = Stall { clock, runs: 0 };
        // One run every 100 us: nine runs were due during the stall.
        let extent = Extent { runs: 20, nanos: u64::MAX };
        stall.scheduled_runs(&clock, 100_000.0, extent, &mut nanos).unwrap();
        assert_eq!(nanos.len(), 20);
        // The limit is reached by the first run that ends after 1 ms: the stall.
        let (mut cut, extent) = (Vec::new(), Extent { nanos: 1_000_000, ..extent });
        Stall { clock, runs: 0 }.scheduled_runs(&clock, 100.0, extent, &mut cut).unwrap();
        assert!(cut.len() <= 11, "{}", cut.len());
        for (index, &nanos) in nanos.iter().enumerate().skip(10) {
            let due_after_stall = (index as u64 - 10) * 100_000;
            assert!(nanos >= STALL_NANOS - due_after_stall, "run {index}: {nanos} ns");
        }
    }
}
