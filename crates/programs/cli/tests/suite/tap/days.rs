//! DBN files of a tap across restarts: a file names records of one run by the stocks of that run
//! only.

use std::{collections::BTreeSet, fs, io::Cursor};

use nanotape_plant::{
    PlantConfig,
    dbn::{
        MboMsg, SymbolIndex as _, SymbolMappingMsg,
        decode::{DbnMetadata as _, DecodeRecordRef as _, dbn::Decoder},
    },
};

use nanotape_harness::Bounded as _;

use crate::{
    support::{Ran, nanotape},
    tap::plants::{Market, numbers, run},
};

const STOCKS: u32 = 8;

impl Market {
    /// A plant of another day: other stocks have the same locates.
    fn other(&self, name: &str, messages: u64) -> PlantConfig {
        let day = self.folder.path(name);
        let (messages, stocks) = (messages.to_string(), STOCKS.to_string());
        let synth = ["synth", "-o", &day, "--messages", &messages, "--symbols", &stocks];
        let ran = nanotape([&synth[..], &["--seed", "7"]].concat());
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
        let mut config = self.config();
        config.input.file = day.into();
        config
    }

    /// All records on the ring, to its end.
    fn tap_all(&self, records: u64, options: &[&str]) -> Ran {
        let count = records.to_string();
        let command = ["tap", self.ring(), "--from", "oldest", "--through-restarts"];
        nanotape([&command, &["--count", &count][..], options].concat())
    }

    /// The symbols of the order records on the ring, in order.
    fn symbols(&self, records: u64) -> Vec<String> {
        let csv = self.tap_all(records, &["--format", "csv"]);
        assert_eq!(csv.status, 0, "{}", csv.stderr);
        let cells = csv.stdout.lines().map(|line| line.split(',').collect::<Vec<_>>());
        cells.filter(|cells| cells[1] == "mbo").map(|cells| cells[5].to_owned()).collect()
    }
}

/// The symbols of the order records of a file, as its metadata names them, and the number of
/// records.
fn names(bytes: &[u8]) -> (Vec<String>, u64) {
    let mut decoder = Decoder::new(bytes).unwrap();
    let map = decoder.metadata().symbol_map().unwrap();
    let (mut names, mut records) = (Vec::new(), 0);
    while let Some(record) = decoder.decode_record_ref().unwrap() {
        records += u64::from(!record.has::<SymbolMappingMsg>());
        if let Some(mbo) = record.get::<MboMsg>() {
            names.push(map.get_for_rec(mbo).cloned().unwrap_or_default());
        }
    }
    (names, records)
}

/// The symbols and records of several files, in order.
fn names_of_all(files: &[String]) -> (Vec<String>, u64) {
    let (mut all, mut total) = (Vec::new(), 0);
    for file in files {
        let mut bytes = fs::read(file).unwrap_or_else(|error| panic!("{file}: {error}"));
        if file.ends_with(".zst") {
            bytes = zstd::decode_all(Cursor::new(bytes)).unwrap();
        }
        let (names, records) = names(&bytes);
        assert!(names.len() > 1_000, "{file}: {} order records", names.len());
        all.extend(names);
        total += records;
    }
    (all, total)
}

/// The files in the folder with a prefix.
fn files(market: &Market, prefix: &str) -> BTreeSet<String> {
    let names = fs::read_dir(market.folder.path("")).unwrap().map(|entry| entry.unwrap());
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with(prefix)).collect()
}

