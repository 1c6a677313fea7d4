//! The flight recorder: against a model that keeps everything, in a storm, and with real processes.

#[path = "../export/expected.rs"]
mod expected;
mod processes;
#[path = "../export/python.rs"]
mod python;
mod rings;
mod storm;

use nanotape_clock::Clock;
use nanotape_harness::{Random, Scratch, skipped};
use nanotape_trace::{
    flight::{Cause, Condition, FlightError, Options, Recorder},
    spans::{Tracer, TracerOptions},
};
use rings::{APPLY, DECODE, Fake, Model, SITES, spans_of_triggers};

const SECOND: u64 = 1_000_000_000;

fn fakes(scratch: &Scratch, count: usize, spans: usize) -> Vec<Fake> {
    (0..count).map(|at| Fake::new(&scratch.join(format!("thread-{at}")), spans)).collect()
}

fn open(fakes: &[Fake], options: Options) -> Result<Recorder, FlightError> {
    let paths: Vec<_> = fakes.iter().map(|fake| fake.path.clone()).collect();
    Recorder::open("plant", &paths, options)
}

/// A message of both stages in each thread; returns the time after it.
fn pass(fakes: &mut [Fake], number: u64, mut now: u64, took: [u64; 2]) -> u64 {
    for fake in fakes {
        fake.span(DECODE, number, now, now + took[0]);
        fake.span(APPLY, number, now + took[0], now + took[0] + took[1]);
        now += took[0] + took[1] + 5;
    }
    now
}

fn all_conditions() -> Vec<Condition> {
    let site = |site: &str, above_ns| Condition::Site { site: site.to_owned(), above_ns };
    vec![
        Condition::Message { above_ns: 700 },
        Condition::Thread { above_ns: 300 },
        site("book.apply", 250),
        site("book.apply", 100),
        Condition::Message { above_ns: 900 },
        site("book.decode", 290),
    ]
}

#[test]
fn every_trigger_and_copy_is_that_of_a_model_that_keeps_everything() {
    for seed in 0..20 {
        let scratch = Scratch::folder("flight");
        let mut random = Random::new(seed);
        let mut fakes = fakes(&scratch, 3, 1 << 10);
        let (conditions, spans) = (all_conditions(), 512);
        let options = Options { conditions, spans, in_flight: 1 << 12, ..Options::default() };
        let mut recorder = open(&fakes, options).unwrap();
        let mut model = Model::open(&fakes, spans);
        let (mut now, mut number, mut copies, mut requests) = (1 << 40, 0, 0, 0);
        for _ in 0..1_000 {
            // Sometimes more than the ring has.
            let messages = if random.below(100) == 0 { 800 } else { random.below(40) };
            for _ in 0..messages {
                number += 1;
                now = pass(&mut fakes, number, now, [random.below(300), random.below(270)]);
                let gap = random.below(100);
                now += if gap == 0 { 5_000 } else { gap };
            }
            if random.below(50) == 0 {
                recorder.request("the command line", now);
                requests += 1;
            }
            model.poll();
            if let Some(snapshot) = recorder.poll(now, || 0).snapshot {
                model.check(&snapshot.recording());
                assert!(!snapshot.triggers().is_empty());
                assert!(recorder.give_back(snapshot));
                copies += 1;
            }
        }
        let summary = recorder.summary();
        model.check_counts(&summary, requests);
        assert!(summary.copies == copies && copies > 0, "{summary:?}");
        assert!(summary.losses.fired > 0 && summary.conditions.iter().all(|of| of.1.fired > 0));
    }
}

