//! Heartbeats, dead links and the time to log in.

use std::{
    cell::Cell,
    io::{Read as _, Write as _},
    net::TcpListener,
    thread,
    time::Duration,
};

use nanotape_feed::soupbintcp::{
    ClientClosed, ClientOptions, Resume, Server, ServerClosed, ServerOptions, attended_ns,
    fetch_messages,
};
use nanotape_types::Alpha;

use super::{Day, Pair};

const SECOND: u64 = 1_000_000_000;

#[test]
fn both_sides_send_a_heartbeat_after_each_second_without_sending() {
    let mut day = Day::of(1);
    let mut pair = Pair::plain(Resume::BEGINNING);
    pair.settle(&mut day);
    for _ in 0..100 {
        assert_eq!(pair.client.next_deadline(), Some(pair.now_ns + SECOND));
        assert_eq!(pair.server.next_deadline(), Some(pair.now_ns + SECOND));
        pair.wait(SECOND - 1, &mut day);
        assert!(pair.client.output().is_empty() && pair.server.output().is_empty());
        pair.wait(1, &mut day);
        assert_eq!(pair.client.output(), b"\0\x01R");
        assert_eq!(pair.server.output(), b"\0\x01H");
        pair.wait(SECOND, &mut day);
        assert_eq!(pair.client.output().len(), 3, "unsent bytes need no second heartbeat");
        pair.settle(&mut day);
    }
    assert_eq!((pair.client.closed(), pair.server.closed()), (None, None));
    assert_eq!(pair.client_events.len(), 2, "a heartbeat is no event");
}

#[test]
fn a_silent_link_is_dead_after_fifteen_seconds() {
    let mut day = Day::of(1);
    let mut pair = Pair::plain(Resume::BEGINNING);
    pair.settle(&mut day);
    pair.wait(15 * SECOND - 1, &mut day);
    assert_eq!(pair.client.closed(), None);
    pair.wait(1, &mut day);
    let silent_ns = 15 * SECOND;
    assert_eq!(pair.client.closed(), Some(ClientClosed::Silence { silent_ns }));
    assert_eq!(pair.client.next_deadline(), None);
    assert_eq!(pair.server.closed(), Some(ServerClosed::Silence { silent_ns }));
    assert_eq!(pair.client.resume().next, 2, "a new connection continues");
}

#[test]
fn a_client_of_410_chooses_how_long_it_may_be_silent() {
    let mut day = Day::of(1);
    let options = ClientOptions { heartbeat_timeout_ms: Some(3_000), ..ClientOptions::default() };
    let mut pair = Pair::new(options, Resume::BEGINNING, ServerOptions::default());
    pair.settle(&mut day);
    pair.wait(3 * SECOND - 1, &mut day);
    assert_eq!(pair.server.closed(), None);
    pair.wait(1, &mut day);
    assert_eq!(pair.server.closed(), Some(ServerClosed::Silence { silent_ns: 3 * SECOND }));
}

#[test]
fn a_login_has_thirty_seconds() {
    let mut server = Server::new(ServerOptions::default(), 7);
    let mut day = Day::of(1);
    assert_eq!(server.next_deadline(), Some(7 + 30 * SECOND));
    server.receive(b"\0\x2fL", 20 * SECOND, &mut day, |event| panic!("{event:?}"));
    server.poll(7 + 30 * SECOND - 1, &mut day);
    assert_eq!(server.closed(), None);
    server.poll(7 + 30 * SECOND, &mut day);
    assert_eq!(server.closed(), Some(ServerClosed::LoginTimeout { waited_ns: 30 * SECOND }));
}

#[test]
fn a_client_whose_login_is_not_answered_closes() {
    let mut pair = Pair::plain(Resume::BEGINNING);
    pair.wait(15 * SECOND, &mut Day::of(1));
    assert!(matches!(pair.client.closed(), Some(ClientClosed::Silence { .. })));
}

#[test]
fn the_time_in_which_a_process_is_stopped_is_not_that_of_the_server() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut login = [0; 128];
        assert!(stream.read(&mut login).unwrap() > 0);
        stream.write_all(b"\0\x1fADAY                          1").unwrap();
        (0..100).for_each(|_| stream.write_all(b"\0\x02Sx").unwrap());
    });
    let calls = Cell::new(0);
    // Once the client has connected, a minute passes until it goes on.
    let now_ns = attended_ns(|| {
        calls.set(calls.get() + 1);
        calls.get() + u64::from(calls.get() > 3) * 60 * SECOND
    });
    let (mut numbers, mut packets) = (1..101, Vec::new());
    let fetched = fetch_messages(
        (address, Duration::from_secs(5)),
        ClientOptions::default(),
        Alpha::new(*b"DAY       "),
        &mut numbers,
        &now_ns,
        |since_ns| now_ns().saturating_sub(since_ns) >= 5 * SECOND,
        |_, next| packets.push(next),
    );
    server.join().unwrap();
    assert!(fetched.is_ok() && calls.get() > 3, "{fetched:?}");
    assert_eq!((numbers, packets.last()), (101..101, Some(&101)));
}
