//! Several journals read as one, by time.
//!
//! Writers that share a journal wait for each other, so each has its own. A merge returns the
//! earliest of the next excerpts of all journals. Within a journal the order stays as it was
//! written; excerpts of the same time are in the order of the journals. Bounds: nothing is copied.

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
    /// The time of its next excerpt, if that was looked at.
    next_ns: Option<u64>,
}

/// What a read of several journals returns. Journals have the numbers that their tailers were given
/// in.
#[derive(Debug)]
pub enum Merged<'merge> {
    /// The earliest excerpt.
    Excerpt {
        /// The journal it is from.
        source: usize,
        /// The excerpt.
        excerpt: Excerpt<'merge>,
    },
    /// Excerpts that are missing in one journal.
    Gap {
        /// The journal.
        source: usize,
        /// Which ones.
        gap: Gap,
    },
    /// Sequence numbers that one journal has given again: it is read from the first of them on.
    Reused {
        /// The journal.
        source: usize,
        /// Which ones.
        reused: Reused,
    },
    /// Nothing that can be returned yet.
    Nothing,
}

impl<D: Disk> Merge<D> {
    /// Goes on where the tailers are.
    pub fn new(tailers: impl IntoIterator<Item = Tailer<D>>) -> Self {
        let source = |tailer| Source { tailer, next_ns: None };
        Self { sources: tailers.into_iter().map(source).collect() }
    }

    /// The earliest excerpt, once it is sure to be: when every journal has one, or its time is not
    /// behind `settled_ns`, before which nothing more is expected of the others.
    ///
    /// For journals without a writer that is `u64::MAX`. For others it is the time now, less the
    /// time of a writer from its clock to its commit: some milliseconds.
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

    /// As [`Tailer::ask`], of each.
    pub fn ask(&mut self) {
        self.sources.iter_mut().for_each(|source| source.tailer.ask());
    }

    /// The tailers, in their order.
    pub fn tailers(&self) -> impl Iterator<Item = &Tailer<D>> {
        self.sources.iter().map(|source| &source.tailer)
    }
}
