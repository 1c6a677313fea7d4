//! The waits of a plant: until a message is due, and until the recorder has caught up.
//!
//! A waiting plant shows on the board and on the ring that it is alive, and ends on request.

use std::{ops::ControlFlow, time::Duration};

use nanotape_ring::Publish;
use nanotape_tape::{Pacer, WaitStrategy, Waiter};
use nanotape_types::NanosSinceMidnight;

use super::{ANCHOR_IDLE_NS, Publisher};
use crate::recording::Gate;

/// Time between two checks of a recorder that is too far behind.
const RECORDER_POLL: Duration = Duration::from_micros(50);

impl<W: Publish> Publisher<W> {
    /// Waits until a message is due.
    pub(super) fn wait(&mut self, time: NanosSinceMidnight) -> ControlFlow<()> {
        let Some(mut pacer) = self.pacer else { return ControlFlow::Continue(()) };
        pacer.begin_at(time.get(), self.clock());
        self.pacer = Some(pacer);
        while let Some(early) = pacer.early(time.get(), self.clock()) {
            if self.is_to_end() {
                return ControlFlow::Break(());
            }
            if early > Pacer::SPIN {
                std::thread::sleep((early - Pacer::SPIN).min(Duration::from_millis(50)));
                let now_ns = self.tell_time();
                self.board.show(&self.counts, now_ns);
                self.show_life(now_ns, ANCHOR_IDLE_NS);
            } else {
                core::hint::spin_loop();
            }
        }
        self.tell_time();
        ControlFlow::Continue(())
    }

    /// Waits if the recorder is half a ring behind, until it is a quarter of a ring behind.
    #[inline]
    pub(super) fn pass_gate(&mut self) -> ControlFlow<()> {
        let position = self.writer.position_bytes();
        match &self.gate {
            Some(gate) if gate.is_closed(position) => self.wait_for_recorder(position),
            _ => ControlFlow::Continue(()),
        }
    }

    #[cold]
    #[inline(never)]
    fn wait_for_recorder(&mut self, position: u64) -> ControlFlow<()> {
        let began = self.clock().stamp();
        let mut waiter = Waiter::new(WaitStrategy::Backoff { looks: 100, sleep: RECORDER_POLL });
        let mut flow = ControlFlow::Continue(());
        while self.gate.as_ref().is_some_and(|gate| gate.stays_closed(position)) {
            if self.is_to_end() {
                flow = ControlFlow::Break(());
                break;
            }
            if waiter.is_check_due() {
                let now_ns = self.tell_time();
                self.board.show(&self.counts, now_ns);
                self.show_life(now_ns, ANCHOR_IDLE_NS);
                self.gate.as_mut().into_iter().for_each(Gate::refresh);
            }
            waiter.idle();
        }
        let waited_ns = self.clock().nanos_between(began, self.clock().stamp());
        self.gate.as_mut().into_iter().for_each(|gate| gate.add_wait(waited_ns));
        flow
    }
}
