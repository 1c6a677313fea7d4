//! Single paths of recovery, one at a time.

use nanotape_feed::session::{Gap, Join, Line, RequestSettings, SessionEvent, SessionSettings};
use nanotape_wire::framing::moldudp64::{PacketWriter, end_of_session};

use super::{
    owner::{Task, message_of},
    steps::{A, ANSWER, B, MS, SESSION, Session, bytes_of, with_requests, with_snapshots},
};

#[test]
fn the_first_copy_of_each_message_wins_also_where_lines_cut_differently() {
    let mut session = Session::new(SessionSettings::default());
    session.packet(A, 1, 3);
    session.packet(B, 1, 5);
    session.packet(A, 4, 4);
    assert_eq!(session.owner.next, 8);
    let (a, b) = (session.receiver.line(Line::A), session.receiver.line(Line::B));
    assert_eq!((a.first_messages, b.first_messages), (5, 2));
    assert_eq!((a.messages, b.messages), (7, 5));
    assert_eq!((a.missing, b.missing), (0, 0));
}

#[test]
fn what_the_other_line_has_within_the_hold_time_is_no_gap() {
    let mut session = Session::new(with_requests());
    session.packet(A, 1, 2);
    session.packet(A, 5, 1);
    assert_eq!(session.owner.next, 3);
    session.after(1);
    session.packet(B, 3, 2);
    assert_eq!(session.owner.next, 5, "no second packet agrees with message 5");
    session.after(2);
    assert_eq!(session.owner.next, 6);
    session.after(10);
    assert_eq!((session.owner.declared_gaps(), session.receiver.overtaken()), (0, 2));
    assert_eq!(session.tasks(), []);
    assert_eq!(session.receiver.line(Line::A).missing, 2);
}

#[test]
fn a_heartbeat_shows_the_loss_of_the_last_packet() {
    let mut session = Session::new(with_requests());
    session.packet(A, 1, 2);
    session.packet(B, 7, 0);
    assert_eq!(session.receiver.position().missing, 0);
    session.packet(A, 7, 0);
    assert_eq!(session.receiver.position().missing, 4);
    session.after(3);
    let gap = Gap { numbers: 3..7, seen_ns: 1_000 * MS, seen_by: B };
    assert!(session.owner.events.contains(&SessionEvent::GapDeclared(gap)));
    assert_eq!(session.tasks(), [Task::Request { first: 3, count: 4 }]);
}

#[test]
fn a_gap_that_all_lines_have_passed_is_declared_before_the_hold_time_is_over() {
    let mut session = Session::new(SessionSettings { reorder_messages: 4, ..with_requests() });
    session.packet(A, 1, 2);
    for line in [A, B] {
        session.packet(line, 5, 3);
    }
    assert_eq!(session.owner.declared_gaps(), 0);
    session.packet(A, 8, 2);
    session.packet(B, 8, 2);
    assert_eq!(session.owner.declared_gaps(), 1);
}

#[test]
fn requests_are_chunked_and_the_rest_of_a_short_answer_is_requested_at_once() {
    let mut session = Session::new(with_requests());
    session.packet(A, 1, 1);
    session.both(30, 1);
    session.after(3);
    let chunk = |first, count| Task::Request { first, count };
    assert_eq!(session.tasks(), [chunk(2, 8), chunk(10, 8)]);
    session.packet(ANSWER, 2, 3);
    assert_eq!(session.tasks(), [chunk(5, 5)]);
    assert_eq!(session.owner.next, 5, "messages are delivered as they come");
    session.packet(ANSWER, 10, 8);
    assert_eq!(session.tasks(), [chunk(18, 8)]);
    session.packet(ANSWER, 5, 5);
    assert_eq!(session.tasks(), [chunk(26, 4)]);
    session.packet(B, 18, 12);
    assert_eq!(session.owner.next, 31);
    let report = session.owner.closed_gaps().next().unwrap();
    assert_eq!((report.fills.retransmitted, report.fills.lines[1]), (16, 12));
    assert_eq!((report.requests, report.gap.numbers.clone()), (5, 2..30));
    session.after(100);
    assert_eq!(session.tasks(), []);
}

