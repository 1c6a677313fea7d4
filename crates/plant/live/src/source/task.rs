//! Work beside the thread of the plant, which ends early when nothing needs its result.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

/// Steps of a pause, after which cancelled work ends.
const STEP: Duration = Duration::from_millis(20);

/// Work in a thread of its own. To drop this cancels it.
#[derive(Debug)]
pub(crate) struct Task(Arc<AtomicBool>);

/// Whether work is cancelled, in its thread.
pub(crate) struct Cancelled(Arc<AtomicBool>);

impl Task {
    /// Begins it in a thread of this name.
    pub(crate) fn start(
        name: &str,
        work: impl FnOnce(&Cancelled) + Send + 'static,
    ) -> io::Result<Self> {
        let is_cancelled = Arc::new(AtomicBool::new(false));
        let task = Self(Arc::clone(&is_cancelled));
        let work = move || work(&Cancelled(is_cancelled));
        thread::Builder::new().name(name.to_owned()).spawn(work)?;
        Ok(task)
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Cancelled {
    /// Whether it is.
    pub(crate) fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Pauses, unless it is cancelled.
    pub(crate) fn pause(&self, pause: Duration) {
        let mut rest = pause;
        while !rest.is_zero() && !self.get() {
            thread::sleep(rest.min(STEP));
            rest = rest.saturating_sub(STEP);
        }
    }
}
