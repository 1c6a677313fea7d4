//! The simulated exchange and the receiver of a feed, against each other over many seeds: one line,
//! both lines, a re-request server that loses requests, and one that is dead, with GLIMPSE. The
//! books equal those of the day after every message that the receiver has all messages for.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use nanotape_exchange::{
    Cut, Faults, Glimpse, History, HistoryWriter, Line, Packetiser, Rerequests, Snapshot,
};
use nanotape_feed::{
    book_event,
    session::{
        self, Join, Messages, Numbers, PacketOrigin, Receiver, RequestSettings, SessionEvent,
        SessionHandler, SessionSettings, SnapshotSettings,
    },
    soupbintcp::MessageStore as _,
};
use nanotape_harness::{Random, campaign};
use nanotape_testkit::naive::NaiveBooks;
use nanotape_types::{Alpha, Side, StockLocate};
use nanotape_wire::{
    framing::{moldudp64::MoldUdp64, numbered::PacketFraming as _},
    itch50::Message,
};

use super::support::{SESSION, day, messages};

const MESSAGES: usize = 1_000;
const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

/// How many seeds; a longer campaign is requested with `NANOTAPE_CAMPAIGN=10`.
fn seeds() -> u64 {
    campaign(1_000)
}

/// What a line sends: the time and the bytes of each packet.
type Packets = Vec<(u64, Vec<u8>)>;

/// The messages of a session: a part of a busy day.
struct Feed {
    bytes: Vec<u8>,
    /// Offset and time of each message.
    messages: Vec<(u64, u64)>,
    /// The stock of each message, and what its book is after it.
    states: Vec<(StockLocate, u64)>,
}

fn time_of(message: &[u8]) -> u64 {
    message[5..11].iter().fold(0, |time, byte| time << 8 | u64::from(*byte))
}

/// The levels of both sides of a stock, and the queues of the best ones, as one number.
fn state_of(books: &NaiveBooks, locate: StockLocate) -> u64 {
    let mut hasher = DefaultHasher::new();
    for side in Side::BOTH {
        let depth = books.depth(locate, side);
        for &(price, ..) in depth.iter().take(2) {
            books.queue(locate, side, price).hash(&mut hasher);
        }
        depth.hash(&mut hasher);
    }
    hasher.finish()
}

/// Applies a message; returns its stock and the state of its book.
fn apply(books: &mut NaiveBooks, message: &[u8]) -> (StockLocate, u64) {
    let Some(event) = book_event(&Message::decode(message).unwrap()) else {
        return (StockLocate::default(), 0);
    };
    let locate = books.apply(event);
    (locate, state_of(books, locate))
}

impl Feed {
    fn new() -> Self {
        let bytes = day(60_000, 12, 11);
        let all = messages(&bytes);
        let is_open = |(_, message): &(u64, &[u8])| time_of(message) >= 34_200 * SECOND;
        let first = all.iter().position(is_open).unwrap();
        let part = &all[first..first + MESSAGES];
        let start = part[0].0;
        let mut books = NaiveBooks::default();
        Self {
            messages: part.iter().map(|(offset, m)| (offset - start, time_of(m))).collect(),
            states: part.iter().map(|(_, message)| apply(&mut books, message)).collect(),
            bytes: bytes[start as usize..all[first + MESSAGES].0 as usize].to_vec(),
        }
    }

    fn message(&self, number: u64) -> &[u8] {
        let start = self.messages[number as usize - 1].0 as usize;
        let length = usize::from(u16::from_be_bytes([self.bytes[start], self.bytes[start + 1]]));
        &self.bytes[start + 2..start + 2 + length]
    }

    fn history(&self) -> (HistoryWriter, History) {
        let (mut writer, history) = History::of_memory(SESSION, self.bytes.clone());
        for number in 1..=MESSAGES as u64 {
            writer.push(self.messages[number as usize - 1].0, self.message(number)).unwrap();
        }
        (writer, history)
    }

    /// What arrives on a line: the time and the packet.
    fn send(&self, seed: u64, line: u64, faults: &str, both: &str) -> Packets {
        let (faults, both) = (faults.parse().unwrap(), both.parse::<Faults>().unwrap());
        let cut = Cut { seed: Some(seed * 2 + line), ..Cut::default() };
        let mut line = Line::new(faults, &both, seed, line);
        let mut packetiser = Packetiser::new(SESSION, 1, cut);
        for number in 1..=MESSAGES as u64 {
            let time_ns = self.messages[number as usize - 1].1;
            packetiser.push(self.message(number), time_ns, |packet| line.packet(packet));
        }
        packetiser.flush(|packet| line.packet(packet));
        let mut sent = Vec::new();
        while let Some(due_ns) = line.next_due() {
            sent.push(line.take(due_ns).unwrap());
        }
        let end_ns = self.messages[MESSAGES - 1].1;
        for second in 1..60 {
            let at_ns = end_ns + second * SECOND;
            let end = line.idle_packet(at_ns, packetiser.end_of_session().unwrap());
            sent.extend(end.map(|packet| (at_ns, packet.to_vec())));
        }
        sent
    }
}

