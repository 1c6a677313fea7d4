//! Answers from a journal with a loss or an unreliable book: each command reports it, and
//! `--strict` refuses the answer. It makes no difference whether the answer starts from a snapshot.

use std::{fs, path::Path};

use nanotape_journal::{Appender, AppenderOptions, RUNS, Start, Tail, Tailer};

use crate::support::{Folder, Ran, nanotape, running::objects};

const REFUSED: &str = "refused by --strict: a part is missing or a book is unreliable";

fn good(arguments: &[&str]) -> Ran {
    let ran = nanotape(arguments);
    assert_eq!(ran.status, 0, "{arguments:?}: {}", ran.stderr);
    ran
}

/// Commands on a stock after a moment.
fn commands<'a>(symbol: &'a str, at: &'a str) -> [Vec<&'a str>; 5] {
    [
        vec!["book", "--symbols", symbol, "--at", at],
        vec!["inside", "--symbols", symbol, "--from", at],
        vec!["depth", "--symbols", symbol, "--from", at],
        vec!["stats", "--symbols", symbol, "--from", at],
        vec!["diff", at, "19:00", "--symbols", symbol],
    ]
}

/// Runs a command on an input, with an output file; returns whether it left the file.
fn run(command: &[&str], input: &str, output: &str, options: &[&str]) -> (Ran, bool) {
    let _ = fs::remove_file(output);
    let line = [&command[..1], &[input], &command[1..], &["-o", output], options].concat();
    let ran = nanotape(line);
    (ran, Path::new(output).exists())
}

