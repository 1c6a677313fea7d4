//! For machines that lack a feature.

use std::io::{self, Write as _};

/// Prints `SKIPPED`, the test, and why it returns without its check. `cargo test` also shows the
/// line for tests that pass: it only captures the output of the printing macros.
pub fn skipped(why: impl std::fmt::Display) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    // One write: the lines of other threads come before or after it.
    let _ = io::stderr().write_all(format!("SKIPPED {test}: {why}\n").as_bytes());
}
