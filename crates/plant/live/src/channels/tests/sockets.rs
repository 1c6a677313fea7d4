//! A source on the loopback interface: real sockets of UDP and TCP, and a small exchange in
//! threads.

use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream, UdpSocket},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use nanotape_book::DefaultBooks;
use nanotape_engine::BookEngine;
use nanotape_feed::{
    DaySummary, Feed,
    channels::{ChannelFraming, IexTp, Pitch},
};
use nanotape_market::{EventSource as _, SessionChange};
use nanotape_records::TradeDate;
use nanotape_synth::FeedProtocol;
use nanotape_wire::pitch_tcp::{GapStatus, LoginStatus, SpinStatus};

use super::{
    super::{ChannelFeed, ChannelSource, ChannelsConfig},
    day::{OrdersBySymbol, Reference, TestDay, Watcher, books},
    exchange::{
        FromClient, answers, available, gap_response, heartbeat, login_response, spin,
        take_messages,
    },
};

const UNITS: usize = 2;

/// What the exchange does wrong.
#[derive(Clone, Copy, Default)]
struct Script {
    /// Each packet of this place, and of its multiples, is lost on both lines; 0: none.
    lost_every: usize,
    /// Unit 2 has no packet between these places, and is silent in the middle.
    outage: (usize, usize),
    /// The packets before this place are not sent.
    late: usize,
    /// Each line lacks other packets.
    is_lossy: bool,
}

struct Exchange {
    day: TestDay,
    sent: Mutex<[usize; UNITS]>,
    is_over: AtomicBool,
    /// Where the lines and the answers of each unit go.
    lines: Mutex<Vec<SocketAddr>>,
    /// Messages below this number are out of range at the proxy, by unit.
    range: [u32; UNITS],
    requests: Mutex<Vec<(u8, u32, u16)>>,
}

impl Exchange {
    fn new<F: ChannelFraming>(
        of: (FeedProtocol, Feed),
        units: u8,
        range: [u32; UNITS],
    ) -> Arc<Self> {
        let day = TestDay::of::<F>(of, units, 3_000);
        Arc::new(Self {
            day,
            sent: Mutex::default(),
            is_over: AtomicBool::new(false),
            lines: Mutex::default(),
            range,
            requests: Mutex::default(),
        })
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Sends the day on lines A and B: `lines` has the addresses of the units of A, then of B.
    fn send(&self, script: Script) {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let lines = self.lines.lock().unwrap().clone();
        let streams = self.day.carried.len();
        for (place, packet) in self.day.packets.iter().enumerate() {
            let stream = packet.stream;
            let of_unit = self.day.messages[stream].len();
            let next = self.day.packets[place + 1..].iter().find(|next| next.stream == stream);
            let sent = next.map_or(of_unit, |next| next.first as usize - 1);
            self.sent.lock().unwrap()[stream] = sent;
            let (from, to) = script.outage;
            let is_out = stream == 1 && (from..to).contains(&place);
            if place == usize::midpoint(from, to) && to > from {
                thread::sleep(Duration::from_millis(700));
            }
            let is_lost = script.lost_every > 0 && place > 0 && place % script.lost_every == 0;
            if is_out || is_lost || place < script.late {
                continue;
            }
            for line in 0..2 {
                if script.is_lossy && place % 7 == line {
                    continue;
                }
                socket.send_to(&packet.bytes, lines[line * streams + stream]).unwrap();
            }
            if place % 4 == 0 {
                thread::sleep(Duration::from_micros(200));
            }
        }
        // Heartbeats show what is missing at the end.
        while !self.is_over() && self.day.feed == Feed::Pitch {
            for (stream, line) in lines[..streams].iter().enumerate() {
                let beat = heartbeat(stream as u8 + 1, self.day.messages[stream].len() as u64 + 1);
                socket.send_to(&beat, line).unwrap();
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Accepts connections, and serves each in a thread.
    fn serve(
        self: &Arc<Self>,
        serve: impl Fn(&Self, &mut TcpStream, FromClient) + Clone + Send + 'static,
        every_100_ms: impl Fn(&Self, &mut TcpStream) + Clone + Send + 'static,
    ) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let exchange = Arc::clone(self);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let exchange = Arc::clone(&exchange);
                let (serve, every_100_ms) = (serve.clone(), every_100_ms.clone());
                thread::spawn(move || {
                    stream.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
                    let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
                    for round in 0_u32.. {
                        if exchange.is_over() {
                            return;
                        }
                        if round.is_multiple_of(10) {
                            every_100_ms(&exchange, &mut stream);
                        }
                        match stream.read(&mut buffer) {
                            Ok(0) => return,
                            Ok(length) => bytes.extend_from_slice(&buffer[..length]),
                            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                            Err(_) => return,
                        }
                        for message in take_messages(&mut bytes) {
                            serve(&exchange, &mut stream, message);
                        }
                    }
                });
            }
        });
        address
    }

