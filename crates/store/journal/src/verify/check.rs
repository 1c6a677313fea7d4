//! Checks one segment after the other, for the findings of `verify` and for `repair`.

use std::path::Path;

use nanotape_shm::ReadWord;

use super::{Finding, Found, Verified};
use crate::{
    Corruption, Gap,
    scan::{Event, Scan, WrongEntry, end_of_rest, wrong_entries},
    segment::{
        excerpt::{Front, Kind},
        header::{Activation, Header, Incarnation},
        layout::{at, position_bytes},
        view::{Contents, Place, View},
    },
};

/// Words between two calls of the progress callback.
const STEP_WORDS: usize = 1 << 17;

/// What the caller knows about a segment.
pub(crate) struct Context<'a> {
    pub(crate) path: &'a Path,
    pub(crate) number: u64,
    /// The expected number of the journal, if it is known.
    pub(crate) journal: Option<u64>,
    /// Whether a later segment is active.
    pub(crate) is_followed: &'a dyn Fn() -> bool,
    /// Whether it was the last active one, or after that, when the folder was listed.
    pub(crate) is_last: bool,
    /// Whether it is compressed: then it must have ended.
    pub(crate) is_packed: bool,
}

/// The totals of everything before the next segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Checker {
    /// The next sequence number; `None` before the first segment.
    pub(crate) next: Option<u64>,
    /// The smallest number that the next segment can begin with, from the end mark.
    pub(crate) least: u64,
    /// The largest time so far.
    pub(crate) max_ts: u64,
    /// Whether a segment was only prepared, or had not ended: segments that became active since do
    /// not continue what was read.
    is_over: bool,
    /// Whether segments were removed after the listing: their numbers do not count as missing.
    pub(super) is_removed: bool,
}

/// The check of one segment.
struct Pass<'a> {
    context: &'a Context<'a>,
    verified: &'a mut Verified,
}

impl Pass<'_> {
    fn find(&mut self, word: usize, found: Found) {
        let path = self.context.path.to_owned();
        self.verified.add(Finding { path, offset: position_bytes(word), found });
    }
}

impl Checker {
    /// Checks the words of the next segment; `progress` receives byte counts.
    pub(crate) fn segment(
        &mut self,
        context: &Context<'_>,
        words: &[ReadWord],
        verified: &mut Verified,
        progress: &mut dyn FnMut(u64),
    ) {
        let mut pass = Pass { context, verified };
        let view = match self.view(&mut pass, words) {
            Ok(Some(_)) if self.is_over => return,
            Ok(Some(view)) => view,
            Ok(None) => {
                self.is_over |= context.is_last;
                return;
            }
            Err((word, damage)) => return pass.find(word, Found::Corruption(damage)),
        };
        pass.verified.segments += 1;
        let Activation { first_sequence, max_ts_before, .. } = view.activation;
        if first_sequence < self.least {
            let damage = Corruption::Sequence { found: first_sequence, least: self.least };
            pass.find(at::FIRST_SEQUENCE, Found::Corruption(damage));
        }
        if max_ts_before < self.max_ts {
            let found = Found::Time { found: max_ts_before, least: self.max_ts };
            pass.find(at::MAX_TS_BEFORE, found);
        }
        if Incarnation::load(words).is_none() {
            pass.find(at::INCARNATION, Found::Incarnation);
        }
        let least = self.next.map(|next| next.max(first_sequence));
        self.excerpts(&mut pass, Scan::new(view, least), progress);
    }

