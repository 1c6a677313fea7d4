//! `--group`: which destinations of a capture the commands read, and how they report the others.

use std::fs;

use nanotape_wire::{capture::CaptureFormat, framing::binary_file::Records};

use crate::support::{
    Folder,
    capture::{MadeCapture, frame_of},
    nanotape, nanotape_fed,
    plants::{DATE, Ring},
    real_data,
    running::objects,
};

const MONDAY: &str = "233.54.12.111:26477";
/// The same messages as on [`MONDAY`], to another port of the same group.
const MONDAY_B: &str = "233.54.12.111:26478";
const TUESDAY: &str = "239.9.9.9:5001";
const QUESTIONS: &str = "10.0.0.9:53";

/// Two days, and a capture of both: the first on two lines, each of which loses half of the
/// packets.
fn two_days(folder: &Folder) -> ([String; 2], String) {
    let days = [1u64, 2].map(|seed| {
        let path = folder.path(&format!("day{seed}.itch50"));
        let seed = seed.to_string();
        let options = ["--messages", "3000", "--symbols", "20", "--seed", &seed];
        let made = nanotape([&["synth", "-o", &path][..], &options].concat());
        assert_eq!(made.status, 0, "{made:?}");
        path
    });
    let bytes = days.each_ref().map(|day| fs::read(day).unwrap());
    let messages = bytes
        .each_ref()
        .map(|bytes| -> Vec<&[u8]> { Records::new(bytes, 0).map(|record| record.bytes).collect() });
    let mut capture = MadeCapture::new(CaptureFormat::Pcapng);
    for first in (0..3_000).step_by(5) {
        let number = first as u64 + 1;
        let line = if number.is_multiple_of(2) { MONDAY } else { MONDAY_B };
        capture.mold(line, b"MONDAY    ", number, &messages[0][first..first + 5]);
        capture.mold(TUESDAY, b"TUESDAY   ", number, &messages[1][first..first + 5]);
    }
    let path = folder.write("session_20191230.pcapng", &capture.bytes);
    (days, path)
}

fn inside(input: &str, options: &[&str]) -> crate::support::Ran {
    nanotape([&["inside", input, "--format", "csv"], options].concat())
}

#[test]
fn a_group_is_read_as_the_day_that_was_sent_to_it() {
    let folder = Folder::new("groups");
    let ([first, second], capture) = two_days(&folder);
    let (first, second) = (inside(&first, &[]), inside(&second, &[]));
    assert!(first.stdout.len() > 1_000 && first.stdout != second.stdout);
    // The first session is the default, and the others are named.
    let default = inside(&capture, &[]);
    assert_eq!((default.status, &default.stdout), (1, &first.stdout));
    let unread = "session TUESDAY not read: messages 1 to 3000 (--session TUESDAY)";
    assert!(default.stderr.contains(unread), "{}", default.stderr);
    assert_eq!(default.stderr.lines().count(), 1);
    let chosen = inside(&capture, &["--session", "MONDAY"]);
    assert_eq!((chosen.status, &chosen.stdout), (0, &first.stdout));
    let unread = format!("not read: 600 datagrams to {TUESDAY} (600, session TUESDAY)");
    assert!(chosen.stderr.contains(&unread), "{}", chosen.stderr);
    assert_eq!(chosen.stderr.lines().count(), 1);
    let tuesday = inside(&capture, &["--group", TUESDAY]);
    assert_eq!((tuesday.status, &tuesday.stdout), (0, &second.stdout));
    assert!(
        tuesday.stderr.contains("not read: 600 datagrams to 233.54.12.111:26478 (300, session")
    );
    // All ports of an address, or each of them.
    for options in [&["--group", "233.54.12.111"][..], &["--group", MONDAY, "--group", MONDAY_B]] {
        let monday = inside(&capture, options);
        assert_eq!((monday.status, &monday.stdout), (0, &first.stdout), "{options:?}");
    }
    // One line alone lacks the messages of the other one.
    let half = inside(&capture, &["--group", MONDAY]);
    assert_eq!(half.status, 1);
    assert!(half.stderr.contains("on no line"), "{}", half.stderr);
    // Another command of days, one that reads standard input, and a tap.
    let inspected = ["inspect", &capture, "--group", TUESDAY, "--format", "json"];
    assert_eq!(nanotape(inspected).stdout.lines().count(), 3_000);
    let piped = fs::read(&capture).unwrap();
    let piped = nanotape_fed(["inside", "-", "--group", TUESDAY, "--format", "csv"], &piped);
    assert_eq!((piped.status, piped.stdout), (0, second.stdout));
    let tap = ["tap", &capture, "--group", TUESDAY, "--records", "mbo", "--format", "csv"];
    let tap = nanotape(tap);
    assert_eq!(tap.status, 0, "{}", tap.stderr);
    assert!(tap.stdout.lines().count() > 1_000);
}