#[test]
fn a_copy_shows_what_followed_the_trigger_and_still_has_the_message() {
    let scratch = Scratch::folder("flight");
    let mut fakes = fakes(&scratch, 2, 1 << 12);
    let conditions = vec![Condition::Message { above_ns: 1_000 }];
    let options = Options { conditions, spans: 1 << 10, after_ns: 5_000, ..Options::default() };
    let mut recorder = open(&fakes, options).unwrap();
    let mut now = 1 << 40;
    for number in 0..3_000 {
        now = pass(&mut fakes, number, now, [10, 20]);
    }
    while recorder.poll(now, || 0).read > 0 {}
    now = pass(&mut fakes, 9_999, now, [10, 2_000]);
    assert!(recorder.poll(now, || 0).snapshot.is_none(), "the copy waits for what follows");
    let later = pass(&mut fakes, 10_000, now, [10, 20]);
    assert!(recorder.poll(now + 4_999, || 0).snapshot.is_none());
    let snapshot = recorder.poll(now + 5_000, || 0).snapshot.unwrap();
    assert_eq!(spans_of_triggers(&snapshot), [(9_999, 4)].into());
    let [trigger] = snapshot.triggers() else { panic!("one trigger") };
    // From the begin in the first thread to the first end that is too late.
    let expected = (Cause::Condition(0), Some(0), 2_010);
    assert_eq!((trigger.cause, trigger.thread, trigger.took_ns), expected);
    let recording = snapshot.recording();
    assert!(recording.threads.iter().all(|thread| thread.spans.last().unwrap().number == 10_000));
    let [instant] = &recording.instants[..] else { panic!("one instant") };
    assert_eq!(instant.name, "trigger: a message above 1000 ns");
    assert_eq!(instant.text, "message 9999: 2010 ns");
    let slow = recording.threads[0].spans.iter().find(|span| span.end_ns == instant.at_ns);
    assert_eq!(slow.map(|span| (span.number, span.site)), Some((9_999, APPLY.index())));
    assert!(recorder.give_back(snapshot));

    // A busy program: the copy ends before the message is overwritten, long before its time.
    now = pass(&mut fakes, 20_000, later, [10, 2_000]);
    assert!(recorder.poll(now, || 0).snapshot.is_none());
    let mut copy = None;
    for number in 20_001..20_400 {
        now = pass(&mut fakes, number, now, [10, 20]);
        if let Some(snapshot) = recorder.poll(1, || 0).snapshot {
            assert_eq!(spans_of_triggers(&snapshot), [(20_000, 4)].into());
            copy = copy.or(Some(number));
        }
    }
    // A quarter of 1,024 kept spans, two for each message.
    assert_eq!(copy, Some(20_128));
}

#[test]
fn a_recorder_above_its_own_budget_turns_itself_off() {
    let scratch = Scratch::folder("flight");
    let mut fakes = fakes(&scratch, 1, 1 << 10);
    let options = Options { cpu_limit: 0.25, ..Options::default() };
    let mut recorder = open(&fakes, options).unwrap();
    // A tenth of a CPU, and half of one from the fifth second on.
    let cpu =
        |now: u64| if now < 5 * SECOND { now / 10 } else { SECOND / 2 + (now - 5 * SECOND) / 2 };
    let mut off_at = None;
    for step in 0..100 {
        let now = step * SECOND / 10;
        pass(&mut fakes, step, now, [1, 1]);
        let polled = recorder.poll(now, || cpu(now));
        match recorder.off() {
            None => assert_eq!(polled.read, 2),
            Some(off) => {
                assert_eq!(polled.read, 0, "it does nothing more");
                off_at.get_or_insert((step, off));
            }
        }
    }
    let (step, off) = off_at.unwrap();
    assert!((51..=60).contains(&step) && off.share > 0.25, "step {step}: {off}");
    let text = "the recorder turned itself off after 6.0 s: it took 50.0% of a CPU, limit 25.0%";
    assert_eq!(off.to_string(), text);
    recorder.request("the command line", 0);
    assert!(recorder.finish().is_none());
    let summary = recorder.summary();
    assert_eq!((summary.requests.dropped, summary.off), (1, Some(off)));
}

#[test]
fn a_copy_that_was_started_is_made_when_the_recorder_ends() {
    let scratch = Scratch::folder("flight");
    let mut fakes = fakes(&scratch, 1, 1 << 10);
    let mut recorder = open(&fakes, Options { cpu_limit: 0.5, ..Options::default() }).unwrap();
    pass(&mut fakes, 1, 0, [1, 1]);
    recorder.poll(0, || 0);
    recorder.request("SIGUSR1", 77);
    let snapshot = recorder.finish().unwrap();
    assert_eq!((snapshot.spans(), recorder.finish().is_none()), (2, true));
    assert_eq!(snapshot.recording().instants[0].text, "SIGUSR1");
    assert!(recorder.give_back(snapshot));
    // Also when it turns itself off meanwhile.
    recorder.request("SIGUSR1", 78);
    let snapshot = recorder.poll(2 * SECOND, || 2 * SECOND).snapshot.unwrap();
    assert!(recorder.off().is_some());
    let mut other = open(&fakes, Options::default()).unwrap();
    assert!(!other.give_back(snapshot), "it is not a copy of this recorder");
}

