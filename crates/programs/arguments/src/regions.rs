//! The meaning of a ring error for a command: bad data, or a problem of the environment.

use std::{
    ffi::OsStr,
    fmt, fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Context as _;
use nanotape_console::{
    status::{BadData, note, warn},
    values::bytes_text,
};
use nanotape_ring::{ReadError, RingError};
use nanotape_shm::{Origin, OwnerState, PageLock, Refusal, RegionError, RegionPages, Residency};
use nanotape_tape::WriterState;
use nanotape_types::nearest;

/// The folder of regions whose name is not a path.
pub const FOLDER: &str = "/dev/shm";

/// What the names of their files begin with.
const PREFIX: &str = "nanotape-";

/// The names and paths of all of them, sorted by name.
pub fn in_folder() -> anyhow::Result<Vec<(String, PathBuf)>> {
    let mut regions = Vec::new();
    for entry in fs::read_dir(FOLDER).with_context(|| format!("cannot list {FOLDER}"))? {
        let entry = entry?;
        if let Some(name) = entry.file_name().to_string_lossy().strip_prefix(PREFIX) {
            regions.push((name.to_owned(), entry.path()));
        }
    }
    regions.sort();
    Ok(regions)
}

/// The path of a ring from its name or path.
pub fn place(name: &(impl AsRef<OsStr> + ?Sized)) -> anyhow::Result<PathBuf> {
    nanotape_shm::named(name).map_err(|error| anyhow::anyhow!("{error}"))
}

/// Damage in the file is bad data; other errors belong to the environment.
pub fn of_ring(path: &Path, error: &RingError) -> anyhow::Error {
    match error {
        RingError::Region(error) => of_region(error),
        error if error.is_bad_data() => bad(path, error),
        _ => anyhow::anyhow!("{}: {error}", path.display()),
    }
}

/// Damage in the region is bad data; other errors belong to the environment.
pub fn of_region(error: &RegionError) -> anyhow::Error {
    match reason(error.path(), error.refusal()) {
        _ if error.is_bad_data() => BadData(error.to_string()).into(),
        Some(reason) => anyhow::anyhow!("{}: {reason}", error.path().display()),
        None => anyhow::anyhow!("{error}"),
    }
}

/// A refusal in the words of the command line, where those of the region's format differ.
fn reason(path: &Path, refusal: &Refusal) -> Option<String> {
    match refusal {
        Refusal::Parameters { found, expected, .. } => {
            let kind = nanotape_shm::inspect(path).ok()?.header?.spec.kind;
            let size = |[first, second, ..]: &[u64; 4]| match kind {
                nanotape_ring::stream::KIND => {
                    Some(format!("a capacity of {}", bytes_text(*first)))
                }
                nanotape_ring::slots::KIND => {
                    Some(format!("{first} slots of up to {}", bytes_text(*second)))
                }
                _ => None,
            };
            let (found, expected) = (size(found)?, size(expected)?);
            Some(format!(
                "the ring exists with {found}, not {expected}; leave the size out to use it as it is, \
                 or start with an empty one with --replace"
            ))
        }
        Refusal::NotFound => {
            let hint = hint_for(path)?;
            Some(format!("does not exist; its writer creates it at its start{hint}"))
        }
        Refusal::Kind { found, expected } => {
            Some(format!("is {}, expected {}", kind_phrase(*found), kind_phrase(*expected)))
        }
        _ => None,
    }
}

/// What to do about the name of a ring that does not exist; None for a path.
pub fn hint_for(path: &Path) -> Option<String> {
    let kinds = [nanotape_ring::stream::KIND, nanotape_ring::slots::KIND];
    hint_among(path, &kinds, "nanotape ring list prints the rings that exist")
}

/// The same for other kinds of regions: a name that is near, or else what `otherwise` advises.
pub fn hint_among(path: &Path, kinds: &[[u8; 8]], otherwise: &str) -> Option<String> {
    let file = path.strip_prefix(FOLDER).ok()?.to_str()?;
    let name = file.strip_prefix(PREFIX)?;
    let is_one = |path: &Path| {
        let header = nanotape_shm::inspect(path).ok().and_then(|info| info.header);
        header.is_some_and(|header| kinds.contains(&header.spec.kind))
    };
    let there = in_folder().unwrap_or_default();
    let there = there.iter().filter(|(_, path)| is_one(path)).map(|(name, _)| name.as_str());
    Some(match nearest(name, there) {
        Some(near) => format!("; did you mean {near}?"),
        None => format!("; {otherwise}"),
    })
}

/// The kind of a region with its article.
fn kind_phrase(kind: [u8; 8]) -> String {
    match kind {
        nanotape_ring::stream::KIND => "a stream ring".to_owned(),
        nanotape_ring::slots::KIND => "a slot ring".to_owned(),
        other => format!("a region of kind {}", kind_name(other)),
    }
}

/// Damage in a ring.
pub fn of_read(path: &Path, error: &ReadError) -> anyhow::Error {
    bad(path, error)
}

fn bad(path: &Path, error: impl fmt::Display) -> anyhow::Error {
    BadData(format!("{}: {error}", path.display())).into()
}

/// The kind of a region as text: eight letters, or its bytes.
pub fn kind_name(kind: [u8; 8]) -> String {
    match kind {
        nanotape_ring::stream::KIND => "stream".to_owned(),
        nanotape_ring::slots::KIND => "slots".to_owned(),
        other => other.trim_ascii_end().escape_ascii().to_string(),
    }
}

/// The state of a writer, for JSON and tables.
pub fn state_name(state: OwnerState) -> &'static str {
    match state {
        OwnerState::Alive => "alive",
        OwnerState::Closed => "closed",
        OwnerState::Dead => "dead",
    }
}

