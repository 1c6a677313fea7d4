//! Both sides of a link on a simulated network: bytes come in pieces, late, wrong, or not at all.
//!
//! A seed determines everything that happens. Each side sends numbered frames. What the other side
//! gets is the beginning of what was sent, whole and in order, until the connection ends. A
//! connection whose network works does not end; one whose network fails ends with a reason, in
//! bounded time.

use std::time::Duration;

use nanotape_harness::{NetworkFault, Random, Way, campaign};
use nanotape_link::{Arrival, Hello, LinkError, Now, Peer, PeerConfig, Role};

pub(crate) const SERVICE: [u8; 8] = *b"TEST   1";

const MOST_PAYLOAD: u32 = 2_000;

const HEARTBEAT_NS: u64 = 10_000_000;

/// The time between two steps of the simulation.
const STEP_NS: u64 = 250_000;

pub(crate) fn config(name: &str, nonce: u64) -> PeerConfig {
    PeerConfig {
        hello: Hello {
            service: SERVICE,
            session: 7,
            epoch: 1,
            nonce,
            heartbeat_ns: HEARTBEAT_NS,
            most_payload: MOST_PAYLOAD,
            name: name.to_owned(),
        },
        patience: Duration::from_millis(50),
        outgoing_bytes: 8_000,
    }
}

struct Side {
    peer: Peer,
    /// How far its clock is ahead.
    ahead_ns: i64,
    is_open: bool,
    sent: u64,
    received: u64,
    end: Option<LinkError>,
}

/// The payload of frame `number` of a side, and its kind.
fn content(side: usize, number: u64) -> (u16, Vec<u8>) {
    let length = (number * 37 + side as u64 * 11) % u64::from(MOST_PAYLOAD);
    let byte = |at: u64| (at * 7 + number * 31 + side as u64) as u8;
    ((number % 0xff00) as u16, (0..length).map(byte).collect())
}

impl Side {
    fn now(&self, step: u64) -> Now {
        let monotonic_ns = 1 + step * STEP_NS;
        let utc_ns = (1_u64 << 60).wrapping_add(monotonic_ns).wrapping_add_signed(self.ahead_ns);
        Now { monotonic_ns, utc_ns }
    }

    fn step(&mut self, index: usize, ways: &mut [Way; 2], step: u64, dice: &mut Random) {
        let now = self.now(step);
        let most = 1 + dice.below(3_000) as usize;
        let space = self.peer.space();
        let bytes = ways[1 - index].receive(most.min(space.len()), step);
        space[..bytes.len()].copy_from_slice(&bytes);
        self.peer.arrived(bytes.len(), now);
        if let Err(error) = self.read(index, now) {
            return self.close(error);
        }
        if self.is_open && dice.below(2) == 0 {
            let (kind, payload) = content(index, self.sent);
            let (begin, end) = payload.split_at(payload.len() / 3);
            if self.peer.send(kind, &[begin, end]).is_ok() {
                self.sent += 1;
            }
        }
        if let Err(error) = self.peer.tick(now) {
            return self.close(error);
        }
        let most = 1 + dice.below(2_000) as usize;
        let outgoing = self.peer.outgoing();
        let count = outgoing.len().min(most);
        if count > 0 {
            ways[index].send(&outgoing[..count], step, dice);
            self.peer.sent(count);
        }
    }

    fn read(&mut self, index: usize, now: Now) -> Result<(), LinkError> {
        loop {
            match self.peer.next(now)? {
                Arrival::Open(hello) => {
                    assert!(!self.is_open && hello.session == 7);
                    self.is_open = true;
                }
                Arrival::Frame { kind, payload } => {
                    let expected = content(1 - index, self.received);
                    assert!((kind, payload) == (expected.0, &*expected.1), "{}", self.received);
                    self.received += 1;
                }
                Arrival::Nothing => return Ok(()),
            }
        }
    }

    fn close(&mut self, error: LinkError) {
        self.peer.close(&error.to_string());
        self.end = Some(error);
    }
}

/// One history; returns how many frames arrived.
fn history(seed: u64, fault: NetworkFault) -> u64 {
    let mut dice = Random::new(seed);
    let from = dice.below(400);
    let (delay, other_delay) = (1 + dice.below(12), 1 + dice.below(12));
    let mut ways = [Way::new(fault, from, delay), Way::new(NetworkFault::None, 0, other_delay)];
    let ahead_ns = dice.below(1 << 40) as i64 - (1 << 39);
    let mut sides = [Role::Connecting, Role::Accepting].map(|role| {
        let ahead_ns = if role == Role::Accepting { ahead_ns } else { 0 };
        let name = if role == Role::Accepting { "leader" } else { "follower-1" };
        let (sent, received, is_open, end) = (0, 0, false, None);
        let mut side = Side {
            peer: Peer::new(role, config(name, dice.number()), Now::default()),
            ahead_ns,
            is_open,
            sent,
            received,
            end,
        };
        let now = side.now(0);
        side.peer = Peer::new(role, config(name, dice.number()), now);
        side
    });
    for step in 0..1_500 {
        for (index, side) in sides.iter_mut().enumerate() {
            if side.end.is_none() {
                side.step(index, &mut ways, step, &mut dice);
                assert!(side.peer.outgoing().len() <= 8_000);
            }
        }
        let [one, other] = &sides;
        assert!(one.received <= other.sent && other.received <= one.sent);
        for side in &sides {
            let offset = side.peer.offset(side.now(step));
            let truth = if side.ahead_ns == 0 { ahead_ns } else { -ahead_ns };
            if let Some(offset) = offset {
                assert!((offset.least_ns..=offset.most_ns).contains(&truth), "{offset:?} {truth}");
            }
        }
    }
    let ends = sides.each_ref().map(|side| side.end.clone());
    match fault {
        NetworkFault::None => assert_eq!(ends, [None, None]),
        // A byte in each step is less than is sent: it goes on, and is slow.
        NetworkFault::Slow => assert!(
            ends.iter()
                .flatten()
                .all(|end| { matches!(end, LinkError::NoHello { .. } | LinkError::Closed { .. }) }),
            "{ends:?}"
        ),
        _ if !ways[0].is_broken() => {}
        // A piece that came twice or was left out at the end of a history may be part of a frame.
        NetworkFault::Cut => assert!(ends[1].is_some(), "{fault:?}: {ends:?}"),
        _ => {
            let is_late = from > 1_000;
            assert!(is_late || ends[1].is_some(), "{fault:?}: {ends:?}");
        }
    }
    sides.iter().map(|side| side.received).sum()
}

#[test]
fn what_arrives_is_what_was_sent_until_the_network_fails() {
    let mut arrived = [0; NetworkFault::ALL.len()];
    for seed in 0..campaign(30) {
        for (fault, count) in NetworkFault::ALL.into_iter().zip(&mut arrived) {
            *count += history(seed, fault);
        }
    }
    println!("{:?}: {arrived:?} frames", NetworkFault::ALL);
    assert!(arrived.iter().all(|&count| count > 1_000), "{arrived:?}");
}
