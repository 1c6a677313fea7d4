//! A request to end, from a signal handler or another thread.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

/// A request to end cleanly. Copies share the request.
#[derive(Clone, Debug, Default)]
pub struct ShutdownFlag(Arc<AtomicBool>);

impl ShutdownFlag {
    /// A flag that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// A request with this flag: for signal handlers.
    pub fn by_flag(flag: Arc<AtomicBool>) -> Self {
        Self(flag)
    }

    /// The flag itself.
    pub fn flag(&self) -> &Arc<AtomicBool> {
        &self.0
    }

    /// Requests the end.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the end was requested. One load.
    #[inline]
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Sleeps, and returns early if the end is requested meanwhile.
    pub fn sleep(&self, mut time: Duration) {
        const TURN: Duration = Duration::from_millis(50);
        while !time.is_zero() && !self.is_requested() {
            thread::sleep(time.min(TURN));
            time = time.saturating_sub(TURN);
        }
    }
}
