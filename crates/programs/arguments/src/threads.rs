//! The traced threads that a command is about.

use std::path::{Path, PathBuf};

use anyhow::bail;
use nanotape_answers::Given;
use nanotape_board::{trace_names, trace_path};
use nanotape_console::status::BadData;
use nanotape_ring::Start;
use nanotape_trace::spans::{KIND, SpanReader, TraceError};

use crate::regions::{FOLDER, in_folder, of_region, of_ring, place};

/// A traced thread.
#[derive(Debug)]
pub struct Thread {
    /// Its name: `equities plant`, or the path of its region.
    pub name: String,
    /// The path of its region.
    pub path: PathBuf,
}

impl Thread {
    /// Reads its spans from a start on.
    pub fn open(&self, start: Start) -> anyhow::Result<SpanReader> {
        SpanReader::open(&self.path, start).map_err(of_trace)
    }
}

/// The threads of a target: the name or path of a ring, the path of a thread's region, or the
/// number of a process. There is at least one.
pub fn of_target(target: &Given) -> anyhow::Result<Vec<Thread>> {
    let path = place(target)?;
    let of_ring = of_ring_at(&path, target);
    if !of_ring.is_empty() {
        return Ok(of_ring);
    }
    if is_traced(&path) {
        return Ok(vec![Thread { name: target.to_string(), path }]);
    }
    if let Ok(pid) = target.parse::<u32>() {
        let is_of = |thread: &Thread| {
            let info = nanotape_shm::inspect(&thread.path).ok();
            info.and_then(|info| info.owner()).is_some_and(|owner| owner.pid == pid)
        };
        let threads: Vec<_> = all()?.into_iter().filter(is_of).collect();
        if threads.is_empty() {
            bail!("process {pid} has no traced thread in {FOLDER}; see nanotape trace list");
        }
        return Ok(threads);
    }
    bail!(
        "{}: no thread of this ring is traced: its plant is not there, or has --trace-spans 0; see \
         nanotape trace list",
        path.display()
    )
}

/// All traced threads whose region is in /dev/shm, sorted by name.
pub fn all() -> anyhow::Result<Vec<Thread>> {
    let traced = in_folder()?.into_iter().filter(|(_, path)| is_traced(path));
    let thread = |(name, path): (String, PathBuf)| match name.rsplit_once(".trace.") {
        Some((ring, thread)) => Thread { name: format!("{ring} {thread}"), path },
        None => Thread { name, path },
    };
    Ok(traced.map(thread).collect())
}

fn of_ring_at(ring: &Path, name: &str) -> Vec<Thread> {
    let thread = |thread: String| Thread {
        path: trace_path(ring, &thread),
        name: format!("{name} {thread}"),
    };
    trace_names(ring).into_iter().map(thread).filter(|thread| is_traced(&thread.path)).collect()
}

/// Whether there is the region of a traced thread.
fn is_traced(path: &Path) -> bool {
    let header = nanotape_shm::inspect(path).ok().and_then(|info| info.header);
    header.is_some_and(|header| header.spec.kind == KIND)
}

/// The error of a traced thread.
pub fn of_trace(error: TraceError) -> anyhow::Error {
    match error {
        TraceError::Region(error) => of_region(&error),
        TraceError::Ring { path, error } => of_ring(&path, &error),
        error => BadData(error.to_string()).into(),
    }
}
