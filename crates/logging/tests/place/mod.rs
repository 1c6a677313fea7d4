//! A journal in memory that is removed at the end, and its lines.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use nanotape_journal::{Start, Tail, Tailer};
use nanotape_logging::Formatter;

/// A path that nobody else has.
pub(crate) struct Place(PathBuf);

impl Place {
    pub(crate) fn new(name: &str) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("nanotape-logging-{}-{name}-{number}", std::process::id());
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        Self(folder.join(name))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// All lines, without their times.
    pub(crate) fn lines(&self, formatter: &mut Formatter) -> Vec<String> {
        let mut tailer = Tailer::open(&self.0, Start::Beginning).unwrap();
        let (mut lines, mut last) = (Vec::new(), 0);
        loop {
            match tailer.next().unwrap() {
                Tail::Excerpt(excerpt) => {
                    assert!(excerpt.ts_ns() >= last, "times grow");
                    last = excerpt.ts_ns();
                    lines.extend(formatter.line(&excerpt).map(|line| without_time(&line)));
                }
                Tail::Gap(gap) => panic!("{gap:?}"),
                Tail::Nothing => return lines,
            }
        }
    }
}

/// A line behind its time, which is looked at.
fn without_time(line: &str) -> String {
    let (time, rest) = line.split_once(' ').unwrap();
    assert!(time.len() == 30 && time.starts_with("20") && time.ends_with('Z'), "{line}");
    rest.trim_start().to_owned()
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
