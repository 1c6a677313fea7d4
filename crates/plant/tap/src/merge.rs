//! Puts the items of several sources in the order of their times.
//!
//! Where: between readers of rings, journals or files, and an output for all of them. It has no
//! clock: the caller passes the time of its own.
//! Protocol: the caller pushes what it reads, and takes what is next with [`TimeMerge::pop`]. An
//! item counts at its own time, or at that of the item before it of its source if that is later:
//! the order of a source never changes. Of equal times the source with the lower number is first.
//! Bounds: an item waits until every other source has an item or has ended, or for the bound of the
//! merge. Without a bound the order is exact, and a source that is silent holds the others.
//! Failure: after a wait that was too short an earlier item can come. It is given at once, as a
//! late one, and counted.

mod instruments;
mod sources;
mod stored;

use std::{collections::VecDeque, time::Duration};

pub use instruments::{MergedInstruments, TooManyInstruments};
pub use sources::{MergeStep, MergedSource, MergedSources, SourceEnd};
pub use stored::{MergeBy, StoredEvent};

/// A merge of the items of several sources.
#[derive(Debug)]
pub struct TimeMerge<T> {
    sources: Vec<MergeSource<T>>,
    /// How long an item waits for a silent source.
    bound_ns: Option<u64>,
    /// The greatest time of an item that was given.
    given_ns: u64,
    late: LateItems,
}

/// The items of a source that wait.
#[derive(Debug)]
struct MergeSource<T> {
    waiting: VecDeque<Waiting<T>>,
    /// The time at which its last item counts.
    last_ns: u64,
    has_ended: bool,
}

#[derive(Debug)]
struct Waiting<T> {
    ts_ns: u64,
    /// When it was pushed, by the clock of the caller.
    pushed_ns: u64,
    item: T,
}

/// An item in its turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Merged<T> {
    /// The number of its source.
    pub source: usize,
    /// The time at which it counts.
    pub ts_ns: u64,
    /// Whether an item of a later time was given before it.
    pub is_late: bool,
    /// The item.
    pub item: T,
}

/// Items that came after one of a later time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LateItems {
    /// How many there are.
    pub count: u64,
    /// How much later than the latest one: the greatest difference of their times, in ns.
    pub most_ns: u64,
}

impl<T> TimeMerge<T> {
    /// A merge of this many sources, in which an item waits at most as long as the bound.
    pub fn new(sources: usize, bound: Option<Duration>) -> Self {
        let source = || MergeSource { waiting: VecDeque::new(), last_ns: 0, has_ended: false };
        Self {
            sources: (0..sources).map(|_| source()).collect(),
            bound_ns: bound.map(|bound| bound.as_nanos() as u64),
            given_ns: 0,
            late: LateItems::default(),
        }
    }

    /// Adds an item of a source, after all earlier ones of it. `ts_ns`: its time; `None` if it
    /// counts at that of the item before it. `now_ns`: the time of the caller's clock.
    pub fn push(&mut self, source: usize, ts_ns: Option<u64>, now_ns: u64, item: T) {
        let source = &mut self.sources[source];
        source.last_ns = source.last_ns.max(ts_ns.unwrap_or(0));
        source.waiting.push_back(Waiting { ts_ns: source.last_ns, pushed_ns: now_ns, item });
    }

    /// No further item of a source comes.
    pub fn end(&mut self, source: usize) {
        self.sources[source].has_ended = true;
    }

    /// Whether items of a source wait.
    pub fn is_waiting(&self, source: usize) -> bool {
        !self.sources[source].waiting.is_empty()
    }

    /// How many items of a source wait.
    pub fn waiting(&self, source: usize) -> usize {
        self.sources[source].waiting.len()
    }

    /// A source without an item that has not ended: without a bound, it holds the others.
    pub fn holder(&self) -> Option<usize> {
        self.sources.iter().position(|source| !source.has_ended && source.waiting.is_empty())
    }

    /// Whether all sources have ended and all items were given.
    pub fn is_over(&self) -> bool {
        self.sources.iter().all(|source| source.has_ended && source.waiting.is_empty())
    }

    /// The next item, if it need not wait any longer.
    pub fn pop(&mut self, now_ns: u64) -> Option<Merged<T>> {
        let heads = self.sources.iter().enumerate();
        let heads = heads.filter_map(|(number, source)| Some((source.waiting.front()?, number)));
        let first = heads.clone().map(|(head, number)| (head.ts_ns, number)).min();
        let (ts_ns, source) = first?;
        // A later item than the next one does not matter, so a late one never waits.
        let is_late = ts_ns < self.given_ns;
        if !is_late && self.holder().is_some() {
            // The item that has waited longest might have a later time: those before it go first.
            let pushed_ns = heads.map(|(head, _)| head.pushed_ns).min().unwrap_or(now_ns);
            let waited_ns = now_ns.saturating_sub(pushed_ns);
            if self.bound_ns.is_none_or(|bound_ns| waited_ns < bound_ns) {
                return None;
            }
        }
        if is_late {
            self.late.count += 1;
            self.late.most_ns = self.late.most_ns.max(self.given_ns - ts_ns);
        }
        self.given_ns = self.given_ns.max(ts_ns);
        let Waiting { item, .. } = self.sources[source].waiting.pop_front()?;
        Some(Merged { source, ts_ns, is_late, item })
    }

    /// What came late so far.
    pub fn late(&self) -> LateItems {
        self.late
    }
}
