//! Which sessions and numbers are believed.

use nanotape_feed::session::{
    GapPolicy, Line, PacketOrigin, Receiver, SessionEvent, SessionSettings,
};
use nanotape_types::Alpha;
use nanotape_wire::framing::moldudp64::end_of_session;

use super::{
    owner::Task,
    steps::{A, ANSWER, B, MS, SESSION, Session, bytes_of, with_requests, with_snapshots},
};

#[test]
fn another_session_is_ignored_until_the_current_one_has_ended() {
    let other = Alpha::new(*b"NEXT      ");
    let mut session = Session::new(SessionSettings::default());
    session.packet(A, 1, 2);
    session.packet_of(other, B, 1, 3);
    session.packet_of(other, B, 4, 3);
    assert_eq!((session.owner.next, session.receiver.line(Line::B).other_session), (3, 2));
    let seen = SessionEvent::OtherSession { origin: B, session: other };
    assert_eq!(session.owner.events.iter().filter(|event| **event == seen).count(), 1);
    session.bytes(A, end_of_session(SESSION, 3).to_vec());
    session.after(0);
    assert_eq!(session.receiver.session(), Some(SESSION), "one packet is not enough");
    session.after(2_500);
    assert!(session.owner.has_ended());
    session.after(1);
    assert_eq!((session.receiver.session(), session.owner.next), (Some(other), 7));
}

#[test]
fn a_session_that_all_lines_left_is_abandoned() {
    let other = Alpha::new(*b"NEXT      ");
    let mut session = Session::new(SessionSettings::default());
    session.packet(A, 1, 2);
    session.packet(B, 1, 2);
    session.packet(A, 4, 1);
    for number in 1..=8 {
        session.packet_of(other, A, number, 1);
        session.packet_of(other, B, number, 1);
    }
    session.after(2_999);
    assert_eq!(session.receiver.session(), Some(SESSION), "both lines may be back");
    session.after(1);
    assert_eq!(session.owner.skipped, [(3, 4)]);
    assert!(session.owner.has_ended());
    session.after(1);
    assert_eq!((session.receiver.session(), session.owner.next), (Some(other), 9));
}

#[test]
fn a_stray_packet_of_another_session_does_not_end_the_only_line() {
    let other = Alpha::new(*b"STRAY     ");
    let mut session = Session::new(SessionSettings::default());
    for number in 1..100 {
        session.packet(A, number, 1);
        session.packet_of(other, A, number, 1);
    }
    assert_eq!((session.receiver.session(), session.owner.next), (Some(SESSION), 100));
    assert_eq!(session.receiver.line(Line::A).other_session, 99);
}

#[test]
fn a_number_far_ahead_is_believed_when_other_packets_agree() {
    let mut session = Session::new(SessionSettings::default());
    session.packet(A, 1, 1);
    session.packet(A, 1 << 40, 1);
    session.packet(A, 2, 1);
    assert_eq!((session.owner.next, session.receiver.position().missing), (3, 0));
    session.packet(A, 10_000, 1);
    session.packet(A, 10_001, 1);
    assert_eq!(session.owner.skipped, [(3, 10_000)], "there is no room for a wait");
    assert_eq!(session.owner.next, 10_002);
    session.after(200);
    session.packet(A, 10_002, 1);
    assert_eq!(session.receiver.line(Line::A).far_ahead, 1);
    let is_reported = |e: &&SessionEvent<_>| matches!(e, SessionEvent::Disbelieved { .. });
    assert_eq!(session.owner.events.iter().filter(is_reported).count(), 1);
}

#[test]
fn one_packet_with_a_wrong_number_changes_nothing() {
    for ahead in [1, 5, 100, 1_000, 100_000, 1 << 20, 1 << 50] {
        for settings in [SessionSettings::default(), with_requests(), with_snapshots()] {
            let mut session = Session::new(settings);
            session.both(1, 2);
            // Its content is that of another message.
            session.bytes(A, wrong(3, 1, ahead));
            session.bytes(A, end_of_session(SESSION, 3 + ahead).to_vec());
            assert_eq!(session.receiver.position().missing, 0);
            for number in 3..2_000 {
                session.packet(A, number, 1);
                session.packet(B, number, 1);
                session.after(number % 3);
                assert_eq!(session.owner.next, number + 1, "{ahead} ahead");
            }
            assert_eq!(session.owner.declared_gaps(), 0);
            assert!(!session.owner.has_ended());
        }
    }
}

