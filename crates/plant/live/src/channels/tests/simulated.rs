//! The session logic against a simulated exchange: lossy lines, a proxy that refuses and breaks
//! off, spin servers that refuse and break off, lost units and late joins, over many seeds.

mod servers;

use std::{cmp::Reverse, collections::BinaryHeap, sync::OnceLock};

use nanotape_book::DefaultBooks;
use nanotape_engine::BookEngine;
use nanotape_feed::{
    Feed,
    pitch_tcp::{GapLogin, ProxySession, SpinExchange},
    session::{Join, Line, PacketOrigin, RequestSettings, SessionSettings, SnapshotSettings},
};
use nanotape_harness::Random;
use nanotape_market::SessionChange;
use nanotape_synth::FeedProtocol;
use nanotape_wire::framing::pitch::Pitch;

use super::{
    super::set::{ChannelSet, SetSettings},
    day::{MIDNIGHT_NS, Reference, TestDay, Watcher, books},
    exchange::heartbeat,
};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
const UNITS: usize = 2;

fn day() -> &'static TestDay {
    static DAY: OnceLock<TestDay> = OnceLock::new();
    DAY.get_or_init(|| {
        let of = (FeedProtocol::CboePitch, Feed::Pitch);
        TestDay::of::<Pitch>(of, UNITS as u8, 2_500)
    })
}

/// The stocks of each unit.
fn symbols() -> &'static [Vec<[u8; 8]>; UNITS] {
    static SYMBOLS: OnceLock<[Vec<[u8; 8]>; UNITS]> = OnceLock::new();
    SYMBOLS.get_or_init(|| {
        core::array::from_fn(|unit| {
            let mut all = Reference::new(day(), unit);
            all.advance(&day().messages[unit], day().messages[unit].len());
            all.engine.directory().iter().map(|(_, symbol)| symbol.as_bytes()).collect()
        })
    })
}

/// What arrives or is due at a moment.
#[derive(PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Due {
    Packet(PacketSource, Vec<u8>),
    FromProxy(u32, Vec<u8>),
    ProxyConnects(u32),
    FromSpin(u32, Vec<u8>),
    SpinBreaks(u32),
    SpinAnnounces(u32),
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum PacketSource {
    A,
    B,
    Answer,
}

/// An exchange with a spin server.
struct Spin {
    number: u32,
    key: u8,
    exchange: SpinExchange,
    from_client: Vec<u8>,
    is_faulty: bool,
}

/// How bad a run is.
#[derive(Clone, Copy)]
struct Faults {
    /// Of 1,000 packets, so many are lost on each line, and on all lines.
    loss: u64,
    loss_of_all: u64,
    /// Whether a unit is silent for a while and then goes on.
    has_outage: bool,
    /// Whether the first packets of a unit are never seen.
    is_late: bool,
    has_proxy: bool,
    has_spin: bool,
    /// Whether servers refuse and break off.
    has_bad_servers: bool,
}

struct Simulation {
    seed: u64,
    random: Random,
    faults: Faults,
    now_ns: u64,
    due: BinaryHeap<Reverse<(u64, u64, Due)>>,
    order: u64,
    /// Messages that each unit has sent.
    sent: [usize; UNITS],
    proxy: ProxySession,
    connection: u32,
    from_client: Vec<u8>,
    is_healthy: bool,
    spins: Vec<Spin>,
    spin_count: u32,
    /// The books of the exchange, for images.
    exchange: Vec<Reference>,
    /// The books that the plant is compared with.
    expected: Vec<Reference>,
    set: ChannelSet<Pitch>,
    engine: BookEngine<DefaultBooks>,
    watcher: Watcher,
    images: u64,
    compared: u64,
}

impl Simulation {
    fn new(seed: u64, faults: Faults) -> Self {
        let session = SessionSettings {
            join: Join::Snapshot,
            requests: faults.has_proxy.then_some(RequestSettings {
                timeout_ns: 50 * MS,
                retries: 2,
                messages: 50,
                ..RequestSettings::default()
            }),
            snapshots: Some(SnapshotSettings {
                timeout_ns: 3 * SECOND,
                attempts: 3,
                retry_after_ns: 2 * SECOND,
            }),
            silence_ns: 5 * SECOND,
            ahead_messages: 1 << 14,
            ahead_bytes: 2 << 20,
            ..SessionSettings::default()
        };
        let settings = SetSettings { session, has_images: [faults.has_spin; 256] };
        let references = || (0..UNITS).map(|unit| Reference::new(day(), unit)).collect();
        let mut simulation = Self {
            seed,
            random: Random::new(seed + 1),
            faults,
            now_ns: MIDNIGHT_NS + 40_000 * SECOND,
            due: BinaryHeap::new(),
            order: 0,
            sent: [0; UNITS],
            proxy: ProxySession::new(GapLogin::default()),
            connection: 0,
            from_client: Vec::new(),
            is_healthy: false,
            spins: Vec::new(),
            spin_count: 0,
            exchange: references(),
            expected: references(),
            set: ChannelSet::new(Feed::Pitch, settings, MIDNIGHT_NS),
            engine: BookEngine::new(DefaultBooks::with_capacity(1024)),
            watcher: Watcher::default(),
            images: 0,
            compared: 0,
        };
        if faults.has_proxy {
            simulation.at(0, Due::ProxyConnects(0));
        }
        simulation
    }

