//! `nanotape ring` as a user runs it: real processes, real rings, output, exit statuses.

mod follow;

use std::{
    fs,
    io::{Seek as _, SeekFrom, Write as _},
    os::unix::process::CommandExt as _,
    process::Command,
};

use nanotape_harness::{Bounded as _, copy_for_all_users, skipped};
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Ran, nanotape, nanotape_fed, plants::Ring, running::Running};

trait Written {
    /// Publishes these lines and closes the ring.
    fn publish(&self, lines: &str, options: &[&str]) -> Ran;

    /// Overwrites bytes of the file.
    fn scribble(&self, offset: u64, bytes: &[u8]);
}

impl Written for Ring {
    fn publish(&self, lines: &str, options: &[&str]) -> Ran {
        let mut arguments = vec!["ring", "publish", self.path()];
        arguments.extend(options);
        let ran = nanotape_fed(arguments, lines.as_bytes());
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
        ran
    }

    fn scribble(&self, offset: u64, bytes: &[u8]) {
        let mut file = fs::File::options().write(true).open(&self.0).unwrap();
        file.seek(SeekFrom::Start(offset)).unwrap();
        file.write_all(bytes).unwrap();
    }
}

/// A running command about rings, for a test that interacts with it.
fn start(arguments: &[&str]) -> Running {
    Running::start_fed(&[&["ring"], arguments].concat())
}

/// A running writer, after it has created the ring.
fn publishing(ring: &Ring, options: &[&str]) -> Running {
    let mut arguments = vec!["publish", ring.path(), "--format", "json"];
    arguments.extend(options);
    let mut running = start(&arguments);
    running.read_json();
    running
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text:?}"))
}

fn objects(text: &str) -> Vec<Value> {
    text.lines().map(json).collect()
}

