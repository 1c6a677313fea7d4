//! A thread whose spans are recorded.

use std::{path::Path, sync::Arc};

use nanotape_clock::Stamp;
use nanotape_ring::{ReadError, Start};

use super::{
    Condition, FlightError,
    desk::Desk,
    joined::{Joined, Message},
    kept::{Kept, KeptSpan},
    trigger::{Cause, Trigger, When},
};
use crate::spans::{MAX_SITES, Polled, Span, SpanReader};

/// Messages of a thread that are joined: an eighth of them can be in its stages at the same time.
pub(super) const IN_THREAD: usize = 256;

/// Spans of the same number are those of two messages if they are a minute apart.
const HORIZON_NS: f64 = 60e9;

/// What does not change of a thread.
#[derive(Debug)]
pub(super) struct Name {
    pub(super) process: String,
    pub(super) process_id: u32,
    pub(super) name: String,
    pub(super) sites: Vec<String>,
}

/// What a recorder read of a thread.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct ThreadStat {
    /// The name of the thread: that of its file.
    pub name: String,
    /// Spans that were read.
    pub read: u64,
    /// Spans that were overwritten before they were read.
    pub lost: u64,
    /// Messages of the ring that are not spans.
    pub damaged: u64,
    /// Why the recorder stopped reading the thread.
    pub failed: Option<ReadError>,
}

/// The limits of all conditions, in ticks.
#[derive(Debug)]
pub(super) struct Limits {
    /// Of conditions of messages and of threads: the limit and the place of the condition.
    pub(super) message: Vec<(u64, usize)>,
    pub(super) thread: Vec<(u64, usize)>,
    /// The lowest of each; `u64::MAX` without one.
    pub(super) lowest_message: u64,
    pub(super) lowest_thread: u64,
    pub(super) nanos_per_tick: f64,
}

impl Limits {
    pub(super) fn of(conditions: &[Condition], nanos_per_tick: f64) -> Self {
        let of = |is_kind: fn(&Condition) -> bool| -> Vec<(u64, usize)> {
            let all = conditions.iter().zip(0..).filter(|(condition, _)| is_kind(condition));
            all.map(|(condition, at)| (ticks(condition, nanos_per_tick), at)).collect()
        };
        let lowest = |limits: &[(u64, usize)]| {
            limits.iter().map(|&(limit, _)| limit).min().unwrap_or(u64::MAX)
        };
        let message = of(|condition| matches!(condition, Condition::Message { .. }));
        let thread = of(|condition| matches!(condition, Condition::Thread { .. }));
        let (lowest_message, lowest_thread) = (lowest(&message), lowest(&thread));
        Self { message, thread, lowest_message, lowest_thread, nanos_per_tick }
    }

    pub(super) fn nanos(&self, ticks: u64) -> u64 {
        (ticks as f64 * self.nanos_per_tick).round() as u64
    }
}

/// The budget of a condition in ticks.
fn ticks(condition: &Condition, nanos_per_tick: f64) -> u64 {
    (condition.above_ns() as f64 / nanos_per_tick) as u64
}

/// What all threads share while they are read.
pub(super) struct Shared<'a> {
    pub(super) limits: &'a Limits,
    pub(super) joined: &'a mut Joined,
    pub(super) desk: &'a mut Desk,
}

#[derive(Debug)]
pub(super) struct Thread {
    pub(super) reader: SpanReader,
    pub(super) name: Arc<Name>,
    pub(super) kept: Kept,
    joined: Joined,
    /// The lowest limit of each site in ticks; `u64::MAX` without a condition.
    lowest_site: Box<[u64; MAX_SITES]>,
    /// All limits of sites: the site, the limit and the place of the condition.
    site_limits: Vec<(usize, u64, usize)>,
    /// Spans that were lost since the last one.
    pub(super) lost: u64,
    pub(super) stat: ThreadStat,
    /// What had been read when the copy began.
    pub(super) mark: u64,
}

impl Thread {
    pub(super) fn open(path: &Path, process: &str, start: Start) -> Result<Self, FlightError> {
        let reader = SpanReader::open(path, start)?;
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let site = |(site, at): (crate::spans::SiteStat, usize)| {
            site.name.map_or_else(|| format!("site {at}"), |name| name.to_string())
        };
        let name = Name {
            process: process.to_owned(),
            process_id: reader.owner().pid,
            name: file.clone(),
            sites: reader.sites().into_iter().zip(0..).map(site).collect(),
        };
        Ok(Self {
            reader,
            name: Arc::new(name),
            kept: Kept::new(2),
            joined: Joined::new(2, 0),
            lowest_site: Box::new([u64::MAX; MAX_SITES]),
            site_limits: Vec::new(),
            lost: 0,
            stat: ThreadStat { name: file, ..ThreadStat::default() },
            mark: 0,
        })
    }