    fn at(&mut self, after_ns: u64, due: Due) {
        self.order += 1;
        self.due.push(Reverse((self.now_ns + after_ns, self.order, due)));
    }

    fn chance(&mut self, of_1000: u64) -> bool {
        !self.is_healthy && self.random.below(1_000) < of_1000
    }

    /// Sends a packet on both lines.
    fn send(&mut self, bytes: &[u8], lost: bool) {
        let is_lost = lost || self.chance(self.faults.loss_of_all);
        for line in [PacketSource::A, PacketSource::B] {
            if is_lost || self.chance(self.faults.loss) {
                continue;
            }
            let mut delay_ns = 10_000 + self.random.below(200_000);
            if self.chance(10) {
                delay_ns += self.random.below(3 * MS);
            }
            self.at(delay_ns, Due::Packet(line, bytes.to_vec()));
            if self.chance(5) {
                self.at(2 * delay_ns, Due::Packet(line, bytes.to_vec()));
            }
        }
    }

    /// Lets time pass, with everything that is due in it.
    fn pass(&mut self, ns: u64) {
        let end_ns = self.now_ns + ns;
        loop {
            let next = self.due.peek().map_or(u64::MAX, |Reverse((at_ns, ..))| *at_ns);
            let tick = self.set.deadline_ns().max(self.now_ns + 1);
            let at_ns = next.min(tick).min(end_ns);
            self.now_ns = self.now_ns.max(at_ns);
            if next <= self.now_ns
                && let Some(Reverse((_, _, due))) = self.due.pop()
            {
                self.happen(due);
            }
            let mut handler = self.engine.live(&mut self.watcher);
            self.set.tick(self.now_ns, &mut handler);
            self.act();
            self.compare_after_image();
            if self.now_ns >= end_ns && next > end_ns {
                return;
            }
        }
    }

    fn happen(&mut self, due: Due) {
        let times = (self.now_ns, self.now_ns);
        match due {
            Due::Packet(source, bytes) => {
                let origin = match source {
                    PacketSource::A => PacketOrigin::Line(Line::A),
                    PacketSource::B => PacketOrigin::Line(Line::B),
                    PacketSource::Answer => PacketOrigin::Retransmission,
                };
                let mut handler = self.engine.live(&mut self.watcher);
                self.set.packet(origin, times, &bytes, &mut handler);
            }
            Due::ProxyConnects(number) if number == self.connection => {
                self.proxy.connected(self.now_ns);
                self.from_client.clear();
            }
            Due::FromProxy(number, bytes) if number == self.connection => self.proxy_sent(&bytes),
            Due::FromSpin(number, bytes) => self.spin_sent(number, &bytes),
            Due::SpinBreaks(number) => self.spin_failed(number),
            Due::SpinAnnounces(number) => self.announce(number),
            Due::ProxyConnects(_) | Due::FromProxy(..) => {}
        }
    }

    fn compare_after_image(&mut self) {
        if self.set.common.images == self.images {
            return;
        }
        self.images = self.set.common.images;
        for unit in 0..UNITS {
            self.compare(unit);
        }
    }

    /// Compares the books of a unit with those of the exchange, if it lacks nothing.
    fn compare(&mut self, unit: usize) {
        let Some((expected, is_whole)) = self.set.progress(unit as u8 + 1) else { return };
        if !is_whole || expected == 0 {
            return;
        }
        self.compared += 1;
        let reference = &mut self.expected[unit];
        reference.advance(&day().messages[unit], expected as usize - 1);
        let theirs = books(&reference.engine);
        let mut ours = books(&self.engine);
        let others = &symbols()[1 - unit];
        ours.retain(|symbol, _| !others.contains(symbol));
        for (symbol, book) in &theirs {
            let name = String::from_utf8_lossy(symbol);
            let our_book = ours.remove(symbol).unwrap_or_default();
            let differs = |order: &&_| !our_book.contains(order);
            let lacks: Vec<_> = book.iter().filter(differs).collect();
            let seed = self.seed;
            let at = format!("seed {seed}: {name} of unit {} at message {expected}", unit + 1);
            assert!(lacks.is_empty(), "{at}: lacks {lacks:?}");
            let differs = |order: &&_| !book.contains(order);
            let more: Vec<_> = our_book.iter().filter(differs).collect();
            assert!(more.is_empty(), "{at}: has {more:?}");
            assert_eq!(our_book, *book, "{at}");
        }
        assert!(ours.is_empty());
    }

