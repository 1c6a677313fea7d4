//! A plant, its recorder and its tap as processes with spans, switched while they run: the spans of
//! one message are joined over all three.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    thread,
};

use nanotape_board::{PLANT_THREAD, trace_names, trace_path};
use nanotape_harness::eventually;
use nanotape_ring::Start;
use nanotape_shm::OwnerState;
use nanotape_trace::spans::{Polled, Span, SpanReader};
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{
    Folder,
    live::{self, Plant},
    nanotape,
    plants::Ring,
    running::{Running, json, objects},
};

/// A span with the name of its site.
type Named = (String, Span);

/// All spans of a thread of this ring that are still there.
fn spans(ring: &Path, thread: &str) -> Vec<Named> {
    let mut reader = SpanReader::open(&trace_path(ring, thread), Start::Oldest).unwrap();
    let sites = reader.sites();
    let mut spans = Vec::new();
    loop {
        match reader.try_next().unwrap() {
            Polled::Span(span) => {
                spans.push((sites[span.site.index()].name.unwrap().to_string(), span));
            }
            Polled::Lost(_) => {}
            Polled::Empty => return spans,
            Polled::Damaged { sequence } => panic!("span {sequence} is damaged"),
        }
    }
}

fn trace(arguments: &[&str]) -> Vec<Value> {
    let ran = nanotape([&["trace"], arguments, &["--format", "json"]].concat());
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{arguments:?}");
    objects(&ran.stdout)
}

fn by_message(spans: Vec<Named>) -> BTreeMap<u64, Vec<Named>> {
    let mut messages: BTreeMap<u64, Vec<Named>> = BTreeMap::new();
    for named in spans {
        messages.entry(named.1.number).or_default().push(named);
    }
    messages
}

/// The threads that can be switched: a region has its name before its owner is alive.
fn alive(ring: &Path) -> Vec<String> {
    let mut names = trace_names(ring);
    names.retain(|name| {
        let reader = SpanReader::open(&trace_path(ring, name), Start::Oldest);
        reader.is_ok_and(|reader| reader.owner().state == OwnerState::Alive)
    });
    names
}

#[test]
fn a_live_day_is_traced_in_its_plant_recorder_and_tap_while_they_run() {
    let folder = Folder::new("trace-live");
    let day = live::day(&folder);
    let (journal, kept, rows) =
        (folder.path("journal"), folder.path("kept"), folder.path("rows.csv"));
    let options = ["--join", "start", "--journal", &journal, "--keep", &kept];
    let spans_option = ["--trace-spans", "262144"];
    let mut plant = Plant::start("trace-live", &[&options[..], &spans_option].concat());
    let ring = plant.ring.0.clone();
    let tap = ["tap", plant.ring.path(), "--from", "oldest", "-o", &rows];
    let mut tap = Running::start(&tap);
    eventually("all threads have spans", || alive(&ring) == ["plant", "recorder", "tap"]);

    thread::scope(|scope| {
        let sending = scope.spawn(|| {
            let faults = ["--faults-a", "drop=2%,reorder=1%x4", "--faults-b", "drop=2%"];
            let pace = ["--pace", "10000x", "--linger", "5s", "--seed", "3"];
            plant.send(&day, &[faults.as_slice(), &pace].concat())
        });
        eventually("the session has begun", || plant.ring.next_sequence() > 100);
        let on = trace(&["on", plant.ring.path(), "--one-in", "16"]);
        let threads: BTreeSet<&str> = on
            .iter()
            .map(|row| row["thread"].as_str().unwrap().rsplit(' ').next().unwrap())
            .collect();
        assert_eq!(threads, BTreeSet::from(["plant", "recorder", "tap"]));
        assert!(on.iter().all(|row| row["rate"] == "1/16"), "{on:?}");
        eventually("spans of all", || {
            ["plant", "recorder", "tap"].iter().all(|thread| !spans(&ring, thread).is_empty())
        });
        trace(&["off", plant.ring.path()]);
        trace(&["on", plant.ring.path()]);
        sending.join().unwrap();
    });
    let (_, stop, stderr) = plant.end();
    assert_eq!(stop["reason"], "end of session", "{stop} {stderr}");
    let (status, _, said) = tap.end();
    assert_eq!(status, Some(0), "{said}");

    check_joined(&ring, &rows);
    check_digest(&plant, &kept);

    // A flight recorder has all three.
    let copy = folder.path("all.json");
    let copied = nanotape(["trace", "record", plant.ring.path(), "--now", "-o", &copy]);
    assert_eq!(copied.status, 0, "{}", copied.stderr);
    let copy = json(&fs::read_to_string(&copy).unwrap());
    for site in ["plant.receive", "plant.ring", "recorder.append", "recorder.show", "tap.print"] {
        let is_of_site = |event: &Value| event["ph"] == "X" && event["name"] == site;
        assert!(copy["traceEvents"].as_array().unwrap().iter().any(is_of_site), "{site}");
    }
}

