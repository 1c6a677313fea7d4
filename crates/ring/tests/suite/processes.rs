//! Rings between processes that are killed at every store, stopped, kept out, and simply busy.
//!
//! A child is this program once more, with the test `child` chosen and a role in its environment.

mod children;
mod frozen;
mod killed_at_every_store;
mod permissions;
mod rings;
mod traffic;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

/// A path that nothing has, in memory where there is such a folder; removed at the end.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let place = Self(folder.join(format!("nanotape-ring-{}-{name}", std::process::id())));
        place.clear();
        place
    }

    fn clear(&self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Says that a test did not check what it is for: to the terminal itself, because the harness keeps what
/// passing tests print.
fn skipped(why: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}

/// Asks until it is so; a minute is for a machine that does much else.
fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let (pause, tries) = (Duration::from_millis(2), 30_000);
    for _ in 0..tries {
        if is_so() {
            return;
        }
        std::thread::sleep(pause);
    }
    panic!("a minute passed without this: {what}");
}