/// Each command refuses with `--strict`, and reports `expected` without it.
fn refused(input: &str, symbol: &str, at: &str, output: &str, expected: &str, status: i32) {
    for command in commands(symbol, at) {
        let (ran, has_output) = run(&command, input, output, &[]);
        assert_eq!((ran.status, has_output), (status, true), "{command:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{command:?}: {}", ran.stderr);
        let (ran, has_output) = run(&command, input, output, &["--strict"]);
        assert_eq!((ran.status, has_output), (1, false), "{command:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(REFUSED), "{command:?}: {}", ran.stderr);
    }
}

/// `book` before a moment is not refused.
fn answered(input: &str, symbol: &str, at: &str, output: &str) {
    let command = ["book", "--symbols", symbol, "--at", at];
    let (ran, has_output) = run(&command, input, output, &["--strict"]);
    assert_eq!((ran.status, has_output), (0, true), "{symbol} at {at}: {}", ran.stderr);
}

/// A time of day from nanoseconds since midnight.
fn clock(ns: u64) -> String {
    let s = ns / 1_000_000_000;
    format!("{:02}:{:02}:{:02}.{:09}", s / 3600, s / 60 % 60, s % 60, ns % 1_000_000_000)
}

/// A day of some stocks, and the symbol of its first inside.
fn day(folder: &Folder) -> (String, String) {
    let made = folder.day(40_000, 20);
    let day = folder.path("20191230.itch50");
    fs::rename(made, &day).unwrap();
    let rows = good(&["inside", &day, "--format", "csv"]).stdout;
    let symbol = rows.lines().nth(1).and_then(|row| row.split(',').nth(1)).unwrap().to_owned();
    (day, symbol)
}

fn record(folder: &Folder, day: &str, capacity: &str) -> String {
    let (ring, journal) = (folder.path("ring"), folder.path("journal"));
    let _ = fs::remove_file(&ring);
    let _ = fs::remove_dir_all(&journal);
    good(&["run", "--input", day, "--ring", &ring, "--capacity", capacity]);
    good(&["journal", "record", &ring, &journal]);
    journal
}

/// Writes snapshots; returns the sequence numbers of those before a moment of the exchange.
fn snapshot(journal: &str) -> usize {
    let options = ["--share", "100", "--least", "128KiB", "--format", "json"];
    let written = good(&[&["journal", "snapshot", journal], &options[..]].concat()).stdout;
    objects(&written).len()
}

/// A copy of a journal without the messages from one number to another.
fn without(folder: &Folder, journal: &str, (from, to): (u64, u64)) -> String {
    let copy = folder.path("gap");
    let mut appender = Appender::open(Path::new(&copy), &AppenderOptions::default()).unwrap();
    let mut tailer = Tailer::open(Path::new(journal), Start::Oldest).unwrap();
    while let Tail::Excerpt(excerpt) = tailer.next().unwrap() {
        let sequence = excerpt.sequence();
        if !(from..=to).contains(&sequence) {
            if sequence == to + 1 {
                appender.skip_to(sequence).unwrap();
            }
            appender.append(excerpt.type_id(), excerpt.ts_ns(), &excerpt.to_vec()).unwrap();
        }
    }
    appender.close().unwrap();
    fs::copy(Path::new(journal).join(RUNS), Path::new(&copy).join(RUNS)).unwrap();
    copy
}

#[test]
fn a_recorder_that_joined_late_is_reported_from_every_snapshot() {
    let folder = Folder::new("honest_late");
    let (day, symbol) = day(&folder);
    let journal = record(&folder, &day, "2MiB");
    let output = folder.path("rows.csv");
    // Without a snapshot the start is missing, with one it lies before the snapshot.
    refused(&journal, &symbol, "15:59", &output, "lacks the start of the run", 1);
    assert!(snapshot(&journal) > 2);
    refused(&journal, &symbol, "15:59", &output, "times records or input were lost before", 1);
    let tap = ["tap", &journal, "--whole", "--count", "10", "-o", &output];
    let _ = fs::remove_file(&output);
    let ran = good(&tap);
    assert!(ran.stderr.contains("the snapshot is not whole, after record "), "{}", ran.stderr);
    for option in ["--strict", "--fail-on-loss"] {
        let _ = fs::remove_file(&output);
        let ran = nanotape([&tap[..], &[option]].concat());
        assert_eq!(ran.status, 1, "{}", ran.stderr);
        assert_eq!(fs::exists(&output).unwrap(), option == "--fail-on-loss");
    }
}

#[test]
fn a_gap_in_a_journal_is_reported_after_it_and_not_before_it() {
    let folder = Folder::new("honest_gap");
    let (day, symbol) = day(&folder);
    let whole = record(&folder, &day, "64MiB");
    let output = folder.path("rows.csv");
    let rows = good(&["tap", &whole, "--records", "mbo", "--format", "csv"]).stdout;
    let row = rows.lines().nth(12_000).unwrap();
    let number = |column: usize| row.split(',').nth(column).unwrap().parse::<u64>().unwrap();
    let (sequence, nanos) = (number(0), number(4));
    let journal = without(&folder, &whole, (sequence, sequence + 49));
    let before = clock(nanos - 1_000_000_000);
    for has_snapshots in [false, true] {
        if has_snapshots {
            assert!(snapshot(&journal) > 4);
        }
        answered(&journal, &symbol, &before, &output);
        let expected = if has_snapshots { "1 times records or input" } else { "lost 50 messages" };
        refused(&journal, &symbol, "15:59", &output, expected, 1);
        // The books of the whole journal are not.
        answered(&whole, &symbol, "15:59", &output);
    }
    let tap = |options: &[&str]| {
        let _ = fs::remove_file(&output);
        let ran = nanotape([&["tap", &journal, "-o", &output], options].concat());
        (ran, fs::exists(&output).unwrap())
    };
    let (ran, has_output) = tap(&["--strict"]);
    assert_eq!((ran.status, has_output), (1, false), "{}", ran.stderr);
    assert!(ran.stderr.contains("50 records lost") && ran.stderr.contains(REFUSED));
    let (ran, has_output) = tap(&["--strict", "--until", &before]);
    assert_eq!((ran.status, has_output), (0, true), "{}", ran.stderr);
    // A tap of a span has no books: only losses inside the span count.
    let (ran, has_output) = tap(&["--strict", "--from", "15:00"]);
    assert_eq!((ran.status, has_output), (0, true), "{}", ran.stderr);
    let (ran, has_output) = tap(&["--strict", "--whole"]);
    assert_eq!((ran.status, has_output), (1, false), "{}", ran.stderr);
    assert!(ran.stderr.contains("the snapshot is not whole"), "{}", ran.stderr);
}

/// A day without one order that a later message names: the book of its stock alone is unreliable.
/// Returns the day, the stock, and the time of the message that does not fit.
fn tainted(folder: &Folder, whole: &str) -> (String, String, String) {
    let bytes = fs::read(whole).unwrap();
    let listed = good(&["inspect", whole, "--type", "A", "--format", "csv"]).stdout;
    let offsets: Vec<usize> =
        listed.lines().skip(1).map(|row| row.split(',').nth(1).unwrap().parse().unwrap()).collect();
    let damaged = folder.path("20191231.itch50");
    for &offset in offsets.iter().skip(offsets.len() / 4).take(20) {
        let next = offset + 2 + usize::from(u16::from_be_bytes([bytes[offset], bytes[offset + 1]]));
        fs::write(&damaged, [&bytes[..offset], &bytes[next..]].concat()).unwrap();
        let rows =
            nanotape(["tap", &damaged, "--records", "definitions", "--format", "csv"]).stdout;
        if let Some(taint) = rows.lines().find(|row| row.contains(",taint,")) {
            let cell = |column: usize| taint.split(',').nth(column).unwrap().to_owned();
            return (damaged, cell(5), cell(4));
        }
    }
    panic!("each order is named again");
}

#[test]
fn an_unreliable_book_refuses_answers_about_its_stock_alone() {
    let folder = Folder::new("honest_taint");
    let (whole, _) = day(&folder);
    let (day, symbol, nanos) = tainted(&folder, &whole);
    let nanos: u64 = nanos.parse().unwrap();
    let [before, at, after] = [nanos - 1, nanos, nanos + 1].map(clock);
    let insides = good(&["inside", &day, "--format", "csv"]).stdout;
    let mut symbols = insides.lines().skip(1).map(|row| row.split(',').nth(1).unwrap());
    let other = symbols.find(|name| *name != symbol).unwrap();
    let journal = record(&folder, &day, "64MiB");
    let output = folder.path("rows.csv");
    for has_snapshots in [false, true] {
        if has_snapshots {
            assert!(snapshot(&journal) > 4);
        }
        let expected = format!("(tainted) in the records, the first one of {symbol} by message");
        refused(&journal, &symbol, "15:59", &output, &expected, 0);
        refused(&journal, &symbol, &at, &output, &expected, 0);
        // To the nanosecond: a notice at the end of a span, which is exclusive, is after it.
        answered(&journal, &symbol, &before, &output);
        for command in [["depth", "--symbols"], ["inside", "--symbols"], ["tap", "--symbols"]] {
            let command = [&command[..], &[&symbol, "--from", "09:00", "--until", &at]].concat();
            let (ran, has_output) = run(&command, &journal, &output, &["--strict"]);
            assert_eq!((ran.status, has_output), (0, true), "{command:?}: {}", ran.stderr);
            let command = [&command[..5], &["--until", &after]].concat();
            let (ran, has_output) = run(&command, &journal, &output, &["--strict"]);
            assert_eq!((ran.status, has_output), (1, false), "{command:?}: {}", ran.stderr);
        }
        for command in commands(other, "15:59") {
            let (ran, has_output) = run(&command, &journal, &output, &["--strict"]);
            assert_eq!((ran.status, has_output), (0, true), "{command:?}: {}", ran.stderr);
        }
    }
    for whole in [&[][..], &["--whole"]] {
        for (symbols, status) in [(symbol.as_str(), 1), (other, 0)] {
            let _ = fs::remove_file(&output);
            let tap = ["tap", &journal, "--strict", "--symbols", symbols, "-o", &output];
            let ran = nanotape([&tap[..], whole].concat());
            assert_eq!(ran.status, status, "{symbols} {whole:?}: {}", ran.stderr);
            assert_eq!(fs::exists(&output).unwrap(), status == 0);
        }
    }
}

#[test]
fn a_plant_refuses_what_is_no_day() {
    let folder = Folder::new("honest_no_day");
    let (whole, _) = day(&folder);
    let journal = record(&folder, &whole, "64MiB");
    let dbn = folder.path("day.dbn.zst");
    good(&["tap", &journal, "--count", "100", "-o", &dbn]);
    let ring = folder.path("other");
    for (input, what) in [(&journal, "is a folder"), (&dbn, "is a DBN file")] {
        let ran = nanotape(["run", "--input", input, "--date", "2019-12-30", "--ring", &ring]);
        assert_eq!((ran.status, ran.stderr.lines().count()), (2, 1), "{}", ran.stderr);
        let advice = "expected a day file; read it with nanotape tap, inside or book";
        assert!(ran.stderr.contains(what) && ran.stderr.contains(advice), "{}", ran.stderr);
        assert!(!fs::exists(&ring).unwrap());
    }
}
