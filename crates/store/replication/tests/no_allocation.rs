//! Neither side of a link allocates for an excerpt, live or while it catches up. Sockets without
//! TLS allocate nothing either; with it, a few allocations for each record are counted here.

use std::{net::TcpListener, time::Duration};

use nanotape_harness::{CountingAllocator, Scratch, allocations, check_the_counter};
use nanotape_journal::{Appender, AppenderOptions, Folder, Replica};
use nanotape_link::{
    CertificateOptions, Connection, Hello, Identity, Now, Peer, PeerConfig, Role, make_certificates,
};
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
    /// `None`: the bytes are copied.
    sockets: Option<[Connection; 2]>,
    now: Now,
}

impl Pair {
    /// Lets both work, and moves what they have to send.
    fn turn(&mut self) {
        self.now.monotonic_ns += 1_000;
        self.now.utc_ns += 1_000;
        self.leader.turn(self.now).unwrap();
        self.pass();
        if let Followed::Joins(_) = self.follower.turn(self.now).unwrap() {
            self.follower.join();
        }
        self.pass();
    }

    /// Moves bytes in both directions.
    fn pass(&mut self) {
        let (leader, follower) = (self.leader.peer(), self.follower.peer());
        match &mut self.sockets {
            None => {
                leader.pass_to(follower, self.now);
                follower.pass_to(leader, self.now);
            }
            Some([one, other]) => {
                one.exchange(leader, self.now).unwrap();
                other.exchange(follower, self.now).unwrap();
            }
        }
    }

    fn turn_until(&mut self, next_sequence: u64) {
        while self.leader.status().progress.next_sequence < next_sequence {
            self.turn();
        }
    }
}

/// Both sockets of a connection.
fn sockets(identities: Option<[Identity; 2]>) -> [Connection; 2] {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let [one, other] = identities.map_or([None, None], |identities| identities.map(Some));
    let tls = other.as_ref().map(|identity| (identity, "leader"));
    let connecting = Connection::connect(address, tls, Duration::from_secs(5)).unwrap();
    let (stream, _) = listener.accept().unwrap();
    [Connection::accepted(stream, one.as_ref()).unwrap(), connecting]
}

/// Allocations for 200,000 excerpts of which many are sent together, and for 20,000 that are sent
/// one by one.
fn allocations_of(name: &str, sockets: Option<[Connection; 2]>) -> [usize; 2] {
    let scratch = Scratch::folder(name);
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
        sockets,
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
    [caught_up, live].map(|count| usize::try_from(count).unwrap())
}

#[test]
fn an_excerpt_allocates_nothing_on_either_side() {
    check_the_counter();
    let certificates = Scratch::folder("certificates");
    let names = ["leader", "side"].map(str::to_owned);
    let options = CertificateOptions { years: (2020, 2120), replaces: false };
    make_certificates(certificates.path(), &names, options).unwrap();
    let identities =
        ["leader", "side"].map(|name| Identity::read(certificates.path(), name).unwrap());
    for (name, sockets) in [("copied", None), ("plain", Some(sockets(None)))] {
        let [caught_up, live] = allocations_of(name, sockets);
        // Each 20 ms the leader checks the names of its files, which allocates a few.
        assert_eq!(caught_up, 0, "{name}");
        assert!(live < 200, "{name}: {live} allocations for 20,000 excerpts");
    }
    let [caught_up, live] = allocations_of("tls", Some(sockets(Some(identities))));
    // `rustls` allocates twice for a record: here one of the excerpt, and one of its report.
    println!("TLS: {caught_up} allocations for 200,000 excerpts, {live} for 20,000 alone");
    assert!(caught_up < 10_000 && live < 20_000 * 4 + 2_000);
}
