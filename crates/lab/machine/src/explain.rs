//! Explains each slow message of a thread: one row whose parts add up to the time that it took.
//!
//! ```text
//!        arrival                                                                        end
//!  A message:  | waits behind earlier ones          | its own stages                     |
//!              | their work | interruption of one | | usual | interruption | unexplained |
//! ```
//!
//! Where: a command feeds it the [spans](nanotape_trace::spans) of a plant's thread, live or from a
//! recording, in the order in which the stages ended.
//! A message arrives when it is due (a paced one), when its packet was received (the site ends with
//! `.receive`), and otherwise when its first stage begins. Its usual time in a stage is the median
//! of all messages. What a message takes beyond that is an interruption if the kernel's counts,
//! which the plant reads after a slow message, or the kernel's events explain it.
//! Bounds: segments of the last [`Options::segments`] stages are kept; a message that waited longer
//! has the rest in `not_traced`.
//! Failure: any spans are taken. Those that overlap or are out of order give rows with a residual.

mod counts;
mod history;
mod medians;
mod record;
mod row;
mod totals;

use nanotape_clock::Stamp;
use nanotape_trace::{
    accounts::{COUNTS, QUERY},
    spans::Span,
};

pub use record::Context;
pub use row::{Main, Row, Share, Stage, Traced};
pub use totals::{Found, Total, largest_first};

use counts::Counts;
use history::{History, Interrupted, Segment};
use medians::Medians;
use row::Parts;

use crate::gaps::Gap;

/// What is a slow message, and what to keep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Messages that take longer have a row, in nanoseconds.
    pub above_ns: u64,
    /// Stages of earlier messages that are remembered.
    pub segments: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { above_ns: 20_000, segments: 1 << 18 }
    }
}

/// Why spans cannot be explained.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExplainError {
    /// The thread has no stages, or its clock is damaged.
    #[error("the thread has no sites of stages")]
    NoStages,
    /// A rate that is no number, or 0.
    #[error("the clock of the thread is damaged")]
    Clock,
}

/// Stages of a message, of which a thread has fewer sites; more are those of another message.
const MOST_STAGES: usize = 64;

/// Ticks of the latest stamp that is believed: centuries after any start. Sums of fewer stages than
/// [`MOST_STAGES`] fit into 63 bits.
const LATEST: u64 = 1 << 56;

/// The kernel's events of an interruption begin before the thread is off the processor.
const BEFORE_NS: u64 = 20_000;

/// What a site is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    /// Work on the message.
    Stage,
    /// A paced message waits; the value is the time since it was due.
    Wait,
    /// Before the thread works on the message. It may work on others.
    Before,
    /// The thread queries the kernel; the value is the thread and the processor.
    Query,
    /// A count of the kernel.
    Count(usize),
}

impl Role {
    fn of(site: &str) -> Self {
        if let Some(count) = COUNTS.iter().position(|&name| name == site) {
            return Self::Count(count);
        }
        match site {
            QUERY => Self::Query,
            _ if site.ends_with(".wait") => Self::Wait,
            _ if [".receive", ".arbitrate", ".queue"].iter().any(|end| site.ends_with(end)) => {
                Self::Before
            }
            _ => Self::Stage,
        }
    }
}

/// A message whose spans are arriving.
#[derive(Default, Debug)]
struct Pending {
    number: u64,
    arrival: Option<u64>,
    stages: Vec<OwnStage>,
    /// The thread waited until it was due.
    idle: Option<(u64, u64)>,
    /// The time before its stages in which the thread did not work on others.
    before: Option<OwnStage>,
    counts: Option<Counts>,
    query: Option<(u64, u64)>,
}

/// A stage of a message, in ticks.
#[derive(Clone, Copy, Debug)]
struct OwnStage {
    site: usize,
    from: u64,
    to: u64,
    /// Of a wait: from the moment at which the message was due.
    is_overrun: bool,
}

/// Explains the messages of a thread.
#[derive(Debug)]
pub struct Explainer {
    nanos_per_tick: f64,
    above_ticks: u64,
    names: Vec<String>,
    roles: Vec<Role>,
    medians: Medians,
    history: History,
    pending: Pending,
    seen: Seen,
}

/// What the thread has shown so far.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Seen {
    /// Messages whose spans were complete.
    pub messages: u64,
    /// Those after which the kernel was queried.
    pub queried: u64,
    /// Spans that were lost.
    pub lost_spans: u64,
    /// Spans with times that no clock has.
    pub damaged: u64,
}

impl Explainer {
    /// For a thread with these sites, whose clock ticks `ticks_per_second` times.
    pub fn new(
        sites: &[String],
        ticks_per_second: f64,
        options: Options,
    ) -> Result<Self, ExplainError> {
        let roles: Vec<Role> = sites.iter().map(|site| Role::of(site)).collect();
        if !roles.contains(&Role::Stage) {
            return Err(ExplainError::NoStages);
        }
        let nanos_per_tick = 1e9 / ticks_per_second;
        if !nanos_per_tick.is_finite() || nanos_per_tick <= 0.0 {
            return Err(ExplainError::Clock);
        }
        Ok(Self {
            nanos_per_tick,
            above_ticks: (options.above_ns as f64 / nanos_per_tick) as u64,
            names: sites.to_vec(),
            medians: Medians::new(sites.len()),
            roles,
            history: History::new(options.segments),
            pending: Pending::default(),
            seen: Seen::default(),
        })
    }