enum Task {
    Request(u64, u16),
    Snapshot,
}

/// The owner of the receiver: books, compared with those of the day.
struct Owner<'a> {
    feed: &'a Feed,
    books: NaiveBooks,
    /// Number of the next message.
    next: u64,
    /// Whether messages are missing in the books.
    is_suspect: bool,
    compared: u64,
    snapshots: u64,
    tasks: Vec<Task>,
    /// The snapshot that the receiver knows of.
    fetched: Option<Snapshot>,
    has_ended: bool,
    seed: u64,
}

impl SessionHandler<Alpha<10>> for Owner<'_> {
    fn messages<'a>(&mut self, numbers: Numbers, _: u64, messages: impl Messages<'a>) {
        assert_eq!(numbers.start, self.next, "seed {}", self.seed);
        for message in messages {
            assert_eq!(message, self.feed.message(self.next), "seed {}", self.seed);
            let state = apply(&mut self.books, message);
            if !self.is_suspect {
                let expected = self.feed.states[self.next as usize - 1];
                assert_eq!(state, expected, "seed {} at {}", self.seed, self.next);
                self.compared += 1;
            }
            self.next += 1;
        }
        assert_eq!(numbers.end, self.next, "seed {}", self.seed);
    }

    fn skipped(&mut self, numbers: Numbers) {
        assert_eq!(numbers.start, self.next, "seed {}", self.seed);
        (self.next, self.is_suspect) = (numbers.end, true);
    }

    fn snapshot(&mut self, next: u64) {
        let snapshot = self.fetched.take().expect("one was announced");
        assert_eq!(snapshot.first_after(), next, "seed {}", self.seed);
        // A receiver that joins late has nothing before its first snapshot.
        assert!(next == self.next || self.next == 1, "seed {}: {next}", self.seed);
        self.next = next;
        self.books = NaiveBooks::default();
        for message in snapshot.messages().filter(|message| message[0] != b'G') {
            apply(&mut self.books, message);
        }
        self.is_suspect = false;
        self.snapshots += 1;
    }

    fn request(&mut self, session: Alpha<10>, first: u64, count: u16) {
        assert_eq!(session, SESSION);
        self.tasks.push(Task::Request(first, count));
    }

    fn fetch_snapshot(&mut self, _: u64) {
        self.tasks.push(Task::Snapshot);
    }

    fn event(&mut self, event: &SessionEvent<Alpha<10>>) {
        self.has_ended |= matches!(event, SessionEvent::Ended { .. });
    }
}

enum Arrival {
    Packet(PacketOrigin, Vec<u8>),
    Snapshot,
}