#[test]
fn a_request_is_repeated_and_then_the_messages_are_lost() {
    let mut session = Session::new(with_requests());
    session.packet(A, 1, 1);
    session.both(5, 1);
    session.after(3);
    for _ in 0..2 {
        assert_eq!(session.tasks(), [Task::Request { first: 2, count: 3 }]);
        session.after(9);
        assert_eq!(session.tasks(), []);
        session.after(1);
    }
    assert_eq!(session.tasks(), [Task::Request { first: 2, count: 3 }]);
    session.after(10);
    assert_eq!(session.owner.skipped, [(2, 5)]);
    assert_eq!(session.owner.next, 6, "later messages are delivered");
    assert!(session.receiver.position().is_suspect);
    let report = session.owner.closed_gaps().next().unwrap();
    assert_eq!((report.fills.lost, report.requests), (3, 3));
    assert_eq!(report.closed_ns - report.gap.seen_ns, 33 * MS);
    session.packet(B, 2, 3);
    assert_eq!(session.owner.next, 6, "a copy after the loss is too late");
}

#[test]
fn without_a_server_a_gap_is_lost_when_it_is_declared() {
    let mut session = Session::new(SessionSettings::default());
    session.packet(A, 1, 1);
    session.both(3, 1);
    session.after(3);
    assert_eq!((session.owner.next, session.owner.skipped.clone()), (4, vec![(2, 3)]));
}

#[test]
fn a_snapshot_takes_the_place_of_messages_and_kept_ones_before_it_are_delivered() {
    let mut session = Session::new(with_snapshots());
    session.packet(A, 1, 3);
    session.both(6, 2);
    session.after(3);
    assert_eq!(session.tasks(), [Task::Snapshot { next: 6 }]);
    session.packet(A, 8, 2);
    session.both(12, 1);
    assert_eq!(session.owner.next, 4, "messages are held");
    assert!(session.snapshot(9));
    assert_eq!(session.owner.skipped, vec![(4, 6)]);
    assert_eq!((session.owner.snapshots.clone(), session.owner.next), (vec![9], 10));
    session.packet(B, 10, 2);
    assert_eq!(session.owner.next, 13);
    assert_eq!(session.owner.closed_gaps().map(|gap| gap.fills.snapshot).sum::<u64>(), 2);
    assert!(!session.receiver.position().is_suspect);
}

#[test]
fn a_snapshot_of_messages_that_no_line_has_brought_waits_for_them() {
    let mut session = Session::new(with_snapshots());
    session.packet(A, 1, 1);
    session.both(3, 1);
    session.after(3);
    assert!(session.snapshot(6));
    assert_eq!(session.owner.snapshots, []);
    session.packet(A, 4, 3);
    assert_eq!((session.owner.snapshots.clone(), session.owner.next), (vec![6], 7));
    assert_eq!(session.owner.skipped, vec![(2, 3)]);
    session.both(9, 1);
    session.after(3);
    assert!(session.snapshot(12));
    session.after(2_500);
    assert_eq!(session.owner.snapshots, [6, 12]);
    session.packet(A, 10, 2);
    session.packet(A, 12, 1);
    assert_eq!(session.owner.next, 13, "what is in the snapshot is not delivered");
}

#[test]
fn an_old_snapshot_is_refused_and_another_is_fetched() {
    let mut session = Session::new(with_snapshots());
    session.packet(A, 1, 5);
    session.both(8, 1);
    session.after(3);
    assert_eq!(session.tasks(), [Task::Snapshot { next: 8 }]);
    assert!(!session.snapshot(4));
    assert_eq!(session.tasks(), [Task::Snapshot { next: 8 }]);
    assert!(!session.snapshot(4));
    assert_eq!(session.owner.skipped, vec![(6, 8)], "no attempt is left");
    assert_eq!(session.owner.next, 9);
    session.after(4_999);
    assert_eq!(session.tasks(), []);
    session.after(1);
    assert_eq!(session.tasks(), [Task::Snapshot { next: 9 }], "the books are still suspect");
    session.packet(A, 9, 2);
    assert_eq!(session.owner.next, 9, "messages are held");
    assert!(session.snapshot(10));
    assert_eq!((session.owner.snapshots.clone(), session.owner.next), (vec![10], 11));
    assert!(!session.receiver.position().is_suspect);
}

#[test]
fn a_snapshot_that_does_not_come_is_given_up() {
    let mut session = Session::new(with_snapshots());
    session.packet(A, 1, 1);
    session.both(3, 1);
    session.after(3);
    session.after(500);
    session.after(500);
    assert_eq!(session.tasks().len(), 2);
    assert_eq!((session.owner.next, session.owner.skipped.clone()), (4, vec![(2, 3)]));
}

#[test]
fn a_snapshot_is_not_needed_when_a_line_brings_the_messages_after_all() {
    let mut session = Session::new(with_snapshots());
    session.packet(A, 1, 1);
    session.both(3, 1);
    session.after(3);
    session.packet(B, 2, 1);
    assert_eq!(session.owner.next, 4);
    assert!(!session.snapshot(4));
    assert_eq!(session.owner.snapshots, []);
}

