//! Both ends of a SoupBinTCP session on any bytes, in pieces of any size and at any time: no panic,
//! a bounded output, numbers without a gap, and nothing after the end.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nanotape_feed::soupbintcp::{
    Client, ClientEvent, ClientOptions, MessageStore, Resume, Server, ServerOptions,
};
use nanotape_types::Alpha;

/// A day of ten messages.
struct Day(u64);

impl MessageStore for Day {
    fn session(&self) -> Alpha<10> {
        Alpha::new(*b"MONDAY    ")
    }

    fn next(&self) -> u64 {
        self.0
    }

    fn is_over(&self) -> bool {
        self.0 > 10
    }

    fn message(&mut self, number: u64) -> Option<&[u8]> {
        assert!((1..self.0).contains(&number));
        Some(b"a message")
    }
}

fuzz_target!(|bytes: &[u8]| {
    client(bytes);
    server(bytes);
});

/// The stream in pieces: each begins with its length and the seconds until it arrives.
fn pieces(bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (&[length, seconds], after) = rest.split_first_chunk()?;
        let (piece, after) = after.split_at(usize::from(length).min(after.len()));
        rest = after;
        Some((u64::from(seconds % 16) * 1_000_000_000, piece))
    })
}

fn client(bytes: &[u8]) {
    let mut client = Client::new(ClientOptions::default(), Resume::BEGINNING);
    client.connected(0);
    let (mut now, mut expected) = (0, None);
    for (wait, piece) in pieces(bytes) {
        now += wait;
        client.poll(now);
        let was_closed = client.closed();
        client.receive(piece, now, |event| {
            assert!(was_closed.is_none());
            match event {
                ClientEvent::Accepted { next, .. } => expected = Some(next),
                ClientEvent::Sequenced { number, .. } => {
                    assert_eq!(expected, Some(number));
                    expected = Some(number + 1);
                }
                _ => {}
            }
        });
        assert!(was_closed.is_none() || client.closed() == was_closed);
        assert!(client.output().len() <= ClientOptions::default().output_bytes);
        assert_eq!(client.next_deadline().is_some(), client.closed().is_none());
        client.sent(piece.len(), now);
    }
}

fn server(bytes: &[u8]) {
    let options = ServerOptions { output_bytes: 0, ..ServerOptions::default() };
    let (mut server, mut day) = (Server::new(options, 0), Day(1));
    let mut now = 0;
    for (wait, piece) in pieces(bytes) {
        now += wait;
        day.0 = (day.0 + 1).min(11);
        let was_closed = server.closed();
        server.receive(piece, now, &mut day, |_| assert!(was_closed.is_none()));
        server.poll(now, &mut day);
        assert!(was_closed.is_none() || server.closed() == was_closed);
        assert!(server.output().len() <= nanotape_feed::soupbintcp::MAX_PACKET_BYTES);
        server.sent(piece.len(), now);
    }
}
