//! What a test does on a machine that lacks something, or is slow.

use std::{
    io::{self, Write as _},
    time::Duration,
};

/// Prints `SKIPPED`, the test, and why it returns without its check. `cargo test` shows the line
/// also for tests that pass: it holds back only what the printing macros write.
pub fn skipped(why: impl std::fmt::Display) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let _ = writeln!(io::stderr(), "SKIPPED {test}: {why}");
}

/// Polls until the condition holds. A minute is for a machine that does much else.
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
