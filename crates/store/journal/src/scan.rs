//! Reads a segment as far as possible: past damage, to later valid excerpts.
//!
//! Where: `verify` reports what a scan finds, `repair` corrects it. Tailers stop at damage.
//! Protocol: after damage, each word is tried as the start of an excerpt. It is one if its checksum
//! is valid and its sequence number is not below the expected one.
//! Bounds: the search sums every candidate. Long ones have a budget of some segments' words in
//! total. Short ones have no budget. So no file makes the search quadratic.

use nanotape_shm::{ReadWord, Word};

use crate::{
    Corruption,
    segment::{
        excerpt::{Front, HEADER_WORDS, MAX_LENGTH, MAX_SEQUENCE, excerpt_words},
        index,
        layout::{ENTRY_WORDS, Layout},
        view::{Contents, Place, View},
    },
};

/// The longest candidate, in words, that is summed without a budget.
const SHORT_WORDS: usize = 512;

/// The budget for longer candidates, in multiples of the segment's words.
const BUDGET: usize = 32;

/// The result of one step of a scan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// An excerpt of the user, or one that covers damage.
    Excerpt(Place, Front),
    /// Damage, and the word of the next valid excerpt.
    Damaged(Place, Corruption, usize),
    /// Damage without a valid excerpt after it.
    Broken(Place, Corruption),
    /// The end mark.
    Ended(Place, Front),
    /// Nothing is committed here or after it.
    Open(Place),
}

/// A scan of one segment.
#[derive(Debug)]
pub(crate) struct Scan<'words> {
    pub(crate) view: View<'words>,
    /// The next position to read. After a repair of damage, it is set back to the damage.
    pub(crate) place: Place,
    /// The remaining budget for long candidates, in words.
    budget: usize,
    /// The first excerpt from here on gets an entry in the index.
    next_block: usize,
    /// The correct index entries of the blocks that were read.
    pub(crate) entries: Vec<Place>,
}

impl<'words> Scan<'words> {
    /// Starts at the beginning of a segment; `least` is the expected sequence number, if known.
    pub(crate) fn new(view: View<'words>, least: Option<u64>) -> Self {
        let beginning = view.beginning();
        let sequence = least.unwrap_or(beginning.sequence);
        Self {
            place: Place { sequence, ..beginning },
            budget: view.words.len().saturating_mul(BUDGET),
            next_block: 0,
            entries: Vec::new(),
            view,
        }
    }

    /// Reads the excerpt at the position and moves past it, if there is one. `is_followed` returns
    /// whether the next segment is active; it is called only if nothing is committed here.
    pub(crate) fn next(&mut self, is_followed: impl Fn() -> bool) -> Event {
        let place = self.place;
        let mut contents = self.read();
        if contents == Ok(Contents::Nothing) {
            if !is_followed() && !self.is_committed_behind() {
                return Event::Open(place);
            }
            // The evidence was stored after the excerpt, which is visible now or lost.
            contents = match self.read() {
                Ok(Contents::Nothing) => Err(Corruption::Hole),
                contents => contents,
            };
        }
        match contents {
            Ok(Contents::Excerpt(front)) => {
                self.pass(&front);
                Event::Excerpt(place, front)
            }
            Ok(Contents::End(front)) => Event::Ended(place, front),
            Ok(Contents::Nothing) => Event::Open(place),
            Err(damage) => match find_good(&self.view, &place, &mut self.budget) {
                Some(to) => {
                    self.place.at = to;
                    Event::Damaged(place, damage, to)
                }
                None => Event::Broken(place, damage),
            },
        }
    }

    /// Reads at the position. An appender leaves room for an end mark after each excerpt, so an
    /// excerpt without that room is damage.
    fn read(&self) -> Result<Contents, Corruption> {
        let contents = self.view.read_from(&self.place)?;
        match contents {
            Contents::Excerpt(front)
                if self.place.at + front.total_words() > self.layout().limit() =>
            {
                Err(Corruption::Length(front.length))
            }
            contents => Ok(contents),
        }
    }

    fn layout(&self) -> Layout {
        self.view.layout()
    }

    fn pass(&mut self, front: &Front) {
        if self.place.at >= self.next_block {
            self.next_block = self.layout().next_block(self.place.at);
            self.entries.push(Place { sequence: front.sequence, ..self.place });
        }
        self.place = self.place.behind(front);
    }

    /// Whether there is evidence that an excerpt was committed at this empty position: it was
    /// marked as synced, or a later block has an entry, which is stored after its excerpt.
    fn is_committed_behind(&self) -> bool {
        let View { words, seed, .. } = self.view;
        if self.place.at < self.view.synced() {
            return true;
        }
        let layout = self.layout();
        (layout.block(self.place.at)..blocks(layout)).any(|block| {
            let Some(entry) = index::load(layout, seed, words, block) else { return false };
            entry.at > self.place.at
                && entry.sequence >= self.place.sequence
                && self.view.has_excerpt(&entry)
        })
    }
}

