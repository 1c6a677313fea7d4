//! Captures of a session on two lines: the events are those of the same messages in a day file.

use std::{
    io::Write as _,
    net::{Ipv4Addr, SocketAddrV4},
    ops::ControlFlow,
    path::Path,
};

use nanotape_feed::{DayEnd, DaySource, DaySummary};
use nanotape_harness::{Random, skipped};
use nanotape_market::{Damage, EventHandler, EventSource as _, MarketEvent, Origin, Position};
use nanotape_types::{
    Alpha, Coming, NanosSinceMidnight, OrderReferenceNumber, Price4, Shares, StockLocate, Symbol,
    TrackingNumber,
};
use nanotape_wire::{
    capture::{CaptureFormat, CaptureWriter, FrameWriter, LinkType},
    framing::moldudp64::{PacketWriter, end_of_session},
    itch50::{AddOrderFields, BuySellIndicator, OrderDeleteFields},
};

const SESSION: Alpha<10> = Alpha::new(*b"MONDAY    ");
const LINE_A: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(233, 54, 12, 111), 26_477);
const LINE_B: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(233, 86, 230, 111), 26_477);
const BEGIN_NS: u64 = 1_577_716_200_000_000_000;
const ETHERNET: LinkType = LinkType(1);

/// Adds and deletes of orders, about one and a half of each order.
fn messages(count: u64) -> Vec<Vec<u8>> {
    let timestamp = |number| NanosSinceMidnight::new(34_200_000_000_000 + number * 1_000).unwrap();
    let (stock_locate, tracking_number) = (StockLocate::new(13), TrackingNumber::default());
    let message = |number: u64| -> Vec<u8> {
        if number % 3 == 2 {
            let order_reference_number = OrderReferenceNumber::new(number - 1);
            let timestamp = timestamp(number);
            OrderDeleteFields { stock_locate, tracking_number, timestamp, order_reference_number }
                .encode()
                .to_vec()
        } else {
            AddOrderFields {
                stock_locate,
                tracking_number,
                timestamp: timestamp(number),
                order_reference_number: OrderReferenceNumber::new(number),
                buy_sell_indicator: BuySellIndicator::Buy,
                shares: Shares::new(100),
                stock: Symbol::new(*b"AAPL    "),
                price: Price4::new(1_000_000),
            }
            .encode()
            .to_vec()
        }
    };
    (1..=count).map(message).collect()
}

/// What a source delivers.
#[derive(Default)]
struct Found {
    events: Vec<(u64, MarketEvent)>,
    damage: Vec<Damage>,
    received: Vec<u64>,
    announced: [u64; 3],
    stops_after: Option<usize>,
}

impl EventHandler for Found {
    type Hint = OrderReferenceNumber;

    fn event(&mut self, at: Position, event: &MarketEvent, _: impl Origin) -> ControlFlow<()> {
        self.events.push((at.number, *event));
        match self.stops_after {
            Some(count) if self.events.len() == count => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }

    fn received(&mut self, ts_recv_ns: u64) {
        self.received.push(ts_recv_ns);
    }

    fn damage(&mut self, damage: Damage) {
        self.damage.push(damage);
    }

    fn prefetch_index(&mut self, coming: Coming) -> Option<OrderReferenceNumber> {
        self.announced[0] += 1;
        Some(coming.reference)
    }

    fn prefetch_order(&mut self, _: &mut OrderReferenceNumber) {
        self.announced[1] += 1;
    }

    fn prefetch_levels(&mut self, _: &OrderReferenceNumber) {
        self.announced[2] += 1;
    }
}

fn read(mut source: DaySource) -> (Found, DaySummary) {
    let mut found = Found::default();
    let summary = source.read(&mut found, |_| ()).unwrap();
    (found, summary)
}

fn binary_file(messages: &[Vec<u8>]) -> Vec<u8> {
    let record = |message: &Vec<u8>| {
        let length = (message.len() as u16).to_be_bytes();
        [length.as_slice(), message].concat()
    };
    messages.iter().flat_map(record).collect()
}

/// A capture that is written packet by packet.
pub(crate) struct Capture {
    writer: CaptureWriter,
    pub(crate) bytes: Vec<u8>,
    ts_ns: u64,
}

impl Capture {
    pub(crate) fn new(format: CaptureFormat) -> Self {
        let writer = CaptureWriter::new(format, ETHERNET, 1);
        let mut header = [0; 256];
        let length = writer.header(&mut header).unwrap();
        Self { writer, bytes: header[..length].to_vec(), ts_ns: BEGIN_NS }
    }