#[test]
fn a_server_confirms_a_number_that_no_other_packet_does() {
    let mut session = Session::new(with_requests());
    session.packet(A, 1, 1);
    session.packet(A, 20, 1);
    session.after(2);
    assert_eq!(session.tasks(), [Task::Request { first: 2, count: 8 }]);
    session.packet(ANSWER, 2, 8);
    assert_eq!(session.tasks(), [Task::Request { first: 10, count: 8 }]);
    session.packet(ANSWER, 10, 8);
    session.packet(ANSWER, 18, 2);
    session.after(2);
    assert_eq!((session.owner.next, session.owner.skipped.len()), (21, 0));
    let filled: u64 = session.owner.closed_gaps().map(|gap| gap.fills.retransmitted).sum();
    assert_eq!(filled, 18);
}

#[test]
fn a_session_begins_with_its_lowest_packet_on_any_line() {
    let settings = SessionSettings { join_ns: 50 * MS, ..SessionSettings::default() };
    let mut session = Session { receiver: Receiver::new(settings), ..Session::new(settings) };
    session.packet(A, 11, 5);
    session.after(1);
    session.packet(B, 1, 10);
    assert_eq!(session.owner.delivered, 0, "another packet may be earlier");
    session.after(2);
    assert_eq!((session.owner.delivered, session.owner.next), (15, 16));
}

#[test]
fn heartbeats_of_another_session_and_stray_packets_are_not_joined() {
    let (old, stray) = (Alpha::new(*b"YESTERDAY "), Alpha::new(*b"STRAY     "));
    let settings = SessionSettings { join_ns: 50 * MS, ..SessionSettings::default() };
    let mut session = Session { receiver: Receiver::new(settings), ..Session::new(settings) };
    for _ in 0..10 {
        session.packet_of(old, A, 8, 0);
        session.packet_of(old, B, 8, 0);
        session.after(1_000);
    }
    assert_eq!(session.receiver.session(), None);
    session.packet_of(stray, A, 1, 3);
    for number in 1..10 {
        session.packet(A, number, 1);
        session.packet(B, number, 1);
    }
    session.after(3);
    assert_eq!(session.receiver.session(), Some(SESSION));
    assert_eq!((session.owner.next, session.owner.delivered), (10, 9));
}

#[test]
fn packets_that_were_counted_with_the_session_before_are_not_counted_again() {
    let (stray, later) = (Alpha::new(*b"STRAY     "), Alpha::new(*b"LATER     "));
    let settings = SessionSettings { join_ns: 50 * MS, ..SessionSettings::default() };
    let mut session = Session { receiver: Receiver::new(settings), ..Session::new(settings) };
    session.packet_of(stray, A, 1, 3);
    session.receiver.set_counted_ns(session.now_ns);
    session.after(1);
    session.packet_of(later, B, 1, 3);
    (1..10).for_each(|number| session.both(number, 1));
    session.after(100);
    assert_eq!(session.receiver.session(), Some(SESSION));
    let others = [Line::A, Line::B].map(|line| session.receiver.line(line).other_session);
    assert_eq!(others, [0, 1]);
}

/// The packet in doubt is true: its line brought the one before it later than the hold time.
#[test]
fn what_is_in_doubt_is_published_before_a_snapshot_replaces_it() {
    let settings = SessionSettings { gap_policy: GapPolicy::Flag, ..with_snapshots() };
    let mut session = Session::new(settings);
    (1..357).for_each(|number| session.both(number, 1));
    session.packet(B, 362, 12);
    session.after(4);
    session.packet(A, 384, 10);
    session.packet(B, 383, 12);
    session.after(1);
    session.packet(B, 357, 5);
    session.after(1);
    session.packet(A, 394, 11);
    session.packet(B, 395, 12);
    session.after(20);
    assert!(session.snapshot(407));
    session.after(1);
    assert_eq!((session.owner.next, &*session.owner.skipped), (407, &[(374, 383)][..]));
}

