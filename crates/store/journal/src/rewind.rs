//! Gives sequence numbers back: the excerpts from a number on leave the journal, and the next one
//! gets that number.
//!
//! Where: followers of another stream whose writer lost messages and uses their numbers again.
//! Protocol: `docs/formats/journal.md`, To give numbers back. The excerpts are set aside as a
//! recovery in another boot does it, so readers that passed the numbers learn which ones. No file
//! that a reader has mapped changes below it: the last segment is replaced by a shorter copy.
//! Failure: a process that is killed meanwhile leaves a journal that ends earlier, and whose next
//! appender begins another incarnation. What was set aside is in `cut`.

use std::time::Duration;

use nanotape_shm::{ReadWord, Refusal, Word, as_read_only};

use crate::{
    Appender, Corruption, ErrorKind, JournalError, Position, Quarantined,
    catalog::{Catalog, Listed},
    disk::Disk,
    names::{Files, Kept},
    quarantine,
    scan::{clear_index_behind, end_of_excerpts, end_of_rest},
    segment::{
        layout::at,
        view::{Contents, View},
    },
    stored::{self, Stored},
    upkeep,
};

/// Attempts to exclude compression and pruning, which take at most seconds for a segment.
const ATTEMPTS: u32 = 6_000;

/// The wait between two of them.
const PAUSE: Duration = Duration::from_millis(5);

impl<D: Disk> Appender<D> {
    /// Gives back the numbers from `sequence` on, which is at least the first number of the oldest
    /// segment and at most the next number. Their excerpts are moved to the folder `cut`; the
    /// result has the files. The next excerpt gets this number in another incarnation of the
    /// journal: readers that passed it get [`Tail::Reused`](crate::Tail::Reused). Closes and opens
    /// the journal, so it takes as long as that.
    ///
    /// After an error, each later append returns it.
    pub fn rewind_to(&mut self, sequence: u64) -> Result<Vec<Quarantined>, JournalError> {
        let next = self.next_sequence();
        if sequence == next {
            return Ok(Vec::new());
        }
        let catalog = Catalog::read(self.disk())?;
        let oldest = catalog.listed.iter().find_map(|listed| listed.active());
        let oldest = oldest.map_or(next, |oldest| oldest.first_sequence);
        if !(oldest..next).contains(&sequence) {
            let problem = ErrorKind::Sequence { sequence, next: oldest, max: next };
            return Err(JournalError::new(self.path(), problem));
        }
        self.reopen(sequence, |disk| set_aside(disk, sequence))
    }
}

/// Moves the excerpts from a number on out of the journal. The caller holds the lock of the
/// appender, and runs the recovery after it.
fn set_aside<D: Disk>(disk: &D, sequence: u64) -> Result<Vec<Quarantined>, JournalError> {
    let _upkeep = exclude_upkeep(disk)?;
    let catalog = Catalog::read(disk)?;
    let begins_before =
        |listed: &Listed| listed.active().is_some_and(|active| active.first_sequence < sequence);
    let last = catalog.listed.iter().rposition(begins_before);
    // The oldest segment stays, if without excerpts: the next one continues its journal.
    let last = last.or_else(|| catalog.listed.iter().position(|listed| listed.active().is_some()));
    let Some(last) = last else { return Ok(Vec::new()) };
    let cut = end_before(disk, &catalog.listed[last].kept, sequence)?;
    take_out(disk, &catalog, Some(last), cut)
}

/// Moves everything after a position out of a copy, in the same way. The position is between two
/// excerpts; with the offset 0 the whole segment goes.
pub(crate) fn set_aside_after<D: Disk>(
    disk: &D,
    position: Position,
) -> Result<Vec<Quarantined>, JournalError> {
    let _upkeep = exclude_upkeep(disk)?;
    let catalog = Catalog::read(disk)?;
    let is_before = |listed: &Listed| {
        let number = listed.kept.number;
        let is_part = number == position.segment && position.offset_bytes > 0;
        listed.active().is_some() && (number < position.segment || is_part)
    };
    let last = catalog.listed.iter().rposition(is_before);
    let cut = match last.map(|last| catalog.listed[last].kept) {
        Some(kept) if kept.number == position.segment => cut_at(disk, &kept, position.word())?,
        _ => None,
    };
    take_out(disk, &catalog, last, cut)
}

/// Moves the segments after one out of the journal, and the end of that one.
fn take_out<D: Disk>(
    disk: &D,
    catalog: &Catalog,
    last: Option<usize>,
    cut: Option<Cut>,
) -> Result<Vec<Quarantined>, JournalError> {
    // The next recovery is one of another boot, whichever segment is then the last. Not synced:
    // after a loss of power it is one in any case.
    for Listed { kept, .. } in &catalog.listed[last.unwrap_or(0)..] {
        if !kept.is_packed {
            let stored = disk.store(&kept.name(), at::BOOT, 0);
            stored.map_err(JournalError::system(disk.path(&kept.name()), "write"))?;
        }
    }
    let mut taken = Vec::new();
    let later = &catalog.listed[last.map_or(0, |last| last + 1)..];
    for Listed { kept, .. } in later.iter().rev().filter(|listed| listed.is_entered()) {
        // The compressed file first: without the plain one it would be the segment.
        taken.extend(take_packed(disk, &catalog.files, kept)?);
        taken.push(quarantine::whole(disk, kept)?);
    }
    if let Some(cut) = cut {
        taken.extend(shorten(disk, &catalog.files, &cut)?);
    }
    Ok(taken)
}

