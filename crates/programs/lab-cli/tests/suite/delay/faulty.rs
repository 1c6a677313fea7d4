//! Copies, captures with losses, and damaged days.

use std::fs;

use serde_json::Value;

use super::{Days, count, list, number};
use crate::support::{
    nanotape,
    running::{json, whole},
};

const COPIES: [&str; 6] = ["--messages", "60k", "--stocks", "20", "--seed", "3"];
const BY_NUMBER: [&str; 4] = ["--method", "match-sequence", "--format", "json"];

/// A line of a capture of the day, with faults.
fn capture(days: &Days, day: &str, name: &str, options: &[&str]) -> String {
    let path = days.folder.path(name);
    let arguments = ["replay", day, "-o", &path, "--line-a", "239.1.1.1:5001"];
    let ran = nanotape([&arguments[..], options].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    path
}

/// The total is the delay, to the nanosecond.
fn is_exactly(record: &Value, delay_ns: f64) {
    for name in ["delay_ns", "low_ns", "high_ns", "p05_ns", "p95_ns"] {
        assert_eq!(number(&record["total"], name), delay_ns);
    }
}

/// And so is every estimate.
fn is_always(record: &Value, delay_ns: f64) {
    is_exactly(record, delay_ns);
    for span in list(record, "over_time").iter().filter(|span| count(span, "estimates") > 0) {
        assert_eq!(number(span, "delay_ns"), delay_ns);
    }
}

#[test]
fn copies_are_behind_by_exactly_the_delay_and_so_are_captures_of_them() {
    let days = Days::new("delay-copies", "delay=50us,shape=copy", &COPIES);
    let record = days.record(&BY_NUMBER[..2]);
    assert_eq!((&record["method"], &record["clock"]), (&"match-sequence".into(), &"event".into()));
    is_always(&record, 50_000.0);
    let changes = list(&record, "changes");
    assert!(changes[0] == changes[1] && changes[0].as_u64() > Some(50_000), "{changes:?}");
    assert_eq!(record["losses"], serde_json::json!([0, 0]));
    let trend = &record["trend"];
    let slopes = ["low_ns_per_s", "ns_per_s", "high_ns_per_s"].map(|name| number(trend, name));
    assert_eq!(slopes, [0.0; 3]);

    // Packets are lost on each line for itself; a message without a partner disturbs no other.
    let first = capture(&days, &days.first, "a.pcap", &["--faults-a", "drop=1%"]);
    let second = capture(&days, &days.second, "b.pcap", &["--faults-a", "drop=1%", "--seed", "2"]);
    let capture = [&["delay", &first, &second], &BY_NUMBER[..]].concat();
    for clock in ["receive", "event"] {
        let ran = nanotape([&capture[..], &["--clock", clock]].concat());
        assert_eq!(ran.status, 1, "messages are missing");
        let record = json(&ran.stdout);
        assert_eq!(record["clock"], clock);
        // Lines cut packets at different messages, and the messages of one have its time.
        let is_right = if clock == "receive" { is_exactly } else { is_always };
        is_right(&record, 50_000.0);
        let estimates = count(&record["total"], "estimates");
        // One second in thirty has three bursts of messages.
        assert!(estimates > 700, "{estimates}");
        for (name, losses) in [&first, &second].into_iter().zip(list(&record, "losses")) {
            // 1% of some 43,500 packets, of which few follow each other.
            assert!((330..=540).contains(&losses.as_u64().unwrap()), "{losses}");
            let reported = format!("{name}: {losses} gaps; what is missing has no partner");
            assert!(ran.stderr.contains(&reported), "{reported}: {}", ran.stderr);
        }
    }
    // Without an option, times are those of both captures.
    assert_eq!(json(&nanotape(&capture).stdout)["clock"], "receive");
}

/// The spans of a record with windows that were left out for a gap.
fn left_out(record: &Value) -> Vec<[u64; 2]> {
    let windows = list(record, "windows").iter().filter(|window| window["left_out"] == "gap");
    let mut spans: Vec<_> = windows
        .map(|window| ["from_ns", "until_ns"].map(|name| whole(&window[name]).unwrap()))
        .collect();
    spans.dedup();
    spans
}

#[test]
fn windows_around_a_silence_of_a_capture_are_left_out() {
    let days = Days::new("delay-silence", "delay=50us,shape=copy", &COPIES);
    let first = capture(&days, &days.first, "a.pcap", &[]);
    let second = capture(&days, &days.second, "b.pcap", &["--faults-a", "silence=@12:00+20s"]);
    let pool = ["--window", "60s", "--pool", "--format", "json"];
    let whole = nanotape([&["delay", &first, &first], &pool[..]].concat());
    assert_eq!((whole.status, whole.stderr.as_str()), (0, ""));
    let ran = nanotape([&["delay", &first, &second], &pool[..]].concat());
    assert_eq!(ran.status, 1);
    let reported = format!("nanotape: {second}: 1 gap; the windows around them are left out\n");
    assert!(ran.stderr.ends_with(&reported), "{}", ran.stderr);
    let record = json(&ran.stdout);
    let noon_ns = super::MIDNIGHT_NS as u64 + 12 * 3_600_000_000_000;
    let spans = left_out(&record);
    assert!((1..=2).contains(&spans.len()), "{spans:?}");
    for [from_ns, until_ns] in spans {
        assert!(from_ns <= noon_ns + 30_000_000_000 && until_ns > noon_ns - 30_000_000_000);
    }
    // The others have the delay, before and after.
    is_exactly(&record, 50_000.0);
    let estimates = |record: &Value| count(&record["total"], "estimates");
    // Changes of the stocks whose books became unreliable are missing in all later windows.
    let (some, all) = (estimates(&record), estimates(&json(&whole.stdout)));
    assert!(2 * some > all, "{some} of {all}");
}

#[test]
fn windows_around_a_damaged_part_of_a_day_are_left_out_and_so_are_unreliable_books() {
    let days = Days::new("delay-damaged", "delay=50us,shape=copy", &COPIES);
    let listed = nanotape(["inspect", &days.second, "--format", "csv"]).stdout;
    let cell = |number: usize, column: usize| -> u64 {
        let row = listed.lines().nth(number).unwrap();
        row.split(',').nth(column).unwrap().parse().unwrap()
    };
    let header: Vec<&str> = listed.lines().next().unwrap().split(',').collect();
    let time = header.iter().position(|name| *name == "ts_ns").unwrap();
    let mut bytes = fs::read(&days.second).unwrap();
    bytes[cell(30_000, 1) as usize + 1..cell(30_030, 1) as usize].fill(0xaa);
    let damaged = days.folder.write("damaged_20191230.itch50", &bytes);
    let options = ["--window", "60s", "--format", "json"];
    let ran = nanotape([&["delay", &days.first, &damaged], &options[..]].concat());
    assert_eq!(ran.status, 1);
    assert!(ran.stderr.contains("unreadable bytes\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains(": 1 gap; the windows around them are left out\n"));
    let record = json(&ran.stdout);
    let ends = [30_000, 30_030].map(|row| super::MIDNIGHT_NS as u64 + cell(row, time));
    let spans = left_out(&record);
    assert!(!spans.is_empty());
    for [from_ns, until_ns] in spans {
        // The second feed counts up to the largest delay beyond a window.
        assert!(from_ns - 5_000_000 <= ends[1] && ends[0] <= until_ns + 5_000_000, "{ends:?}");
    }
    // Orders that were added in the damaged part are unknown later: their stocks are left out from
    // then on, and the others have the delay.
    let tainted = |window: &&Value| window["left_out"] == "taint";
    let windows = list(&record, "windows");
    assert!(windows.iter().filter(tainted).count() > 10);
    for window in windows.iter().filter(tainted) {
        assert!(whole(&window["until_ns"]).unwrap() > ends[0], "{window}");
    }
    let after = |window: &&Value| whole(&window["from_ns"]) > Some(ends[1]);
    let good = windows.iter().filter(after).filter(|window| !window["delay_ns"].is_null());
    assert!(good.count() > 10, "stocks without a taint go on");
    assert_eq!(number(&record["total"], "delay_ns"), 50_000.0);
    let sums = list(&record, "rows").iter().map(|row| count(row, "left_out")).sum::<u64>();
    let all = windows.iter().filter(|window| !window["left_out"].is_null()).count();
    assert_eq!(sums, all as u64);
}
