//! Captures whose packets are lost, repeated, out of order, of several lines and sessions: what is
//! delivered is that of a naive map of numbers, and what the survey counts.

use std::{
    collections::BTreeMap,
    net::{Ipv4Addr, SocketAddrV4},
    ops::ControlFlow,
};

use nanotape_feed::{
    CaptureChoice, Damage, DayEnd, DaySource, DaySummary, MessageHandler, Position,
    capture::{CaptureSurvey, Carried},
    read_day,
};
use nanotape_harness::Random;
use nanotape_types::{
    Alpha, NanosSinceMidnight, OrderReferenceNumber, StockLocate, TrackingNumber,
};
use nanotape_wire::{
    capture::CaptureFormat,
    framing::moldudp64::{PacketWriter, end_of_session},
    itch50::{Message, OrderDeleteFields},
};

use crate::captures::Capture;

const SESSIONS: [Alpha<10>; 2] = [Alpha::new(*b"MONDAY    "), Alpha::new(*b"TUESDAY   ")];

/// A packet of the file. The copy makes its messages differ from those of other packets.
#[derive(Clone, Debug)]
struct Packet {
    line: u8,
    session: usize,
    first: u64,
    count: u64,
    copy: u64,
    is_end: bool,
}

/// The messages of a session by number, and the span of all numbers of its packets.
#[derive(Default)]
struct Naive {
    messages: BTreeMap<u64, Vec<u8>>,
    known: Option<(u64, u64)>,
}

impl Naive {
    fn of(packets: &[Packet], session: usize) -> Self {
        let mut naive = Self::default();
        for packet in packets.iter().filter(|packet| packet.session == session) {
            let (first, next) = (packet.first, packet.first + packet.count);
            for number in first..next {
                naive.messages.entry(number).or_insert_with(|| message(number, packet.copy));
            }
            let known = naive.known.unwrap_or((first, next));
            naive.known = Some((known.0.min(first), known.1.max(next)));
        }
        naive
    }

    /// Ranges of numbers without a message.
    fn missing(&self) -> Vec<Damage> {
        let (mut expected, end) = self.known.unwrap_or_default();
        let mut missing = Vec::new();
        for next in self.messages.keys().copied().chain([end]) {
            if next > expected {
                missing.push(Damage::Missing { first: expected, next });
            }
            expected = next + 1;
        }
        missing
    }
}

fn message(number: u64, copy: u64) -> Vec<u8> {
    OrderDeleteFields {
        stock_locate: StockLocate::new(13),
        tracking_number: TrackingNumber::default(),
        timestamp: NanosSinceMidnight::new(34_200_000_000_000 + number).unwrap(),
        order_reference_number: OrderReferenceNumber::new(number << 32 | copy),
    }
    .encode()
    .to_vec()
}

/// The packets of a session on its lines: cut, lost and repeated on each line by itself.
fn session(random: &mut Random, session: usize) -> Vec<Vec<Packet>> {
    let first = if random.below(3) == 0 { 1 + random.below(1_000) } else { 1 };
    let end = first + random.below(150);
    let packet =
        |line, first, count| Packet { line, session, first, count, copy: 0, is_end: false };
    let mut lines = Vec::new();
    for line in 0..1 + random.below(6) as u8 {
        let (mut packets, loss) = (Vec::new(), random.below(4));
        let mut next = first;
        while next < end {
            let count = (1 + random.below(12)).min(end - next);
            if random.below(10) >= loss {
                packets.push(packet(line, next, count));
            }
            if random.below(12) == 0 {
                packets.push(packet(line, next, count));
            }
            next += count;
            if random.below(15) == 0 {
                packets.push(packet(line, next, 0));
            }
        }
        if random.below(2) == 0 {
            // Also one that shows that messages are missing at the end.
            let next = end + random.below(3) * random.below(80_000);
            packets.push(Packet { is_end: random.below(2) == 0, ..packet(line, next, 0) });
        }
        lines.push(packets);
    }
    lines
}

