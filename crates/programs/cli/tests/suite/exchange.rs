//! `nanotape exchange` through the command: what receivers and clients get is the day. Lines are
//! unicast on 127.0.0.1; multicast runs in a network namespace of its own.

mod namespace;

use std::{
    collections::BTreeMap,
    net::{Ipv4Addr, SocketAddr, UdpSocket},
    ops::ControlFlow,
    thread::{self, JoinHandle},
    time::Duration,
};

use nanotape_clock::Clock;
use nanotape_feed::soupbintcp::{
    Client, ClientClosed, ClientEvent, ClientOptions, Resume, run_session,
};
use nanotape_harness::Signal;
use nanotape_types::Alpha;
use nanotape_wire::framing::{
    binary_file::Records,
    moldudp64::MoldUdp64,
    numbered::{PacketFraming as _, PacketKind},
};
use serde_json::Value;

use crate::support::{Folder, nanotape, nanotape_fed, running::Running};

pub(super) const SESSION: Alpha<10> = Alpha::new(*b"NANOTAPE  ");

type Messages = BTreeMap<u64, Vec<u8>>;

/// What one receiver got up to the end of the session.
#[derive(Default)]
pub(super) struct Received {
    pub(super) messages: Messages,
    /// Packets with messages.
    packets: u64,
    malformed: u64,
    other_session: u64,
    heartbeats: u64,
    pub(super) end: u64,
}

/// Receives packets up to the end of the session.
pub(super) fn receive(socket: &UdpSocket) -> Received {
    let (mut received, mut buffer) = (Received::default(), [0; 2_048]);
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    loop {
        let length = socket.recv(&mut buffer).expect("the session ends");
        let Ok(packet) = MoldUdp64::decode(&buffer[..length]) else {
            received.malformed += 1;
            continue;
        };
        match packet.kind {
            _ if packet.session != SESSION => received.other_session += 1,
            PacketKind::Data => {
                received.packets += 1;
                received.messages.extend(packet.messages().map(|(n, m)| (n, m.to_vec())));
            }
            PacketKind::Heartbeat => received.heartbeats += 1,
            PacketKind::Unsequenced => panic!("MoldUDP64 numbers all messages"),
            PacketKind::EndOfSession => {
                received.end = packet.first;
                return received;
            }
        }
    }
}

/// A receiver in a thread of its own, and its address.
fn receiver() -> (String, JoinHandle<Received>) {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = socket.local_addr().unwrap().to_string();
    (address, thread::spawn(move || receive(&socket)))
}

/// The messages of a day file by number.
pub(super) fn messages_of(path: &str) -> Messages {
    let bytes = std::fs::read(path).unwrap();
    (1..).zip(Records::new(&bytes, 0).map(|record| record.bytes.to_vec())).collect()
}

/// Requests what is missing of `1..end`, as long as it takes.
fn fill_gaps(messages: &mut Messages, end: u64, server: &str) -> u64 {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let (mut buffer, mut requests) = ([0; 2_048], 0);
    while let Some(first) = (1..end).find(|number| !messages.contains_key(number)) {
        let after = (first..end).find(|number| messages.contains_key(number)).unwrap_or(end);
        let count = (after - first).min(1_000) as u16;
        let length = MoldUdp64::encode_request(SESSION, first, count, &mut buffer).unwrap();
        socket.send_to(&buffer[..length], server).unwrap();
        requests += 1;
        assert!(requests < 10_000, "message {first} is never answered");
        let Ok(length) = socket.recv(&mut buffer) else { continue };
        let packet = MoldUdp64::decode(&buffer[..length]).unwrap();
        messages.extend(packet.messages().map(|(n, m)| (n, m.to_vec())));
    }
    requests
}

