//! How a test says that it does not check something on this machine.
//!
//! Included by tests, with `#[path = "../../testkit/skipped.rs"]`.

use std::io::{self, Write as _};

/// Prints `SKIPPED`, the test, and why it returns without having checked what it is for. `cargo test` shows
/// it also for tests that pass: it keeps back only what the printing macros write.
pub(crate) fn skipped(why: impl std::fmt::Display) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let _ = writeln!(io::stderr(), "SKIPPED {test}: {why}");
}
