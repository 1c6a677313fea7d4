//! Reads the spans of a thread of any process, also of one that was killed.

use std::path::{Path, PathBuf};

use nanotape_clock::Stamp;
use nanotape_ring::{Gap, Read, ReadError, Rejoin, Start, Subscribe as _, slots};
use nanotape_shm::{Owner, SharedRegion};

use super::{
    layout::{
        ANCHOR_TICKS, ANCHOR_UTC_NS, BUILD, KIND, LAYOUT, RING_CREATED, SITES, SWITCHES,
        TICKS_PER_SECOND, WORDS, load_name, load_named,
    },
    sites::{MAX_SITES, SiteName},
    span::{SPAN_BYTES, Span},
    switch::{self, Rate},
    timescale::Timescale,
    tracer::{TraceError, spans_path},
};

/// Attempts to open region and ring of one start, while threads of one name start again and again.
const ATTEMPTS: usize = 16;

/// A reader of the spans of one thread. The thread does nothing for it.
#[derive(Debug)]
pub struct SpanReader {
    region: SharedRegion,
    ring: PathBuf,
    spans: slots::Reader,
}

/// The result of a poll of a ring of spans.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Polled {
    /// The next span.
    Span(Span),
    /// Spans that were overwritten before they were read.
    Lost(Gap),
    /// A message that no tracer writes: damage.
    Damaged {
        /// Its number in the ring.
        sequence: u64,
    },
    /// No span yet.
    Empty,
}

/// A site of a traced thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SiteStat {
    /// Its name; `None`: damaged.
    pub name: Option<SiteName>,
    /// What it records; `None`: damaged.
    pub rate: Option<Rate>,
}

impl SpanReader {
    /// Opens the spans of the thread whose region is at `path`. Needs only permission to read.
    ///
    /// Region and ring are of one start of the thread: if a thread of the same name starts
    /// meanwhile, both are opened again.
    pub fn open(path: &Path, start: Start) -> Result<Self, TraceError> {
        for _ in 0..ATTEMPTS {
            let region = SharedRegion::open_as(path, KIND, LAYOUT, WORDS)?;
            let ring = spans_path(path);
            let spans = match slots::Reader::open(&ring, start) {
                Ok(spans) => spans,
                // Its thread has just removed it for a new one, or another file took its place.
                Err(_) if region.check().is_err() => continue,
                Err(error) => return Err(TraceError::Ring { path: ring, error: Box::new(error) }),
            };
            // 0 is of a region that an earlier version made.
            let of_ring = region.spec().parameters[RING_CREATED];
            if of_ring == 0 || of_ring == spans.region().created_ns() {
                return Ok(Self { region, ring, spans });
            }
        }
        Err(TraceError::Unpaired { path: path.to_owned() })
    }

    /// Reads all spans that the ring keeps up to the one with the number `end`, without a pause:
    /// only those are lost that the thread overwrites meanwhile.
    pub fn kept(&mut self, end: u64) -> Result<Vec<(u64, Polled)>, ReadError> {
        self.spans.set_rejoin(Rejoin::Oldest);
        let mut kept = Vec::new();
        let read = loop {
            let sequence = self.next_sequence();
            if sequence >= end {
                break Ok(kept);
            }
            match self.try_next() {
                Ok(Polled::Empty) => break Ok(kept),
                Ok(polled) => kept.push((sequence, polled)),
                Err(error) => break Err(error),
            }
        };
        self.spans.set_rejoin(Rejoin::default());
        read
    }

    /// The process of the thread.
    pub fn owner(&self) -> Owner {
        self.region.owner()
    }

    /// The number of the program's build.
    pub fn build(&self) -> u64 {
        self.region.spec().parameters[BUILD]
    }

    /// The region of the thread.
    pub fn region(&self) -> &SharedRegion {
        &self.region
    }

    /// The ring of the spans.
    pub fn ring(&self) -> &Path {
        &self.ring
    }

    /// The sites that have a name so far, in the order in which a message passes them, or in which
    /// they appeared.
    pub fn sites(&self) -> Vec<SiteStat> {
        let count = load_named(self.region.words(), self.region.spec().parameters[SITES]);
        let word = |at: usize| self.region.words()[at].load();
        let of = |place| SiteStat {
            name: load_name(word, place),
            rate: switch::recorded(word(SWITCHES + place)),
        };
        (0..count).map(of).collect()
    }

    /// The rates of all switches; those after the [sites](Self::sites) are of sites that appear
    /// later. `None`: damaged.
    pub fn rates(&self) -> Vec<Option<Rate>> {
        let count = self.region.spec().parameters[SITES].min(MAX_SITES as u64) as usize;
        let words = &self.region.words()[SWITCHES..][..count];
        words.iter().map(|word| switch::recorded(word.load())).collect()
    }

    /// The number in the ring of the next span.
    pub fn next_sequence(&self) -> u64 {
        self.spans.next_sequence()
    }

    /// The next span, if there is one.
    pub fn try_next(&mut self) -> Result<Polled, ReadError> {
        let mut bytes = [0; SPAN_BYTES];
        Ok(match self.spans.try_read(&mut bytes)? {
            Read::Message(received) => {
                let span = bytes.get(..received.length as usize);
                match span.and_then(|bytes| Span::of_message(received.type_id, bytes)) {
                    Some(span) => Polled::Span(span),
                    None => Polled::Damaged { sequence: received.sequence },
                }
            }
            Read::Lapped(gap) => Polled::Lost(gap),
            Read::Empty => Polled::Empty,
        })
    }

    /// Nanoseconds from one stamp of the thread to a later one; 0 if the region is damaged.
    pub fn nanos_between(&self, earlier: Stamp, later: Stamp) -> f64 {
        self.timescale().nanos_between(earlier, later)
    }

    /// The UTC of a stamp of the thread, in ns since the UNIX epoch.
    pub fn utc_ns(&self, stamp: Stamp) -> u64 {
        self.timescale().utc_ns(stamp)
    }

    /// The clock of the thread, as its region has it now.
    pub fn timescale(&self) -> Timescale {
        let word = |at: usize| self.region.words()[at].load();
        Timescale {
            ticks_per_second: f64::from_bits(word(TICKS_PER_SECOND)),
            anchor: Stamp::from_ticks(word(ANCHOR_TICKS)),
            anchor_utc_ns: word(ANCHOR_UTC_NS),
        }
    }
}