/// Runs a seed; returns the owner at the end.
fn run<'a>(
    feed: &'a Feed,
    seed: u64,
    settings: SessionSettings,
    lines: Vec<(session::Line, Packets)>,
    rerequest_faults: &str,
) -> Owner<'a> {
    let (mut writer, mut history) = feed.history();
    let faults = rerequest_faults.parse().unwrap();
    let mut rerequests = Rerequests::new(history.clone(), faults, 1_400, seed);
    let mut glimpse = None;
    let mut receiver = Receiver::<MoldUdp64>::new(settings);
    let mut owner = Owner {
        feed,
        books: NaiveBooks::default(),
        next: 1,
        is_suspect: false,
        compared: 0,
        snapshots: 0,
        tasks: Vec::new(),
        fetched: None,
        has_ended: false,
        seed,
    };
    let (mut arrivals, mut order) = (BTreeMap::new(), 0);
    let mut arrive = |arrivals: &mut BTreeMap<_, _>, at_ns: u64, arrival| {
        order += 1;
        arrivals.insert((at_ns, order), arrival);
    };
    for (line, packets) in lines {
        // Line B is some microseconds behind line A.
        let latency_ns = 10 * US + 15 * US * line.index() as u64;
        for (at_ns, bytes) in packets {
            let arrival = Arrival::Packet(PacketOrigin::Line(line), bytes);
            arrive(&mut arrivals, at_ns + latency_ns, arrival);
        }
    }
    while !owner.has_ended {
        let next_ns = arrivals.first_key_value().map(|(&(at_ns, _), _)| at_ns);
        let now_ns = next_ns.unwrap_or(u64::MAX).min(receiver.deadline_ns());
        assert!(now_ns < u64::MAX, "seed {seed}: {:?}", receiver.position());
        let published = feed.messages.partition_point(|&(_, time_ns)| time_ns <= now_ns);
        writer.publish(published as u64 + 1).unwrap();
        if receiver.deadline_ns() <= now_ns {
            receiver.tick(now_ns, &mut owner);
        } else if let Some((_, arrival)) = arrivals.pop_first() {
            match arrival {
                Arrival::Packet(origin, bytes) => {
                    receiver.packet(origin, (now_ns, now_ns), &bytes, &mut owner);
                }
                Arrival::Snapshot => {
                    let glimpse = glimpse.get_or_insert_with(|| Glimpse::with_capacity(1_000));
                    glimpse.follow(&mut history, u64::MAX);
                    owner.fetched = Some(glimpse.snapshot());
                    receiver.snapshot(history.next(), now_ns, &mut owner);
                }
            }
        }
        for task in std::mem::take(&mut owner.tasks) {
            match task {
                Task::Request(first, count) => {
                    let mut request = [0; 20];
                    MoldUdp64::encode_request(SESSION, first, count, &mut request).unwrap();
                    if let Some(answer) = rerequests.answer(&request) {
                        let origin = PacketOrigin::Retransmission;
                        let arrival = Arrival::Packet(origin, answer.bytes.to_vec());
                        arrive(&mut arrivals, now_ns + 300 * US + answer.delay_ns, arrival);
                    }
                }
                Task::Snapshot => arrive(&mut arrivals, now_ns + 5 * MS, Arrival::Snapshot),
            }
        }
    }
    assert_eq!((owner.next, owner.is_suspect), (MESSAGES as u64 + 1, false), "seed {seed}");
    owner
}

/// Faults of a line, from its seed: none of some kinds, and up to the given rate of others.
fn faults_of(random: &mut Random) -> String {
    let mut parts = Vec::new();
    for (fault, most) in [
        ("drop={}%", 10),
        ("burst={}%x12", 1),
        ("dup={}%", 5),
        ("reorder={}%x6", 5),
        ("delay={}%x3ms", 5),
        ("truncate={}%", 3),
        ("corrupt={}%", 3),
    ] {
        let percent = random.below(most + 1);
        if percent > 0 {
            parts.push(fault.replace("{}", &percent.to_string()));
        }
    }
    parts.join(",")
}

#[test]
fn the_books_of_a_receiver_are_those_of_the_day_over_a_thousand_seeds() {
    let feed = Feed::new();
    let (mut compared, mut snapshots, mut rerequested) = (0, 0, 0);
    let with_requests = SessionSettings {
        join: Join::Start,
        requests: Some(RequestSettings {
            timeout_ns: 5 * MS,
            retries: 100,
            ..RequestSettings::default()
        }),
        ahead_messages: 1 << 12,
        ahead_bytes: 1 << 18,
        ..SessionSettings::default()
    };
    let with_snapshots = SessionSettings {
        join: Join::Snapshot,
        requests: Some(RequestSettings {
            timeout_ns: MS,
            retries: 1,
            ..RequestSettings::default()
        }),
        snapshots: Some(SnapshotSettings {
            timeout_ns: 200 * MS,
            attempts: 3,
            retry_after_ns: 100 * MS,
        }),
        ..with_requests
    };
    for seed in 0..seeds() {
        let mut random = Random::new(seed);
        let (a, b) = (faults_of(&mut random), faults_of(&mut random));
        let both = match random.below(3) {
            0 => "silence=@09:30:00.2+50ms",
            1 => "drop=1%",
            _ => "",
        };
        let a = (session::Line::A, feed.send(seed, 0, &a, both));
        let b = (session::Line::B, feed.send(seed, 1, &b, both));
        let owner = match seed % 4 {
            0 => run(&feed, seed, with_requests, vec![a], "drop=10%"),
            1 => run(&feed, seed, with_requests, vec![b], "delay=1ms"),
            2 => run(&feed, seed, with_requests, vec![a, b], "drop=20%,delay=2ms"),
            _ => run(&feed, seed, with_snapshots, vec![a, b], "dead"),
        };
        if seed % 4 == 3 {
            snapshots += owner.snapshots;
        } else {
            assert_eq!((owner.compared, owner.snapshots), (MESSAGES as u64, 0), "seed {seed}");
            rerequested += 1;
        }
        compared += owner.compared;
    }
    assert!(snapshots > seeds() / 4 && rerequested == seeds() * 3 / 4, "{snapshots} snapshots");
    assert!(compared > seeds() * MESSAGES as u64 * 3 / 4, "{compared} comparisons");
}
