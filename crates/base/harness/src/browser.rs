//! A browser without a window: opens a page, runs its scripts, and returns the document.
//!
//! Bounds: a browser that hangs is killed after two minutes.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use crate::skipped;

const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

/// Polls of 50 ms until a browser that hangs is killed.
const MOST_POLLS: usize = 2_400;

/// An installed browser and a folder for its files.
#[derive(Debug)]
pub struct Browser {
    program: PathBuf,
    folder: PathBuf,
}

impl Browser {
    /// The browser in `NANOTAPE_BROWSER`, or the first on the path. If there is none, prints a line
    /// and returns `None`; with `NANOTAPE_REQUIRE_BROWSER=1` it fails. `built`: the folder beside
    /// the build, `CARGO_TARGET_TMPDIR` of the test.
    pub fn find(built: &str, test: &str) -> Option<Self> {
        let named = env::var_os("NANOTAPE_BROWSER").map(PathBuf::from);
        let Some(program) = named.or_else(on_path) else {
            let required = env::var_os("NANOTAPE_REQUIRE_BROWSER").is_some_and(|is| is == "1");
            assert!(!required, "no browser, and NANOTAPE_REQUIRE_BROWSER is 1");
            skipped(format_args!("no browser (tried {})", NAMES.join(", ")));
            return None;
        };
        // Another user cannot write beside the build.
        let places = [Path::new(built).to_owned(), env::temp_dir()];
        let is_writable = |folder: &PathBuf| {
            let is_there = fs::create_dir_all(folder);
            is_there.and_then(|()| fs::write(folder.join("writable"), "")).is_ok()
        };
        let mut folders = places.into_iter().map(|place| place.join(test));
        let folder = folders.find(is_writable).expect("a folder for the pages");
        Some(Self { program, folder })
    }

    /// The document after its scripts ran, without the scripts themselves. The page stays in the
    /// test's folder as `name`, for inspection.
    pub fn document(&self, name: &str, page: &str) -> String {
        let file = self.folder.join(name);
        fs::write(&file, page).expect("the page is written");
        let profile = self.folder.join(format!("{name}.profile"));
        let dump = self.folder.join(format!("{name}.dump"));
        let _ = fs::remove_dir_all(&profile);
        let child = Command::new(&self.program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update"])
            .args(["--disable-sync", "--disable-dev-shm-usage", "--window-size=1400,2400"])
            .args(["--virtual-time-budget=3000", "--dump-dom"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg(format!("file://{}", file.display()))
            .stdin(Stdio::null())
            .stdout(fs::File::create(&dump).expect("a file for the document"))
            .stderr(Stdio::null())
            .spawn()
            .expect("the browser starts");
        wait(child);
        let _ = fs::remove_dir_all(&profile);
        let document = fs::read_to_string(&dump).expect("the document is text");
        assert!(document.contains("</html>"), "the browser gave no document of {name}");
        without_scripts(&document)
    }
}

/// Checks each item, on a thread for each processor: a browser draws a page for seconds.
pub fn on_threads<T: Sync>(items: &[T], check: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            check(item);
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
}

fn on_path() -> Option<PathBuf> {
    let folders: Vec<PathBuf> = env::split_paths(&env::var_os("PATH")?).collect();
    NAMES.iter().find_map(|name| {
        folders.iter().map(|folder| folder.join(name)).find(|program| program.is_file())
    })
}

fn wait(mut child: Child) {
    for _ in 0..MOST_POLLS {
        if let Some(status) = child.try_wait().expect("the browser can be waited for") {
            assert!(status.success(), "the browser failed: {status}");
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    let _ = child.kill();
    let _ = child.wait();
    panic!("the browser did not end");
}

/// The scripts contain the words that a test searches for.
fn without_scripts(document: &str) -> String {
    let mut rest = document;
    let mut kept = String::new();
    while let Some(start) = rest.find("<script") {
        kept.push_str(&rest[..start]);
        let end = rest[start..].find("</script>").expect("a script that is opened is closed");
        rest = &rest[start + end + "</script>".len()..];
    }
    kept + rest
}

/// The content of the element `<div id="errors" ...>`.
pub fn errors(document: &str) -> &str {
    let at = document.find("id=\"errors\"").expect("the page has a place for errors");
    let start = at + document[at..].find('>').expect("its tag ends") + 1;
    &document[start..start + document[start..].find("</div>").expect("it ends")]
}

/// How often `what` occurs.
pub fn count(document: &str, what: &str) -> usize {
    document.matches(what).count()
}
