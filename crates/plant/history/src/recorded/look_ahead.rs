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
    /// When the next events were received, in ns since the UNIX epoch; 0 if that is unknown.
    received_ns: u64,
}

#[derive(Debug)]
struct Waiting<Hint> {
    at: Position,
    event: MarketEvent,
    received_ns: u64,
    /// `None` if the handler needs no data for the event.
    hint: Option<Hint>,
}

impl<Hint: Copy> LookAhead<Hint> {
    pub(super) fn new() -> Self {
        Self { queue: VecDeque::with_capacity(DEPTH + 1), received_ns: 0 }
    }

    /// The events from now on were received at this time.
    #[inline]
    pub(super) fn receive(&mut self, received_ns: u64) {
        self.received_ns = received_ns;
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
        let received_ns = self.received_ns;
        self.queue.push_back(Waiting { at, event: *event, received_ns, hint });
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
            Some(first) => first.deliver(handler),
            None => ControlFlow::Continue(()),
        }
    }

    /// Delivers all events. `Break` drops those after the event.
    pub(super) fn drain(
        &mut self,
        handler: &mut impl EventHandler<Hint = Hint>,
    ) -> ControlFlow<()> {
        self.queue.drain(..).try_for_each(|it| it.deliver(handler))
    }

    #[inline(always)]
    fn hint(&mut self, index: usize) -> Option<&mut Hint> {
        self.queue.get_mut(index)?.hint.as_mut()
    }
}

impl<Hint: Copy> Waiting<Hint> {
    #[inline]
    fn deliver(&self, handler: &mut impl EventHandler<Hint = Hint>) -> ControlFlow<()> {
        if self.received_ns > 0 {
            handler.received(self.received_ns);
        }
        handler.event(self.at, &self.event, NoOrigin)
    }
}

#[cfg(test)]
mod tests {
    use nanotape_market::{Damage, Origin, What};
    use nanotape_types::{BookEvent, Coming, OrderReferenceNumber, StockLocate};

    use super::*;

    /// Checks the order of announcements, and keeps the numbers of delivered events.
    #[derive(Default)]
    struct Announced {
        announced: [u64; 3],
        delivered: Vec<u64>,
        ends_at: u64,
    }

    impl EventHandler for Announced {
        /// The number of the order, and how often it was announced.
        type Hint = (u64, usize);

        fn event(&mut self, at: Position, _: &MarketEvent, _: impl Origin) -> ControlFlow<()> {
            assert_eq!(at.number, self.delivered.len() as u64 + 1);
            self.delivered.push(at.number);
            match at.number == self.ends_at {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }

        fn damage(&mut self, _: Damage) {}

        fn prefetch_index(&mut self, coming: Coming) -> Option<(u64, usize)> {
            self.announced[0] = coming.reference.get();
            Some((coming.reference.get(), 1))
        }

        fn prefetch_order(&mut self, hint: &mut (u64, usize)) {
            self.announced[1] += 1;
            assert_eq!(*hint, (self.announced[1], 1));
            hint.1 = 2;
        }

        fn prefetch_levels(&mut self, hint: &(u64, usize)) {
            self.announced[2] += 1;
            assert_eq!(*hint, (self.announced[2], 2));
        }
    }

    fn push(
        ahead: &mut LookAhead<(u64, usize)>,
        number: u64,
        handler: &mut Announced,
    ) -> ControlFlow<()> {
        let stock_locate = StockLocate::new(1);
        let reference = OrderReferenceNumber::new(number);
        let deleted = What::Order(BookEvent::Delete { stock_locate, reference });
        let event = MarketEvent::about(stock_locate, deleted);
        ahead.push(Position { number, offset: 0 }, &event, handler)
    }

    #[test]
    fn an_event_is_announced_three_times_and_delivered_in_order() {
        let (mut ahead, mut handler) = (LookAhead::new(), Announced::default());
        for number in 1..=100 {
            assert!(push(&mut ahead, number, &mut handler).is_continue());
        }
        let last = |announced: usize| 100 - (announced * STEP) as u64;
        assert_eq!(handler.announced, [last(0), last(1), last(2)]);
        assert_eq!(handler.delivered.len() as u64, last(3));
        assert!(ahead.drain(&mut handler).is_continue());
        assert_eq!(handler.delivered.len(), 100);
    }

    #[test]
    fn nothing_is_delivered_after_the_handler_ends_the_reading() {
        for ends_at in [1, 50, 77, 100] {
            let (mut ahead, mut handler) =
                (LookAhead::new(), Announced { ends_at, ..Announced::default() });
            let pushed = (1..=100).try_for_each(|number| push(&mut ahead, number, &mut handler));
            let flow = match pushed {
                ControlFlow::Continue(()) => ahead.drain(&mut handler),
                stopped => stopped,
            };
            assert!(flow.is_break());
            assert_eq!(handler.delivered.last(), Some(&ends_at));
        }
    }
}
