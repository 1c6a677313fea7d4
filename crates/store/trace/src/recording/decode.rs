//! Reads entries: what a reader of the rings would have seen.

use std::collections::HashMap;

use nanotape_clock::Stamp;

use super::{
    ThreadInfo,
    layout::{
        FIRST_TYPE_ID, LAST_TYPE_ID, LOST, LOST_FIELDS, MAX_NAME_BYTES, MAX_THREADS, NOT_A_SPAN,
        OVERWRITTEN, SPAN_ITEM_BYTES, SPANS, SPANS_FIELDS, START, START_FIELDS, THREAD,
        THREAD_FIELDS, bytes_of,
    },
};
use crate::spans::{MAX_NAME_BYTES as SITE_BYTES, MAX_SITES, Site, SiteName, Span, Timescale};

/// Decodes the entries of a recording, in their order.
#[derive(Debug, Default)]
pub struct Decoder {
    threads: Vec<Known>,
    /// The place of each thread by its number, since the last start.
    numbers: HashMap<u32, usize>,
}

#[derive(Debug)]
struct Known {
    info: ThreadInfo,
    /// The number in the ring of the next span; 0 before the first.
    next: u64,
    /// Whether a collector has started since, which might read spans again.
    may_repeat: bool,
}

/// Numbers in the ring of a thread that an entry is about.
struct Range {
    thread: usize,
    /// The first that no entry was about before.
    from: u64,
    end: u64,
    /// What is missing before it, or why it cannot be there.
    first: Option<Result<Entry, Damage>>,
}

/// What an entry says.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Entry {
    /// A collector of this program has started.
    Start {
        /// The name or the path that it was given.
        program: String,
    },
    /// A thread that was not announced before, or whose sites have more names: see
    /// [`Decoder::threads`].
    Thread {
        /// Its place there.
        thread: usize,
    },
    /// A span.
    Span {
        /// The place of its thread in [`Decoder::threads`].
        thread: usize,
        /// Its number in the ring of the thread.
        sequence: u64,
        /// The span.
        span: Span,
    },
    /// Spans that are not in the recording.
    Lost {
        /// The place of their thread in [`Decoder::threads`].
        thread: usize,
        /// The number of the first in the ring of the thread.
        sequence: u64,
        /// Their number.
        count: u64,
    },
}

/// Why an entry, or a span of it, cannot be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Damage {
    /// Its length is not one that it can have.
    #[error("an entry of type {type_id:#06x} with {length} bytes: it cannot have this length")]
    Length {
        /// Its type.
        type_id: u16,
        /// Its length.
        length: usize,
    },
    /// Its type is reserved: a later version wrote it.
    #[error("an entry of type {type_id:#06x}, which this version does not know: use a later one")]
    Type {
        /// Its type.
        type_id: u16,
    },
    /// The thread was not announced.
    #[error("an entry of thread {number}, which is not announced before it")]
    Thread {
        /// The number of the thread.
        number: u32,
    },
    /// More threads than a recording can have.
    #[error("more than {MAX_THREADS} threads")]
    Threads,
    /// A number that is not possible.
    #[error("{field} is {value}, which is not possible")]
    Field {
        /// The field.
        field: &'static str,
        /// Its value.
        value: u64,
    },
    /// The site of a span does not exist, or the span ends before it begins.
    #[error("span {sequence} of thread {number} is damaged")]
    Span {
        /// The number of the thread.
        number: u32,
        /// The number of the span in the ring.
        sequence: u64,
    },
}

/// What the parts of an entry say.
#[derive(Debug)]
pub struct Entries<'a> {
    /// What comes before the spans.
    first: Option<Result<Entry, Damage>>,
    items: &'a [[u8; SPAN_ITEM_BYTES]],
    number: u32,
    thread: usize,
    sequence: u64,
}

impl Decoder {
    /// A decoder that knows no thread yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The threads so far, in the order in which they were announced. A thread that is announced
    /// again, as in each segment, keeps its place.
    pub fn threads(&self) -> impl ExactSizeIterator<Item = &ThreadInfo> {
        self.threads.iter().map(|known| &known.info)
    }

