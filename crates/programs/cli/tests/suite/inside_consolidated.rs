//! `nanotape inside --consolidated`: one day at three venues, which then have the same books.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use crate::support::{Folder, nanotape};

/// 2024-03-11 in New York, ns since the UNIX epoch.
const MIDNIGHT_NS: u64 = 1_710_129_600_000_000_000;

const MINUTE_NS: u64 = 60_000_000_000;

/// The minute that one venue lacks, in ns since midnight.
const CUT: std::ops::Range<u64> = 10 * 60 * MINUTE_NS..(10 * 60 + 1) * MINUTE_NS;

/// The day as ITCH, IEX DEEP+ and PITCH.
struct Venues {
    folder: Folder,
    files: [String; 3],
}

impl Venues {
    fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        let files = ["20240311.itch50", "iex.pcap", "pitch.pcap"].map(|file| folder.path(file));
        for (file, protocol) in files.iter().zip(["itch", "iex-deep-plus", "cboe-pitch"]) {
            let market = ["--messages", "60k", "--stocks", "6", "--seed", "3"];
            let of_day = ["--date", "2024-03-11", "--protocol", protocol];
            // Two units are not in the order of their times together.
            let units: &[_] = if protocol == "cboe-pitch" { &["--units", "1"] } else { &[] };
            let ran = nanotape([&["synth", "-o", file], &market[..], &of_day, units].concat());
            assert_eq!(ran.status, 0, "{}", ran.stderr);
        }
        Self { folder, files }
    }

    /// The rows of the three, with options; returns standard error too.
    fn rows(&self, files: &[String], options: &[&str]) -> (Vec<BestRow>, String, i32) {
        let names = files.iter().map(String::as_str);
        let arguments = ["inside", "--consolidated"].into_iter().chain(names);
        let ran = nanotape(arguments.chain(options.iter().copied()));
        let mut lines = ran.stdout.lines();
        assert_eq!(
            lines.next(),
            Some("ts_ns,symbol,bid_price,bid_size,bid_venues,ask_price,ask_size,ask_venues,stale"),
            "{}",
            ran.stderr
        );
        (lines.map(BestRow::of).collect(), ran.stderr, ran.status)
    }

    /// The capture of a venue without the packets of a minute.
    fn without_a_minute(&self, file: &str) -> String {
        let bytes = fs::read(file).unwrap();
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        assert_eq!(word(0), 0xa1b2_3c4d, "times in nanoseconds");
        let (mut kept, mut at) = (bytes[..24].to_vec(), 24);
        while at < bytes.len() {
            let ts_ns = u64::from(word(at)) * 1_000_000_000 + u64::from(word(at + 4));
            let end = at + 16 + word(at + 8) as usize;
            if !CUT.contains(&(ts_ns - MIDNIGHT_NS)) {
                kept.extend_from_slice(&bytes[at..end]);
            }
            at = end;
        }
        assert!(kept.len() < bytes.len());
        self.folder.write("cut.pcap", &kept)
    }

    /// The times of the records of a file.
    fn times(&self, file: &str) -> Vec<u64> {
        let ran = nanotape(["convert", file, "--records", "all", "--format", "csv"]);
        let times =
            ran.stdout.lines().skip(1).filter_map(|line| line.split(',').nth(4)?.parse().ok());
        times.collect()
    }
}

/// A row. Prices are texts; an absent number is 0.
#[derive(Clone, PartialEq, Eq, Debug)]
struct BestRow {
    ts_ns: u64,
    symbol: String,
    prices: [String; 2],
    sizes: [u64; 2],
    venues: [String; 2],
    stale: String,
}

impl BestRow {
    fn of(line: &str) -> Self {
        let cells: Vec<&str> = line.split(',').collect();
        let [ts_ns, symbol, bid, bid_size, bid_venues, offer, offer_size, offer_venues, stale] =
            cells[..].try_into().unwrap();
        let size = |text: &str| text.parse().unwrap_or(0);
        Self {
            ts_ns: ts_ns.parse().unwrap(),
            symbol: symbol.to_owned(),
            prices: [bid.to_owned(), offer.to_owned()],
            sizes: [size(bid_size), size(offer_size)],
            venues: [bid_venues.to_owned(), offer_venues.to_owned()],
            stale: stale.to_owned(),
        }
    }
}