#[test]
fn a_copy_waits_until_the_rings_are_read_to_their_end() {
    let scratch = Scratch::folder("flight");
    let mut fakes = fakes(&scratch, 1, 1 << 10);
    let mut recorder =
        open(&fakes, Options { spans: 1 << 10, after_ns: 10, ..Options::default() }).unwrap();
    recorder.poll(0, || 0);
    recorder.request("a test", 0);
    for number in 0..100 {
        pass(&mut fakes, number, 1_000 + number * 20, [1, 1]);
    }
    // An eighth of 1,024 spans, and then the rest of 200.
    let first = recorder.poll(1_000_000, || 0);
    assert_eq!((first.read, first.snapshot.is_some()), (128, false));
    let second = recorder.poll(1_000_001, || 0);
    assert_eq!((second.read, second.snapshot.map(|copy| copy.spans())), (72, Some(200)));
}

#[test]
fn spans_lost_before_the_first_are_counted_and_no_trigger() {
    let scratch = Scratch::folder("flight");
    let mut fakes = fakes(&scratch, 1, 64);
    let mut recorder = open(&fakes, Options::default()).unwrap();
    let mut lost = 0;
    for round in 0..2 {
        for number in 0..100 {
            pass(&mut fakes, number, round * 10_000 + number * 20, [1, 1]);
        }
        while recorder.poll(0, || 0).read > 0 {}
        let summary = recorder.summary();
        assert!(summary.threads[0].lost > lost, "{summary:?}");
        lost = summary.threads[0].lost;
        assert_eq!((summary.losses.fired, summary.losses.copied), (round, round));
    }
    let recording = recorder.finish().unwrap().recording();
    let shown: u64 = recording.threads[0].spans.iter().map(|span| span.lost_before).sum();
    assert_eq!(shown, lost);
    assert_eq!(recording.instants[0].name, "trigger: lost spans");
}

#[test]
fn a_message_that_is_no_span_is_damage_and_clocks_must_agree() {
    let scratch = Scratch::folder("flight");
    let mut fakes = fakes(&scratch, 1, 64);
    let mut recorder = open(&fakes, Options::default()).unwrap();
    fakes[0].span(APPLY, 1, 7, 6);
    fakes[0].span(APPLY, 2, 7, 8);
    assert_eq!(recorder.poll(0, || 0).read, 1);
    let [thread] = &recorder.summary().threads[..] else { panic!("one thread") };
    let found = (thread.name.as_str(), thread.damaged, thread.failed);
    assert_eq!(found, ("thread-0", 1, None));

    let (clock, path) = (Clock::calibrate(), scratch.join("other"));
    let _tracer = Tracer::create(&path, SITES, clock, &TracerOptions::default()).unwrap();
    if (clock.rate().ticks_per_second - 1e9).abs() > 1e8 {
        let paths = [fakes[0].path.clone(), path];
        let error = Recorder::open("plant", &paths, Options::default()).unwrap_err();
        assert!(error.to_string().ends_with("have different clocks: record them one by one"));
    } else {
        skipped("the clock of this machine has a tick of 1 ns, as the monotonic one");
    }
}

#[test]
fn wrong_options_are_refused_in_one_line() {
    let scratch = Scratch::folder("flight");
    let fakes = fakes(&scratch, 1, 64);
    let error = |options| open(&fakes, options).unwrap_err().to_string();
    let site = Condition::Site { site: "book.aply".to_owned(), above_ns: 5_000 };
    let text = "no thread has a site book.aply; the sites are book.apply, book.decode";
    assert_eq!(error(Options { conditions: vec![site], ..Options::default() }), text);
    let text = "spans is 63, but must be 64 to 16777216";
    assert_eq!(error(Options { spans: 63, ..Options::default() }), text);
    let range = "but must be above 0 and at most 1";
    for cpu_limit in [0.0, -1.0, f64::NAN, 1.5] {
        let text = format!("cpu_limit is {cpu_limit}, {range}");
        assert_eq!(error(Options { cpu_limit, ..Options::default() }), text);
    }
    error(Options { copies: 0, ..Options::default() });
    error(Options { in_flight: usize::MAX, ..Options::default() });
    error(Options {
        conditions: vec![Condition::Message { above_ns: 1 }; 31],
        ..Options::default()
    });
    let none = open(&[], Options::default()).unwrap_err().to_string();
    assert_eq!(none, "no traced thread: a recorder needs one to 65,535");
    assert!(Recorder::open("p", &[scratch.join("nothing")], Options::default()).is_err());
    assert_eq!(SITES.names().len(), 2);
}
