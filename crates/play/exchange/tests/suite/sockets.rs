//! The exchange over real sockets on 127.0.0.1: what receivers, re-requests, SoupBinTCP and GLIMPSE
//! get is the day.

use std::{
    collections::BTreeMap,
    io::{ErrorKind, Read as _, Write as _},
    net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream, UdpSocket},
    ops::ControlFlow,
    thread::{self, JoinHandle},
    time::Duration,
};

use nanotape_clock::Clock;
use nanotape_exchange::server::{
    Addresses, ExchangeOptions, ExchangeSummary, SimulatedExchange, history_of,
};
use nanotape_feed::{
    DaySource,
    soupbintcp::{Client, ClientClosed, ClientEvent, ClientOptions, Resume, run_session},
};
use nanotape_harness::Scratch;
use nanotape_tape::ShutdownFlag;
use nanotape_types::NanosSinceMidnight;
use nanotape_wire::{
    framing::{
        moldudp64::MoldUdp64,
        numbered::{PacketFraming as _, PacketKind},
    },
    soupbintcp::{GlimpseEndOfSnapshot, parse_number},
};

use super::support::{SESSION, day, messages};

/// What one receiver got up to the first end of session.
#[derive(Default)]
struct Received {
    messages: BTreeMap<u64, Vec<u8>>,
    packets: u64,
    heartbeats: Vec<u64>,
    end: u64,
}

/// A receiver in a thread of its own, and its address.
fn receiver() -> (SocketAddrV4, JoinHandle<Received>) {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let SocketAddr::V4(address) = socket.local_addr().unwrap() else { panic!("not IPv4") };
    let receive = move || {
        let (mut received, mut buffer) = (Received::default(), [0; 2_048]);
        loop {
            let length = socket.recv(&mut buffer).expect("the session ends");
            let Ok(packet) = MoldUdp64::decode(&buffer[..length]) else { continue };
            if packet.session != SESSION {
                continue;
            }
            match packet.kind {
                PacketKind::Data => {
                    received.packets += 1;
                    received.messages.extend(packet.messages().map(|(n, m)| (n, m.to_vec())));
                }
                PacketKind::Heartbeat => received.heartbeats.push(packet.first),
                PacketKind::Unsequenced => panic!("MoldUDP64 numbers all messages"),
                PacketKind::EndOfSession => {
                    received.end = packet.first;
                    return received;
                }
            }
        }
    };
    (address, thread::spawn(receive))
}

/// Runs a client of SoupBinTCP until it closes, or until `is_enough`.
fn soup(
    address: SocketAddr,
    resume: Resume,
    is_enough: impl Fn(&[u8]) -> bool,
) -> (Client, Vec<(u64, Vec<u8>)>) {
    let clock = Clock::monotonic();
    let began = clock.stamp();
    let now_ns = || clock.nanos_between(began, clock.stamp());
    let mut client = Client::new(ClientOptions::default(), resume);
    let mut got = Vec::new();
    run_session(
        (address, Duration::from_secs(5)),
        &mut client,
        now_ns,
        || false,
        |event| {
            let ClientEvent::Sequenced { number, message } = event else {
                return ControlFlow::Continue(());
            };
            got.push((number, message.to_vec()));
            if is_enough(message) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        },
    );
    (client, got)
}

fn loopback() -> Option<SocketAddr> {
    Some((Ipv4Addr::LOCALHOST, 0).into())
}

/// Opens an exchange of this day in a file, and runs it in a thread.
fn start(
    bytes: &[u8],
    options: ExchangeOptions,
    stop: ShutdownFlag,
) -> (Addresses, JoinHandle<ExchangeSummary>, Scratch) {
    let folder = Scratch::folder("exchange");
    let path = folder.join("day.itch50");
    std::fs::write(&path, bytes).unwrap();
    let history = history_of(SESSION, Some(&path), folder.path()).unwrap();
    let exchange = SimulatedExchange::open(options, history, stop).unwrap();
    let addresses = exchange.addresses();
    let mut source = DaySource::open(&path).unwrap();
    (
        addresses,
        thread::spawn(move || {
            exchange.run(&mut source, |_| (), |damage| panic!("{damage}")).unwrap()
        }),
        folder,
    )
}

