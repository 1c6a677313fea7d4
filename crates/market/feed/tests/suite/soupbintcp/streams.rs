//! Streams cut anywhere, slow clients, lost connections and the ways in which a session ends.

use nanotape_feed::soupbintcp::{
    Client, ClientClosed, ClientOptions, MAX_PACKET_BYTES, Resume, Server, ServerClosed,
    ServerOptions,
};
use nanotape_harness::Random;

use super::{Day, Pair, SESSION, client_text, server_text};

#[test]
fn a_stream_cut_at_any_byte_gives_the_same_events() {
    let mut day = Day::of(4).ended();
    let mut whole = Pair::plain(Resume::BEGINNING);
    whole.client.send_debug(b"hello", 0).unwrap();
    whole.client.send_unsequenced(b"order", 0).unwrap();
    let to_server = whole.client.output().to_vec();
    whole.carry_to_server(usize::MAX, &mut day);
    let to_client = whole.server.output().to_vec();
    whole.settle(&mut day);
    assert_eq!(whole.client.closed(), Some(ClientClosed::EndOfSession));
    for cut in 0..=to_server.len() {
        let (mut server, mut events) = (Server::new(ServerOptions::default(), 0), Vec::new());
        for piece in [&to_server[..cut], &to_server[cut..]] {
            server.receive(piece, 0, &mut day, |event| events.push(server_text(event)));
        }
        assert_eq!(events, whole.server_events, "cut at {cut}");
    }
    for cut in 0..=to_client.len() {
        let mut client = Client::new(ClientOptions::default(), Resume::BEGINNING);
        client.connected(0);
        let mut events = Vec::new();
        for piece in [&to_client[..cut], &to_client[cut..]] {
            client.receive(piece, 0, |event| events.push(client_text(event)));
        }
        assert_eq!(events, whole.client_events, "cut at {cut}");
        assert_eq!(client.closed(), whole.client.closed(), "cut at {cut}");
    }
}

#[test]
fn every_message_arrives_once_over_connections_that_are_lost_at_any_byte() {
    for seed in 0..50 {
        let (mut random, mut day) = (Random::new(seed), Day::of(0));
        let mut pair = Pair::plain(Resume::BEGINNING);
        let mut connections = 0;
        while pair.client.closed() != Some(ClientClosed::EndOfSession) {
            day.count = (day.count + random.below(10)).min(300);
            day.is_over = day.count == 300;
            pair.wait(random.below(1_000_000_000), &mut day);
            pair.carry_to_server(random.index(40), &mut day);
            pair.carry_to_client(random.index(400), &mut day);
            if pair.client.closed().is_none() && random.below(20) == 0 {
                pair.client.disconnected();
                assert_eq!(pair.client.closed(), Some(ClientClosed::ConnectionLost));
                pair.client.connected(pair.now_ns);
                pair.server = Server::new(ServerOptions::default(), pair.now_ns);
                connections += 1;
            }
            assert!(connections < 1_000, "seed {seed}");
        }
        let numbers = pair.client_events.iter().filter_map(|event| event.parse().ok());
        assert_eq!(numbers.collect::<Vec<u64>>(), (1..=300).collect::<Vec<_>>(), "seed {seed}");
        assert_eq!(pair.client.resume(), Resume { session: SESSION, next: 301 });
    }
}

#[test]
fn a_slow_client_costs_one_output_and_is_disconnected_with_a_count() {
    let options = ServerOptions { output_bytes: 0, ..ServerOptions::default() };
    let mut day = Day::of(100_000);
    let mut pair = Pair::new(ClientOptions::default(), Resume::BEGINNING, options);
    pair.carry_to_server(usize::MAX, &mut day);
    let full = pair.server.output().len();
    assert!(full <= MAX_PACKET_BYTES && full > MAX_PACKET_BYTES - 100, "{full}");
    // Every byte that is taken restarts the time, and makes room.
    for _ in 0..20 {
        pair.wait(14_000_000_000, &mut day);
        assert_eq!(pair.carry_to_client(100, &mut day), 100);
        // The client lives: it sends heartbeats.
        pair.carry_to_server(usize::MAX, &mut day);
        assert!(pair.server.output().len() <= MAX_PACKET_BYTES);
    }
    let unsent_messages = 100_001 - pair.server.next_number();
    let unsent_bytes = pair.server.output().len() as u64;
    assert_eq!(pair.server.next_deadline(), Some(pair.now_ns + 15_000_000_000));
    pair.wait(14_999_999_999, &mut day);
    pair.carry_to_server(usize::MAX, &mut day);
    assert_eq!(pair.server.closed(), None);
    pair.wait(1, &mut day);
    let slow = ServerClosed::Slow { unsent_bytes, unsent_messages };
    assert_eq!(pair.server.closed(), Some(slow));
    assert!(unsent_messages > 90_000 && pair.server.is_finished());
    assert_eq!(pair.server.next_deadline(), None);
}

#[test]
fn a_full_output_refuses_a_packet_and_keeps_what_it_has() {
    let options = ClientOptions { output_bytes: 0, ..ClientOptions::default() };
    let mut client = Client::new(options, Resume::BEGINNING);
    assert!(client.send_unsequenced(b"before the connection", 0).is_err());
    client.connected(0);
    assert_eq!(client.output().len(), 49);
    let full = client.send_unsequenced(&[b'x'; 13], 0).unwrap_err();
    assert_eq!((full.need, full.room), (16, 15));
    client.send_unsequenced(&[b'x'; 12], 0).unwrap();
    assert_eq!(client.log_out(0).unwrap_err().room, 0);
    assert_eq!(client.output().len(), 64);
    client.sent(49, 0);
    client.log_out(0).unwrap();
    assert_eq!(client.output(), b"\0\x0dUxxxxxxxxxxxx\0\x01O");
    assert!(client.send_debug(&vec![0; 70_000], 0).is_err(), "longer than any packet");
}

#[test]
fn each_end_of_a_connection_has_its_reason() {
    let mut day = Day::of(2);
    let mut pair = Pair::plain(Resume::BEGINNING);
    pair.settle(&mut day);
    pair.client.log_out(0).unwrap();
    pair.settle(&mut day);
    assert_eq!(pair.server.closed(), Some(ServerClosed::LoggedOut));
    assert_eq!(pair.client.closed(), None, "messages may arrive until the server closes");
    pair.client.disconnected();
    assert_eq!(pair.client.closed(), Some(ClientClosed::LoggedOut));

    let mut pair = Pair::plain(Resume::BEGINNING);
    pair.settle(&mut day);
    pair.server.disconnected();
    assert_eq!(pair.server.closed(), Some(ServerClosed::ConnectionLost));

    // The end of the session comes after the last message, and is sent before the end.
    let mut pair = Pair::plain(Resume::BEGINNING);
    let mut over = Day::of(2).ended();
    pair.carry_to_server(usize::MAX, &mut over);
    assert_eq!(pair.server.closed(), Some(ServerClosed::EndOfSession));
    assert!(!pair.server.is_finished());
    pair.settle(&mut over);
    assert!(pair.server.is_finished());
    assert_eq!(pair.client.closed(), Some(ClientClosed::EndOfSession));
    assert_eq!(pair.client_events[1..], ["1", "2"]);

    let mut pair = Pair::plain(Resume::BEGINNING);
    day.missing = Some(2);
    pair.settle(&mut day);
    assert_eq!(pair.server.closed(), Some(ServerClosed::Missing { number: 2 }));
}
