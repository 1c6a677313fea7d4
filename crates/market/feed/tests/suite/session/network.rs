//! Two lines, a re-request server and a snapshot server in simulated time, with faults from a seed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use nanotape_feed::session::{Line, PacketOrigin, Receiver};
use nanotape_harness::Random;
use nanotape_types::Alpha;
use nanotape_wire::framing::{
    moldudp64::{MoldUdp64, PacketWriter, end_of_session},
    numbered::PacketFraming,
};

use super::owner::{Owner, Task, message_of};

pub(crate) const SESSION: Alpha<10> = Alpha::new(*b"SIMULATED ");
const STRAY: &[u8; 10] = b"STRAY     ";
const US: u64 = 1_000;
const MS: u64 = 1_000_000;

/// What can go wrong, in thousandths of the packets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Faults {
    pub(crate) drop: u64,
    pub(crate) duplicate: u64,
    pub(crate) delay: u64,
    pub(crate) truncate: u64,
    /// Packets of the line with a number that is too high, each between two true ones or in the
    /// place of one.
    pub(crate) lie: u64,
    /// How much it is too high, at least. A line that is not ahead of the other by more than the
    /// jitter cannot be distinguished from a true one if it lies by a few messages.
    pub(crate) least_lie: u64,
    /// How much later than the other line it has everything, in ns.
    pub(crate) behind_ns: u64,
    /// Packets of another session.
    pub(crate) stray: u64,
    /// From when to when nothing arrives, in ns after the beginning.
    pub(crate) silence: (u64, u64),
}

/// A server of messages or snapshots.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Server {
    Good,
    /// Drops this many of a thousand requests.
    Lossy(u64),
    Dead,
}

enum Arrival {
    Packet(PacketOrigin, Vec<u8>),
    /// The number of the message after a snapshot; `None` if the server failed.
    Snapshot(Option<u64>),
}

pub(crate) struct Network {
    random: Random,
    arrivals: BTreeMap<(u64, u64), Arrival>,
    count: u64,
    /// When each message is sent.
    sent_ns: Vec<u64>,
    /// Packets after a lie that arrive, and in order: they contradict it.
    honest: u32,
    pub(crate) requests: Server,
    pub(crate) snapshots: Server,
    /// Messages that some line brought whole.
    pub(crate) brought: BTreeSet<u64>,
}

/// Datagrams that are read from a socket at a time.
const BATCH: usize = 32;

impl Network {
    /// Messages from number 1, some microseconds after each other.
    pub(crate) fn new(seed: u64, messages: usize) -> Self {
        let mut random = Random::new(seed);
        let mut now_ns = 1_000 * MS;
        let sent_ns = (0..messages)
            .map(|_| {
                now_ns += random.below(200) * US;
                now_ns
            })
            .collect();
        let (requests, snapshots) = (Server::Good, Server::Good);
        let (arrivals, brought) = (BTreeMap::new(), BTreeSet::new());
        Self { random, arrivals, count: 0, sent_ns, honest: 0, requests, snapshots, brought }
    }

    pub(crate) fn last(&self) -> u64 {
        self.sent_ns.len() as u64
    }

    /// Sends all messages on a line from `first` on, then some ends of the session.
    pub(crate) fn send(&mut self, line: Line, first: u64, faults: Faults) {
        let origin = PacketOrigin::Line(line);
        let mut number = first;
        self.honest = 0;
        while number <= self.last() {
            let most = self.random.below(6) + 1;
            let next = (number + most).min(self.last() + 1);
            let sent_ns = self.sent_ns[next as usize - 2];
            // Nothing contradicts what a session begins with, or the last of its numbers.
            let is_inside = (first + 20..self.last() - 20).contains(&number);
            let lie = if is_inside { faults.lie } else { 0 };
            let faults = Faults { lie, ..faults };
            if self.send_faulty(origin, packet_of(number, next), sent_ns, faults) {
                self.brought.extend(number..next);
            }
            number = next;
        }
        let end_ns = self.sent_ns.last().copied().unwrap_or_default();
        for tick in 0..400 {
            let sent_ns = end_ns + (tick + 1) * 100 * MS;
            let bytes = end_of_session(SESSION, self.last() + 1).to_vec();
            self.send_faulty(origin, bytes, sent_ns, faults);
        }
    }

