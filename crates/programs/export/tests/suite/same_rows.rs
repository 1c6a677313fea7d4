//! The rows of tables are those of the commands.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    read::Read,
    support::{Folder, nanotape, real_data},
};

const DATE: [&str; 2] = ["--date", "2019-12-30"];

/// Exports tables of an input into a folder, and returns it.
fn export(folder: &Folder, input: &str, options: &[&str]) -> String {
    let to = folder.path("tables/");
    let ran = nanotape(["export", input, "-o", &to, "--force"].iter().chain(options));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    to
}

/// The rows that a command prints as CSV, with the names of its columns. Notices, whose text has
/// quotes, are left out.
fn printed(words: &[&str]) -> (Vec<String>, Vec<Vec<String>>) {
    let ran = nanotape(words.iter().chain(&["--format", "csv"]));
    assert!(ran.status < 2, "{words:?}: {}", ran.stderr);
    let mut lines = ran.stdout.lines().filter(|line| !line.contains('"'));
    let cells = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
    let names = cells(lines.next().unwrap());
    (names, lines.map(cells).collect())
}

/// Rows of a command with its times of day as times of the world.
fn in_utc(
    (names, mut rows): (Vec<String>, Vec<Vec<String>>),
    read: &Read,
) -> (Vec<String>, Vec<Vec<String>>) {
    let midnight_ns: u64 = read.metadata["nanotape.midnight_ns"].parse().unwrap();
    let time = names.iter().position(|name| name == "ts_ns").unwrap();
    for row in rows.iter_mut().filter(|row| !row[time].is_empty()) {
        row[time] = (midnight_ns + row[time].parse::<u64>().unwrap()).to_string();
    }
    let renamed = |name: String| if name == "ts_ns" { "ts_event".to_owned() } else { name };
    (names.into_iter().map(renamed).collect(), rows)
}

fn assert_same(what: &str, read: &Read, printed: (Vec<String>, Vec<Vec<String>>)) {
    let (names, rows) = in_utc(printed, read);
    assert_eq!(read.names, names, "{what}");
    assert_eq!(read.rows.len(), rows.len(), "{what}");
    for (row, (found, expected)) in read.rows.iter().zip(&rows).enumerate() {
        assert_eq!(found, expected, "{what}: row {row}");
    }
}

/// Compares bbo, trades and depth of an input with what the commands print of it.
fn assert_printed(folder: &Folder, input: &str, options: &[&str], has_receipt: bool) {
    let tables = ["--records", "trades,bbo,depth", "--levels", "3"];
    let options: Vec<&str> = options.iter().chain(&tables).copied().collect();
    let to = export(folder, input, &options);
    let options = &options[..options.len() - tables.len()];
    let with = if has_receipt { "message,orders,receipt,reason" } else { "message,orders,reason" };

    let bbo = Read::of(&format!("{to}bbo.parquet"));
    let mut words = vec!["inside", input, "--with", with];
    words.extend(options);
    assert_same("bbo", &bbo, printed(&words));
    assert!(bbo.rows.len() > 100, "{} rows", bbo.rows.len());
    assert_eq!(bbo.metadata["nanotape.table"], "bbo");

    let depth = Read::of(&format!("{to}depth.parquet"));
    let with = with.trim_start_matches("message,");
    let mut words = vec!["depth", input, "--levels", "3", "--with", with, "--symbols", "*"];
    words.extend(options);
    assert_same("depth", &depth, printed(&words));

    // A print has no place in a grid.
    if options.contains(&"--every") {
        return;
    }
    let trades = Read::of(&format!("{to}trades.parquet"));
    let mut words = vec!["trades", input];
    words.extend(options);
    let (names, rows) = in_utc(printed(&words), &trades);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(trades.columns(&names), rows, "trades");
    assert!(trades.rows.len() > 10);
}

#[test]
fn tables_are_what_the_commands_print() {
    let folder = Folder::new("export-printed");
    let day = folder.day(60_000, 20);
    assert_printed(&folder, &day, &DATE, false);
    let span = ["--date", "2019-12-30", "--from", "10:00", "--until", "11:30:00.5"];
    assert_printed(&folder, &day, &span, false);
    for protocol in ["iex-deep", "iex-deep-plus", "iex-tops", "cboe-pitch"] {
        let capture = folder.capture(protocol, 60_000, 20);
        assert_printed(&folder, &capture, &[], true);
    }
}

