//! A storm of triggers: everything is counted, memory and copies are bounded.

use nanotape_harness::{Random, Scratch};
use nanotape_trace::flight::{Condition, Options};

use crate::{SECOND, fakes, open, pass, rings::Model};

#[test]
fn a_million_triggers_are_counted_and_few_are_copied() {
    let scratch = Scratch::folder("storm");
    let mut random = Random::new(3);
    let mut fakes = fakes(&scratch, 2, 1 << 10);
    let spans = 1 << 10;
    let site = |site: &str, above_ns| Condition::Site { site: site.to_owned(), above_ns };
    let conditions = vec![
        site("book.apply", 0),               // each span
        Condition::Thread { above_ns: 0 },   // each message in each thread
        Condition::Message { above_ns: 60 }, // some messages
        site("book.decode", 9_000),          // one in 20,000
    ];
    let options = Options {
        conditions,
        spans,
        in_flight: 1 << 13,
        at_once: 8,
        per_minute: 60,
        after_ns: 1_000,
        ..Options::default()
    };
    let (at_once, per_second) = (8, 1);
    let mut recorder = open(&fakes, options).unwrap();
    let bytes = recorder.bytes();
    let mut model = Model::open(&fakes, spans);
    let (mut now, mut number, mut requests) = (1 << 40, 0, 0);
    let begin = now;
    let mut copies = Vec::new();
    let fired = |summary: &nanotape_trace::flight::Summary| -> u64 {
        summary.conditions.iter().map(|(_, count)| count.fired).sum()
    };
    while fired(&recorder.summary()) < 1_000_000 {
        for _ in 0..random.below(60) {
            number += 1;
            let decode = if number % 20_000 == 0 { 10_000 } else { 10 };
            now = pass(&mut fakes, number, now, [decode, 1 + random.below(20)]);
            // A message each millisecond, so there are 3 minutes.
            now += 1_000_000;
        }
        if number / 25_000 > requests {
            recorder.request("a request each 25 s", now);
            requests += 1;
        }
        model.poll();
        if let Some(snapshot) = recorder.poll(now, || 0).snapshot {
            model.check(&snapshot.recording());
            copies.push(now);
            assert!(recorder.give_back(snapshot));
        }
    }
    let summary = recorder.summary();
    model.check_counts(&summary, requests);
    assert_eq!((summary.bytes, recorder.bytes()), (bytes, bytes));
    // Kept spans of two threads and of two copies, 40 bytes each, and messages of 32.
    assert_eq!(bytes, (1 + 2) * 2 * spans * 40 + ((1 << 13) + 2 * 256) * 32);
    let seconds = (now - begin) / SECOND;
    assert!(copies.len() as u64 <= at_once + per_second * (seconds + 1), "{summary:?}");
    assert!(copies.len() as u64 >= at_once + per_second * seconds - 4, "{summary:?}");
    for (at, first) in copies.iter().enumerate() {
        for (more, last) in copies[at..].iter().enumerate() {
            let most = at_once + per_second * ((last - first) / SECOND + 1);
            assert!((more as u64) < most, "{more} copies in {} ns", last - first);
        }
    }
    // The rare ones get their copies, although the others take every token that is free.
    for (name, rare) in [("slow", summary.conditions[3].1), ("request", summary.requests)] {
        assert!(rare.fired >= 5 && rare.dropped == 0, "{name}: {rare:?}");
    }
    assert!(summary.conditions[0].1.dropped > 100_000);
}

#[test]
fn without_free_memory_triggers_are_dropped_and_counted() {
    let scratch = Scratch::folder("storm");
    let fakes = fakes(&scratch, 1, 1 << 10);
    let options = Options { copies: 2, after_ns: 0, at_once: 100, ..Options::default() };
    let mut recorder = open(&fakes, options).unwrap();
    let mut held = Vec::new();
    for now in 0..10 {
        recorder.request("a caller that keeps copies", now);
        held.extend(recorder.poll(now, || 0).snapshot);
    }
    let requests = recorder.summary().requests;
    assert_eq!((held.len(), requests.copied, requests.dropped), (2, 2, 8));
    assert!(recorder.give_back(held.pop().unwrap()));
    recorder.request("a caller that gives one back", 11);
    assert!(recorder.poll(11, || 0).snapshot.is_some());
}
