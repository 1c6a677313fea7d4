//! An owner that was gone and goes on with the state of before, or that leaves a session.

use nanotape_feed::session::{
    PacketOrigin, Receiver, RequestSettings, SessionEvent, SessionSettings,
};
use nanotape_types::Alpha;
use nanotape_wire::framing::moldudp64::end_of_session;

use super::{
    owner::Task,
    steps::{A, ANSWER, B, MS, SESSION, Session, with_requests, with_snapshots},
};

const OTHER: Alpha<10> = Alpha::new(*b"NIGHT     ");

impl Session {
    /// The owner is gone for so long.
    fn gone_for(&mut self, ms: u64) {
        self.now_ns += ms * MS;
        self.receiver.restarted(self.now_ns, &mut self.owner);
    }

    /// A receiver that begins with the packets that wait here, and how many there are.
    fn handed_over(&mut self, settings: SessionSettings) -> (Self, usize) {
        let mut next = Self::new(settings);
        next.receiver = Receiver::new(settings);
        next.now_ns = self.now_ns;
        let mut count = 0;
        self.receiver.take_waiting(|line, ts_recv_ns, bytes| {
            count += 1;
            let origin = PacketOrigin::Line(line);
            next.receiver.packet(origin, (ts_recv_ns, next.now_ns), bytes, &mut next.owner);
        });
        (next, count)
    }

    fn silences(&self) -> usize {
        self.owner.events.iter().filter(|event| matches!(event, SessionEvent::Silent(_))).count()
    }
}

#[test]
fn what_was_requested_before_is_requested_again_and_not_given_up() {
    let mut session = Session::new(with_requests());
    session.packet(A, 1, 1);
    session.both(5, 1);
    session.after(3);
    assert_eq!(session.tasks(), [Task::Request { first: 2, count: 3 }]);
    session.after(10);
    session.after(10);
    session.tasks();
    session.gone_for(60_000);
    assert_eq!(session.tasks(), [Task::Request { first: 2, count: 3 }]);
    // What was sent meanwhile is a gap of its own.
    session.both(50, 1);
    session.both(51, 1);
    session.after(3);
    assert_eq!(session.tasks(), [Task::Request { first: 6, count: 8 }]);
    session.packet(ANSWER, 2, 3);
    for first in (6..50).step_by(4) {
        session.packet(ANSWER, first, 4);
    }
    assert_eq!((session.owner.next, session.owner.skipped.clone()), (52, vec![]));
    assert_eq!(session.silences(), 0);
}

#[test]
fn a_line_is_silent_only_from_the_restart_on() {
    let mut session = Session::new(SessionSettings::default());
    session.both(1, 1);
    session.gone_for(60_000);
    session.after(2_999);
    assert_eq!(session.silences(), 0);
    session.after(1);
    assert_eq!(session.silences(), 2);
}

#[test]
fn an_end_that_was_not_believed_yet_waits_again() {
    let mut session = Session::new(SessionSettings::default());
    session.both(1, 1);
    session.bytes(A, end_of_session(SESSION, 2).to_vec());
    session.gone_for(60_000);
    assert!(!session.owner.has_ended());
    session.packet(B, 2, 1);
    assert_eq!(session.owner.next, 3, "messages after an end show that it is none");
}

#[test]
fn a_snapshot_that_was_fetched_before_has_its_time_again() {
    let mut session = Session::new(with_snapshots());
    session.packet(A, 1, 3);
    session.both(6, 2);
    session.after(3);
    assert_eq!(session.tasks(), [Task::Snapshot { next: 6 }]);
    session.gone_for(60_000);
    assert_eq!(session.tasks(), []);
    assert!(session.snapshot(7), "the first attempt is not over");
    assert_eq!(session.owner.next, 8);
}