#[test]
fn a_group_that_is_not_in_the_capture_is_an_error_with_those_that_are() {
    let folder = Folder::new("groups-absent");
    let (_, capture) = two_days(&folder);
    let ran = inside(&capture, &["--group", "239.1.1.1:7000"]);
    assert_eq!(ran.status, 1);
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    for expected in ["--group 239.1.1.1:7000", MONDAY, MONDAY_B, TUESDAY, "session MONDAY"] {
        assert!(ran.stderr.contains(expected), "{expected} in {}", ran.stderr);
    }
    // Also if another one is.
    let ran = inside(&capture, &["--group", TUESDAY, "--group", "239.1.1.1"]);
    assert_eq!(ran.status, 1);
    assert!(ran.stderr.contains("no packet read of --group 239.1.1.1;"), "{}", ran.stderr);
    let ran = nanotape(["capture", &capture, "--group", "239.1.1.1", "--format", "json"]);
    assert_eq!((ran.status, objects(&ran.stdout).len()), (1, 1));
    assert!(ran.stderr.contains(TUESDAY), "{}", ran.stderr);
}

#[test]
fn groups_apply_to_captures_only() {
    let folder = Folder::new("groups-refused");
    let day = folder.day(1_000, 10);
    let dbn = folder.path("day.dbn");
    assert_eq!(nanotape(["tap", &day, "--date", DATE, "-o", &dbn]).status, 0);
    let bytes = fs::read(&day).unwrap();
    for arguments in [
        &["inside", &day][..],
        &["inspect", &day],
        &["check", "-"],
        &["inside", &dbn],
        &["tap", &day, "--date", DATE],
        &["tap", &dbn],
        &["run", "--input", &day, "--date", DATE, "--ring", "groups-apply"],
        &["run", "--live", "--line-a", "239.1.1.1:5001", "--ring", "groups-apply"],
    ] {
        let ran = nanotape_fed([arguments, &["--group", TUESDAY]].concat(), &bytes);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains("capture") || ran.stderr.contains("--group"), "{ran:?}");
    }
    let ran = nanotape(["inside", &day, "--group", "239.1.1"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("expected an IPv4 address"), "{}", ran.stderr);
}

#[test]
fn a_plant_reads_the_groups_of_its_options_and_of_its_configuration() {
    let folder = Folder::new("groups-run");
    let (_, capture) = two_days(&folder);
    let config = folder.write(
        "plant.toml",
        format!("[input]\nfile = \"{capture}\"\ngroups = [\"{TUESDAY}\"]\n").as_bytes(),
    );
    // The digest covers every record that was published.
    let run = |name: &str, options: &[&str]| -> (i32, (u64, u64), String) {
        let ring = Ring::new(name);
        let ran = nanotape([&["run", "--ring", ring.path()], options].concat());
        (ran.status, (ring.stop().messages, ring.stop().digest), ran.stderr)
    };
    let (status, tuesday, reported) = run("groups-a", &["--input", &capture, "--group", TUESDAY]);
    assert_eq!((status, tuesday.0), (0, 3_000), "{reported}");
    assert!(reported.contains("not read: 600 datagrams"), "{reported}");
    let (_, configured, _) = run("groups-b", &["--config", &config]);
    assert_eq!(configured, tuesday);
    // A file on the command line replaces that of the configuration, and its groups.
    let (_, monday, _) = run("groups-c", &["--config", &config, "--input", &capture]);
    assert!(monday.0 == 3_000 && monday.1 != tuesday.1);
    let (status, none, reported) = run("groups-d", &["--input", &capture, "--group", "239.1.1.1"]);
    assert_eq!((status, none.0), (1, 0));
    assert!(reported.contains(TUESDAY), "{reported}");
}

