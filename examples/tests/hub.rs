//! The hub of the example is killed at random moments: its results are those of a hub that was not.

#[rustfmt::skip]
#[path = "../hub/generated/fills.rs"]
mod fills;

use std::{
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use fills::{Fills as _, FillsWriter};
use nanotape::{
    interface::{Message, UtcNanos},
    journal::{Appender, AppenderOptions, JournalError, Start, Tail, Tailer},
    types::{Price4, StockLocate},
};
use nanotape_harness::{Bounded as _, BoundedChild as _, Patience, Random, Scratch};

/// How often the hub is killed.
const KILLS: usize = 100;

/// Fills of a day. A hub that is not killed in time ends it, and another day begins.
const FILLS: u64 = 20_000;

/// The most results that a hub has before it is killed, and those that it appends meanwhile.
const MOST_RESULTS: u64 = 100;

const SEED: u64 = 0x4855_4221;

fn record(path: &Path, random: &mut Random) {
    let mut appender = Appender::open(path, &AppenderOptions::default()).unwrap();
    for number in 1..FILLS as i64 {
        let mut fills = FillsWriter::new(&mut appender, UtcNanos::new(number * 1_000));
        let stock = StockLocate::new(random.below(300) as u16);
        let shares = random.below(20_000) as i32 - 10_000;
        let price = Price4::new(random.below(5_000_000) as u32);
        match random.below(10) {
            0..9 => fills.filled(stock, shares, price).unwrap(),
            // Of a later version: it has no result.
            _ => fills
                .unknown(&Message { sequence: 0, type_id: 99, ts: None, payload: b"later" })
                .unwrap(),
        };
    }
    FillsWriter::new(&mut appender, UtcNanos::new(FILLS as i64 * 1_000)).day_ended().unwrap();
    appender.close().unwrap();
}

/// The example, which `cargo test` builds beside the tests.
fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().and_then(Path::parent).unwrap().join("examples/14_a_hub")
}

fn hub(fills: &Path, positions: &Path) -> Command {
    let mut command = Command::new(program());
    command.args([fills, positions]).stdout(Stdio::null());
    command
}

/// Every result: number, type, time, bytes.
fn results(path: &Path) -> Vec<(u64, u16, u64, Vec<u8>)> {
    let mut tailer = Tailer::open(path, Start::Oldest).unwrap();
    let mut all = Vec::new();
    loop {
        match tailer.next().unwrap() {
            Tail::Excerpt(excerpt) => {
                all.push((excerpt.sequence(), excerpt.type_id(), excerpt.ts_ns(), excerpt.to_vec()))
            }
            Tail::Nothing => return all,
            other => panic!("{other:?}"),
        }
    }
}

/// The number of results now; none if the hub has not begun.
fn count(path: &Path) -> Result<u64, JournalError> {
    Tailer::open(path, Start::Newest).map(|newest| newest.next_sequence().max(1) - 1)
}

#[test]
fn a_hub_that_is_killed_a_hundred_times_publishes_what_it_would_have() {
    let place = Scratch::on_disk("hub");
    let folder: PathBuf = place.path().into();
    std::fs::create_dir_all(&folder).unwrap();
    let (fills, whole) = (folder.join("fills"), folder.join("whole"));
    let mut random = Random::new(SEED);
    record(&fills, &mut random);

    let status = hub(&fills, &whole).spawn().unwrap().bounded_wait("a hub");
    assert!(status.success(), "{status}");
    let expected = results(&whole);
    assert!(expected.len() as u64 > FILLS / 2);

    let mut kills = Vec::new();
    for day in 0_u64.. {
        let pieces = folder.join(format!("pieces-{day}"));
        while kills.len() < KILLS && kill_once(&fills, &pieces, &mut random) {
            kills.push((day, count(&pieces).unwrap_or(0)));
        }
        let status = hub(&fills, &pieces).spawn().unwrap().bounded_wait("the last hub");
        assert!(status.success(), "{status}");
        let found = results(&pieces);
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected, "seed {SEED:#x}, killed after {kills:?}");
        }
        assert_eq!(found.len(), expected.len());
        if kills.len() == KILLS {
            break;
        }
    }
    println!("killed after these numbers of results: {kills:?}");
    assert!(kills.iter().filter(|(_, results)| *results > 0).count() > KILLS / 2);
}

#[test]
fn the_example_kills_its_own_hub_until_all_fills_have_a_result() {
    let output = Command::new(program()).bounded_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("continues after fill 0, with 0 stocks\n"), "{text}");
    assert!(text.ends_with("all 20000 fills have a result\n"), "{text}");
}

/// The error of a hub, which is one line.
fn error(arguments: &[&Path], status: i32) -> String {
    let output = Command::new(program()).args(arguments).bounded_output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(status), "{error}");
    let text = error.strip_prefix("14_a_hub: ").and_then(|rest| rest.strip_suffix('\n'));
    let text = text.filter(|text| !text.contains('\n')).expect(&error);
    text.to_owned()
}

#[test]
fn an_error_of_the_hub_is_one_line_with_the_file() {
    let place = Scratch::on_disk("hub-errors");
    std::fs::create_dir_all(place.path()).unwrap();
    let (fills, positions) = (place.path().join("fills"), place.path().join("positions"));
    assert_eq!(error(&[&fills], 2), "expected no arguments, or FILLS and POSITIONS");
    let missing = error(&[&fills, &positions], 1);
    assert!(missing.contains(fills.to_str().unwrap()) && !missing.contains('{'), "{missing}");

    let mut appender = Appender::open(&fills, &AppenderOptions::default()).unwrap();
    appender.append(1, 0, b"no fill").unwrap();
    appender.close().unwrap();
    let expected = "message 1: type 0x0001 (Fills.filled), 7 bytes of fields, expected 10 or more";
    assert_eq!(error(&[&fills, &positions], 1), format!("{}: {expected}", fills.display()));
}

/// Kills a hub after some more results, or at once, while it reads those that it has. False if the
/// day ended before.
fn kill_once(fills: &Path, positions: &Path, random: &mut Random) -> bool {
    let mut process = hub(fills, positions).spawn().unwrap();
    let more = random.below(MOST_RESULTS);
    let target = count(positions).unwrap_or(0) + more;
    let patience = Patience::new("results of the hub");
    while more > 0 && count(positions).unwrap_or(0) < target {
        if process.try_wait().unwrap().is_some() {
            break;
        }
        patience.check();
    }
    process.kill().unwrap();
    let status = process.bounded_wait("a killed hub");
    assert!(status.success() || status.signal() == Some(9), "{status}");
    !status.success()
}
