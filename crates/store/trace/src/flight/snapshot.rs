//! A copy of the last spans of all threads.

use std::sync::Arc;

use nanotape_clock::Stamp;

use super::{
    Condition,
    desk::LISTED,
    kept::KeptSpan,
    thread::{Name, Thread},
    trigger::{Cause, Trigger, When},
};
use crate::export;

/// The last spans of all threads around a trigger. Give it
/// [back](super::Recorder::give_back) when it is written.
#[derive(Debug)]
pub struct Snapshot {
    threads: Vec<Copied>,
    triggers: Vec<Trigger>,
    conditions: Arc<[Condition]>,
    nanos_per_tick: f64,
    /// A stamp and its UTC in ns.
    anchor: (Stamp, u64),
}

#[derive(Debug)]
struct Copied {
    name: Arc<Name>,
    spans: Vec<KeptSpan>,
    lost_after: u64,
}

impl Snapshot {
    /// Takes the memory of a copy.
    pub(super) fn new(threads: &[Thread], spans: usize, of: (&Arc<[Condition]>, f64)) -> Self {
        let copied = |thread: &Thread| Copied {
            name: Arc::clone(&thread.name),
            spans: Vec::with_capacity(spans),
            lost_after: 0,
        };
        Self {
            threads: threads.iter().map(copied).collect(),
            triggers: Vec::with_capacity(LISTED),
            conditions: Arc::clone(of.0),
            nanos_per_tick: of.1,
            anchor: (Stamp::from_ticks(0), 0),
        }
    }

    /// Copies the spans of all threads. Allocates nothing.
    pub(super) fn fill(&mut self, threads: &[Thread]) -> &mut Vec<Trigger> {
        for (copied, thread) in self.threads.iter_mut().zip(threads) {
            thread.kept.copy_to(&mut copied.spans);
            copied.lost_after = thread.lost;
        }
        // The latest stamp, so that the error of the rate is smallest where the copy is.
        let last = self.threads.iter().filter_map(|copied| copied.spans.last());
        let last = last.map(|kept| kept.to).max().unwrap_or(Stamp::from_ticks(0));
        self.anchor = (last, threads.first().map_or(0, |thread| thread.reader.utc_ns(last)));
        &mut self.triggers
    }

    /// Whether it is of a recorder with these threads and so many kept spans.
    pub(super) fn is_of(&self, threads: &[Thread], spans: usize) -> bool {
        let is_same = |(copied, thread): (&Copied, &Thread)| {
            Arc::ptr_eq(&copied.name, &thread.name) && copied.spans.capacity() >= spans
        };
        self.threads.len() == threads.len() && self.threads.iter().zip(threads).all(is_same)
    }

    /// Its triggers: the one that started it, and up to 63 that fell into it.
    pub fn triggers(&self) -> &[Trigger] {
        &self.triggers
    }

    /// Spans of all threads.
    pub fn spans(&self) -> usize {
        self.threads.iter().map(|copied| copied.spans.len()).sum()
    }

    /// The spans with names and UTC, for [`export::write`]. Takes about 48 bytes a span.
    pub fn recording(&self) -> export::Recording {
        let slice = |kept: &KeptSpan| export::Slice {
            site: kept.site.index(),
            number: kept.number,
            value: kept.value,
            begin_ns: self.utc_ns(kept.from),
            end_ns: self.utc_ns(kept.to),
            lost_before: kept.lost_before.into(),
        };
        let thread = |copied: &Copied| export::Thread {
            process: copied.name.process.clone(),
            process_id: copied.name.process_id,
            name: copied.name.name.clone(),
            thread_id: None,
            sites: copied.name.sites.clone(),
            spans: copied.spans.iter().map(slice).collect(),
            lost_after: copied.lost_after,
        };
        export::Recording {
            threads: self.threads.iter().map(thread).collect(),
            instants: self.triggers.iter().map(|trigger| self.instant(trigger)).collect(),
        }
    }

    fn instant(&self, trigger: &Trigger) -> export::Instant {
        let (number, took) = (trigger.number, trigger.took_ns);
        let (name, text) = match trigger.cause {
            Cause::Condition(at) => {
                let condition = &self.conditions[at];
                (format!("trigger: {condition}"), format!("message {number}: {took} ns"))
            }
            Cause::Request(source) => ("trigger: request".to_owned(), source.to_owned()),
            Cause::Lost(count) => ("trigger: lost spans".to_owned(), format!("{count} spans")),
        };
        let at_ns = match trigger.at {
            When::Stamp(stamp) => self.utc_ns(stamp),
            When::UtcNs(utc_ns) => utc_ns,
        };
        export::Instant { at_ns, name, text, thread: trigger.thread }
    }

    fn utc_ns(&self, stamp: Stamp) -> u64 {
        let (anchor, utc_ns) = self.anchor;
        let nanos = |ticks: u64| (ticks as f64 * self.nanos_per_tick).round() as u64;
        match stamp.ticks().checked_sub(anchor.ticks()) {
            Some(after) => utc_ns.saturating_add(nanos(after)),
            None => utc_ns.saturating_sub(nanos(anchor.ticks() - stamp.ticks())),
        }
    }
}
