//! A node that sends frames of any content.

use std::time::Duration;

use nanotape_harness::Random;
use nanotape_link::{Arrival, Hello, Now, Peer, PeerConfig, Role};
use nanotape_peers::{FRAME_BYTES, MemberState, PeerConnection, PeersError, SERVICE};

use crate::pair::{SECOND_NS, machine};

fn peer(role: Role) -> Peer {
    peer_that_accepts(role, FRAME_BYTES as u32)
}

fn peer_that_accepts(role: Role, most_payload: u32) -> Peer {
    let hello = Hello {
        service: SERVICE,
        session: 7,
        epoch: 0,
        nonce: 1,
        heartbeat_ns: 100_000_000,
        most_payload,
        name: "side".to_owned(),
    };
    let patience = Duration::from_secs(5);
    Peer::new(role, PeerConfig { hello, patience, outgoing_bytes: 2 * FRAME_BYTES }, Now::default())
}

/// Moves all bytes between two peers.
fn exchange(one: &mut Peer, other: &mut Peer, now: Now) {
    for _ in 0..4 {
        one.pass_to(other, now);
        other.pass_to(one, now);
    }
}

/// Takes all frames that came; the last state and the last members among them.
fn drain(peer: &mut Peer, now: Now, kept: &mut [Vec<u8>; 2]) {
    while let Ok(arrival) = peer.next(now) {
        match arrival {
            Arrival::Frame { kind: kind @ (1 | 2), payload } => {
                kept[usize::from(kind) - 1] = payload.to_vec();
            }
            Arrival::Nothing => return,
            _ => {}
        }
    }
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A frame: one as a node sends it, maybe damaged, or any.
fn frame(random: &mut Random, now: Now, kept: &[Vec<u8>; 2]) -> (u16, Vec<u8>) {
    let kind = if random.below(5) == 0 { 2 + random.below(6) as u16 } else { 4 };
    let mut payload = match kind {
        2 => kept[1].clone(),
        3 => words(&[random.number(), random.below(3)]),
        4 => {
            let mut entries = Vec::new();
            for _ in 0..1 + random.index(3) {
                let is_removed = random.below(2);
                let (node, ahead) = (1 + random.below(41) / 20, random.below(1 << 50));
                let value = if is_removed == 1 { 0 } else { random.number() };
                let word = node << 48 | is_removed << 1 | (random.below(2) & is_removed);
                let time_ns = (now.utc_ns + ahead).wrapping_sub(1 << 40);
                entries.extend([random.below(200), value, time_ns, word]);
            }
            words(&entries)
        }
        5 => words(&[random.below(3), random.below(50)]),
        6 => {
            let rest = [random.below(4), random.below(2) * 32, random.below(2)];
            [&kept[0][24..32], &words(&rest)].concat()
        }
        _ => words(&[random.below(7), random.number()]),
    };
    match random.below(16) {
        0 => {
            for _ in 0..1 + random.index(4) {
                let at = random.index(payload.len().max(1));
                if let Some(byte) = payload.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
        }
        1 => payload.truncate(random.index(payload.len() + 1)),
        2 if random.below(2) == 0 => {
            let length = random.index(300);
            payload = random.bytes(length);
        }
        _ => {}
    }
    (if random.below(20) == 0 { random.below(0xff00) as u16 } else { kind }, payload)
}

#[test]
fn a_side_that_does_not_state_its_node_is_not_kept() {
    let mut own = machine(1, &[1, 2]);
    let mut link = PeerConnection::new(peer(Role::Accepting));
    let mut other = peer(Role::Connecting);
    for step in 0..51_u64 {
        let now = own.now(step * SECOND_NS / 10);
        other.tick(now).unwrap();
        exchange(link.peer(), &mut other, now);
        drain(&mut other, now, &mut [Vec::new(), Vec::new()]);
        link.turn(own.node.as_mut().unwrap(), now).unwrap();
    }
    // Its heartbeats have come, and nothing else.
    let now = own.now(51 * SECOND_NS / 10);
    other.tick(now).unwrap();
    exchange(link.peer(), &mut other, now);
    let error = link.turn(own.node.as_mut().unwrap(), now).unwrap_err();
    assert!(matches!(error, PeersError::NoState), "{error}");
}

#[test]
fn a_node_that_accepts_too_short_frames_does_not_join() {
    let mut own = machine(1, &[1, 2]);
    let mut link = PeerConnection::new(peer(Role::Accepting));
    let mut other = peer_that_accepts(Role::Connecting, 71);
    let now = own.now(1);
    exchange(link.peer(), &mut other, now);
    link.turn(own.node.as_mut().unwrap(), now).unwrap();
    drain(&mut other, now, &mut [Vec::new(), Vec::new()]);
    other.send(1, &[&words(&[1, 2, 22, 5, 1 | 1 << 32, 0, 0, 1, 1 << 18])]).unwrap();
    exchange(link.peer(), &mut other, now);
    let error = link.turn(own.node.as_mut().unwrap(), now).unwrap_err();
    assert!(matches!(error, PeersError::Frames { node: 2, most: 71, expected: 72.. }), "{error}");
    let members = own.node.as_ref().unwrap().members();
    assert_eq!(members.member(2).unwrap().state, MemberState::Pending);
}

#[test]
fn frames_of_any_content_do_no_harm() {
    let mut random = Random::new(3);
    let (mut ended, mut merged, mut unsent) = (0, 0, 0);
    for _ in 0..nanotape_harness::campaign(600) {
        let mut own = machine(1, &[1, 2]);
        let mut since_ns = SECOND_NS;
        let own_now_ns = own.now(since_ns).utc_ns;
        own.writer.insert(&[500], &[1], own_now_ns).unwrap();
        let mut link = PeerConnection::new(peer(Role::Accepting));
        let mut other = peer(Role::Connecting);
        let mut kept = [Vec::new(), Vec::new()];
        for turn in 0..25 {
            since_ns += SECOND_NS / 1_000;
            let now = own.now(since_ns);
            exchange(link.peer(), &mut other, now);
            drain(&mut other, now, &mut kept);
            let node = own.node.as_mut().unwrap();
            node.turn(now).unwrap();
            if let Err(error) = link.turn(node, now) {
                ended += 1;
                unsent += u64::from(matches!(error, PeersError::Unsent { .. }));
                break;
            }
            if turn == 1 && !kept[0].is_empty() {
                // It states itself as this node does, under another number.
                let mut state = kept[0].clone();
                state[8..24].copy_from_slice(&words(&[2, 5]));
                if random.below(20) == 0 {
                    let at = random.index(state.len());
                    state[at] ^= 1 << random.below(8);
                }
                let _ = other.send(1, &[&state]);
            } else if turn == 3 && random.below(20) > 0 {
                // The index of this node is the fourth word of its state.
                let _ = other.send(2, &[&kept[1]]);
                let _ = other.send(3, &[&kept[0][24..32], &words(&[0])]);
            } else if turn > 3 {
                let (kind, payload) = frame(&mut random, now, &kept);
                let _ = other.send(kind, &[&payload]);
            }
        }
        merged += own.latest.len() - 1;
        assert!(own.latest.verify().unwrap().is_clean());
        assert!(own.contents().contains_key(&500));
    }
    println!("{ended} ended, {unsent} by an acknowledgement, {merged} entries");
    assert!(ended > 400 && merged > 100 && unsent > 0, "{ended}, {merged}, {unsent}");
}