/// The messages that a client of SoupBinTCP gets until it closes, or up to the first one of this
/// type.
fn soup(address: &str, resume: Resume, last: Option<u8>) -> (Option<ClientClosed>, Messages) {
    let clock = Clock::monotonic();
    let began = clock.stamp();
    let now_ns = || clock.nanos_between(began, clock.stamp());
    let mut client = Client::new(ClientOptions::default(), resume);
    let mut messages = Messages::new();
    let address: SocketAddr = address.parse().unwrap();
    run_session(
        (address, Duration::from_secs(5)),
        &mut client,
        now_ns,
        || false,
        |event| {
            let ClientEvent::Sequenced { number, message } = event else {
                return ControlFlow::Continue(());
            };
            messages.insert(number, message.to_vec());
            match last {
                Some(last) if message.first() == Some(&last) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        },
    );
    (client.closed(), messages)
}

fn count(summary: &Value, name: &str) -> u64 {
    summary[name].as_u64().unwrap_or_else(|| panic!("{name}: {summary}"))
}

fn text<'a>(ready: &'a Value, name: &str) -> &'a str {
    ready[name].as_str().unwrap_or_else(|| panic!("{name}: {ready}"))
}

#[test]
fn faults_on_both_lines_are_counted_and_re_requests_make_the_day_whole() {
    let folder = Folder::new("exchange");
    let day = folder.day(6_000, 30);
    let expected = messages_of(&day);
    let ((a, line_a), (b, line_b)) = (receiver(), receiver());
    let faults =
        "drop=5%,burst=0.2%x10,dup=1%,reorder=1%x4,delay=1%x2ms,truncate=1%,corrupt=1%,session=1%";
    let mut exchange = Running::start(&[
        "exchange",
        &day,
        "--line-a",
        &a,
        "--line-b",
        &b,
        "--faults-a",
        faults,
        "--faults-b",
        faults,
        "--faults-both",
        "drop=1%,silence=@10:00+10m",
        "--rerequest",
        "127.0.0.1:0",
        "--rerequest-faults",
        "drop=10%,delay=1ms",
        "--seed",
        "7",
        "--pace",
        "10000x",
        "--linger",
        "20s",
        "--format",
        "json",
    ]);
    let ready = exchange.read_json();
    assert_eq!((text(&ready, "event"), text(&ready, "faults_a")), ("ready", faults));
    let (line_a, line_b) = (line_a.join().unwrap(), line_b.join().unwrap());
    assert_eq!((line_a.end, line_b.end), (6_001, 6_001));
    let mut messages = line_a.messages.clone();
    messages.extend(line_b.messages.clone());
    let lost = 6_000 - messages.len() as u64;
    assert!(lost > 60, "{lost} messages are lost on both lines");
    let requests = fill_gaps(&mut messages, 6_001, text(&ready, "rerequest"));
    assert!(messages == expected);

    exchange.signal(Signal::INT);
    let summary = exchange.read_json();
    assert_eq!(exchange.end().0, Some(0));
    assert_eq!((text(&summary, "event"), count(&summary, "messages")), ("stop", 6_000));
    for (line, received) in [("a", &line_a), ("b", &line_b)] {
        let of = |name: &str| count(&summary, &format!("{line}_{name}"));
        let not_sent =
            of("dropped") + of("dropped_in_bursts") + of("dropped_on_both") + of("silenced");
        assert_eq!(of("sent"), of("packets") - not_sent + of("duplicated"), "{summary}");
        let arrived = received.packets + received.malformed + received.other_session;
        // On a busy machine the kernel drops some of them too.
        assert!(arrived <= of("sent") && arrived > of("sent") / 2, "{arrived}: {summary}");
        for name in ["dropped", "dropped_in_bursts", "dropped_on_both", "silenced", "duplicated"] {
            assert!(of(name) > 0, "{line}_{name}: {summary}");
        }
        for name in ["reordered", "delayed", "truncated", "corrupted", "other_session"] {
            assert!(of(name) > 0, "{line}_{name}: {summary}");
        }
        assert!(received.malformed > 0 && received.other_session > 0);
    }
    assert!(count(&summary, "late_ns_p50") <= count(&summary, "late_ns_p99"));
    assert!(count(&summary, "late_ns_p99") <= count(&summary, "late_ns_max"));
    assert_eq!(count(&summary, "rerequest_requests"), requests);
    assert!(count(&summary, "rerequest_dropped") > 0);
}

