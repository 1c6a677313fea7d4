//! A gap server sends exactly what was requested, and refuses with the right status.

use std::{net::SocketAddrV4, time::Duration};

use nanotape_exchange::feeds::{
    FeedExchangeOptions, GapFaults, GapLimits, GapServerOptions, RequestLimits,
};
use nanotape_synth::FeedProtocol;
use nanotape_wire::pitch_tcp::{GapRequestFields, GapResponse, GapStatus, LoginStatus};

use super::{
    Messages, Receiver, Running, client::PitchClient, loopback, messages_of, options, translated,
};
use crate::support::day;

/// Options with a gap server, of a feed that sends at once and stays.
fn with_gap(answers: SocketAddrV4, limits: GapLimits) -> FeedExchangeOptions {
    let mut options = options(FeedProtocol::CboePitch, 2);
    options.lines.pace_milli = 0;
    options.lines.linger = Duration::from_secs(120);
    options.gap = Some(GapServerOptions {
        server: loopback(),
        answers,
        limits,
        faults: GapFaults::default(),
        answer_faults: Default::default(),
    });
    options
}

fn request(client: &mut PitchClient, unit: u8, first: u32, count: u16) -> GapStatus {
    let request = GapRequestFields { unit, sequence_number: first, message_count: count };
    client.send(&request.encode());
    let answer = client.next().expect("an answer");
    let answer = GapResponse::wrap(&answer).unwrap();
    assert_eq!(
        (answer.unit(), answer.sequence_number(), answer.message_count()),
        (unit, first, count)
    );
    answer.gap_status()
}

/// Waits until the day is sent: then its last message of unit 2 can be requested.
fn wait_for(client: &mut PitchClient, last: u32) {
    nanotape_harness::eventually("the day is sent", || {
        request(client, 2, last, 1) == GapStatus::Accepted
    });
}

/// The messages that arrived at each socket.
fn received(receiver: Receiver) -> Vec<Vec<(u64, Vec<u8>)>> {
    let of_socket = |packets: Vec<Vec<u8>>| {
        let messages = |packet: &Vec<u8>| messages_of(FeedProtocol::CboePitch, packet).unwrap().1;
        packets.iter().flat_map(messages).collect()
    };
    receiver.packets().into_iter().map(of_socket).collect()
}

#[test]
fn a_request_brings_exactly_the_messages_and_each_refusal_has_its_status() {
    let day = day(3_000, 20, 3);
    let (receiver, answers) = Receiver::start(2);
    let limits = GapLimits { range: 500, ..GapLimits::default() };
    let mut options = with_gap(answers, limits);
    options.logins = vec!["0001:USER:PASSWORD".parse().unwrap()];
    let expected = translated(&day, &options);
    let last = expected[1].len() as u32;
    let feed = Running::start(&day, options);
    let address = feed.addresses.gap.unwrap();
    for (session, password, status) in [
        (b"0002", b"PASSWORD  ", LoginStatus::InvalidSession),
        (b"0001", b"WRONG     ", LoginStatus::NotAuthorised),
    ] {
        let mut refused = PitchClient::connect(address);
        assert_eq!(refused.login(session, b"USER", password), status);
        assert_eq!(refused.next(), None, "the server closes a refused connection");
    }
    let mut client = PitchClient::logged_in(address);
    let mut second = PitchClient::connect(address);
    assert_eq!(second.login(b"0001", b"USER", b"PASSWORD  "), LoginStatus::InUse);
    wait_for(&mut client, last);

    use GapStatus::{Accepted, CountLimit, InvalidUnit, OutOfRange};
    for ((unit, first, count), status) in [
        ((2, last - 300, 100), Accepted),
        ((2, last - 99, 100), Accepted),
        ((2, last - 98, 100), OutOfRange),
        ((2, last - 300, 101), CountLimit),
        ((2, last - 499, 1), Accepted),
        ((2, last - 500, 1), OutOfRange),
        ((2, 0, 1), OutOfRange),
        ((3, 1, 1), InvalidUnit),
        ((0, 1, 1), InvalidUnit),
    ] {
        assert_eq!(
            request(&mut client, unit, first, count),
            status,
            "{count} of {unit} at {first}"
        );
    }
    // A session is free when its client left.
    drop(client);
    nanotape_harness::eventually("the session is free", || {
        let mut client = PitchClient::connect(address);
        client.login(b"0001", b"USER", b"PASSWORD  ") == LoginStatus::Accepted
    });
    std::thread::sleep(Duration::from_millis(200));
    feed.stop.request();
    let summary = feed.summary();
    let received = received(receiver);
    assert!(received[0].is_empty());
    let of = |first: u32, count: u32| {
        let numbers = u64::from(first)..u64::from(first + count);
        numbers.map(|number| (number, expected[1][&number].clone())).collect::<Vec<_>>()
    };
    let requested =
        [of(last, 1), of(last - 300, 100), of(last - 99, 100), of(last - 499, 1)].concat();
    assert!(received[1] == requested);
    let counts = summary.gap.requests;
    assert_eq!((counts.accepted, counts.messages), (4, 202));
    assert_eq!((counts.count_limit, counts.invalid_unit), (1, 2));
    assert_eq!(summary.gap.answers.messages, 202);
    assert!(summary.gap.connections.logins >= 2 && summary.gap.connections.rejected >= 3);
}

