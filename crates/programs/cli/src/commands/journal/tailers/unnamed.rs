//! Finds processes without a tailer name that map a segment, from the part of `/proc` that this
//! user can read.

use std::{fs, path::Path};

use anyhow::Context as _;
use nanotape_journal::TailerInfo;

/// A process that reads a journal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Reader {
    pub(super) pid: u32,
    /// The last segment that the process maps.
    pub(super) segment: u64,
    pub(super) program: String,
}

/// Readers of the journal without one of these names. The appender maps its segments for writing
/// and is not included.
pub(super) fn readers(journal: &Path, named: &[TailerInfo]) -> anyhow::Result<Vec<Reader>> {
    let journal =
        fs::canonicalize(journal).with_context(|| format!("cannot find {}", journal.display()))?;
    let folder = format!("{}/", journal.display());
    let own = std::process::id();
    let mut readers = Vec::new();
    for entry in fs::read_dir("/proc").context("cannot list /proc")?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let is_named = named.iter().any(|tailer| {
            tailer.owner.is_some_and(|owner| {
                owner.pid == pid && owner.state == nanotape_shm::OwnerState::Alive
            })
        });
        if pid == own || is_named {
            continue;
        }
        // The process has ended, or belongs to another user.
        let Ok(maps) = fs::read_to_string(entry.path().join("maps")) else { continue };
        let segments = maps.lines().filter_map(|line| mapped_segment(line, &folder)).max();
        if let Some(segment) = segments {
            let program = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            readers.push(Reader { pid, segment, program: program.trim().to_owned() });
        }
    }
    readers.sort_by_key(|reader| reader.pid);
    Ok(readers)
}

/// The segment number in a line of `/proc/PID/maps`, if the segment is mapped read-only.
fn mapped_segment(line: &str, folder: &str) -> Option<u64> {
    let (_, rest) = line.split_once(' ')?;
    let name = &rest[rest.find(folder)? + folder.len()..];
    let is_read_only = rest.starts_with("r--s");
    let number = name.split_once(".segment")?.0.parse().ok()?;
    is_read_only.then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_segments_that_are_mapped_to_be_read_count() {
        let line = |mode: &str, path: &str| {
            format!("7f00a000-7f00b000 {mode} 00000000 fe:00 1234       {path}")
        };
        let of = |mode, path| mapped_segment(&line(mode, path), "/data/q/");
        assert_eq!(of("r--s", "/data/q/0000000012.segment"), Some(12));
        assert_eq!(of("r--s", "/data/q/0000000012.segment (deleted)"), Some(12));
        assert_eq!(of("rw-s", "/data/q/0000000012.segment"), None);
        assert_eq!(of("r--s", "/data/q/tailers/audit"), None);
        assert_eq!(of("r--s", "/data/other/0000000012.segment"), None);
        assert_eq!(mapped_segment("", "/data/q/"), None);
    }
}
