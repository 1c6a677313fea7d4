//! Logins: who is accepted, in which session, and from which number.

use nanotape_feed::soupbintcp::{
    Client, ClientClosed, ClientOptions, Resume, Server, ServerClosed, ServerOptions, Violation,
};
use nanotape_types::Alpha;
use nanotape_wire::soupbintcp::RejectReason;

use super::{Day, Pair, SESSION};

fn resume(session: &[u8; 10], next: u64) -> Resume {
    Resume { session: Alpha::new(*session), next }
}

#[test]
fn a_login_starts_at_the_requested_number_or_at_the_next_generated_one() {
    for (requested, next) in [(0, 6), (1, 1), (3, 3), (5, 5), (6, 6), (7, 6), (u64::MAX, 6)] {
        let mut day = Day::of(5);
        let mut pair = Pair::plain(Resume { next: requested, ..Resume::BEGINNING });
        pair.settle(&mut day);
        let mut expected = vec![format!("accepted MONDAY: requested {requested}, next {next}")];
        expected.extend((next..=5).map(|number| number.to_string()));
        assert_eq!(pair.client_events, expected);
        assert_eq!(pair.server_events, [format!("requested {requested}, next {next}")]);
        assert_eq!(pair.client.resume(), Resume { session: SESSION, next: 6 });
        assert!(pair.client.is_logged_in() && pair.server.is_logged_in());
        day.count += 2;
        pair.wait(1, &mut day);
        pair.settle(&mut day);
        assert_eq!(pair.client_events[pair.client_events.len() - 2..], ["6", "7"]);
        assert_eq!(day.opened, 1);
    }
}

#[test]
fn a_session_is_compared_without_its_padding() {
    for session in [b"MONDAY    ", b"    MONDAY", b"  MONDAY  ", b"          "] {
        let mut pair = Pair::plain(resume(session, 1));
        pair.settle(&mut Day::of(1));
        assert!(pair.client.is_logged_in(), "{:?}", session.escape_ascii());
    }
    for session in [b"TUESDAY   ", b"monday    ", b"MON DAY   "] {
        let mut day = Day::of(1);
        let mut pair = Pair::plain(resume(session, 1));
        pair.settle(&mut day);
        let why = RejectReason::SessionNotAvailable;
        assert_eq!(pair.client.closed(), Some(ClientClosed::Rejected(why)));
        assert_eq!(pair.server.closed(), Some(ServerClosed::Rejected(why)));
        assert!(pair.server.is_finished() && day.opened == 0);
        assert_eq!(pair.client.resume(), resume(session, 1), "a later login requests the same");
    }
}

#[test]
fn username_and_password_are_compared_without_case_and_padding() {
    let credentials = Some((Alpha::new(*b"ALICE "), Alpha::new(*b"secret    ")));
    let server = ServerOptions { credentials, ..ServerOptions::default() };
    for (username, password, is_accepted) in [
        (*b"ALICE ", *b"secret    ", true),
        (*b"alice ", *b"    SECRET", true),
        (*b"ALICE ", *b"secret1   ", false),
        (*b"BOB   ", *b"secret    ", false),
        (*b"      ", *b"          ", false),
    ] {
        let (username, password) = (Alpha::new(username), Alpha::new(password));
        let options = ClientOptions { username, password, ..ClientOptions::default() };
        let mut pair = Pair::new(options, Resume::BEGINNING, server);
        pair.settle(&mut Day::of(0));
        assert_eq!(pair.client.is_logged_in(), is_accepted, "{username} {password}");
        let refused = ClientClosed::Rejected(RejectReason::NotAuthorised);
        assert_eq!(pair.client.closed(), (!is_accepted).then_some(refused));
    }
}

#[test]
fn the_login_of_each_version_has_its_length() {
    for (heartbeat_timeout_ms, length) in [(None, 49), (Some(2_000), 54)] {
        let options = ClientOptions { heartbeat_timeout_ms, ..ClientOptions::default() };
        let mut client = Client::new(options, Resume::NEWEST);
        client.connected(0);
        assert_eq!(client.output().len(), length);
        assert_eq!(&client.output()[29..49], b"                   0");
    }
}

#[test]
fn a_login_must_be_the_first_packet_and_have_a_number() {
    let first = |bytes: &[u8]| {
        let mut server = Server::new(ServerOptions::default(), 0);
        server.receive(bytes, 0, &mut Day::of(1), |event| panic!("{event:?}"));
        assert!(server.is_finished(), "nothing is sent to a client that breaks the protocol");
        server.closed().unwrap()
    };
    assert_eq!(first(b"\0\x01R"), ServerClosed::Violation(Violation::Unexpected(b'R')));
    assert_eq!(first(b"\0\x02Ux"), ServerClosed::Violation(Violation::Unexpected(b'U')));
    assert_eq!(first(b"\0\0"), ServerClosed::Violation(Violation::EmptyPacket));
    let login = [b"\0\x2fL".as_slice(), &[b' '; 46]].concat();
    assert_eq!(first(&login), ServerClosed::Violation(Violation::Number(b'L')));
}