    fn serve_gaps(self: &Arc<Self>) -> SocketAddr {
        let socket = Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap());
        let serve = move |exchange: &Self, stream: &mut TcpStream, message| match message {
            FromClient::Login => {
                stream.write_all(&login_response(LoginStatus::Accepted)).unwrap();
            }
            FromClient::Gap { unit, first, count } => {
                let mut requests = exchange.requests.lock().unwrap();
                requests.push((unit, first, count));
                let place = usize::from(unit) - 1;
                let is_there = first >= exchange.range[place]
                    && first as usize <= exchange.sent.lock().unwrap()[place];
                let status = if is_there { GapStatus::Accepted } else { GapStatus::OutOfRange };
                stream.write_all(&gap_response((unit, first, count), status)).unwrap();
                if !is_there {
                    return;
                }
                let to = *exchange.lines.lock().unwrap().last().unwrap();
                let messages = &exchange.day.messages[place];
                let is_on_tcp = requests.len().is_multiple_of(3);
                for answer in answers(unit, first.into(), count.into(), messages) {
                    if is_on_tcp {
                        stream.write_all(&answer).unwrap();
                    } else {
                        socket.send_to(&answer, to).unwrap();
                    }
                }
            }
            FromClient::Spin(_) | FromClient::Heartbeat => {}
        };
        self.serve(serve, |_, stream| drop(stream.write_all(&heartbeat(0, 0))))
    }

    fn serve_images(self: &Arc<Self>, unit: usize) -> SocketAddr {
        let serve = move |exchange: &Self, stream: &mut TcpStream, message| {
            if let FromClient::Spin(last) = message {
                let mut reference = Reference::new(&exchange.day, unit);
                reference.advance(&exchange.day.messages[unit], last as usize);
                let image = spin(last, SpinStatus::Accepted, &reference.image());
                let _ = stream.write_all(&image);
            }
        };
        self.serve(serve, move |exchange, stream| {
            let last = exchange.sent.lock().unwrap()[unit];
            let _ = stream.write_all(&available(last as u32));
        })
    }
}

/// What a plant had at the end.
struct Received {
    summary: DaySummary,
    books: OrdersBySymbol,
    watcher: Watcher,
    news: Vec<String>,
    retransmitted: u64,
    in_images: u64,
    images_failed: u64,
}

fn receive(config: &ChannelsConfig, exchange: &Arc<Exchange>, script: Script) -> Received {
    let date: TradeDate = "2019-12-30".parse().unwrap();
    let mut source = ChannelSource::open(config, date).unwrap();
    *exchange.lines.lock().unwrap() = source.addresses().collect();
    let mut engine = BookEngine::new(DefaultBooks::with_capacity(1024));
    let (mut watcher, mut news) = (Watcher::default(), Vec::new());
    let of = Arc::clone(exchange);
    let sender = thread::spawn(move || of.send(script));
    let (mut retransmitted, mut in_images, mut images_failed) = (0, 0, 0);
    let summary = source.read(&mut engine.live(&mut watcher), |source| {
        news.extend(source.news().iter().map(|line| line.text.clone()));
        let stat = source.stat();
        retransmitted = stat.gaps.fills.retransmitted;
        in_images = stat.gaps.fills.snapshot;
        images_failed = stat.snapshot_failures;
    });
    exchange.is_over.store(true, Ordering::Relaxed);
    sender.join().unwrap();
    let (summary, books) = (summary.unwrap(), books(&engine));
    Received { summary, books, watcher, news, retransmitted, in_images, images_failed }
}

/// The books of all channels at the end of the day.
fn expected(day: &TestDay) -> OrdersBySymbol {
    let streams = 0..day.messages.len();
    let of = |stream: usize| {
        let mut reference = Reference::new(day, stream);
        reference.advance(&day.messages[stream], day.messages[stream].len());
        books(&reference.engine)
    };
    streams.flat_map(of).collect()
}

/// Two units, each on a port of each line.
fn pitch() -> ChannelsConfig {
    let any = || -> Vec<crate::GroupAddress> {
        let address: SocketAddr = "127.0.0.1:0".parse().unwrap();
        vec![address.into(), address.into()]
    };
    ChannelsConfig {
        feed: Some(ChannelFeed::CboePitch),
        line_a: any(),
        line_b: any(),
        silence: Duration::from_millis(300),
        gap_timeout: Duration::from_millis(300),
        ..ChannelsConfig::default()
    }
}

fn with_gap_server(config: ChannelsConfig, exchange: &Arc<Exchange>) -> ChannelsConfig {
    let gap_server = exchange.serve_gaps().to_string().parse().ok();
    ChannelsConfig { gap_server, gap_answers: config.line_a[..1].to_vec(), ..config }
}