#[test]
fn what_each_line_lost_comes_from_the_other_in_any_order_of_sockets() {
    let lines = [(A, vec![51, 71, 91, 101]), (B, vec![51, 61, 81, 91, 101])];
    for order in [[0, 1], [1, 0]] {
        let mut session = Session::new(SessionSettings::default());
        for number in (1..51).step_by(10) {
            session.both(number, 10);
        }
        for (line, packets) in order.map(|place| &lines[place]) {
            packets.iter().for_each(|&first| session.packet(*line, first, 10));
        }
        session.after(10);
        assert_eq!((session.owner.next, session.owner.skipped.len()), (111, 0), "{order:?}");
        assert_eq!(session.owner.declared_gaps(), 0);
        for (line, missing) in [(Line::A, 20), (Line::B, 10)] {
            let counts = session.receiver.line(line);
            assert_eq!((counts.missing, counts.far_ahead), (missing, 0), "line {line}");
        }
    }
}

#[test]
fn the_copies_of_a_line_without_losses_are_no_dropped_packets() {
    let mut session = Session::new(SessionSettings::default());
    session.both(1, 10);
    for number in (11..1_000).step_by(10) {
        if number % 3 > 0 {
            session.packet(A, number, 10);
        }
        if number % 30 == 1 {
            session.after(1);
        }
        session.packet(B, number, 10);
    }
    let (a, b) = (session.receiver.line(Line::A), session.receiver.line(Line::B));
    assert_eq!((a.far_ahead, b.far_ahead, b.missing), (0, 0, 0));
    assert_eq!(session.owner.next, 1_001);
}

#[test]
fn first_packets_that_waited_in_their_sockets_are_joined_in_their_order() {
    let settings = SessionSettings { join_ns: 50 * MS, ..SessionSettings::default() };
    let mut session = Session { receiver: Receiver::new(settings), ..Session::new(settings) };
    let began_ns = session.now_ns;
    for (line, packets) in [(A, vec![1, 11, 31, 41]), (B, vec![1, 11, 21, 31, 41])] {
        for first in packets {
            session.now_ns = began_ns + first * MS;
            session.packet(line, first, 10);
        }
    }
    session.after(100);
    assert_eq!((session.owner.next, session.owner.delivered), (51, 50));
    assert_eq!(session.owner.skipped, []);
}

/// A session that is joined as a plant joins it.
fn joining() -> Session {
    let settings = SessionSettings { join_ns: 50 * MS, ..SessionSettings::default() };
    Session { receiver: Receiver::new(settings), ..Session::new(settings) }
}

#[test]
fn copies_of_a_stray_packet_are_no_session() {
    let (stray, next) = (Alpha::new(*b"STRAY     "), Alpha::new(*b"NEXT      "));
    let mut session = joining();
    for number in 1..11 {
        session.both(number, 1);
        session.packet_of(stray, A, 7, 3);
        session.after(500);
    }
    for line in [A, B] {
        session.bytes(line, end_of_session(SESSION, 11).to_vec());
    }
    session.after(1_000);
    assert!(session.owner.has_ended());
    assert_eq!(session.receiver.session(), Some(SESSION));
    for number in 1..11 {
        session.packet_of(next, A, number, 1);
        session.packet_of(next, B, number, 1);
    }
    session.after(3);
    assert_eq!((session.receiver.session(), session.owner.next), (Some(next), 11));
}

#[test]
fn an_old_heartbeat_does_not_move_the_beginning() {
    let mut session = joining();
    session.packet(A, 9, 5);
    session.packet(A, 3, 0);
    session.packet(A, 14, 5);
    session.after(60);
    assert_eq!((session.owner.next, session.owner.delivered), (19, 10));
    assert_eq!(session.owner.skipped, []);
}

#[test]
fn a_first_packet_before_a_wide_gap_is_delivered() {
    let mut session = joining();
    session.packet(A, 1, 5);
    session.packet(A, 5_000, 5);
    session.packet(A, 5_005, 5);
    session.after(60);
    assert_eq!((session.owner.next, session.owner.delivered), (5_010, 15));
    assert_eq!(session.owner.skipped, [(6, 5_000)]);
}

#[test]
fn a_packet_in_doubt_that_is_repeated_is_a_duplicate() {
    let mut session = Session::new(SessionSettings::default());
    session.packet(A, 1, 2);
    session.packet(A, 4, 3);
    session.packet(A, 4, 3);
    session.packet(A, 7, 1);
    let counts = session.receiver.line(Line::A);
    assert_eq!((counts.messages, counts.duplicates, counts.missing), (9, 3, 1));
}

