//! `nanotape tap` of several inputs: one stream in the order of the times.

use std::{collections::BTreeMap, fs};

use nanotape_plant::dbn::{self, decode::DbnMetadata as _, decode::DecodeRecordRef as _};

use crate::support::{Folder, nanotape, plants::Ring, running::Running};

/// The same day as ITCH, and as IEX DEEP+.
fn days(name: &str) -> (Folder, [String; 2]) {
    let folder = Folder::new(name);
    let files = ["20240311.itch50", "iex.pcap"].map(|file| folder.path(file));
    for (file, protocol) in files.iter().zip(["itch", "iex-deep-plus"]) {
        let market = ["--messages", "8k", "--stocks", "6", "--seed", "3", "--date", "2024-03-11"];
        let ran = nanotape([&["synth", "-o", file, "--protocol", protocol], &market[..]].concat());
        assert_eq!(ran.status, 0, "{}", ran.stderr);
    }
    (folder, files)
}

/// The rows of a table by the names of their columns.
fn rows(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let row = |line: &str| {
        let cells = line.split(',').map(str::to_owned);
        names.iter().map(|name| (*name).to_owned()).zip(cells).collect()
    };
    lines.map(row).collect()
}

/// Whether rows are in the order of the times at which they count: a record with an earlier time
/// than the one before it of its source counts at the later time.
fn are_in_order(rows: &[BTreeMap<String, String>]) -> bool {
    let mut latest = BTreeMap::<&str, u64>::new();
    let times = rows.iter().filter(|row| !row["ts_event"].is_empty()).map(|row| {
        let last = latest.entry(&row["source"]).or_default();
        *last = row["ts_event"].parse::<u64>().unwrap().max(*last);
        *last
    });
    times.collect::<Vec<_>>().is_sorted()
}

/// The rows without their sources, which `nanotape tap` of one input does not have.
fn of_source<'r>(rows: &'r [BTreeMap<String, String>], source: &str) -> Vec<Vec<&'r str>> {
    let rows = rows.iter().filter(|row| row["source"] == source);
    let names = ["sequence", "record", "ts_event", "symbol", "action", "price", "size", "message"];
    rows.map(|row| names.iter().map(|name| row[*name].as_str()).collect()).collect()
}

