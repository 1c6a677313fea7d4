//! A leader and two followers on simulated disks and networks, where everything stops at any
//! moment: what a follower acknowledged is on it, once and in order, also after it was promoted.
//!
//! Where: replication is another crate. Its campaign is here because the disk and the histories
//! are.

use std::time::Duration;

use nanotape_harness::{NetworkFault, Random, Way};
use nanotape_journal::{Appender, Position, Replica};
use nanotape_link::{Hello, Now, Peer, PeerConfig, Role};
use nanotape_replication::{
    FRAME_BYTES, FollowError, FollowOptions, Followed, FollowerLink, LeaderLink, LeaderOptions,
    SERVICE, Term,
};

use crate::simulated::{
    dice::Dice,
    disk::{Crash, SimulatedDisk},
    history::{History, Record, any_options},
    reading::{numbers, read_all},
    scenario::Counts,
};

const NODES: usize = 3;

/// The time between two steps of the simulation.
const STEP_NS: u64 = 1_000_000;

const HEARTBEAT_NS: u64 = 10_000_000;

/// A machine with a copy of the journal.
struct Node {
    disk: SimulatedDisk,
    boot: u64,
    /// The term that it follows, or leads; on its disk.
    term: Term,
    /// How many records of the history it has acknowledged, and those that are on its disk.
    acknowledged: usize,
    on_disk: usize,
    replica: Option<Replica<SimulatedDisk>>,
    link: Option<Link>,
}

/// The connection of a follower.
struct Link {
    leader: LeaderLink<SimulatedDisk>,
    follower: FollowerLink<SimulatedDisk>,
    ways: [Way; 2],
}

struct Cluster {
    dice: Dice,
    network: Random,
    history: History,
    /// The records of leaders before they lost some: a follower can still have those.
    earlier: Vec<Vec<Record>>,
    appender: Option<Appender<SimulatedDisk>>,
    nodes: [Node; NODES],
    leader: usize,
    commits: bool,
    syncs: bool,
    step: u64,
    boots: u64,
    counts: Counts,
    is_finishing: bool,
    /// Whether the leader has appended since it was opened, and the step of the first time.
    has_appended: bool,
    appended_at: u64,
}

impl Cluster {
    fn new(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let options = any_options(&mut dice);
        let history = History::new(options, &mut dice);
        let nodes = std::array::from_fn(|_| Node {
            disk: SimulatedDisk::new(dice.number()),
            boot: 1,
            term: Term::default(),
            acknowledged: 0,
            on_disk: 0,
            replica: None,
            link: None,
        });
        let (commits, syncs) = (dice.one_in(2), dice.one_in(2));
        let network = Random::new(seed);
        let mut cluster = Self {
            dice,
            network,
            history,
            earlier: Vec::new(),
            appender: None,
            nodes,
            leader: 0,
            commits,
            syncs,
            step: 1,
            boots: 1,
            counts: Counts::default(),
            is_finishing: false,
            has_appended: false,
            appended_at: 0,
        };
        cluster.nodes[0].term = Term { epoch: 1, leader: 77 };
        cluster.open_appender();
        cluster
    }

    fn run(mut self) -> Counts {
        for _ in 0..30 + self.dice.below(60) {
            match self.dice.below(24) {
                0..8 => self.write(),
                8..18 => {
                    let steps = 1 + self.dice.below(12);
                    self.pass(steps);
                }
                18 => self.restart_leader(),
                19 | 20 => {
                    let follower = self.follower();
                    self.restart_follower(follower);
                }
                21 => {
                    let follower = self.follower();
                    self.disconnect(follower);
                }
                22 => self.promote(),
                _ => self.pass(80),
            }
        }
        // What it lost is known only after that.
        self.has_appended = false;
        while !self.has_appended {
            self.write();
        }
        self.finish();
        self.counts
    }

    fn follower(&mut self) -> usize {
        (self.leader + 1 + self.dice.index(NODES - 1)) % NODES
    }

    fn followers(&self) -> [usize; NODES - 1] {
        [1, 2].map(|next| (self.leader + next) % NODES)
    }

