//! Announces the events of records before it delivers them, so that a handler can prefetch.
//!
//! Where: between the decoder of records and the handler of a [`RecordedRun`](super::RecordedRun).
//! Protocol: each event waits in a queue while later records are decoded. It is announced three
//! times on the way: see [`EventHandler`]. Before an entry that is no event, the reader calls
//! [`drain`](LookAhead::drain), so that the handler gets everything in the order of the stream.
//! Cost: two copies of an event. Without the queue, books with two million orders wait for memory
//! at each order (bench: replay, `books-at`).

use core::ops::ControlFlow;
use std::collections::VecDeque;

use nanotape_market::{EventHandler, MarketEvent, NoOrigin, Position};

/// Events from one announcement to the next.
const STEP: usize = 8;

/// Events that wait. Each of the three announcements has had its time then.
const DEPTH: usize = 3 * STEP;

/// Events on their way to a handler.
#[derive(Debug)]
pub(super) struct LookAhead<Hint> {
    queue: VecDeque<Waiting<Hint>>,
}

#[derive(Debug)]
struct Waiting<Hint> {
    at: Position,
    event: MarketEvent,
    /// `None` if the handler needs no data for the event.
    hint: Option<Hint>,
}

impl<Hint: Copy> LookAhead<Hint> {
    pub(super) fn new() -> Self {
        Self { queue: VecDeque::with_capacity(DEPTH + 1) }
    }

    /// Announces an event, and delivers the one that has waited longest if the queue is full.
    #[inline]
    pub(super) fn push(
        &mut self,
        at: Position,
        event: &MarketEvent,
        handler: &mut impl EventHandler<Hint = Hint>,
    ) -> ControlFlow<()> {
        let hint = event.coming().and_then(|coming| handler.prefetch_index(coming));
        self.queue.push_back(Waiting { at, event: *event, hint });
        let newest = self.queue.len() - 1;
        if let Some(hint) = self.hint(newest.wrapping_sub(STEP)) {
            handler.prefetch_order(hint);
        }
        if let Some(hint) = self.hint(newest.wrapping_sub(2 * STEP)) {
            handler.prefetch_levels(hint);
        }
        if newest < DEPTH {
            return ControlFlow::Continue(());
        }
        match self.queue.pop_front() {
            Some(first) => handler.event(first.at, &first.event, NoOrigin),
            None => ControlFlow::Continue(()),
        }
    }

    /// Delivers all events. `Break` drops those after the event.
    pub(super) fn drain(
        &mut self,
        handler: &mut impl EventHandler<Hint = Hint>,
    ) -> ControlFlow<()> {
        self.queue.drain(..).try_for_each(|it| handler.event(it.at, &it.event, NoOrigin))
    }

    #[inline(always)]
    fn hint(&mut self, index: usize) -> Option<&mut Hint> {
        self.queue.get_mut(index)?.hint.as_mut()
    }
}
