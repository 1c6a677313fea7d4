//! Captures as files: every message of a session is read whatever the order of the file, sessions
//! do not mix, and `nanotape capture` counts what the other commands read.

use std::{collections::BTreeMap, fs};

use nanotape_harness::skipped;
use nanotape_wire::{capture::CaptureFormat, framing::binary_file::Records};
use serde_json::Value;

use crate::support::{
    Folder, Ran,
    capture::MadeCapture,
    nanotape, nanotape_fed,
    plants::Ring,
    running::{objects, whole},
    shared_folder, trial,
};

const A: &str = "233.54.12.111:26477";
const B: &str = "233.86.230.111:26477";

/// The messages that a command prints, and what it reports.
fn inspect(arguments: &[&str]) -> (usize, Ran) {
    let ran = nanotape([&["inspect"], arguments, &["--format", "json"]].concat());
    (ran.stdout.lines().count(), ran)
}

#[test]
fn the_order_of_a_file_makes_no_difference() {
    for (name, messages) in [
        ("t07_rotated_wrong_order.pcap", 100),
        ("t07_hb_first.pcap", 5),
        ("t07_eos_first.pcap", 5),
        ("t07_first_overtaken.pcap", 5),
        ("t22_same_line_3ms.pcap", 60),
        ("t22_unsorted.pcap", 60),
    ] {
        let Some(path) = trial(name) else { continue };
        let (count, ran) = inspect(&[&path]);
        assert_eq!((count, ran.status, ran.stderr.as_str()), (messages, 0, ""), "{name}");
        let piped = nanotape_fed(["inspect", "-", "--format", "json"], &fs::read(&path).unwrap());
        assert_eq!((piped.status, piped.stdout), (0, ran.stdout), "{name}");
    }
}

#[test]
fn a_gap_of_any_width_is_reported_with_its_numbers() {
    for (name, messages) in [("t09_eos5.pcap", 5), ("t09_hb5.pcap", 5), ("t09_fast.pcap", 1_505)] {
        let Some(path) = trial(name) else { continue };
        let (count, ran) = inspect(&[&path]);
        let expected =
            format!("nanotape: {path}: messages 6 to 70005: on no line, 70000 missing\n");
        assert_eq!((count, ran.status, ran.stderr), (messages, 1, expected), "{name}");
    }
}

#[test]
fn sessions_do_not_mix_and_each_can_be_read() {
    for (name, default, others) in [
        ("t08_two_days.pcap", ("MONDAY", 20), Some(("TUESDAY", 20))),
        ("t08_session_change.pcap", ("SESSION001", 20), Some(("OTHER", 5))),
        ("t08_prev_hb.pcap", ("MONDAY", 20), None),
    ] {
        let Some(path) = trial(name) else { continue };
        let (count, ran) = inspect(&[&path]);
        assert_eq!(count, default.1, "{name}: {ran:?}");
        let chosen = inspect(&[&path, "--session", default.0]);
        assert_eq!((chosen.1.status, &chosen.1.stdout), (0, &ran.stdout), "{name}");
        let Some((other, messages)) = others else {
            assert_eq!(ran.status, 0, "{ran:?}");
            let expected = format!("not read: 3 datagrams to {A} (3, session SUNDAY)");
            assert!(ran.stderr.contains(&expected), "{ran:?}");
            continue;
        };
        let expected = format!(
            "nanotape: {path}: session {other} not read: messages 1 to {messages} (--session \
             {other})\n"
        );
        assert_eq!((ran.status, ran.stderr), (1, expected), "{name}");
        let (count, ran) = inspect(&[&path, "--session", other]);
        assert_eq!((count, ran.status), (messages, 0), "{name}: {}", ran.stderr);
        let strict = nanotape(["inside", &path, "--date", "2019-12-30", "--strict"]);
        assert_eq!(strict.status, 1, "{strict:?}");
    }
}