    fn now(&self) -> Now {
        let monotonic_ns = self.step * STEP_NS;
        Now { monotonic_ns, utc_ns: (1 << 60) + monotonic_ns }
    }

    fn open_appender(&mut self) {
        let disk = &self.nodes[self.leader].disk;
        disk.watch();
        self.appender = Some(self.history.open(disk).unwrap());
        (self.has_appended, self.appended_at) = (false, u64::MAX / 2);
    }

    fn write(&mut self) {
        let disk = self.nodes[self.leader].disk.clone();
        disk.watch();
        let appender = self.appender.as_mut().unwrap();
        let before = self.history.records.len();
        for _ in 0..self.dice.below(8) {
            self.history.step(appender, &disk, &mut self.dice).unwrap();
        }
        if !self.has_appended && self.history.records.len() > before {
            (self.has_appended, self.appended_at) = (true, self.step);
        }
    }

    /// Lets time pass.
    fn pass(&mut self, steps: u64) {
        for _ in 0..steps {
            self.step += 1;
            for follower in self.followers() {
                if self.nodes[follower].link.is_none() {
                    self.connect(follower);
                }
                self.turn(follower);
            }
        }
    }

    fn connect(&mut self, follower: usize) {
        let now = self.now();
        let leader_term = self.nodes[self.leader].term;
        let own = &mut self.nodes[follower];
        let side = |role, name: &str, term: Term, nonce| {
            let hello = Hello {
                service: SERVICE,
                session: term.leader,
                epoch: term.epoch,
                nonce,
                heartbeat_ns: HEARTBEAT_NS,
                most_payload: FRAME_BYTES as u32,
                name: name.to_owned(),
            };
            let patience = Duration::from_nanos(20 * STEP_NS);
            let config = PeerConfig { hello, patience, outgoing_bytes: 3 * FRAME_BYTES };
            Peer::new(role, config, now)
        };
        own.disk.watch();
        let replica = own.replica.take();
        let replica = replica.unwrap_or_else(|| Replica::open_on(own.disk.clone()).unwrap());
        let options = FollowOptions {
            term: own.term,
            sets_aside: false,
            compares_all: self.dice.one_in(4),
            syncs: self.syncs,
            keeps_times: false,
        };
        let peer = side(Role::Connecting, "follower", own.term, self.dice.number());
        let link = FollowerLink::new(replica, peer, options);
        let peer = side(Role::Accepting, "leader", leader_term, self.dice.number());
        let disk = self.nodes[self.leader].disk.clone();
        let leader = LeaderLink::new(
            disk,
            peer,
            LeaderOptions { commits: self.commits, ..LeaderOptions::default() },
        );
        let fault = match self.dice.below(8) {
            0 if !self.is_finishing => NetworkFault::ALL[self.dice.index(6)],
            _ => NetworkFault::None,
        };
        let from = self.step + self.dice.below(60);
        let delay = 1 + self.dice.below(6);
        let ways = [fault, NetworkFault::None].map(|fault| Way::new(fault, from, delay));
        self.nodes[follower].link = Some(Link { leader, follower: link, ways });
    }

