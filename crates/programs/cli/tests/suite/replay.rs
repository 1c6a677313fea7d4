//! `nanotape replay` through the command: what it sends and what it writes is the day, or the
//! capture.

use std::{
    fs,
    net::{Ipv4Addr, SocketAddrV4, UdpSocket},
    process::Command,
    thread::{self, JoinHandle},
};

use nanotape_harness::Bounded as _;

use nanotape_wire::{
    capture::{
        CaptureDecoder, CaptureFormat, CaptureItem, CaptureWriter, FrameWriter, LinkType, datagram,
    },
    framing::{
        moldudp64::MoldUdp64,
        numbered::{PacketFraming as _, PacketKind},
    },
};
use serde_json::Value;

use crate::{
    exchange::{Received, messages_of, receive},
    support::{Folder, Ran, capture::MadeCapture, nanotape, nanotape_fed, real_data},
};

/// The midnight of 2019-12-30 in New York, ns since the UNIX epoch.
const MIDNIGHT_NS: u64 = 1_577_682_000_000_000_000;

/// A span of a day at a pace that takes less than a second.
const HALF_AN_HOUR: [&str; 6] = ["--from", "09:30", "--until", "10:00", "--pace", "10000x"];

const LINES: [&str; 4] = ["--line-a", "239.1.1.1:5001", "--line-b", "239.1.1.2:5002"];

/// A datagram of a capture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Captured {
    pub(crate) ts_ns: Option<u64>,
    source: SocketAddrV4,
    pub(crate) destination: SocketAddrV4,
    vlans: Vec<u16>,
    pub(crate) payload: Vec<u8>,
}

/// The complete datagrams of a capture.
pub(crate) fn datagrams_of(bytes: &[u8]) -> Vec<Captured> {
    let (mut decoder, mut rest, mut datagrams) = (CaptureDecoder::new(), bytes, Vec::new());
    loop {
        match decoder.next(&mut rest, true) {
            CaptureItem::Packet(packet) => {
                let Ok(found) = datagram(packet.link_type, packet.bytes) else { continue };
                datagrams.push(Captured {
                    ts_ns: packet.ts_ns,
                    source: found.source,
                    destination: found.destination,
                    vlans: found.vlans.as_slice().to_vec(),
                    payload: found.payload.to_vec(),
                });
            }
            CaptureItem::End(None) => return datagrams,
            item => panic!("{item:?}"),
        }
    }
}

/// Runs `nanotape replay INPUT`, with other options.
fn replay(input: &str, options: &[&str]) -> Ran {
    nanotape(["replay", input].iter().chain(options))
}

/// The report of a run that succeeds.
fn report(ran: &Ran) -> Value {
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap()
}

fn count(report: &Value, name: &str) -> u64 {
    report[name].as_u64().unwrap_or_else(|| panic!("{name}: {report}"))
}

/// A receiver in a thread of its own, and its address.
fn receiver() -> (String, JoinHandle<Received>) {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = socket.local_addr().unwrap().to_string();
    (address, thread::spawn(move || receive(&socket)))
}