#[test]
fn tables_of_journals_and_dbn_files_are_what_the_commands_print() {
    let folder = Folder::new("export-recorded");
    let day = folder.day(40_000, 10);
    let (journal, dbn) = (folder.path("journal"), folder.path("day.dbn"));
    let ran = nanotape(["convert", &day, "-o", &dbn].iter().chain(&DATE));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_printed(&folder, &dbn, &[], true);
    let ring = folder.path("ring");
    let run = ["run", "--input", &day, "--ring", &ring, "--journal", &journal];
    let ran = nanotape(run.iter().chain(&DATE));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_printed(&folder, &journal, &[], true);
}

#[test]
fn a_grid_is_what_the_commands_print() {
    let folder = Folder::new("export-grid");
    let day = folder.day(30_000, 5);
    let grid = ["--date", "2019-12-30", "--every", "30s", "--from", "09:30", "--until", "16:00"];
    assert_printed(&folder, &day, &grid, false);
}

#[test]
fn orders_are_the_records_that_convert_writes() {
    let folder = Folder::new("export-orders");
    let mut inputs = vec![(folder.day(60_000, 20), &DATE[..])];
    for protocol in ["iex-deep-plus", "cboe-pitch"] {
        inputs.push((folder.capture(protocol, 60_000, 20), &[]));
    }
    const COLUMNS: [&str; 9] = [
        "message",
        "ts_event",
        "symbol",
        "action",
        "side",
        "price",
        "size",
        "order_reference_number",
        "flags",
    ];
    for (input, options) in inputs {
        let words = ["--records", "mbo"].iter().chain(options).copied().collect::<Vec<_>>();
        let mbo = Read::of(&format!("{}mbo.parquet", export(&folder, &input, &words)));
        let mut words = vec!["convert", &input, "--records", "mbo"];
        words.extend(options);
        let (names, rows) = printed(&words);
        let record = names.iter().position(|name| name == "record").unwrap();
        let columns: Vec<usize> = COLUMNS
            .iter()
            .map(|column| names.iter().position(|name| name == column).unwrap())
            .collect();
        let rows = rows.iter().filter(|row| row[record] == "mbo");
        let rows: Vec<Vec<String>> =
            rows.map(|row| columns.iter().map(|&place| row[place].clone()).collect()).collect();
        let found = mbo.columns(&COLUMNS);
        assert_eq!(found.len(), rows.len(), "{input}");
        for (found, expected) in found.iter().zip(&rows) {
            assert_eq!(found, expected, "{input}");
        }
        assert!(mbo.rows.len() > 10_000);
    }
}

#[test]
fn states_instruments_and_auctions_are_the_records_that_convert_writes() {
    let folder = Folder::new("export-events");
    let day = folder.day(60_000, 20);
    let options = ["--date", "2019-12-30", "--records", "status,definitions,imbalance"];
    let to = export(&folder, &day, &options);
    let ran = nanotape(["convert", &day, "--format", "json"].iter().chain(&options[..]));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let mut records: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for line in ran.stdout.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        records.entry(record["record"].as_str().unwrap().to_owned()).or_default().push(record);
    }
    for (table, kind) in
        [("status", "status"), ("definitions", "definition"), ("imbalance", "imbalance")]
    {
        let read = Read::of(&format!("{to}{table}.parquet"));
        let records = &records[kind];
        assert_eq!(read.rows.len(), records.len(), "{table}");
        assert!(!records.is_empty(), "{table}");
        for (row, record) in read.rows.iter().zip(records) {
            for (name, found) in read.names.iter().zip(row) {
                // Records have no number of their message, and name an instrument by its symbol.
                if matches!(&**name, "message" | "instrument_id") {
                    continue;
                }
                let expected = match &record[name] {
                    Value::Null => String::new(),
                    Value::String(text) if text == "none" && name == "reason" => String::new(),
                    Value::String(text) if text == "?" => String::new(),
                    Value::String(text) => text.clone(),
                    Value::Number(number) if name.contains("price") => {
                        format!("{:.4}", number.as_f64().unwrap())
                    }
                    other => other.to_string(),
                };
                assert_eq!(found, &expected, "{table}: {name} of {record}");
            }
        }
    }
}

