//! Regions in files, between processes that are killed, stopped, kept out and lied to.
//!
//! A child is this program once more, with the test `child` chosen and a role in its environment.

mod bus_guard;
mod children;
mod document;
mod heap;
mod hostile;
mod kill_points;
mod owners;
mod permissions;
mod refusals;
mod space;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use nanotape_shm::{OwnedRegion, RegionError, RegionOptions, RegionSpec, Word};

const KIND: [u8; 8] = *b"TEST    ";

fn spec() -> RegionSpec {
    RegionSpec { kind: KIND, layout: 3, parameters: [10, 20, 30, 40], words: 1_000 }
}

/// What the tests write into a new region; checked by [`is_filled`].
fn fill(words: &[Word]) {
    for (word, value) in words.iter().zip(1..) {
        // Few stores, so that there are few places to be killed at.
        if value % 250 == 1 {
            word.store(value);
        }
    }
}

fn is_filled(words: &[nanotape_shm::ReadWord]) -> bool {
    let expected = (1..).map(|value| if value % 250 == 1 { value } else { 0 });
    words.len() == spec().words && words.iter().zip(expected).all(|(word, e)| word.load() == e)
}

fn create(path: &Path) -> Result<(OwnedRegion, nanotape_shm::Origin), RegionError> {
    OwnedRegion::create(path, spec(), &RegionOptions::default(), fill)
}

/// A path that nothing has, in memory where there is such a folder; removed at the end.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let place = Self(folder.join(format!("nanotape-test-{}-{name}", std::process::id())));
        place.clear();
        place
    }

    fn clear(&self) {
        let _ = std::fs::remove_file(&self.0);
        let _ = std::fs::remove_dir_all(&self.0);
    }

    /// The error without the path in front of it.
    fn sentence(&self, error: &RegionError) -> String {
        let all = error.to_string();
        let path = format!("{}: ", self.0.display());
        let sentence = all.strip_prefix(&path).unwrap_or_else(|| panic!("no path in {all:?}"));
        assert!(!sentence.contains('\n'), "{sentence}");
        sentence.to_owned()
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
