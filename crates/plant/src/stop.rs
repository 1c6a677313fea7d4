//! A wish that a run should end, from a signal handler or another thread.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// Asks a run to end in good order. Copies of it are the same wish.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Nobody has asked yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The wish that this flag tells: for handlers of signals.
    pub fn by_flag(flag: Arc<AtomicBool>) -> Self {
        Self(flag)
    }

    /// Asks.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether somebody has asked.
    #[inline]
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
