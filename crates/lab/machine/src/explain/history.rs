//! What a thread did before a message: the stages of earlier messages, without gaps between them
//! when every message is traced.
//!
//! Sums from the first segment on make a question about any interval take two searches, however
//! many messages it waited behind.

use std::collections::VecDeque;

use crate::cause::Cause;

/// A stage of a message, in ticks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) site: usize,
    pub(super) number: u64,
}

/// An interruption of a stage.
#[derive(Clone, Debug)]
pub(super) struct Interrupted {
    /// The stage.
    pub(super) from: u64,
    pub(super) to: u64,
    /// The earliest moment at which the interruption can have begun.
    pub(super) began: u64,
    /// The part of it that was lost; 0 if the cause is not known.
    pub(super) lost: u64,
    /// The part of it beyond its usual time.
    pub(super) excess: u64,
    pub(super) number: u64,
    pub(super) cause: Cause,
    /// Thread and processor.
    pub(super) place: Option<(u32, u32)>,
}

impl Interrupted {
    /// What of it is in a part of its stage.
    pub(super) fn part(&self, seen: u64) -> Self {
        let length = self.to.saturating_sub(self.from);
        let [lost, excess] = [self.lost, self.excess].map(|ticks| share(ticks, seen, length));
        Self { lost, excess, ..self.clone() }
    }
}

/// What an interval has of the segments.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Seen {
    /// Time in stages.
    pub(super) busy: u64,
    /// Time between stages, and before the first one that is kept.
    pub(super) holes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Kept {
    segment: Segment,
    /// An idle one is no work.
    is_idle: bool,
    /// Sums of all segments before it, and of the hole just before it.
    busy: u64,
    holes: u64,
}

#[derive(Debug)]
pub(super) struct History {
    kept: VecDeque<Kept>,
    interrupted: VecDeque<Interrupted>,
    most: usize,
}

impl History {
    pub(super) fn new(most: usize) -> Self {
        Self { kept: VecDeque::new(), interrupted: VecDeque::new(), most: most.max(1) }
    }

    pub(super) fn push(&mut self, segment: Segment) {
        self.push_kept(segment, false);
    }

    /// The thread waited for a message that was not due.
    pub(super) fn push_idle(&mut self, from: u64, to: u64) {
        self.push_kept(Segment { from, to, site: usize::MAX, number: 0 }, true);
    }

    fn push_kept(&mut self, segment: Segment, is_idle: bool) {
        let (busy, holes) = self.kept.back().map_or((0, 0), |last| {
            let hole = segment.from.saturating_sub(last.segment.to);
            (last.busy.saturating_add(last.work()), last.holes.saturating_add(hole))
        });
        self.kept.push_back(Kept { segment, is_idle, busy, holes });
        if self.kept.len() > self.most {
            self.kept.pop_front();
        }
        let oldest = self.kept.front().map_or(0, |first| first.segment.from);
        while self.interrupted.front().is_some_and(|one| one.to <= oldest) {
            self.interrupted.pop_front();
        }
    }

    pub(super) fn interrupted(&mut self, interrupted: Interrupted) {
        self.interrupted.push_back(interrupted);
    }

    /// What is between two moments.
    pub(super) fn between(&self, from: u64, to: u64) -> Seen {
        let (until, since) = (self.until(to), self.until(from));
        let before_first = match self.kept.front() {
            Some(first) => first.segment.from.min(to).saturating_sub(from),
            None => to - from,
        };
        Seen {
            busy: until.busy.saturating_sub(since.busy),
            holes: until.holes.saturating_sub(since.holes).saturating_add(before_first),
        }
    }

    /// The sums up to a moment.
    fn until(&self, moment: u64) -> Seen {
        let begun = self.kept.partition_point(|kept| kept.segment.from <= moment);
        let Some(last) = begun.checked_sub(1).and_then(|at| self.kept.get(at)) else {
            return Seen::default();
        };
        let is_over = moment >= last.segment.to;
        let part = if is_over { last.work() } else { last.part(moment) };
        // In a hole, also the part of it that is over.
        let hole = if is_over { moment - last.segment.to } else { 0 };
        Seen { busy: last.busy.saturating_add(part), holes: last.holes.saturating_add(hole) }
    }

    /// The interruptions whose stages have a part of an interval, and the ticks of that part.
    pub(super) fn interrupted_between(
        &self,
        from: u64,
        to: u64,
    ) -> impl Iterator<Item = (&Interrupted, u64)> {
        let first = self.interrupted.partition_point(|one| one.to <= from);
        self.interrupted
            .range(first..)
            .take_while(move |one| one.from < to)
            .map(move |one| (one, one.to.min(to).saturating_sub(one.from.max(from))))
    }

    /// The segments in an interval, the oldest first.
    pub(super) fn segments_between(&self, from: u64, to: u64) -> impl Iterator<Item = &Segment> {
        let first = self.kept.partition_point(|kept| kept.segment.to <= from);
        let within = self.kept.range(first..).filter(|kept| !kept.is_idle);
        within.map(|kept| &kept.segment).take_while(move |segment| segment.from < to)
    }
}

impl Kept {
    fn work(&self) -> u64 {
        self.part(self.segment.to)
    }

    fn part(&self, moment: u64) -> u64 {
        if self.is_idle { 0 } else { moment.saturating_sub(self.segment.from) }
    }
}

/// The part of `amount` that belongs to `seen` of `length`.
pub(super) fn share(amount: u64, seen: u64, length: u64) -> u64 {
    if seen >= length {
        return amount;
    }
    // Not larger than `amount`, since `seen` is below `length`.
    (u128::from(amount) * u128::from(seen) / u128::from(length)) as u64
}
