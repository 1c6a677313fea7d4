//! Removes the oldest segments that no reader needs.
//!
//! Protocol: removes only closed segments, the oldest first; the last active one stays. Excerpts
//! that a named tailer has not read, or that others need, stay, unless pruning is forced. Readers
//! keep removed segments that they have open. While an appender runs, the files of some segments in
//! memory get a spare name instead, and become the next segments unless a reader has them open. The
//! activation of the next segment is synced before: otherwise a loss of power could leave a journal
//! without excerpts, which assigns sequence numbers again.
//! Cost: reads only headers. The largest time of a segment is in the header of the next one.

use std::{
    io,
    path::{Path, PathBuf},
};

use nanotape_shm::OwnerState;

use crate::{
    JournalError, Start, Tailer,
    catalog::Catalog,
    disk::{Disk, WritableFile as _},
    named,
    names::{self, Kept},
    segment::layout::{at, position_bytes},
    upkeep,
};

/// What to remove. A segment is removed if any of these options selects it; without any, none is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PruneOptions {
    /// Segments if the times of all their and all earlier excerpts are before this, in ns since the
    /// UNIX epoch.
    pub before_ns: Option<u64>,
    /// The oldest segments, until the files have at most this many bytes in total.
    pub keep_bytes: Option<u64>,
    /// Segments whose excerpts all have smaller sequence numbers.
    pub before_sequence: Option<u64>,
    /// Other readers, such as followers: the name of each, and the number of the excerpt that it
    /// needs next.
    pub others: Vec<(String, u64)>,
    /// Whether to remove excerpts that named tailers have not read, and others need.
    pub is_forced: bool,
    /// Whether to report only, without removing anything.
    pub is_dry_run: bool,
}

/// The segments that were removed, or would be.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Pruned {
    /// The oldest first.
    pub segments: Vec<PrunedSegment>,
    /// Bytes of the remaining segment files.
    pub bytes_left: u64,
    /// The reader that keeps the oldest remaining segment, and its next sequence number, if the
    /// options select that segment: a named tailer, or one of `others`.
    pub held_by: Option<(String, u64)>,
}

/// A segment that was removed.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct PrunedSegment {
    /// Its number.
    pub number: u64,
    /// Its file.
    pub path: PathBuf,
    /// Bytes of the file.
    pub bytes: u64,
    /// The first remaining sequence number after it.
    pub next_sequence: u64,
    /// The largest time of its and all earlier excerpts, in ns since the UNIX epoch.
    pub max_ts_ns: u64,
}

/// Removes the oldest segments of a journal, which can be in use.
pub fn prune(path: &Path, options: &PruneOptions) -> Result<Pruned, JournalError> {
    let (folder, _upkeep) = upkeep::locked_unless(options.is_dry_run, path)?;
    let tailers = if options.is_forced { Vec::new() } else { named::tailers(path)? };
    let unknown = tailers.iter().find_map(|tailer| Some((tailer, tailer.refusal?)));
    if let Some((tailer, refusal)) = unknown {
        // Its position is not known, so nothing is removed.
        return Err(named::of_refusal(&tailer.path, refusal));
    }
    let reader = Tailer::open_on(folder.clone(), Start::Oldest)?;
    let needs: Result<Vec<_>, JournalError> = tailers
        .into_iter()
        .map(|tailer| Ok((tailer.name, reader.first_needed(&tailer.bookmark)?)))
        .collect();
    let mut needs = needs?;
    if !options.is_forced {
        needs.extend(options.others.iter().cloned());
    }
    // Otherwise it has the oldest segment open, which then cannot become the next one.
    drop(reader);
    prune_on(&folder, options, needs)
}

/// The same on another disk, with the names and next sequence numbers of its readers. The caller
/// ensures that no process compresses or repairs meanwhile.
pub fn prune_on<D: Disk>(
    disk: &D,
    options: &PruneOptions,
    tailers: Vec<(String, u64)>,
) -> Result<Pruned, JournalError> {
    let catalog = Catalog::read(disk)?;
    let slowest = tailers.into_iter().min_by_key(|(_, next)| *next);
    let mut pruned = Pruned {
        bytes_left: catalog.listed.iter().map(|listed| listed.kept.bytes).sum(),
        ..Pruned::default()
    };
    let is_appended = disk.appender().is_some_and(|owner| owner.state == OwnerState::Alive);
    let is_free = |spare: &String| is_appended && !catalog.files.parts.contains(spare);
    let mut spares = names::spares().filter(is_free);
    for (index, listed) in catalog.listed.iter().enumerate() {
        // The last active segment, and those after it.
        let Some((kept, next)) = catalog.next_active(index) else { break };
        let is_over = options.before_ns.is_some_and(|time| next.max_ts_before < time)
            || options.keep_bytes.is_some_and(|bytes| pruned.bytes_left > bytes)
            || options.before_sequence.is_some_and(|first| next.first_sequence <= first);
        if !is_over {
            break;
        }
        if let Some((name, needed)) = &slowest
            && next.first_sequence > *needed
        {
            pruned.held_by = Some((name.clone(), *needed));
            break;
        }
        let number = listed.kept.number;
        if !options.is_dry_run {
            sync_activation(disk, kept)?;
            remove(disk, number, &mut spares)?;
            // Otherwise a loss of power could restore an old segment and leave a hole after it.
            disk.sync_names().map_err(JournalError::system(disk.path(""), "sync"))?;
        }
        pruned.bytes_left -= listed.kept.bytes;
        pruned.segments.push(PrunedSegment {
            number,
            path: disk.path(&listed.kept.name()),
            bytes: listed.kept.bytes,
            next_sequence: next.first_sequence,
            max_ts_ns: next.max_ts_before,
        });
    }
    Ok(pruned)
}

/// Waits until the header of an active segment is on disk.
fn sync_activation<D: Disk>(disk: &D, kept: &Kept) -> Result<(), JournalError> {
    // A compressed segment is on disk.
    if kept.is_packed {
        return Ok(());
    }
    let name = kept.name();
    let sync = || {
        // Not all of it: an appender might be freeing its unused end.
        let file = disk.open(&name, position_bytes(at::INDEX))?;
        // Stored again, because the page counts as written if an earlier sync of it failed.
        for word in &file.words()[at::FIRST_SEQUENCE..=at::ACTIVATION] {
            word.store(word.as_read_only().load());
        }
        file.sync(0..at::INDEX)
    };
    match sync() {
        // Compressed since, which syncs it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        synced => synced.map_err(JournalError::system(disk.path(&name), "sync")),
    }
}

/// Removes the plain and the compressed file of a segment. The plain one gets the next spare name,
/// if it can become a segment again.
fn remove<D: Disk>(
    disk: &D,
    number: u64,
    spares: &mut impl Iterator<Item = String>,
) -> Result<(), JournalError> {
    let (plain, packed) = (names::segment(number), names::packed(number));
    // The compressed file first: without it, the plain one would be the whole segment.
    let removed = disk.remove(&packed);
    missing_is_good(removed).map_err(JournalError::system(disk.path(&packed), "remove"))?;
    let removed = match spares.next().map(|spare| disk.spare(&plain, &spare)) {
        None | Some(Ok(false)) => disk.remove(&plain),
        Some(spared) => spared.map(|_| ()),
    };
    missing_is_good(removed).map_err(JournalError::system(disk.path(&plain), "remove"))
}

fn missing_is_good(outcome: io::Result<()>) -> io::Result<()> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}