/// The packets of all lines in the order of a file, as they were sent or not.
fn file(random: &mut Random) -> Vec<Packet> {
    let mut lines: Vec<Vec<Packet>> = Vec::new();
    for session_index in 0..1 + random.below(2) as usize {
        lines.extend(session(random, session_index));
    }
    let mut packets: Vec<Packet> = match random.below(3) {
        // A line or a session after the other.
        0 => lines.into_iter().flatten().collect(),
        _ => {
            let longest = lines.iter().map(Vec::len).max().unwrap_or(0);
            let across = (0..longest).flat_map(|at| lines.iter().filter_map(move |of| of.get(at)));
            across.cloned().collect()
        }
    };
    let length = packets.len();
    match random.below(5) {
        0 => {
            (1..length).rev().for_each(|at| packets.swap(at, random.below(at as u64 + 1) as usize))
        }
        1 if length > 0 => packets.rotate_left(random.below(length as u64) as usize),
        2 => packets.reverse(),
        3 => (1..length).for_each(|at| {
            if random.below(5) == 0 {
                packets.swap(at, at - 1);
            }
        }),
        _ => {}
    }
    (0..).zip(&mut packets).for_each(|(copy, packet)| packet.copy = copy);
    packets
}

fn written(packets: &[Packet]) -> Vec<u8> {
    let mut capture = Capture::new(CaptureFormat::Pcap);
    for packet in packets {
        let at = SocketAddrV4::new(Ipv4Addr::new(239, 0, 0, packet.line), 5_001);
        let session = SESSIONS[packet.session];
        if packet.is_end {
            capture.datagram(at, &end_of_session(session, packet.first));
            continue;
        }
        let mut buffer = [0; 600];
        let mut writer = PacketWriter::new(session, packet.first, &mut buffer).unwrap();
        for number in packet.first..packet.first + packet.count {
            assert!(writer.push(&message(number, packet.copy)));
        }
        let payload = writer.finish().to_vec();
        capture.datagram(at, &payload);
    }
    capture.bytes
}

/// What a source delivers.
#[derive(Default)]
struct Found {
    messages: BTreeMap<u64, Vec<u8>>,
    damage: Vec<Damage>,
    last: u64,
}

impl MessageHandler for Found {
    fn message(&mut self, position: Position, message: Message<'_>) -> ControlFlow<()> {
        assert!(position.number > self.last, "{} after {}", position.number, self.last);
        self.last = position.number;
        self.messages.insert(position.number, message.as_bytes().to_vec());
        ControlFlow::Continue(())
    }

    fn damage(&mut self, damage: Damage) {
        if let Damage::Missing { first, next } = damage {
            assert!(first > self.last, "{damage} after {}", self.last);
            self.last = next - 1;
        }
        self.damage.push(damage);
    }
}

fn read(mut source: DaySource) -> (Found, DaySummary) {
    let mut found = Found::default();
    let summary = read_day(&mut source, &mut found, |_| ()).unwrap();
    assert_eq!(summary.end, DayEnd::EndOfFile);
    (found, summary)
}

/// The bytes as a source that can be read twice, and as one that cannot.
fn sources(bytes: &[u8], kept_bytes: usize) -> [DaySource; 2] {
    let pipe = std::io::Cursor::new(bytes.to_vec());
    let pipe = DaySource::stream("pipe".to_owned(), pipe, None).unwrap();
    let mut sources = [DaySource::memory("file", bytes.to_vec()), pipe];
    sources.iter_mut().for_each(|source| source.set_kept_bytes(kept_bytes));
    sources
}

