//! An image and the messages after it give the books of the whole day.

use std::time::Duration;

use nanotape_exchange::feeds::SpinServerOptions;
use nanotape_synth::FeedProtocol;
use nanotape_types::NanosSinceMidnight;
use nanotape_wire::pitch_tcp::{
    Message, SpinFinished, SpinImageAvailable, SpinRequestFields, SpinResponse, SpinStatus,
};

use super::{
    Messages, Running, books::NaiveBooks, client::PitchClient, loopback, options, translated,
};
use crate::support::day;

const UNITS: u8 = 2;

/// The next announcement of an image.
fn announced(client: &mut PitchClient) -> u32 {
    loop {
        client.heartbeat();
        let message = client.next().expect("an announcement");
        if let Ok(Message::SpinImageAvailable(image)) = Message::decode(&message) {
            return image.sequence_number();
        }
    }
}

fn request(client: &mut PitchClient, sequence_number: u32) {
    client.send(&SpinRequestFields { sequence_number }.encode());
}

/// The next response, and the order count in it.
fn response(client: &mut PitchClient) -> (u32, SpinStatus, u32) {
    loop {
        let message = client.next().expect("a response");
        if SpinImageAvailable::wrap(&message).is_ok_and(|_| message[1] == 0x80) {
            continue;
        }
        let response = SpinResponse::wrap(&message).unwrap();
        return (response.sequence_number(), response.spin_status(), response.order_count());
    }
}

/// The messages of an image that was accepted, up to Spin Finished with the same number.
fn image(client: &mut PitchClient, sequence: u32) -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    loop {
        let message = client.next().expect("the image");
        match Message::decode(&message).unwrap() {
            Message::SpinFinished(_) => {
                let finished = SpinFinished::wrap(&message).unwrap();
                assert_eq!(finished.sequence_number(), sequence);
                return messages;
            }
            Message::Time(_)
            | Message::AddOrderShort(_)
            | Message::AddOrderLong(_)
            | Message::AddOrderExpanded(_)
            | Message::TradingStatus(_) => messages.push(message),
            other => panic!("{other:?} in an image"),
        }
    }
}

/// Checks an image against the books of the messages up to its number, and of those after it.
fn check(image: &[Vec<u8>], orders: u32, sequence: u32, day: &Messages) {
    let sequence = u64::from(sequence);
    let mut expected = NaiveBooks::of(day.range(..=sequence).map(|(_, message)| message));
    let mut books = NaiveBooks::of(image);
    assert!(books == expected, "the image of message {sequence}");
    assert_eq!(books.orders(), orders as usize);
    for (number, message) in day.range(sequence + 1..) {
        books.apply(message);
        expected.apply(message);
        assert!(books == expected, "message {number} after the image of {sequence}");
    }
}

#[test]
fn an_image_and_what_comes_after_it_give_the_books_of_the_day() {
    let day = day(6_000, 20, 6);
    let mut options = options(FeedProtocol::CboePitch, UNITS);
    // Half of the day in three seconds, so that orders stay open.
    options.lines.pace_milli = 10_000_000;
    options.lines.until = Some(NanosSinceMidnight::from_hms(13, 0, 0));
    options.lines.linger = Duration::from_secs(60);
    options.spin = Some(SpinServerOptions { server: loopback(), faults: Default::default() });
    let whole = translated(&day, &options);
    let feed = Running::start(&day, options);
    let mut found = 0;
    for (address, messages) in feed.addresses.spins.iter().zip(&whole) {
        let mut client = PitchClient::logged_in(*address);
        let (mut before, mut images) = (None, 0);
        // Images while the day is sent, and the one of its end.
        loop {
            let sequence = announced(&mut client);
            request(&mut client, sequence);
            let (number, status, orders) = response(&mut client);
            assert_eq!((number, status), (sequence, SpinStatus::Accepted));
            let image = image(&mut client, sequence);
            check(&image, orders, sequence, messages);
            images += 1;
            found += orders;
            if before.replace(sequence) == Some(sequence) && orders > 0 {
                break;
            }
            assert!(images < 30, "the day ends");
        }
        for wrong in [before.unwrap() + 1, 0x7fff_ffff] {
            request(&mut client, wrong);
            assert_eq!(response(&mut client), (wrong, SpinStatus::OutOfRange, 0));
        }
    }
    feed.stop.request();
    let summary = feed.summary();
    let counts = summary.spin.requests;
    assert!(found > 100, "{found} orders");
    assert_eq!((counts.orders, counts.finished), (found.into(), counts.accepted));
    assert_eq!((counts.out_of_range, summary.spin.connections.logins), (4, UNITS.into()));
}

#[test]
fn a_second_request_while_an_image_is_sent_is_refused() {
    let day = day(60_000, 500, 7);
    let mut options = options(FeedProtocol::CboePitch, 1);
    options.lines.pace_milli = 0;
    options.lines.until = Some(NanosSinceMidnight::from_hms(12, 0, 0));
    options.lines.linger = Duration::from_secs(60);
    options.spin = Some(SpinServerOptions { server: loopback(), faults: Default::default() });
    let feed = Running::start(&day, options);
    let mut client = PitchClient::logged_in(feed.addresses.spins[0]);
    let mut sequence = announced(&mut client);
    loop {
        let next = announced(&mut client);
        if std::mem::replace(&mut sequence, next) == next && next > 0 {
            break;
        }
    }
    // Both requests in one write: the server has both before it sends more than the response.
    let both = [sequence, sequence].map(|sequence_number| {
        super::client::unit(&SpinRequestFields { sequence_number }.encode())
    });
    std::io::Write::write_all(&mut client.stream, &both.concat()).unwrap();
    let (_, status, orders) = response(&mut client);
    assert!(status == SpinStatus::Accepted && orders > 1_000, "{orders}");
    assert_eq!(response(&mut client), (sequence, SpinStatus::InProgress, 0));
    let adds = image(&mut client, sequence);
    let adds = adds.iter().filter(|message| [0x21, 0x22, 0x2f].contains(&message[1]));
    assert_eq!(adds.count(), orders as usize);
    feed.stop.request();
    assert_eq!(feed.summary().spin.requests.in_progress, 1);
}