#[test]
fn a_written_day_has_every_message_once_on_each_line_with_its_time() {
    let folder = Folder::new("replay");
    let day = folder.day(3_000, 20);
    let expected = messages_of(&day);
    let mut captures = Vec::new();
    for suffix in ["pcap", "pcapng"] {
        let capture = folder.path(&format!("day.{suffix}"));
        let options = ["-o", &capture, "--date", "2019-12-30", "--format", "json"];
        let written = replay(&day, &[&options[..], &LINES].concat());
        let report = report(&written);
        assert_eq!((&report["kind"], count(&report, "messages")), (&"day".into(), 3_000));
        let bytes = fs::read(&capture).unwrap();
        assert_eq!(
            CaptureFormat::detect(&bytes),
            Some(if suffix == "pcap" { CaptureFormat::Pcap } else { CaptureFormat::Pcapng })
        );
        let datagrams = datagrams_of(&bytes);
        assert!(datagrams.is_sorted_by_key(|datagram| datagram.ts_ns));
        for (line, address) in [("a", LINES[1]), ("b", LINES[3])] {
            let of_line = datagrams.iter().filter(|of| of.destination.to_string() == address);
            let (mut next, mut packets, mut payloads) = (1, 0, 0);
            let mut is_over = false;
            for of in of_line {
                assert!(!is_over, "a packet after the end of the session");
                let packet = MoldUdp64::decode(&of.payload).unwrap();
                assert_eq!(packet.first, next, "numbers have no gap and no repetition");
                for (number, message) in packet.messages() {
                    assert_eq!(message, expected[&number]);
                }
                next = packet.next();
                is_over = packet.kind == PacketKind::EndOfSession;
                // A packet has the time of its last message: six bytes of it.
                let last = &expected[&(next - 1)];
                let time = last[5..11].iter().fold(0, |time, byte| time << 8 | u64::from(*byte));
                assert_eq!(of.ts_ns, Some(MIDNIGHT_NS + time));
                packets += u64::from(!is_over);
                payloads += if is_over { 0 } else { of.payload.len() as u64 };
            }
            assert_eq!((next, is_over), (3_001, true));
            assert_eq!(count(&report, &format!("{line}_sent")), packets);
            assert_eq!(count(&report, &format!("{line}_sent_bytes")), payloads);
        }
        captures.push(datagrams);
    }
    assert!(captures[0] == captures[1]);
}

#[test]
fn a_seed_gives_the_same_faults_and_the_same_bytes() {
    let folder = Folder::new("replay");
    let day = folder.day(3_000, 20);
    let written = |seed: &str, name: &str| {
        let capture = folder.path(name);
        let faults = "drop=5%,dup=1%,reorder=2%x4,delay=1%x2ms";
        let options = ["-o", &capture, "--date", "2019-12-30", "--seed", seed];
        let faults = ["--faults-a", faults, "--faults-b", "burst=0.2%x10"];
        let report =
            report(&replay(&day, &[&options[..], &faults, &LINES, &["--format", "json"]].concat()));
        (fs::read(&capture).unwrap(), report)
    };
    let (bytes, report) = written("7", "first.pcap");
    assert!(bytes == written("7", "second.pcap").0);
    assert!(bytes != written("8", "third.pcap").0);
    let datagrams = datagrams_of(&bytes);
    assert!(datagrams.is_sorted_by_key(|datagram| datagram.ts_ns));
    for (line, address) in [("a", LINES[1]), ("b", LINES[3])] {
        let of = |name: &str| count(&report, &format!("{line}_{name}"));
        let is_of = |of: &&Captured| of.destination.to_string() == address;
        let found = datagrams.iter().filter(is_of).count() as u64;
        assert_eq!(found, of("sent") + of("idle_packets"));
        let lost = of("dropped") + of("dropped_in_bursts");
        assert_eq!(of("sent"), of("packets") - lost + of("duplicated"));
        assert!(lost > 0);
    }
    assert!(count(&report, "a_duplicated") > 0 && count(&report, "a_reordered") > 0);
}

#[test]
fn a_day_is_sent_over_sockets_and_its_report_has_text_csv_and_json() {
    let folder = Folder::new("replay");
    let day = folder.day(3_000, 20);
    let expected = messages_of(&day);
    for (format, start) in
        [("text", ""), ("csv", "input,kind,line_a,line_b,messages,"), ("json", "{\"input\":\"")]
    {
        let ((a, line_a), (b, line_b)) = (receiver(), receiver());
        let lines = ["--line-a", &a, "--line-b", &b, "--format", format];
        let sent = replay(&day, &[&lines[..], &HALF_AN_HOUR].concat());
        assert_eq!((sent.status, sent.stderr.as_str()), (0, ""), "{sent:?}");
        assert!(sent.stdout.starts_with(start), "{sent:?}");
        for line in [line_a, line_b] {
            let Received { messages, end, .. } = line.join().unwrap();
            let first = *messages.keys().next().unwrap();
            assert!(first > 100 && end > first + 100 && end < 3_000);
            assert!(messages.iter().eq(expected.range(first..end)));
        }
        if format == "text" {
            assert!(sent.stdout.contains(" messages in "), "{sent:?}");
            assert!(sent.stdout.contains("\nschedule: packets late by "), "{sent:?}");
            assert!(sent.stdout.contains("late by more than 1 ms; drift "), "{sent:?}");
        }
    }
}

