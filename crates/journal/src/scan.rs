//! A segment read as far as it can be: over damage, to whatever good excerpts are behind it.
//!
//! Where: `verify` reports what a scan finds, `repair` mends it. Tailers stop at damage.
//! Protocol: after damage every word is tried as the begin of an excerpt: with a valid sum, and a
//! sequence number not below the expected one.
//! Bounds: the search sums every candidate. Long ones are summed up to a budget of some segments'
//! words, short ones always, so that no file makes it quadratic.

use nanotape_shm::{ReadWord, Word};

use crate::{
    Damage,
    segment::{
        excerpt::{Front, HEADER_WORDS, MAX_LENGTH, MAX_SEQUENCE, excerpt_words},
        index,
        layout::{ENTRY_WORDS, Layout},
        view::{Look, Place, View},
    },
};

/// Words of a candidate that is always summed.
const SHORT_WORDS: usize = 512;

/// How many times the words of the segment are summed for longer ones.
const BUDGET: usize = 32;

/// What a scan comes upon.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// An excerpt, of the user or one that covers damage.
    Excerpt(Place, Front),
    /// Damage, and the word where something good is again.
    Damaged(Place, Damage, usize),
    /// Damage with nothing good behind it.
    Broken(Place, Damage),
    /// The end mark.
    Ended(Place, Front),
    /// Nothing is committed here, and nothing was behind it.
    Open(Place),
}

/// A scan of one segment.
#[derive(Debug)]
pub(crate) struct Scan<'words> {
    pub(crate) view: View<'words>,
    /// What is to be read next. Damage that was covered is read again from where it begins.
    pub(crate) place: Place,
    /// Words of long candidates that may still be summed.
    budget: usize,
    /// From here on an excerpt is the first of its block.
    next_block: usize,
    /// The entries that the index must have, of the blocks that were passed.
    pub(crate) entries: Vec<Place>,
}

impl<'words> Scan<'words> {
    /// From the beginning of a segment; `least` is the sequence number expected there, if any.
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

    /// What is at the place; goes on behind it, if there is anything. `is_followed` says whether
    /// the next segment is active, and is asked where there is nothing.
    pub(crate) fn next(&mut self, is_followed: impl Fn() -> bool) -> Event {
        let place = self.place;
        let mut look = self.look();
        if look == Ok(Look::Nothing) {
            if !is_followed() && !self.is_committed_behind() {
                return Event::Open(place);
            }
            // What was just seen was stored behind what is here: so it is here now, or is lost.
            look = match self.look() {
                Ok(Look::Nothing) => Err(Damage::Hole),
                look => look,
            };
        }
        match look {
            Ok(Look::Excerpt(front)) => {
                self.pass(&front);
                Event::Excerpt(place, front)
            }
            Ok(Look::End(front)) => Event::Ended(place, front),
            Ok(Look::Nothing) => Event::Open(place),
            Err(damage) => match find_good(&self.view, &place, &mut self.budget) {
                Some(to) => {
                    self.place.at = to;
                    Event::Damaged(place, damage, to)
                }
                None => Event::Broken(place, damage),
            },
        }
    }

    /// What is at the place. An excerpt behind which no end mark fits was not written by an
    /// appender.
    fn look(&self) -> Result<Look, Damage> {
        let look = self.view.look_from(&self.place)?;
        match look {
            Look::Excerpt(front) if self.place.at + front.total_words() > self.layout().limit() => {
                Err(Damage::Length(front.length))
            }
            look => Ok(look),
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

    /// Whether something shows that an excerpt was committed at the place, where there is nothing:
    /// it was said to be on the disk, or a later block has an entry, which is stored behind what it
    /// leads to.
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

/// The first word behind a place, with room for what covers the damage between, where something
/// begins that checks.
fn find_good(view: &View<'_>, place: &Place, budget: &mut usize) -> Option<usize> {
    let words = view.words;
    let limit = view.layout().limit();
    (place.at + HEADER_WORDS..=words.len().saturating_sub(HEADER_WORDS)).find(|&at| {
        let commit = words[at].load();
        // Looked at first, because they are known without the rest.
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
        match view.look(at) {
            Ok(Look::Excerpt(front)) => at + front.total_words() <= limit,
            Ok(Look::End(_)) => true,
            Ok(Look::Nothing) | Err(_) => false,
        }
    })
}

/// The first word from one on where an excerpt or end mark of a segment begins.
pub(crate) fn first_good(view: &View<'_>, from: usize) -> Option<usize> {
    let mut budget = view.words.len().saturating_mul(BUDGET);
    let place = Place { at: from.saturating_sub(HEADER_WORDS), sequence: 0, max_ts: 0 };
    find_good(view, &place, &mut budget)
}

/// The word behind everything that begins in a range of words, the last of which is not zero: an
/// excerpt may end with zeros that are its own.
pub(crate) fn end_of_excerpts(view: &View<'_>, from: usize, end: usize) -> usize {
    let mut budget = view.words.len().saturating_mul(BUDGET);
    let mut at = from.saturating_sub(HEADER_WORDS);
    while let Some(good) = find_good(view, &Place { at, sequence: 0, max_ts: 0 }, &mut budget)
        && good < end
    {
        let behind = match view.look(good) {
            Ok(Look::Excerpt(front) | Look::End(front)) => good + front.total_words(),
            _ => good + HEADER_WORDS,
        };
        if behind >= end {
            return behind;
        }
        // The next one may begin right here.
        at = behind - HEADER_WORDS;
    }
    end
}

/// How many entries an index has.
fn blocks(layout: Layout) -> usize {
    layout.block(layout.words - 1) + 1
}

/// An entry of an index that is not as it must be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct WrongEntry {
    /// Its first word.
    pub(crate) at: usize,
    /// What it must be; nothing for a block where no excerpt begins.
    pub(crate) entry: Option<Place>,
    /// Whether there is none, and not a wrong one.
    pub(crate) is_missing: bool,
}

/// Compares an index with the entries that it must have. With an `end` nothing is said of the block
/// that this word is in and of those behind it, to which an appender may be writing.
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

/// Makes an index what it must be; returns how many entries were not.
pub(crate) fn mend_index(view: &View<'_>, words: &[Word], entries: &[Place]) -> u64 {
    let wrong = wrong_entries(view, entries, None);
    for WrongEntry { at, entry, .. } in &wrong {
        match entry {
            Some(entry) => index::store(entry, view.layout(), view.seed, words),
            None => words[*at..][..ENTRY_WORDS].iter().rev().for_each(|word| word.store(0)),
        }
    }
    wrong.len() as u64
}

/// Removes the entries of an index that lead to a word or behind it, where nothing is any more.
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

/// The word behind the last one that is not zero, from a word on; nothing where all are.
pub(crate) fn end_of_rest(words: &[ReadWord], from: usize) -> Option<usize> {
    let rest = words.get(from..)?;
    rest.iter().rposition(|word| word.load() != 0).map(|last| from + last + 1)
}
