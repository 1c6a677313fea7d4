//! `nanotape lab queue --validate`: which messages are replayed, what is compared, and what is
//! refused. Times are not judged.

use std::{collections::BTreeMap, fs};

use serde_json::Value;

use crate::support::{
    Folder, capture::capture_of, has_memory_for_benchmarks, nanotape, nanotape_fed,
};

const SECOND_NS: u64 = 1_000_000_000;

/// The validation of `nanotape lab queue` with these arguments.
fn validation(arguments: &[&str]) -> Value {
    let ran = nanotape([&["lab", "queue", "--format", "json"], arguments].concat());
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{arguments:?}");
    let record: Value = serde_json::from_str(&ran.stdout).unwrap();
    record["validation"].clone()
}

/// The times of the messages of a day file.
fn times(bytes: &[u8]) -> Vec<u64> {
    let (mut at, mut times) = (0, Vec::new());
    while let Some(length) = bytes.get(at..at + 2) {
        let length = usize::from(u16::from_be_bytes([length[0], length[1]]));
        let Some(message) = bytes.get(at + 2..at + 2 + length).filter(|_| length > 0) else {
            break;
        };
        times.push(message[5..11].iter().fold(0, |time, byte| time << 8 | u64::from(*byte)));
        at += 2 + length;
    }
    times
}

#[test]
fn the_busiest_second_the_worst_burst_and_a_span_are_replayed() {
    if !has_memory_for_benchmarks() {
        return;
    }
    let folder = Folder::new("queue-validate");
    let day = folder.day(20_000, 10);
    let bytes = fs::read(&day).unwrap();
    let what = "--validate=busiest,burst,09:30..09:30:02";
    let found = validation(&[&day, "--at", "400ns", "--rounds", "2", what]);
    let [busiest, burst, span] = [0, 1, 2].map(|part| found["parts"][part].clone());

    let number = |part: &Value, field: &str| part[field].as_u64().unwrap();
    let times_of_day = times(&bytes);
    let mut seconds: BTreeMap<u64, u64> = BTreeMap::new();
    for time in &times_of_day {
        *seconds.entry(time / SECOND_NS).or_default() += 1;
    }
    let most = seconds.values().max().copied();
    assert_eq!(Some(number(&busiest, "messages")), most);
    assert_eq!(seconds.get(&(number(&busiest, "first_ns") / SECOND_NS)).copied(), most);
    let in_span = 34_200 * SECOND_NS..34_202 * SECOND_NS;
    let in_span = times_of_day.iter().filter(|time| in_span.contains(time)).count();
    assert_eq!(number(&span, "messages"), in_span as u64);

    // The burst is the first of the files that --bursts writes.
    let bursts = folder.path("bursts");
    let ran = nanotape(["lab", "queue", &day, "--at", "400ns", "--bursts", &bursts]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let worst = fs::read(format!("{bursts}/burst-001.itch50")).unwrap();
    assert_eq!(number(&burst, "messages"), times(&worst).len() as u64);
    assert_eq!(burst["name"], "worst burst at 400 ns a message");

    for part in [&busiest, &burst, &span] {
        assert_eq!(
            (&part["replays"], number(&part["all"], "messages")),
            (&2.into(), 2 * number(part, "messages"))
        );
        let names: Vec<&str> = part["all"]["predicted"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["name"].as_str().unwrap())
            .collect();
        let models = [
            "constant",
            "by type",
            "by type and idle time",
            "own and idle time",
            "own, interrupted",
        ];
        assert_eq!(names, models);
        let measured = &part["all"]["measured"];
        assert!(number(measured, "p50") > 0, "{measured}");
        assert!(number(measured, "largest_ns") >= number(measured, "p99.9"), "{measured}");
    }
}

#[test]
fn receive_times_of_a_capture_and_another_speed_are_a_schedule_too() {
    if !has_memory_for_benchmarks() {
        return;
    }
    let folder = Folder::new("queue-validate-capture");
    let day = folder.day(2_000, 10);
    let capture = capture_of(&fs::read(&day).unwrap(), 0..0);
    let capture = folder.write("20191230.pcapng", &capture);
    // Packets of up to seven messages, 10 us apart: at a speed of 100 the plant is never idle.
    let found = validation(&[&capture, "--validate=busiest", "--rounds", "1", "--speed", "100"]);
    assert_eq!(found["speed"], 100.0);
    let part = &found["parts"][0];
    assert_eq!(part["messages"], 2_000);
    let ran = nanotape(["lab", "queue", &capture, "--validate=busiest", "--rounds", "1"]);
    for line in ["busiest second: 2,000 messages", "quiet messages:", "what explains it"] {
        assert!(ran.stdout.contains(line), "{line}: {}", ran.stdout);
    }
}

#[test]
fn what_cannot_be_replayed_is_refused() {
    if !has_memory_for_benchmarks() {
        return;
    }
    let folder = Folder::new("queue-validate-refused");
    let day = folder.day(2_000, 10);
    let dbn = folder.path("day.dbn");
    assert_eq!(nanotape(["convert", &day, "--date", "2019-12-30", "-o", &dbn]).status, 0);
    let none: &[&str] = &[];
    for (input, arguments, message) in [
        (&dbn, none, "--validate needs a day file or a capture"),
        (&day, &["--format", "csv"], "CSV has no replay"),
        (&day, &["--cpu", "9999"], "--cpu 9999: "),
    ] {
        let ran = nanotape([&["lab", "queue", input, "--validate"], arguments].concat());
        assert_eq!(ran.status, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains(message) && ran.stdout.is_empty(), "{}", ran.stderr);
    }
    for part in ["--validate=open", "--validate=10:00..09:00", "--validate=09:30..09:40"] {
        let ran = nanotape(["lab", "queue", &day, part]);
        assert_eq!(ran.status, 2);
        assert!(ran.stderr.contains("expected busiest, burst, or a span"), "{}", ran.stderr);
    }
    let ran = nanotape_fed(["lab", "queue", "-", "--validate"], &fs::read(&day).unwrap());
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("standard input is read only once"), "{}", ran.stderr);
    let ran = nanotape(["lab", "queue", &day, "--validate=23:59..23:59:30"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("no message in the parts to replay"), "{}", ran.stderr);
}