    /// Moves bytes between both sides, and lets both work.
    fn turn(&mut self, follower: usize) {
        let now = self.now();
        let node = &mut self.nodes[follower];
        let Some(Link { leader, follower: link, ways }) = &mut node.link else { return };
        let mut ended = None;
        for index in 0..2 {
            let peer = if index == 0 { leader.peer() } else { link.peer() };
            let most = 1 + self.dice.index(200_000);
            let space = peer.space();
            let bytes = ways[1 - index].receive(most.min(space.len()), self.step);
            space[..bytes.len()].copy_from_slice(&bytes);
            peer.arrived(bytes.len(), now);
        }
        if let Err(error) = leader.turn(now) {
            ended = Some(format!("{error}"));
        }
        node.disk.watch();
        match link.turn(now) {
            Ok(Followed::Joins(term)) => {
                node.term = term;
                link.join();
            }
            Ok(_) => {}
            Err(FollowError::Ahead { leader_next, copy_next }) => {
                // With commits, only an operator decides this; see `restart_leader`. Without, the
                // loss is known when the leader has appended again.
                let is_soon = self.step < self.appended_at + 100;
                assert!(leader_next < copy_next && (self.commits || is_soon));
                ended = Some("ahead".to_owned());
            }
            Err(error) => {
                let text = error.to_string();
                assert!(!text.contains("differs"), "{text}");
                ended = Some(text);
            }
        }
        self.counts.cuts += link.take_set_aside().len() as u64;
        // What the leader knows is what a commit would wait for.
        let progress = leader.status().progress.clone();
        let state = read_incarnation(&self.nodes[self.leader].disk);
        let node = &mut self.nodes[follower];
        if Some(progress.incarnation) == state && progress.next_sequence > 0 {
            let records = &self.history.records;
            let count = |next| records.partition_point(|record| record.sequence < next);
            node.acknowledged = count(progress.next_sequence);
            node.on_disk = count(progress.on_disk).max(node.on_disk.min(node.acknowledged));
        }
        let Some(Link { leader, follower: link, ways }) = &mut node.link else { return };
        for (way, peer) in ways.iter_mut().zip([leader.peer(), link.peer()]) {
            // A socket takes no more than its buffer.
            let room = 300_000_usize.saturating_sub(way.length());
            let count = peer.outgoing().len().min(1 + self.dice.index(100_000)).min(room);
            if count > 0 {
                way.send(&peer.outgoing()[..count], self.step, &mut self.network);
                peer.sent(count);
            }
        }
        let is_another = ended.as_ref().is_some_and(|text| text.contains("another folder"));
        if ended.is_some() {
            self.counts.lost += 1;
            self.disconnect(follower);
        }
        if is_another {
            // One of both lost all of its segments, and began another journal: the copy too.
            let node = &mut self.nodes[follower];
            assert_eq!(node.acknowledged, 0);
            let mut replica = node.replica.take().unwrap();
            let segment = replica.state().heads[0].number;
            replica.back_to(Position { segment, offset_bytes: 0 }).unwrap();
            node.replica = Some(replica);
        }
    }

    fn disconnect(&mut self, follower: usize) {
        let node = &mut self.nodes[follower];
        node.disk.watch();
        if let Some(link) = node.link.take() {
            node.replica = Some(link.follower.into_replica());
        }
    }

    fn restart(&mut self, node: usize) -> bool {
        let own = &mut self.nodes[node];
        own.disk.watch();
        let image = own.disk.image();
        let appender = (node == self.leader).then(|| self.appender.take());
        own.disk.kill((appender, own.link.take(), own.replica.take()));
        let is_power_loss = self.dice.one_in(2);
        own.disk = if is_power_loss {
            self.boots += 1;
            own.boot = self.boots;
            own.on_disk = own.on_disk.min(own.acknowledged);
            own.acknowledged = own.on_disk;
            image.after_power_loss(&mut self.dice, self.boots)
        } else {
            image.after_death(&mut self.dice, own.boot)
        };
        is_power_loss
    }

    /// A follower stops, maybe while it appends.
    fn restart_follower(&mut self, follower: usize) {
        self.nodes[follower].disk.crash(match self.dice.below(3) {
            0 => Crash::AtStore(self.dice.below(600)),
            1 => Crash::AtOperation(self.dice.below(20)),
            _ => Crash::AtStore(0),
        });
        for _ in 0..8 {
            self.step += 1;
            if self.nodes[follower].disk.has_crashed() {
                break;
            }
            let node = &self.nodes[follower];
            let before = (node.acknowledged, node.on_disk);
            self.turn(follower);
            if self.nodes[follower].disk.has_crashed() {
                // What was acknowledged after the moment of the crash was not.
                let node = &mut self.nodes[follower];
                (node.acknowledged, node.on_disk) = before;
            }
        }
        self.counts.in_recoveries += 1;
        self.restart(follower);
    }