/// Checks that the spans of a message are of its records, in all threads, and in order.
fn check_joined(ring: &Path, rows: &str) {
    let plant = by_message(spans(ring, PLANT_THREAD));
    // The number of the message of each record, as the tap printed it.
    let rows = fs::read_to_string(rows).unwrap();
    let (header, rows) = rows.split_once('\n').unwrap();
    let place = |name: &str| header.split(',').position(|column| column == name).unwrap();
    let (sequence, message) = (place("sequence"), place("message"));
    let mut printed = BTreeMap::new();
    for row in rows.lines() {
        let cells: Vec<&str> = row.split(',').collect();
        if let Ok(number) = cells[message].parse::<u64>() {
            printed.insert(cells[sequence].parse::<u64>().unwrap(), number);
        }
    }
    for (thread, read, done) in
        [("recorder", "recorder.read", "recorder.append"), ("tap", "tap.read", "tap.print")]
    {
        let (mut joined, mut last) = (0, None);
        for (site, span) in spans(ring, thread) {
            let record = span.value;
            assert_eq!(printed.get(&record), Some(&span.number), "{thread}: {site} {span:?}");
            if site == read {
                let stages = plant.get(&span.number).map_or(&[][..], Vec::as_slice);
                if let Some((_, published)) = stages.iter().find(|(at, _)| at == "plant.records") {
                    assert!(span.to > published.from, "{thread}: {span:?} {published:?}");
                    assert!(record < published.value, "{thread}: {span:?} {published:?}");
                    joined += 1;
                }
            } else if site == done && last.is_some() {
                assert_eq!(last, Some((record, span.from)), "{thread}");
            }
            last = Some((record, span.to));
        }
        assert!(joined > 1_000, "{thread}: {joined} records joined");
    }
    // The stages of a message in the plant join without a moment between them.
    let last = *plant.keys().next_back().unwrap();
    for (number, message) in plant.range(last - 5_000..) {
        // After a slow one, the kernel is queried.
        let names = message.iter().map(|(site, _)| site.as_str());
        let names: Vec<&str> = names.filter(|site| !site.starts_with("kernel.")).collect();
        assert!(
            names.contains(&"plant.arbitrate") && names.ends_with(&["plant.ring"]),
            "{names:?}"
        );
        for pair in message.windows(2) {
            assert_eq!(pair[0].1.to, pair[1].1.from, "message {number}: {message:?}");
        }
    }
}

/// The same packets have the same records in a plant without spans.
fn check_digest(plant: &Plant, kept: &str) {
    let again = Ring::new("trace-live-again");
    let run = ["run", "--input", kept, "--ring", again.path(), "--capacity", "64MiB"];
    let ran = nanotape([&run[..], &["--trace-spans", "0", "--format", "json"]].concat());
    assert!(ran.status < 2, "{}", ran.stderr);
    assert_eq!(again.stop().digest, plant.ring.stop().digest);
}

#[test]
fn a_killed_recorder_leaves_its_last_spans_and_keeps_no_one_from_being_switched() {
    let folder = Folder::new("trace-killed");
    let ring = Ring::new("trace-killed");
    let day = folder.day(100_000, 20);
    let (_plant, begun) = Running::plant(&day, &ring, &["--pace-from", "09:30"]);
    assert_eq!(begun["event"], "start");
    let journal = folder.path("journal");
    let record = ["journal", "record", ring.path(), &journal];
    let mut recorder = Running::start(&record);
    eventually("the recorder has spans", || alive(&ring.0) == ["plant", "recorder"]);
    trace(&["on", ring.path()]);
    eventually("spans of the recorder", || spans(&ring.0, "recorder").len() > 10);
    recorder.signal(Signal::KILL);
    recorder.end();

    let left = spans(&ring.0, "recorder");
    let (site, span) = left.last().unwrap();
    assert!(site.starts_with("recorder."), "{site}");
    assert!(span.number > 0 && span.value > 0);
    let list = trace(&["off", ring.path()]);
    let rates_of = |state: &str| -> Vec<&str> {
        let rows = list.iter().filter(|row| row["state"] == state);
        rows.map(|row| row["rate"].as_str().unwrap()).collect()
    };
    assert_eq!((rates_of("alive"), rates_of("dead")), (vec!["off"; 18], vec!["all"; 4]));

    // The next one takes its place.
    let mut next = Running::start(&record);
    eventually("the next recorder has spans", || alive(&ring.0) == ["plant", "recorder"]);
    next.signal(Signal::INT);
    let (status, _, stderr) = next.end();
    assert_eq!(status, Some(0), "{stderr}");
    assert_eq!(trace_names(&ring.0), ["plant"], "it had no spans");
}