    /// ns of a tick of the thread's clock; 0 if its region is damaged.
    pub(super) fn nanos_per_tick(&self) -> f64 {
        let ticks = 1_u64 << 40;
        let [zero, later] = [0, ticks].map(Stamp::from_ticks);
        self.reader.nanos_between(zero, later) / ticks as f64
    }

    /// Takes the memory, and the conditions.
    pub(super) fn begin(&mut self, spans: usize, conditions: &[Condition], nanos_per_tick: f64) {
        self.kept = Kept::new(spans);
        self.joined = Joined::new(IN_THREAD, horizon(nanos_per_tick));
        for (condition, at) in conditions.iter().zip(0..) {
            let Condition::Site { site, .. } = condition else { continue };
            let limit = ticks(condition, nanos_per_tick);
            let places = self.name.sites.iter().zip(0..MAX_SITES);
            for (_, place) in places.filter(|(name, _)| *name == site) {
                self.lowest_site[place] = self.lowest_site[place].min(limit);
                self.site_limits.push((place, limit, at));
            }
        }
    }

    /// Reads up to `most` spans. True if there was nothing more to read.
    pub(super) fn read(&mut self, thread: usize, most: u64, shared: &mut Shared<'_>) -> bool {
        if self.stat.failed.is_some() {
            return true;
        }
        for _ in 0..most {
            match self.reader.try_next() {
                Ok(Polled::Span(span)) => self.take(thread, span, shared),
                Ok(Polled::Empty) => return true,
                Ok(Polled::Lost(gap)) => {
                    self.lost += gap.count();
                    self.stat.lost += gap.count();
                }
                Ok(Polled::Damaged { .. }) => self.stat.damaged += 1,
                Err(error) => {
                    self.stat.failed = Some(error);
                    return true;
                }
            }
        }
        false
    }

    #[inline(always)]
    fn take(&mut self, thread: usize, span: Span, shared: &mut Shared<'_>) {
        if self.lost > 0 {
            self.take_after_loss(thread, span, shared);
        } else {
            self.kept.push(KeptSpan::of(span, 0));
        }
        self.stat.read += 1;
        let took = span.to.ticks() - span.from.ticks();
        if took > self.lowest_site[span.site.index()] {
            self.check_site(thread, span, took, shared);
        }
        let limits = shared.limits;
        if limits.lowest_thread != u64::MAX {
            let (message, took) = self.joined.add(span);
            if took > limits.lowest_thread {
                check(message, (thread, span, took), &limits.thread, limits, shared.desk);
            }
        }
        if limits.lowest_message != u64::MAX {
            let (message, took) = shared.joined.add(span);
            if took > limits.lowest_message {
                check(message, (thread, span, took), &limits.message, limits, shared.desk);
            }
        }
    }

    /// The first span after a loss: the loss is a trigger, unless it is from before the first span.
    #[cold]
    fn take_after_loss(&mut self, thread: usize, span: Span, shared: &mut Shared<'_>) {
        let lost = std::mem::take(&mut self.lost);
        self.kept.push(KeptSpan::of(span, lost));
        if self.stat.read > 0 {
            let at = When::Stamp(span.from);
            let cause = Cause::Lost(lost);
            shared.desk.fire(Trigger { cause, thread: Some(thread), number: 0, took_ns: 0, at });
        }
    }

    #[cold]
    fn check_site(&self, thread: usize, span: Span, took: u64, shared: &mut Shared<'_>) {
        let exceeded =
            |&&(site, limit, _): &&(usize, u64, usize)| site == span.site.index() && took > limit;
        for &(_, _, condition) in self.site_limits.iter().filter(exceeded) {
            shared.desk.fire(trigger(condition, thread, span, shared.limits.nanos(took)));
        }
    }

    pub(super) fn crowded(&self) -> u64 {
        self.joined.crowded()
    }
}

/// Fires the conditions that a message exceeds for the first time.
#[cold]
fn check(
    message: &mut Message,
    (thread, span, took): (usize, Span, u64),
    of: &[(u64, usize)],
    limits: &Limits,
    desk: &mut Desk,
) {
    for &(limit, condition) in of {
        let bit = 1 << condition;
        if took > limit && message.triggered & bit == 0 {
            message.triggered |= bit;
            desk.fire(trigger(condition, thread, span, limits.nanos(took)));
        }
    }
}

fn trigger(condition: usize, thread: usize, span: Span, took_ns: u64) -> Trigger {
    let (cause, at) = (Cause::Condition(condition), When::Stamp(span.to));
    Trigger { cause, thread: Some(thread), number: span.number, took_ns, at }
}

/// A minute in ticks.
pub(super) fn horizon(nanos_per_tick: f64) -> u64 {
    (HORIZON_NS / nanos_per_tick) as u64
}