#[test]
fn files_are_merged_exactly_and_each_record_has_its_source() {
    let (_folder, [itch, iex]) = days("tap-merged-files");
    let options = ["--records", "mbo,trades", "--format", "csv"];
    let ran = nanotape([&["tap", &itch, &iex], &options[..]].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let merged = rows(&ran.stdout);
    assert!(merged.len() > 10_000 && are_in_order(&merged));
    for (source, publisher, dataset) in [(&itch, "2", "XNAS.ITCH"), (&iex, "38", "IEXG.TOPS")] {
        let alone = nanotape([&["tap", source.as_str()], &options[..]].concat());
        let mut alone = rows(&alone.stdout);
        alone.iter_mut().for_each(|row| drop(row.insert("source".to_owned(), source.clone())));
        assert_eq!(of_source(&merged, source), of_source(&alone, source), "{source}");
        let records =
            || merged.iter().filter(|row| row["source"] == *source && row["record"] == "mbo");
        assert!(records().count() > 4_000);
        assert!(
            records().all(|row| row["publisher"] == publisher && row["dataset"] == dataset),
            "{:?}",
            records().next()
        );
    }
    // Of equal times, the first input is first.
    let of_time = |ts: &str| -> Vec<bool> {
        let there = merged.iter().filter(|row| row["ts_event"] == ts);
        there.map(|row| row["source"] != itch).collect()
    };
    assert!(merged.iter().step_by(97).all(|row| of_time(&row["ts_event"]).is_sorted()));
    let text = nanotape(["tap", &itch, &iex, "--records", "trades", "--format", "text"]);
    assert!(text.stdout.lines().all(|line| line.starts_with(&itch) || line.starts_with(&iex)));
    let json =
        nanotape(["tap", &iex, &itch, "--records", "mbo", "--count", "5", "--format", "json"]);
    let row: serde_json::Value = serde_json::from_str(json.stdout.lines().last().unwrap()).unwrap();
    assert!(row["publisher"].is_u64() && row["source"].is_string(), "{row}");
}

#[test]
fn a_dbn_file_of_two_sources_has_both_publishers_and_unique_numbers() {
    let (folder, [itch, iex]) = days("tap-merged-dbn");
    for records in ["mbo", "mbo,trades,status,definitions"] {
        let file = folder.path("both.dbn");
        let arguments = ["tap", &itch, &iex, "--records", records, "--force", "-o", &file];
        let ran = nanotape(arguments);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        assert!(ran.stderr.contains("names the data set XNAS.ITCH"), "{}", ran.stderr);
        let mut decoder = dbn::decode::dbn::Decoder::from_file(&file).unwrap();
        let metadata = decoder.metadata().clone();
        assert_eq!(metadata.dataset, "XNAS.ITCH");
        assert_eq!(metadata.schema.is_some(), records == "mbo");
        // Each number has one symbol, and each symbol one mapping.
        assert_eq!((metadata.mappings.len(), metadata.symbols.len()), (6, 6));
        let mut symbols = BTreeMap::new();
        for mapping in &metadata.mappings {
            for interval in &mapping.intervals {
                let number: u32 = interval.symbol.parse().unwrap();
                assert_eq!(symbols.insert(number, mapping.raw_symbol.clone()), None, "{number}");
            }
        }
        let mut found = BTreeMap::<(u16, u32), u64>::new();
        while let Some(record) = decoder.decode_record_ref().unwrap() {
            if let Some(order) = record.get::<dbn::MboMsg>().filter(|of| of.hd.instrument_id != 0) {
                *found.entry((order.hd.publisher_id, order.hd.instrument_id)).or_default() += 1;
            }
        }
        assert_eq!(found.len(), 12, "{found:?}");
        let mut names = BTreeMap::<&String, Vec<u16>>::new();
        for (publisher_id, number) in found.keys() {
            names.entry(&symbols[number]).or_default().push(*publisher_id);
        }
        assert!(names.values().all(|publishers| publishers[..] == [2, 38]), "{names:?}");
        // Our reader has one book for each, and the rows of both.
        let inside = nanotape(["inside", &file, "--format", "csv"]);
        assert_eq!(inside.status, 0, "{}", inside.stderr);
        let mut expected: Vec<String> = Vec::new();
        for source in [&itch, &iex] {
            let alone = nanotape(["inside", source, "--format", "csv"]);
            expected.extend(alone.stdout.lines().skip(1).map(str::to_owned));
        }
        let mut rows: Vec<_> = inside.stdout.lines().skip(1).map(str::to_owned).collect();
        rows.sort();
        expected.sort();
        assert!(rows == expected, "{} rows, {}", rows.len(), expected.len());
    }
}

#[test]
fn rings_are_merged_and_a_silent_one_does_not_hold_the_others() {
    let (folder, [itch, iex]) = days("tap-merged-rings");
    let rings = ["tap-merged-itch", "tap-merged-iex"].map(Ring::new);
    for (day, ring) in [&itch, &iex].into_iter().zip(&rings) {
        let arguments = ["run", "--input", day, "--ring", ring.path(), "--capacity", "32MiB"];
        let ran = nanotape([&arguments[..], &["--date", "2024-03-11"]].concat());
        assert_eq!(ran.status, 0, "{}", ran.stderr);
    }
    let [one, two] = [rings[0].path(), rings[1].path()];
    let options = ["--from", "oldest", "--records", "mbo", "--format", "csv"];
    let ran = nanotape([&["tap", one, two, "--by", "ts_event"], &options[..]].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let merged = rows(&ran.stdout);
    assert!(merged.len() > 8_000 && are_in_order(&merged), "{}", ran.stderr);
    // A plant that waits for a follower that never joins has a ring without records.
    let silent = Ring::new("tap-merged-silent");
    let start = ["run", "--input", &itch, "--ring", silent.path(), "--wait-for", "1"];
    let mut plant = Running::start(&[&start[..], &["--format", "json"]].concat());
    let output = folder.path("rows.csv");
    let tap = ["tap", one, silent.path(), "--count", "50", "--wait", "10", "-o", &output];
    let ran = nanotape([&tap[..], &options[..4], &["--wait-silent", "20ms"]].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(rows(&fs::read_to_string(&output).unwrap()).len(), 50);
    plant.signal(nanotape_harness::Signal::INT);
    plant.end();
}

#[test]
fn options_of_one_input_are_refused() {
    let (_folder, [itch, iex]) = days("tap-merged-refused");
    for (options, expected) in [
        (&["--heal", "x"][..], "--heal does not apply to several INPUTs"),
        (&["--name", "x"], "--name does not apply to several INPUTs"),
        (&["--strict"], "--strict does not apply to several INPUTs"),
        (&["--from", "newest"], "to which --from newest does not apply"),
    ] {
        let ran = nanotape([&["tap", &itch, &iex], options].concat());
        assert_eq!(ran.status, 2, "{options:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{options:?}: {}", ran.stderr);
    }
    let ran = nanotape(["tap", &itch, "--by", "ts_event"]);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    let ran = nanotape(["tap", &itch, &iex, "--symbols", "NOSUCH", "--format", "csv"]);
    assert!(
        ran.status == 1 && ran.stderr.contains("all inputs: symbols not found"),
        "{}",
        ran.stderr
    );
}
