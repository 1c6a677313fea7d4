//! The figures of `nanotape stats`, against other commands, against figures by hand, and against a
//! naive count in Python.

use std::{collections::BTreeMap, process::Command};

use nanotape_harness::{Bounded as _, skipped};

use crate::support::{Folder, nanotape, real_data};

/// The rows of `stats`, by symbol.
fn stats(input: &str) -> BTreeMap<String, serde_json::Value> {
    let ran = nanotape(["stats", input, "--format", "json"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let rows = ran.stdout.lines().map(|line| {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        (row["symbol"].as_str().unwrap().to_owned(), row)
    });
    rows.collect()
}

/// The value at a quantile of values, by nearest rank.
fn quantile(values: &mut [u64], quantile: f64) -> u64 {
    values.sort_unstable();
    values[((quantile * values.len() as f64).ceil() as usize).max(1) - 1]
}

#[test]
fn figures_of_inside_changes_are_those_of_the_rows_of_inside() {
    let folder = Folder::new("stats_inside");
    let day = folder.day(60_000, 30);
    let stats = stats(&day);
    let rows = nanotape(["inside", &day, "--format", "csv"]).stdout;
    let mut times: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for row in rows.lines().skip(1) {
        let mut cells = row.split(',');
        let (time, symbol) = (cells.next().unwrap().parse().unwrap(), cells.next().unwrap());
        times.entry("*").or_default().push(time);
        times.entry(symbol).or_default().push(time);
    }
    assert_eq!(times.len(), 31);
    for (symbol, times) in times {
        let row = &stats[symbol];
        assert_eq!(row["inside_changes"], times.len(), "{symbol}");
        for (unit, width) in [("second", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)] {
            let mut windows: BTreeMap<u64, u64> = BTreeMap::new();
            times.iter().for_each(|time| *windows.entry(time / width).or_default() += 1);
            let mut counts: Vec<u64> = windows.into_values().collect();
            for (name, share) in [("p99", 0.99), ("p999", 0.999), ("max", 1.0)] {
                let (column, expected) =
                    (format!("inside_per_{unit}_{name}"), quantile(&mut counts, share));
                assert_eq!(row[&column], expected, "{symbol} {column}");
            }
        }
        let mut gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        for (name, share) in [("p1", 0.01), ("p50", 0.5), ("p99", 0.99)] {
            let (got, expected) =
                (&row[&format!("inside_gap_ns_{name}")], quantile(&mut gaps, share));
            let got = got.as_u64().unwrap();
            assert!(got >= expected && got <= expected + expected / 64, "{symbol} {name}: {got}");
        }
        // The times themselves differ from run to run.
        let nanos = |name: &str| row[name].as_u64().unwrap();
        assert!(nanos("inside_process_ns_p50") <= nanos("inside_process_ns_p999"), "{row}");
        assert!(nanos("inside_process_ns_max") <= nanos("process_ns_max"), "{row}");
    }
}

#[test]
fn price_levels_are_those_of_the_whole_depth() {
    let folder = Folder::new("stats_levels");
    let day = folder.day(40_000, 5);
    let stats = stats(&day);
    let symbol = stats.keys().find(|symbol| *symbol != "*").unwrap();
    let rows = nanotape(["depth", &day, "--symbol", symbol, "--levels", "1000", "--format", "csv"]);
    let [mut bids, mut offers] = [Vec::new(), Vec::new()];
    for row in rows.stdout.lines().skip(1) {
        let cells: Vec<_> = row.split(',').skip(2).collect();
        let filled = |first: usize| cells.chunks(4).filter(|l| !l[first].is_empty()).count() as u64;
        offers.push(filled(0));
        bids.push(filled(2));
    }
    for (side, levels) in [("bid", &mut bids), ("ask", &mut offers)] {
        for (name, share) in [("p50", 0.5), ("p99", 0.99), ("max", 1.0)] {
            let (column, expected) = (format!("{side}_levels_{name}"), quantile(levels, share));
            assert!(expected < 1_000, "all levels were printed");
            assert_eq!(stats[symbol][&column], expected, "{symbol} {column}");
        }
    }
}

/// A record of an order message of stock 1: its type, its time, and what follows.
fn order(kind: u8, nanos: u64, reference: u64, rest: &[&[u8]]) -> Vec<u8> {
    let parts = [&[kind, 0, 1, 0, 0], &nanos.to_be_bytes()[2..], &reference.to_be_bytes()];
    let message = [parts.concat(), rest.concat()].concat();
    [(message.len() as u16).to_be_bytes().as_slice(), &message].concat()
}

fn add(nanos: u64, reference: u64, side: &[u8], shares: u32, price: u32) -> Vec<u8> {
    let rest = [side, &shares.to_be_bytes(), b"TEST    ", &price.to_be_bytes()];
    order(b'A', nanos, reference, &rest)
}

fn delete(nanos: u64, reference: u64) -> Vec<u8> {
    order(b'D', nanos, reference, &[])
}

#[test]
fn a_day_by_hand_has_the_figures_that_were_counted_by_hand() {
    const SECOND: u64 = 1_000_000_000;
    let folder = Folder::new("stats_by_hand");
    let day = [
        add(SECOND, 1, b"B", 100, 10_0000),         // inside, 1 | 0 levels
        add(SECOND + 100, 2, b"B", 100, 9_9000),    //         2 | 0
        add(SECOND + 200, 3, b"B", 50, 10_0000),    // inside, 2 | 0
        add(2 * SECOND, 4, b"S", 10, 10_0000),      // inside, 2 | 1, locked
        add(2 * SECOND + 700, 5, b"S", 10, 9_9500), // inside, 2 | 2, crossed
        delete(2 * SECOND + 1_700, 5),              // inside, 2 | 1, locked
        delete(3 * SECOND, 4),                      // inside, 2 | 0
        delete(3 * SECOND + 1, 77),                 //         2 | 0, unknown
        delete(3 * SECOND + 2, 2),                  //         1 | 0
    ];
    let day = folder.write("day.itch50", &day.concat());
    let stats = stats(&day);
    for symbol in ["*", "TEST"] {
        let row = &stats[symbol];
        for (column, expected) in [
            ("messages", 9),
            ("inside_changes", 6),
            ("per_second_max", 3),
            ("inside_per_second_max", 3),
            ("inside_per_second_p99", 3),
            // The windows of a microsecond: 2; 2; 1; 1.
            ("inside_per_us_max", 2),
            ("per_us_max", 3),
            ("gap_ns_p1", 1),
            ("gap_ns_p50", 100),
            ("inside_gap_ns_p1", 200),
            ("crossed_ns", 1_000),
            ("locked_ns", 700 + SECOND - 1_700),
            ("bid_levels_max", 2),
            ("bid_levels_p50", 2),
            ("ask_levels_max", 2),
            ("ask_levels_p50", 0),
            ("ask_levels_p99", 2),
            ("unknown_reference", 1),
        ] {
            let got = row[column].as_u64().unwrap();
            let most = if column.contains("_ns_p") { expected + expected / 64 } else { expected };
            assert!((expected..=most).contains(&got), "{symbol} {column}: {got}, not {expected}");
        }
    }
}

#[test]
fn text_and_help_give_the_precision() {
    let folder = Folder::new("stats_precision");
    let day = folder.day(5_000, 5);
    let text = nanotape(["stats", &day]).stdout;
    let line = "quantiles of gaps, processing times and depths are at most 1.6% too high";
    assert!(text.contains(line), "{text}");
    assert!(text.contains("inside changes per millisecond"), "{text}");
    let help = nanotape(["stats", "--help"]).stdout;
    assert!(help.contains("at most 1.6% too high"), "{help}");
}

#[test]
fn every_figure_is_that_of_a_naive_count_in_python() {
    let script =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../../scripts/day-proof/stages/count_stats.py");
    if Command::new("python3").arg("--version").bounded_output().is_err() {
        return skipped(format_args!("no python3, which counts the figures of stats again"));
    }
    let folder = Folder::new("stats_python");
    let real = ["aapl_20190130_open10k.itch50", "open_20191230_first1000.itch50"];
    let days = [Some(folder.day(20_000, 40)), real_data(real[0]), real_data(real[1])];
    for day in days.into_iter().flatten() {
        let rows = folder.path("stats.csv");
        assert_eq!(nanotape(["stats", &day, "-o", &rows, "--force"]).status, 0);
        let counted = Command::new("python3").args([script, &day, &rows]).bounded_output().unwrap();
        let said = String::from_utf8_lossy(&counted.stdout);
        assert!(counted.status.success(), "{said}{}", String::from_utf8_lossy(&counted.stderr));
        assert!(said.ends_with(" cells, 0 wrong\n"), "{said}");
    }
}