/// The last prices and sizes of each stock at each time. An absent side has no size.
type AtTimes = BTreeMap<(u64, String), ([String; 2], [u64; 2])>;

/// Of `nanotape inside` of one file.
fn inside(file: &str, options: &[&str]) -> AtTimes {
    let ran = nanotape([&["inside", file, "--format", "csv"], options].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let mut at_times = AtTimes::new();
    for line in ran.stdout.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let size = |at: usize| cells[at].parse().unwrap_or(0);
        let quote = ([cells[2].to_owned(), cells[4].to_owned()], [size(3), size(5)]);
        at_times.insert((cells[0].parse().unwrap(), cells[1].to_owned()), quote);
    }
    at_times
}

#[test]
fn three_venues_of_one_day_have_the_sum_of_their_sizes() {
    let venues = Venues::new("consolidated-same");
    let (rows, stderr, status) = venues.rows(&venues.files, &["--stale-after", "100h"]);
    assert_eq!(status, 0, "{stderr}");
    for (label, file) in ["XNAS", "IEXG", "BATS"].iter().zip(&venues.files) {
        assert!(stderr.contains(&format!("{label}: {file}\n")), "{stderr}");
    }
    let mut last = AtTimes::new();
    for row in &rows {
        assert_eq!(row.stale, "");
        last.insert((row.ts_ns, row.symbol.clone()), (row.prices.clone(), row.sizes));
    }
    let alone = inside(&venues.files[0], &[]);
    assert!(alone.len() > 10_000, "{}", alone.len());
    // Several changes at one time can end where they began: then the last row is of a part.
    let expected: AtTimes = alone
        .into_iter()
        .map(|(at, (prices, sizes))| (at, (prices, sizes.map(|size| 3 * size))))
        .collect();
    assert_eq!(last, expected);
    // All three have every price in the end.
    let whole = rows.iter().filter(|row| row.venues[0] == "XNAS+IEXG+BATS").count();
    assert!(whole > 5_000, "{whole}");
}

#[test]
fn a_venue_without_packets_is_stale_from_and_until_the_right_times() {
    let venues = Venues::new("consolidated-stale");
    let cut = venues.without_a_minute(&venues.files[1]);
    let times = venues.times(&cut);
    let since = times.iter().copied().filter(|&ts_ns| ts_ns < CUT.start).max().unwrap();
    let back = times.iter().copied().filter(|&ts_ns| ts_ns >= CUT.end).min().unwrap();
    let files = [venues.files[0].clone(), cut, venues.files[2].clone()];
    // From the last message of the venue on, with the minute in it.
    let from = format!("@{}", MIDNIGHT_NS + since - MINUTE_NS);
    let until = format!("@{}", MIDNIGHT_NS + back + 1);
    let options = ["--stale-after", "40s", "--from", &from, "--until", &until];
    let (rows, stderr, status) = venues.rows(&files, &options);
    // The capture lacks messages.
    assert_eq!(status, 1, "{stderr}");
    let stale_at = since + 40_000_000_000;
    let text = format!("IEXG since {}", time_of_day(since));
    let is_stale = |row: &&BestRow| row.stale == text;
    assert!(rows.iter().all(|row| row.stale.is_empty() || row.stale == text), "{rows:?}");
    assert_eq!(rows.iter().find(is_stale).unwrap().ts_ns, stale_at);
    // Every stock with a quote there has a row at both moments, and the last ones are without it.
    for (at, is_stale) in [(stale_at, true), (back, false)] {
        let there: Vec<_> = rows.iter().filter(|row| row.ts_ns == at).collect();
        let symbols: BTreeSet<_> = there.iter().map(|row| &row.symbol).collect();
        assert_eq!(symbols.len(), 6, "{there:?}");
        let last = there.last().unwrap();
        assert_eq!(last.stale.is_empty(), !is_stale, "{there:?}");
    }
    let mut checked = 0;
    for row in rows.iter().filter(|row| (stale_at..back).contains(&row.ts_ns)) {
        assert_eq!(row.stale, text);
        assert!(row.venues.iter().all(|venues| !venues.contains("IEXG")), "{row:?}");
        checked += 1;
    }
    assert!(checked > 6, "{checked}");
    // Two venues have the sum of two while the third one is stale.
    let alone = inside(&venues.files[0], &["--from", &from, "--until", &until]);
    let mut last = AtTimes::new();
    for row in rows.iter().filter(|row| row.ts_ns > stale_at && row.ts_ns < back) {
        last.insert((row.ts_ns, row.symbol.clone()), (row.prices.clone(), row.sizes));
    }
    let in_it = alone.into_iter().filter(|((ts_ns, _), _)| (stale_at + 1..back).contains(ts_ns));
    let expected: AtTimes =
        in_it.map(|(at, (prices, sizes))| (at, (prices, sizes.map(|size| 2 * size)))).collect();
    assert_eq!(last, expected);
}