#[test]
fn packets_of_other_sessions_before_the_join_are_counted_with_it() {
    let other = Alpha::new(*b"STRAY     ");
    let settings = SessionSettings { lines: 2, ..SessionSettings::default() };
    let mut session = Session::new(settings);
    // One that does not join with its first packet.
    session.receiver = Receiver::new(settings);
    session.packet_of(other, B, 50, 1);
    session.packet(A, 1, 1);
    session.packet(A, 2, 1);
    session.packet(B, 1, 2);
    session.after(100);
    assert_eq!((session.receiver.session(), session.owner.next), (Some(SESSION), 3));
    assert_eq!(session.receiver.line(Line::B).other_session, 1);
    let seen = SessionEvent::OtherSession { origin: B, session: other };
    assert_eq!(session.owner.events.iter().filter(|event| **event == seen).count(), 1);
}

#[test]
fn sessions_that_followed_each_other_are_joined_in_their_order() {
    let [early, late] = [*b"EARLY     ", *b"LATE      "].map(Alpha::new);
    let mut session = Session::new(SessionSettings::default());
    session.both(1, 2);
    // While a gap holds the current session up, two others come; the second one is longer.
    for number in 1..=8 {
        session.packet_of(early, A, number, 1);
    }
    session.after(1);
    for number in 1..=20 {
        session.packet_of(late, A, number, 1);
    }
    for line in [A, B] {
        session.bytes(line, end_of_session(SESSION, 3).to_vec());
    }
    session.after(1);
    assert!(session.owner.has_ended());
    session.after(1);
    assert_eq!((session.receiver.session(), session.owner.next), (Some(early), 9));
}

#[test]
fn messages_below_a_wrong_number_were_not_missing() {
    let mut session = Session::new(SessionSettings::default());
    session.packet(A, 1, 1);
    session.packet(A, 50_000, 1);
    for number in 2..=10 {
        session.packet(A, number, 1);
    }
    session.after(200);
    session.packet(A, 11, 1);
    assert_eq!((session.receiver.overtaken(), session.owner.next), (0, 12));
    assert_eq!(session.receiver.line(Line::A).far_ahead, 1);
    // Below a true one they were: line A had them later than line B.
    session.packet(B, 13, 1);
    session.packet(A, 12, 1);
    session.packet(A, 13, 1);
    assert_eq!((session.receiver.overtaken(), session.owner.next), (1, 14));
}

/// A packet of `count` messages from `first`, with a number that is too high by `ahead`.
fn wrong(first: u64, count: u64, ahead: u64) -> Vec<u8> {
    let mut bytes = bytes_of(SESSION, first, count);
    bytes[10..18].copy_from_slice(&(first + ahead).to_be_bytes());
    bytes
}

#[test]
fn a_number_that_is_little_too_high_takes_no_place_of_a_true_message() {
    for (cut, count, ahead) in
        [(1, 1, 1), (1, 1, 2), (3, 3, 1), (3, 3, 2), (3, 6, 1), (6, 6, 1), (6, 6, 7)]
    {
        let settings = SessionSettings { hold_ns: 60 * MS, ..SessionSettings::default() };
        let mut session = Session::new(settings);
        // Line B has the same messages 7 ms later, one in a packet.
        let mut number = 1;
        let mut behind = 1;
        while behind < 120 {
            match number {
                61 => {
                    session.bytes(A, wrong(61, count, ahead));
                    number += count;
                }
                _ if number < 120 => {
                    session.packet(A, number, cut);
                    number += cut;
                }
                _ => {}
            }
            session.after(1);
            while behind < 120 && behind + 7 < number {
                session.packet(B, behind, 1);
                behind += 1;
            }
            if number >= 120 {
                session.packet(B, behind, 1);
                behind += 1;
            }
        }
        session.after(100);
        let case = format!("{cut} {count} {ahead}");
        assert_eq!(session.owner.skipped, [], "{case}");
        assert!(session.owner.next >= 120, "{case}: {}", session.owner.next);
    }
}

#[test]
fn an_end_is_none_if_a_line_goes_on() {
    for ahead in 0..4 {
        for line in [A, B] {
            let mut session = Session::new(SessionSettings::default());
            session.both(1, 4);
            session.bytes(line, end_of_session(SESSION, 5 + ahead).to_vec());
            session.bytes(line, end_of_session(SESSION, 5 + ahead).to_vec());
            for number in 5..100 {
                session.after(100);
                session.both(number, 1);
                assert_eq!(session.owner.next, number + 1);
            }
            // Heartbeats contradict it too.
            session.bytes(line, end_of_session(SESSION, 100).to_vec());
            for _ in 0..10 {
                session.after(1_000);
                session.both(100, 0);
                assert!(!session.owner.has_ended(), "{line}: {ahead} ahead");
            }
            for _ in 0..20 {
                session.bytes(line, end_of_session(SESSION, 100).to_vec());
                session.after(100);
            }
            assert!(!session.owner.has_ended(), "the other line may go on");
            session.bytes(A, end_of_session(SESSION, 100).to_vec());
            session.bytes(B, end_of_session(SESSION, 100).to_vec());
            assert!(session.owner.has_ended());
        }
    }
}

