//! A progress bar on standard error.

use std::{io::IsTerminal as _, time::Duration};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use nanotape_feed::DaySource;

/// A bar on standard error if that is a terminal; otherwise it does nothing.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A bar for reading a day.
    pub fn of(source: &DaySource) -> Self {
        Self::with_total(source.progress().total_bytes)
    }

    /// A bar for this number of bytes; without a total if it is unknown.
    pub fn with_total(total_bytes: Option<u64>) -> Self {
        if !std::io::stderr().is_terminal() {
            return Self { bar: ProgressBar::hidden() };
        }
        let target = ProgressDrawTarget::stderr_with_hz(8);
        let (bar, template) = match total_bytes {
            Some(total) => (
                ProgressBar::with_draw_target(Some(total), target),
                "{bar:32} {percent:>3}% {bytes}/{total_bytes} {bytes_per_sec} {eta} left",
            ),
            None => (
                ProgressBar::with_draw_target(None, target),
                "{spinner} {bytes} {bytes_per_sec} {elapsed}",
            ),
        };
        let progress = Self { bar }.with_template(template);
        progress.bar.enable_steady_tick(Duration::from_millis(250));
        progress
    }

    /// Counts steps instead of bytes: `12/300 experiments`.
    pub fn with_steps(noun: &str, total: u64) -> Self {
        Self::with_total(Some(total))
            .with_template(&format!("{{bar:32}} {{pos}}/{{len}} {noun} {{msg}} {{eta}} left"))
    }

    fn with_template(self, template: &str) -> Self {
        let style = ProgressStyle::with_template(template);
        self.bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        self
    }

    /// For totals that become known during the work.
    pub fn set_of(&self, done: u64, total: u64, what: &str) {
        self.bar.set_length(total);
        self.bar.set_message(what.to_owned());
        self.bar.set_position(done);
    }

    /// Shows the position of the source.
    pub fn update(&self, source: &DaySource) {
        self.bar.set_position(source.progress().done_bytes);
    }

    /// Shows this number of bytes or steps as done.
    pub fn set(&self, done: u64) {
        self.bar.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
