//! What a reader does while there is nothing to read.

use std::{hint, thread, time::Duration};

/// How to wait. What it costs while nothing comes is the choice between time and processors.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WaitStrategy {
    /// Looks again at once, with a pause instruction: quickest, and takes a whole processor.
    #[default]
    Spin,
    /// Offers the processor to others between looks: for more readers than processors.
    Yield,
    /// Sleeps between looks: takes next to no processor, and sees a message late by up to this long
    /// and what the kernel adds.
    Sleep(Duration),
    /// Spins for so many looks, yields for as many, then sleeps this long between looks until there
    /// is something again.
    Backoff {
        /// Looks before it yields, and before it sleeps.
        looks: u32,
        /// How long it sleeps then.
        sleep: Duration,
    },
}

/// Waits by a strategy: [`idle`](Self::idle) when there was nothing, [`reset`](Self::reset) when
/// there was something.
#[derive(Clone, Debug, Default)]
pub struct Waiter {
    strategy: WaitStrategy,
    idles: u32,
}

impl Waiter {
    /// A waiter that has not waited yet.
    pub fn new(strategy: WaitStrategy) -> Self {
        Self { strategy, idles: 0 }
    }

    /// How often [`idle`](Self::idle) was called since there was something: to look now and then
    /// whether the writer is still alive.
    #[inline]
    pub fn idles(&self) -> u32 {
        self.idles
    }

    /// There was something.
    #[inline]
    pub fn reset(&mut self) {
        self.idles = 0;
    }

    /// There was nothing: waits for a moment.
    #[inline]
    pub fn idle(&mut self) {
        self.idles = self.idles.saturating_add(1);
        match self.strategy {
            WaitStrategy::Spin => hint::spin_loop(),
            WaitStrategy::Yield => thread::yield_now(),
            WaitStrategy::Sleep(time) => thread::sleep(time),
            WaitStrategy::Backoff { looks, .. } if self.idles <= looks => hint::spin_loop(),
            WaitStrategy::Backoff { looks, .. } if self.idles <= looks.saturating_mul(2) => {
                thread::yield_now();
            }
            WaitStrategy::Backoff { sleep, .. } => thread::sleep(sleep),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_strategy_returns_and_counts() {
        let sleep = Duration::from_micros(1);
        for strategy in [
            WaitStrategy::Spin,
            WaitStrategy::Yield,
            WaitStrategy::Sleep(sleep),
            WaitStrategy::Backoff { looks: 2, sleep },
        ] {
            let mut waiter = Waiter::new(strategy);
            (0..6).for_each(|_| waiter.idle());
            assert_eq!(waiter.idles(), 6, "{strategy:?}");
            waiter.reset();
            assert_eq!(waiter.idles(), 0);
        }
    }
}
