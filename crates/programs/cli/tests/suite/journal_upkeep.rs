//! Maintenance commands of `nanotape journal` as a user runs them: real processes, real journals,
//! exit statuses.

use std::{fs, os::unix::fs::FileExt as _, process::Command};

use nanotape_harness::{BoundedChild as _, Scratch, eventually};
use nanotape_journal::{Appender, AppenderOptions, RollCycle, Start, Tail, Tailer};
use serde_json::Value;

use crate::support::{
    Ran, nanotape, nanotape_fed,
    running::{Running, objects},
};

/// A journal of one test, in memory if /dev/shm exists; removed at the end.
struct Journal(Scratch);

/// Excerpts in each journal.
const EXCERPTS: u64 = 2000;

impl Journal {
    fn new(name: &str) -> Self {
        let journal = Self(Scratch::new(name));
        let mut appender = journal.appender();
        for sequence in 1..=EXCERPTS {
            let payload = format!("excerpt {sequence} of the journal, and more of the same");
            appender.append(1, time(sequence), payload.as_bytes()).unwrap();
        }
        appender.close().unwrap();
        journal
    }

    fn appender(&self) -> Appender {
        let options = AppenderOptions {
            segment_bytes: 1 << 16,
            roll_cycle: RollCycle::Size,
            has_pretoucher: false,
            ..AppenderOptions::default()
        };
        Appender::open(self.0.path(), &options).unwrap()
    }

    fn path(&self) -> &str {
        self.0.text()
    }

    fn run(&self, verb: &str, options: &[&str]) -> Ran {
        nanotape([&["journal", verb, self.path()], options].concat())
    }

    /// Runs a command that must succeed without messages.
    fn good(&self, verb: &str, options: &[&str]) -> String {
        let ran = self.run(verb, options);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
        ran.stdout
    }

