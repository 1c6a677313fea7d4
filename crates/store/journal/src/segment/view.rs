//! Reads the words of a segment, and searches positions in it.
//!
//! Bounds: reading one position loads one excerpt. The search for a sequence number or a time takes
//! the logarithm of the number of blocks, and then the excerpts of one block.
//! Failure: the words are hostile. Every position that is followed is inside the words. Each step
//! moves forward, so that no walk is longer than the segment.

use nanotape_shm::ReadWord;

use super::{
    excerpt::{self, Front, Kind},
    header::{Activation, Header, hints},
    index,
    layout::Layout,
};
use crate::{Corruption, edges::COMMIT};

/// The words of one active segment, and its header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'words> {
    pub(crate) words: &'words [ReadWord],
    pub(crate) header: Header,
    pub(crate) activation: Activation,
    pub(crate) seed: u32,
    /// Whether checksums are verified.
    pub(crate) is_checked: bool,
}

/// The contents of a position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Contents {
    /// Nothing is committed here.
    Nothing,
    /// An excerpt of the user, or one that covers damage.
    Excerpt(Front),
    /// The segment ends here; the sequence number of the next excerpt.
    End(Front),
}

/// A position between two excerpts, and the totals of those before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// The word of the next excerpt, whether it is written or not.
    pub(crate) at: usize,
    /// Its sequence number, or a smaller one that no excerpt has.
    pub(crate) sequence: u64,
    /// The largest time before it.
    pub(crate) max_ts: u64,
}

impl<'words> View<'words> {
    /// A view of a segment; `None` while it is only prepared.
    pub(crate) fn new(words: &'words [ReadWord]) -> Result<Option<Self>, Corruption> {
        let header = Header::load(words)?;
        let Some(activation) = Activation::load(words)? else { return Ok(None) };
        if words.len() < header.layout.data {
            return Err(Corruption::Short);
        }
        let seed = excerpt::seed(header.journal, header.number);
        let words = header.layout.used(words);
        Ok(Some(Self { words, header, activation, seed, is_checked: true }))
    }

    pub(crate) fn layout(&self) -> Layout {
        self.header.layout
    }

    /// The position of the first excerpt.
    pub(crate) fn beginning(&self) -> Place {
        let Activation { first_sequence, max_ts_before, .. } = self.activation;
        Place { at: self.header.layout.data, sequence: first_sequence, max_ts: max_ts_before }
    }

    /// Reads the word `at`, where an excerpt might begin.
    #[inline(always)]
    pub(crate) fn read_at(&self, at: usize) -> Result<Contents, Corruption> {
        read_at(self.words, at, self.seed, self.is_checked)
    }

    /// The same, but a sequence number below that of the position is damage.
    #[inline(always)]
    pub(crate) fn read_from(&self, place: &Place) -> Result<Contents, Corruption> {
        let contents = self.read_at(place.at)?;
        match contents {
            Contents::Excerpt(front) | Contents::End(front) if front.sequence < place.sequence => {
                Err(Corruption::Sequence { found: front.sequence, least: place.sequence })
            }
            contents => Ok(contents),
        }
    }

    /// Whether the excerpt of an index entry exists.
    pub(crate) fn has_excerpt(&self, entry: &Place) -> bool {
        let sequence = entry.sequence;
        let leads =
            |contents| matches!(contents, Contents::Excerpt(front) if front.sequence == sequence);
        self.read_at(entry.at).is_ok_and(leads)
    }

    /// The position of the last index entry that is before the target: `is_before` returns whether
    /// an entry is early enough. The beginning if there is no such entry.
    pub(crate) fn by_index(&self, is_before: impl Fn(&Place) -> bool) -> Place {
        let layout = self.layout();
        let entry = |block| index::load(layout, self.seed, self.words, block);
        let (mut low, mut high) =
            (layout.block(layout.data), layout.block(self.words.len() - 1) + 1);
        let first = low;
        // Missing entries are after the existing ones, except for a block without the start of an
        // excerpt. Then an earlier entry is used, which is always correct.
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            let known = (low..=middle).rev().take(64).find_map(&entry);
            match known {
                Some(known) if is_before(&known) => low = middle,
                _ => high = middle,
            }
        }
        let mut block = low + 1;
        while block > first {
            block -= 1;
            let Some(found) = entry(block).filter(&is_before) else { continue };
            if self.has_excerpt(&found) {
                return found;
            }
        }
        self.beginning()
    }

    /// Walks forward from a position while `goes_on` accepts the excerpts. Stops at the first
    /// excerpt that it does not accept, an end mark, nothing, or damage.
    pub(crate) fn walk(
        &self,
        mut place: Place,
        mut goes_on: impl FnMut(&Place, &Front) -> bool,
    ) -> (Place, Result<Contents, Corruption>) {
        loop {
            match self.read_from(&place) {
                Ok(Contents::Excerpt(front)) if goes_on(&place, &front) => {
                    place = place.behind(&front)
                }
                found => return (place, found),
            }
        }
    }

    /// The word after the end mark, if all excerpts are valid.
    pub(crate) fn check_closed(&self) -> Result<usize, (usize, Corruption)> {
        match self.walk(self.beginning(), |_, _| true) {
            (place, Ok(Contents::End(mark))) => Ok(place.at + mark.total_words()),
            (place, found) => Err((place.at, found.err().unwrap_or(Corruption::Hole))),
        }
    }

    /// The word before which everything is on disk.
    pub(crate) fn synced(&self) -> usize {
        hints::synced(self.words)
    }

    pub(crate) fn is_sealed(&self) -> bool {
        hints::is_sealed(self.words)
    }
}

impl Place {
    /// The end mark for a segment that ends here.
    pub(crate) fn end_mark(&self) -> Front {
        let Self { sequence, max_ts: ts_ns, .. } = *self;
        Front { kind: Kind::End, length: 0, type_id: 0, sequence, ts_ns }
    }

    /// The position after this excerpt.
    #[inline(always)]
    pub(crate) fn behind(&self, front: &Front) -> Self {
        Self {
            at: self.at + front.total_words(),
            // An excerpt that covers damage has at least the number of the next excerpt.
            sequence: front.sequence + u64::from(front.kind == Kind::Message),
            max_ts: self.max_ts.max(front.ts_ns),
        }
    }
}

/// Reads at a word of a segment.
#[inline(always)]
pub(crate) fn read_at(
    words: &[ReadWord],
    at: usize,
    seed: u32,
    is_checked: bool,
) -> Result<Contents, Corruption> {
    // There is no room for an end mark, so one should have been before.
    if at + excerpt::END_WORDS > words.len() {
        return Err(Corruption::Unended);
    }
    // SYNC(journal.commit): pairs with the stores of commit words.
    match words[at].observe(COMMIT) {
        0 => Ok(Contents::Nothing),
        commit => {
            let front = excerpt::read(words, at, words.len(), seed, commit, is_checked)?;
            Ok(match front.kind {
                Kind::End => Contents::End(front),
                Kind::Message | Kind::Lost => Contents::Excerpt(front),
            })
        }
    }
}
