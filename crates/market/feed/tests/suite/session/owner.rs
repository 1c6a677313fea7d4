//! The owner of a session in tests: keeps everything that the session hands out, and checks that
//! every message comes once and in order.

use std::collections::BTreeSet;

use nanotape_feed::session::{GapReport, Line, Messages, Numbers, SessionEvent, SessionHandler};
use nanotape_types::Alpha;

/// The message with a number: its length and its content depend on it.
pub(crate) fn message_of(number: u64) -> Vec<u8> {
    let mut message = number.to_le_bytes().to_vec();
    message.resize(8 + (number * 7 % 40) as usize, number as u8);
    message
}

/// What a session requires its owner to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Task {
    Request { first: u64, count: u16 },
    Snapshot { next: u64 },
}

#[derive(Debug, Default)]
pub(crate) struct Owner {
    /// The number of the next message; 0 before the first.
    pub(crate) next: u64,
    pub(crate) delivered: u64,
    /// From the first number to one above the last.
    pub(crate) skipped: Vec<(u64, u64)>,
    pub(crate) snapshots: Vec<u64>,
    pub(crate) tasks: Vec<Task>,
    pub(crate) events: Vec<SessionEvent<Alpha<10>>>,
    pub(crate) leads: Vec<(Line, u64)>,
    pub(crate) last_ts_recv_ns: u64,
    /// Messages that were shown ahead of their turn and have not come in it.
    pub(crate) ahead: BTreeSet<u64>,
    pub(crate) shown_ahead: u64,
}

impl Owner {
    pub(crate) fn closed_gaps(&self) -> impl Iterator<Item = &GapReport> {
        self.events.iter().filter_map(|event| match event {
            SessionEvent::GapClosed(report) => Some(report),
            _ => None,
        })
    }

    pub(crate) fn declared_gaps(&self) -> usize {
        let is_declared = |event: &&_| matches!(event, SessionEvent::GapDeclared(_));
        self.events.iter().filter(is_declared).count()
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.events.iter().any(|event| matches!(event, SessionEvent::Ended { .. }))
    }

    /// Messages that were skipped and are in no snapshot.
    pub(crate) fn skipped_count(&self) -> u64 {
        self.skipped.iter().map(|(first, next)| next - first).sum()
    }
}

impl SessionHandler<Alpha<10>> for Owner {
    fn messages<'a>(&mut self, numbers: Numbers, ts_recv_ns: u64, messages: impl Messages<'a>) {
        let mut number = numbers.start;
        for message in messages {
            if self.next > 0 {
                assert_eq!(number, self.next, "every message comes once and in order");
            }
            assert_eq!(message, message_of(number), "message {number}");
            self.ahead.remove(&number);
            number += 1;
            self.next = number;
            self.delivered += 1;
        }
        assert!(number > numbers.start, "no empty run");
        assert_eq!(number, numbers.end);
        self.last_ts_recv_ns = ts_recv_ns;
    }

    fn ahead<'a>(&mut self, numbers: Numbers, _: u64, messages: impl Messages<'a>) {
        assert_eq!(messages.clone().count() as u64, numbers.end - numbers.start);
        for (number, message) in numbers.zip(messages) {
            assert!(number >= self.next, "message {number} comes after it was delivered");
            assert!(self.ahead.last().is_none_or(|&last| last < number), "{number} again");
            assert_eq!(message, message_of(number), "message {number}");
            self.ahead.insert(number);
            self.shown_ahead += 1;
        }
    }

    fn skipped(&mut self, numbers: Numbers) {
        assert!(!numbers.is_empty());
        assert_eq!(self.ahead.range(numbers.clone()).next(), None, "{numbers:?} were shown");
        assert!(self.next == 0 || self.next == numbers.start, "{numbers:?} at {}", self.next);
        self.next = numbers.end;
        self.skipped.push((numbers.start, numbers.end));
    }

    fn snapshot(&mut self, next: u64) {
        assert!(self.next == 0 || self.next == next, "at {}, a snapshot of {next}", self.next);
        self.next = next;
        self.snapshots.push(next);
    }

    fn request(&mut self, _: Alpha<10>, first: u64, count: u16) {
        assert!(count > 0);
        self.tasks.push(Task::Request { first, count });
    }

    fn fetch_snapshot(&mut self, next: u64) {
        self.tasks.push(Task::Snapshot { next });
    }

    fn event(&mut self, event: &SessionEvent<Alpha<10>>) {
        if let SessionEvent::Joined { .. } = event {
            self.next = 0;
        }
        self.events.push(event.clone());
    }

    fn raced(&mut self, winner: Line, lead_ns: u64) {
        self.leads.push((winner, lead_ns));
    }
}