/// Moves the compressed file of a segment that also has a plain one, if there is one.
fn take_packed<D: Disk>(
    disk: &D,
    files: &Files,
    kept: &Kept,
) -> Result<Option<Quarantined>, JournalError> {
    if !files.twice.contains(&kept.number) {
        return Ok(None);
    }
    let packed = Kept { is_packed: true, ..*kept };
    quarantine::whole(disk, &packed).map(Some)
}

/// A segment that ends earlier.
struct Cut {
    kept: Kept,
    /// The length of its file.
    bytes: u64,
    /// Its words up to the new end.
    words: Vec<Word>,
    /// The words from there on.
    rest: Vec<Word>,
}

/// What is left of a segment without the excerpts from a number on; `None` if it has none of them.
fn end_before<D: Disk>(disk: &D, kept: &Kept, sequence: u64) -> Result<Option<Cut>, JournalError> {
    let stored = stored::open_kept(disk, kept)?;
    let view = active_view(disk, kept, &stored)?;
    let start = view.by_index(|entry| entry.sequence < sequence);
    let (place, found) = view.walk(start, |_, front| front.sequence < sequence);
    match found {
        Ok(Contents::Excerpt(_)) => {}
        // Its end mark has a later number if numbers were skipped before it.
        Ok(Contents::End(front)) if front.sequence > sequence => {}
        Ok(Contents::End(_) | Contents::Nothing) => return Ok(None),
        Err(damage) => return Err(JournalError::damaged(disk, &kept.name(), place.at, damage)),
    }
    Ok(Some(cut_view(&view, kept, place.at)))
}

/// The words of a segment that is not only prepared.
fn active_view<'stored, D: Disk>(
    disk: &D,
    kept: &Kept,
    stored: &'stored Stored<D::Readable>,
) -> Result<View<'stored>, JournalError> {
    let name = kept.name();
    let view = stored::view(disk, &name, stored.words(), kept.number, None)?;
    let damaged = || JournalError::damaged(disk, &name, at::ACTIVATION, Corruption::Activation);
    view.ok_or_else(damaged)
}

/// The same for a word, where an excerpt begins or nothing is; `None` if nothing is after it. A
/// segment that ended before the word loses its end mark, so that it can go on.
fn cut_at<D: Disk>(disk: &D, kept: &Kept, word: usize) -> Result<Option<Cut>, JournalError> {
    let stored = stored::open_kept(disk, kept)?;
    let view = active_view(disk, kept, &stored)?;
    let start = view.by_index(|entry| entry.at <= word);
    let (place, found) = view.walk(start, |place, front| place.at + front.total_words() <= word);
    match found {
        Ok(Contents::End(front)) if place.at + front.total_words() == word => Ok(None),
        Ok(_) if place.at == word => {
            let is_last = end_of_rest(view.words, word).is_none();
            Ok((!is_last).then(|| cut_view(&view, kept, word)))
        }
        Ok(Contents::End(front)) if place.at + front.total_words() < word => {
            Ok(Some(cut_view(&view, kept, place.at)))
        }
        found => {
            let damage = found.err().unwrap_or(Corruption::Hole);
            Err(JournalError::damaged(disk, &kept.name(), place.at, damage))
        }
    }
}

/// A segment that ends at a word.
fn cut_view(view: &View<'_>, kept: &Kept, word: usize) -> Cut {
    let used = end_of_rest(view.words, word).unwrap_or(word);
    let end = end_of_excerpts(view, word, used);
    let copy = |words: &[ReadWord]| words.iter().map(|word| Word::new(word.load())).collect();
    let words: Vec<Word> = copy(&view.words[..word]);
    words[at::BOOT..=at::SYNC_PENDING].iter().for_each(|word| word.store(0));
    let shorter = View { words: as_read_only(&words), ..*view };
    clear_index_behind(&shorter, &words, word);
    let bytes = view.layout().segment_bytes();
    Cut { kept: *kept, bytes, rest: copy(&view.words[word..end]), words }
}

/// Replaces a segment by the part of it that stays; returns what was moved.
fn shorten<D: Disk>(disk: &D, files: &Files, cut: &Cut) -> Result<Vec<Quarantined>, JournalError> {
    let Cut { kept, words, rest, bytes } = cut;
    let mut taken = vec![quarantine::part(disk, kept.number, words.len(), as_read_only(rest))?];
    // As long as it was: a reader that maps it before the recovery ends it finds nothing after it.
    upkeep::write_plain(disk, kept.number, as_read_only(words), *bytes)?;
    match kept.is_packed {
        true => taken.push(quarantine::whole(disk, kept)?),
        false => taken.extend(take_packed(disk, files, kept)?),
    }
    Ok(taken)
}

/// Waits until no process compresses, prunes or repairs, and keeps others from it.
fn exclude_upkeep<D: Disk>(disk: &D) -> Result<Option<D::Lock>, JournalError> {
    let mut attempt = 0;
    loop {
        match disk.exclude_upkeep() {
            Err(error)
                if attempt < ATTEMPTS && matches!(error.refusal(), Refusal::OwnerAlive { .. }) =>
            {
                attempt += 1;
                std::thread::sleep(PAUSE);
            }
            outcome => return Ok(outcome?),
        }
    }
}
