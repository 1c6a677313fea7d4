//! `nanotape synth --protocol`: the capture has the packets of the day, and nothing else.

use std::fs;

use nanotape_synth::{FeedProtocol, Market, MarketConfig, ProtocolConfig, ProtocolDay};

use crate::{
    replay::datagrams_of,
    support::{Folder, nanotape},
};

/// The midnight of 2024-03-11 in New York, ns since the UNIX epoch: the day after the clocks
/// changed.
const MIDNIGHT_NS: u64 = 1_710_129_600_000_000_000;

const MARKET: [&str; 8] =
    ["--messages", "20k", "--stocks", "20", "--seed", "3", "--date", "2024-03-11"];

/// Runs the program, which must succeed silently.
fn good(arguments: &[&str]) {
    let ran = nanotape(arguments);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{arguments:?}");
}

/// Time, destination and payload of the packets of the market above.
fn packets(config: ProtocolConfig, lines: [&str; 2]) -> Vec<(u64, String, Vec<u8>)> {
    let date = "2024-03-11".parse().unwrap();
    let market = MarketConfig { messages: 20_000, symbols: 20, seed: 3, date };
    let mut records = Vec::new();
    Market::new(market).unwrap().write_to(&mut records).unwrap();
    let (mut day, mut packets) = (ProtocolDay::new(&market, config), Vec::new());
    let mut take = |packet: nanotape_synth::FeedPacket<'_>| {
        let (ip, port) = lines[packet.line].split_once(':').unwrap();
        let port = port.parse::<usize>().unwrap() + packet.stream;
        packets.push((packet.ts_ns, format!("{ip}:{port}"), packet.payload.to_vec()));
        Ok(())
    };
    day.add(&records, &mut take).unwrap();
    day.finish(&mut take).unwrap();
    packets
}

/// The same from a capture.
fn captured(bytes: &[u8]) -> Vec<(u64, String, Vec<u8>)> {
    let row = |found: crate::replay::Captured| {
        (found.ts_ns.unwrap(), found.destination.to_string(), found.payload)
    };
    datagrams_of(bytes).into_iter().map(row).collect()
}

fn config(protocol: FeedProtocol) -> ProtocolConfig {
    ProtocolConfig { protocol, midnight_ns: MIDNIGHT_NS, units: 2, has_line_b: false }
}

#[test]
fn a_capture_has_the_packets_of_its_day() {
    let folder = Folder::new("synth-protocols");
    for protocol in FeedProtocol::ALL {
        let expected = packets(config(protocol), ["239.1.1.1:5001", ""]);
        for name in ["day.pcap", "day.pcapng"] {
            let file = folder.path(&format!("{protocol}-{name}"));
            good(&[&["synth", "-o", &file, "--protocol", protocol.name()], &MARKET[..]].concat());
            let found = captured(&fs::read(&file).unwrap());
            assert!(found == expected, "{file}: {} of {}", found.len(), expected.len());
        }
    }
    let file = folder.path("day.pcap.zst");
    good(&[&["synth", "-o", &file, "--protocol", "iex-deep"], &MARKET[..]].concat());
    let plain = fs::read(folder.path("iex-deep-day.pcap")).unwrap();
    assert!(zstd::decode_all(fs::File::open(&file).unwrap()).unwrap() == plain);
}

#[test]
fn units_and_lines_have_their_ports() {
    let folder = Folder::new("synth-protocol-lines");
    let file = folder.path("day.pcap");
    let lines = ["--line-a", "239.7.7.1:7000", "--line-b", "239.7.7.2:8000", "--units", "3"];
    let protocol = ["--protocol", "cboe-pitch"];
    good(&[&["synth", "-o", &file], &MARKET[..], &protocol, &lines].concat());
    let config = ProtocolConfig { units: 3, has_line_b: true, ..config(FeedProtocol::CboePitch) };
    let found = captured(&fs::read(&file).unwrap());
    assert!(found == packets(config, ["239.7.7.1:7000", "239.7.7.2:8000"]));
    for destination in ["239.7.7.1:7000", "239.7.7.1:7002", "239.7.7.2:8001"] {
        assert!(found.iter().any(|row| row.1 == destination), "{destination}");
    }
    // Two lines without addresses.
    good(&[&["synth", "--force", "-o", &file, "--lines", "2"], &MARKET[..], &protocol].concat());
    let config = ProtocolConfig { units: 2, ..config };
    let found = captured(&fs::read(&file).unwrap());
    assert!(found == packets(config, ["239.1.1.1:5001", "239.1.1.2:5002"]));
}

