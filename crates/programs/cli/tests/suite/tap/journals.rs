//! Taps of a journal, alone and beside its ring.

use crate::{
    support::{Ran, nanotape},
    tap::plants::Market,
};

fn good(arguments: &[&str]) -> Ran {
    let ran = nanotape(arguments);
    assert_eq!(ran.status, 0, "{arguments:?}: {}", ran.stderr);
    ran
}

/// A day that was published and recorded, with snapshots.
fn recorded(name: &str) -> (Market, String) {
    let market = Market::new(name, 60_000, 40);
    market.run();
    let journal = market.folder.path("journal");
    good(&["journal", "record", market.ring(), &journal]);
    good(&["journal", "snapshot", &journal, "--share", "100"]);
    (market, journal)
}

#[test]
fn a_tap_of_a_journal_prints_what_a_tap_of_its_ring_prints() {
    let (market, journal) = recorded("journal");
    for format in ["csv", "json"] {
        let of = |source: &[&str]| {
            let tap = [&["tap"], source, &["--records", "bbo", "--format", format]].concat();
            nanotape(tap).stdout
        };
        let ring = of(&[market.ring(), "--from", "oldest"]);
        assert_eq!(of(&[&journal]), ring);
        assert_eq!(of(&[market.ring(), "--from", "oldest", "--heal", &journal]), ring);
    }
    let all = good(&["tap", &journal, "--format", "csv"]);
    assert!(all.stdout.lines().count() > 90_000, "{}", all.stderr);
    assert!(all.stderr.contains(" 0 lost in 0 gaps"), "{}", all.stderr);
    let ring = good(&["tap", market.ring(), "--from", "oldest", "--format", "csv"]);
    assert_eq!(all.stdout, ring.stdout);
    for source in [&[journal.as_str()][..], &[market.ring(), "--heal", &journal, "--whole"]] {
        let tap = [&["tap"], source, &["--records", "bbo", "--check-digest"]].concat();
        let checked = good(&tap);
        assert!(checked.stderr.contains("is that of the plant"), "{}", checked.stderr);
    }
    // A tap that joins after the last record compares nothing.
    let late = nanotape(["tap", &journal, "--from", "newest", "--check-digest"]);
    assert_eq!(late.status, 1, "{}", late.stderr);
    assert!(late.stderr.contains("were not compared"), "{}", late.stderr);
}

#[test]
fn a_tap_that_begins_whole_begins_with_a_clear_and_the_live_orders_of_each_stock() {
    let (market, journal) = recorded("whole");
    let tap = ["tap", market.ring(), "--heal", &journal, "--whole", "--records", "mbo"];
    let rows = good(&[&tap, ["--format", "csv"].as_slice()].concat()).stdout;
    let snapshot: Vec<Vec<&str>> = rows
        .lines()
        .skip(1)
        .map(|row| row.split(',').collect())
        .take_while(|cells: &Vec<&str>| cells[11].parse::<u8>().is_ok_and(|flags| flags & 32 != 0))
        .collect();
    assert!(snapshot.iter().any(|cells| cells[6] == "R"), "{rows}");
    assert!(snapshot.iter().all(|cells| ["R", "A"].contains(&cells[6])), "{rows}");
    let first = snapshot[0][0];
    assert!(snapshot.iter().all(|cells| cells[0] == first));
}

#[test]
fn what_cannot_be_is_reported_in_one_line() {
    let market = Market::new("journal-usage", 1_000, 5);
    market.run();
    let journal = market.folder.path("journal");
    good(&["journal", "record", market.ring(), &journal]);
    for (arguments, expected) in [
        (vec!["tap", market.ring(), "--whole"], "--whole needs the journal of the ring"),
        (vec!["tap", &journal, "--heal", &journal], "is the folder of a journal"),
        (vec!["tap", market.ring(), "--whole", "--from", "oldest"], "cannot be used with"),
    ] {
        let ran = nanotape(arguments.clone());
        assert_eq!(ran.status, 2, "{arguments:?}");
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    }
    let mark = std::path::Path::new(&journal).join("recorded-from");
    std::fs::write(mark, "nanotape recording 1\ncreated_ns 5\nring /dev/shm/x\n").unwrap();
    let ran = nanotape(["tap", market.ring(), "--heal", &journal]);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("not the ring that"), "{}", ran.stderr);
}
