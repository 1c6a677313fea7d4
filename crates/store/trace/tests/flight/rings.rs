//! Traced threads that write spans of any time, and a model of a recorder that keeps everything.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
};

use nanotape_clock::{Clock, Stamp};
use nanotape_ring::{Publish as _, Start, slots};
use nanotape_shm::RegionOptions;
use nanotape_trace::{
    export::Recording,
    flight::{Condition, Snapshot, Summary},
    spans::{Polled, SPAN_BYTES, Site, Sites, SpanReader, Tracer, TracerOptions, spans_path},
};

pub(crate) const SITES: Sites = Sites::new(&["book.decode", "book.apply"]);
pub(crate) const DECODE: Site = SITES.site("book.decode");
pub(crate) const APPLY: Site = SITES.site("book.apply");

/// A thread whose spans have the times that a test gives them. A tick is 1 ns.
pub(crate) struct Fake {
    pub(crate) path: PathBuf,
    writer: slots::Writer,
}

impl Fake {
    pub(crate) fn new(path: &Path, spans: usize) -> Self {
        let options = TracerOptions { spans, ..TracerOptions::default() };
        drop(Tracer::create(path, SITES, Clock::monotonic(), &options).unwrap());
        let (ring, region) = (spans_path(path), RegionOptions::default());
        let (writer, _) = slots::Writer::create(&ring, spans, SPAN_BYTES, &region).unwrap();
        Self { path: path.to_owned(), writer }
    }

    pub(crate) fn span(&mut self, site: Site, number: u64, from: u64, to: u64) {
        let mut bytes = [0; SPAN_BYTES];
        let words = [from, to, number, number ^ 0xff];
        for (part, word) in bytes.chunks_exact_mut(8).zip(words) {
            part.copy_from_slice(&word.to_ne_bytes());
        }
        self.writer.publish(site.index() as u16, &bytes).unwrap();
    }
}

/// A span as a model knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Known {
    pub(crate) site: usize,
    pub(crate) number: u64,
    pub(crate) value: u64,
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) lost_before: u64,
}

/// Reads what the recorder reads, and keeps all of it.
pub(crate) struct Model {
    readers: Vec<SpanReader>,
    pub(crate) spans: Vec<Vec<Known>>,
    lost: Vec<u64>,
    kept: usize,
}

impl Model {
    pub(crate) fn open(fakes: &[Fake], kept: usize) -> Self {
        let reader = |fake: &Fake| SpanReader::open(&fake.path, Start::Oldest).unwrap();
        let count = fakes.len();
        Self {
            readers: fakes.iter().map(reader).collect(),
            spans: vec![Vec::new(); count],
            lost: vec![0; count],
            kept,
        }
    }

    /// Reads as far as a poll does.
    pub(crate) fn poll(&mut self) {
        for (thread, reader) in self.readers.iter_mut().enumerate() {
            for _ in 0..self.kept / 8 {
                match reader.try_next().unwrap() {
                    Polled::Span(span) => self.spans[thread].push(Known {
                        site: span.site.index(),
                        number: span.number,
                        value: span.value,
                        from: span.from.ticks(),
                        to: span.to.ticks(),
                        lost_before: std::mem::take(&mut self.lost[thread]),
                    }),
                    Polled::Lost(gap) => self.lost[thread] += gap.count(),
                    Polled::Empty => break,
                    Polled::Damaged { .. } => {}
                }
            }
        }
    }

    /// How often a condition must have triggered.
    pub(crate) fn fired(&self, condition: &Condition) -> u64 {
        let above = condition.above_ns();
        let all = |threads: &[Vec<Known>]| -> u64 {
            let mut messages: HashMap<u64, (u64, u64)> = HashMap::new();
            for span in threads.iter().flatten() {
                let times = messages.entry(span.number).or_insert((span.from, span.to));
                *times = (times.0.min(span.from), times.1.max(span.to));
            }
            messages.values().filter(|(from, to)| to - from > above).count() as u64
        };
        match condition {
            Condition::Message { .. } => all(&self.spans),
            Condition::Thread { .. } => {
                self.spans.iter().map(|thread| all(std::slice::from_ref(thread))).sum()
            }
            Condition::Site { site, .. } => {
                let is_slow =
                    |span: &&Known| SITES.names()[span.site] == site && span.to - span.from > above;
                self.spans.iter().flatten().filter(is_slow).count() as u64
            }
        }
    }

    /// Losses before any but the first span of a thread.
    pub(crate) fn losses(&self) -> u64 {
        let of = |spans: &Vec<Known>| {
            spans.iter().skip(1).filter(|span| span.lost_before > 0).count() as u64
        };
        self.spans.iter().map(of).sum()
    }

    /// Checks that a copy has the last spans of all threads, with their times.
    pub(crate) fn check(&self, recording: &Recording) {
        for (at, (thread, all)) in recording.threads.iter().zip(&self.spans).enumerate() {
            let last = &all[all.len().saturating_sub(self.kept)..];
            assert_eq!(thread.spans.len(), last.len());
            assert_eq!(thread.lost_after, self.lost[at]);
            for (slice, known) in thread.spans.iter().zip(last) {
                let found = (slice.site, slice.number, slice.value, slice.lost_before);
                assert_eq!(found, (known.site, known.number, known.value, known.lost_before));
                assert_eq!(slice.end_ns - slice.begin_ns, known.to - known.from);
                let utc_ns = self.readers[at].utc_ns(Stamp::from_ticks(known.from));
                assert!(slice.begin_ns.abs_diff(utc_ns) < 1_000, "{slice:?}: {utc_ns}");
            }
        }
    }

    /// Checks all counts of a recorder that read what this model read.
    pub(crate) fn check_counts(&self, summary: &Summary, requests: u64) {
        for (condition, count) in &summary.conditions {
            assert_eq!(count.fired, self.fired(condition), "{condition}");
        }
        assert_eq!((summary.losses.fired, summary.requests.fired), (self.losses(), requests));
        let counts = summary.conditions.iter().map(|(_, count)| *count);
        let mut copied = 0;
        for count in counts.chain([summary.requests, summary.losses]) {
            assert_eq!(count.fired, count.copied + count.shared + count.dropped);
            copied += count.copied;
        }
        assert!((summary.copies..=summary.copies + 1).contains(&copied));
        for ((thread, all), lost) in summary.threads.iter().zip(&self.spans).zip(&self.lost) {
            let before: u64 = all.iter().map(|span| span.lost_before).sum();
            assert_eq!((thread.read, thread.lost), (all.len() as u64, before + lost));
        }
        assert_eq!(summary.crowded, 0);
    }
}

/// The message numbers of a copy's triggers, and how many spans it has of each.
pub(crate) fn spans_of_triggers(snapshot: &Snapshot) -> BTreeMap<u64, usize> {
    let recording = snapshot.recording();
    let count = |number: u64| {
        let all = recording.threads.iter().flat_map(|thread| &thread.spans);
        (number, all.filter(|span| span.number == number).count())
    };
    snapshot.triggers().iter().map(|trigger| count(trigger.number)).collect()
}
