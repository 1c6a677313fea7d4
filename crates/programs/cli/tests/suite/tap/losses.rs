//! A tap reports its losses exactly: the numbers add up to what was published.

use rustix::process::Signal;

use crate::{
    support::{
        nanotape,
        running::{Running, objects},
    },
    tap::plants::{Market, begin, numbers, run},
};

/// Checks that every gap in the rows has a row; returns rows, lost messages and gaps.
pub(super) fn add_up(rows: &[serde_json::Value], mut next: u64) -> (u64, u64, u64) {
    let (mut written, mut lost, mut gaps) = (0, 0, 0);
    for row in rows {
        if row["record"] == "lost" {
            let members = row.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
            assert_eq!(members, ["lost_from", "lost_to", "record"]);
            assert_eq!(row["lost_from"], next);
            let to = row["lost_to"].as_u64().unwrap();
            lost += to - next + 1;
            gaps += 1;
            next = to + 1;
        } else {
            assert_eq!(row["sequence"], next);
            written += 1;
            next += 1;
        }
    }
    (written, lost, gaps)
}

#[test]
fn a_tap_that_is_held_back_reports_what_it_lost_and_goes_on() {
    let market = Market::new("held", 20_000, 6);
    for rejoin in ["oldest", "halfway", "newest"] {
        let mut config = market.config_of_small_ring();
        config.ring.replace = true;
        let mut plant = begin(&config);
        let options = ["--from", "oldest", "--format", "json", "--rejoin", rejoin];
        let mut tap = market.tap(&options);
        assert_eq!(tap.read_json()["record"], "start");
        tap.signal(Signal::STOP);
        let ended = plant.run(|_| ()).unwrap();
        tap.signal(Signal::CONT);
        if rejoin == "newest" {
            // This tap rejoins after the stop record, so only the closed ring ends it.
            drop(plant);
        }
        let (status, rest, complained) = tap.end();
        assert_eq!(status, Some(0), "{complained}");
        let (written, lost, gaps) = add_up(&objects(&rest), 2);
        assert!(lost > 1_000 && gaps == 1, "{lost} in {gaps}");
        assert_eq!(1 + written + lost, ended.stop.records);
        let expected = [1 + written, 1 + written, lost, gaps, ended.stop.records];
        assert_eq!(numbers(&complained), expected);
        if rejoin == "newest" {
            assert!(complained.contains("writer closed the ring"), "{complained}");
        } else {
            assert_eq!(complained.lines().count(), 1);
        }
    }
}

#[test]
fn a_tap_that_begins_with_what_was_overwritten_reports_it_in_every_format() {
    let market = Market::new("overwritten", 20_000, 6);
    let ended = run(&market.config_of_small_ring());
    let tap = |format| nanotape(["tap", market.ring(), "--from", "1", "--format", format]);
    let json = tap("json");
    let rows = objects(&json.stdout);
    let (written, lost, _) = add_up(&rows, 1);
    assert_eq!((json.status, written + lost), (0, ended.stop.records));
    assert_eq!(numbers(&json.stderr), [written, written, lost, 1, ended.stop.records]);

    let csv = tap("csv").stdout;
    let row = csv.lines().nth(1).unwrap();
    assert_eq!(row, format!(",lost{},1,{lost},,", ",".repeat(18)));
    let text = tap("text").stdout;
    let line = text.lines().next().unwrap();
    assert!(line.ends_with(&format!("lost        {lost} records lost, 1 to {lost}")), "{line}");

    // A filter does not change the losses: the kinds of lost messages are unknown.
    let options = ["--records", "trades", "--format", "json"];
    let ran = nanotape([&["tap", market.ring(), "--from", "1"], &options[..]].concat());
    let [read, few, lost_too, gaps, last] = numbers(&ran.stderr);
    assert_eq!((read + lost_too, lost_too, gaps), (ended.stop.records, lost, 1));
    assert!(few < read && last == ended.stop.records);
}

#[test]
fn a_tap_from_the_oldest_record_reports_what_is_gone_before_it() {
    let market = Market::new("oldest", 20_000, 6);
    let published = run(&market.config_of_small_ring()).stop.records;
    let oldest = ["tap", market.ring(), "--from", "oldest"];
    let json = nanotape([&oldest[..], &["--format", "json"]].concat());
    let rows = objects(&json.stdout);
    let (written, lost, gaps) = add_up(&rows, 1);
    assert_eq!((json.status, rows[0]["record"].as_str(), gaps), (0, Some("lost"), 1));
    assert!(lost > 10_000 && written + lost == published, "{written} and {lost}");
    assert_eq!(numbers(&json.stderr), [written, written, lost, 1, published]);
    // Existing records are not skipped, with any --rejoin.
    for rejoin in ["halfway", "newest"] {
        let ran = nanotape([&oldest[..], &["--format", "json", "--rejoin", rejoin]].concat());
        assert_eq!(ran.stdout, json.stdout, "{rejoin}");
    }
    // A ring that has not wrapped has lost nothing.
    let whole = Market::new("whole", 2_000, 4);
    whole.run();
    let ran = nanotape(["tap", whole.ring(), "--from", "oldest", "--fail-on-loss"]);
    assert_eq!((ran.status, numbers(&ran.stderr)[2]), (0, 0), "{}", ran.stderr);
}

#[test]
fn a_loss_is_a_failure_if_it_is_to_be_one() {
    let market = Market::new("fail", 20_000, 6);
    let published = run(&market.config_of_small_ring()).stop.records;
    for from in ["oldest", "1"] {
        let command = ["tap", market.ring(), "--from", from];
        let [good, bad] =
            [&[][..], &["--fail-on-loss"]].map(|option| nanotape([&command[..], option].concat()));
        assert_eq!((good.status, bad.status), (0, 1), "{}", bad.stderr);
        assert_eq!(good.stdout, bad.stdout, "the rows are the same");
        assert_eq!(numbers(&bad.stderr)[4], published);
        assert!(bad.stderr.contains("--fail-on-loss"), "{}", bad.stderr);
    }
    let late = (published - 10).to_string();
    let ran = nanotape(["tap", market.ring(), "--from", &late, "--fail-on-loss"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
}

#[test]
fn taps_beside_each_other_read_the_same() {
    let market = Market::new("many", 20_000, 6);
    let mut plant = begin(&market.config());
    let options = ["--from", "oldest", "--records", "mbo,bbo"];
    let mut taps: Vec<Running> = (0..4).map(|_| market.tap(&options)).collect();
    for tap in &mut taps {
        assert!(tap.read_line().starts_with("sequence,record,"));
    }
    let ended = plant.run(|_| ()).unwrap();
    let mut all = taps.iter_mut().map(|tap| {
        let (status, rows, complained) = tap.end();
        assert_eq!(status, Some(0), "{complained}");
        assert_eq!(numbers(&complained)[0], ended.stop.records);
        rows
    });
    let first = all.next().unwrap();
    assert!(first.lines().count() > 20_000 && all.all(|rows| rows == first));
}