#[test]
fn bars_are_those_of_the_trades() {
    let folder = Folder::new("export-bars");
    let day = folder.day(60_000, 10);
    let options = ["--date", "2019-12-30", "--records", "bars,trades", "--bars", "5m"];
    let to = export(&folder, &day, &options);
    let trades = Read::of(&format!("{to}trades.parquet"));
    let bars = Read::of(&format!("{to}bars.parquet"));
    let mut expected: BTreeMap<(u64, String), (Vec<f64>, u64)> = BTreeMap::new();
    let midnight_ns: u64 = trades.metadata["nanotape.midnight_ns"].parse().unwrap();
    for row in trades.columns(&["ts_event", "symbol", "price", "size", "broken"]) {
        let [time, symbol, price, size, broken] = &row[..] else { unreachable!() };
        if broken == "true" || price.is_empty() {
            continue;
        }
        let period_ns = 300_000_000_000;
        let begin = (time.parse::<u64>().unwrap() - midnight_ns) / period_ns * period_ns;
        let bar = expected.entry((midnight_ns + begin, symbol.clone())).or_default();
        bar.0.push(price.parse().unwrap());
        bar.1 += size.parse::<u64>().unwrap();
    }
    let columns = ["ts_event", "symbol", "open", "high", "low", "close", "volume", "trades"];
    let found = bars.columns(&columns);
    let expected: Vec<Vec<String>> = expected
        .into_iter()
        .map(|((begin, symbol), (prices, volume))| {
            let most = |a: f64, b: &f64| a.max(*b);
            let least = |a: f64, b: &f64| a.min(*b);
            let shown = |price: f64| format!("{price:.4}");
            vec![
                begin.to_string(),
                symbol,
                shown(prices[0]),
                shown(prices.iter().fold(f64::MIN, most)),
                shown(prices.iter().fold(f64::MAX, least)),
                shown(*prices.last().unwrap()),
                volume.to_string(),
                prices.len().to_string(),
            ]
        })
        .collect();
    assert_eq!(found, expected);
    assert!(found.len() > 50);
}

/// A day with breaks of the trades of these match numbers, before its last message.
fn with_breaks(folder: &Folder, day: &str, numbers: &[u64]) -> String {
    let mut bytes = std::fs::read(day).unwrap();
    let (mut at, mut last) = (0, 0);
    while at < bytes.len() {
        last = at;
        at += 2 + usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
    }
    let end = bytes.split_off(last);
    // Type, locate, tracking number and time of the last message, then the match number.
    for number in numbers {
        bytes.extend_from_slice(&19_u16.to_be_bytes());
        bytes.push(b'B');
        bytes.extend_from_slice(&[0, 1, 0, 0]);
        bytes.extend_from_slice(&end[7..13]);
        bytes.extend_from_slice(&number.to_be_bytes());
    }
    bytes.extend_from_slice(&end);
    folder.write("breaks.itch50", &bytes)
}

#[test]
fn a_trade_whose_break_comes_later_is_marked() {
    let folder = Folder::new("export-breaks");
    let day = folder.day(60_000, 10);
    let to = export(&folder, &day, &["--date", "2019-12-30", "--records", "trades"]);
    let columns = ["match_number", "broken"];
    let numbers = Read::of(&format!("{to}trades.parquet")).columns(&columns);
    let number = |place: usize| numbers[place][0].parse::<u64>().unwrap();
    let more = [number(0), number(numbers.len() / 2), number(numbers.len() - 1)];
    let before = numbers.iter().filter(|row| row[1] == "true").map(|row| row[0].parse().unwrap());
    let broken: std::collections::BTreeSet<u64> = before.chain(more).collect();
    let day = with_breaks(&folder, &day, &more);
    assert_printed(&folder, &day, &DATE, false);
    for options in [&["--group-rows", "1000"][..], &["--until", "23:00"], &["--format", "parquet"]]
    {
        let options = [&DATE[..], &["--records", "trades"], options].concat();
        let read = Read::of(&format!("{}trades.parquet", export(&folder, &day, &options)));
        let marked = read.columns(&columns).into_iter().filter(|row| row[1] == "true");
        let marked: Vec<u64> = marked.map(|row| row[0].parse().unwrap()).collect();
        assert_eq!(marked, broken.iter().copied().collect::<Vec<_>>(), "{options:?}");
        assert_eq!(read.rows.len(), numbers.len());
        assert!(read.metadata.contains_key("nanotape.input_sha256"));
    }
}