fn with_spin_servers(config: ChannelsConfig, exchange: &Arc<Exchange>) -> ChannelsConfig {
    let server =
        |unit: usize| format!("{}={}", unit + 1, exchange.serve_images(unit)).parse().unwrap();
    ChannelsConfig { spin_servers: (0..UNITS).map(server).collect(), ..config }
}

const PITCH: (FeedProtocol, Feed) = (FeedProtocol::CboePitch, Feed::Pitch);

#[test]
fn packets_that_both_lines_lose_are_requested_and_sent_again() {
    let exchange = Exchange::new::<Pitch>(PITCH, 2, [1; UNITS]);
    let config = with_gap_server(pitch(), &exchange);
    let script = Script { lost_every: 97, is_lossy: true, ..Script::default() };
    let received = receive(&config, &exchange, script);
    assert_eq!(received.books, expected(&exchange.day), "{:?}", received.news);
    let total: usize = exchange.day.messages.iter().map(Vec::len).sum();
    assert_eq!(received.summary.records, total as u64);
    assert_eq!(received.summary.session.unwrap().channels, UNITS);
    assert!(received.retransmitted > 5 && received.watcher.missing == 0);
    let units: Vec<u8> = exchange.requests.lock().unwrap().iter().map(|of| of.0).collect();
    assert!(units.contains(&1) && units.contains(&2), "{units:?}");
    let last = received.watcher.changes.last();
    assert!(matches!(last, Some(SessionChange::Complete { .. })), "{last:?}");
}

#[test]
fn a_lost_unit_and_a_refusal_are_closed_by_an_image() {
    let exchange = Exchange::new::<Pitch>(PITCH, 2, [1, u32::MAX]);
    let config = with_spin_servers(with_gap_server(pitch(), &exchange), &exchange);
    let count = exchange.day.packets.len();
    let outage = (count / 3, count / 2);
    let script = Script { lost_every: 151, outage, ..Script::default() };
    let received = receive(&config, &exchange, script);
    let news = received.news.join("\n");
    assert_eq!(received.books, expected(&exchange.day), "{news}");
    assert!(news.contains("unit 2: lost: silent on all lines"), "{news}");
    assert!(news.contains("unit 2: messages from"), "{news}");
    assert!(news.contains("refused: out of range"), "{news}");
    assert!(received.in_images > 0 && received.retransmitted > 0, "{news}");
    assert_eq!(received.images_failed, 0, "{news}");
    let last = received.watcher.changes.iter().rev().find(|change| {
        !matches!(change, SessionChange::GapDeclared(_) | SessionChange::GapClosed(_))
    });
    assert!(!matches!(last, Some(SessionChange::Suspect(_))), "{last:?}");
}

#[test]
fn a_late_join_begins_with_an_image_of_each_unit() {
    let exchange = Exchange::new::<Pitch>(PITCH, 2, [1; UNITS]);
    let config = with_spin_servers(pitch(), &exchange);
    let late = exchange.day.packets.len() / 3;
    let received = receive(&config, &exchange, Script { late, ..Script::default() });
    assert_eq!(received.books, expected(&exchange.day), "{:?}", received.news);
    assert!(!received.summary.session.unwrap().is_late, "{:?}", received.news);
    let last = received.watcher.changes.last();
    assert!(matches!(last, Some(SessionChange::Restored { .. })), "{last:?}");
}

#[test]
fn a_server_that_is_not_there_is_reported_and_ends_nothing() {
    let exchange = Exchange::new::<Pitch>(PITCH, 2, [1; UNITS]);
    let closed = nanotape_harness::unused_address();
    let config = ChannelsConfig { gap_server: closed.to_string().parse().ok(), ..pitch() };
    let received = receive(&config, &exchange, Script { lost_every: 400, ..Script::default() });
    let news = received.news.join("\n");
    assert!(news.contains("Connection refused"), "{news}");
    assert!(received.watcher.missing > 0, "{news}");
    assert!(received.summary.session.unwrap().channels == UNITS);
}

#[test]
fn iex_on_two_lines_brings_everything_that_one_of_them_has() {
    let of = (FeedProtocol::IexDeepPlus, Feed::IexDeepPlus);
    let exchange = Exchange::new::<IexTp>(of, 1, [1; UNITS]);
    let config = pitch();
    let config = ChannelsConfig {
        feed: Some(ChannelFeed::IexDeepPlus),
        line_a: config.line_a[..1].to_vec(),
        line_b: config.line_b[..1].to_vec(),
        ..config
    };
    let received = receive(&config, &exchange, Script { is_lossy: true, ..Script::default() });
    assert_eq!(received.books, expected(&exchange.day), "{:?}", received.news);
    let total = exchange.day.messages[0].len() as u64;
    assert_eq!((received.summary.records, received.watcher.missing), (total, 0));
}
