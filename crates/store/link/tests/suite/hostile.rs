//! Peers that do not keep to the protocol: refused in bounded time and memory, with a reason.

use nanotape_link::{
    Arrival, FRAME_HEADER_BYTES, FrameError, HELLO_MAX_BYTES, HelloError, LinkError, Now, Peer,
    Role,
};
use proptest::prelude::*;

use crate::network::config;

fn at(milliseconds: u64) -> Now {
    let monotonic_ns = milliseconds * 1_000_000;
    Now { monotonic_ns, utc_ns: (1 << 60) + monotonic_ns }
}

fn peer(role: Role, nonce: u64) -> Peer {
    Peer::new(role, config("one", nonce), at(0))
}

/// Gives bytes to a peer, as far as it takes them, and reads its events.
fn give(peer: &mut Peer, mut bytes: &[u8], now: Now) -> Result<usize, LinkError> {
    let mut frames = 0;
    loop {
        let space = peer.space();
        let count = space.len().min(bytes.len());
        space[..count].copy_from_slice(&bytes[..count]);
        peer.arrived(count, now);
        bytes = &bytes[count..];
        loop {
            match peer.next(now)? {
                Arrival::Nothing => break,
                Arrival::Open(_) => {}
                Arrival::Frame { .. } => frames += 1,
            }
        }
        if bytes.is_empty() || count == 0 {
            return Ok(frames);
        }
    }
}

/// The bytes of both sides from the beginning: hellos, and one frame of the connecting side.
fn opened(nonces: [u64; 2]) -> (Peer, Peer) {
    let (mut one, mut other) =
        (peer(Role::Connecting, nonces[0]), peer(Role::Accepting, nonces[1]));
    let hello = one.outgoing().to_vec();
    one.sent(hello.len());
    give(&mut other, &hello, at(1)).unwrap();
    let hello = other.outgoing().to_vec();
    other.sent(hello.len());
    give(&mut one, &hello, at(1)).unwrap();
    (one, other)
}

#[test]
fn a_side_that_says_nothing_is_left_in_time_and_one_that_speaks_slowly_too() {
    let mut silent = peer(Role::Accepting, 1);
    assert_eq!(silent.tick(at(49)), Ok(()));
    assert!(matches!(silent.tick(at(50)), Err(LinkError::NoHello { .. })));
    // A byte every 10 ms is not a hello in time.
    let mut slow = peer(Role::Accepting, 1);
    let hello = peer(Role::Connecting, 2).outgoing().to_vec();
    for (time, byte) in hello.iter().enumerate().take(5) {
        give(&mut slow, &[*byte], at(time as u64 * 10)).unwrap();
    }
    assert!(matches!(slow.tick(at(50)), Err(LinkError::NoHello { .. })));
    // After its hello, five of its heartbeats of 10 ms without a byte.
    let (mut one, _) = opened([1, 2]);
    assert_eq!(one.tick(at(50)), Ok(()));
    assert!(matches!(one.tick(at(51)), Err(LinkError::Silent { .. })));
}

