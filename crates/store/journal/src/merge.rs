//! Several journals read as one, by time.
//!
//! Writers that share a journal wait for each other, so each has its own. A merge returns the
//! earliest of the next excerpts of all journals. Within a journal the order of writing is kept;
//! excerpts of the same time follow the order of the journals.
//! Bounds: nothing is copied.

use crate::{
    Disk, Excerpt, Folder, Gap, JournalError, Reused, Tailer,
    tailer::{Step, Tail},
};

/// Tailers of several journals.
#[derive(Debug)]
pub struct Merge<D: Disk = Folder> {
    sources: Vec<Source<D>>,
}

#[derive(Debug)]
struct Source<D: Disk> {
    tailer: Tailer<D>,
    /// The time of its next excerpt, if it was polled.
    next_ns: Option<u64>,
}

/// The result of a read of several journals. Journals are numbered in the order of their tailers.
#[derive(Debug)]
pub enum Merged<'merge> {
    /// The earliest excerpt.
    Excerpt {
        /// Its journal.
        source: usize,
        /// The excerpt.
        excerpt: Excerpt<'merge>,
    },
    /// Missing excerpts of one journal.
    Gap {
        /// The journal.
        source: usize,
        /// The missing numbers.
        gap: Gap,
    },
    /// Sequence numbers that one journal used again: reading continues at the first of them.
    Reused {
        /// The journal.
        source: usize,
        /// The reused numbers.
        reused: Reused,
    },
    /// Nothing can be returned yet.
    Nothing,
}

impl<D: Disk> Merge<D> {
    /// Continues at the positions of the tailers.
    pub fn new(tailers: impl IntoIterator<Item = Tailer<D>>) -> Self {
        let source = |tailer| Source { tailer, next_ns: None };
        Self { sources: tailers.into_iter().map(source).collect() }
    }

    /// The earliest excerpt, once its order is certain: every journal has one, or its time is at
    /// most `settled_ns`. The other journals must not get more excerpts before `settled_ns`.
    ///
    /// For journals without a writer, pass `u64::MAX`. For others, pass the current time minus the
    /// writer's delay from its clock to its commit, some milliseconds.
    pub fn next(&mut self, settled_ns: u64) -> Result<Merged<'_>, JournalError> {
        let mut earliest: Option<(u64, usize)> = None;
        let mut is_complete = true;
        for (source, state) in self.sources.iter_mut().enumerate() {
            if state.next_ns.is_none() {
                match state.tailer.peek()? {
                    Step::Excerpt(front) => state.next_ns = Some(front.ts_ns),
                    Step::Gap(gap) => return Ok(Merged::Gap { source, gap }),
                    Step::Reused(reused) => return Ok(Merged::Reused { source, reused }),
                    Step::Nothing | Step::Again => {}
                }
            }
            match state.next_ns {
                Some(next) if earliest.is_none_or(|(first, _)| next < first) => {
                    earliest = Some((next, source));
                }
                Some(_) => {}
                None => is_complete = false,
            }
        }
        let Some((ts_ns, source)) = earliest else { return Ok(Merged::Nothing) };
        if !is_complete && ts_ns > settled_ns {
            return Ok(Merged::Nothing);
        }
        let state = &mut self.sources[source];
        state.next_ns = None;
        Ok(match state.tailer.next()? {
            Tail::Excerpt(excerpt) => Merged::Excerpt { source, excerpt },
            Tail::Gap(gap) => Merged::Gap { source, gap },
            Tail::Reused(reused) => Merged::Reused { source, reused },
            Tail::Nothing => Merged::Nothing,
        })
    }

    /// Calls [`Tailer::recheck`] on each tailer.
    pub fn recheck(&mut self) {
        self.sources.iter_mut().for_each(|source| source.tailer.recheck());
    }

    /// The tailers, in their order.
    pub fn tailers(&self) -> impl Iterator<Item = &Tailer<D>> {
        self.sources.iter().map(|source| &source.tailer)
    }
}
