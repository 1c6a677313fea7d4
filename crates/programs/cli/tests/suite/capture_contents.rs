//! `nanotape capture` as a user runs it: groups, sessions, what is missing, and exit statuses.

use nanotape_types::Alpha;
use nanotape_wire::{capture::CaptureFormat, framing::moldudp64::end_of_session};
use serde_json::Value;

use crate::support::{
    Folder,
    capture::{BEGIN_NS, MadeCapture, STEP_NS, frame_of, mold_packet},
    nanotape, nanotape_fed, real_data,
    running::{objects, whole},
};

const MONDAY: &[u8; 10] = b"MONDAY    ";
const A: &str = "233.54.12.111:26477";
const B: &str = "233.86.230.111:26477";
const OTHER_FEED: &str = "239.9.9.9:5001";
const IEX: &str = "233.215.21.4:10378";

/// The values of a row.
fn values<const N: usize>(object: &Value, names: [&str; N]) -> [u64; N] {
    names.map(|name| whole(&object[name]).unwrap_or_else(|| panic!("no number {name} in {object}")))
}

/// The objects of `nanotape capture`: rows, sessions and the file.
fn contents(path: &str, status: i32) -> (Vec<Value>, Vec<Value>, Value) {
    let ran = nanotape(["capture", path, "--format", "json"]);
    assert_eq!(ran.status, status, "{ran:?}");
    let mut all = objects(&ran.stdout);
    let file = all.pop().unwrap();
    assert_eq!(file["path"], path);
    let (rows, sessions) = all.into_iter().partition(|object| object["destination"].is_string());
    (rows, sessions, file)
}

/// Two lines that lose different packets, and nothing else.
fn two_lines(format: CaptureFormat) -> MadeCapture {
    let mut capture = MadeCapture::new(format);
    for number in 1..=20u64 {
        let messages: [&[u8]; 2] = [b"one", b"two"];
        for (line, lost) in [(A, 5), (B, 12)] {
            if number != lost {
                capture.mold(line, MONDAY, 2 * number - 1, &messages);
            }
        }
    }
    capture
}

