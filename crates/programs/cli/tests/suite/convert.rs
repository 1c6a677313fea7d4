//! `nanotape convert`: the same records as a tap of a plant, in files that other tools read.

use std::{collections::BTreeSet, fs::File, io::BufReader};

use nanotape_plant::records::dbn::{
    MboMsg, Schema,
    decode::{DbnMetadata as _, DecodeRecordRef as _, dbn::Decoder},
};

use crate::support::{Folder, Ran, nanotape, nanotape_fed};

fn good(arguments: &[&str]) -> Ran {
    let ran = nanotape(arguments);
    assert_eq!(ran.status, 0, "{arguments:?}: {}", ran.stderr);
    ran
}

fn day(folder: &Folder, messages: &str) -> String {
    let path = folder.path("2019-12-30.itch50");
    good(&["synth", "-o", &path, "--messages", messages, "--stocks", "20"]);
    path
}

/// The columns of CSV that do not depend on when a plant ran.
fn without_ts_recv(csv: &str) -> Vec<String> {
    let of = |line: &str| {
        let cells: Vec<_> = line.split(',').collect();
        [&cells[..3], &cells[4..]].concat().join(",")
    };
    // The start and the stop have times and digests of their own.
    csv.lines()
        .map(of)
        .filter(|line| !line.contains(",start,") && !line.contains(",stop,"))
        .collect()
}

/// The records of a conversion are those that a plant publishes on a ring, and in its journal.
#[test]
fn a_conversion_has_the_records_of_a_plant() {
    let folder = Folder::new("convert");
    let day = day(&folder, "40k");
    let (ring, journal) = (folder.path("ring"), folder.path("days"));
    good(&["run", "--input", &day, "--ring", &ring, "--capacity", "64MB", "--records", "all"]);
    good(&["journal", "record", &ring, &journal]);
    let tapped = good(&["tap", &ring, "--from", "oldest", "--format", "csv"]).stdout;
    let converted = good(&["convert", &day, "--format", "csv"]).stdout;
    assert!(converted.lines().count() > 40_000);
    assert_eq!(without_ts_recv(&converted), without_ts_recv(&tapped));
    let of_journal = good(&["convert", &journal, "--format", "csv"]).stdout;
    assert_eq!(of_journal, tapped, "a journal keeps the receive times");
    // In a day file, the receive time is the exchange's.
    for line in converted.lines().skip(1) {
        let cells: Vec<_> = line.split(',').collect();
        assert!(cells[2] == cells[3] || cells[2].is_empty() || "start stop".contains(cells[1]));
    }
    let stamped = good(&["convert", &day, "--ts-recv", "receive", "--format", "csv"]).stdout;
    let of = |csv: &str| csv.lines().nth(9).unwrap().split(',').nth(3).unwrap().to_owned();
    assert_ne!(of(&stamped), of(&converted));
    assert_eq!(without_ts_recv(&stamped), without_ts_recv(&converted));
}

/// A file of one kind promises a schema and keeps it: every record has the same type, and every
/// stock has a name.
#[test]
fn a_file_of_one_kind_has_its_schema_and_no_other_record() {
    let folder = Folder::new("one-kind");
    let day = day(&folder, "30k");
    for (records, schema) in [
        ("mbo", Schema::Mbo),
        ("bbo", Schema::Mbp1),
        ("trades", Schema::Trades),
        ("status", Schema::Status),
        ("definitions", Schema::Definition),
        ("imbalances", Schema::Imbalance),
    ] {
        let path = folder.path(&format!("{records}.dbn"));
        let ran = good(&["convert", &day, "--records", records, "-o", &path]);
        let mut decoder = Decoder::new(BufReader::new(File::open(&path).unwrap())).unwrap();
        assert_eq!(decoder.metadata().schema, Some(schema));
        let named: BTreeSet<u32> = decoder
            .metadata()
            .mappings
            .iter()
            .map(|mapping| mapping.intervals[0].symbol.parse().unwrap())
            .collect();
        let (mut count, mut types) = (0, BTreeSet::new());
        while let Some(record) = decoder.decode_record_ref().unwrap() {
            let header = record.header();
            types.insert(header.rtype);
            assert!(header.instrument_id == 0 || named.contains(&header.instrument_id));
            if let Some(order) = record.get::<MboMsg>() {
                assert_eq!(order.ts_recv, header.ts_event);
            }
            count += 1;
        }
        assert_eq!(types.len(), 1, "{records}");
        assert!(ran.stderr.contains(&format!(" {count} records written")), "{}", ran.stderr);
    }
    // Several kinds have no schema; neither has one kind with notices.
    for options in [&["--records", "mbo,trades"][..], &[]] {
        let path = folder.path("several.dbn");
        good(&[&["convert", &day, "-o", &path, "--force"], options].concat());
        let decoder = Decoder::new(BufReader::new(File::open(&path).unwrap())).unwrap();
        assert_eq!(decoder.metadata().schema, None);
    }
    let path = folder.path("notices.dbn");
    good(&["tap", &day, "--records", "mbo", "--notices", "-o", &path]);
    let decoder = Decoder::new(BufReader::new(File::open(&path).unwrap())).unwrap();
    assert_eq!(decoder.metadata().schema, None);
}