    /// Returns whether it arrives whole.
    fn send_faulty(
        &mut self,
        origin: PacketOrigin,
        bytes: Vec<u8>,
        sent_ns: u64,
        faults: Faults,
    ) -> bool {
        let sent_ns = sent_ns + faults.behind_ns;
        let mut happens = |of_thousand| self.random.below(1_000) < of_thousand;
        let is_honest = self.honest > 0;
        self.honest = self.honest.saturating_sub(1);
        let mut copies = match (happens(faults.drop) && !is_honest, happens(faults.duplicate)) {
            (true, _) => 0,
            (false, is_twice) => 1 + u64::from(is_twice),
        };
        let (is_late, is_cut) = (happens(faults.delay), happens(faults.truncate));
        let (is_late, is_cut) = (is_late && !is_honest, is_cut && !is_honest);
        // A line that is silent after it contradicts nothing.
        let (from_ns, to_ns) =
            (self.sent_ns[0] + faults.silence.0, self.sent_ns[0] + faults.silence.1);
        let is_followed = !(from_ns..to_ns + 20 * MS).contains(&(sent_ns + 20 * MS));
        if happens(faults.lie) && is_followed && !is_honest {
            let is_replaced = self.random.below(3) == 0;
            let lie = self.lie(&bytes, faults.least_lie);
            self.arrive(sent_ns, Arrival::Packet(origin, lie));
            copies *= u64::from(!is_replaced);
            self.honest = 4;
        }
        if self.random.below(1_000) < faults.stray && is_followed {
            let number = 1 + self.random.below(self.last());
            let mut stray = packet_of(number, number + 1);
            stray[..STRAY.len()].copy_from_slice(STRAY);
            self.arrive(sent_ns, Arrival::Packet(origin, stray));
        }
        let mut is_whole = false;
        for _ in 0..copies {
            let jitter_ns = if is_honest { 0 } else { self.random.below(20 * US) };
            let late_ns = if is_late { self.random.below(3 * MS) } else { 0 };
            let at_ns = sent_ns + jitter_ns + late_ns;
            let begin_ns = self.sent_ns[0];
            let is_silent =
                (begin_ns + faults.silence.0..begin_ns + faults.silence.1).contains(&at_ns);
            if !is_silent {
                let length = if is_cut { self.random.index(bytes.len()) } else { bytes.len() };
                self.arrive(at_ns, Arrival::Packet(origin, bytes[..length].to_vec()));
                is_whole |= !is_cut;
            }
        }
        is_whole
    }

    /// The packet, or an end or heartbeat in its place, with a number that is too high by
    /// `least` to 1,048,576. An end can have the number of the next message.
    fn lie(&mut self, bytes: &[u8], least: u64) -> Vec<u8> {
        let mut lie = match self.random.below(3) {
            0 => bytes.to_vec(),
            1 => end_of_session(SESSION, 1).to_vec(),
            _ => [&end_of_session(SESSION, 1)[..18], &[0, 0]].concat(),
        };
        let number = u64::from_be_bytes(bytes[10..18].try_into().unwrap());
        let most = 1 << self.random.below(21);
        let is_end = lie[18..20] == [0xFF; 2];
        let ahead = if is_end { 0 } else { least } + self.random.below(most);
        lie[10..18].copy_from_slice(&(number + ahead).to_be_bytes());
        lie
    }

    fn arrive(&mut self, at_ns: u64, arrival: Arrival) {
        self.count += 1;
        self.arrivals.insert((at_ns, self.count), arrival);
    }

    /// Passes everything to a session in the order of time, and does what it requests.
    pub(crate) fn run(&mut self, receiver: &mut Receiver<MoldUdp64>, owner: &mut Owner) {
        let mut steps = 0u64;
        while let Some(entry) = self.arrivals.first_entry() {
            let (at_ns, _) = *entry.key();
            while receiver.deadline_ns() <= at_ns {
                let now_ns = receiver.deadline_ns();
                receiver.tick(now_ns, owner);
                assert!(receiver.deadline_ns() > now_ns, "a tick does what is due");
                self.serve(now_ns, owner);
                if owner.has_ended() {
                    return;
                }
            }
            // The tick may have led to an earlier arrival.
            let Some(entry) = self.arrivals.first_entry() else { break };
            let (at_ns, _) = *entry.key();
            match entry.remove() {
                Arrival::Packet(origin, bytes) => {
                    receiver.packet(origin, (at_ns, at_ns), &bytes, owner);
                }
                Arrival::Snapshot(Some(next)) => {
                    receiver.snapshot(next, at_ns, owner);
                }
                Arrival::Snapshot(None) => receiver.snapshot_failed(at_ns, owner),
            }
            self.serve(at_ns, owner);
            if owner.has_ended() {
                break;
            }
            steps += 1;
            assert!(steps < 1_000_000, "the session does not end");
        }
    }