    /// The view of a segment; `None` if it has no excerpts.
    fn view<'words>(
        &self,
        pass: &mut Pass<'_>,
        words: &'words [ReadWord],
    ) -> Result<Option<View<'words>>, (usize, Corruption)> {
        let context = pass.context;
        let header = Header::load(words).map_err(|damage| (0, damage))?;
        let Header { number, journal, .. } = header;
        if number != context.number || context.journal.is_some_and(|known| known != journal) {
            return Err((at::JOURNAL, Corruption::Stranger { number, journal }));
        }
        let view = View::new(words).map_err(|damage| match damage {
            Corruption::Activation => (at::FIRST_SEQUENCE, damage),
            damage => (0, damage),
        })?;
        if view.is_some() {
            return Ok(view);
        }
        if !context.is_last {
            pass.find(at::ACTIVATION, Found::Inactive);
        } else if let Some(end) = end_of_rest(words, at::INDEX)
            && matches!(Activation::load(words), Ok(None))
        {
            let damage = Found::Corruption(Corruption::Rest);
            pass.find(end - 1, damage);
        }
        Ok(None)
    }

    fn excerpts(&mut self, pass: &mut Pass<'_>, mut scan: Scan<'_>, progress: &mut dyn FnMut(u64)) {
        let (mut reported, mut last) = (0, 0);
        let end = loop {
            match scan.next(pass.context.is_followed) {
                Event::Excerpt(place, front) => {
                    last = place.at;
                    self.excerpt(pass, &place, &front);
                    if place.at >= reported + STEP_WORDS {
                        reported = place.at;
                        progress(position_bytes(reported));
                    }
                }
                Event::Damaged(place, damage, to) => {
                    let to = position_bytes(to);
                    pass.find(place.at, Found::Skipped { damage, to });
                }
                Event::Broken(place, damage) => {
                    pass.find(place.at, Found::Corruption(damage));
                    self.least = place.sequence;
                    break Some(place.at);
                }
                Event::Ended(place, front) => {
                    self.least = front.sequence;
                    let behind = place.at + front.total_words();
                    self.rest(pass, &scan.view, behind);
                    break None;
                }
                Event::Open(place) => {
                    self.least = place.sequence;
                    self.is_over |= pass.context.is_last;
                    if pass.context.is_packed {
                        pass.find(place.at, Found::Corruption(Corruption::Unended));
                    }
                    // An appender might have continued since.
                    if scan.view.read_at(place.at) == Ok(Contents::Nothing) {
                        self.rest(pass, &scan.view, place.at);
                    }
                    // The entry of the last excerpt's block might not be stored yet.
                    break Some(last);
                }
            }
        };
        self.index(pass, wrong_entries(&scan.view, &scan.entries, end));
    }

    fn excerpt(&mut self, pass: &mut Pass<'_>, place: &Place, front: &Front) {
        self.max_ts = self.max_ts.max(place.max_ts).max(front.ts_ns);
        if front.kind == Kind::Lost {
            let bytes = position_bytes(front.total_words());
            return pass.find(place.at, Found::Lost { bytes });
        }
        let verified = &mut *pass.verified;
        verified.excerpts += 1;
        verified.bytes += position_bytes(front.total_words());
        if verified.excerpts == 1 {
            verified.first_sequence = front.sequence;
        } else if let Some(next) = self.next.filter(|next| *next < front.sequence)
            && !self.is_removed
        {
            let gap = Gap { from: next, to: front.sequence - 1 };
            verified.missing += gap.count();
            pass.find(place.at, Found::Gap(gap));
        }
        (self.next, self.is_removed) = (Some(front.sequence + 1), false);
    }

    /// Checks the words after the last excerpt, or after the end mark.
    fn rest(&self, pass: &mut Pass<'_>, view: &View<'_>, from: usize) {
        if let Some(end) = end_of_rest(view.words, from) {
            pass.find(from, Found::Rest { bytes: position_bytes(end - from) });
        }
    }

    fn index(&self, pass: &mut Pass<'_>, wrong: Vec<WrongEntry>) {
        let (mut missing, mut first) = (0, 0);
        for WrongEntry { at, is_missing, .. } in wrong {
            if !is_missing {
                pass.find(at, Found::WrongEntry);
                continue;
            }
            if missing == 0 {
                first = at;
            }
            missing += 1;
        }
        if missing > 0 {
            pass.find(first, Found::MissingEntries(missing));
        }
    }
}