/// The first word after a position where a valid excerpt begins, with room to cover the damage
/// between.
fn find_good(view: &View<'_>, place: &Place, budget: &mut usize) -> Option<usize> {
    let words = view.words;
    let limit = view.layout().limit();
    (place.at + HEADER_WORDS..=words.len().saturating_sub(HEADER_WORDS)).find(|&at| {
        let commit = words[at].load();
        // Checked first, because it needs only the commit word.
        if !(1..=3).contains(&(commit >> 28 & 0xf)) {
            return false;
        }
        let sequence = words[at + 1].load() & MAX_SEQUENCE;
        let length = excerpt_words((commit as u32 & MAX_LENGTH) as usize);
        if sequence < place.sequence || at + length > words.len() {
            return false;
        }
        if length > SHORT_WORDS {
            if *budget < length {
                return false;
            }
            *budget -= length;
        }
        match view.read_at(at) {
            Ok(Contents::Excerpt(front)) => at + front.total_words() <= limit,
            Ok(Contents::End(_)) => true,
            Ok(Contents::Nothing) | Err(_) => false,
        }
    })
}

/// The first word from `from` on where an excerpt or end mark of a segment begins.
pub(crate) fn first_good(view: &View<'_>, from: usize) -> Option<usize> {
    let mut budget = view.words.len().saturating_mul(BUDGET);
    let place = Place { at: from.saturating_sub(HEADER_WORDS), sequence: 0, max_ts: 0 };
    find_good(view, &place, &mut budget)
}

/// The word after all excerpts that begin in a range whose last word is not zero. An excerpt can
/// end with zeros of its own, so it can extend past the range.
pub(crate) fn end_of_excerpts(view: &View<'_>, from: usize, end: usize) -> usize {
    let mut budget = view.words.len().saturating_mul(BUDGET);
    let mut at = from.saturating_sub(HEADER_WORDS);
    while let Some(good) = find_good(view, &Place { at, sequence: 0, max_ts: 0 }, &mut budget)
        && good < end
    {
        let behind = match view.read_at(good) {
            Ok(Contents::Excerpt(front) | Contents::End(front)) => good + front.total_words(),
            _ => good + HEADER_WORDS,
        };
        if behind >= end {
            return behind;
        }
        // The next excerpt might begin directly here.
        at = behind - HEADER_WORDS;
    }
    end
}

/// The number of entries in an index.
fn blocks(layout: Layout) -> usize {
    layout.block(layout.words - 1) + 1
}

/// An index entry that is wrong or missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct WrongEntry {
    /// Its first word.
    pub(crate) at: usize,
    /// The correct entry; `None` for a block without the beginning of an excerpt.
    pub(crate) entry: Option<Place>,
    /// Whether the entry is missing, not wrong.
    pub(crate) is_missing: bool,
}

/// Compares an index with its correct entries. With an `end`, the block of that word and later
/// blocks are skipped, because an appender might be writing to their entries.
pub(crate) fn wrong_entries(
    view: &View<'_>,
    entries: &[Place],
    end: Option<usize>,
) -> Vec<WrongEntry> {
    let layout = view.layout();
    let last = end.map_or(blocks(layout), |end| layout.block(end));
    let mut expected = entries.iter().copied().peekable();
    let mut wrong = Vec::new();
    for block in 0..last {
        let entry = expected.next_if(|entry| layout.block(entry.at) == block);
        let at = layout.entry(block);
        let Some(check) = view.words.get(at + ENTRY_WORDS - 1) else { break };
        let is_there = check.load() != 0;
        let known = index::load(layout, view.seed, view.words, block);
        if known != entry || entry.is_none() && is_there {
            let is_missing = entry.is_some() && !is_there;
            wrong.push(WrongEntry { at, entry, is_missing });
        }
    }
    wrong
}

/// Corrects an index; returns how many entries changed.
pub(crate) fn correct_index(view: &View<'_>, words: &[Word], entries: &[Place]) -> u64 {
    let wrong = wrong_entries(view, entries, None);
    for WrongEntry { at, entry, .. } in &wrong {
        match entry {
            Some(entry) => index::store(entry, view.layout(), view.seed, words),
            None => words[*at..][..ENTRY_WORDS].iter().rev().for_each(|word| word.store(0)),
        }
    }
    wrong.len() as u64
}

/// Removes index entries that point to `from` or later, where no excerpts are left.
pub(crate) fn clear_index_behind(view: &View<'_>, words: &[Word], from: usize) {
    let layout = view.layout();
    for block in layout.block(from)..blocks(layout) {
        let known = index::load(layout, view.seed, view.words, block);
        if known.is_none_or(|entry| entry.at >= from) {
            let entry = &words[layout.entry(block)..][..ENTRY_WORDS];
            entry.iter().rev().for_each(|word| word.store(0));
        }
    }
}

/// The word after the last nonzero word from `from` on; `None` if all are zero.
pub(crate) fn end_of_rest(words: &[ReadWord], from: usize) -> Option<usize> {
    let rest = words.get(from..)?;
    rest.iter().rposition(|word| word.load() != 0).map(|last| from + last + 1)
}