    /// The same for an owner that is not scheduled for up to `most_ns` at a time: then the packets
    /// wait in the sockets of their lines, each of which is read in turn.
    pub(crate) fn run_with_stalls(
        &mut self,
        receiver: &mut Receiver<MoldUdp64>,
        owner: &mut Owner,
        most_ns: u64,
    ) {
        let mut sockets = [const { VecDeque::new() }; 2];
        let mut read_to_ns = 0;
        while let Some((&(at_ns, _), _)) = self.arrivals.first_key_value() {
            let stall_ns = self.random.below(4) / 3 * self.random.below(most_ns);
            let now_ns = at_ns.min(receiver.deadline_ns().max(read_to_ns)) + stall_ns;
            let later = self.arrivals.split_off(&(now_ns + 1, 0));
            for ((at_ns, _), arrival) in core::mem::replace(&mut self.arrivals, later) {
                let Arrival::Packet(PacketOrigin::Line(line), bytes) = arrival else {
                    panic!("no server is there")
                };
                sockets[line.index()].push_back((at_ns, bytes));
            }
            loop {
                let mut all_read_to_ns = now_ns;
                for (line, socket) in [Line::A, Line::B].into_iter().zip(&mut sockets) {
                    let mut last_ns = now_ns;
                    for (at_ns, bytes) in socket.drain(..socket.len().min(BATCH)) {
                        last_ns = at_ns;
                        let origin = PacketOrigin::Line(line);
                        receiver.packet(origin, (at_ns, read_to_ns), &bytes, owner);
                    }
                    let is_read = socket.is_empty();
                    all_read_to_ns = all_read_to_ns.min(if is_read { now_ns } else { last_ns });
                }
                read_to_ns = read_to_ns.max(all_read_to_ns);
                receiver.tick(read_to_ns, owner);
                if owner.has_ended() {
                    return;
                }
                if sockets.iter().all(VecDeque::is_empty) {
                    break;
                }
            }
        }
    }

    fn serve(&mut self, now_ns: u64, owner: &mut Owner) {
        for task in std::mem::take(&mut owner.tasks) {
            let took_ns = self.random.below(2 * MS);
            match task {
                Task::Request { first, count } if self.answers(self.requests) => {
                    let most = self.random.below(8) + 1;
                    let known = self.sent_by(now_ns);
                    let next = (first + u64::from(count).min(most)).min(known);
                    if first < next {
                        let packet = packet_of(first, next);
                        let origin = PacketOrigin::Retransmission;
                        self.arrive(now_ns + took_ns, Arrival::Packet(origin, packet));
                    }
                }
                Task::Request { .. } => {}
                Task::Snapshot { .. } => {
                    let next = self.answers(self.snapshots).then(|| self.sent_by(now_ns));
                    self.arrive(now_ns + 20 * took_ns, Arrival::Snapshot(next));
                }
            }
        }
    }

    fn answers(&mut self, server: Server) -> bool {
        match server {
            Server::Good => true,
            Server::Lossy(of_thousand) => self.random.below(1_000) >= of_thousand,
            Server::Dead => false,
        }
    }

    /// One above the number of the last message that was sent by then.
    fn sent_by(&self, now_ns: u64) -> u64 {
        self.sent_ns.partition_point(|&sent_ns| sent_ns <= now_ns) as u64 + 1
    }
}

fn packet_of(first: u64, next: u64) -> Vec<u8> {
    let mut buffer = [0; 4_096];
    let mut writer = PacketWriter::new(SESSION, first, &mut buffer).unwrap();
    for number in first..next {
        assert!(writer.push(&message_of(number)));
    }
    let packet = writer.finish();
    assert!(MoldUdp64::decode(packet).is_ok());
    packet.to_vec()
}