#[test]
fn a_span_is_sent_at_its_recorded_pace_in_order() {
    let folder = Folder::new("replay");
    let day = folder.day(20_000, 20);
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = socket.local_addr().unwrap().to_string();
    let options = ["--line-a", &address, "--from", "09:30", "--until", "09:30:01.5"];
    let receiver = thread::spawn(move || {
        let (mut numbers, mut buffer) = (Vec::new(), [0; 2_048]);
        loop {
            let length = socket.recv(&mut buffer).unwrap();
            let packet = MoldUdp64::decode(&buffer[..length]).unwrap();
            match packet.kind {
                PacketKind::EndOfSession => return numbers,
                _ => numbers.extend(packet.messages().map(|(number, _)| number)),
            }
        }
    });
    let report = report(&replay(&day, &[&options[..], &["--format", "json"]].concat()));
    let numbers = receiver.join().unwrap();
    assert!(numbers.len() > 3 && numbers.windows(2).all(|pair| pair[1] == pair[0] + 1));
    assert_eq!(numbers[0], count(&report, "skipped") + 1);
    assert_eq!(count(&report, "scheduled_packets"), count(&report, "a_sent"));
    assert!(count(&report, "late_ns_p50") <= count(&report, "late_ns_p99"));
    assert!(count(&report, "late_ns_p99") <= count(&report, "late_ns_max"));
    assert!(count(&report, "late_packets") <= count(&report, "scheduled_packets"));
    assert!(count(&report, "sending_ns") >= count(&report, "recorded_ns"));
}

/// A capture with datagrams to four destinations, tags, an equal time, an earlier time, and packets
/// that are no datagrams.
fn capture_of_everything() -> Vec<u8> {
    let writer = CaptureWriter::new(CaptureFormat::Pcap, LinkType::ETHERNET, 1);
    let mut buffer = vec![0; 4_096];
    let length = writer.header(&mut buffer).unwrap();
    let mut capture = buffer[..length].to_vec();
    let mut push = |ts_ns: u64, frame: &[u8]| {
        let length = writer.packet(MIDNIGHT_NS + ts_ns, 0, frame, &mut buffer).unwrap();
        capture.extend_from_slice(&buffer[..length]);
    };
    for (number, ts_ns) in [5u64, 5, 4, 1_000_000, 1_500_000, 9_000_000].into_iter().enumerate() {
        let last = number as u8;
        let frames = FrameWriter {
            source: SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 20_000),
            destination: match number % 4 {
                2 => SocketAddrV4::new(Ipv4Addr::LOCALHOST, 9),
                3 => SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 7), 53),
                line => SocketAddrV4::new(Ipv4Addr::new(239, 77, 0, line as u8), 5_001),
            },
            source_mac: [2, 0, 0, 0, 0, 1],
            vlans: &[100, 7][..number % 3],
            time_to_live: 1,
        };
        let mut payload = b"NANOTAPE  \0\0\0\0\0\0\0\x01\0\x01\0\x02m".to_vec();
        payload.push(last);
        let mut frame = [0; 256];
        let length = frames.write(number as u16, &payload, &mut frame).unwrap();
        push(ts_ns, &frame[..length]);
        // Without its end, a fragment, and ARP.
        push(ts_ns, &frame[..length - 1]);
        let mut fragment = frame;
        let after_tags = 14 + 4 * (number % 3);
        fragment[after_tags + 6] = 0x20;
        push(ts_ns, &fragment[..length]);
        push(ts_ns, &[0xff; 14]);
    }
    capture
}