#[test]
fn a_session_that_was_left_is_ignored_and_packets_of_the_next_one_are_taken_along() {
    let mut session = Session::new(SessionSettings::default());
    session.both(1, 4);
    session.receiver.close(session.now_ns, &mut session.owner);
    session.receiver.leave(session.now_ns);
    session.both(5, 4);
    assert_eq!(session.owner.delivered, 4);
    assert_eq!(session.receiver.next_session(session.now_ns, |_| true), None);
    for first in [1, 3, 5] {
        session.packet_of(OTHER, A, first, 2);
        session.packet_of(OTHER, B, first, 2);
    }
    session.now_ns += 100 * MS;
    assert_eq!(
        session.receiver.next_session(session.now_ns, |_| true).map(|next| next.session),
        Some(OTHER)
    );

    let (mut next, count) = session.handed_over(SessionSettings::default());
    assert_eq!(count, 6);
    assert_eq!(session.receiver.next_session(session.now_ns, |_| true), None);
    next.after(0);
    assert_eq!((next.receiver.session(), next.owner.next), (Some(OTHER), 7));
}

#[test]
fn a_session_that_is_forgotten_is_joined_when_it_has_packets_again() {
    let mut session = Session::new(SessionSettings::default());
    session.both(1, 2);
    session.receiver.close(session.now_ns, &mut session.owner);
    session.receiver.leave(session.now_ns);
    for first in [1, 3] {
        session.packet_of(OTHER, A, first, 2);
    }
    session.receiver.forget(OTHER);
    session.after(100);
    assert_eq!(session.receiver.session(), Some(SESSION));
    for first in [5, 7] {
        session.packet_of(OTHER, A, first, 2);
    }
    session.after(100);
    assert_eq!((session.receiver.session(), session.owner.next), (Some(OTHER), 9));
}

/// Two sessions that wait, whose messages and heartbeats overlap in time.
fn overlapping() -> Session {
    let early = Alpha::new(*b"EARLY     ");
    let mut session = Session::new(SessionSettings::default());
    session.both(1, 4);
    for number in 1..=40 {
        session.packet_of(early, A, number, 1);
        session.packet_of(early, B, number, 1);
        session.after(10);
    }
    for number in 1..=60 {
        session.packet_of(OTHER, A, number, 1);
        session.packet_of(OTHER, B, number, 1);
        if number % 10 == 0 {
            session.packet_of(early, A, 41, 0);
            session.packet_of(early, B, 41, 0);
        }
        session.after(10);
    }
    session
}

#[test]
fn the_owner_begins_with_the_session_that_it_was_given() {
    let mut session = overlapping();
    session.receiver.close(session.now_ns, &mut session.owner);
    session.receiver.leave(session.now_ns);
    let chosen = session.receiver.next_session(session.now_ns, |_| true).unwrap().session;
    let (mut next, _) = session.handed_over(SessionSettings::default());
    next.after(1);
    assert_eq!(next.receiver.session(), Some(chosen));
}

#[test]
fn ends_that_came_before_a_session_was_joined_end_it() {
    let early = Alpha::new(*b"EARLY     ");
    let mut session = overlapping();
    for _ in 0..10 {
        for line in [A, B] {
            session.bytes(line, end_of_session(early, 41).to_vec());
        }
        session.both(5, 0);
        session.after(1_000);
    }
    for line in [A, B] {
        session.bytes(line, end_of_session(SESSION, 5).to_vec());
    }
    assert!(session.owner.has_ended());
    session.receiver.forget(OTHER);
    let (mut next, _) = session.handed_over(SessionSettings::default());
    next.after(1);
    next.after(0);
    assert_eq!((next.receiver.session(), next.owner.next), (Some(early), 41));
    assert!(next.owner.has_ended());
}

#[test]
fn a_server_that_answers_slowly_is_not_given_up() {
    let requests = RequestSettings { timeout_ns: 20 * MS, ..RequestSettings::default() };
    let settings = SessionSettings { requests: Some(requests), ..SessionSettings::default() };
    let mut session = Session::new(settings);
    session.packet(A, 1, 1);
    session.both(22, 2);
    for number in 2..22 {
        // A message each 1.5 s: most answers come in a pause of the requests.
        (0..150).for_each(|_| session.after(10));
        session.packet(ANSWER, number, 1);
    }
    assert_eq!((session.owner.next, session.owner.skipped.len()), (24, 0));
}