#[test]
fn every_way_to_the_messages_gives_the_day() {
    let bytes = day(3_000, 20, 1);
    let messages = messages(&bytes);
    let ((a, line_a), (b, line_b)) = (receiver(), receiver());
    let options = ExchangeOptions {
        session: SESSION,
        // Sixteen hours in three seconds: the kernel drops packets of a receiver that is slower.
        pace_milli: 20_000_000,
        lines: [Some(a), Some(b)],
        rerequests: loopback(),
        soup: loopback(),
        glimpse: loopback(),
        linger: Duration::from_secs(3),
        ..ExchangeOptions::default()
    };
    let (addresses, exchange, _folder) = start(&bytes, options, ShutdownFlag::new());

    // A client that joins while the day is sent gets everything, and then the end.
    let soup_address = addresses.soup.unwrap();
    let client = thread::spawn(move || soup(soup_address, Resume::BEGINNING, |_| false));
    let (line_a, line_b) = (line_a.join().unwrap(), line_b.join().unwrap());
    let expected: BTreeMap<u64, Vec<u8>> =
        (1..).zip(messages.iter().map(|(_, m)| m.to_vec())).collect();
    assert!(line_a.messages == expected && line_b.messages == expected);
    assert_eq!((line_a.end, line_b.end), (3_001, 3_001));
    assert!(line_a.packets != line_b.packets, "the lines cut packets differently");

    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut buffer = [0; 2_048];
    let length = MoldUdp64::encode_request(SESSION, 77, 5, &mut buffer).unwrap();
    socket.send_to(&buffer[..length], addresses.rerequests.unwrap()).unwrap();
    let length = socket.recv(&mut buffer).unwrap();
    let answer = MoldUdp64::decode(&buffer[..length]).unwrap();
    let answered: Vec<_> = answer.messages().map(|(n, m)| (n, m.to_vec())).collect();
    let of_range = |range: std::ops::Range<u64>| -> Vec<_> {
        expected.range(range).map(|(n, m)| (*n, m.clone())).collect()
    };
    assert_eq!(answered, of_range(77..82));

    let (client, got) = client.join().unwrap();
    assert_eq!((client.closed(), got.len()), (Some(ClientClosed::EndOfSession), 3_000));
    assert!(got == of_range(1..3_001));
    let (client, got) = soup(soup_address, Resume { next: 2_990, ..client.resume() }, |_| false);
    assert_eq!(client.closed(), Some(ClientClosed::EndOfSession));
    assert!(got == of_range(2_990..3_001));
    let (client, snapshot) = soup(addresses.glimpse.unwrap(), Resume::BEGINNING, |m| m[0] == b'G');
    assert!(client.is_logged_in() && snapshot.len() > 20);
    let end = GlimpseEndOfSnapshot::wrap(&snapshot.last().unwrap().1).unwrap();
    assert_eq!(parse_number(end.sequence_number().as_bytes()), Some(3_001));
    drop(client);

    let summary = exchange.join().unwrap();
    assert_eq!((summary.messages, summary.skipped), (3_000, 0));
    for (line, received) in summary.lines.iter().zip([&line_a, &line_b]) {
        assert_eq!((line.counts.sent, line.counts.messages), (received.packets, 3_000));
        assert!(line.counts.idle_packets >= 2 && line.send_errors == 0, "{line:?}");
    }
    let counts = summary.rerequests.counts;
    assert_eq!((counts.answered, counts.messages), (1, 5));
    assert_eq!((summary.soup.logins, summary.soup.messages), (2, 3_011));
    assert_eq!((summary.glimpse.logins, summary.glimpse.messages), (1, snapshot.len() as u64));
}