#[test]
fn a_dbn_file_holds_one_trade_date_and_the_next_date_has_the_next_file() {
    let market = Market::new("dates", 6_000, STOCKS);
    let first = run(&market.config()).stop.records;
    let records = first + run(&market.other("20191231.itch50", 6_000)).stop.records;
    let symbols = market.symbols(records);
    // The days have the same locates and no common stock.
    let stocks: BTreeSet<&String> = symbols.iter().collect();
    assert!(stocks.len() > STOCKS as usize, "{stocks:?}");
    for (name, next) in [("day.dbn", "day.2.dbn"), ("day.dbn.zst", "day.2.dbn.zst")] {
        let (path, next) = (market.folder.path(name), market.folder.path(next));
        let ran = market.tap_all(records, &["-o", &path]);
        assert_eq!((ran.status, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
        assert_eq!(numbers(&ran.stderr), [records, records, 0, 0, records]);
        let said = format!("{next}: starts with message {} of trade date 2019-12-31", first + 1);
        assert!(ran.stderr.contains(&said), "{}", ran.stderr);
        assert_eq!(names_of_all(&[path, next]), (symbols.clone(), records));
    }
    assert_eq!(files(&market, "day.").len(), 4);
}

#[test]
fn a_dbn_file_ends_where_a_locate_is_another_stock_on_the_same_date() {
    let market = Market::new("locates", 6_000, STOCKS);
    let first = run(&market.config()).stop.records;
    let mut other = market.other("other.itch50", 6_000);
    other.input.date = Some("2019-12-30".parse().unwrap());
    let records = first + run(&other).stop.records;
    let symbols = market.symbols(records);
    let path = market.folder.path("day.dbn");
    let ran = market.tap_all(records, &["-o", &path]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let next = market.folder.path("day.2.dbn");
    assert!(ran.stderr.contains(&format!("{next}: starts with message ")), "{}", ran.stderr);
    assert!(ran.stderr.contains(" in the file so far"), "{}", ran.stderr);
    assert_eq!(names_of_all(&[path, next]), (symbols, records));
}

#[test]
fn a_restart_of_the_same_day_goes_on_in_the_same_dbn_file() {
    let market = Market::new("same", 3_000, STOCKS);
    let records = market.run().stop.records + market.run().stop.records;
    let symbols = market.symbols(records);
    let path = market.folder.path("day.dbn");
    let ran = market.tap_all(records, &["-o", &path]);
    assert_eq!((ran.status, ran.stderr.lines().count()), (0, 1), "{}", ran.stderr);
    assert_eq!(names_of_all(&[path]), (symbols, records));
    assert_eq!(files(&market, "day.").len(), 1);
}

#[test]
fn a_next_dbn_file_overwrites_nothing() {
    let market = Market::new("kept-file", 3_000, STOCKS);
    let records =
        market.run().stop.records + run(&market.other("20191231.itch50", 3_000)).stop.records;
    let symbols = market.symbols(records);
    let path = market.folder.path("day.dbn");
    market.folder.write("day.2.dbn", b"mine");
    let ran = market.tap_all(records, &["-o", &path]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(fs::read(market.folder.path("day.2.dbn")).unwrap(), b"mine");
    assert_eq!(names_of_all(&[path, market.folder.path("day.3.dbn")]), (symbols, records));
}

#[test]
fn a_dbn_stream_on_standard_output_ends_in_front_of_another_date() {
    let market = Market::new("pipe", 3_000, STOCKS);
    let first = market.run().stop.records;
    let records = first + run(&market.other("20191231.itch50", 3_000)).stop.records;
    let symbols = market.symbols(records);
    let (said, file) = (market.folder.path("said"), market.folder.path("piped"));
    let command = format!(
        "'{}' tap '{}' --from oldest --through-restarts --format dbn >'{file}' 2>'{said}'; echo $?",
        env!("CARGO_BIN_EXE_nanotape"),
        market.ring()
    );
    let shell = std::process::Command::new("sh").args(["-c", &command]).bounded_output().unwrap();
    let said = fs::read_to_string(said).unwrap();
    assert_eq!(String::from_utf8(shell.stdout).unwrap(), "2\n", "{said}");
    assert!(said.contains("trade date 2019-12-31") && said.contains("-o FILE.dbn"), "{said}");
    let (names, count) = names(&fs::read(file).unwrap());
    assert_eq!(count, first);
    assert_eq!(names, symbols[..names.len()]);
    assert_eq!(numbers(&said), [first, first, 0, 0, first]);
}
