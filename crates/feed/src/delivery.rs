//! From a session to the consumer of its messages: what to deliver goes on, what to do is queued.
//!
//! Where: the [`SessionHandler`] of captures and of live sources.
//! Bounds: [`MOST_REQUESTS`] requests wait to be sent; a session has fewer in flight.

use core::ops::ControlFlow;

use nanotape_market::{Damage, EventHandler};

use crate::{
    events::handle_messages,
    session::{Messages, Numbers, SessionEvent, SessionHandler},
};

/// Requests that can wait to be sent.
const MOST_REQUESTS: usize = 64;

/// Receives the messages of a session.
pub trait MessageSink {
    /// Consecutive messages from number `first`, received at `ts_recv_ns`. `Break` ends reading.
    fn messages<'a>(
        &mut self,
        first: u64,
        ts_recv_ns: u64,
        messages: impl Messages<'a>,
    ) -> ControlFlow<()>;

    /// Something is missing or was dropped.
    fn damage(&mut self, damage: Damage);

    /// The source was idle for its whole patience. `Break` ends the reading.
    fn idle(&mut self) -> ControlFlow<()>;
}

/// Turns the messages of a session into events for a handler.
#[derive(Debug)]
pub struct EventSink<'h, H>(pub &'h mut H);

impl<H: EventHandler> MessageSink for EventSink<'_, H> {
    #[inline]
    fn messages<'a>(
        &mut self,
        first: u64,
        ts_recv_ns: u64,
        messages: impl Messages<'a>,
    ) -> ControlFlow<()> {
        self.0.received(ts_recv_ns);
        handle_messages(first, messages, self.0)
    }

    fn damage(&mut self, damage: Damage) {
        self.0.damage(damage);
    }

    fn idle(&mut self) -> ControlFlow<()> {
        self.0.idle()
    }
}

/// A session's handler that passes messages to a sink, and queues requests.
#[derive(Debug)]
pub struct Delivery<T> {
    /// The consumer.
    pub sink: T,
    /// Whether the consumer ended the reading: nothing is delivered after it.
    pub flow: ControlFlow<()>,
    /// The number of the first message that was delivered; 0 before it.
    pub first: u64,
    /// Messages delivered.
    pub messages: u64,
    /// Messages that were skipped.
    pub missing: u64,
    /// The offset of the packet that is read, for the report of a malformed one.
    pub offset: u64,
    /// Whether the session ended.
    pub has_ended: bool,
    requests: Vec<(u64, u16)>,
}

impl<T> Delivery<T> {
    /// Delivers to this sink.
    pub fn new(sink: T) -> Self {
        Self {
            sink,
            flow: ControlFlow::Continue(()),
            first: 0,
            messages: 0,
            missing: 0,
            offset: 0,
            has_ended: false,
            requests: Vec::with_capacity(MOST_REQUESTS),
        }
    }

    /// The requests to send, as first number and count. They are forgotten.
    pub fn take_requests(&mut self) -> impl Iterator<Item = (u64, u16)> + '_ {
        self.requests.drain(..)
    }
}

impl<S, T: MessageSink> SessionHandler<S> for Delivery<T> {
    #[inline]
    fn messages<'a>(&mut self, numbers: Numbers, ts_recv_ns: u64, messages: impl Messages<'a>) {
        if self.flow.is_break() {
            return;
        }
        if self.first == 0 {
            self.first = numbers.start;
        }
        self.messages += numbers.end - numbers.start;
        self.flow = self.sink.messages(numbers.start, ts_recv_ns, messages);
    }

    fn skipped(&mut self, numbers: Numbers) {
        self.missing += numbers.end - numbers.start;
        self.sink.damage(Damage::Missing { first: numbers.start, next: numbers.end });
    }

    fn snapshot(&mut self, _: u64) {}

    fn request(&mut self, _: S, first: u64, count: u16) {
        // A request that finds no room is repeated after its timeout.
        if self.requests.len() < MOST_REQUESTS {
            self.requests.push((first, count));
        }
    }

    fn fetch_snapshot(&mut self, _: u64) {}

    fn event(&mut self, event: &SessionEvent<S>) {
        match event {
            SessionEvent::Malformed { kind, .. } => {
                let (offset, reason) = (self.offset, kind.name());
                self.sink.damage(Damage::Packet { offset, reason });
            }
            SessionEvent::Joined { .. } => self.has_ended = false,
            SessionEvent::Ended { .. } => self.has_ended = true,
            _ => {}
        }
    }
}