#[test]
fn a_paced_day_keeps_its_schedule_and_says_how_well() {
    // Forty seconds after the opening, with the messages before it already in the history.
    let bytes = day(40_000, 50, 2);
    let (open, until) =
        (NanosSinceMidnight::from_hms(9, 30, 0), NanosSinceMidnight::from_hms(9, 30, 40));
    let time = |message: &[u8]| {
        message[5..11].iter().fold(0u64, |time, byte| time << 8 | u64::from(*byte))
    };
    let messages = messages(&bytes);
    let first = messages.iter().position(|(_, m)| time(m) >= open.get()).unwrap() as u64 + 1;
    let last = messages.iter().position(|(_, m)| time(m) >= until.get()).unwrap() as u64;
    let (a, line) = receiver();
    let options = ExchangeOptions {
        session: SESSION,
        pace_milli: 40_000,
        lines: [Some(a), None],
        from: Some(open),
        until: Some(until),
        wait: Duration::from_millis(1_100),
        linger: Duration::ZERO,
        ..ExchangeOptions::default()
    };
    let (_, exchange, _folder) = start(&bytes, options, ShutdownFlag::new());
    let (line, summary) = (line.join().unwrap(), exchange.join().unwrap());
    assert_eq!(
        line.messages.keys().copied().collect::<Vec<_>>(),
        (first..=last).collect::<Vec<_>>()
    );
    assert_eq!((line.heartbeats.as_slice(), line.end), ([1].as_slice(), last + 1));
    assert_eq!((summary.messages, summary.skipped), (last, first - 1));
    let faithfulness = &summary.faithfulness;
    assert!(faithfulness.packets() >= line.packets);
    let late = [faithfulness.late_ns(0.5), faithfulness.late_ns(0.99), faithfulness.late_ns_max()];
    assert!(late.is_sorted() && late[0].is_some(), "{late:?}");
    // 40 seconds of the day take one second, and a second of heartbeats is not a part of it.
    let span = time(messages[last as usize - 1].1) - time(messages[first as usize - 1].1);
    assert!(summary.sending_ns >= span / 40, "{} of {}", summary.sending_ns, span / 40);
}

#[test]
fn a_stopped_exchange_ends_without_an_end_of_session() {
    let bytes = day(20_000, 50, 3);
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let SocketAddr::V4(address) = socket.local_addr().unwrap() else { panic!("not IPv4") };
    let options = ExchangeOptions {
        session: SESSION,
        lines: [None, Some(address)],
        soup: loopback(),
        ..ExchangeOptions::default()
    };
    let stop = ShutdownFlag::new();
    let (addresses, exchange, _folder) = start(&bytes, options, stop.clone());
    let mut buffer = [0; 2_048];
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let length = socket.recv(&mut buffer).expect("the first packet");
    assert_eq!(MoldUdp64::decode(&buffer[..length]).unwrap().kind, PacketKind::Data);
    let (client, _) = soup(addresses.soup.unwrap(), Resume::BEGINNING, |_| true);
    assert!(client.is_logged_in());
    stop.request();
    let summary = exchange.join().unwrap();
    assert!(summary.messages < 20_000);
    socket.set_nonblocking(true).unwrap();
    while let Ok(length) = socket.recv(&mut buffer) {
        let kind = MoldUdp64::decode(&buffer[..length]).unwrap().kind;
        assert!(kind != PacketKind::EndOfSession);
    }
}

#[test]
fn a_compressed_day_goes_to_a_temporary_file_and_an_address_in_use_is_an_error() {
    let folder = Scratch::folder("exchange");
    let taken = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let options =
        ExchangeOptions { soup: Some(taken.local_addr().unwrap()), ..ExchangeOptions::default() };
    let history = history_of(SESSION, None, folder.path()).unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the file has no name");
    let error = SimulatedExchange::open(options, history, ShutdownFlag::new()).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("cannot listen on 127.0.0.1:") && text.contains("in use"), "{text}");
}