#[test]
fn a_snapshot_inside_a_later_gap_closes_what_it_has_and_the_next_one_the_rest() {
    let mut session = Session::new(with_snapshots());
    session.packet(A, 1, 1);
    // Messages 2 to 4 and 7 to 9 are missing.
    session.both(5, 2);
    session.both(10, 2);
    session.after(3);
    assert_eq!(session.tasks().len(), 1);
    assert!(session.snapshot(8), "it has the first gap and a part of the second one");
    assert_eq!((session.owner.snapshots.clone(), session.owner.next), (vec![8], 8));
    assert_eq!(session.owner.closed_gaps().count(), 1);
    session.after(0);
    // One that has nothing of the rest is refused, and another one is fetched.
    assert_eq!(session.tasks().len(), 1);
    assert!(!session.snapshot(8));
    assert_eq!(session.tasks().len(), 1);
    assert!(session.snapshot(10));
    assert_eq!((session.owner.snapshots.clone(), session.owner.next), (vec![8, 10], 12));
    let fills = session.owner.closed_gaps().map(|report| report.fills.snapshot);
    assert!(fills.eq([3, 3]), "{:?}", session.owner.events);
    assert!(!session.receiver.position().is_suspect);
}

#[test]
fn a_late_join_begins_here_at_the_start_or_with_a_snapshot() {
    let mut here = Session::new(SessionSettings::default());
    here.packet(A, 100, 2);
    assert_eq!((here.owner.next, here.owner.delivered), (102, 2));

    let mut start = Session::new(SessionSettings { join: Join::Start, ..with_requests() });
    start.packet(A, 10, 2);
    start.after(3);
    assert_eq!(start.tasks().len(), 2);
    start.packet(ANSWER, 1, 9);
    assert_eq!((start.owner.next, start.owner.delivered), (12, 11));

    let mut joined = Session::new(SessionSettings { join: Join::Snapshot, ..with_snapshots() });
    joined.packet(A, 100, 2);
    assert_eq!(joined.tasks(), [Task::Snapshot { next: 100 }]);
    joined.packet(A, 102, 3);
    assert!(joined.snapshot(103));
    assert_eq!((joined.owner.snapshots.clone(), joined.owner.delivered), (vec![103], 2));
    assert_eq!(joined.owner.skipped, []);
}

#[test]
fn a_first_snapshot_before_the_first_kept_message_leaves_a_gap() {
    let settings = SessionSettings {
        join: Join::Snapshot,
        snapshots: with_snapshots().snapshots,
        ..with_requests()
    };
    let mut session = Session::new(settings);
    session.packet(A, 100, 2);
    assert!(session.snapshot(95));
    session.after(0);
    assert_eq!(session.owner.snapshots, [95]);
    let requests: Vec<_> = session.tasks().into_iter().skip(1).collect();
    assert_eq!(requests, [Task::Request { first: 95, count: 5 }]);
    session.packet(ANSWER, 95, 5);
    assert_eq!(session.owner.next, 102);
    assert_eq!((session.owner.declared_gaps(), session.owner.closed_gaps().count()), (1, 1));
}

#[test]
fn the_session_ends_when_everything_before_its_end_was_delivered() {
    let mut session = Session::new(with_requests());
    session.packet(A, 1, 2);
    session.bytes(A, end_of_session(SESSION, 5).to_vec());
    session.bytes(B, end_of_session(SESSION, 5).to_vec());
    session.after(3);
    assert!(!session.owner.has_ended());
    session.packet(ANSWER, 3, 2);
    assert!(session.owner.has_ended());
    session.bytes(B, end_of_session(SESSION, 5).to_vec());
    session.bytes(B, end_of_session(SESSION, 2).to_vec());
    let ends = session.owner.events.iter().filter(|e| matches!(e, SessionEvent::Ended { .. }));
    assert_eq!(ends.count(), 1);
    session.after(10_000);
    assert!(session.receiver.deadline_ns() > session.now_ns, "nothing is due after the end");
}

#[test]
fn a_silent_line_is_reported_once_and_when_it_is_back() {
    let mut session = Session::new(SessionSettings::default());
    session.packet(A, 1, 1);
    session.packet(B, 1, 1);
    for _ in 0..4 {
        session.after(1_000);
        session.packet(A, 2, 0);
    }
    assert_eq!(session.receiver.line(Line::B).silences, 1);
    let silent = session.owner.events.iter().filter(|e| matches!(e, SessionEvent::Silent(_)));
    assert_eq!(silent.count(), 1);
    session.packet(B, 2, 0);
    let resumed = SessionEvent::Resumed { line: Line::B, silent_ns: 4_000 * MS };
    assert!(session.owner.events.contains(&resumed));
}