/// A paced day waits from 03:00 to 04:00 of the exchange: half a minute, then five, at 10x.
#[test]
fn a_long_wait_for_the_next_packet_is_reported() {
    let folder = Folder::new("exchange-wait");
    let day = folder.day(5_000, 5);
    for command in ["exchange", "replay"] {
        let arguments = [command, &day, "--line-a", "127.0.0.1:9", "--pace", "10x"];
        let mut sender = Running::start(&arguments);
        let line = sender.read_stderr_line();
        let (until, left) = line.trim_end().split_once(" (exchange time), in ").unwrap();
        assert!(until.starts_with("nanotape: waiting until 0"), "{line}");
        assert!(left.ends_with(" s"), "{line}");
        sender.signal(Signal::INT);
        let (status, _, complained) = sender.end();
        assert_eq!(status, Some(0), "{command}: {complained}");
    }
}

#[test]
fn soup_bin_tcp_and_glimpse_serve_what_was_not_sent_on_the_lines() {
    let folder = Folder::new("exchange");
    let day = folder.day(6_000, 30);
    let expected = messages_of(&day);
    let (b, line_b) = receiver();
    // A compressed day from standard input: the messages are kept in a temporary file.
    let packed = zstd::encode_all(std::fs::read(&day).unwrap().as_slice(), 1).unwrap();
    let packed = folder.write("day.zst", &packed);
    let mut exchange = Running::start(&[
        "exchange",
        &packed,
        "--line-b",
        &b,
        "--soup",
        "127.0.0.1:0",
        "--glimpse",
        "127.0.0.1:0",
        "--from",
        "09:30",
        "--until",
        "09:40",
        "--pace",
        "1000x",
        "--wait",
        "1100ms",
        "--linger",
        "20s",
        "--format",
        "json",
    ]);
    let ready = exchange.read_json();
    assert_eq!(ready["line_a"], Value::Null);
    let line_b = line_b.join().unwrap();
    let (first, end) = (*line_b.messages.keys().next().unwrap(), line_b.end);
    assert!(line_b.heartbeats >= 1 && first > 100 && end > first + 100 && end < 6_000);
    let sent: Messages = expected.range(first..end).map(|(n, m)| (*n, m.clone())).collect();
    assert!(line_b.messages == sent);

    // The end of the session is the first message after --until.
    let (closed, all) = soup(text(&ready, "soup"), Resume::BEGINNING, None);
    assert_eq!(closed, Some(ClientClosed::EndOfSession));
    assert!(all == expected.range(..end).map(|(n, m)| (*n, m.clone())).collect());
    let resume = Resume { session: SESSION, next: end - 3 };
    assert_eq!(soup(text(&ready, "soup"), resume, None).1.len(), 3);
    let other = Resume { session: Alpha::new(*b"OTHER     "), next: 1 };
    let (closed, none) = soup(text(&ready, "soup"), other, None);
    assert!(matches!(closed, Some(ClientClosed::Rejected(_))) && none.is_empty());

    let (_, snapshot) = soup(text(&ready, "glimpse"), Resume::BEGINNING, Some(b'G'));
    let last = snapshot.values().next_back().unwrap();
    assert_eq!(String::from_utf8_lossy(&last[1..]).trim(), end.to_string());
    assert!(snapshot.values().filter(|message| message[0] == b'R').count() == 30);

    exchange.signal(Signal::INT);
    let summary = exchange.read_json();
    assert_eq!(exchange.end().0, Some(0));
    assert_eq!((count(&summary, "messages"), count(&summary, "skipped")), (end - 1, first - 1));
    assert_eq!((count(&summary, "soup_logins"), count(&summary, "soup_rejected")), (2, 1));
    assert_eq!(count(&summary, "glimpse_messages"), snapshot.len() as u64);
    assert_eq!(count(&summary, "b_send_errors"), 0);
}

#[test]
fn a_day_is_read_from_standard_input_and_the_summary_is_text_csv_or_json() {
    let folder = Folder::new("exchange");
    let day = folder.day(3_000, 20);
    let (a, _line) = receiver();
    let options = ["--line-a", &a, "--pace", "max", "--linger", "0s"];
    let ran = nanotape_fed(["exchange", "-"].iter().chain(&options), &std::fs::read(&day).unwrap());
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines[0], format!("session NANOTAPE: pace max, seed 1; line A {a}"));
    assert!(lines[1].starts_with("3000 messages in "), "{}", ran.stdout);
    assert!(lines[2].contains("with 3000 messages; 1 without messages"), "{}", ran.stdout);
    assert_eq!(lines.len(), 3, "there is no schedule at full speed: {}", ran.stdout);
    let csv = nanotape(["exchange", &day, "--format", "csv"].iter().chain(&options));
    let rows: Vec<Vec<&str>> = csv.stdout.lines().map(|row| row.split(',').collect()).collect();
    assert_eq!((csv.status, rows.len(), rows[0].len()), (0, 2, rows[1].len()));
    assert_eq!(rows[0][..4], ["session", "pace", "seed", "line_a"]);
}

