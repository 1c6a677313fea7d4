//! `--quiet` and `--no-progress`, of every command.

use std::{
    ffi::OsStr,
    sync::atomic::{AtomicBool, Ordering},
};

use clap::Args;

static IS_QUIET: AtomicBool = AtomicBool::new(false);
static HAS_PROGRESS: AtomicBool = AtomicBool::new(true);

/// What standard error shows besides warnings and errors.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Global options")]
pub struct VerbosityArguments {
    /// Print only warnings and errors on standard error: no progress, no information
    #[arg(short, long, global = true)]
    pub quiet: bool,

    /// Show no progress
    #[arg(long, global = true)]
    pub no_progress: bool,
}

impl VerbosityArguments {
    /// Whether a word of a command line is one of them.
    pub fn is_one(word: &OsStr) -> bool {
        ["-q", "--quiet", "--no-progress"].iter().any(|option| word == *option)
    }

    /// Applies them to the process.
    pub fn apply(self) {
        IS_QUIET.store(self.quiet, Ordering::Relaxed);
        HAS_PROGRESS.store(!self.quiet && !self.no_progress, Ordering::Relaxed);
    }
}

/// Whether `--quiet` is given.
pub fn is_quiet() -> bool {
    IS_QUIET.load(Ordering::Relaxed)
}

pub(crate) fn has_progress() -> bool {
    HAS_PROGRESS.load(Ordering::Relaxed)
}