    /// The thread at a place.
    ///
    /// # Panics
    ///
    /// If no [`Entry`] had this place.
    pub fn thread(&self, thread: usize) -> &ThreadInfo {
        &self.threads[thread].info
    }

    /// Decodes an excerpt of a journal. Excerpts that are not of a recording say nothing.
    ///
    /// A span is returned once: what a collector that was started again has read again is skipped.
    /// Spans that are missing between two entries are [`Entry::Lost`], also without an entry that
    /// says so.
    pub fn decode<'a>(&mut self, type_id: u16, payload: &'a [u8]) -> Entries<'a> {
        let mut entries = Entries { first: None, items: &[], number: 0, thread: 0, sequence: 0 };
        let wrong_length = Damage::Length { type_id, length: payload.len() };
        let first = match type_id {
            START => self.start(payload).ok_or(wrong_length).map(Some),
            THREAD => self.announce(payload).unwrap_or(Err(wrong_length)),
            SPANS => self.spans(payload, &mut entries).unwrap_or(Err(wrong_length)),
            LOST => self.lost(payload).unwrap_or(Err(wrong_length)),
            _ if (FIRST_TYPE_ID..=LAST_TYPE_ID).contains(&type_id) => Err(Damage::Type { type_id }),
            _ => Ok(None),
        };
        entries.first = first.transpose();
        entries
    }

    fn start(&mut self, payload: &[u8]) -> Option<Entry> {
        let program = name(payload.get(bytes_of(&START_FIELDS)..)?)?;
        self.numbers.clear();
        self.threads.iter_mut().for_each(|known| known.may_repeat = true);
        Some(Entry::Start { program })
    }

    /// `None`: its length is wrong.
    fn announce(&mut self, payload: &[u8]) -> Option<Result<Option<Entry>, Damage>> {
        let fields = payload.get(..bytes_of(&THREAD_FIELDS))?;
        let count = u64_at(fields, 48)?;
        if count > MAX_SITES as u64 {
            return Some(Err(Damage::Field { field: "sites", value: count }));
        }
        let rest = &payload[fields.len()..];
        let (sites, text) = rest.split_at_checked(count as usize * SITE_BYTES)?;
        let number = u32_at(fields, 0)?;
        let info = ThreadInfo {
            name: name(text)?,
            pid: u32_at(fields, 4)?,
            created_ns: u64_at(fields, 8)?,
            build: u64_at(fields, 16)?,
            timescale: Timescale {
                ticks_per_second: f64::from_bits(u64_at(fields, 24)?),
                anchor: Stamp::from_ticks(u64_at(fields, 32)?),
                anchor_utc_ns: u64_at(fields, 40)?,
            },
            sites: sites.as_chunks().0.iter().map(|bytes| SiteName::from_bytes(*bytes)).collect(),
        };
        Some(self.know(number, info))
    }

    fn know(&mut self, number: u32, info: ThreadInfo) -> Result<Option<Entry>, Damage> {
        let known = self.threads.iter().position(|known| known.info.is_same_thread(&info));
        let (thread, is_new) = match known {
            Some(thread) => {
                let is_new = self.threads[thread].info.sites != info.sites;
                self.threads[thread].info.sites = info.sites;
                (thread, is_new)
            }
            None if self.threads.len() >= MAX_THREADS => return Err(Damage::Threads),
            None => {
                self.threads.push(Known { info, next: 0, may_repeat: false });
                (self.threads.len() - 1, true)
            }
        };
        self.numbers.insert(number, thread);
        Ok(is_new.then_some(Entry::Thread { thread }))
    }

    /// `None`: its length is wrong.
    fn spans<'a>(
        &mut self,
        payload: &'a [u8],
        entries: &mut Entries<'a>,
    ) -> Option<Result<Option<Entry>, Damage>> {
        let (fields, items) = payload.split_at_checked(bytes_of(&SPANS_FIELDS))?;
        let (number, count, first) = (u32_at(fields, 0)?, u32_at(fields, 4)?, u64_at(fields, 8)?);
        let (items, rest) = items.as_chunks();
        if !rest.is_empty() || items.len() != count as usize {
            return None;
        }
        let range = match self.advance(number, first, count.into()) {
            Ok(range) => range,
            Err(damage) => return Some(Err(damage)),
        };
        let Range { thread, from, first: before, .. } = range;
        let items = &items[(from - first).min(count.into()) as usize..];
        *entries = Entries { first: None, items, number, thread, sequence: from };
        Some(before.transpose())
    }

    /// `None`: its length is wrong.
    fn lost(&mut self, payload: &[u8]) -> Option<Result<Option<Entry>, Damage>> {
        if payload.len() != bytes_of(&LOST_FIELDS) {
            return None;
        }
        let (number, reason) = (u32_at(payload, 0)?, u32_at(payload, 4)?);
        let (first, count) = (u64_at(payload, 8)?, u64_at(payload, 16)?);
        if !matches!(reason, OVERWRITTEN | NOT_A_SPAN) {
            return Some(Err(Damage::Field { field: "reason", value: reason.into() }));
        }
        let range = match self.advance(number, first, count) {
            Ok(Range { first: Some(Err(damage)), .. }) | Err(damage) => return Some(Err(damage)),
            Ok(range) => range,
        };
        // What was missing without an entry is a part of it.
        let (thread, sequence) = match range.first {
            Some(Ok(Entry::Lost { thread, sequence, .. })) => (thread, sequence),
            _ => (range.thread, range.from),
        };
        let count = range.end.saturating_sub(sequence);
        Some(Ok((count > 0).then_some(Entry::Lost { thread, sequence, count })))
    }

    /// An entry is about the numbers from `first` on of a thread.
    fn advance(&mut self, number: u32, first: u64, count: u64) -> Result<Range, Damage> {
        let thread = *self.numbers.get(&number).ok_or(Damage::Thread { number })?;
        let impossible = Damage::Field { field: "first", value: first };
        let end = first.checked_add(count).ok_or(impossible)?;
        if first == 0 {
            return Err(impossible);
        }
        let Known { next, may_repeat, .. } = &mut self.threads[thread];
        if *next == 0 || first == *next {
            (*next, *may_repeat) = (end, false);
            return Ok(Range { thread, from: first, end, first: None });
        }
        let expected = *next;
        if first > expected {
            (*next, *may_repeat) = (end, false);
            let lost = Entry::Lost { thread, sequence: expected, count: first - expected };
            return Ok(Range { thread, from: first, end, first: Some(Ok(lost)) });
        }
        if *may_repeat {
            (*next, *may_repeat) = (end.max(expected), end < expected);
            return Ok(Range { thread, from: expected, end, first: None });
        }
        // This one or the one before is damaged: both are returned.
        *next = end;
        Ok(Range { thread, from: first, end, first: Some(Err(impossible)) })
    }
}