#[test]
fn requests_go_on_after_a_silence_of_the_server() {
    let requests = with_requests().requests.map(|of| RequestSettings {
        budget_ns: 5_000 * MS,
        pause_ns: 50 * MS,
        ..of
    });
    let mut session = Session::new(SessionSettings { requests, ..with_requests() });
    session.packet(A, 1, 1);
    session.both(5, 1);
    let mut requested = 0;
    for _ in 0..200 {
        session.after(5);
        requested += session.tasks().len();
    }
    assert!((4..40).contains(&requested), "{requested} requests in a second");
    assert_eq!(session.owner.skipped, []);
    session.packet(ANSWER, 2, 3);
    assert_eq!((session.owner.next, session.owner.declared_gaps()), (6, 1));
}

/// What a line sends again, or late, does not show that a higher number of it is wrong.
#[test]
fn late_packets_of_a_line_say_nothing_about_its_later_ones() {
    let mut session = Session::new(SessionSettings::default());
    session.both(1, 100);
    session.packet(A, 102, 3);
    session.after(5);
    for first in [90, 80, 70] {
        session.packet(A, first, 10);
    }
    session.packet(B, 105, 5);
    session.packet(A, 105, 5);
    session.after(5);
    assert_eq!((session.owner.next, session.owner.skipped.clone()), (110, vec![(101, 102)]));
    let far_ahead = [Line::A, Line::B].map(|line| session.receiver.line(line).far_ahead);
    assert_eq!(far_ahead, [0, 0]);
}

/// A snapshot server that always fails takes nothing from what the re-request server brings.
#[test]
fn requests_go_on_after_the_last_attempt_to_get_a_snapshot() {
    let requests = with_requests().requests.map(|of| RequestSettings {
        budget_ns: 5_000 * MS,
        pause_ns: 50 * MS,
        ..of
    });
    let mut session = Session::new(SessionSettings { requests, ..with_snapshots() });
    session.packet(A, 1, 1);
    session.both(5, 1);
    while !session.owner.tasks.contains(&Task::Snapshot { next: 5 }) {
        session.after(5);
    }
    session.tasks();
    // A second gap while no request is sent.
    session.both(8, 1);
    (0..2).for_each(|_| session.receiver.snapshot_failed(session.now_ns, &mut session.owner));
    assert_eq!(session.owner.skipped, []);
    let mut requested = session.tasks();
    for _ in 0..100 {
        session.after(5);
        requested.extend(session.tasks());
    }
    for first in [2, 6] {
        let is_requested =
            |task: &Task| matches!(task, Task::Request { first: of, .. } if *of == first);
        assert!(requested.iter().any(is_requested), "{first}: {requested:?}");
    }
    assert_eq!(session.owner.skipped, []);
    session.packet(ANSWER, 2, 3);
    session.packet(ANSWER, 6, 2);
    let position = session.receiver.position();
    assert_eq!((session.owner.next, position.is_suspect), (9, false));
    // Without an answer they are lost after the budget.
    session.both(12, 1);
    (0..1_200).for_each(|_| session.after(5));
    assert_eq!((session.owner.next, session.owner.skipped.clone()), (13, vec![(9, 12)]));
    assert!(session.receiver.position().is_suspect);
}

#[test]
fn a_packet_that_waits_in_a_socket_is_not_given_up() {
    let mut session = Session::new(SessionSettings::default());
    session.both(1, 1);
    let mut packet = |origin, first, received_ns: u64| {
        let mut buffer = [0; 4_096];
        let mut writer = PacketWriter::new(SESSION, first, &mut buffer).unwrap();
        assert!(writer.push(&message_of(first)));
        let times = (received_ns, 1_000 * MS);
        session.receiver.packet(origin, times, writer.finish(), &mut session.owner);
    };
    // Line A lost message 2. All of this came while the owner did not run.
    for number in 3..200 {
        packet(A, number, 1_000 * MS + number * MS);
    }
    for number in 2..200 {
        packet(B, number, 1_000 * MS + number * MS);
    }
    session.after(200);
    assert_eq!((session.owner.next, session.owner.declared_gaps()), (200, 0));
}