#[test]
fn every_message_of_the_file_is_delivered_once_and_the_rest_is_reported() {
    for seed in 0..400 {
        let packets = file(&mut Random::new(seed));
        let bytes = written(&packets);
        // Without a choice: the first session with messages, or else the first one.
        let first = packets.iter().find(|packet| packet.count > 0).or(packets.first());
        let sessions = [0, 1].map(|session| Naive::of(&packets, session));
        // Room for everything, for a few packets, and for none.
        for kept_bytes in [64 << 20, 1_500, 0] {
            for source in sources(&bytes, kept_bytes) {
                let (found, summary) = read(source);
                let capture = summary.session.unwrap();
                let Some(first) = first else {
                    assert_eq!((capture.session, found.messages.len()), (None, 0));
                    continue;
                };
                let naive = &sessions[first.session];
                assert!(found.messages == naive.messages, "seed {seed}, {kept_bytes}");
                assert_eq!(found.damage, naive.missing(), "seed {seed}, {kept_bytes}");
                assert_eq!(capture.session, Some(Carried::MoldUdp64(SESSIONS[first.session])));
                let other = 1 - first.session;
                let numbers = &sessions[other].messages;
                let unread: Vec<_> =
                    capture.unread.iter().map(|of| (of.session, of.first, of.last)).collect();
                let expected = numbers.first_key_value().zip(numbers.last_key_value());
                let expected = expected
                    .map(|(one, two)| (Carried::MoldUdp64(SESSIONS[other]), *one.0, *two.0));
                assert_eq!(unread, Vec::from_iter(expected), "seed {seed}");
                let firsts: u64 = capture.lines.iter().map(|(_, of)| of.first_messages).sum();
                assert_eq!(firsts, capture.messages, "seed {seed}, {kept_bytes}");
            }
        }
    }
}

#[test]
fn each_session_is_read_whole_and_as_it_is_counted() {
    for seed in 400..600 {
        let packets = file(&mut Random::new(seed));
        let bytes = written(&packets);
        let whole = DaySource::memory("file", bytes.clone());
        let survey = CaptureSurvey::read(&mut { whole }, |_| ()).unwrap();
        for (session, name) in SESSIONS.into_iter().enumerate() {
            let naive = Naive::of(&packets, session);
            let choice =
                CaptureChoice { session: name.to_string().parse().ok(), ..Default::default() };
            let mut source = DaySource::memory("file", bytes.clone());
            source.choose(&choice);
            let (found, summary) = read(source);
            let capture = summary.session.unwrap();
            assert!(found.messages == naive.messages, "seed {seed}: {name}");
            assert_eq!(found.damage, naive.missing(), "seed {seed}: {name}");
            assert_eq!(capture.absent_session.is_some(), naive.known.is_none(), "seed {seed}");
            assert_eq!(capture.unread, [], "seed {seed}");
            let counted = survey.sessions.iter().find(|of| of.carried == Carried::MoldUdp64(name));
            let counted = counted.map(|of| (of.messages.unwrap(), of.missing.unwrap()));
            let delivered = (capture.messages, capture.missing);
            assert_eq!(counted.unwrap_or_default(), delivered, "seed {seed}: {name}");
            let mut one = DaySource::memory("file", bytes.clone());
            one.choose(&choice);
            let one = CaptureSurvey::read(&mut one, |_| ()).unwrap();
            let of_one = one.sessions.first().map(|of| (of.messages.unwrap(), of.missing.unwrap()));
            assert_eq!((of_one, one.sessions.len() <= 1), (counted, true), "seed {seed}: {name}");
        }
    }
}

#[test]
fn a_lossy_file_keeps_little_and_a_pipe_keeps_all() {
    // One packet in ten is lost; the last one came first.
    let mut packets: Vec<Packet> = (0..20_000u64)
        .filter(|number| number % 10 != 5)
        .map(|at| Packet {
            line: 0,
            session: 0,
            first: 1 + 10 * at,
            count: 10,
            copy: at,
            is_end: false,
        })
        .collect();
    let last = packets.pop().unwrap();
    packets.insert(0, last);
    let bytes = written(&packets);
    let naive = Naive::of(&packets, 0);
    for source in sources(&bytes, 100_000) {
        let (found, summary) = read(source);
        assert!(found.messages == naive.messages);
        assert_eq!(found.damage, naive.missing());
        assert_eq!(summary.session.unwrap().missing, 20_000);
    }
}
