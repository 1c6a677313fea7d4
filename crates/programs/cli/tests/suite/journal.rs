//! `nanotape journal`: append, tail, dump, and record from a ring.

use std::{thread, time::Duration};

use nanotape_harness::BoundedChild as _;
use rustix::process::Signal;

use crate::support::{
    Folder, nanotape, nanotape_fed,
    running::{Running, json, objects, whole},
};

fn lines(range: std::ops::RangeInclusive<u64>) -> Vec<u8> {
    range.flat_map(|number| format!("line {number}\n").into_bytes()).collect()
}

/// A journal with `count` lines in small segments.
fn journal(folder: &Folder, count: u64) -> String {
    // The folders above it are created too.
    let path = folder.path("days/journal");
    let ran = nanotape_fed(["journal", "append", &path, "--segment", "64KiB"], &lines(1..=count));
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    assert_eq!(ran.stdout, format!("appended {count} excerpts, 1 to {count}\n"));
    path
}

#[test]
fn what_is_appended_is_tailed_and_dumped_from_everywhere() {
    let folder = Folder::new("journal-tail");
    let path = journal(&folder, 5_000);
    let tailed = nanotape(["journal", "tail", &path]);
    assert_eq!((tailed.status, tailed.stderr.as_str()), (0, ""));
    let shown: Vec<&str> = tailed.stdout.lines().collect();
    assert_eq!(shown.len(), 10);
    assert!(shown[0].starts_with("4991  20") && shown[0].ends_with("Z  line 4991"), "{}", shown[0]);

    let dumped = nanotape(["journal", "dump", &path, "--from", "4999", "--format", "json"]);
    let rows = objects(&dumped.stdout);
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[1]["sequence"], 5_000);
    assert_eq!(rows[1]["payload"], "6c696e652035303030");
    // The time of an excerpt finds it again.
    let time = format!("@{}", whole(&rows[0]["ts_ns"]).unwrap());
    let by_time = nanotape(["journal", "dump", &path, "--from", &time, "--format", "json"]);
    assert_eq!(objects(&by_time.stdout).last(), rows.last());
    let time = rows[0]["time"].as_str().unwrap();
    let by_time = nanotape(["journal", "dump", &path, "--from", time, "--format", "json"]);
    assert_eq!(objects(&by_time.stdout).last(), rows.last());

    let back = nanotape([
        "journal",
        "dump",
        &path,
        "--from",
        "end",
        "--backwards",
        "--count",
        "3",
        "--format",
        "csv",
    ]);
    let numbers: Vec<&str> =
        back.stdout.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(numbers, ["5000", "4999", "4998"]);

    let text = nanotape(["journal", "dump", &path, "--count", "1"]);
    assert!(
        text.stdout
            .ends_with("  00000000  6c 69 6e 65 20 31                                 |line 1|\n")
    );
    let file = folder.path("all.csv.zst");
    let written = nanotape(["journal", "dump", &path, "-o", &file]);
    assert_eq!((written.status, written.stdout.as_str()), (0, ""));
    let again = nanotape(["journal", "dump", &path, "-o", &file]);
    assert_eq!(again.status, 2);
    assert!(again.stderr.contains("--force"));
}