#[test]
fn a_capture_is_sent_as_the_day_that_it_has() {
    let folder = Folder::new("exchange");
    let day = folder.day(3_000, 20);
    let capture = crate::support::capture::capture_of(&std::fs::read(&day).unwrap(), 0..0);
    let capture = folder.write("day.pcapng", &capture);
    let mut exchange = Running::start(&[
        "exchange",
        &capture,
        "--soup",
        "127.0.0.1:0",
        "--pace",
        "max",
        "--linger",
        "20s",
        "--format",
        "json",
    ]);
    let ready = exchange.read_json();
    let (closed, all) = soup(text(&ready, "soup"), Resume::BEGINNING, None);
    assert_eq!(closed, Some(ClientClosed::EndOfSession));
    assert!(all == messages_of(&day));
    exchange.signal(Signal::INT);
    assert_eq!(exchange.end().0, Some(0));
}

#[test]
fn a_damaged_day_is_sent_as_far_as_possible_with_status_1() {
    let folder = Folder::new("exchange");
    let mut bytes = std::fs::read(folder.day(3_000, 20)).unwrap();
    bytes.truncate(bytes.len() - 5);
    let cut = folder.write("cut.itch50", &bytes);
    let options = ["--soup", "127.0.0.1:0", "--pace", "max", "--linger", "0s", "--format", "json"];
    let ran = nanotape(["exchange", &cut].iter().chain(&options));
    assert_eq!(ran.status, 1);
    assert!(ran.stderr.contains("cut off in the record at offset"), "{}", ran.stderr);
    assert!(ran.stdout.contains("\"messages\":2999"), "{}", ran.stdout);
}

#[test]
fn mistakes_are_refused_with_what_to_do() {
    let folder = Folder::new("exchange");
    let day = folder.day(200, 2);
    let line = ["--line-a", "127.0.0.1:9"];
    for (options, error) in [
        (vec![], "nothing to send to: use --line-a IP:PORT, --line-b, --rerequest, --soup or"),
        (vec!["--line-a", "localhost:5001"], "expected an IPv4 address and a port, as in 239"),
        (vec!["--line-a", "127.0.0.1:0"], "expected an IPv4 address and a port, as in 239"),
        (vec!["--soup", "5003"], "expected an IP address and a port, as in 127.0.0.1:5003"),
        (vec!["--session", "TOO-LONG-A-NAME"], "expected 1 to 10 printable characters"),
        (vec!["--faults-a", "drop=2"], "\"drop=2\": expected a probability from 0.0001% to"),
        (vec!["--line-b", "127.0.0.1:9", "--faults-a", "drop=2%"], "no effect without --line-a"),
        (vec!["--soup", "127.0.0.1:0", "--faults-both", "drop=2%"], "no effect without a line"),
        (vec![line[0], line[1], "--rerequest-faults", "dead"], "no effect without --rerequest"),
        (vec![line[0], line[1], "--glimpse-faults", "dead"], "no effect without --glimpse"),
        (vec!["--soup", "127.0.0.1:0", "--soup-faults", "late"], "\"late\": expected dead, drop="),
        (vec![line[0], line[1], "--faults-both", "dup=2%"], "dup cannot hit both lines at once"),
        (vec![line[0], line[1], "--from", "10:00", "--until", "09:00"], "is not before --until"),
        (vec!["--glimpse", "192.0.2.1:1"], "cannot listen on 192.0.2.1:1"),
    ] {
        let ran = nanotape(["exchange", &day].iter().chain(&options));
        assert_eq!(ran.status, 2, "{options:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(error), "{options:?}: {}", ran.stderr);
    }
    let ran = nanotape(["exchange", &folder.path("none"), "--line-a", "127.0.0.1:9"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("cannot open") && ran.stderr.contains("none"), "{}", ran.stderr);
}