#[test]
fn row_groups_and_threads_change_no_row() {
    let folder = Folder::new("export-groups");
    let day = folder.day(30_000, 5);
    let read = |options: &[&str]| {
        let options: Vec<&str> = DATE.iter().chain(options).copied().collect();
        Read::of(&format!("{}bbo.parquet", export(&folder, &day, &options)))
    };
    let whole = read(&[]);
    let parts = read(&["--group-rows", "1000", "--threads", "3", "--compression", "lz4"]);
    assert_eq!(whole.rows, parts.rows);
    // A group ends with a batch.
    assert_eq!((whole.groups, parts.groups), (1, 1));
    assert!(whole.metadata["nanotape.input_sha256"].len() == 64);
}

#[test]
fn csv_has_the_rows_of_parquet() {
    let folder = Folder::new("export-csv");
    let day = folder.day(20_000, 5);
    let to = export(&folder, &day, &["--date", "2019-12-30", "--records", "bbo"]);
    let read = Read::of(&format!("{to}bbo.parquet"));
    let path = folder.path("bbo.csv");
    let ran = nanotape(["export", &day, "-o", &path].iter().chain(&DATE));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let text = std::fs::read_to_string(&path).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next().unwrap(), read.names.join(","));
    let without_time = |cells: &[String]| [&cells[..1], &cells[2..]].concat();
    let cells = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
    let rows: Vec<_> = lines.map(|line| without_time(&cells(line))).collect();
    let expected: Vec<_> = read.rows.iter().map(|row| without_time(row)).collect();
    assert_eq!(rows, expected);
}

#[test]
fn a_real_capture_has_the_insides_of_the_command() {
    let Some(capture) = real_data("iex_deep10_20231002.pcap.gz") else { return };
    let folder = Folder::new("export-real");
    assert_printed(&folder, &capture, &[], true);
}

#[test]
fn rows_of_a_span_are_those_of_the_whole_day() {
    let folder = Folder::new("export-span");
    let day = folder.day(40_000, 3);
    let options = ["--records", "mbo,trades,status", "--format", "csv"];
    let rows = |span: &[&str]| {
        let to = export(&folder, &day, &[&options[..], &DATE, span].concat());
        ["mbo", "trades"].map(|table| {
            let text = std::fs::read_to_string(format!("{to}{table}.csv")).unwrap();
            text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
        })
    };
    let whole = rows(&[]);
    // 12:00 to 14:00 in New York.
    let part = rows(&["--from", "12:00", "--until", "14:00"]);
    for (part, whole) in part.iter().zip(&whole) {
        let time = |row: &&String| row.split(',').nth(1).unwrap().to_owned();
        let is_inside =
            |row: &&String| ("2019-12-30T17".."2019-12-30T19").contains(&&time(row)[..]);
        let expected: Vec<_> = whole.iter().filter(is_inside).cloned().collect();
        assert!(part.len() > 10);
        assert_eq!(*part, expected);
    }
}

#[test]
fn a_dbn_file_is_that_of_convert() {
    let folder = Folder::new("export-dbn");
    let day = folder.day(5_000, 3);
    let paths = ["export.dbn", "convert.dbn"].map(|name| folder.path(name));
    let options = ["--from", "10:00", "-o"];
    for (command, records, path) in [
        ("export", ["--tables", "mbo,trades"], &paths[0]),
        ("convert", ["--records", "mbo,trades"], &paths[1]),
    ] {
        let ran = nanotape([&[command, &day][..], &records, &DATE, &options, &[path]].concat());
        assert_eq!(ran.status, 0, "{}", ran.stderr);
    }
    let [exported, converted] = paths.map(|path| std::fs::read(path).unwrap());
    assert!(exported.len() > 10_000);
    assert_eq!(exported, converted);
    let again = folder.path("again.dbn");
    let equals: [&[&str]; 2] =
        [&["--tables=mbo,trades"], &["--records", "mbo", "--records=trades"]];
    for records in equals {
        let words = [&["-q", "export"][..], records, &DATE, &options, &[&again, "--force", &day]];
        let ran = nanotape(words.concat());
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{records:?}");
        assert!(std::fs::read(&again).unwrap() == converted, "{records:?}");
    }
    // An option that DBN files do not have is an error of convert.
    let to = folder.path("x.dbn.zst");
    let words = [&["export", &day, "-o", &to, "--levels", "3"][..], &DATE].concat();
    let ran = nanotape(words);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("--levels"), "{}", ran.stderr);
}
