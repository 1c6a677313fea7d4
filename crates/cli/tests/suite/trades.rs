//! `nanotape trades`: its volume is that of `nanotape stats`, and broken trades are marked.
//! `scripts/day-proof/stages/naive_day.py` compares every row of a day.

use std::collections::BTreeMap;

use crate::support::{Folder, Ran, nanotape, nanotape_fed};

fn rows_of(ran: &Ran) -> Vec<BTreeMap<String, serde_json::Value>> {
    ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Per stock: trades and shares.
type Volumes = BTreeMap<String, (u64, u64)>;

#[test]
fn trades_that_are_not_broken_add_up_to_the_volume_of_each_stock() {
    let folder = Folder::new("trades");
    let day = folder.day(150_000, 30);
    let ran = nanotape(["trades", &day, "--format", "json"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let rows = rows_of(&ran);
    let broken = rows.iter().filter(|row| row["broken"] == true).count();
    let breaks = nanotape(["inspect", &day, "--type", "B"]).stdout.lines().count();
    assert!(broken == breaks && breaks > 0, "{broken} marked, {breaks} B messages");
    let mut volumes = Volumes::new();
    for row in rows.iter().filter(|row| row["broken"] == false) {
        let sum = volumes.entry(row["symbol"].as_str().unwrap().to_owned()).or_default();
        *sum = (sum.0 + 1, sum.1 + row["size"].as_u64().unwrap());
    }
    let stats = rows_of(&nanotape(["stats", &day, "--format", "json"]));
    let expected: Volumes = stats[1..]
        .iter()
        .map(|row| {
            let number = |name: &str| row[name].as_u64().unwrap();
            let symbol = row["symbol"].as_str().unwrap().to_owned();
            (symbol, (number("trades"), number("volume_shares")))
        })
        .filter(|(_, (trades, _))| *trades > 0)
        .collect();
    assert_eq!(volumes, expected);

    // Standard input is read once, so a break that comes later is a line.
    let bytes = std::fs::read(&day).unwrap();
    let piped = nanotape_fed(["trades", "-", "--format", "json"], &bytes);
    assert_eq!(piped.status, 0);
    let expected = format!("standard input: {breaks} trade");
    let told = piped.stderr.replace("nanotape: -:", "nanotape: standard input:");
    assert!(told.contains(&expected) && told.contains("match numbers "), "{}", piped.stderr);
    for (one, other) in rows_of(&piped).iter().zip(&rows) {
        assert!(one["broken"].is_null());
        assert_eq!(one["price"], other["price"]);
    }
}

/// The price of an execution is that of its order, from a journal too.
#[test]
fn trades_of_a_journal_and_of_a_dbn_file_are_those_of_the_day() {
    let folder = Folder::new("trades-records");
    let day = folder.path("2019-12-30.itch50");
    let good = |arguments: &[&str]| {
        let ran = nanotape(arguments);
        assert_eq!(ran.status, 0, "{arguments:?}: {}", ran.stderr);
        ran
    };
    good(&["synth", "-o", &day, "--messages", "60k", "--stocks", "20"]);
    let (ring, journal, dbn) = (folder.path("ring"), folder.path("days"), folder.path("day.dbn"));
    good(&["run", "--input", &day, "--ring", &ring, "--capacity", "64MB"]);
    good(&["journal", "record", &ring, &journal]);
    good(&["tap", &day, "-o", &dbn]);
    let of_day = rows_of(&good(&["trades", &day, "--format", "json"]));
    for records in [&journal, &dbn] {
        let ran = good(&["trades", records, "--format", "json"]);
        assert!(ran.stderr.contains("records have no match numbers"), "{}", ran.stderr);
        let of_records = rows_of(&ran);
        assert_eq!(of_records.len(), of_day.len());
        for (own, expected) in of_records.iter().zip(&of_day) {
            for name in [
                "message",
                "ts_ns",
                "symbol",
                "price",
                "size",
                "aggressor",
                "order_reference_number",
            ] {
                assert_eq!(own[name], expected[name], "{name} of {expected:?}");
            }
            let kind = if expected["kind"] == "execution" { "execution" } else { "off_book" };
            assert_eq!(own["kind"], kind);
            assert!(own["match_number"].is_null() && own["broken"].is_null());
        }
    }
}