#[test]
fn a_server_without_an_answer_gets_its_budget_once() {
    let requests = with_requests().requests;
    let budget_ns = 2_000 * MS;
    let requests = requests.map(|of| RequestSettings { budget_ns, ..of });
    let mut session = Session::new(SessionSettings { requests, ..with_requests() });
    session.packet(A, 1, 1);
    for first in [5, 15, 25, 35] {
        session.both(first, 5);
    }
    let mut waited_ms = 0;
    while session.owner.next < 40 {
        session.after(10);
        waited_ms += 10;
    }
    assert!((2_000..3_000).contains(&waited_ms), "{waited_ms} ms for four gaps");
}

/// Each gap behind the first one would wait for three timeouts of its own.
#[test]
fn requests_that_fail_together_are_given_up_together() {
    let requests =
        RequestSettings { timeout_ns: 200 * MS, in_flight: 8, ..with_requests().requests.unwrap() };
    let settings = SessionSettings { requests: Some(requests), ..with_requests() };
    let mut session = Session::new(settings);
    session.packet(A, 1, 1);
    for number in 0..16 {
        session.both(3 + 2 * number, 1);
    }
    let mut waited_ms = 0;
    while session.owner.next < 34 {
        session.after(10);
        waited_ms += 10;
    }
    assert_eq!(session.owner.skipped.len(), 16);
    assert!((1_200..1_400).contains(&waited_ms), "{waited_ms} ms for sixteen gaps");
}

#[test]
fn a_snapshot_that_is_older_than_the_gap_is_a_failed_attempt() {
    let mut session = Session::new(with_snapshots());
    session.packet(A, 1, 5);
    session.both(11, 1);
    session.after(3);
    assert_eq!(session.tasks(), [Task::Snapshot { next: 11 }]);
    assert!(!session.snapshot(6));
    assert_eq!(session.tasks(), [Task::Snapshot { next: 11 }]);
    assert!(!session.snapshot(6));
    assert_eq!((session.owner.next, session.owner.skipped.clone()), (12, vec![(6, 11)]));
}

#[test]
fn a_line_that_never_has_a_packet_is_silent() {
    let mut session = Session::new(SessionSettings::default());
    session.packet(A, 1, 1);
    for _ in 0..4 {
        session.after(1_000);
        session.packet(A, 2, 0);
    }
    let silences = [Line::A, Line::B].map(|line| session.receiver.line(line).silences);
    assert_eq!(silences, [0, 1]);
    assert!(session.owner.events.contains(&SessionEvent::Silent(Line::B)));
}

#[test]
fn messages_without_room_are_dropped_and_missing_again() {
    let mut session = Session::new(with_requests());
    session.packet(A, 1, 1);
    for number in 3..1_100 {
        session.packet(A, number, 1);
    }
    let full = SessionEvent::AheadFull { number: 1_026 };
    assert_eq!(session.owner.events.iter().filter(|event| **event == full).count(), 1);
    session.packet(B, 2, 1);
    assert_eq!(session.owner.next, 1_026);
    session.packet(B, 1_100, 1);
    assert_eq!(session.receiver.position().missing, 74);
}

#[test]
fn damaged_packets_are_counted_by_kind_and_dropped() {
    let mut session = Session::new(SessionSettings::default());
    session.packet(A, 1, 1);
    session.bytes(A, vec![1; 7]);
    let mut cut = end_of_session(SESSION, 2).to_vec();
    cut[18..20].copy_from_slice(&3u16.to_be_bytes());
    session.bytes(B, cut);
    for (origin, line) in [(A, Line::A), (B, Line::B)] {
        assert_eq!(session.receiver.line(line).malformed.iter().sum::<u64>(), 1);
        let is_of_line =
            |e: &&_| matches!(e, SessionEvent::Malformed { origin: by, .. } if *by == origin);
        assert_eq!(session.owner.events.iter().filter(is_of_line).count(), 1);
    }
    assert_eq!(session.owner.next, 2);
}

#[test]
fn a_gap_is_open_until_the_answer_arrived() {
    let mut session = Session::new(with_requests());
    session.packet(A, 1, 1);
    session.packet(A, 3, 1);
    session.packet(A, 4, 1);
    session.after(2);
    assert_eq!(session.tasks(), [Task::Request { first: 2, count: 1 }]);
    // The lines were not read since.
    let read_to_ns = session.now_ns;
    session.now_ns += 3 * MS;
    let (times, answer) = ((session.now_ns, read_to_ns), bytes_of(SESSION, 2, 1));
    session.receiver.packet(ANSWER, times, &answer, &mut session.owner);
    let report = session.owner.closed_gaps().next().unwrap();
    assert_eq!(report.closed_ns - report.gap.seen_ns, 5 * MS);
}