#[test]
fn a_capture_that_is_written_again_has_the_same_datagrams_and_times() {
    let folder = Folder::new("replay");
    let bytes = capture_of_everything();
    let expected = datagrams_of(&bytes);
    assert_eq!(expected.len(), 6);
    let mut input = folder.write("first.pcap", &bytes);
    for name in ["second.pcapng", "third.pcap", "fourth.pcap.gz"] {
        let output = folder.path(name);
        let report = report(&replay(&input, &["-o", &output, "--format", "json"]));
        if name == "second.pcapng" {
            assert_eq!((&report["kind"], count(&report, "packets")), (&"capture".into(), 24));
            let skipped = ["skipped_truncated", "skipped_fragment", "skipped_not_ip"];
            assert_eq!(skipped.map(|name| count(&report, name)), [6, 6, 6]);
            assert_eq!(count(&report, "out_of_order"), 1);
            assert_eq!(count(&report, "withheld"), 0, "a file holds everything");
            let lines = ["a_packets", "b_packets", "others_packets", "a_messages", "b_messages"];
            assert_eq!(lines.map(|name| count(&report, name)), [2, 2, 2, 2, 2]);
            assert_eq!(report["b_captured"], "239.77.0.1:5001");
        }
        if !name.ends_with("gz") {
            assert!(datagrams_of(&fs::read(&output).unwrap()) == expected, "{name}");
        }
        input = output;
    }
    // The compressed one is an input too. Other lines change where datagrams go, and a span which.
    let output = folder.path("moved.pcap");
    let span = ["--from", "00:00:00.001", "--until", "00:00:00.009"];
    let moved = replay(&input, &[&["-o", &output][..], &LINES, &span].concat());
    assert_eq!((moved.status, moved.stderr.as_str()), (0, ""), "{moved:?}");
    let found = datagrams_of(&fs::read(&output).unwrap());
    let times: Vec<_> = found.iter().map(|of| of.ts_ns.unwrap() - MIDNIGHT_NS).collect();
    assert_eq!(times, [1_000_000, 1_500_000]);
    let destinations: Vec<_> = found.iter().map(|of| of.destination.to_string()).collect();
    assert_eq!(destinations, [LINES[1], LINES[3]]);
}

#[test]
fn real_captures_are_written_again_as_they_are() {
    for (name, packets, messages) in [
        ("totalview_20230822_100packets.pcap", 100, Some(269)),
        ("iex_deep10_20231002.pcap.gz", 0, None),
    ] {
        let Some(input) = real_data(name) else { continue };
        let folder = Folder::new("replay");
        let output = folder.path("again.pcapng");
        let report = report(&replay(&input, &["-o", &output, "--format", "json"]));
        let again = folder.path("again.pcap");
        let second = replay(&output, &["-o", &again, "--format", "json"]);
        assert_eq!(second.status, 0, "{second:?}");
        let found = datagrams_of(&fs::read(&output).unwrap());
        assert!(found == datagrams_of(&fs::read(&again).unwrap()));
        assert!(found.len() >= packets && !found.is_empty());
        if let Some(messages) = messages {
            assert_eq!(count(&report, "a_messages") + count(&report, "b_messages"), messages);
            assert!(found == datagrams_of(&fs::read(&input).unwrap()));
        }
    }
}