    /// Learns the usual times from a span, without explaining anything. A recording is read twice:
    /// first for the usual times.
    pub fn learn(&mut self, span: &Span) {
        let (from, to) = (span.from.ticks(), span.to.ticks());
        match self.role(span) {
            Some(Role::Stage) => self.medians.learn(span.site.index(), to.saturating_sub(from)),
            Some(Role::Wait) => {
                let late = self.ticks(span.value).min(to.saturating_sub(from));
                self.medians.learn(span.site.index(), late);
            }
            _ => {}
        }
    }

    /// Takes the next span. Returns the row of the message before, if that is complete and slow.
    pub fn add(&mut self, span: &Span) -> Option<Row> {
        let role = self.role(span)?;
        if span.to.ticks() > LATEST || span.from > span.to {
            self.seen.damaged += 1;
            return None;
        }
        let is_full = self.pending.stages.len() >= MOST_STAGES;
        let is_next = is_full || span.number != self.pending.number;
        let is_next = is_next && !self.pending.stages.is_empty();
        let row = if is_next { self.complete() } else { None };
        self.pending.number = span.number;
        let (site, from, to) = (span.site.index(), span.from.ticks(), span.to.ticks());
        let stage = OwnStage { site, from, to, is_overrun: false };
        match role {
            Role::Stage => self.pending.stages.push(stage),
            Role::Wait => {
                let due = to.saturating_sub(self.ticks(span.value));
                self.pending.arrival = Some(due);
                // Idle until it is due, and from there on too late.
                self.pending.idle = (due > from).then_some((from, due));
                let from = due.max(from);
                self.pending.stages.push(OwnStage { from, is_overrun: true, ..stage });
            }
            Role::Before => {
                let arrival = self.pending.arrival.map_or(from, |arrival| arrival.min(from));
                self.pending.arrival = Some(arrival);
                self.pending.before.get_or_insert(OwnStage { to: from, ..stage });
            }
            Role::Query => self.pending.query = Some((from, to)),
            Role::Count(_) => {}
        }
        if let Role::Count(_) | Role::Query = role {
            let counts = self.pending.counts.get_or_insert_default();
            match role {
                Role::Count(count) => counts.set(count, span.value),
                _ => counts.set_place(span.value),
            }
        }
        row
    }

    /// Ends the message whose spans were arriving; returns its row if it is slow.
    pub fn finish(&mut self) -> Option<Row> {
        if self.pending.stages.is_empty() { None } else { self.complete() }
    }

    /// Spans were lost: the message before them is incomplete.
    pub fn lost(&mut self, count: u64) {
        self.seen.lost_spans += count;
        self.pending = Pending::default();
    }

    /// A slot of the ring is not a span.
    pub fn damaged(&mut self) {
        self.seen.damaged += 1;
    }

    /// What the thread has shown so far.
    pub fn seen(&self) -> Seen {
        self.seen
    }

    /// Adds to the row that was returned last the stages of all messages in its time.
    pub fn trace(&self, row: &mut Row) {
        let spans = self.history.segments_between(row.gap.from.ticks(), row.gap.to.ticks());
        let traced = |segment: &Segment| Traced {
            site: self.names.get(segment.site).cloned().unwrap_or_default(),
            number: segment.number,
            gap: gap(segment.from, segment.to),
        };
        row.spans = spans.map(traced).collect();
    }

    /// The usual time of each site that has one, in nanoseconds.
    pub fn medians(&self) -> impl Iterator<Item = (&str, u64)> {
        let names = self.names.iter().zip(0..);
        names.filter_map(|(name, site)| {
            let median = self.medians.of(site)?;
            Some((name.as_str(), self.nanos(median)))
        })
    }

    fn role(&self, span: &Span) -> Option<Role> {
        self.roles.get(span.site.index()).copied()
    }

    fn ticks(&self, nanos: u64) -> u64 {
        (nanos as f64 / self.nanos_per_tick).round() as u64
    }

    fn nanos(&self, ticks: u64) -> u64 {
        (ticks as f64 * self.nanos_per_tick).round() as u64
    }

