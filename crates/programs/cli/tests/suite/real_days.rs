//! The commands on real market data, if it is available.

use std::{collections::HashMap, fs::File};

use crate::support::{nanotape, real_data};

/// Each of the publisher's 10,000 book states, with 10 levels a side, equals ours.
#[test]
fn depth_equals_the_published_book_after_every_event() {
    let (Some(day), Some(expected)) = (
        real_data("aapl_20190130_open10k.itch50"),
        real_data("aapl_20190130_open10k.expect.csv.zst"),
    ) else {
        return;
    };
    let expected = zstd::decode_all(File::open(expected).unwrap()).unwrap();
    let expected = published_rows(&String::from_utf8(expected).unwrap());
    assert_eq!(expected.len(), 10_000);
    let depth = ["depth", &day, "--symbols", "AAPL", "--levels", "10", "--format", "csv"];
    let ran = nanotape(depth);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let rows: HashMap<&str, &str> =
        ran.stdout.lines().skip(1).filter_map(|row| row.split_once(',')).collect();
    assert_eq!(rows.len(), 10_056, "A 7521, F 109, E 729, C 17, X 5, D 1238, U 437");
    for (message, expected) in &expected {
        assert_eq!(rows[message.as_str()], expected, "after message {message}");
    }
    println!("{} published rows equal ours", expected.len());
}

/// The number of a message, and the rest of the expected row.
fn published_rows(published: &str) -> Vec<(String, String)> {
    let row = |line: &str| {
        let mut fields = line.split(',');
        let (_row, message) = (fields.next()?, fields.next()?);
        message.parse::<u64>().ok()?;
        let expected: Vec<String> = fields
            .enumerate()
            .map(|(column, field)| match (column, field) {
                // The time, then prices and sizes alternately.
                (0, time) => time.to_owned(),
                (_, "") => String::new(),
                (odd, price) if odd % 2 == 1 => with_four_places(price),
                (_, size) => size.to_owned(),
            })
            .collect();
        Some((message.to_owned(), expected.join(",")))
    };
    published.lines().filter_map(row).collect()
}

fn with_four_places(price: &str) -> String {
    let raw: u32 = price.parse().unwrap();
    format!("{}.{:04}", raw / 10_000, raw % 10_000)
}

#[test]
fn a_day_joined_in_mid_session_counts_what_it_does_not_know() {
    for (name, messages, unknown, tainted) in [
        ("aapl_20191230_0935_midsession.itch50.gz", 49_947, 3_970, "1 book marked"),
        ("open_20191230_first1000.itch50", 1_000, 399, "216 books marked"),
    ] {
        let Some(day) = real_data(name) else { return };
        let ran = nanotape(["stats", &day, "--format", "json"]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        let expected = format!(
            "{unknown} messages could not be applied to the book (unknown_reference {unknown}); \
             {tainted} unreliable (tainted)"
        );
        assert!(ran.stderr.contains(&expected), "{}", ran.stderr);
        let rows: Vec<serde_json::Value> =
            ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(rows[0]["symbol"], "*");
        assert_eq!(rows[0]["messages"], messages);
        assert_eq!(rows[0]["unknown_reference"], unknown);
        // The counts by stock add up to the total.
        let by_stock = rows[1..].iter().map(|row| row["unknown_reference"].as_u64().unwrap());
        assert_eq!(by_stock.sum::<u64>(), unknown);
    }
}

#[test]
fn check_says_what_a_mid_session_file_lacks() {
    let Some(day) = real_data("open_20191230_first1000.itch50") else { return };
    let ran = nanotape(["check", &day, "--format", "csv"]);
    assert_eq!(ran.status, 1);
    assert_eq!(ran.stdout.lines().count(), 1 + 13, "a row for each rule: {}", ran.stdout);
    assert!(ran.stdout.contains("\n5,spec,399,0,1,"), "{}", ran.stdout);
    assert!(ran.stdout.contains("\n4,spec,0,,,"), "{}", ran.stdout);
}

/// Inside rows are exactly the rows of `depth --levels 1` that differ from the previous row.
#[test]
fn inside_and_depth_agree() {
    let Some(day) = real_data("aapl_20190130_open10k.itch50") else { return };
    let inside = nanotape(["inside", &day, "--symbols", "AAPL", "--format", "csv"]).stdout;
    let depth =
        nanotape(["depth", &day, "--symbols", "AAPL", "--levels", "1", "--format", "csv"]).stdout;
    let mut expected = vec!["ts_ns,symbol,bid_price,bid_size,ask_price,ask_size".to_owned()];
    let mut last = ",,,".to_owned();
    for row in depth.lines().skip(1) {
        let fields: Vec<_> = row.split(',').collect();
        let [_, time, offer_price, offer_size, bid_price, bid_size] = fields[..] else {
            panic!("six columns: {row}")
        };
        let now = format!("{bid_price},{bid_size},{offer_price},{offer_size}");
        if now != last {
            expected.push(format!("{time},AAPL,{now}"));
            last = now;
        }
    }
    assert!(inside.lines().eq(expected), "{} rows", inside.lines().count());
}