#[test]
fn lines_that_fill_each_other_are_complete() {
    let folder = Folder::new("capture-lines");
    for (format, name) in [(CaptureFormat::Pcap, "day.pcap"), (CaptureFormat::Pcapng, "day.pcapng")]
    {
        let bytes = two_lines(format).bytes;
        let path = folder.write(name, &bytes);
        let (rows, sessions, file) = contents(&path, 0);
        assert_eq!(rows.len(), 2);
        for (row, line) in rows.iter().zip([A, B]) {
            assert_eq!(
                (&row["destination"], &row["protocol"]),
                (&line.into(), &"MoldUDP64".into())
            );
            let counts = values(row, ["packets", "messages", "gaps", "missing", "shared"]);
            assert_eq!(counts, [19, 38, 1, 2, 36]);
            let numbers = values(row, ["first_message", "last_message", "duplicates"]);
            assert_eq!(numbers, [1, 40, 0]);
        }
        let [session] = sessions.as_slice() else { panic!("one session: {sessions:?}") };
        assert_eq!(session["session"], "MONDAY");
        assert_eq!(values(session, ["groups", "messages", "missing"]), [2, 40, 0]);
        assert_eq!(values(&file, ["packets", "bytes", "damaged"]), [38, bytes.len() as u64, 0]);
        assert_eq!(
            values(&file, ["first_ts_ns", "last_ts_ns"]),
            [BEGIN_NS, BEGIN_NS + 37 * STEP_NS]
        );
        let piped = nanotape_fed(["capture", "-", "--format", "csv"], &bytes);
        let csv = nanotape(["capture", &path, "--format", "csv"]);
        assert_eq!((piped.status, &piped.stdout), (0, &csv.stdout));
        assert!(csv.stdout.starts_with("destination,protocol,session,packets,messages,"));
        assert_eq!(csv.stdout.lines().count(), 3);
    }
    // One of the lines alone is not.
    let path = folder.path("day.pcap");
    let ran = nanotape(["capture", &path, "--group", A, "--format", "json"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (1, ""));
    let all = objects(&ran.stdout);
    assert_eq!(values(&all[1], ["groups", "messages", "missing"]), [1, 38, 2]);
    assert_eq!(values(&all[2], ["not_chosen", "rows"]), [19, 1]);
}

#[test]
fn every_group_has_a_row_and_every_unread_packet_a_reason() {
    let folder = Folder::new("capture-groups");
    let mut capture = two_lines(CaptureFormat::Pcap);
    // Another feed with tags, an overtaken packet, a duplicate, a heartbeat after a loss, its end,
    // and a packet that does not follow the format.
    for (first, messages) in [(1, 1), (3, 1), (2, 1), (2, 1), (9, 0)] {
        let packet = mold_packet(b"TUESDAY   ", first, &[b"m" as &[u8]][..messages]);
        capture.datagram(OTHER_FEED, &[100, 7], &packet);
    }
    capture.datagram(OTHER_FEED, &[100, 7], b"neither of both");
    capture.datagram(OTHER_FEED, &[100, 7], &end_of_session(Alpha::new(*b"TUESDAY   "), 9));
    // A loss of messages 3 and 4, then a segment at a wrong stream offset.
    let offset = capture.iex(IEX, 1, 0, &[b"ab", b"c"]);
    capture.iex(IEX, 5, offset + 20, &[b"later"]);
    capture.iex(IEX, 6, 999, &[b"at another offset"]);
    capture.datagram("10.0.0.9:53", &[], b"a question");
    // A packet without its end, two fragments, and ARP.
    let frame = frame_of(A, &[], b"payload");
    capture.frame(&frame[..frame.len() - 3]);
    let mut fragment = frame;
    fragment[20] = 0x20;
    capture.frame(&fragment);
    capture.frame(&fragment);
    capture.frame(&[0xff; 14]);
    let path = folder.write("day.pcap", &capture.bytes);

    let (rows, sessions, file) = contents(&path, 1);
    let destinations: Vec<_> =
        rows.iter().map(|row| row["destination"].as_str().unwrap()).collect();
    assert_eq!(destinations, [A, B, OTHER_FEED, IEX, "10.0.0.9:53"]);
    let feed = &rows[2];
    assert_eq!((&feed["session"], &feed["vlans"]), (&"TUESDAY".into(), &"100/7".into()));
    assert_eq!(feed["has_ended"], true);
    assert_eq!(values(feed, ["packets", "messages", "malformed", "heartbeats"]), [7, 4, 1, 2]);
    assert_eq!(values(feed, ["overtaken", "duplicates", "gaps", "missing"]), [1, 1, 1, 5]);
    let iex = &rows[3];
    assert_eq!((&iex["protocol"], &iex["session"]), (&"IEX-TP".into(), &"0x8004/1/77".into()));
    let counts = ["packets", "messages", "first_message", "last_message", "gaps", "missing"];
    assert_eq!(values(iex, counts), [3, 4, 1, 6, 1, 2]);
    assert_eq!(values(iex, ["offset_mismatches", "shared"]), [1, 0]);
    let other = &rows[4];
    assert_eq!((&other["protocol"], &other["messages"]), (&"other UDP".into(), &Value::Null));
    assert_eq!(values(other, ["packets", "bytes"]), [1, 10]);
    let missing: Vec<_> = sessions.iter().map(|session| session["missing"].clone()).collect();
    assert_eq!(missing, [0, 5, 2]);
    let skipped = ["skipped_truncated", "skipped_fragment", "skipped_not_ip", "skipped_malformed"];
    assert_eq!(values(&file, skipped), [1, 2, 1, 0]);
    assert_eq!(values(&file, ["packets", "rows", "sessions"]), [53, 5, 3]);

    let text = nanotape(["capture", &path]);
    assert_eq!((text.status, text.stderr.as_str()), (1, ""));
    for expected in [
        "53 in ",
        "1 not IP, 2 fragment, 1 truncated",
        "MONDAY: MoldUDP64 on 2 groups, 40 messages, 0 missing",
        "0x8004/1/77: IEX-TP on 1 group, 4 messages, 2 missing",
        "VLAN 100/7, 1 overtaken message, 1 malformed packet, end of session",
        "1 segment at an unexpected stream offset",
        "other UDP",
    ] {
        assert!(text.stdout.contains(expected), "{expected:?} in {}", text.stdout);
    }
}

#[test]
fn damage_has_its_offset_and_what_is_no_capture_is_refused() {
    let folder = Folder::new("capture-damage");
    let whole = two_lines(CaptureFormat::Pcap).bytes;
    let cut = folder.write("cut.pcap", &whole[..whole.len() - 5]);
    let (rows, _, file) = contents(&cut, 1);
    assert_eq!(values(&rows[1], ["packets", "messages"]), [18, 36]);
    assert_eq!(values(&file, ["damaged"]), [1]);
    let ran = nanotape(["capture", &cut]);
    let damage = file["first_damage"].as_str().unwrap();
    assert!(damage.starts_with("offset ") && damage.contains("the file ends after"), "{damage}");
    assert!(ran.stderr.contains(damage) && ran.stdout.contains(damage), "{ran:?}");
    assert_eq!(ran.stderr.lines().count(), 1);

    let empty = folder.write("empty.pcap", &MadeCapture::new(CaptureFormat::Pcap).bytes);
    let (rows, _, file) = contents(&empty, 0);
    assert_eq!((rows.len(), values(&file, ["packets"])), (0, [0]));
    let day = folder.day(1_000, 10);
    let refused = nanotape(["capture", &day]);
    assert_eq!((refused.status, refused.stdout.as_str()), (2, ""));
    assert!(refused.stderr.contains("is not a capture"), "{}", refused.stderr);
}

#[test]
fn real_captures_have_every_message() {
    for (name, protocol, packets, messages) in [
        ("totalview_20230822_100packets.pcap", "MoldUDP64", 100, 269),
        ("iex_deep10_20231002.pcap.gz", "IEX-TP", 5_000, 48_325),
    ] {
        let Some(path) = real_data(name) else { continue };
        let (rows, sessions, file) = contents(&path, 0);
        let [row] = rows.as_slice() else { panic!("one row: {rows:?}") };
        assert_eq!(row["protocol"], protocol);
        let counts = values(row, ["packets", "messages", "gaps", "missing", "malformed"]);
        assert_eq!(counts, [packets, messages, 0, 0, 0]);
        let mismatches = row["offset_mismatches"].as_u64();
        assert_eq!(mismatches, (protocol == "IEX-TP").then_some(0));
        assert_eq!(values(&sessions[0], ["messages", "missing"]), [messages, 0]);
        assert_eq!(values(&file, ["packets", "messages", "damaged"]), [packets, messages, 0]);
    }
}
