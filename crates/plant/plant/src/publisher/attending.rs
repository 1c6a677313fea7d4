//! The messages that a publisher attends to: they are paced, might be after the configured end, or
//! pass [seams](super::seams). All others are applied without a check.

use std::ops::ControlFlow;

use nanotape_market::{EventTime, Position};
use nanotape_ring::Publish;

use super::{Publisher, seams::Seam};
use crate::records::StopReason;

/// Messages that a periodic check may be late.
const CHECK_WAITS: u32 = 2;

impl<W: Publish> Publisher<W> {
    /// Ends the last stage of a message that was traced, and decides whether to attend to the next.
    #[cold]
    #[inline(never)]
    pub(super) fn prepare(&mut self) {
        if self.seams.is_traced() {
            self.pass(Seam::Shown, self.writer.position_bytes());
            self.seams.query(self.timeline.clock());
        }
        let until_traced = self.seams.next(self.timeline.clock(), self.counts.messages + 1);
        self.is_attentive = self.is_always_attentive() || self.seams.is_on();
        // A stop just before a message that is traced, and one just after it. A check that is due a
        // little earlier waits for the stop before the message: each stop has its price.
        let until_check = self.countdown;
        let is_near = (until_check..=until_check + CHECK_WAITS).contains(&until_traced);
        self.countdown = if is_near { until_traced } else { until_traced.clamp(1, until_check) };
        self.until_check = until_check.saturating_sub(self.countdown);
    }

    /// Whether every message needs a check: it is paced, or might be after the configured end.
    pub(super) fn is_always_attentive(&self) -> bool {
        self.pacer.is_some() || self.until.is_some()
    }

    /// Before a message of this time is applied: checks for the end, and waits until it is due. Not
    /// the event: the loop over messages would read it back from memory after this call, and no
    /// more know what it is.
    #[cold]
    #[inline(never)]
    pub(super) fn attend(&mut self, at: Position, time: EventTime) -> ControlFlow<()> {
        if self.until.is_some_and(|until| time >= until) {
            self.reason = Some(StopReason::Until);
            return ControlFlow::Break(());
        }
        self.seams.enter(at.number, self.timeline.clock());
        self.pass(Seam::Decoded, at.offset);
        if self.pacer.is_some() { self.wait(time) } else { ControlFlow::Continue(()) }
    }

    /// A message that was attended to passes from one stage to the next.
    #[cold]
    #[inline(never)]
    pub(super) fn pass(&mut self, seam: Seam, value: u64) {
        if self.seams.is_on() {
            self.seams.pass(seam, value, self.timeline.clock(), &self.board);
        }
    }

    /// The records of a message that was attended to are made.
    #[cold]
    #[inline(never)]
    pub(super) fn recorded(&mut self, orders: usize) {
        self.pass(Seam::Recorded, self.writer.next_sequence());
        if self.seams.end_sample() {
            self.board.show_orders(orders as u64);
            self.is_attentive = self.is_always_attentive() || self.seams.is_on();
        }
    }
}