#[test]
fn formats_and_other_kinds_of_input_have_the_same_rows() {
    let venues = Venues::new("consolidated-kinds");
    let [itch, iex, pitch] = &venues.files;
    let records = venues.folder.path("itch.dbn");
    let ran = nanotape(["convert", itch, "--records", "all", "-o", &records]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let options = ["--from", "09:30", "--until", "10:30", "--stale-after", "5m"];
    let (days, _, status) = venues.rows(&[itch, iex, pitch].map(String::clone), &options);
    assert_eq!(status, 0);
    let (mixed, stderr, status) = venues.rows(&[records, iex.clone(), pitch.clone()], &options);
    assert!(status == 0 && days == mixed, "{stderr}");
    let one = &days[0].symbol;
    let files = [iex.as_str(), pitch.as_str(), "--symbols", one, "--format", "json"];
    let ran = nanotape([&["inside", "--consolidated"], &files[..], &options].concat());
    let row: serde_json::Value = serde_json::from_str(ran.stdout.lines().next().unwrap()).unwrap();
    assert_eq!((&row["symbol"], &row["stale"]), (&one.as_str().into(), &serde_json::Value::Null));
    assert!(row["bid_venues"].as_str().unwrap().contains("IEXG"), "{row}");
    let text = nanotape(
        [&["inside", "--consolidated", iex, pitch, "--format", "text"], &options[..]].concat(),
    );
    assert!(text.stdout.contains("IEXG+BATS"), "{}", text.stdout);
}

#[test]
fn wrong_requests_are_refused_with_one_line() {
    let venues = Venues::new("consolidated-wrong");
    let [itch, iex, _] = &venues.files;
    let missing = ["--consolidated", itch, iex, "--symbols", "NOSUCH"];
    for (arguments, status, expected) in [
        (&[itch.as_str(), iex][..], 2, "--consolidated"),
        (&["--consolidated", itch, iex, "--every", "1s"], 2, "--every"),
        (&missing, 1, "all inputs: symbols not found: NOSUCH"),
    ] {
        let ran = nanotape([&["inside"], arguments].concat());
        assert_eq!(ran.status, status, "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{arguments:?}: {}", ran.stderr);
    }
    let other = venues.folder.path("20240312.itch50");
    fs::copy(itch, &other).unwrap();
    let ran = nanotape(["inside", "--consolidated", itch, &other]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("needs inputs of one trade date"), "{}", ran.stderr);
}

/// `10:00:00.000000001`.
fn time_of_day(ns: u64) -> String {
    let (s, ns) = (ns / 1_000_000_000, ns % 1_000_000_000);
    format!("{:02}:{:02}:{:02}.{ns:09}", s / 3_600, s / 60 % 60, s % 60)
}
