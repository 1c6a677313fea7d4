//! Decides which trigger starts a copy, and counts the others.

use super::{
    bucket::Tokens,
    trigger::{Cause, Count, Trigger},
};

/// Triggers that a copy lists.
pub(super) const LISTED: usize = 64;

#[derive(Debug)]
pub(super) struct Desk {
    tokens: Tokens,
    /// Of each condition, of requests, and of losses.
    counts: Vec<Count>,
    conditions: usize,
    after_ns: u64,
    /// The end of the copy that was started.
    pending: Option<Pending>,
    /// The first triggers of that copy.
    listed: Vec<Trigger>,
    /// The time of the last poll.
    now_ns: u64,
    pub(super) has_memory: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub(super) deadline_ns: u64,
    /// Whether the recorder knows where the threads were.
    pub(super) is_marked: bool,
}

impl Desk {
    pub(super) fn new(conditions: usize, at_once: u32, per_minute: u32, after_ns: u64) -> Self {
        let causes = conditions + 2;
        Self {
            tokens: Tokens::new(causes, at_once, per_minute),
            counts: vec![Count::default(); causes],
            conditions,
            after_ns,
            pending: None,
            listed: Vec::with_capacity(LISTED),
            now_ns: 0,
            has_memory: true,
        }
    }

    pub(super) fn begin_poll(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
        self.tokens.refill(now_ns);
    }

    #[cold]
    pub(super) fn fire(&mut self, trigger: Trigger) {
        let cause = match trigger.cause {
            Cause::Condition(condition) => condition,
            Cause::Request(_) => self.conditions,
            Cause::Lost(_) => self.conditions + 1,
        };
        let count = &mut self.counts[cause];
        count.fired += 1;
        if self.pending.is_some() {
            count.shared += 1;
        } else if self.has_memory && self.tokens.take(cause) {
            count.copied += 1;
            let deadline_ns = self.now_ns.saturating_add(self.after_ns);
            self.pending = Some(Pending { deadline_ns, is_marked: false });
            self.listed.clear();
        } else {
            count.dropped += 1;
            return;
        }
        if self.listed.len() < LISTED {
            self.listed.push(trigger);
        }
    }

    pub(super) fn pending(&mut self) -> Option<&mut Pending> {
        self.pending.as_mut()
    }

    /// Ends the copy, and passes on its triggers.
    pub(super) fn end(&mut self, to: &mut Vec<Trigger>) {
        self.pending = None;
        to.clear();
        to.append(&mut self.listed);
    }

    pub(super) fn counts(&self) -> &[Count] {
        &self.counts
    }
}
