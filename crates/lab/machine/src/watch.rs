//! Keeps the interruptions of a thread, with the cause of each as the accounts show it.
//!
//! Bounds: interruptions are kept in memory that is touched at the start; what does not fit is
//! counted. A turn without an interruption allocates nothing and makes no system call.

use nanotape_clock::{Clock, Stamp};
use rustix::thread::{gettid, sched_getcpu};

use crate::{
    attribution::{Attributor, Rung},
    cause::Cause,
    gaps::{Gap, GapMeter},
    kernel_trace::KernelEvents,
};

/// What to keep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WatchOptions {
    /// Shorter interruptions are not kept, in nanoseconds; at least [`GapMeter::LEAST_NS`].
    pub threshold_ns: u64,
    /// The accounts are read for interruptions of at least this length, in nanoseconds.
    pub attribute_ns: u64,
    /// Most interruptions to keep.
    pub most: usize,
}

/// One interruption.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interruption {
    /// When.
    pub gap: Gap,
    /// The processor after it.
    pub cpu: u32,
    /// Its cause.
    pub cause: Cause,
}

/// The interruptions of the thread that started it.
#[derive(Debug)]
pub struct Watch {
    clock: Clock,
    meter: GapMeter,
    attributor: Attributor,
    options: WatchOptions,
    kept: Vec<Interruption>,
    not_kept: u64,
    /// Noticed, but not yet attributed.
    noticed: Option<Gap>,
}

/// The interruptions of a thread, after it has ended its work.
#[derive(Clone, Debug)]
pub struct Watched {
    /// The kernel's number of the thread.
    pub thread: u32,
    /// The interruptions, in order.
    pub kept: Vec<Interruption>,
    /// Interruptions that did not fit.
    pub not_kept: u64,
    /// The accounts that were used, and those that were not.
    pub rungs: Vec<Rung>,
}

/// A question to the accounts takes about 2 us; a longer one was interrupted.
const LONGEST_QUESTION_NS: u64 = 10_000;

/// Questions about one interruption before the loop goes on.
const MOST_IN_A_ROW: u32 = 4;

impl Default for WatchOptions {
    /// Attribution costs about 1 us, so that 2 us are worth it.
    fn default() -> Self {
        Self { threshold_ns: 300, attribute_ns: 2_000, most: 1 << 18 }
    }
}

impl Watch {
    /// Starts on the calling thread.
    pub fn start(clock: &Clock, options: WatchOptions) -> Self {
        let nothing = Interruption {
            gap: Gap { from: Stamp::from_ticks(1), to: Stamp::from_ticks(1) },
            cpu: 0,
            cause: Cause::Unexplained,
        };
        // Filled and cleared, so that a later push is no page fault.
        let mut kept = vec![nothing; options.most];
        kept.clear();
        let attributor = Attributor::open(clock);
        let meter = GapMeter::start(clock, options.threshold_ns.max(GapMeter::LEAST_NS));
        Self { clock: *clock, meter, attributor, options, kept, not_kept: 0, noticed: None }
    }

    /// Keeps the interruption that ends at `now`, if there is one, and returns whether there is.
    #[inline(always)]
    pub fn turn(&mut self, now: Stamp) -> bool {
        match self.meter.turn(now) {
            None => false,
            Some(gap) => {
                self.keep(gap);
                true
            }
        }
    }

    /// As [`turn`](Self::turn), but only notices the interruption: [`settle`](Self::settle) reads
    /// its cause when the loop has time for it. Of several, the longest is kept.
    #[inline(always)]
    pub fn notice(&mut self, now: Stamp) {
        if let Some(gap) = self.meter.turn(now) {
            self.notice_gap(gap);
        }
    }

    #[cold]
    #[inline(never)]
    fn notice_gap(&mut self, gap: Gap) {
        let length = |gap: &Gap| gap.to.ticks().saturating_sub(gap.from.ticks());
        if self.noticed.is_none_or(|noticed| length(&noticed) < length(&gap)) {
            self.noticed = Some(gap);
        }
    }

    /// Keeps what was noticed; returns whether there was something.
    #[inline(always)]
    pub fn settle(&mut self) -> bool {
        match self.noticed.take() {
            None => false,
            Some(gap) => {
                self.keep(gap);
                true
            }
        }
    }

    /// Leaves out the time up to `now`.
    #[inline(always)]
    pub fn skip_to(&mut self, now: Stamp) {
        self.meter.skip_to(now);
    }

    /// Leaves out everything until now, also in the accounts.
    pub fn restart(&mut self) {
        self.noticed = None;
        self.attributor.mark();
        self.meter.skip_to(self.clock.stamp());
    }

    #[cold]
    #[inline(never)]
    fn keep(&mut self, gap: Gap) {
        let (gap, cause) = match gap.nanos(&self.clock) >= self.options.attribute_ns {
            true => self.query(gap),
            false => (gap, Cause::NotAttributed),
        };
        if self.kept.len() < self.options.most {
            let cpu = u32::try_from(sched_getcpu()).unwrap_or(u32::MAX);
            self.kept.push(Interruption { gap, cpu, cause });
        } else {
            self.not_kept += 1;
        }
        self.meter.skip_to(self.clock.stamp());
    }

    /// The cause of a gap. The question can itself be interrupted: a kernel that is about to switch
    /// does so when a system call ends. Then both are one interruption, and the accounts of both
    /// are read, because those of the first question were read at different moments.
    fn query(&mut self, mut gap: Gap) -> (Gap, Cause) {
        let marked = self.attributor.marked();
        let mut queried_at = gap.to;
        let mut cause = self.attributor.attribute(&gap).cause;
        for _ in 0..MOST_IN_A_ROW {
            let now = self.clock.stamp();
            if self.clock.nanos_between(queried_at, now) < LONGEST_QUESTION_NS {
                break;
            }
            (gap.to, queried_at) = (now, now);
            cause = self.attributor.attribute_since(marked, &gap).cause;
        }
        (gap, cause)
    }

    /// Ends the watch.
    pub fn finish(self) -> Watched {
        let thread = u32::try_from(gettid().as_raw_nonzero().get()).unwrap_or(0);
        let rungs = self.attributor.rungs();
        Watched { thread, kept: self.kept, not_kept: self.not_kept, rungs }
    }
}

impl Watched {
    /// Replaces each cause by the one that the kernel's events show. A gap without any event is
    /// unexplained: no event of this kernel happened in it. One whose events were lost says so.
    pub fn explain(&mut self, events: &KernelEvents, clock: &Clock) {
        for one in &mut self.kept {
            let lost_ns = one.gap.nanos(clock);
            one.cause = events.judge(&one.gap, lost_ns, (self.thread, one.cpu), &one.cause).cause;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_counted() {
        let clock = Clock::calibrate();
        let options = WatchOptions { most: 1, ..WatchOptions::default() };
        let mut watch = Watch::start(&clock, options);
        for _ in 0..3 {
            watch.restart();
            std::thread::sleep(std::time::Duration::from_millis(1));
            assert!(watch.turn(clock.stamp()));
        }
        let watched = watch.finish();
        assert_eq!((watched.kept.len(), watched.not_kept), (1, 2));
        // On a busy machine the wait for a processor after the sleep may be the longer part.
        let cause = &watched.kept[0].cause;
        assert!(matches!(cause, Cause::Blocked | Cause::Preempted { .. }), "{cause}");
    }
}