#[test]
fn a_session_that_is_not_in_the_capture_is_an_error_with_those_that_are() {
    let folder = Folder::new("sessions-absent");
    let mut capture = MadeCapture::new(CaptureFormat::Pcap);
    capture.mold(A, b"MONDAY    ", 1, &[b"one"]);
    let path = folder.write("20191230.pcap", &capture.bytes);
    let expected =
        format!("{path}: no packet read of session SUNDAY; the capture has 1 datagram to {A}");
    let day = folder.day(100, 5);
    for command in ["inspect", "inside", "capture", "stats", "check"] {
        let ran = nanotape([command, &path, "--session", "SUNDAY"]);
        assert_eq!(ran.status, 1, "{command}: {ran:?}");
        assert!(ran.stderr.contains(&expected), "{command}: {}", ran.stderr);
        let ran = nanotape([command, &day, "--session", "SUNDAY"]);
        assert_eq!(ran.status, 2, "{command}: {ran:?}");
        assert!(ran.stderr.contains("is not a capture"), "{command}: {}", ran.stderr);
    }
    let ran =
        nanotape(["inspect", &path, "--session", "A SESSION WITH A NAME OF OVER 32 CHARACTERS"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("1 to 32 printable characters"), "{}", ran.stderr);
}

#[test]
fn a_plant_a_tap_and_a_replay_take_the_session() {
    let folder = Folder::new("sessions-run");
    let Some(path) = trial("t08_two_days.pcap") else { return };
    let stop = |name: &str, options: &[&str]| {
        let ring = Ring::new(name);
        let run = ["run", "--ring", ring.path(), "--input", &path, "--format", "json"];
        let ran = nanotape([&run, options].concat());
        let begun = objects(&ran.stdout).into_iter().next().unwrap_or_else(|| panic!("{ran:?}"));
        let date = begun["trade_date"].as_str().unwrap().to_owned();
        (ran.status, ring.stop().messages, date)
    };
    let (monday, tuesday) = ("2019-12-30".to_owned(), "2019-12-31".to_owned());
    assert_eq!(stop("sessions-a", &[]), (1, 20, monday.clone()));
    assert_eq!(stop("sessions-b", &["--session", "MONDAY"]), (0, 20, monday));
    // The trade date is that of the session.
    assert_eq!(stop("sessions-c", &["--session", "TUESDAY"]), (0, 20, tuesday));
    let tap = nanotape(["tap", &path, "--session", "TUESDAY", "--records", "mbo"]);
    assert_eq!(tap.status, 0, "{}", tap.stderr);
    let output = folder.path("tuesday.pcap");
    let ran = nanotape(["replay", &path, "--read-session", "TUESDAY", "-o", &output]);
    assert_eq!(ran.status, 0, "{ran:?}");
    let (rows, _) = contents(&output);
    assert_eq!((rows.len(), &rows[0]["session"]), (1, &Value::from("TUESDAY")));
}

#[test]
fn captures_that_are_joined_are_read_as_one() {
    let folder = Folder::new("sessions-joined");
    let mut bytes = Vec::new();
    for (format, session, first) in [
        (CaptureFormat::Pcapng, b"MONDAY    ", 11),
        (CaptureFormat::Pcap, b"MONDAY    ", 1),
        (CaptureFormat::Pcapng, b"TUESDAY   ", 1),
        (CaptureFormat::Pcapng, b"MONDAY    ", 21),
    ] {
        let mut capture = MadeCapture::new(format);
        for number in first..first + 10 {
            capture.mold(A, session, number, &[b"message"]);
        }
        bytes.extend(capture.bytes);
    }
    let path = folder.write("20191230.pcap", &bytes);
    assert_eq!(checked(&path, &["--session", "MONDAY"]), (30, 0));
    assert_eq!(checked(&path, &["--session", "TUESDAY"]), (10, 0));
    let Some(path) = trial("t21_cat.pcap") else { return };
    let (count, ran) = inspect(&[&path]);
    assert_eq!((count, ran.status, ran.stderr.as_str()), (60, 0, ""));
    let ran = nanotape(["capture", &path]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
}

#[test]
fn the_files_of_a_capture_are_read_in_any_order() {
    let folder = Folder::new("sessions-pieces");
    let bytes = fs::read(folder.day(2_000, 10)).unwrap();
    let messages: Vec<&[u8]> = Records::new(&bytes, 0).map(|record| record.bytes).collect();
    let pieces = [0..700, 700..1_400, 1_400..2_000].map(|range| {
        let mut capture = MadeCapture::new(CaptureFormat::Pcap);
        for at in range.step_by(5) {
            capture.mold(A, b"MONDAY    ", at as u64 + 1, &messages[at..at + 5]);
        }
        capture.bytes
    });
    let joined = folder.write("20191230.pcap", &pieces.concat());
    let expected = nanotape(["inside", &joined, "--format", "csv"]);
    assert_eq!(expected.status, 0, "{expected:?}");
    let [first, second, third] =
        ["a_20191230.pcap", "b.pcap", "c.pcap"].map(|name| folder.path(name));
    for (path, bytes) in [&first, &second, &third].into_iter().zip(&pieces) {
        fs::write(path, bytes).unwrap();
    }
    for [one, two, three] in [[&first, &second, &third], [&first, &third, &second]] {
        let arguments = ["inside", one, "--piece", two, "--piece", three, "--format", "csv"];
        let ran = nanotape(arguments);
        assert_eq!((ran.status, &ran.stdout), (0, &expected.stdout), "{}", ran.stderr);
        let ran = nanotape(["capture", two, one, three, "--format", "json"]);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
        let session = &objects(&ran.stdout)[1];
        let counts = ["messages", "missing"].map(|name| whole(&session[name]).unwrap());
        assert_eq!(counts, [2_000, 0]);
    }
    // Each piece has its own compression, and a plant reads them too.
    fs::write(&second, zstd::encode_all(&pieces[1][..], 1).unwrap()).unwrap();
    let ring = Ring::new("sessions-pieces");
    let config = format!("[input]\nfile = \"{first}\"\npieces = [\"{third}\", \"{second}\"]\n");
    let config = folder.write("plant.toml", config.as_bytes());
    let ran = nanotape(["run", "--config", &config, "--ring", ring.path()]);
    assert_eq!((ran.status, ring.stop().messages), (0, 2_000), "{}", ran.stderr);
    // A piece that ends inside a packet: the others are read, and the status is 1.
    fs::write(&second, &pieces[1][..pieces[1].len() - 3]).unwrap();
    let options = ["--piece", &second, "--piece", &third];
    assert_eq!(checked(&first, &options), (1_995, 5));
    for (piece, status, expected) in [
        (folder.path("none.pcap"), 2, "cannot open"),
        (folder.write("text.pcap", b"no capture"), 2, "is not a capture"),
    ] {
        let ran = nanotape(["inspect", &first, "--piece", &piece]);
        assert_eq!(ran.status, status, "{ran:?}");
        assert!(ran.stderr.contains(expected) && ran.stderr.contains(&piece), "{}", ran.stderr);
    }
}

/// The rows and the sessions of a capture.
fn contents(path: &str) -> (Vec<Value>, Vec<Value>) {
    let ran = nanotape(["capture", path, "--format", "json"]);
    let objects = objects(&ran.stdout).into_iter().filter(|object| object["path"].is_null());
    objects.partition(|object| object["destination"].is_string())
}

/// The messages that are read of a capture, and those that are missing.
fn checked(path: &str, options: &[&str]) -> (u64, u64) {
    let ran = nanotape([&["check", path, "--format", "json"], options].concat());
    let verdict = objects(&ran.stdout).pop().unwrap_or_else(|| panic!("{ran:?}"));
    let [read, missing] = ["messages", "missing_messages"].map(|name| whole(&verdict[name]));
    (read.unwrap(), missing.unwrap())
}

/// Captures of the folders beside the repository, and generated ones.
fn captures(folder: &Folder) -> Vec<String> {
    let mut captures = Vec::new();
    for name in ["trials", "data"] {
        let Ok(entries) = fs::read_dir(shared_folder().join(name)) else {
            skipped(format_args!("no ../shared/{name}"));
            continue;
        };
        let paths = entries.map(|entry| entry.unwrap().path().display().to_string());
        captures.extend(paths.filter(|path| path.contains(".pcap")));
    }
    for (number, name) in ["made.pcap", "made.pcapng"].into_iter().enumerate() {
        let format = [CaptureFormat::Pcap, CaptureFormat::Pcapng][number];
        let mut capture = MadeCapture::new(format);
        for packet in 0..40u64 {
            // Line B is behind, and both lose packets; two packets are lost on both.
            let at = 1 + 2 * ((packet * 7) % 40);
            for (line, lost) in [(A, 5), (B, 12)] {
                if packet % lost != 1 {
                    capture.mold(line, b"MONDAY    ", at, &[b"one", b"two"]);
                }
            }
        }
        captures.push(folder.write(name, &capture.bytes));
    }
    captures
}

#[test]
fn what_capture_counts_is_what_the_other_commands_read() {
    let folder = Folder::new("sessions-counts");
    for path in captures(&folder) {
        let (_, sessions) = contents(&path);
        let mut counted = BTreeMap::new();
        // The sessions of another feed are its channels, and are read together.
        let (of_mold, others): (Vec<_>, Vec<_>) =
            sessions.iter().partition(|session| session["protocol"] == "MoldUDP64");
        let of_others: u64 =
            others.iter().map(|session| whole(&session["messages"]).unwrap()).sum();
        for session in of_mold {
            let name = session["session"].as_str().unwrap().to_owned();
            let [messages, missing] =
                ["messages", "missing"].map(|name| whole(&session[name]).unwrap());
            let read = checked(&path, &["--session", &name]);
            assert_eq!(read, (messages, missing), "{path}: {name}");
            counted.insert(name, messages);
        }
        // Without a choice, it is one of them.
        let (messages, _) = checked(&path, &[]);
        let is_one = counted.values().any(|&of| of == messages && of > 0);
        let is_none = messages == 0 && counted.values().all(|&of| of == 0);
        let is_of_others = counted.is_empty() && messages == of_others;
        assert!(is_one || is_none || is_of_others, "{path}: {messages} of {counted:?}");
    }
}