#[test]
fn a_wrong_number_is_recognised_although_another_socket_was_read_ahead() {
    for missing in [0, 3] {
        let settings = SessionSettings { hold_ns: 5 * MS, ..SessionSettings::default() };
        let mut session = Session::new(settings);
        session.both(1, 4);
        // Both lines wait in their sockets; line A is read first, up to the number of the lie.
        let began_ns = session.now_ns;
        let mut read = |origin, number, bytes: Vec<u8>| {
            let times = (began_ns + number * 5 * MS, began_ns);
            session.receiver.packet(origin, times, &bytes, &mut session.owner);
        };
        for number in 5..100 - missing {
            read(A, number, bytes_of(SESSION, number, 1));
        }
        for number in 5..110 {
            if number == 20 {
                read(B, number, wrong(20, 1, 80 - missing));
            }
            read(B, number, bytes_of(SESSION, number, 1));
        }
        session.now_ns += 110 * 5 * MS;
        session.after(100);
        assert_eq!((session.owner.next, session.owner.skipped.len()), (110, 0), "{missing}");
        assert_eq!(session.receiver.line(Line::B).far_ahead, 1);
    }
}

#[test]
fn a_wrong_number_that_is_sent_twice_changes_nothing() {
    for count in [0, 1] {
        let mut session = Session::new(SessionSettings::default());
        session.both(1, 4);
        for _ in 0..2 {
            session.packet(A, 7, count);
            session.after(300);
        }
        for number in 5..20 {
            session.both(number, 1);
            session.after(300);
        }
        assert_eq!((session.owner.next, session.owner.declared_gaps()), (20, 0));
    }
}

#[test]
fn lines_of_which_none_has_two_messages_in_a_row_give_all_of_them() {
    let lines: Vec<_> = (0..4).map(|index| Line::new(index).unwrap()).collect();
    let settings = SessionSettings { lines: 4, hold_ns: 5 * MS, ..SessionSettings::default() };
    let mut session = Session::new(settings);
    lines.iter().for_each(|&line| session.packet(PacketOrigin::Line(line), 1, 1));
    // Each socket is read in batches.
    for batch in 0..4 {
        for (index, &line) in lines.iter().enumerate() {
            let of_line = |number: &u64| (number * 7 / 3) as usize % 4 == index;
            let numbers = (2 + batch * 200..2 + (batch + 1) * 200).filter(of_line);
            numbers.for_each(|number| session.packet(PacketOrigin::Line(line), number, 1));
        }
    }
    (0..20).for_each(|_| session.after(5));
    assert_eq!((session.owner.next, session.owner.skipped.len()), (802, 0));
}

#[test]
fn a_wrong_number_that_its_line_reaches_later_than_the_hold_time_is_not_used() {
    let settings = SessionSettings { hold_ns: 5 * MS, ..SessionSettings::default() };
    // One line, a message each 4 ms, and 61 has the number 64.
    let mut session = Session::new(settings);
    for number in 1..80 {
        match number {
            61 => session.bytes(A, wrong(61, 1, 3)),
            _ => session.packet(A, number, 1),
        }
        (0..4).for_each(|_| session.after(1));
    }
    assert_eq!((session.owner.next, &session.owner.skipped[..]), (80, &[(61, 62)][..]));
    assert_eq!(session.receiver.line(Line::A).far_ahead, 1);
    // Two lines, two messages each 8 ms, cut differently; line A has 60 and 61 again, as 64 and 65.
    let mut session = Session::new(settings);
    session.both(1, 1);
    for number in (2..80).step_by(2) {
        session.packet(A, number, 2);
        if number == 60 {
            session.bytes(A, wrong(60, 2, 4));
        }
        (0..7).for_each(|_| session.after(1));
        session.packet(B, number + 1, 2);
        session.after(1);
    }
    assert_eq!((session.owner.next, session.owner.skipped.len()), (81, 0));
}