#[test]
fn a_replay_sends_the_chosen_groups() {
    let folder = Folder::new("groups-replay");
    let (_, capture) = two_days(&folder);
    let output = folder.path("tuesday.pcap");
    let arguments = ["replay", &capture, "--group", TUESDAY, "-o", &output, "--format", "json"];
    let ran = nanotape(arguments);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let report = objects(&ran.stdout).pop().unwrap();
    assert_eq!((&report["a_packets"], &report["b_packets"]), (&600.into(), &0.into()));
    assert_eq!(report["not_chosen"], 600);
    let contents = nanotape(["capture", &output, "--format", "json"]);
    let rows = objects(&contents.stdout);
    assert_eq!((&rows[0]["destination"], rows.len()), (&TUESDAY.into(), 3));
    let ran = nanotape(["replay", &capture, "--group", "239.1.1.1", "-o", &output, "--force"]);
    assert_eq!(ran.status, 1);
    assert!(ran.stderr.contains(MONDAY), "{}", ran.stderr);
}

#[test]
fn what_is_not_read_of_a_capture_is_reported_once() {
    let folder = Folder::new("groups-unread");
    let day = folder.day(100, 5);
    let bytes = fs::read(&day).unwrap();
    let messages: Vec<&[u8]> = Records::new(&bytes, 0).map(|record| record.bytes).collect();
    let mut capture = MadeCapture::new(CaptureFormat::Pcap);
    for (number, messages) in (1u64..).step_by(5).zip(messages.chunks(5)) {
        capture.mold(MONDAY, b"MONDAY    ", number, messages);
    }
    let path = folder.write("clean.pcap", &capture.bytes);
    assert_eq!(inside(&path, &[]).stderr, "");
    capture.datagram(QUESTIONS, &[], b"a question");
    let frame = frame_of(MONDAY, &[], b"payload");
    capture.frame(&frame[..frame.len() - 1]);
    let mut fragment = frame;
    fragment[20] = 0x20;
    (0..3).for_each(|_| capture.frame(&fragment));
    let path = folder.write("more.pcap", &capture.bytes);
    let ran = inside(&path, &[]);
    let expected = format!(
        "nanotape: {path}: not read: 4 packets (3 fragment, 1 truncated); 1 datagram to \
         {QUESTIONS} (1)\n"
    );
    assert_eq!((ran.status, ran.stderr), (0, expected));
}

#[test]
fn a_capture_without_a_session_is_an_error() {
    let folder = Folder::new("groups-none");
    let mut capture = MadeCapture::new(CaptureFormat::Pcap);
    capture.datagram(QUESTIONS, &[], b"a question");
    let path = folder.write("20191230.pcap", &capture.bytes);
    let ran = inside(&path, &[]);
    let expected = "no MoldUDP64 session; the capture has 1 datagram to 10.0.0.9:53 (1)";
    assert_eq!(ran.status, 1);
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    if let Some(path) = real_data("iex_deep10_20231002.pcap.gz") {
        let ran = inside(&path, &["--session", "MONDAY"]);
        assert_eq!(ran.status, 1);
        assert!(ran.stderr.contains("233.215.21.4:10378 (5,000"), "{}", ran.stderr);
    }
}