#[test]
fn a_day_of_itch_is_the_day_without_the_option() {
    let folder = Folder::new("synth-protocol-itch");
    let (one, two) = (folder.path("one.itch50"), folder.path("two.itch50"));
    good(&[&["synth", "-o", &one], &MARKET[..]].concat());
    good(&[&["synth", "-o", &two, "--protocol", "itch"], &MARKET[..]].concat());
    assert!(fs::read(one).unwrap() == fs::read(two).unwrap());
}

#[test]
fn waves_and_leads_can_have_another_protocol() {
    let folder = Folder::new("synth-protocol-known");
    let (file, truth) = (folder.path("day.pcap"), folder.path("pairs.csv"));
    let day = ["synth", "-o", &file, "--force", "--protocol", "iex-tops", "--hours", "10:00-10:01"];
    good(&[&day[..], &["--wave", "square:2ms"]].concat());
    // A quote of 42 bytes for each half of a period, beside heartbeats and the events of the day.
    let quotes = captured(&fs::read(&file).unwrap()).into_iter();
    let quotes = quotes.filter(|row| row.2.get(42) == Some(&b'Q')).count();
    assert!((59_900..60_100).contains(&quotes), "{quotes}");
    let leads = ["--leads", "pairs=2,lead=50ms,rho=0.5", "--truth", &truth];
    good(&[&day[..], &leads].concat());
    assert_eq!(fs::read_to_string(&truth).unwrap().lines().count(), 3);
    assert!(captured(&fs::read(&file).unwrap()).len() > 61_000);
}

#[test]
fn wrong_requests_are_refused_with_one_line() {
    let folder = Folder::new("synth-protocol-wrong");
    let (file, second) = (folder.path("day.pcap"), folder.path("b.itch50"));
    let day_file = folder.path("day.itch50");
    for (output, arguments, expected) in [
        (&file, vec!["--protocol", "nasdaq"], "invalid value 'nasdaq'"),
        (&file, vec!["--lines", "2"], "--protocol"),
        (&file, vec!["--protocol", "itch", "--lines", "2"], "--lines applies to a capture"),
        (&file, vec!["--protocol", "iex-deep", "--units", "2"], "iex-deep has one stream"),
        (&file, vec!["--protocol", "cboe-pitch", "--units", "0"], "--units"),
        (
            &file,
            vec!["--protocol", "iex-tops", "--lines", "1", "--line-b", "239.1.1.2:5002"],
            "leave out --lines 1",
        ),
        (
            &file,
            vec!["--protocol", "cboe-pitch", "--line-a", "239.1.1.1:65535"],
            "2 units need as many ports",
        ),
        (
            &file,
            vec!["--protocol", "cboe-pitch", "--line-b", "239.1.1.1:5002"],
            "the lines have ports in common",
        ),
        (
            &file,
            vec![
                "--protocol",
                "iex-deep",
                "--second-feed",
                "delay=1us",
                "--second-output",
                &second,
            ],
            "--second-feed writes two days of ITCH",
        ),
        (&file, vec!["--protocol", "iex-deep", "--date", "1700-01-01"], "from 1990 to 2199"),
        (&file, vec!["--protocol", "iex-deep", "--date", "2150-01-04"], "use pcapng"),
        (&day_file, vec!["--protocol", "iex-deep"], "unknown suffix; use .pcap or .pcapng"),
    ] {
        let ran = nanotape([&["synth", "-o", output], &arguments[..]].concat());
        assert_eq!(ran.status, 2, "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{arguments:?}: {}", ran.stderr);
        assert!(fs::metadata(output).is_err() && fs::metadata(&second).is_err());
    }
}