#[test]
fn a_named_tail_goes_on_where_it_stopped_and_is_listed() {
    let folder = Folder::new("journal-named");
    let path = journal(&folder, 20);
    let tail = |count: &str| {
        let ran = nanotape([
            "journal", "tail", &path, "--name", "audit", "--count", count, "--format", "json",
        ]);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
        objects(&ran.stdout).iter().map(|row| row["sequence"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(tail("3"), [1, 2, 3]);
    assert_eq!(tail("2"), [4, 5]);
    let listed = nanotape(["journal", "tailers", &path, "--format", "json"]);
    let row = json(&listed.stdout);
    assert_eq!(
        (&row["name"], &row["next_sequence"], &row["behind"]),
        (&"audit".into(), &6.into(), &15.into())
    );
    assert_eq!((&row["state"], &row["read"]), (&"closed".into(), &5.into()));
    let text = nanotape(["journal", "tailers", &path]).stdout;
    assert!(
        text.starts_with("named tailers: 1; the next excerpt is 21\n  audit  at 6, 15 behind"),
        "{text}"
    );

    // The name of a running tailer is in use, and cannot be removed.
    let mut following = Running::start(&[
        "journal", "tail", &path, "--name", "audit", "--follow", "--format", "json",
    ]);
    assert_eq!(following.read_json()["sequence"], 6);
    let second = nanotape(["journal", "tail", &path, "--name", "audit"]);
    assert_eq!(second.status, 2);
    assert!(second.stderr.contains("tailers/audit"), "{}", second.stderr);
    let refused = nanotape(["journal", "tailers", &path, "--remove", "audit"]);
    assert_eq!(refused.status, 2);
    following.signal(Signal::KILL);
    following.end();
    let removed = nanotape(["journal", "tailers", &path, "--remove", "audit"]);
    assert_eq!((removed.status, removed.stderr.as_str()), (0, ""));
    let absent = nanotape(["journal", "tailers", &path, "--remove", "audit"]);
    assert_eq!(absent.status, 2);
    assert!(absent.stderr.contains("no tailer is named audit; nanotape journal tailers"));
    assert_eq!(nanotape(["journal", "tailers", &path, "--format", "json"]).stdout, "");
}

#[test]
fn a_tail_follows_appenders_that_come_and_go_and_is_seen_without_a_name() {
    let folder = Folder::new("journal-follow");
    let path = journal(&folder, 3);
    let mut following =
        Running::start(&["journal", "tail", &path, "--follow", "--from", "2", "--format", "json"]);
    assert_eq!(following.read_json()["sequence"], 2);
    assert_eq!(following.read_json()["sequence"], 3);
    for first in [4, 2_004] {
        let ran = nanotape_fed(
            ["journal", "append", &path, "--segment", "64KiB"],
            &lines(first..=first + 1_999),
        );
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        for sequence in first..first + 2_000 {
            assert_eq!(following.read_json()["sequence"], sequence);
        }
    }
    let listed = nanotape(["journal", "tailers", &path, "--format", "json"]);
    let row = json(&listed.stdout);
    assert_eq!(row["pid"], following.process.id());
    assert_eq!(row["name"], serde_json::Value::Null);
    following.signal(Signal::INT);
    assert_eq!(following.end().0, Some(0));
}

#[test]
fn several_journals_are_tailed_in_the_order_of_their_times() {
    let folder = Folder::new("journal-merge");
    let (first, second) = (folder.path("first"), folder.path("second"));
    for (path, line) in [(&first, "a"), (&second, "b"), (&first, "c"), (&second, "d")] {
        let ran = nanotape_fed(["journal", "append", path], format!("{line}\n").as_bytes());
        assert_eq!(ran.status, 0, "{}", ran.stderr);
    }
    let ran = nanotape(["journal", "tail", &first, &second, "--format", "json"]);
    let rows = objects(&ran.stdout);
    let said: Vec<(&str, &str)> = rows
        .iter()
        .map(|row| (row["journal"].as_str().unwrap(), row["payload"].as_str().unwrap()))
        .collect();
    assert_eq!(said, [(&*first, "61"), (&*second, "62"), (&*first, "63"), (&*second, "64")]);
    let refused = nanotape(["journal", "tail", &first, &second, "--name", "x"]);
    assert_eq!(refused.status, 2);
}

#[test]
fn a_second_appender_is_refused_and_a_killed_one_is_followed_at_once() {
    let folder = Folder::new("journal-owner");
    let path = folder.path("journal");
    let mut first = Running::start_fed(&["journal", "append", &path]);
    first.say("one");
    let mut tail = loop_until(
        || nanotape(["journal", "tail", &path, "--format", "json"]).stdout,
        |said| !said.is_empty(),
    );
    assert_eq!(json(&tail)["sequence"], 1);
    let second = nanotape_fed(["journal", "append", &path], b"two\n");
    assert_eq!(second.status, 2);
    assert!(second.stderr.contains(&first.process.id().to_string()), "{}", second.stderr);
    first.signal(Signal::KILL);
    first.process.bounded_wait("the first");
    let third = nanotape_fed(["journal", "append", &path], b"two\n");
    assert_eq!((third.status, third.stdout.as_str()), (0, "appended 1 excerpts, 2 to 2\n"));
    tail = nanotape(["journal", "tail", &path, "--format", "json"]).stdout;
    assert_eq!(objects(&tail).len(), 2);
}

fn loop_until(mut run: impl FnMut() -> String, is_good: impl Fn(&str) -> bool) -> String {
    for _ in 0..500 {
        let said = run();
        if is_good(&said) {
            return said;
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("it did not come");
}

#[test]
fn a_ring_is_recorded_under_its_own_numbers_and_goes_on_after_a_kill() {
    let folder = Folder::new("journal-record");
    let (ring, path) = (folder.path("ring"), folder.path("journal"));
    let mut writer = Running::start_fed(&["ring", "publish", &ring, "--format", "json"]);
    writer.read_json();
    for number in 1..=5 {
        writer.say(&format!("message {number}"));
    }
    let mut recorder = Running::start(&["journal", "record", &ring, &path, "--format", "json"]);
    let tail = || nanotape(["journal", "tail", &path, "-n", "100", "--format", "json"]).stdout;
    loop_until(tail, |said| said.lines().count() == 5);
    recorder.signal(Signal::KILL);
    recorder.process.bounded_wait("the recorder");
    for number in 6..=9 {
        writer.say(&format!("message {number}"));
    }
    let mut recorder = Running::start(&["journal", "record", &ring, &path, "--format", "json"]);
    loop_until(tail, |said| said.lines().count() == 9);
    let (status, _, complained) = writer.end();
    assert_eq!((status, complained.as_str()), (Some(0), ""));
    let (status, said, complained) = recorder.end();
    assert_eq!(status, Some(0), "{complained}");
    assert!(complained.contains("closed"), "{complained}");
    let counted = json(&said);
    assert_eq!(
        (&counted["recorded"], &counted["lost"], &counted["next_sequence"]),
        (&4.into(), &0.into(), &10.into())
    );
    for (number, row) in (1_u64..).zip(objects(&tail())) {
        let text = format!("message {number}");
        let payload: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!((&row["sequence"], &row["payload"]), (&number.into(), &payload.into()));
    }
    // The new ring with this name is not the recorded ring.
    let replaced = nanotape_fed(["ring", "publish", &ring, "--replace"], b"other\n");
    assert_eq!(replaced.status, 0, "{}", replaced.stderr);
    let refused = nanotape(["journal", "record", &ring, &path]);
    assert_eq!(refused.status, 2);
    assert!(refused.stderr.contains("not the ring that"), "{}", refused.stderr);
}

#[test]
fn what_cannot_be_is_one_line_that_says_what_to_do() {
    let folder = Folder::new("journal-errors");
    let (none, other) = (folder.path("none"), folder.path("other"));
    std::fs::create_dir(&other).unwrap();
    folder.write("other/notes.txt", b"mine");
    let path = journal(&folder, 2);
    let file = folder.path("other/notes.txt");
    let is_file = "notes.txt: not a folder, so no journal; give the folder that nanotape run";
    for (arguments, status, said) in [
        (vec!["verify", &file], 2, is_file),
        (vec!["stat", &file], 2, is_file),
        (vec!["append", &file], 2, is_file),
        (vec!["record", "/nowhere/ring", &file], 2, is_file),
        (vec!["bisect", &file, &file], 2, is_file),
        (vec!["tail", &none], 2, ": no journal; create one with"),
        (vec!["tail", &other], 2, ": no journal: the folder has no segments; give the folder"),
        (vec!["tailers", &none], 2, ": no journal; create one with"),
        (vec!["append", &other], 2, "the folder has files but no journal"),
        (vec!["dump", &path, "--from", "9"], 2, "excerpt 9 does not exist yet: the next one is 3"),
        (vec!["dump", &path, "--from", "sometime"], 2, "2026-11-20T14:30:00.5Z"),
        (vec!["append", &path, "--segment", "5000"], 2, "multiple of 4096"),
        (vec!["append", &path, "--sync", "0"], 2, "never, batch, a number"),
        (vec!["tail", &path, "--name", "../x"], 2, "invalid tailer name"),
        (vec!["record", "/nowhere/ring", &none], 2, "/nowhere/ring"),
    ] {
        let ran = nanotape(["journal"].into_iter().chain(arguments.iter().copied()));
        assert_eq!(ran.status, status, "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{arguments:?}: {}", ran.stderr);
    }
    let long = nanotape_fed(["journal", "append", &path, "--segment", "64KiB"], &[b'x'; 70_000]);
    assert_eq!(long.status, 1);
    assert!(long.stderr.contains("line 1") && long.stderr.contains("--segment"), "{}", long.stderr);
    for command in ["append", "dump", "record", "tail", "tailers"] {
        let help = nanotape(["journal", command, "--help"]);
        assert_eq!(help.status, 0);
        assert!(help.stdout.contains("Examples:"), "{command}");
    }
}

#[test]
fn a_damaged_journal_is_bad_data_and_what_is_in_front_of_it_is_printed() {
    let folder = Folder::new("journal-damage");
    let path = journal(&folder, 100);
    let segment = format!("{path}/0000000001.segment");
    let dumped =
        nanotape(["journal", "dump", &path, "--from", "50", "--count", "1", "--format", "json"]);
    assert_eq!(json(&dumped.stdout)["sequence"], 50);
    let mut bytes = std::fs::read(&segment).unwrap();
    let at = bytes.windows(7).position(|window| window == b"line 50").unwrap();
    bytes[at] ^= 1;
    std::fs::write(&segment, bytes).unwrap();
    let ran = nanotape(["journal", "dump", &path, "--format", "json"]);
    assert_eq!(ran.status, 1);
    assert_eq!(objects(&ran.stdout).len(), 49);
    let what = "the excerpt's bytes have CRC-32C";
    let reported = format!("{segment}: damaged at offset {}: {what}", at - 24);
    assert!(ran.stderr.contains(&reported), "{}", ran.stderr);
}

/// Payloads of any bytes leave a journal and come into another one unchanged.
#[test]
fn a_digest_states_each_segment_and_damage_comes_first() {
    let folder = Folder::new("journal-digest");
    let path = journal(&folder, 10);
    let all = nanotape(["journal", "verify", &path, "--digest", "--format", "json"]);
    assert_eq!(all.status, 0, "{}", all.stderr);
    let rows = objects(&all.stdout);
    assert_eq!(rows.len(), 1);
    assert_eq!((&rows[0]["segment"], &rows[0]["next_sequence"]), (&1.into(), &11.into()));
    let some = nanotape(["journal", "verify", &path, "--digest", "--before", "5"]);
    let digest = rows[0]["digest"].as_str().unwrap();
    assert!(!some.stdout.contains(digest), "{}", some.stdout);
    assert!(
        some.stdout.ends_with("segment 1, open, excerpts 1 up to before 5\n"),
        "{}",
        some.stdout
    );
    let segment = folder.path("days/journal/0000000001.segment");
    let mut bytes = std::fs::read(&segment).unwrap();
    let payload = bytes.windows(7).position(|bytes| bytes == b"line 10").unwrap();
    bytes[payload] = b'L';
    std::fs::write(&segment, bytes).unwrap();
    let damaged = nanotape(["journal", "verify", &path, "--digest"]);
    assert_eq!(damaged.status, 1);
    assert!(damaged.stdout.contains("DAMAGED"), "{}", damaged.stdout);
    assert!(!damaged.stdout.contains("excerpts 1 up to"), "{}", damaged.stdout);
}

#[test]
fn payloads_leave_a_journal_as_they_are_and_come_back() {
    let folder = Folder::new("journal-payloads");
    let (path, copy) = (folder.path("journal"), folder.path("copy"));
    let payloads: [&[u8]; 4] = [b"two\nlines", b"", b"a\0b", b"last\n"];
    let framed: Vec<u8> = payloads
        .iter()
        .flat_map(|payload| [&(payload.len() as u32).to_le_bytes()[..], payload].concat())
        .collect();
    let file = folder.write("framed", &framed);
    let ran = nanotape(["journal", "append", &path, &file, "--framing", "length"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "appended 4 excerpts, 1 to 4\n"));
    let dump = |framing: &str| {
        let output = folder.path(&format!("{framing}.bin"));
        let ran = nanotape(["journal", "dump", &path, "--payloads", framing, "--format", "text"]);
        assert_eq!(ran.status, 2, "a format is one of rows");
        let ran = nanotape(["journal", "dump", &path, "--payloads", framing, "-o", &output]);
        (ran.status, std::fs::read(output).unwrap(), ran.stderr)
    };
    assert_eq!(dump("length"), (0, framed, String::new()));
    assert_eq!(dump("raw"), (0, payloads.concat(), String::new()));
    let (status, bytes, complained) = dump("lines");
    assert_eq!((status, bytes), (1, b"two\nlines\n\na\0b\nlast\n\n".to_vec()));
    assert!(complained.contains("2 payloads would read back as several"), "{complained}");
    let length = folder.path("length.bin");
    let ran = nanotape(["journal", "append", &copy, &length, "--framing", "length"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let rows = |path: &str| {
        let ran = nanotape(["journal", "dump", path, "--format", "json"]);
        let rows = objects(&ran.stdout).into_iter().map(|row| row["payload"].clone());
        rows.collect::<Vec<_>>()
    };
    assert_eq!(rows(&copy), rows(&path));
    let cut = folder.write("cut", &[9, 0, 0, 0, 1]);
    let ran = nanotape(["journal", "append", &copy, &cut, "--framing", "length"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("cannot read"), "{}", ran.stderr);
}

/// Zeros from an excerpt in the middle of a segment to its end, while the next segment is active: a
/// reader that stops at the end of the journal would take that for the end.
#[test]
fn a_hole_in_the_middle_is_not_the_end_of_a_journal() {
    let folder = Folder::new("journal-hole");
    let journal = folder.path("journal");
    let append = ["journal", "append", "-q", &journal, "--segment", "64KiB"];
    assert_eq!(nanotape_fed(append, &lines(1..=20_000)).status, 0);
    let segment = format!("{journal}/0000000003.segment");
    let mut bytes = std::fs::read(&segment).unwrap();
    // The commit word, the time and a word of type and checksum, and the payload in whole words.
    let mut at = 8_192;
    while at < bytes.len() / 2 {
        let word = u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        at += 24 + (word as usize & 0x0FFF_FFFF).next_multiple_of(8);
    }
    bytes[at..].fill(0);
    std::fs::write(&segment, bytes).unwrap();
    let commands: [&[&str]; 4] = [
        &["dump", "--payloads", "lines"],
        &["dump", "--format", "csv"],
        &["tail", "--from", "oldest"],
        &["tail", "--name", "audit"],
    ];
    for options in commands {
        let command = options[0];
        let ran = nanotape([&["journal", command, &journal], &options[1..]].concat());
        assert!(ran.status == 1 && ran.stderr.contains("0000000003.segment"), "{command}: {ran:?}");
        let printed = ran.stdout.lines().count();
        assert!((3_000..7_000).contains(&printed), "{command}: {printed}");
    }
}

#[test]
fn a_pipe_under_the_name_of_a_segment_is_refused() {
    let folder = Folder::new("journal-pipe");
    let journal = folder.path("journal");
    let append = ["journal", "append", "-q", &journal, "--segment", "64KiB"];
    assert_eq!(nanotape_fed(append, &lines(1..=20_000)).status, 0);
    let segment = format!("{journal}/0000000003.segment");
    std::fs::remove_file(&segment).unwrap();
    for name in [segment.clone(), format!("{segment}.zst")] {
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &name,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        for command in ["verify", "dump", "repair"] {
            let ran = nanotape(["journal", command, &journal]);
            let is_named = ran.stdout.contains("0000000003") || ran.stderr.contains("0000000003");
            assert!(ran.status > 0 && is_named, "{command}: {ran:?}");
        }
        std::fs::remove_file(&name).unwrap();
    }
}