    /// The leader stops. If it lost what was acknowledged, a follower is promoted.
    fn restart_leader(&mut self) {
        for follower in self.followers() {
            self.disconnect(follower);
        }
        self.restart(self.leader);
        self.counts.crashes += 1;
        self.open_appender();
        let count = read_all(&self.nodes[self.leader].disk).unwrap().len();
        let most = self.nodes.iter().map(|node| node.acknowledged).max().unwrap();
        if self.commits && most > count || self.dice.one_in(3) {
            self.promote();
            return;
        }
        self.lose(count);
        // Excerpts that were not acknowledged can be more on a follower than on the leader. Its
        // operator sets them aside.
        if self.commits {
            self.promote_leader_again();
        }
    }

    /// The history ends after so many records.
    fn lose(&mut self, count: usize) {
        self.earlier.push(self.history.records.clone());
        self.history.cut_to(count, false);
        for node in &mut self.nodes {
            node.acknowledged = node.acknowledged.min(count);
            node.on_disk = node.on_disk.min(count);
        }
    }

    /// The leader goes on with another epoch, so that its followers set aside what it lost.
    fn promote_leader_again(&mut self) {
        let term = &mut self.nodes[self.leader].term;
        *term = Term { epoch: term.epoch + 1, leader: self.dice.number() | 1 };
    }

    /// Makes a leader of the follower that has acknowledged most. The old leader, which has the
    /// first records of the history after a restart, follows it.
    fn promote(&mut self) {
        let followers = self.followers().into_iter();
        let next = followers.max_by_key(|node| self.nodes[*node].acknowledged).unwrap();
        for follower in self.followers() {
            self.disconnect(follower);
        }
        let old = self.leader;
        self.nodes[old].disk.watch();
        self.appender = None;
        let epoch = self.nodes.iter().map(|node| node.term.epoch).max().unwrap() + 1;
        let leader = self.dice.number() | 1;
        let node = &mut self.nodes[next];
        node.disk.watch();
        let replica = node.replica.take();
        let replica = replica.unwrap_or_else(|| Replica::open_on(node.disk.clone()).unwrap());
        let acknowledged = node.acknowledged;
        node.term = Term { epoch, leader };
        replica.promote().unwrap();
        let copied = read_all(&self.nodes[next].disk).unwrap_or_default();
        let records = &self.history.records;
        let is_whole = copied.starts_with(&records[..acknowledged])
            && (records.starts_with(&copied)
                || self.earlier.iter().any(|earlier| earlier.starts_with(&copied)));
        assert!(
            is_whole,
            "{acknowledged} acknowledged, {:?} of {:?}",
            numbers(&copied),
            numbers(records)
        );
        self.counts.reused += 1;
        self.leader = next;
        self.nodes[old].acknowledged = 0;
        self.nodes[old].on_disk = 0;
        let both = records.iter().zip(&copied).take_while(|(one, other)| one == other).count();
        self.lose(both);
        self.history.records = copied;
        self.open_appender();
    }

    /// Without faults, all of them become equal.
    fn finish(&mut self) {
        self.is_finishing = true;
        for follower in self.followers() {
            self.disconnect(follower);
        }
        for _ in 0..20 {
            self.pass(100);
            let expected = &self.history.records;
            let is_equal = |node: &Node| read_all(&node.disk).is_ok_and(|all| all == *expected);
            if self.nodes.iter().all(is_equal) {
                self.counts.records += expected.len() as u64;
                self.end();
                return;
            }
        }
        let copies: Vec<_> =
            self.nodes.iter().map(|node| read_all(&node.disk).map(|all| numbers(&all))).collect();
        panic!("{:?}, leader {}, {copies:?}", numbers(&self.history.records), self.leader);
    }

    fn end(&mut self) {
        let leader = self.leader;
        for (index, node) in self.nodes.iter_mut().enumerate() {
            let appender = (index == leader).then(|| self.appender.take());
            node.disk.kill((appender, node.link.take(), node.replica.take()));
        }
    }
}

/// The incarnation of the leader's last segment, as a commit reads it.
fn read_incarnation(disk: &SimulatedDisk) -> Option<u64> {
    nanotape_journal::last_incarnation(disk).ok().flatten()
}

pub(crate) fn run(seed: u64) -> Counts {
    Cluster::new(seed).run()
}