    pub(crate) fn datagram(&mut self, destination: SocketAddrV4, payload: &[u8]) {
        let source = SocketAddrV4::new(Ipv4Addr::new(10, 1, 2, 3), 33_000);
        let frames = FrameWriter {
            source,
            destination,
            source_mac: [2, 0, 0, 0, 0, 2],
            vlans: &[100],
            time_to_live: 16,
        };
        let (mut frame, mut record) = ([0; 2_048], [0; 4_096]);
        let length = frames.write(1, payload, &mut frame).unwrap();
        let written = self.writer.packet(self.ts_ns, 0, &frame[..length], &mut record).unwrap();
        self.bytes.extend_from_slice(&record[..written]);
        self.ts_ns += 7_000;
    }

    /// Messages with these numbers; `all` begins with number 1.
    fn messages(&mut self, line: SocketAddrV4, all: &[Vec<u8>], first: u64, count: u64) {
        let mut buffer = [0; 1_400];
        let mut writer = PacketWriter::new(SESSION, first, &mut buffer).unwrap();
        for message in &all[first as usize - 1..(first + count - 1) as usize] {
            assert!(writer.push(message));
        }
        let packet = writer.finish().to_vec();
        self.datagram(line, &packet);
    }
}

/// Two lines that lose, cut and delay packets differently; no message is lost on both.
fn two_lines(format: CaptureFormat, all: &[Vec<u8>], seed: u64) -> Vec<u8> {
    let (mut capture, mut random) = (Capture::new(format), Random::new(seed));
    let last = all.len() as u64;
    let mut next = [1, 1];
    let mut good_from = [1, 1];
    while next.iter().any(|&number| number <= last) {
        let line = usize::from(next[0] > next[1] || (next[0] == next[1] && random.below(2) == 0));
        let first = next[line];
        let count = (random.below(9) + 1).min(last + 1 - first);
        next[line] = first + count;
        // A line may only lose what the other one will bring or has brought.
        let may_lose = good_from[1 - line] <= first;
        if may_lose && random.below(10) == 0 {
            good_from[line] = first + count;
        } else {
            let address = [LINE_A, LINE_B][line];
            capture.messages(address, all, first, count);
        }
    }
    capture.datagram(LINE_A, &end_of_session(SESSION, last + 1));
    capture.bytes
}

#[test]
fn two_faulty_lines_give_the_events_of_the_day_file() {
    let all = messages(2_000);
    let (day, _) = read(DaySource::memory("day", binary_file(&all)));
    for seed in 0..40 {
        let format = [CaptureFormat::Pcap, CaptureFormat::Pcapng][seed as usize % 2];
        let (found, summary) = read(DaySource::memory("capture", two_lines(format, &all, seed)));
        let capture = summary.session.unwrap();
        assert_eq!(found.damage, [], "seed {seed}");
        assert_eq!(found.events, day.events, "seed {seed}");
        assert_eq!((capture.messages, capture.missing, summary.records), (2_000, 0, 2_000));
        assert_eq!(capture.lines.len(), 2);
        assert!(capture.lines.iter().any(|(_, line)| line.missing > 0), "seed {seed}");
        assert!(found.announced.iter().all(|&count| count == found.announced[0] && count > 1_000));
        assert!(found.received.iter().all(|&ts_ns| ts_ns >= BEGIN_NS));
    }
}

#[test]
fn a_compressed_capture_and_a_pipe_are_read_as_the_file() {
    let all = messages(3_000);
    let bytes = two_lines(CaptureFormat::Pcapng, &all, 7);
    let (expected, _) = read(DaySource::memory("capture", bytes.clone()));
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&bytes).unwrap();
    for (name, bytes) in [("pipe", bytes), ("gzip", gzip.finish().unwrap())] {
        let source = DaySource::stream(name.to_owned(), std::io::Cursor::new(bytes), None).unwrap();
        let (found, summary) = read(source);
        assert_eq!(found.events, expected.events, "{name}");
        assert!(matches!(summary.end, DayEnd::EndOfFile), "{name}");
    }
}