    fn json(&self, verb: &str, options: &[&str]) -> Vec<Value> {
        objects(&self.good(verb, &[options, &["--format", "json"]].concat()))
    }

    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(self.0.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn scribble(&self, segment: u64, offset: u64, bytes: &[u8]) {
        let path = self.0.join(format!("{segment:010}.segment"));
        let file = fs::File::options().write(true).open(path).unwrap();
        file.write_all_at(bytes, offset).unwrap();
    }

    /// Number of readable excerpts.
    fn excerpts(&self) -> usize {
        let mut tailer = Tailer::open(self.0.path(), Start::Oldest).unwrap();
        let mut count = 0;
        loop {
            match tailer.next().unwrap() {
                Tail::Excerpt(_) => count += 1,
                Tail::Gap(_) | Tail::Reused(_) => {}
                Tail::Nothing => return count,
            }
        }
    }
}

/// 14 November 2023, one millisecond per excerpt.
fn time(sequence: u64) -> u64 {
    1_700_000_000_000_000_000 + sequence * 1_000_000
}

#[test]
fn stat_shows_segments_times_and_the_appender() {
    let journal = Journal::new("stat");
    let text = journal.good("stat", &[]);
    for expected in [
        "of 64 KiB, rolled by size only",
        "excerpts        1 to 2000",
        "times           2023-11-14T22:13:20.001",
        "appender        closed: process ",
        "named tailers   0",
        "plain",
    ] {
        assert!(text.contains(expected), "{expected:?} in {text}");
    }
    let rows = journal.json("stat", &[]);
    let (all, segments) = rows.split_last().unwrap();
    assert_eq!(all["next_sequence"], EXCERPTS + 1);
    assert_eq!(all["appender_state"], "closed");
    assert_eq!(all["segments"], segments.len());
    assert_eq!(segments[0]["first_sequence"], 1);
    assert_eq!(segments[1]["first_sequence"], segments[0]["next_sequence"]);
    let csv = journal.good("stat", &["--format", "csv"]);
    assert_eq!(csv.lines().count(), segments.len() + 1);
    assert!(csv.starts_with("segment,path,kept_as,"));
    let appender = journal.appender();
    assert!(journal.good("stat", &[]).contains("appender        alive"));
    drop(appender);
}

#[test]
fn what_is_damaged_is_found_and_repaired_and_what_was_cut_is_kept() {
    let journal = Journal::new("damage");
    let good = journal.json("verify", &[]);
    assert_eq!(good[0]["is_clean"], true);
    assert_eq!(good[0]["excerpts"], EXCERPTS);
    assert!(journal.good("repair", &[]).ends_with(": nothing to repair\n"));

    journal.scribble(1, 8192 + 24, b"SCRIBBLE");
    journal.scribble(2, 32, &[0xff; 16]);
    let ran = journal.run("verify", &[]);
    assert_eq!((ran.status, ran.stderr.as_str()), (1, ""));
    let damaged = "0000000001.segment: offset 8192: the excerpt's bytes have CRC-32C 0x";
    assert!(ran.stdout.contains(damaged), "{}", ran.stdout);
    assert!(ran.stdout.contains("0000000002.segment: offset 0: the header is invalid"));
    assert!(ran.stdout.contains("DAMAGED"));
    let ran = journal.run("verify", &["--format", "json"]);
    let findings = objects(&ran.stdout);
    assert_eq!((ran.status, &findings[0]["severity"]), (1, &Value::from("fault")));
    assert_eq!(findings[0]["offset"], 8192);

    let names = journal.names();
    let would = journal.good("repair", &["--dry-run"]);
    assert!(would.ends_with("nothing was changed\n"), "{would}");
    let is_cut = |names: &[String]| names.iter().any(|name| name == "cut");
    assert!(!is_cut(&journal.names()) && !is_cut(&names));
    let done = journal.json("repair", &[]);
    let kept = done.iter().find_map(|action| action["kept_in"].as_str()).unwrap();
    assert!(fs::read(kept).unwrap().windows(8).any(|window| window == b"SCRIBBLE"));
    let verified = journal.json("verify", &[]);
    let all = verified.last().unwrap();
    assert_eq!((&all["is_clean"], &all["missing"]), (&Value::from(true), &Value::from(0)));
    assert_eq!(all["excerpts"], EXCERPTS - 1);
    assert_eq!(journal.excerpts() as u64, EXCERPTS - 1);
    assert!(journal.good("verify", &[]).contains("that recovery or repair moved here"));
}

#[test]
fn nobody_repairs_beside_an_appender() {
    let journal = Journal::new("busy");
    let appender = journal.appender();
    let ran = journal.run("repair", &[]);
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
    assert_eq!(ran.stderr.lines().count(), 1);
    assert!(ran.stderr.contains("appender"), "{}", ran.stderr);
    // Reading is allowed, and so is any change that leaves the last segment alone.
    journal.good("verify", &[]);
    journal.good("compress", &[]);
    journal.good("prune", &["--keep", "0"]);
    drop(appender);
    journal.good("repair", &[]);
}

#[test]
fn a_compressed_journal_is_the_same_and_can_be_undone() {
    let journal = Journal::new("compress");
    let names = journal.names();
    let rows = journal.json("compress", &["--keep-plain", "1", "--level", "9"]);
    assert!(rows.iter().all(|row| row["compressed_bytes"].as_u64() < row["plain_bytes"].as_u64()));
    assert_eq!(journal.excerpts() as u64, EXCERPTS);
    let packed = journal.names().iter().filter(|name| name.ends_with(".segment.zst")).count();
    assert_eq!(packed, rows.len());
    let text = journal.good("compress", &[]);
    assert!(text.contains("compressed 1 segment,"), "{text}");
    let ran = journal.good("verify", &[]);
    assert!(ran.contains(&format!("{} compressed", packed + 1)), "{ran}");
    assert!(journal.good("stat", &[]).contains("compressed"));
    journal.good("compress", &["--undo"]);
    assert_eq!(journal.names(), names);
    assert_eq!(journal.excerpts() as u64, EXCERPTS);
}

#[test]
fn the_oldest_segments_go_by_age_size_or_number_and_nothing_without_a_limit() {
    let journal = Journal::new("prune");
    assert_eq!(journal.run("prune", &[]).status, 2);
    let rows = journal.json("prune", &["--before-sequence", "1000", "--dry-run"]);
    assert!(rows.iter().all(|row| row["is_removed"] == false));
    assert_eq!(journal.excerpts() as u64, EXCERPTS);
    let text = journal.good("prune", &["--before-sequence", "1000"]);
    assert!(text.contains("up to sequence number") && text.contains("2023-11-14T22:13:20"));
    let left = journal.excerpts() as u64;
    assert!(left < EXCERPTS && left > EXCERPTS - 1000);
    // All excerpts are from 2023.
    journal.good("prune", &["--older-than", "36500d"]);
    assert_eq!(journal.excerpts() as u64, left);
    journal.good("prune", &["--older-than", "1d"]);
    let segments = journal.names().iter().filter(|name| name.ends_with(".segment")).count();
    assert_eq!(segments, 1);
    assert!(journal.excerpts() > 0);
}

#[test]
fn a_repair_that_is_killed_is_done_by_the_next_one() {
    for delay_us in [0, 500, 1000, 2000, 4000, 8000, 16_000] {
        let journal = Journal::new(&format!("killed-{delay_us}"));
        for segment in 1..3 {
            for at in 0..20 {
                journal.scribble(segment, 8192 + at * 2048, &[0xa5; 100]);
            }
        }
        let mut repair = Command::new(env!("CARGO_BIN_EXE_nanotape"))
            .args(["journal", "repair", journal.path()])
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_micros(delay_us));
        repair.kill().unwrap();
        repair.bounded_wait("the repair");
        journal.good("repair", &[]);
        let verified = journal.json("verify", &[]);
        assert_eq!(verified.last().unwrap()["is_clean"], true);
        assert!(journal.excerpts() > 1500);
    }
}

