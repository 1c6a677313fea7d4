//! A progress bar on standard error.
//!
//! The terminal has one owner at a time: rows on it end the bar, and a line on standard error goes
//! above it.

use std::{
    fmt::Write,
    io::IsTerminal as _,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::verbosity::has_progress;

/// A bar on standard error if that is a terminal; otherwise it does nothing.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
}

/// The bar that is visible.
static VISIBLE: Mutex<Option<ProgressBar>> = Mutex::new(None);

const OF_BYTES: &str = "{bar:32} {percent:>3}% {bytes}/{total_bytes} {bytes_per_sec} {eta} left";
const OF_UNKNOWN: &str = "{spinner} {bytes} {bytes_per_sec} {elapsed}";

impl Progress {
    /// A bar for this number of bytes; without a total if it is unknown.
    pub fn with_total(total_bytes: Option<u64>) -> Self {
        let template = if total_bytes.is_some() { OF_BYTES } else { OF_UNKNOWN };
        Self::new(total_bytes, style(template))
    }

    /// Counts steps instead of bytes: `12/300 experiments`.
    pub fn with_steps(noun: &str, total: u64) -> Self {
        let template = format!("{{bar:32}} {{pos}}/{{len}} {noun} {{msg}} {{eta}} left");
        Self::new(Some(total), style(&template))
    }

    /// Shows the time of day that has been reached, instead of rates: for work at a recorded pace.
    pub fn with_time(
        total_bytes: Option<u64>,
        time: impl Fn() -> String + Clone + Send + Sync + 'static,
    ) -> Self {
        let template = match total_bytes {
            Some(_) => "{bar:32} {percent:>3}% {time}",
            None => "{spinner} {bytes} {time}",
        };
        let print = move |_: &ProgressState, text: &mut dyn Write| {
            // Writing to a string cannot fail.
            let _ = text.write_str(&time());
        };
        Self::new(total_bytes, style(template).with_key("time", print))
    }

    /// No bar: for work beside other work of the same process.
    pub fn hidden() -> Self {
        Self { bar: ProgressBar::hidden() }
    }

    fn new(total: Option<u64>, style: ProgressStyle) -> Self {
        if !has_progress() || !std::io::stderr().is_terminal() {
            return Self::hidden();
        }
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr_with_hz(8));
        bar.set_style(style);
        bar.enable_steady_tick(Duration::from_millis(250));
        *visible() = Some(bar.clone());
        Self { bar }
    }

    /// For totals that become known during the work.
    pub fn set_of(&self, done: u64, total: u64, what: &str) {
        self.bar.set_length(total);
        self.bar.set_message(what.to_owned());
        self.bar.set_position(done);
    }

    /// Shows this number of bytes or steps as done.
    pub fn set(&self, done: u64) {
        self.bar.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        *visible() = None;
        self.bar.finish_and_clear();
    }
}

/// Removes the bar for good: rows follow on its terminal.
pub(crate) fn end() {
    if let Some(bar) = visible().take() {
        bar.finish_and_clear();
    }
}

/// Prints above the bar.
pub(crate) fn above(print: impl FnOnce()) {
    // Without the lock: a terminal that is paused must not stop the threads that end a bar.
    let bar = visible().clone();
    match bar {
        Some(bar) => bar.suspend(print),
        None => print(),
    }
}

fn visible() -> MutexGuard<'static, Option<ProgressBar>> {
    VISIBLE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