#[test]
fn no_more_than_a_hello_is_taken_before_it_is_one() {
    let mut peer = peer(Role::Accepting, 1);
    let mut taken = 0;
    // The header of a long frame, and then bytes without end.
    let bytes = [[0xff; 1 << 16]].concat();
    loop {
        let space = peer.space();
        let count = space.len().min(bytes.len());
        space[..count].copy_from_slice(&bytes[..count]);
        peer.arrived(count, at(1));
        taken += count;
        match peer.next(at(1)) {
            Err(LinkError::Frame(FrameError::Length { most: HELLO_MAX_BYTES, .. })) => break,
            Ok(Arrival::Nothing) => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(taken <= FRAME_HEADER_BYTES + HELLO_MAX_BYTES, "{taken}");
}

#[test]
fn frames_that_are_sent_again_or_come_from_another_connection_are_refused() {
    let (mut one, mut other) = opened([1, 2]);
    one.send(5, &[b"payload"]).unwrap();
    let frame = one.outgoing().to_vec();
    assert_eq!(give(&mut other, &frame, at(2)), Ok(1));
    let again = FrameError::Number { found: 1, expected: 2 };
    assert_eq!(give(&mut other, &frame, at(2)), Err(again.into()));
    // The whole connection, recorded and played to another side.
    let recorded = [peer(Role::Connecting, 1).outgoing(), &frame].concat();
    let mut third = peer(Role::Accepting, 3);
    assert!(matches!(
        give(&mut third, &recorded, at(2)),
        Err(LinkError::Frame(FrameError::Checksum { number: 1, .. }))
    ));
}

#[test]
fn a_side_with_another_service_learns_why_it_is_refused() {
    let mut stranger = config("stranger", 9);
    stranger.hello.service = *b"OTHER  1";
    let mut stranger = Peer::new(Role::Connecting, stranger, at(0));
    let mut own = peer(Role::Accepting, 1);
    let hello = stranger.outgoing().to_vec();
    stranger.sent(hello.len());
    let refused = give(&mut own, &hello, at(1)).unwrap_err();
    assert!(matches!(refused, LinkError::Hello(HelloError::Service { .. })), "{refused}");
    own.close(&refused.to_string());
    // The hello of the own side is refused by the stranger, too, who sees only that.
    let answer = own.outgoing().to_vec();
    let seen = give(&mut stranger, &answer, at(1)).unwrap_err();
    assert!(matches!(seen, LinkError::Hello(HelloError::Service { .. })), "{seen}");
    // A side that is refused for its name alone gets the reason.
    let (mut one, mut other) = opened([1, 2]);
    other.close("unknown follower \u{7}\u{1F600} `one`");
    let closed = give(&mut one, other.outgoing(), at(2)).unwrap_err();
    let reason = "unknown follower \u{1F600} `one`".to_owned();
    assert_eq!(closed, LinkError::Closed { reason });
}

#[test]
fn frames_of_the_link_at_the_wrong_time_are_refused() {
    for kind in [0xff00_u16, 0xff01, 0xff03, 0xffff] {
        let (mut one, mut other) = opened([1, 2]);
        // The seed is that of the connection, so the frame is made by a side that may send it.
        one.send(0x00ff, &[&[0; 30]]).unwrap();
        let mut frame = one.outgoing().to_vec();
        frame[4..6].copy_from_slice(&kind.to_le_bytes());
        let seed = nanotape_shm::checksum_bytes(0, [1_u64, 2].map(u64::to_le_bytes).as_flattened());
        let seed = if kind == 0xff00 { 0 } else { seed };
        let sum = nanotape_shm::checksum_bytes(seed, &frame[..16]);
        let sum = nanotape_shm::checksum_bytes(sum, &frame[FRAME_HEADER_BYTES..]);
        frame[16..20].copy_from_slice(&sum.to_le_bytes());
        let refused = give(&mut other, &frame, at(2));
        assert_eq!(refused, Err(LinkError::Unexpected { kind, length: 30 }));
    }
}

#[test]
fn a_slow_side_costs_no_more_than_its_buffer() {
    let (mut one, _) = opened([1, 2]);
    let mut sent = 0;
    while one.send(1, &[&[7; 1_000]]).is_ok() {
        sent += 1;
    }
    assert!((5..8).contains(&sent), "{sent}");
    let full = one.send(1, &[&[7; 1_000]]).unwrap_err();
    assert!(full.room < 1_000 && one.outgoing().len() <= 8_000);
    // A heartbeat still has room, and so has the reason of a close.
    let before = one.outgoing().len();
    one.tick(at(12)).unwrap();
    one.close("enough");
    assert_eq!(one.outgoing().len(), before + 2 * FRAME_HEADER_BYTES + 24 + 6);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn bytes_of_any_kind_do_no_harm(
        pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 0..12),
        is_open: bool,
        changes in proptest::collection::vec((0usize..400, any::<u8>()), 0..4),
    ) {
        let (mut one, mut other) = opened([1, 2]);
        if !is_open {
            other = peer(Role::Accepting, 2);
        }
        one.send(3, &[&[1; 200]]).unwrap();
        let mut frame = one.outgoing().to_vec();
        for (at, value) in changes {
            let length = frame.len();
            frame[at % length] = value;
        }
        let _ = give(&mut other, &frame, at(2)).map(|_| {
            pieces.iter().try_for_each(|piece| give(&mut other, piece, at(3)).map(drop))
        });
    }
}
