//! Any bytes at both ends: no panic, no unbounded memory, and a reason for every end.

use nanotape_feed::soupbintcp::{
    Client, ClientClosed, ClientEvent, ClientOptions, MAX_PACKET_BYTES, Resume, Server,
    ServerClosed, ServerOptions, Violation,
};
use proptest::prelude::*;

use super::{Day, Pair, SESSION};

const ACCEPTED: &[u8] = b"\0\x1fAMONDAY                       7";

#[test]
fn packets_that_break_the_protocol_close_the_client() {
    let after = |before: &[u8], bytes: &[u8]| {
        let mut client = Client::new(ClientOptions::default(), Resume::BEGINNING);
        client.connected(0);
        client.receive(before, 0, |_| {});
        assert_eq!(client.closed(), None);
        client.receive(bytes, 0, |event| panic!("{event:?}"));
        match client.closed() {
            Some(ClientClosed::Violation(violation)) => violation,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(after(b"", b"\0\x02Sx"), Violation::Unexpected(b'S'));
    assert_eq!(after(b"", b"\0\x01Z"), Violation::Unexpected(b'Z'));
    assert_eq!(after(b"", b"\0\0"), Violation::EmptyPacket);
    assert_eq!(after(ACCEPTED, ACCEPTED), Violation::Unexpected(b'A'));
    assert_eq!(after(ACCEPTED, b"\0\x01R"), Violation::Unexpected(b'R'));
    assert!(matches!(after(ACCEPTED, b"\0\x02H?"), Violation::Packet(_)));
    assert!(matches!(after(b"", b"\0\x02A?"), Violation::Packet(_)));
    for number in ["                   0", "                    ", "99999999999999999999"] {
        let accepted = [b"\0\x1fAMONDAY    ", number.as_bytes()].concat();
        assert_eq!(after(b"", &accepted), Violation::Number(b'A'), "{number:?}");
    }
}

#[test]
fn numbers_end_at_sixty_four_bits() {
    let mut client = Client::new(ClientOptions::default(), Resume::BEGINNING);
    client.connected(0);
    let mut numbers = Vec::new();
    let stream = b"\0\x1fAMONDAY    18446744073709551614\0\x01S\0\x01S\0\x01S";
    client.receive(stream, 0, |event| {
        if let ClientEvent::Sequenced { number, .. } = event {
            numbers.push(number);
        }
    });
    assert_eq!(numbers, [u64::MAX - 1]);
    let exhausted = ClientClosed::Violation(Violation::NumbersExhausted);
    assert_eq!(client.closed(), Some(exhausted));
}

#[test]
fn a_packet_of_an_unknown_type_is_skipped_and_a_closed_machine_ignores_the_rest() {
    let mut day = Day::of(1);
    let mut pair = Pair::plain(Resume::BEGINNING);
    pair.settle(&mut day);
    let mut events = Vec::new();
    pair.client.receive(b"\0\x03?ab\0\x01Z\0\x05Smore", 0, |event| {
        events.push(format!("{event:?}"));
    });
    assert_eq!(events, ["Unknown(63)"]);
    assert_eq!(pair.client.closed(), Some(ClientClosed::EndOfSession));
    pair.client.receive(b"\0\x05Smore", 0, |event| panic!("{event:?}"));
    assert_eq!(pair.client.resume(), Resume { session: SESSION, next: 2 });
    pair.server.receive(b"\0\x02?a\0\x02Sa", 0, &mut day, |_| {});
    assert!(matches!(pair.server.closed(), Some(ServerClosed::Violation(_))));
}

/// A stream of packets, some of them valid, and then any bytes.
fn streams() -> impl Strategy<Value = Vec<u8>> {
    let packet =
        (prop::sample::select(b"+AJSUHZLRO?x".to_vec()), prop::collection::vec(any::<u8>(), 0..60));
    let packet = packet.prop_map(|(packet_type, payload)| {
        let length = (1 + payload.len() as u16).to_be_bytes();
        [length.as_slice(), &[packet_type], &payload].concat()
    });
    let valid = prop::sample::select(vec![
        ACCEPTED.to_vec(),
        b"\0\x2fL                                              1".to_vec(),
        b"\0\x05Stext".to_vec(),
        b"\0\x01H".to_vec(),
        b"\0\x01R".to_vec(),
    ]);
    let piece = prop_oneof![3 => valid, 2 => packet, 1 => prop::collection::vec(any::<u8>(), 0..9)];
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_stream_gives_the_same_events_whole_and_in_pieces(
        stream in streams(), sizes in prop::collection::vec(1usize..40, 1..20),
    ) {
        let client = |sizes: &[usize]| {
            let mut client = Client::new(ClientOptions::default(), Resume::BEGINNING);
            client.connected(0);
            let mut events = Vec::new();
            for (turn, piece) in pieces(&stream, sizes).enumerate() {
                client.receive(piece, turn as u64, |event| events.push(format!("{event:?}")));
                client.poll(turn as u64);
            }
            (events, client.closed(), client.resume())
        };
        prop_assert_eq!(client(&[stream.len().max(1)]), client(&sizes));

        let server = |sizes: &[usize]| {
            let mut server = Server::new(ServerOptions::default(), 0);
            let (mut day, mut events) = (Day::of(3), Vec::new());
            for (turn, piece) in pieces(&stream, sizes).enumerate() {
                let turn = turn as u64;
                server.receive(piece, turn, &mut day, |event| events.push(format!("{event:?}")));
                server.poll(turn, &mut day);
                assert!(server.output().len() <= ServerOptions::default().output_bytes);
            }
            (events, server.closed())
        };
        prop_assert_eq!(server(&[stream.len().max(1)]), server(&sizes));
    }
}

/// The bytes in pieces of these sizes in turn.
fn pieces<'a>(bytes: &'a [u8], sizes: &'a [usize]) -> impl Iterator<Item = &'a [u8]> {
    let mut rest = bytes;
    sizes.iter().cycle().map_while(move |&size| {
        let (piece, after) = rest.split_at(size.min(rest.len()));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

#[test]
fn a_stream_of_the_longest_packets_is_kept_one_packet_at_a_time() {
    let mut client = Client::new(ClientOptions::default(), Resume::BEGINNING);
    client.connected(0);
    client.receive(ACCEPTED, 0, |_| {});
    let packet = [b"\xff\xffS".as_slice(), &vec![b'x'; MAX_PACKET_BYTES - 3]].concat();
    let mut messages = 0;
    for piece in [packet.as_slice(), &packet, &packet].concat().chunks(1_000) {
        client.receive(piece, 0, |event| match event {
            ClientEvent::Sequenced { message, .. } => {
                assert_eq!(message.len(), MAX_PACKET_BYTES - 3);
                messages += 1;
            }
            other => panic!("{other:?}"),
        });
    }
    assert_eq!((messages, client.resume().next), (3, 10));
}
