//! What a reader does while there is nothing to read.

use std::{hint, thread, time::Duration};

/// How to wait: a choice between a late message and a busy processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WaitStrategy {
    /// Polls again at once, with a pause instruction: quickest, and takes a whole processor.
    #[default]
    Spin,
    /// Offers the processor to others between polls: for more readers than processors.
    Yield,
    /// Sleeps between polls: takes next to no processor, and sees a message late by up to this long
    /// and what the kernel adds.
    Sleep(Duration),
    /// Spins for some polls, yields for as many, then sleeps between polls until a message comes.
    Backoff {
        /// Polls before it yields, and then before it sleeps.
        looks: u32,
        /// How long it sleeps.
        sleep: Duration,
    },
}

/// Polls that do not sleep, from one check of the writer to the next.
const POLLS_PER_CHECK: u32 = 1 << 16;

/// Time asleep, from one check of the writer to the next.
const SLEEP_PER_CHECK: Duration = Duration::from_millis(20);

/// Waits by a strategy: [`idle`](Self::idle) when there was nothing, [`reset`](Self::reset) when
/// there was something.
#[derive(Clone, Debug, Default)]
pub struct Waiter {
    strategy: WaitStrategy,
    idles: u32,
    /// Polls since the last check of the writer, of those that count.
    unchecked: u32,
}

impl Waiter {
    /// A waiter that has not waited yet.
    pub fn new(strategy: WaitStrategy) -> Self {
        Self { strategy, idles: 0, unchecked: 0 }
    }

    /// How often [`idle`](Self::idle) was called since there was something.
    #[inline]
    pub fn idles(&self) -> u32 {
        self.idles
    }

    /// There was something.
    #[inline]
    pub fn reset(&mut self) {
        (self.idles, self.unchecked) = (0, 0);
    }

    /// There was nothing: waits for a moment.
    #[inline]
    pub fn idle(&mut self) {
        self.idles = self.idles.saturating_add(1);
        self.unchecked = self.unchecked.saturating_add(1);
        match self.strategy {
            WaitStrategy::Spin => hint::spin_loop(),
            WaitStrategy::Yield => thread::yield_now(),
            WaitStrategy::Sleep(time) => thread::sleep(time),
            WaitStrategy::Backoff { looks, .. } if self.idles <= looks => {
                self.unchecked = 0;
                hint::spin_loop();
            }
            WaitStrategy::Backoff { looks, .. } if self.idles <= looks.saturating_mul(2) => {
                self.unchecked = 0;
                thread::yield_now();
            }
            WaitStrategy::Backoff { sleep, .. } => thread::sleep(sleep),
        }
    }

    /// Whether to check now if the writer lives: about every 20 ms while the strategy sleeps, else
    /// every 65,536 polls. A `true` is given once.
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
            (WaitStrategy::Backoff { looks: 2, sleep: 10_000 * sleep }, 6, 2),
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
