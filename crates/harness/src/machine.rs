//! For machines that lack a feature, or are slow.

use std::{
    io::{self, Write as _},
    time::Duration,
};

/// Prints `SKIPPED`, the test, and why it returns without its check. `cargo test` also shows the
/// line for tests that pass: it only captures the output of the printing macros.
pub fn skipped(why: impl std::fmt::Display) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let _ = writeln!(io::stderr(), "SKIPPED {test}: {why}");
}

/// Polls until the condition holds, for up to a minute, since the machine may be busy.
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let (pause, tries) = (Duration::from_millis(2), 30_000);
    for _ in 0..tries {
        if is_so() {
            return;
        }
        std::thread::sleep(pause);
    }
    panic!("a minute passed without this: {what}");
}