#[test]
fn servers_can_be_dead_slow_or_close_connections() {
    let bytes = day(500, 10, 6);
    let options = ExchangeOptions {
        session: SESSION,
        pace_milli: 0,
        soup: loopback(),
        soup_faults: "delay=300ms".parse().unwrap(),
        glimpse: loopback(),
        glimpse_faults: "dead".parse().unwrap(),
        linger: Duration::from_secs(60),
        ..ExchangeOptions::default()
    };
    let stop = ShutdownFlag::new();
    let (addresses, exchange, _folder) = start(&bytes, options.clone(), stop.clone());
    let clock = Clock::monotonic();
    let began = clock.stamp();
    let (_, got) = soup(addresses.soup.unwrap(), Resume::BEGINNING, |_| false);
    assert!(clock.nanos_between(began, clock.stamp()) >= 300_000_000 && got.len() == 500);
    let mut stream = TcpStream::connect(addresses.glimpse.unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    stream.write_all(b"\0\0").unwrap();
    assert_eq!(stream.read(&mut [0; 10]).unwrap_err().kind(), ErrorKind::WouldBlock);
    drop(stream);
    stop.request();
    let summary = exchange.join().unwrap();
    assert_eq!((summary.soup.logins, summary.glimpse.connections), (1, 1));
    assert_eq!((summary.glimpse.violations, summary.glimpse.logins), (0, 0));

    let soup_faults = "drop=100%".parse().unwrap();
    let options = ExchangeOptions { soup_faults, glimpse: None, ..options };
    let stop = ShutdownFlag::new();
    let (addresses, exchange, _folder) = start(&bytes, options, stop.clone());
    let mut stream = TcpStream::connect(addresses.soup.unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    assert_eq!(stream.read(&mut [0; 10]).unwrap_or(0), 0);
    stop.request();
    assert_eq!(exchange.join().unwrap().soup.dropped, 1);
}

#[test]
fn hostile_silent_and_too_many_clients_harm_no_other() {
    let bytes = day(2_000, 10, 4);
    let options = ExchangeOptions {
        session: SESSION,
        pace_milli: 0,
        glimpse: loopback(),
        soup: loopback(),
        linger: Duration::from_secs(60),
        ..ExchangeOptions::default()
    };
    let stop = ShutdownFlag::new();
    let (addresses, exchange, _folder) = start(&bytes, options, stop.clone());
    let address = addresses.glimpse.unwrap();
    // The server closes a connection that breaks the protocol.
    for bytes in [b"\0\0".as_slice(), b"\0\x05GET /", b"\0\x01R", &[0xff; 70_000]] {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        // The connection may end before all is written.
        let _ = stream.write_all(bytes);
        match stream.read(&mut [0; 10]) {
            Ok(length) => assert_eq!(length, 0, "{:?}", &bytes[..2]),
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{:?}", &bytes[..2]),
        }
    }
    // Eight clients that only connect take all places; the next one is closed at once.
    let silent: Vec<TcpStream> = (0..8).map(|_| TcpStream::connect(address).unwrap()).collect();
    let mut refused = TcpStream::connect(address).unwrap();
    refused.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    assert_eq!(refused.read(&mut [0; 10]).unwrap_or(0), 0);
    let (_, got) = soup(addresses.soup.unwrap(), Resume::BEGINNING, |_| false);
    assert_eq!(got.len(), 2_000, "the other server is not affected");
    drop(silent);
    nanotape_harness::eventually("a client that left makes room", || {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        // An accepted connection stays open; a refused one is closed.
        stream.read(&mut [0; 10]).is_err()
    });
    let (client, snapshot) = soup(address, Resume::BEGINNING, |message| message[0] == b'G');
    assert!(client.is_logged_in() && snapshot.len() > 10);
    stop.request();
    let summary = exchange.join().unwrap();
    assert_eq!((summary.glimpse.logins, summary.glimpse.violations), (1, 4));
    assert!(summary.glimpse.refused >= 1 && summary.glimpse.lost >= 8, "{:?}", summary.glimpse);
}