#[test]
fn a_capture_is_sent_to_other_lines_and_never_to_another_machine() {
    let folder = Folder::new("replay");
    let day = folder.day(2_000, 20);
    let capture = folder.path("day.pcap");
    let written = replay(&day, &[&["-o", &capture, "--date", "2019-12-30"][..], &LINES].concat());
    assert_eq!(written.status, 0, "{written:?}");
    let ((a, line_a), (b, line_b)) = (receiver(), receiver());
    let lines = ["--line-a", &a, "--line-b", &b, "--pace", "10000x", "--format", "json"];
    let report = report(&replay(&capture, &lines));
    let expected = messages_of(&day);
    for line in [line_a, line_b] {
        assert!(line.join().unwrap().messages == expected);
    }
    assert_eq!((count(&report, "a_messages"), count(&report, "b_messages")), (2_000, 2_000));
    assert_eq!(report["a_target"], a);
    let datagrams = count(&report, "a_packets") + count(&report, "b_packets");
    assert_eq!(count(&report, "scheduled_packets"), datagrams);
    assert!(count(&report, "late_ns_p50") <= count(&report, "late_ns_max"));

    let everything = folder.write("everything.pcap", &capture_of_everything());
    let lines = ["--line-a", "127.0.0.1:9", "--line-b", "127.0.0.1:9", "--until", "00:00:00.002"];
    let sent = replay(&everything, &lines);
    assert_eq!(sent.status, 0, "{sent:?}");
    assert!(sent.stdout.contains("; 1 to another machine"), "{sent:?}");
    assert!(sent.stderr.contains("not sent: 1 datagram to another machine, such as 192.0.2.7:53"));
}

#[test]
fn a_capture_goes_to_standard_output_and_comes_from_standard_input() {
    let folder = Folder::new("replay");
    let day = folder.day(500, 10);
    let run = |input: &str| {
        Command::new(env!("CARGO_BIN_EXE_nanotape"))
            .args([
                "replay",
                input,
                "-o",
                "-",
                "--date",
                "2019-12-30",
                "--capture-format",
                "pcapng",
            ])
            .bounded_output()
            .unwrap()
    };
    let piped = run(&day);
    assert!(piped.status.success());
    let reported = String::from_utf8(piped.stderr).unwrap();
    assert!(
        reported.starts_with("500 messages in ") && reported.contains("\nline A: "),
        "{reported}"
    );
    let datagrams = datagrams_of(&piped.stdout);
    assert!(datagrams.iter().all(|of| of.destination.to_string() == "239.1.1.1:5001"));
    let file = folder.path("again.pcap");
    let again = nanotape_fed(["replay", "-", "-o", &file], &piped.stdout);
    assert_eq!((again.status, again.stderr.as_str()), (0, ""), "{again:?}");
    assert!(datagrams_of(&fs::read(&file).unwrap()) == datagrams);
}

