//! The row of a slow message.

use std::cmp::Ordering;

use super::history::Interrupted;
use crate::{cause::Cause, gaps::Gap, kernel_trace::KernelEvents};

/// The time of a slow message, in parts that add up.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// The number of the message.
    pub number: u64,
    /// From its arrival to the end of its last stage.
    pub gap: Gap,
    /// Its length in nanoseconds.
    pub total_ns: u64,
    /// Time in which the thread worked on earlier messages, or queried the kernel, without what of
    /// it was an interruption or is unexplained.
    pub waited_ns: u64,
    /// The usual time of its own stages.
    pub usual_ns: u64,
    /// Time in which the thread did not run, in its own stages and in those that it waited for.
    pub interruptions: Vec<Share>,
    /// Time without a known cause: of its own stages beyond the usual one, and of earlier messages
    /// that the kernel was queried about. Below 0 if its own stages were faster than usual.
    pub unexplained_ns: i64,
    /// Time in no span: messages that are not traced, and spans that were lost.
    pub not_traced_ns: u64,
    /// What is missing from the sum of all parts: rounding, and stages that overlap.
    pub residual_ns: i64,
    /// Its own stages.
    pub stages: Vec<Stage>,
    /// The stages of all messages while it waited; only of the slowest messages.
    pub spans: Vec<Traced>,
}

/// An interruption that has a part of a message's time.
#[derive(Clone, PartialEq, Debug)]
pub struct Share {
    /// The cause.
    pub cause: Cause,
    /// The part of the message's time, in nanoseconds; 0 if the cause is not known.
    pub nanos: u64,
    /// Its part beyond the usual time of the stage, in nanoseconds.
    pub excess_ns: u64,
    /// The message that was interrupted: this one, or one before it.
    pub number: u64,
    /// The stage that was interrupted; of a wait, its end.
    pub gap: Gap,
    /// The thread and the processor after it, if known.
    pub place: Option<(u32, u32)>,
}

/// A stage of a slow message, from its arrival on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stage {
    /// The site.
    pub site: String,
    /// Its length in nanoseconds.
    pub nanos: u64,
    /// Its usual length.
    pub usual_ns: u64,
}

/// A stage of any message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Traced {
    /// The site.
    pub site: String,
    /// The message.
    pub number: u64,
    /// When.
    pub gap: Gap,
}

/// The largest part of a row.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Main {
    /// Work on earlier messages: a burst.
    Waited,
    /// An interruption of the message.
    Interrupted(String),
    /// An interruption of an earlier message.
    WaitedForInterrupted(String),
    /// The usual work.
    Usual,
    /// No known cause.
    Unexplained,
    /// Time without spans.
    NotTraced,
}

impl Main {
    /// A few words, for tables.
    pub fn text(&self) -> String {
        match self {
            Self::Waited => "earlier messages (burst)".to_owned(),
            Self::Interrupted(cause) => cause.clone(),
            Self::WaitedForInterrupted(cause) => format!("behind: {cause}"),
            Self::Usual => "its own work".to_owned(),
            Self::Unexplained => "unexplained".to_owned(),
            Self::NotTraced => "not traced".to_owned(),
        }
    }
}

/// The parts in ticks.
#[derive(Default, Debug)]
pub(super) struct Parts {
    pub(super) waited: u64,
    pub(super) usual: u64,
    pub(super) interruptions: Vec<Interrupted>,
    pub(super) unexplained: i64,
    pub(super) not_traced: u64,
}

impl Row {
    pub(super) fn of(
        number: u64,
        gap: Gap,
        parts: Parts,
        stages: Vec<Stage>,
        nanos: impl Fn(u64) -> u64,
    ) -> Self {
        let share = |one: Interrupted| Share {
            cause: one.cause,
            nanos: nanos(one.lost),
            excess_ns: nanos(one.excess),
            number: one.number,
            gap: super::gap(one.began, one.to),
            place: one.place,
        };
        let signed = |ticks: i64| ticks.signum().saturating_mul(nanos(ticks.unsigned_abs()) as i64);
        let mut row = Self {
            number,
            gap,
            total_ns: nanos(gap.to.ticks() - gap.from.ticks()),
            waited_ns: nanos(parts.waited),
            usual_ns: nanos(parts.usual),
            interruptions: parts.interruptions.into_iter().map(share).collect(),
            unexplained_ns: signed(parts.unexplained),
            not_traced_ns: nanos(parts.not_traced),
            residual_ns: 0,
            stages,
            spans: Vec::new(),
        };
        row.residual_ns = (row.total_ns as i64).saturating_sub(row.sum_ns());
        row
    }

    /// The sum of the parts.
    pub fn sum_ns(&self) -> i64 {
        let parts = [self.waited_ns, self.usual_ns, self.not_traced_ns, self.interrupted_ns()];
        let sum = parts.iter().fold(0_u64, |sum, &part| sum.saturating_add(part));
        i64::try_from(sum).unwrap_or(i64::MAX).saturating_add(self.unexplained_ns)
    }

    /// The time of all interruptions.
    pub fn interrupted_ns(&self) -> u64 {
        self.interruptions.iter().fold(0, |sum, share| sum.saturating_add(share.nanos))
    }

    /// The longest interruption.
    pub fn longest(&self) -> Option<&Share> {
        self.interruptions.iter().max_by_key(|share| share.nanos).filter(|share| share.nanos > 0)
    }

    /// What most of the time went to.
    pub fn main(&self) -> Main {
        let interruption = self.longest().map(|share| {
            let cause = share.cause.to_string();
            let is_own = share.number == self.number;
            let main = if is_own { Main::Interrupted } else { Main::WaitedForInterrupted };
            (share.nanos, main(cause))
        });
        let unexplained = u64::try_from(self.unexplained_ns).unwrap_or(0);
        let parts = [
            (self.usual_ns, Main::Usual),
            (self.not_traced_ns, Main::NotTraced),
            (unexplained, Main::Unexplained),
            (self.waited_ns, Main::Waited),
        ];
        let parts = parts.into_iter().chain(interruption);
        parts.max_by_key(|(nanos, _)| *nanos).map_or(Main::Usual, |(_, main)| main)
    }

    /// Replaces the causes by those that the events of the kernel show. What had no cause before
    /// gets the time that the events cover, and no more than is beyond the usual time.
    pub fn refine(&mut self, events: &KernelEvents) {
        for share in &mut self.interruptions {
            let Some(place) = share.place else { continue };
            let was_unexplained = share.cause == Cause::Unexplained;
            let judged = events.judge(&share.gap, share.excess_ns, place, &share.cause);
            share.cause = judged.cause;
            let has_cause = !matches!(share.cause, Cause::Unexplained | Cause::EventsLost { .. });
            if let Some(covered_ns) = judged.covered_ns.filter(|_| was_unexplained && has_cause) {
                share.nanos = share.excess_ns.min(covered_ns);
                self.unexplained_ns -= share.nanos as i64;
            }
        }
    }
}

/// A row in the heap of the slowest: the least slow is on top.
#[derive(Clone, Debug)]
pub(super) struct Worst(pub(super) Row);

impl Ord for Worst {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.total_ns.cmp(&self.0.total_ns)
    }
}

impl PartialOrd for Worst {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Worst {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Worst {}
