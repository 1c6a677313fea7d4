//! Sides that send frames that are valid, with messages that are not.

use std::time::Duration;

use nanotape_harness::{Random, Scratch};
use nanotape_journal::{Appender, Folder, Replica, SegmentHead};
use nanotape_link::{Arrival, Hello, Now, Peer, PeerConfig, Role};
use nanotape_replication::{
    FRAME_BYTES, FollowError, FollowOptions, Followed, FollowerLink, LeaderError, LeaderLink,
    LeaderOptions, SERVICE,
};

use crate::running::{MODE, append, contents, options};

pub(crate) fn peer(role: Role, epoch: u64) -> Peer {
    let hello = Hello {
        service: SERVICE,
        session: 7,
        epoch,
        nonce: 1,
        heartbeat_ns: 100_000_000,
        most_payload: FRAME_BYTES as u32,
        name: "side".to_owned(),
    };
    let patience = Duration::from_secs(5);
    Peer::new(role, PeerConfig { hello, patience, outgoing_bytes: 3 * FRAME_BYTES }, Now::default())
}

/// Moves all bytes between two peers.
pub(crate) fn exchange(one: &mut Peer, other: &mut Peer, now: Now) {
    for _ in 0..8 {
        one.pass_to(other, now);
        other.pass_to(one, now);
    }
}

fn drain(peer: &mut Peer, now: Now) {
    while let Ok(arrival) = peer.next(now) {
        if arrival == Arrival::Nothing {
            return;
        }
    }
}

/// Words as a message has them: small, so that some are good, or any.
fn payload(random: &mut Random) -> Vec<u8> {
    let words = random.index(30);
    let mut bytes = Vec::new();
    for _ in 0..words {
        let word = match random.below(4) {
            0 => random.number(),
            1 => u64::MAX,
            _ => random.below(10),
        };
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    let extra = random.index(9);
    bytes.extend(random.bytes(extra));
    bytes
}

#[test]
fn messages_of_any_kind_do_a_leader_no_harm() {
    let scratch = Scratch::folder("hostile");
    let mut appender = Appender::open(scratch.path(), &options()).unwrap();
    append(&mut appender, 300);
    let before = contents(scratch.path());
    let mut random = Random::new(1);
    let (mut ended, mut turns) = (0, 0);
    for _ in 0..300 {
        let disk = Folder::new(scratch.path(), MODE);
        let mut link = LeaderLink::new(disk, peer(Role::Accepting, 1), LeaderOptions::default());
        let mut other = peer(Role::Connecting, random.below(3));
        let mut now = Now { monotonic_ns: 1, utc_ns: 1 };
        for _ in 0..20 {
            now.monotonic_ns += 1_000_000;
            exchange(link.peer(), &mut other, now);
            drain(&mut other, now);
            turns += 1;
            if link.turn(now).is_err() {
                ended += 1;
                break;
            }
            let kind = if random.below(4) == 0 { random.below(0xff00) } else { random.below(5) };
            let _ = other.send(kind as u16, &[&payload(&mut random)]);
        }
    }
    assert!(ended > 200 && turns > 500, "{ended} ended, {turns} turns");
    assert_eq!(contents(scratch.path()), before);
}

#[test]
fn what_was_not_sent_cannot_be_acknowledged() {
    let scratch = Scratch::folder("hostile");
    let mut appender = Appender::open(scratch.path(), &options()).unwrap();
    append(&mut appender, 10);
    for (next_sequence, on_disk) in [(1 << 40, 0), (2, 0), (1, 2), (0, u64::MAX)] {
        let disk = Folder::new(scratch.path(), MODE);
        let mut link = LeaderLink::new(disk, peer(Role::Accepting, 1), LeaderOptions::default());
        let mut other = peer(Role::Connecting, 0);
        let now = Now { monotonic_ns: 1, utc_ns: 1 };
        exchange(link.peer(), &mut other, now);
        drain(&mut other, now);
        link.turn(now).unwrap();
        let progress = [0, next_sequence, on_disk, 0, 0].map(u64::to_le_bytes);
        other.send(2, &[progress.as_flattened()]).unwrap();
        exchange(link.peer(), &mut other, now);
        let error = link.turn(now).unwrap_err();
        assert!(matches!(error, LeaderError::Unsent { .. }), "{error}");
        assert_eq!(link.status().progress.next_sequence, 0);
    }
}

#[test]
fn an_excerpt_longer_than_its_segment_is_refused_before_it_fills_memory() {
    let (source, copy) = (Scratch::folder("hostile"), Scratch::folder("hostile"));
    let mut appender = Appender::open(source.path(), &options()).unwrap();
    append(&mut appender, 1);
    let head = SegmentHead::of(&Folder::new(source.path(), MODE), 1).unwrap().unwrap();
    let replica = Replica::open(copy.path(), MODE).unwrap();
    let follow = FollowOptions::default();
    let mut link = FollowerLink::new(replica, peer(Role::Connecting, 0), follow);
    let mut other = peer(Role::Accepting, 1);
    let now = Now { monotonic_ns: 1, utc_ns: 1 };
    exchange(link.peer(), &mut other, now);
    drain(&mut other, now);
    link.turn(now).unwrap();
    // A resume and a segment, and then only parts of an excerpt.
    other.send(16, &[&[0; 32]]).unwrap();
    other.send(17, &[&head.to_bytes()]).unwrap();
    let mut sent_bytes = 0;
    let error = loop {
        exchange(link.peer(), &mut other, now);
        drain(&mut other, now);
        match link.turn(now) {
            Ok(Followed::Joins(_)) => link.join(),
            Ok(_) => {}
            Err(error) => break error,
        }
        other.send(20, &[&[1; 4096]]).unwrap();
        sent_bytes += 4096;
    };
    assert!(matches!(error, FollowError::Parts { .. }), "{error}");
    assert!(sent_bytes <= options().segment_bytes + 4096, "{sent_bytes}");
}

#[test]
fn messages_of_any_kind_change_nothing_good_in_a_copy() {
    let scratch = Scratch::folder("hostile");
    let mut random = Random::new(2);
    let mut ended = 0;
    let mut appender = Appender::open(scratch.path(), &options()).unwrap();
    append(&mut appender, 300);
    drop(appender);
    let before = contents(scratch.path());
    for _ in 0..200 {
        let replica = Replica::open(scratch.path(), MODE).unwrap();
        let follow = FollowOptions::default();
        let mut link = FollowerLink::new(replica, peer(Role::Connecting, 0), follow);
        let mut other = peer(Role::Accepting, 1);
        let mut now = Now { monotonic_ns: 1, utc_ns: 1 };
        for _ in 0..20 {
            now.monotonic_ns += 1_000_000;
            exchange(link.peer(), &mut other, now);
            drain(&mut other, now);
            match link.turn(now) {
                Ok(Followed::Joins(_)) => link.join(),
                Ok(_) => {}
                Err(_) => {
                    ended += 1;
                    break;
                }
            }
            let kind =
                if random.below(4) == 0 { random.below(0xff00) } else { 16 + random.below(9) };
            let mut payload = payload(&mut random);
            // `has_lost` of a resume: a leader may set aside whatever it states that it lost.
            if kind == 16 {
                payload.resize(32, 0);
                payload[24..].fill(0);
            }
            let _ = other.send(kind as u16, &[&payload]);
        }
    }
    assert!(ended > 150, "{ended}");
    assert_eq!(contents(scratch.path()), before);
}
