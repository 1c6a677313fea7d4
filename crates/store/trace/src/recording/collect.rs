//! Drains the rings of threads into entries.

use nanotape_shm::OwnerState;

use super::{
    ThreadInfo,
    encode::{add_span, begin_spans, end_spans, put_lost, thread_entry},
    layout::{LOST, MAX_SPANS, NOT_A_SPAN, OVERWRITTEN, SPANS},
};
use crate::{
    flight::ThreadStat,
    spans::{Polled, SpanReader},
};

/// Reads the rings of any number of threads in turn, and makes entries of their spans. The threads
/// do nothing for it.
#[derive(Debug, Default)]
pub struct Collector {
    threads: Vec<Source>,
    /// The thread whose turn it is.
    turn: usize,
    payload: Vec<u8>,
}

/// An entry for a journal. It needs the announcement of its thread before it in its segment.
#[derive(Clone, Copy, Debug)]
pub struct Collected<'a> {
    /// The type id of the entry.
    pub type_id: u16,
    /// Its payload.
    pub payload: &'a [u8],
    /// The place of its thread among those that were [added](Collector::add).
    pub thread: usize,
    /// The payload of the [`THREAD`](super::THREAD) entry that announces the thread.
    pub announcement: &'a [u8],
    /// How often the announcement has changed: names of sites can appear later.
    pub version: u32,
}

#[derive(Debug)]
struct Source {
    reader: SpanReader,
    info: ThreadInfo,
    announcement: Vec<u8>,
    version: u32,
    /// Missing spans after the last entry: the reason, the first, and their count.
    missing: Option<(u32, u64, u64)>,
    stat: ThreadStat,
}

impl Collector {
    /// A collector without threads.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a thread under a name.
    pub fn add(&mut self, name: &str, reader: SpanReader) {
        let info = ThreadInfo::of(name, &reader);
        let announcement = thread_entry(number_of(self.threads.len()), &info);
        let stat = ThreadStat { name: name.to_owned(), ..ThreadStat::default() };
        self.threads.push(Source { reader, info, announcement, version: 1, missing: None, stat });
    }

    /// Whether a thread of this region is collected: its path, and when it was created.
    pub fn has(&self, reader: &SpanReader) -> bool {
        let (region, created_ns) = (reader.region().path(), reader.region().created_ns());
        self.threads.iter().any(|source| {
            source.reader.region().path() == region && source.info.created_ns == created_ns
        })
    }

    /// Whether the process of a thread is alive. Queries the kernel.
    pub fn is_alive(&self) -> bool {
        let is_alive = |source: &Source| source.reader.region().owner().state == OwnerState::Alive;
        self.threads.iter().any(is_alive)
    }

    /// What was read of each thread.
    pub fn stats(&self) -> impl Iterator<Item = &ThreadStat> {
        self.threads.iter().map(|source| &source.stat)
    }

    /// The next entry; `None` if no thread has written more.
    pub fn next_entry(&mut self) -> Option<Collected<'_>> {
        let count = self.threads.len();
        let found = (0..count).find_map(|step| {
            let thread = (self.turn + step) % count;
            let type_id = self.threads[thread].poll(number_of(thread), &mut self.payload)?;
            Some((thread, type_id))
        });
        let (thread, type_id) = found?;
        self.turn = (thread + 1) % count;
        let Source { announcement, version, .. } = &self.threads[thread];
        let payload = &self.payload;
        Some(Collected { type_id, payload, thread, announcement, version: *version })
    }
}

impl Source {
    /// Puts the next entry into `payload`; returns its type.
    fn poll(&mut self, number: u32, payload: &mut Vec<u8>) -> Option<u16> {
        let spans = if self.missing.is_none() { self.read(number, payload) } else { 0 };
        if spans > 0 {
            end_spans(payload, spans);
            return Some(SPANS);
        }
        let (reason, first, count) = self.missing.take()?;
        put_lost(payload, number, reason, first, count);
        Some(LOST)
    }

    /// Reads spans up to the next missing one; returns their number.
    fn read(&mut self, number: u32, payload: &mut Vec<u8>) -> usize {
        let mut spans = 0;
        let mut unnamed = false;
        while spans < MAX_SPANS && self.stat.failed.is_none() {
            let sequence = self.reader.next_sequence();
            match self.reader.try_next() {
                Ok(Polled::Span(span)) => {
                    if spans == 0 {
                        begin_spans(payload, number, self.reader.next_sequence() - 1);
                    }
                    unnamed |= self.info.sites.get(span.site.index()).is_none_or(Option::is_none);
                    add_span(payload, &span);
                    spans += 1;
                }
                Ok(Polled::Empty) => break,
                Ok(Polled::Lost(gap)) => {
                    // What was overwritten before the first span is no loss.
                    if self.stat.read > 0 || spans > 0 {
                        self.stat.lost += gap.count();
                        self.missing = Some((OVERWRITTEN, gap.from, gap.count()));
                        break;
                    }
                }
                Ok(Polled::Damaged { .. }) => {
                    self.stat.damaged += 1;
                    self.missing = Some((NOT_A_SPAN, sequence, 1));
                    break;
                }
                Err(error) => self.stat.failed = Some(error),
            }
        }
        self.stat.read += spans as u64;
        if unnamed {
            self.name_again(number);
        }
        spans
    }

    /// A span is of a site without a name, which the thread might have named meanwhile.
    #[cold]
    fn name_again(&mut self, number: u32) {
        let sites = self.reader.sites().iter().map(|site| site.name).collect();
        if self.info.sites != sites {
            self.info.sites = sites;
            self.announcement = thread_entry(number, &self.info);
            self.version += 1;
        }
    }
}

/// The number of a thread in a journal: from 1.
fn number_of(thread: usize) -> u32 {
    thread as u32 + 1
}