/// The end of a sentence about a previous writer.
pub fn ended(state: OwnerState) -> &'static str {
    match state {
        OwnerState::Alive => "is alive",
        OwnerState::Closed => "closed it",
        OwnerState::Dead => "died without closing it",
    }
}

/// The origin of a ring, as part of a sentence.
pub fn came(origin: Origin) -> String {
    match origin {
        Origin::Created => "created".to_owned(),
        Origin::TakenOver { previous } => {
            format!("taken over from process {}, which {}", previous.pid, ended(previous.state))
        }
    }
}

/// Reports memory options that were requested and refused.
pub fn complain(path: &Path, residency: &Residency) {
    let is_refused =
        matches!(residency.huge_pages, RegionPages::NoneGiven { .. } | RegionPages::Refused(_));
    if is_refused {
        warn(format_args!("{}: {}", path.display(), residency.huge_pages));
    }
    if matches!(residency.lock, PageLock::Refused { .. }) {
        warn(format_args!("{}: {}", path.display(), residency.lock));
    }
}

/// The state of a writer as a sentence.
pub fn state_sentence(state: WriterState) -> &'static str {
    match state {
        WriterState::Alive => "writer is alive",
        WriterState::Closed => "writer closed the ring",
        WriterState::Dead => "writer exited without closing the ring (crashed or killed)",
    }
}

/// The same of the appender of a journal.
pub fn recorder_sentence(state: WriterState) -> &'static str {
    match state {
        WriterState::Alive => "recorder is alive",
        WriterState::Closed => "recorder closed the journal",
        WriterState::Dead => "recorder exited without closing the journal (crashed or killed)",
    }
}

/// Reports that a writer is gone: a warning if it crashed or was killed. A folder is a journal.
pub fn report_state(path: &Path, state: WriterState) {
    let sentence = if path.is_dir() { recorder_sentence(state) } else { state_sentence(state) };
    let line = format!("{}: {sentence}", path.display());
    if state == WriterState::Dead { warn(line) } else { note(line) }
}

/// ` within 10 s`; empty if there was no wait.
pub fn within(wait: Duration) -> String {
    if wait.is_zero() { String::new() } else { format!(" within {} s", wait.as_secs_f64()) }
}
