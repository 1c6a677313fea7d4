//! Neither side of a link allocates for an excerpt, live or while it catches up.
//!
//! The sockets are left out: without TLS they allocate nothing, and with it a record does.

use std::time::Duration;

use nanotape_harness::{CountingAllocator, Scratch, allocations, check_the_counter};
use nanotape_journal::{Appender, AppenderOptions, Folder, Replica};
use nanotape_link::{Hello, Now, Peer, PeerConfig, Role};
use nanotape_replication::{
    FRAME_BYTES, FollowOptions, Followed, FollowerLink, LeaderLink, LeaderOptions, SERVICE,
};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const MODE: u32 = 0o600;

fn peer(role: Role) -> Peer {
    let hello = Hello {
        service: SERVICE,
        session: 1,
        epoch: 1,
        nonce: 1,
        heartbeat_ns: 1_000_000_000,
        most_payload: FRAME_BYTES as u32,
        name: "side".to_owned(),
    };
    let patience = Duration::from_secs(5);
    Peer::new(role, PeerConfig { hello, patience, outgoing_bytes: 3 * FRAME_BYTES }, Now::default())
}

struct Pair {
    leader: LeaderLink,
    follower: FollowerLink,
    now: Now,
}

impl Pair {
    /// Lets both work, and moves what they have to send.
    fn turn(&mut self) {
        self.now.monotonic_ns += 1_000;
        self.now.utc_ns += 1_000;
        self.leader.turn(self.now).unwrap();
        pass(self.leader.peer(), self.follower.peer(), self.now);
        if let Followed::Joins(_) = self.follower.turn(self.now).unwrap() {
            self.follower.join();
        }
        pass(self.follower.peer(), self.leader.peer(), self.now);
    }

    fn turn_until(&mut self, next_sequence: u64) {
        while self.leader.status().progress.next_sequence < next_sequence {
            self.turn();
        }
    }
}

fn pass(from: &mut Peer, to: &mut Peer, now: Now) {
    let space = to.space();
    let count = space.len().min(from.outgoing().len());
    space[..count].copy_from_slice(&from.outgoing()[..count]);
    to.arrived(count, now);
    from.sent(count);
}

#[test]
fn an_excerpt_allocates_nothing_on_either_side() {
    check_the_counter();
    let scratch = Scratch::folder("quiet");
    let [leader, copy] = ["leader", "copy"].map(|name| scratch.path().join(name));
    // All of them in one segment: the next one opens files.
    let options = AppenderOptions {
        segment_bytes: 128 << 20,
        has_pretoucher: false,
        ..AppenderOptions::default()
    };
    let mut appender = Appender::open(&leader, &options).unwrap();
    let mut append = |count: u64| {
        for _ in 0..count {
            let sequence = appender.next_sequence();
            appender.append(1, sequence, &[7; 200][..(sequence * 7) as usize % 200]).unwrap();
        }
        appender.next_sequence()
    };
    let next = append(20_000);
    let mut pair = Pair {
        leader: LeaderLink::new(
            Folder::new(&leader, MODE),
            peer(Role::Accepting),
            LeaderOptions::default(),
        ),
        follower: FollowerLink::new(
            Replica::open(&copy, MODE).unwrap(),
            peer(Role::Connecting),
            FollowOptions::default(),
        ),
        now: Now { monotonic_ns: 1, utc_ns: 1 << 60 },
    };
    // The first frames make the buffers as large as they become.
    pair.turn_until(next);
    let next = append(200_000);
    let before = allocations();
    pair.turn_until(next);
    let caught_up = allocations() - before;
    let mut live = 0;
    for _ in 0..20_000 {
        let next = append(1);
        let before = allocations();
        pair.turn_until(next);
        live += allocations() - before;
    }
    // Each 20 ms the leader checks the names of its files, which allocates a few.
    assert_eq!(caught_up, 0);
    assert!(live < 100, "{live} allocations for 20,000 excerpts");
}
