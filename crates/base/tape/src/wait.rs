//! Strategies for a reader that is idle.

use std::{hint, thread, time::Duration};

/// How to wait: a trade-off between latency and processor time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WaitStrategy {
    /// Polls again at once, with a pause instruction: lowest latency, uses a whole processor.
    #[default]
    Spin,
    /// Yields the processor between polls: for more readers than processors.
    Yield,
    /// Sleeps between polls: uses almost no processor time, and delays a message by up to this long
    /// plus the kernel's overhead.
    Sleep(Duration),
    /// Spins for some polls, yields for as many, then sleeps between polls until a message arrives.
    Backoff {
        /// Polls before it yields, and again before it sleeps.
        polls: u32,
        /// Duration of a sleep.
        sleep: Duration,
    },
}

/// Polls without a sleep between two checks of the writer.
const POLLS_PER_CHECK: u32 = 1 << 16;

/// Sleep time between two checks of the writer.
const SLEEP_PER_CHECK: Duration = Duration::from_millis(20);

/// Waits by a strategy: call [`idle`](Self::idle) after an idle poll, and [`reset`](Self::reset)
/// after any other.
#[derive(Clone, Debug, Default)]
pub struct Waiter {
    strategy: WaitStrategy,
    idles: u32,
    /// Counted polls since the last check of the writer.
    unchecked: u32,
}

impl Waiter {
    /// A new waiter.
    pub fn new(strategy: WaitStrategy) -> Self {
        Self { strategy, idles: 0, unchecked: 0 }
    }

    /// Number of calls of [`idle`](Self::idle) since the last reset.
    #[inline]
    pub fn idles(&self) -> u32 {
        self.idles
    }

    /// Reports a poll with items.
    #[inline]
    pub fn reset(&mut self) {
        (self.idles, self.unchecked) = (0, 0);
    }

    /// Reports an idle poll: waits for a moment.
    #[inline]
    pub fn idle(&mut self) {
        self.idles = self.idles.saturating_add(1);
        self.unchecked = self.unchecked.saturating_add(1);
        match self.strategy {
            WaitStrategy::Spin => hint::spin_loop(),
            WaitStrategy::Yield => thread::yield_now(),
            WaitStrategy::Sleep(time) => thread::sleep(time),
            WaitStrategy::Backoff { polls, .. } if self.idles <= polls => {
                self.unchecked = 0;
                hint::spin_loop();
            }
            WaitStrategy::Backoff { polls, .. } if self.idles <= polls.saturating_mul(2) => {
                self.unchecked = 0;
                thread::yield_now();
            }
            WaitStrategy::Backoff { sleep, .. } => thread::sleep(sleep),
        }
    }

    /// Whether a check of the writer is due: about every 20 ms while the strategy sleeps, otherwise
    /// every 65,536 polls. Returns `true` once.
    #[inline]
    pub fn is_check_due(&mut self) -> bool {
        let polls = match self.strategy {
            WaitStrategy::Spin | WaitStrategy::Yield => POLLS_PER_CHECK,
            WaitStrategy::Sleep(sleep) | WaitStrategy::Backoff { sleep, .. } => {
                let sleeps = SLEEP_PER_CHECK.as_nanos() / sleep.as_nanos().max(1);
                sleeps.clamp(1, POLLS_PER_CHECK.into()) as u32
            }
        };
        let is_due = self.unchecked >= polls;
        if is_due {
            self.unchecked = 0;
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_strategy_returns_and_counts_and_checks_the_writer_now_and_then() {
        let sleep = Duration::from_micros(1);
        for (strategy, first, then) in [
            (WaitStrategy::Spin, 65_536, 65_536),
            (WaitStrategy::Yield, 65_536, 65_536),
            (WaitStrategy::Sleep(Duration::from_millis(5)), 4, 4),
            (WaitStrategy::Sleep(Duration::from_millis(30)), 1, 1),
            (WaitStrategy::Backoff { polls: 2, sleep: 10_000 * sleep }, 6, 2),
        ] {
            let mut waiter = Waiter::new(strategy);
            for polls in [first, then] {
                for _ in 0..polls {
                    assert!(!waiter.is_check_due(), "{strategy:?}");
                    waiter.idle();
                }
                assert!(waiter.is_check_due(), "{strategy:?}");
            }
            assert_eq!(waiter.idles(), first + then, "{strategy:?}");
            waiter.reset();
            assert_eq!(waiter.idles(), 0);
        }
    }
}
