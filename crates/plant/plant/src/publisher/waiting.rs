//! The waits of a plant: for followers to join, until a message is due, and until those that read
//! the ring have caught up.
//!
//! A waiting plant shows on the board what it waits for, and on the board and the ring that it is
//! alive. It ends on request.

use std::{ops::ControlFlow, time::Duration};

use nanotape_board::Waiting;
use nanotape_clock::Stamp;
use nanotape_market::EventTime;
use nanotape_ring::Publish;
use nanotape_tape::{Pacer, WaitStrategy, Waiter};

use super::{ANCHOR_OFTEN_NS, Publisher, seams::Seam};
use crate::gate::Gate;

/// Time between two checks of a recorder or follower that is too far behind.
const READER_POLL: Duration = Duration::from_micros(50);

/// The kernel's counts are marked if there is more time than this: a mark takes a microsecond.
const MARK: Duration = Duration::from_micros(10);

/// A wait for a message that is shown on the board.
const SHOWN: Duration = Duration::from_secs(1);

impl<W: Publish> Publisher<W> {
    /// Waits until a message is due.
    pub(super) fn wait(&mut self, time: EventTime) -> ControlFlow<()> {
        let Some(mut pacer) = self.pacer else { return ControlFlow::Continue(()) };
        pacer.begin_at(time.get(), self.clock());
        self.pacer = Some(pacer);
        let (mut flow, mut is_shown) = (ControlFlow::Continue(()), false);
        let (mut was_early, mut is_marked) = (false, false);
        while let Some(early) = pacer.early(time.get(), self.clock()) {
            was_early = true;
            if self.is_to_end() {
                flow = ControlFlow::Break(());
                break;
            }
            if !is_shown && early >= SHOWN {
                self.show_wait(time, early);
                is_shown = true;
            }
            if early > Pacer::SPIN {
                let sleep = (early - Pacer::SPIN).min(Duration::from_millis(50));
                self.seams.mark(self.timeline.clock());
                std::thread::sleep(sleep);
                self.seams.slept(sleep);
                self.show_idle();
                is_marked = false;
            } else if early > MARK && !is_marked {
                self.seams.mark(self.timeline.clock());
                is_marked = true;
            } else {
                core::hint::spin_loop();
            }
        }
        if is_shown {
            self.board.show_waiting(None);
        }
        if flow.is_continue() {
            self.read_clock();
            if self.seams.is_on() {
                // One stamp for both, so that the message's end of the wait and its lateness agree.
                let clock = self.timeline.clock();
                let now = clock.stamp();
                let late_ns = pacer.late_at(time.get(), clock, now);
                self.seams.waited(now, was_early.then_some(late_ns), clock);
                self.seams.pass_at(now, Seam::Due, late_ns, clock, &self.board);
            }
        }
        flow
    }

    /// Shows that nothing is published before this time of the exchange.
    #[cold]
    fn show_wait(&mut self, time: EventTime, early: Duration) {
        let now_ns = self.read_clock();
        let early_ns = u64::try_from(early.as_nanos()).unwrap_or(u64::MAX);
        let due_ns = now_ns.saturating_add(early_ns);
        let waiting = Waiting::Message { ts_event: time.get(), due_ns };
        self.board.show(&self.counts, now_ns);
        self.board.show_waiting(Some(waiting));
        if self.reported.begins(early, self.timeline.clock()) {
            self.report.note(&waiting.text(self.midnight_ns, now_ns));
        }
    }

    /// Shows that a plant that waits is alive.
    fn show_idle(&mut self) {
        let now_ns = self.read_clock();
        self.board.show(&self.counts, now_ns);
        self.show_life(now_ns, ANCHOR_OFTEN_NS);
    }

    /// Shows that the plant waits for followers to join. It has published nothing.
    pub(crate) fn show_joining(&mut self, joined: u64) {
        self.board.show_waiting(Some(Waiting::Followers { joined }));
        self.show_idle();
    }

    /// All followers have joined. Waits if they are behind in what the ring has of earlier plants.
    pub(crate) fn joined(&mut self) {
        self.board.show_waiting(None);
        // If the run is to end, its first check ends it.
        let _ = self.pass_gate();
    }

    /// Waits if the slowest is half a ring behind, until it is a quarter of a ring behind.
    #[inline]
    pub(super) fn pass_gate(&mut self) -> ControlFlow<()> {
        let position = self.writer.position_bytes();
        let is_closed = self.gate.as_mut().is_some_and(|gate| gate.is_closed(position));
        if is_closed { self.wait_at_gate(position) } else { ControlFlow::Continue(()) }
    }

    #[cold]
    #[inline(never)]
    fn wait_at_gate(&mut self, position: u64) -> ControlFlow<()> {
        self.writer.show_held();
        let began = self.clock().stamp();
        let mut waiter = Waiter::new(WaitStrategy::Backoff { polls: 100, sleep: READER_POLL });
        let (mut flow, mut is_shown) = (ControlFlow::Continue(()), false);
        let who = self.gate.as_deref().map(Gate::waiting);
        while self.gate.as_mut().is_some_and(|gate| gate.stays_closed(position)) {
            if self.is_to_end() {
                flow = ControlFlow::Break(());
                break;
            }
            if waiter.is_check_due() {
                if self.is_out_of_patience(began) {
                    break;
                }
                self.show_idle();
                self.gate.iter_mut().for_each(|gate| gate.refresh());
                self.board.show_waiting(self.gate.as_deref().map(Gate::waiting));
                is_shown = true;
            }
            waiter.idle();
        }
        if is_shown {
            self.board.show_waiting(None);
        }
        let waited_ns = self.clock().nanos_between(began, self.clock().stamp());
        if let (Some(gate), Some(who)) = (&mut self.gate, who) {
            gate.add_wait(who, waited_ns);
        }
        flow
    }

    /// Whether a wait has lasted too long for a plant that others wait for: it goes on without the
    /// slowest.
    fn is_out_of_patience(&mut self, began: Stamp) -> bool {
        let waited_ns = self.clock().nanos_between(began, self.clock().stamp());
        let Some(gate) = &mut self.gate else { return false };
        let Some(patience) = gate.patience() else { return false };
        if u128::from(waited_ns) < patience.as_nanos() {
            return false;
        }
        gate.let_go();
        let seconds = patience.as_secs();
        self.report.problem(&format!(
            "the recorder made no room in {seconds} s: the plant goes on without it"
        ));
        true
    }
}