#[test]
fn a_damaged_input_is_replayed_as_far_as_possible_with_status_1() {
    let folder = Folder::new("replay");
    let mut capture = capture_of_everything();
    capture.truncate(capture.len() - 5);
    let cut = folder.write("cut.pcap", &capture);
    let output = folder.path("rest.pcap");
    let ran = replay(&cut, &["-o", &output]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.stderr.contains("cut.pcap: offset ") && ran.stderr.contains("the file ends after"));
    assert_eq!(datagrams_of(&fs::read(&output).unwrap()), datagrams_of(&capture_of_everything()));
    let mut day = fs::read(folder.day(500, 10)).unwrap();
    day.truncate(day.len() - 5);
    let day = folder.write("cut.itch50", &day);
    let ran = replay(&day, &["-o", &output, "--force", "--date", "2019-12-30"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.stderr.contains("cut off in the record at offset"), "{ran:?}");
    assert!(ran.stdout.starts_with("499 messages in "), "{ran:?}");
}

#[test]
fn mistakes_are_refused_with_what_to_do() {
    let folder = Folder::new("replay");
    let day = folder.day(200, 2);
    let capture = folder.write("all.pcap", &capture_of_everything());
    let exists = folder.write("exists.pcap", b"old");
    let new = folder.path("new.pcap");
    let other = folder.path("new.txt");
    let parent = folder.path("");
    for (input, options, error) in [
        (&day, vec![], "nothing to send to: use --line-a IP:PORT or --line-b, or write a"),
        (&day, vec!["-o", &new], "no trade date in the file name: give it, as in --date 2019"),
        (&day, vec!["-o", &other], "new.txt: unknown suffix; use .pcap or .pcapng, or --capture"),
        (&day, vec!["-o", &exists, "--date", "2019-12-30"], "exists; use --force to overwrite"),
        (&capture, vec!["-o", &exists], "exists; use --force to overwrite it"),
        (&parent, vec!["-o", &new], "is a folder; this command needs the messages"),
        (&day, vec!["--line-a", "nowhere:5001"], "expected an IPv4 address and a port, as in"),
        (&day, vec!["--line-a", "239.1.1.1"], "expected an IPv4 address and a port, as in 239"),
        (&day, vec![LINES[0], LINES[1], "--interface", "192.0.2.1"], "cannot choose the interfa"),
        (&day, vec![LINES[0], LINES[1], "--faults-b", "drop=2%"], "no effect without --line-b"),
        (&day, vec!["-o", &new, "--pace", "1x"], "cannot be used with"),
        (&day, vec![LINES[0], LINES[1], "--date", "2019-12-30"], "--output <FILE>"),
        (&capture, vec!["--faults-a", "drop=2%"], "is a capture, and --faults-a applies to the"),
        (&capture, vec!["--session", "OTHER"], "is a capture, and --session applies to the"),
        (&capture, vec!["-o", &new, "--date", "2019-12-30"], "is a capture, and --date applies"),
        (&capture, vec!["--from", "10:00", "--until", "09:00"], "is not before --until"),
    ] {
        let ran = replay(input, &options);
        assert_eq!(ran.status, 2, "{options:?}: {ran:?}");
        assert!(ran.stderr.contains(error), "{options:?}: {}", ran.stderr);
    }
    assert_eq!(fs::read(&exists).unwrap(), b"old");
    assert!(fs::metadata(&new).is_err());
}

/// A capture whose second packet is 80 years ahead.
fn capture_with_a_wrong_time() -> Vec<u8> {
    let mut capture = MadeCapture::new(CaptureFormat::Pcap);
    capture.mold("239.1.1.1:5001", b"SESSION   ", 1, &[b"one"]);
    let ts_ns = capture.ts_ns;
    capture.ts_ns += 80 * 365 * 24 * 3600 * 1_000_000_000;
    capture.mold("239.1.1.1:5001", b"SESSION   ", 2, &[b"two"]);
    capture.ts_ns = ts_ns;
    capture.mold("239.1.1.1:5001", b"SESSION   ", 3, &[b"three"]);
    capture.bytes
}

#[test]
fn a_long_wait_is_reported_and_can_be_bounded() {
    let folder = Folder::new("replay-wait");
    let capture = folder.write("wrong.pcap", &capture_with_a_wrong_time());
    let options = ["--line-a", "127.0.0.1:9", "--longest-wait", "50ms", "--format", "json"];
    let report = report(&replay(&capture, &options));
    assert_eq!((count(&report, "a_messages"), count(&report, "shortened_waits")), (3, 1));

    let mut child = Command::new(env!("CARGO_BIN_EXE_nanotape"))
        .args(["replay", &capture, "--line-a", "127.0.0.1:9"])
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut stderr = std::io::BufReader::new(child.stderr.take().unwrap());
    std::io::BufRead::read_line(&mut stderr, &mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    for part in ["waiting until ", " (capture time), in 700", " h "] {
        assert!(line.contains(part), "{part}: {line}");
    }
    let refused =
        replay(&folder.day(2_000, 20), &["--line-a", "127.0.0.1:9", "--longest-wait", "1s"]);
    assert_eq!(refused.status, 2);
    assert!(refused.stderr.contains("--longest-wait applies to a capture"), "{}", refused.stderr);
}