#[test]
fn the_limits_of_requests_and_an_unavailable_server_have_their_status() {
    let day = day(1_000, 10, 4);
    let (receiver, answers) = Receiver::start(2);
    for (second, minute, day_limit, faults, expected) in [
        (2, 100, 100, "", GapStatus::SecondLimit),
        (100, 2, 100, "", GapStatus::MinuteLimit),
        (100, 100, 2, "", GapStatus::DayLimit),
        (100, 100, 100, "unavailable=100%", GapStatus::Unavailable),
    ] {
        let requests = RequestLimits { second, minute, day: day_limit };
        let mut options = with_gap(answers, GapLimits { requests, ..GapLimits::default() });
        options.gap.as_mut().unwrap().faults = faults.parse().unwrap();
        let feed = Running::start(&day, options);
        let mut client = PitchClient::logged_in(feed.addresses.gap.unwrap());
        // Two requests in one second may be in two spans: the third one or the fifth is refused.
        let refused = (0..1_000).find_map(|_| {
            let status = request(&mut client, 1, 1, 1);
            let is_refused = ![GapStatus::Accepted, GapStatus::OutOfRange].contains(&status);
            is_refused.then_some(status)
        });
        assert_eq!(refused, Some(expected));
        feed.stop.request();
        feed.summary();
    }
    drop(received(receiver));
}

#[test]
fn gaps_of_both_lines_are_filled_over_answers_that_are_lost_too() {
    let day = day(3_000, 20, 5);
    let ((line, a), (answer_line, answers)) = (Receiver::start(2), Receiver::start(2));
    let requests = RequestLimits { second: 100_000, minute: 100_000, day: 100_000 };
    let mut options = with_gap(answers, GapLimits { requests, ..GapLimits::default() });
    options.lines.pace_milli = 20_000_000;
    options.lines.lines = [Some(a), None];
    options.lines.faults[0] = "drop=20%".parse().unwrap();
    options.gap.as_mut().unwrap().answer_faults = "drop=30%,dup=10%,reorder=10%x3".parse().unwrap();
    let expected = translated(&day, &options);
    let feed = Running::start(&day, options);
    let mut client = PitchClient::logged_in(feed.addresses.gap.unwrap());
    nanotape_harness::eventually("the day is sent", || {
        client.heartbeat();
        request(&mut client, 2, expected[1].len() as u32, 1) == GapStatus::Accepted
    });
    let mut messages: Vec<Messages> =
        received(line).into_iter().map(|messages| messages.into_iter().collect()).collect();
    // Each missing message is requested ten times at once: one answer in three is lost.
    for (unit, (messages, expected)) in (1..).zip(messages.iter().zip(&expected)) {
        for number in expected.keys().filter(|number| !messages.contains_key(number)) {
            for _ in 0..10 {
                let number = *number as u32;
                assert_eq!(request(&mut client, unit, number, 1), GapStatus::Accepted);
            }
        }
    }
    std::thread::sleep(Duration::from_millis(300));
    feed.stop.request();
    let summary = feed.summary();
    for (messages, answers) in messages.iter_mut().zip(received(answer_line)) {
        messages.extend(answers);
    }
    assert!(messages == expected);
    let answers = summary.gap.answers;
    assert!(answers.dropped > 10 && answers.duplicated > 5 && answers.reordered > 5);
    assert_eq!(summary.gap.requests.messages, answers.messages);
}