#[test]
fn what_no_line_has_is_reported_as_missing() {
    let all = messages(20);
    let mut capture = Capture::new(CaptureFormat::Pcap);
    capture.messages(LINE_A, &all, 1, 5);
    capture.messages(LINE_B, &all, 1, 5);
    capture.messages(LINE_A, &all, 9, 2);
    capture.ts_ns += 10_000_000;
    capture.messages(LINE_B, &all, 11, 10);
    capture.datagram(LINE_B, &[0; 30]);
    let (found, summary) = read(DaySource::memory("capture", capture.bytes));
    let missing = Damage::Missing { first: 6, next: 9 };
    assert_eq!(missing.to_string(), "messages 6 to 8: on no line, 3 missing");
    // Until the end of the file, it could have come.
    assert!(
        matches!(found.damage[0], Damage::Packet { reason: "trailing bytes", .. }),
        "{:?}",
        found.damage
    );
    assert_eq!(found.damage[1..], [missing]);
    let numbers: Vec<u64> = found.events.iter().map(|(number, _)| *number).collect();
    assert!(numbers.into_iter().eq((1..=5).chain(9..=20)));
    assert_eq!(summary.session.unwrap().missing, 3);
}

#[test]
fn a_message_of_a_wrong_length_is_skipped_and_reported() {
    let mut all = messages(5);
    all[2].pop();
    let mut capture = Capture::new(CaptureFormat::Pcap);
    capture.messages(LINE_A, &all, 1, 5);
    let (found, _) = read(DaySource::memory("capture", capture.bytes));
    let actual_bytes = all[2].len() as u16;
    let tag = all[2][0];
    assert_eq!(found.damage, [Damage::Message { number: 3, tag, actual_bytes }]);
    assert_eq!(found.events.len(), 4);
}

#[test]
fn a_cut_capture_gives_everything_before_the_cut() {
    let all = messages(60);
    let mut capture = Capture::new(CaptureFormat::Pcap);
    for first in (1..=60).step_by(4) {
        capture.messages(LINE_A, &all, first, 4);
    }
    for length in (0..capture.bytes.len()).step_by(13) {
        let (found, summary) = read(DaySource::memory("capture", capture.bytes[..length].to_vec()));
        assert!(found.events.iter().map(|(number, _)| *number).eq(1..=found.events.len() as u64));
        let is_cut = matches!(summary.end, DayEnd::Cut { .. });
        assert!(
            is_cut
                || summary
                    .session
                    .is_none_or(|capture| capture.packets * 4 >= found.events.len() as u64)
        );
        assert_eq!(found.events.len() % 4, 0, "{length}");
    }
}

#[test]
fn a_handler_that_breaks_ends_the_reading() {
    let all = messages(100);
    let bytes = two_lines(CaptureFormat::Pcap, &all, 3);
    let mut found = Found { stops_after: Some(17), ..Found::default() };
    let summary = DaySource::memory("capture", bytes).read(&mut found, |_| ()).unwrap();
    assert_eq!((found.events.len(), summary.end), (17, DayEnd::Stopped));
}

#[test]
fn a_real_capture_has_269_messages_and_no_gap() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../../shared/data/totalview_20230822_100packets.pcap");
    if !path.exists() {
        skipped(format_args!("no {} (real market data)", path.display()));
        return;
    }
    let mut source = DaySource::open(&path).unwrap();
    let began_ns = source.capture_began_ns().unwrap().unwrap();
    let (found, summary) = read(source);
    let capture = summary.session.unwrap();
    assert_eq!((capture.packets, capture.messages, capture.missing), (100, 269, 0));
    assert_eq!(found.damage, []);
    assert_eq!(found.events.first().map(|(number, _)| *number), Some(14_757_701));
    assert_eq!(capture.first_message, 14_757_701);
    assert_eq!(capture.lines.len(), 1);
    assert_eq!(capture.lines[0].0, LINE_A.into());
    assert_eq!(found.received[0], began_ns);
}