#[test]
fn what_is_no_journal_is_one_line_and_status_two() {
    let empty = Scratch::folder("none");
    for verb in ["stat", "verify", "repair", "compress"] {
        for path in ["/nowhere/at/all", empty.text()] {
            let ran = nanotape(["journal", verb, path]);
            assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{verb}");
            assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
            let expected = match path == empty.text() {
                true => ": no journal: the folder has no segments; give the folder",
                false => ": no journal; create one with",
            };
            assert!(ran.stderr.contains(expected), "{}", ran.stderr);
        }
    }
    assert_eq!(fs::read_dir(empty.path()).unwrap().count(), 0, "nothing is made");
    // The folder above a journal.
    let inner = empty.path().join("quotes");
    let inner = inner.display().to_string();
    assert_eq!(nanotape_fed(["journal", "append", &inner], b"one\n").status, 0);
    for command in [vec!["journal", "stat", empty.text()], vec!["inside", empty.text()]] {
        let ran = nanotape(&command);
        let expected = format!("the folder has no segments; did you mean {inner}?");
        assert!(ran.status == 2 && ran.stderr.contains(&expected), "{command:?}: {}", ran.stderr);
    }
}

#[test]
fn every_command_has_examples() {
    for verb in ["compress", "prune", "repair", "stat", "verify"] {
        let ran = nanotape(["journal", verb, "--help"]);
        assert_eq!(ran.status, 0);
        assert!(ran.stdout.contains(&format!("nanotape journal {verb} quotes")), "{}", ran.stdout);
        assert!(ran.stdout.contains("Exit status:"));
    }
}

#[test]
fn a_damaged_position_of_a_named_tailer_is_reported_and_keeps_what_it_had_not_read() {
    let journal = Journal::new("damaged-position");
    let tail = ["journal", "tail", journal.path(), "--name", "audit", "--count", "700"];
    assert_eq!(nanotape(tail).status, 0);
    let file = journal.0.join("tailers/audit");
    let good = fs::read(&file).unwrap();
    assert_eq!(journal.json("tailers", &[])[0]["problem"], Value::Null);
    for at in [4096, 4101, 4103, 4096 + 56] {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        fs::write(&file, &bad).unwrap();
        for (ran, text) in [
            (nanotape(tail), "the stored position of this named tailer is lost"),
            (journal.run("verify", &[]), "the position of this named tailer is lost"),
            (journal.run("tailers", &[]), "audit  cannot be read: is damaged"),
            (journal.run("prune", &["--keep", "1"]), "the stored position of this named tailer"),
        ] {
            let reported = format!("{}{}", ran.stdout, ran.stderr);
            assert_eq!(ran.status, 1, "{at}: {reported}");
            assert!(reported.contains(text), "{at}: {reported}");
        }
        let row = &objects(&journal.run("tailers", &["--format", "json"]).stdout)[0];
        assert_eq!(row["next_sequence"], Value::Null);
        assert!(fs::read(&file).unwrap() == bad, "it is left as it is");
    }
    assert_eq!(journal.excerpts(), EXCERPTS as usize);
}

#[test]
fn upkeep_prunes_and_compresses_what_is_closed_and_the_excerpts_stay() {
    let journal = Journal::new("upkeep");
    let before = journal.good("dump", &["--from", "1000"]);
    let rows = journal.json("upkeep", &["--compress", "--before-sequence", "1000"]);
    let count = |done: &str| rows.iter().filter(|row| row["done"] == done).count();
    assert!(count("removed") >= 1 && count("compressed") >= 1, "{rows:?}");
    assert_eq!(journal.good("dump", &["--from", "1000"]), before);
    let stat = journal.json("stat", &[]);
    let plain = stat.iter().filter(|row| row["kept_as"] == "plain").count();
    assert_eq!(plain, 1, "{stat:?}");
    assert!(journal.json("upkeep", &["--compress=19"]).is_empty(), "all is done");
    let ran = journal.run("upkeep", &[]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("--compress"), "{}", ran.stderr);
}

#[test]
fn upkeep_that_follows_works_after_each_roll_until_the_journal_is_closed() {
    let journal = Journal::new("upkeep-follow");
    let mut appender = journal.appender();
    let mut upkeep =
        Running::start(&["journal", "upkeep", journal.path(), "--compress", "--follow"]);
    let packed =
        |journal: &Journal| journal.names().iter().filter(|name| name.ends_with(".zst")).count();
    eventually("the closed segments are compressed", || packed(&journal) >= 1);
    let first = packed(&journal);
    for sequence in EXCERPTS + 1..=3 * EXCERPTS {
        appender.append(1, time(sequence), &[7; 60]).unwrap();
    }
    eventually("the segments of later rolls are compressed", || packed(&journal) > first);
    assert!(upkeep.is_running(), "it waits for the end of the appender");
    appender.close().unwrap();
    let (status, _, complained) = upkeep.end();
    assert_eq!((status, complained.as_str()), (Some(0), ""));
    let verified = journal.json("verify", &[]);
    assert_eq!(verified.last().unwrap()["excerpts"], 3 * EXCERPTS);
}
