//! Ctrl-C as a flag: a command that runs on and on ends in good order when it is set.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use anyhow::Context as _;
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
};

/// Whether this process was asked to end.
#[derive(Clone, Debug)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// From now on SIGINT and SIGTERM set the flag; the second one ends the process.
    pub fn install() -> anyhow::Result<Self> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            flag::register_conditional_default(signal, Arc::clone(&asked))
                .and_then(|_| flag::register(signal, Arc::clone(&asked)))
                .context("cannot install signal handlers")?;
        }
        Ok(Self(asked))
    }

    /// Whether a signal has come.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The flag itself, for code that polls it.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    /// Sleeps in short turns, so that Ctrl-C is answered soon.
    pub fn sleep(&self, mut time: Duration) {
        const TURN: Duration = Duration::from_millis(50);
        while !time.is_zero() && !self.is_asked() {
            thread::sleep(time.min(TURN));
            time = time.saturating_sub(TURN);
        }
    }
}
