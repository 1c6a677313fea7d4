//! Any messages to a node of a map of several nodes: no panic, a map without damage, and buffers
//! within their bounds.
//!
//! The input is a list of messages, each with its kind and its length. The other side has joined
//! before them, or states itself with the first of them.
#![no_main]

mod side;

use libfuzzer_sys::fuzz_target;
use nanotape_latest::{LatestSpec, LatestWriter};
use nanotape_link::{Arrival, Now, Peer, Role};
use nanotape_peers::{
    FRAME_BYTES, MemoryIndex, MemoryMembers, PeerConnection, PeerNode, PeerOptions, PeerWriter,
    SERVICE, peer_map,
};

use side::side;

const INCARNATION: u64 = 3;

fuzz_target!(|input: &[u8]| {
    let Some((&first, mut rest)) = input.split_first() else { return };
    let user =
        LatestSpec { entries: 20, key_words: 1, value_words: 1, writers: 3, value_layout: 0 };
    let map = LatestWriter::on_heap(peer_map(user).expect("it can exist"), 1).expect("so can this");
    let reader = map.reader();
    let another = || map.another().expect("numbers are free");
    let mut writer = PeerWriter::new(another(), 1).expect("1 is a node");
    let options = PeerOptions { clock_bound_ns: 1_000, ..PeerOptions::new(1, 1, 11, vec![1, 2]) };
    let (index, members) =
        (MemoryIndex::new(INCARNATION, reader.groups()), MemoryMembers::default());
    let mut node = PeerNode::new(another(), index, members, options).expect("it fits its map");
    let mut link = PeerConnection::new(peer(Role::Accepting));
    let mut other = peer(Role::Connecting);
    let mut now = Now { monotonic_ns: 0, utc_ns: 1 << 60 };
    writer.insert(&[500], &[1], now.utc_ns).expect("there is room");
    if first % 4 > 0 {
        let state = [1, 2, 22, 5, 1 | 1 << 32, 0, 0, 1, 1 << 18];
        let members = [2, 0, 1 | 1 << 48 | 1 << 56, 11, 2 | 1 << 48 | 1 << 56, 22];
        for (kind, message) in [(1, &state[..]), (2, &members[..]), (3, &[INCARNATION, 0][..])] {
            pass(&mut link, &mut other, now);
            let bytes: Vec<u8> = message.iter().flat_map(|word| word.to_le_bytes()).collect();
            other.send(kind, &[&bytes]).expect("there is room");
        }
    }
    for _ in 0..60 {
        now.monotonic_ns += 1_000_000;
        now.utc_ns += 1_000_000;
        pass(&mut link, &mut other, now);
        if node.turn(now).and_then(|()| link.turn(&mut node, now)).is_err() {
            break;
        }
        assert!(link.peer().outgoing().len() <= 3 * FRAME_BYTES);
        let Some((&[kind, length], after)) = rest.split_first_chunk() else { break };
        let (payload, after) = after.split_at(usize::from(length).min(after.len()));
        rest = after;
        let _ = other.send(u16::from(kind % 9), &[payload]);
    }
    assert!(reader.verify().expect("it can be read").is_clean());
});

fn peer(role: Role) -> Peer {
    side(role, SERVICE, 0, FRAME_BYTES)
}

/// Moves all bytes between the node and the other side.
fn pass(link: &mut PeerConnection, other: &mut Peer, now: Now) {
    for _ in 0..3 {
        link.peer().pass_to(other, now);
        other.pass_to(link.peer(), now);
    }
    while let Ok(Arrival::Frame { .. } | Arrival::Open(_)) = other.next(now) {}
}