    fn run(&mut self) {
        let packets = &day().packets;
        let outage = (self.faults.has_outage).then(|| {
            let from = packets.len() / 5 + self.random.below(packets.len() as u64 / 3) as usize;
            (from, from + 20 + self.random.below(200) as usize, self.random.below(2) as usize)
        });
        let late_to = if self.faults.is_late { 5 + self.random.below(200) as usize } else { 0 };
        let mut beat_ns = self.now_ns;
        for (place, packet) in packets.iter().enumerate() {
            let is_lost = place < late_to
                || outage.is_some_and(|(from, to, unit)| {
                    (from..to).contains(&place) && packet.stream == unit
                });
            if outage.is_some_and(|(from, ..)| place == from + 10) {
                let (_, _, silent) = outage.unwrap_or_default();
                for _ in 0..7 {
                    self.pass(SECOND);
                    let other = 1 - silent;
                    let next = self.sent[other] as u64 + 1;
                    self.send(&heartbeat(other as u8 + 1, next), false);
                }
            }
            let count = packet.bytes[2];
            self.sent[packet.stream] = packet.first as usize - 1 + usize::from(count);
            self.send(&packet.bytes, is_lost);
            let gap_ns = 20_000 + self.random.below(400_000);
            self.pass(gap_ns);
            if self.now_ns - beat_ns >= SECOND {
                beat_ns = self.now_ns;
                for unit in 0..UNITS {
                    if outage
                        .is_none_or(|(from, to, out)| !(from..to).contains(&place) || unit != out)
                    {
                        let next = self.sent[unit] as u64 + 1;
                        self.send(&heartbeat(unit as u8 + 1, next), place < late_to);
                    }
                }
            }
        }
        // From now on nothing fails any more.
        self.is_healthy = true;
        for _ in 0..15 {
            for unit in 0..UNITS {
                self.send(&heartbeat(unit as u8 + 1, self.sent[unit] as u64 + 1), false);
            }
            self.pass(SECOND);
        }
    }
}

fn of_seed(seed: u64) -> Faults {
    let mut random = Random::new(seed * 7 + 3);
    let mut is_so = |of_10| random.below(10) < of_10;
    let (has_outage, is_late) = (is_so(3), is_so(2));
    let (has_proxy, has_bad_servers) = (is_so(8), is_so(6));
    let heavy = is_so(3);
    Faults {
        loss: if heavy { 150 } else { 20 },
        loss_of_all: if heavy { 20 } else { 3 },
        has_outage,
        is_late,
        has_proxy,
        has_spin: true,
        has_bad_servers,
    }
}

#[test]
fn the_books_are_those_of_the_day_after_each_image_and_at_the_end() {
    let seeds = std::env::var("SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(500);
    let (mut images, mut compared, mut retransmitted) = (0, 0, 0);
    for seed in 0..seeds {
        let mut simulation = Simulation::new(seed, of_seed(seed));
        simulation.run();
        for unit in 0..UNITS {
            let (expected, is_whole) = simulation.set.progress(unit as u8 + 1).unwrap();
            let total = day().messages[unit].len() as u64;
            assert!(is_whole, "seed {seed}: unit {} lacks messages", unit + 1);
            assert_eq!(expected, total + 1, "seed {seed}: unit {}", unit + 1);
            simulation.compare(unit);
        }
        let common = &simulation.set.common;
        assert_eq!(common.gaps.declared, common.gaps.closed, "seed {seed}");
        assert_eq!(simulation.watcher.missing, common.missing, "seed {seed}");
        let last = simulation.watcher.changes.iter().rev().find(|change| {
            !matches!(change, SessionChange::GapDeclared(_) | SessionChange::GapClosed(_))
        });
        assert!(!matches!(last, Some(SessionChange::Suspect(_))), "seed {seed}: {last:?}");
        // The last messages of both units can be in images.
        let later_ns = simulation.now_ns + 60 * SECOND;
        assert!(common.images > 1 || simulation.set.has_ended(later_ns), "seed {seed}");
        images += common.images;
        compared += simulation.compared;
        retransmitted += common.gaps.fills.retransmitted;
    }
    assert!(images > seeds / 5 && retransmitted > seeds, "{images} images, {retransmitted}");
    assert!(compared >= 2 * seeds);
}