fn stat(ring: &Ring) -> Value {
    let ran = nanotape(["ring", "stat", ring.path(), "--interval", "0", "--format", "json"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    json(&ran.stdout)
}

#[test]
fn lines_that_are_published_are_dumped() {
    let ring = Ring::new("lines");
    for options in [&["--capacity", "4KiB"][..], &["--slots", "8", "--max-length", "64"]] {
        let ran = ring.publish("bid 100.25\n\nthe third", options);
        let path = ring.path();
        assert_eq!(
            ran.stdout,
            format!("{path}: created; next message 1\npublished 3 messages, 1 to 3\n")
        );
        let ran = nanotape(["ring", "dump", path]);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
        assert_eq!(
            ran.stdout,
            "1  type 1  10 bytes\n  \
             00000000  62 69 64 20 31 30 30 2e  32 35                    |bid 100.25|\n\
             2  type 1  0 bytes\n\
             3  type 1  9 bytes\n  \
             00000000  74 68 65 20 74 68 69 72  64                       |the third|\n"
        );
        let ran = nanotape(["ring", "dump", path, "--from", "3", "--format", "json"]);
        let expected =
            "{\"sequence\":3,\"type_id\":1,\"length\":9,\"payload\":\"746865207468697264\"}\n";
        assert_eq!(ran.stdout, expected);
        let ran = nanotape(["ring", "dump", path, "--count", "1", "--format", "csv"]);
        let header = "sequence,type_id,length,payload,lost_from,lost_to\n";
        assert_eq!(ran.stdout, format!("{header}1,1,10,626964203130302e3235,,\n"));
        assert_eq!(nanotape(["ring", "dump", path, "--from", "newest"]).stdout, "");
        let late = nanotape(["ring", "dump", path, "--from", "9"]);
        assert_eq!(late.status, 2);
        assert!(late.stderr.contains("message 9 is not published yet: the next one is 4"));
        fs::remove_file(&ring.0).unwrap();
    }
}

#[test]
fn what_was_overwritten_is_a_row_of_its_own() {
    let ring = Ring::new("lost");
    let lines: String = (1..=900).map(|number| format!("{number}\n")).collect();
    for options in [&["--capacity", "4KiB"][..], &["--slots", "8", "--max-length", "64"]] {
        ring.publish(&lines, options);
        let ran = nanotape(["ring", "dump", ring.path(), "--from", "1", "--format", "json"]);
        let rows = objects(&ran.stdout);
        assert_eq!(rows[0]["lost"]["from"], 1);
        let mut next = rows[0]["lost"]["to"].as_u64().unwrap() + 1;
        assert!(next > 700);
        for row in &rows[1..] {
            let text: String = format!("{next}").bytes().map(|b| format!("{b:02x}")).collect();
            assert_eq!((&row["sequence"], &row["payload"]), (&Value::from(next), &text.into()));
            next += 1;
        }
        assert_eq!(next, 901);
        let text = nanotape(["ring", "dump", ring.path(), "--from", "1"]).stdout;
        let lost = next - rows.len() as u64;
        assert!(text.starts_with(&format!("1  lost {lost} messages, 1 to {lost}\n")), "{text}");
        fs::remove_file(&ring.0).unwrap();
    }
}

#[test]
fn stat_distinguishes_a_living_a_closed_and_a_killed_writer() {
    let ring = Ring::new("stat");
    let mut writer = publishing(&ring, &["--mode", "0640"]);
    let alive = stat(&ring);
    assert_eq!(alive["kind"], "stream");
    assert_eq!(alive["capacity_bytes"], 8 << 20);
    assert_eq!(alive["capacity_slots"], Value::Null);
    assert_eq!(alive["mode"], "0640");
    assert_eq!(alive["writer_state"], "alive");
    assert_eq!(alive["writer_pid"], writer.process.id());
    assert_eq!((&alive["next_sequence"], &alive["messages_held"]), (&1.into(), &0.into()));
    assert_eq!(alive["rate_per_second"], Value::Null);
    assert_eq!(alive["last_message_age_ns"], Value::Null);
    let text = nanotape(["ring", "stat", ring.path(), "--interval", "0.01"]).stdout;
    assert!(text.contains("rate            0.0 messages a second"), "{text}");
    assert!(text.contains("last message    unknown: the writer stored no time"), "{text}");
    assert!(text.contains("messages held   none"), "{text}");

    writer.signal(Signal::KILL);
    assert_eq!(writer.end().0, None, "a signal ended it");
    assert_eq!(stat(&ring)["writer_state"], "dead");

    let ran = ring.publish("a\nb\n", &["--format", "json"]);
    let [made, done] = objects(&ran.stdout).try_into().unwrap();
    assert_eq!(made["origin"], "taken over");
    assert_eq!(made["previous_writer_state"], "dead");
    assert_eq!((&made["writer_epoch"], &done["published"]), (&2.into(), &2.into()));
    let closed = stat(&ring);
    assert_eq!((&closed["writer_state"], &closed["writer_epoch"]), (&"closed".into(), &2.into()));
    assert_eq!((&closed["oldest_sequence"], &closed["next_sequence"]), (&1.into(), &3.into()));
    assert!(closed["last_message_age_ns"].as_i64().unwrap() >= 0);

    let arguments = ["ring", "stat", ring.path(), "--count", "3", "--interval", "0.01"];
    let lines = nanotape(arguments).stdout;
    assert_eq!(lines.lines().count(), 4, "{lines}");
    // Without a writer, --watch prints one report and ends.
    let watched = nanotape(["ring", "stat", ring.path(), "--watch", "--interval", "0.01"]);
    assert_eq!((watched.status, watched.stdout.lines().count()), (0, 2), "{}", watched.stdout);
}

#[test]
fn verify_counts_what_is_good_and_finds_what_is_not() {
    // Bytes of the region's header, the control words and the index, and a frame's header.
    const HEADER: u64 = 4096;
    const STREAM_DATA: u64 = HEADER + 1408;
    let ring = Ring::new("verify");
    let verify = || nanotape(["ring", "verify", ring.path(), "--format", "json"]);
    ring.publish("one\ntwo\nthree\n", &["--capacity", "4KiB"]);
    let ran = verify();
    let good = json(&ran.stdout);
    assert_eq!((ran.status, &good["messages"], &good["next_sequence"]), (0, &3.into(), &4.into()));
    let text = nanotape(["ring", "verify", ring.path()]).stdout;
    assert!(text.contains("OK, stream ring; writer closed the ring"), "{text}");
    assert!(text.contains("messages        3, in order: 1 to 3"), "{text}");

    // Damages the number and the length of message 2, a position in the index, and a counter.
    let pristine = fs::read(&ring.0).unwrap();
    let frame_2 = STREAM_DATA + 24;
    for (offset, bytes, expected) in [
        (frame_2 + 8, 9_u64, "at word 179: sequence number 9, expected message 2"),
        (frame_2, u64::from(u32::MAX) | 0x4d << 48, "at word 179: a length of 4294967295 bytes"),
        (frame_2, 7, "at word 179: the header 0x0000000000000007, expected message 2"),
        (frame_2, 0, "at word 179: the header 0x0000000000000000, expected message 2"),
        (HEADER + 384, 1 << 20 | 1, "at word 48: position 1048577"),
        (HEADER + 384, 8, "at word 48: position 8"),
        (HEADER + 384 + 8, 2, "sequence number"),
        (HEADER + 128, 1 << 40, "contradictory counters"),
    ] {
        fs::write(&ring.0, &pristine).unwrap();
        ring.scribble(offset, &bytes.to_ne_bytes());
        let ran = verify();
        assert_eq!((ran.status, ran.stderr.lines().count()), (1, 1), "{expected}: {}", ran.stdout);
        assert!(ran.stderr.contains(ring.path()), "{}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{expected}: {}", ran.stderr);
    }
    fs::remove_file(&ring.0).unwrap();

    ring.publish("one\ntwo\nthree\n", &["--slots", "8", "--max-length", "16"]);
    assert_eq!(json(&verify().stdout)["messages"], 3);
    let pristine = fs::read(&ring.0).unwrap();
    let slot_2 = HEADER + 256 + 64;
    for (offset, bytes, expected) in [
        (slot_2, 2_u64, "at word 40: the header 0x0000000000000002, expected message 2"),
        (slot_2, 7, "at word 40: the header 0x0000000000000007"),
        (slot_2 + 8, 17, "at word 41: the header 0x0000000000000011"),
        (HEADER, u64::MAX, "contradictory counters"),
    ] {
        fs::write(&ring.0, &pristine).unwrap();
        ring.scribble(offset, &bytes.to_ne_bytes());
        let ran = verify();
        assert_eq!((ran.status, ran.stderr.lines().count()), (1, 1), "{expected}: {}", ran.stdout);
        assert!(ran.stderr.contains(expected), "{expected}: {}", ran.stderr);
    }
}

#[test]
fn verify_of_a_ring_that_is_written_finds_no_damage() {
    for options in [&["--capacity", "4KiB"][..], &["--slots", "8", "--max-length", "64"]] {
        let ring = Ring::new("busy");
        let mut writer = publishing(&ring, options);
        let mut input = writer.input.take().unwrap();
        let feeding = std::thread::spawn(move || {
            let block = "0123456789\n".repeat(5_000);
            // Feeds lines until the writer ends.
            while input.write_all(block.as_bytes()).is_ok() {}
        });
        for _ in 0..30 {
            let ran = nanotape(["ring", "verify", ring.path()]);
            assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
            assert_eq!(stat(&ring)["writer_state"], "alive");
        }
        drop(writer);
        feeding.join().unwrap();
        assert_eq!(nanotape(["ring", "verify", ring.path()]).status, 0, "of a killed writer");
    }
}

#[test]
fn remove_spares_what_lives_and_what_is_no_ring() {
    let ring = Ring::new("remove");
    let remove = || nanotape(["ring", "remove", ring.path()]);
    let mut writer = publishing(&ring, &[]);
    let refused = remove();
    assert_eq!(refused.status, 2);
    assert!(refused.stderr.contains("its owner is alive: process"), "{}", refused.stderr);
    let pid = writer.process.id();
    assert_eq!(writer.end().0, Some(0));
    let removed = remove();
    let expected = format!("; its last writer, process {pid}, closed it\n");
    assert_eq!((removed.status, removed.stderr.as_str()), (0, ""));
    assert!(removed.stdout.ends_with(&expected), "{}", removed.stdout);
    assert!(!ring.0.exists());
    assert_eq!(remove().status, 2, "there is nothing");

    fs::write(&ring.0, "the only copy of something else").unwrap();
    for command in ["remove", "stat", "verify", "dump"] {
        let ran = nanotape(["ring", command, ring.path()]);
        assert_eq!((ran.status, ran.stderr.lines().count()), (2, 1), "{command}");
        assert!(ran.stderr.contains("is not a region: it starts with"), "{}", ran.stderr);
    }
    assert!(ring.0.exists());
}

#[test]
fn list_has_a_line_for_each_region() {
    let ring = Ring::new("listed");
    if !ring.0.starts_with("/dev/shm") {
        skipped("there is no /dev/shm here");
        return;
    }
    ring.publish("x\n", &["--slots", "8"]);
    let name = ring.path().strip_prefix("/dev/shm/nanotape-").unwrap().to_owned();
    let listed = nanotape(["ring", "list", "--format", "json"]);
    assert_eq!(listed.status, 0);
    let rows = objects(&listed.stdout);
    let row = rows.iter().find(|row| row["name"] == name.as_str()).unwrap();
    assert_eq!((&row["kind"], &row["writer"]), (&"slots".into(), &"closed".into()));
    assert_eq!(row["remark"], Value::Null);
    fs::write(&ring.0, "nothing of ours").unwrap();
    let text = nanotape(["ring", "list"]).stdout;
    let line = text.lines().find(|line| line.starts_with(&name)).unwrap();
    assert!(line.contains("is not a region"), "{line}");
    assert_eq!(nanotape(["ring", "stat", "no such name"]).status, 2);
}

#[test]
fn another_version_is_refused_by_every_command() {
    let ring = Ring::new("version");
    // Changes the version of the region, then the layout of the ring.
    for (offset, bytes, expected) in [
        (16, 2_u64.to_ne_bytes(), "region format version 2"),
        (32, u64::from_be_bytes(*b"stream 9").to_ne_bytes(), "ring layout `stream 9`"),
    ] {
        ring.publish("x\n", &["--capacity", "4KiB", "--replace"]);
        ring.scribble(offset, &bytes);
        for command in ["stat", "dump", "verify"] {
            let ran = nanotape(["ring", command, ring.path()]);
            assert_eq!((ran.status, ran.stderr.lines().count()), (2, 1), "{}", ran.stderr);
            assert!(ran.stderr.contains(expected), "{}", ran.stderr);
        }
        fs::remove_file(&ring.0).unwrap();
    }
}

#[test]
fn another_user_reads_what_the_mode_allows() {
    /// A user without any files.
    const NOBODY: u32 = 65_534;
    if !rustix::process::geteuid().is_root() {
        skipped("only root can start a process of another user");
        return;
    }
    let ring = Ring::new("others");
    let program = copy_for_all_users(env!("CARGO_BIN_EXE_nanotape").as_ref());
    for (mode, status) in [("0600", 2), ("0644", 0)] {
        ring.publish("x\n", &["--mode", mode, "--replace"]);
        let output = Command::new(program.path())
            .args(["ring", "dump", ring.path()])
            .uid(NOBODY)
            .gid(NOBODY)
            .current_dir("/")
            .bounded_output()
            .unwrap();
        let complained = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(status), "{complained}");
        assert_eq!(complained.contains("cannot read it"), status == 2, "{complained}");
    }
}

/// A refusal names both sizes, and not the words and parameters of the format.
#[test]
fn a_ring_of_another_size_or_kind_is_refused_in_words() {
    let ring = Ring::new("ring-other-size");
    let path = ring.path();
    assert_eq!(nanotape(["ring", "publish", path, "--capacity", "64KB"]).status, 0);
    for (options, expected) in [
        (
            ["--capacity", "128KB"],
            "the ring exists with a capacity of 64 KiB, not a capacity of 128 KiB; leave the size out",
        ),
        (["--slots", "64"], "is a stream ring, expected a slot ring"),
    ] {
        let ran = nanotape([&["ring", "publish", path], &options[..]].concat());
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{options:?}");
        assert!(ran.stderr.contains(expected), "{options:?}: {}", ran.stderr);
    }
}

/// A name that no ring has is answered with the rings that exist.
#[test]
fn a_ring_that_does_not_exist_is_named_with_the_nearest_one() {
    let name = format!("nearest-{}", std::process::id());
    let ring = Ring(format!("/dev/shm/nanotape-{name}").into());
    assert_eq!(nanotape(["ring", "publish", &name, "--capacity", "64KiB"]).status, 0);
    let near = format!("{name}s");
    for command in [&["ring", "remove"][..], &["ring", "stat"], &["ring", "verify"], &["stat"]] {
        for (wrong, hint) in [
            (near.as_str(), format!("; did you mean {name}?\n")),
            ("of-no-plant-at-all", "; nanotape ring list prints the rings that exist\n".to_owned()),
        ] {
            let ran = nanotape([command, &[wrong]].concat());
            assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{command:?}");
            assert!(ran.stderr.ends_with(&hint), "{command:?}: {}", ran.stderr);
            let is_of_remove = ran.stderr.contains(": no such ring, nothing to remove;");
            assert_eq!(is_of_remove, command == ["ring", "remove"], "{}", ran.stderr);
        }
    }
    assert!(ring.0.exists());
}

#[test]
fn wrong_usage_is_one_line_and_status_2() {
    let ring = Ring::new("ring-usage");
    let path = ring.path();
    for (arguments, status, expected) in [
        (vec!["publish", path, "--capacity", "5000"], 2, ", such as 4KiB or 8KiB"),
        (vec!["publish", path, "--capacity", "1 MB"], 2, "expected bytes such as"),
        (vec!["publish", path, "--slots", "9"], 2, "4294967296, such as 8 or 16, of at most"),
        (vec!["publish", path, "--every", "soon"], 2, "expected a duration such as"),
        (vec!["publish", path, "no/such/file"], 2, "cannot open no/such/file"),
        (vec!["publish", path, "--mode", "0444"], 2, "permission bits in octal"),
        (vec!["dump", path], 2, "does not exist; its writer creates it"),
        (vec!["dump", path, "--from", "0"], 2, "a sequence number from 1"),
        (vec!["stat", path, "--interval", "-1"], 2, "unexpected argument"),
    ] {
        let mut all = vec!["ring"];
        all.extend(&arguments);
        let ran = nanotape(&all);
        assert_eq!(ran.status, status, "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{arguments:?}: {}", ran.stderr);
    }
    let long = "x".repeat(2_000);
    let ran = nanotape_fed(["ring", "publish", path, "--capacity", "4KiB"], long.as_bytes());
    assert_eq!(ran.status, 1);
    assert!(ran.stderr.contains("standard input, line 1: a message of 2000 bytes is too long"));
    for command in ["stat", "list", "dump", "verify", "remove", "publish"] {
        let help = nanotape(["ring", command, "--help"]);
        assert_eq!(help.status, 0);
        assert!(help.stdout.contains("Examples:\n  "), "{command}");
        assert!(help.stdout.contains("nanotape ring "), "{command}");
    }
}