/// The bytes of a conversion do not depend on when it is made, and its names hold for the trade
/// date: the two dates of UTC that it touches.
#[test]
fn a_conversion_of_a_day_has_the_same_bytes_at_any_time() {
    let folder = Folder::new("convert-again");
    let day = day(&folder, "20k");
    for options in [&["--records", "mbo"][..], &["--records", "definitions"], &[]] {
        let [first, second] = ["first.dbn", "second.dbn"].map(|name| {
            let path = folder.path(name);
            good(&[&["convert", &day, "-o", &path, "--force"], options].concat());
            std::fs::read(path).unwrap()
        });
        assert!(first == second, "{options:?}");
        let decoder = Decoder::new(first.as_slice()).unwrap();
        assert!(!decoder.metadata().mappings.is_empty());
        for mapping in &decoder.metadata().mappings {
            let [interval] = mapping.intervals.as_slice() else { panic!("{mapping:?}") };
            let dates = [interval.start_date, interval.end_date].map(|date| date.to_string());
            assert_eq!(dates, ["2019-12-30", "2020-01-01"], "{options:?}");
        }
    }
    let [first, second] = [0, 1].map(|_| good(&["convert", &day, "--format", "csv"]).stdout);
    assert!(first == second, "rows too");
}

/// What a file of one kind cannot hold is reported, and is status 1.
#[test]
fn a_gap_that_has_no_place_in_the_file_is_reported() {
    let folder = Folder::new("convert-gap");
    let day = day(&folder, "20k");
    let mut bytes = std::fs::read(&day).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 300].fill(0xff);
    let damaged = folder.write("2019-12-31.itch50", &bytes);
    let path = folder.path("mbo.dbn");
    let ran = nanotape(["convert", &damaged, "--records", "mbo", "-o", &path]);
    assert_eq!(ran.status, 1);
    for expected in ["gap", "no place in a DBN file of one kind"] {
        assert!(ran.stderr.contains(expected), "{expected}: {}", ran.stderr);
    }
    let strict = folder.path("strict.dbn");
    let ran = nanotape(["convert", &damaged, "--records", "mbo", "--strict", "-o", &strict]);
    assert_eq!(ran.status, 1);
    assert!(!std::path::Path::new(&strict).exists());
}

/// A day that begins in mid-session names its stocks late: the names are read ahead, except from
/// standard input, where the stocks without a name are counted.
#[test]
fn stocks_that_are_named_late_have_their_names() {
    let folder = Folder::new("late-names");
    let whole = folder.path("whole.itch50");
    good(&["synth", "-o", &whole, "--messages", "200k", "--stocks", "40"]);
    let bytes = std::fs::read(&whole).unwrap();
    let (mut records, mut left) = (Vec::new(), bytes.as_slice());
    while let Some((length, rest)) = left.split_first_chunk() {
        let length = usize::from(u16::from_be_bytes(*length));
        // Only orders name stocks in this day, and one stock in eight only in its second half.
        let is_late = length > 2 && rest[2].is_multiple_of(8) && left.len() > bytes.len() / 2;
        if length > 0 && !b"RHYLK".contains(&rest[0]) && !is_late {
            records.extend_from_slice(&left[..2 + length]);
        }
        left = &rest[length..];
    }
    let day = folder.write("2019-12-30.itch50", &records);
    let named = |path: &str| {
        let decoder = Decoder::new(BufReader::new(File::open(path).unwrap())).unwrap();
        decoder.metadata().mappings.len()
    };
    let path = folder.path("mbo.dbn");
    let ran = good(&["convert", &day, "--records", "mbo", "-o", &path]);
    assert!(!ran.stderr.contains("named after the first record"), "{}", ran.stderr);
    let piped = folder.path("piped.dbn");
    let date = ["--date", "2019-12-30", "--records", "mbo", "-o", &piped];
    let ran = nanotape_fed([&["convert", "-"], &date[..]].concat(), &records);
    assert!(ran.stderr.contains("named after the first record"), "{}", ran.stderr);
    assert!(named(&piped) < named(&path), "{} of {}", named(&piped), named(&path));
}

#[test]
fn what_cannot_be_converted_says_what_to_do() {
    let folder = Folder::new("convert-errors");
    let day = folder.day(2_000, 4);
    for (arguments, expected) in [
        (vec!["no-such-ring"], "a ring is read by nanotape tap"),
        (vec![&day], "no trade date in the file name: give it, as in --date 2019-12-30"),
        (vec![&day, "--date", "2019-12-30", "-o", "x.parquet"], "unknown suffix; use .csv, .json"),
        (vec![&day, "--date", "2019-12-30", "--from", "25:00"], "from 00:00 to 24:00"),
    ] {
        let ran = nanotape([&["convert"], &arguments[..]].concat());
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(ran.stderr.contains(expected), "{arguments:?}: {}", ran.stderr);
    }
    let tap = ["tap", &day, "--date", "2019-12-30", "--notices", "--format", "csv"];
    let ran = nanotape(tap);
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("--notices applies to a DBN file of one kind"), "{}", ran.stderr);
}