impl Iterator for Entries<'_> {
    type Item = Result<Entry, Damage>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        let (item, rest) = self.items.split_first()?;
        let sequence = self.sequence;
        (self.items, self.sequence) = (rest, sequence + 1);
        let (number, thread) = (self.number, self.thread);
        Some(match span(item) {
            Some(span) => Ok(Entry::Span { thread, sequence, span }),
            None => Err(Damage::Span { number, sequence }),
        })
    }
}

/// A span of an entry; `None` if no collector writes it.
fn span(bytes: &[u8; SPAN_ITEM_BYTES]) -> Option<Span> {
    let site = Site::at(usize::try_from(u64_at(bytes, 0)?).ok()?)?;
    let [from, to] = [u64_at(bytes, 8)?, u64_at(bytes, 16)?].map(Stamp::from_ticks);
    let (number, value) = (u64_at(bytes, 24)?, u64_at(bytes, 32)?);
    (from <= to).then_some(Span { site, number, value, from, to })
}

/// A text of at most [`MAX_NAME_BYTES`] bytes.
fn name(bytes: &[u8]) -> Option<String> {
    (bytes.len() <= MAX_NAME_BYTES).then(|| String::from_utf8_lossy(bytes).into_owned())
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|&bytes| u64::from_le_bytes(bytes))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|&bytes| u32::from_le_bytes(bytes))
}