    /// Adds a complete message to what later ones wait behind.
    fn complete(&mut self) -> Option<Row> {
        let mut message = std::mem::take(&mut self.pending);
        if let (Some(before), Some(first)) = (&mut message.before, message.stages.first()) {
            // Only its length is known: put where it ends at the latest.
            let arrival = message.arrival.unwrap_or(first.from).min(first.from);
            let alone = self.history.between(arrival, first.from).holes;
            (before.from, before.to) = (first.from.saturating_sub(alone), first.from);
            self.medians.learn(before.site, alone);
        }
        self.seen.messages += 1;
        self.seen.queried += u64::from(message.counts.is_some());
        for stage in &message.stages {
            self.medians.learn(stage.site, stage.to.saturating_sub(stage.from));
        }
        let interrupted = self.interruption(&message);
        let row = self.row(&message, interrupted.as_ref());
        for stage in &message.stages {
            let number = message.number;
            if let Some((from, to)) = message.idle.filter(|_| stage.is_overrun) {
                self.history.push_idle(from, to);
            }
            self.history.push(Segment { from: stage.from, to: stage.to, site: stage.site, number });
        }
        if let Some(interrupted) = interrupted {
            self.history.interrupted(interrupted);
        }
        if let Some((from, to)) = message.query {
            let site = self.roles.iter().position(|&role| role == Role::Query).unwrap_or(0);
            self.history.push(Segment { from, to, site, number: message.number });
        }
        row
    }

    /// What interrupted a message, if anything: in the stage that is longest beyond its median.
    fn interruption(&self, message: &Pending) -> Option<Interrupted> {
        let counts = message.counts.as_ref()?;
        let excess = |stage: &OwnStage| {
            (stage.to - stage.from).saturating_sub(self.medians.of(stage.site).unwrap_or(0))
        };
        let stages = message.before.iter().chain(&message.stages);
        let slow = stages.max_by_key(|stage| excess(stage))?;
        let excess = excess(slow);
        let length_ns = self.nanos(slow.to - slow.from);
        let (cause, lost_ns) = counts.cause(length_ns, self.nanos(excess), slow.is_overrun);
        let lost = self.ticks(lost_ns).min(excess);
        // The interruption of a wait may have begun before the message was due.
        let idle = message.idle.filter(|_| slow.is_overrun);
        let began = idle.map_or(slow.from, |(from, _)| {
            let off = self.ticks(counts.off_ns().saturating_add(BEFORE_NS));
            slow.to.saturating_sub(off).clamp(from, slow.from)
        });
        (excess > 0).then(|| Interrupted {
            from: slow.from,
            to: slow.to,
            began,
            lost,
            excess,
            number: message.number,
            cause,
            place: counts.place(),
        })
    }

    /// The row of a message; `None` if it was not slow.
    fn row(&self, message: &Pending, interrupted: Option<&Interrupted>) -> Option<Row> {
        let first = message.stages.first()?.from;
        let end = message.stages.last()?.to;
        let arrival = message.arrival.unwrap_or(first).min(end);
        if end - arrival <= self.above_ticks {
            return None;
        }
        let mut parts = Parts::default();
        if arrival < first {
            self.waited(arrival, first, &mut parts);
            if message.before.is_some() {
                parts.not_traced = 0;
            }
        }
        let own = self.own(message, arrival, interrupted, &mut parts);
        let nanos = |ticks| self.nanos(ticks);
        Some(Row::of(message.number, gap(arrival, end), parts, own, nanos))
    }

    /// The parts of a message before its first stage.
    fn waited(&self, arrival: u64, first: u64, parts: &mut Parts) {
        let seen = self.history.between(arrival, first);
        parts.not_traced += seen.holes;
        parts.waited += seen.busy;
        for (one, seen) in self.history.interrupted_between(arrival, first) {
            // Where in its stage the interruption was is not known: it is spread evenly.
            let one = one.part(seen);
            parts.waited = parts.waited.saturating_sub(one.excess);
            parts.unexplained += (one.excess - one.lost) as i64;
            parts.interruptions.push(one);
        }
    }

    /// The parts of a message in its own stages, from its arrival on.
    fn own(
        &self,
        message: &Pending,
        arrival: u64,
        interrupted: Option<&Interrupted>,
        parts: &mut Parts,
    ) -> Vec<Stage> {
        let mut stages = Vec::with_capacity(message.stages.len());
        let mut before = message.stages.first().map_or(arrival, |stage| stage.from).max(arrival);
        for stage in message.before.iter().chain(&message.stages) {
            let length = stage.to.saturating_sub(stage.from);
            let seen = stage.to.saturating_sub(stage.from.max(arrival));
            parts.not_traced += stage.from.saturating_sub(before);
            before = stage.to.max(before);
            if seen == 0 || length == 0 {
                continue;
            }
            let median = self.medians.of(stage.site).unwrap_or(0);
            let usual = history::share(median, seen, length);
            let lost = interrupted.filter(|one| one.from == stage.from && one.to == stage.to);
            let lost = lost.map(|one| one.part(seen));
            parts.usual += usual;
            parts.unexplained += seen as i64 - usual as i64;
            if let Some(one) = lost {
                parts.unexplained -= one.lost as i64;
                parts.interruptions.push(one);
            }
            let site = self.names.get(stage.site).cloned().unwrap_or_default();
            stages.push(Stage { site, nanos: self.nanos(seen), usual_ns: self.nanos(usual) });
        }
        stages
    }
}

fn gap(from: u64, to: u64) -> Gap {
    Gap { from: Stamp::from_ticks(from), to: Stamp::from_ticks(to) }
}

#[cfg(test)]
mod tests;
