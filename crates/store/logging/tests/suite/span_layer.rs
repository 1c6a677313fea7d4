//! Spans of `tracing` in rings: of this process, and of another one that is switched and killed.

use std::{path::PathBuf, thread};

use nanotape_harness::{Peer, Scratch, Task, eventually, say};
use nanotape_journal::Start;
use nanotape_logging::{LeftOut, MAX_OPEN, MAX_SITES, SpanCounts, SpanLayer, SpanLayerOptions};
use nanotape_shm::{OwnerState, beside};
use nanotape_trace::spans::{Polled, Rate, Request, Span, SpanReader};
use tracing::{Dispatch, dispatcher, info_span};
use tracing_subscriber::layer::SubscriberExt as _;

/// The region of a thread of the layer of this path.
fn region(scratch: &Scratch, thread: &str) -> PathBuf {
    beside(scratch.path(), &format!(".trace.{thread}"))
}

fn layer(scratch: &Scratch, options: SpanLayerOptions) -> (Dispatch, SpanCounts) {
    let layer = SpanLayer::open_with(scratch.path().to_str().unwrap(), options).unwrap();
    let counts = layer.counts();
    (tracing_subscriber::registry().with(layer).into(), counts)
}

/// Runs in a thread of this name, whose spans the layer records.
fn in_thread<T: Send>(name: &str, of: &Dispatch, run: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let thread = thread::Builder::new().name(name.to_owned());
        let running = thread.spawn_scoped(scope, || dispatcher::with_default(of, run)).unwrap();
        running.join().unwrap()
    })
}

/// Switches all sites, also those that appear later.
fn switch(path: &std::path::Path, rate: Rate) {
    let reader = SpanReader::open(path, Start::Newest).unwrap();
    let rates = vec![rate; reader.rates().len()];
    Request::send(&reader, &rates).unwrap().wait().unwrap();
}

/// The spans of a region: their site, number and value.
fn spans(path: &std::path::Path) -> Vec<(String, u64, u64)> {
    let mut reader = SpanReader::open(path, Start::Oldest).unwrap();
    let mut spans = Vec::new();
    let mut last = None::<Span>;
    loop {
        match reader.try_next().unwrap() {
            Polled::Span(span) => {
                // In the order of their ends.
                assert!(last.is_none_or(|last| last.to <= span.to), "{span:?}");
                last = Some(span);
                let name = reader.sites()[span.site.index()].name.unwrap().to_string();
                spans.push((name, span.number, span.value));
            }
            Polled::Empty => return spans,
            other => panic!("{other:?}"),
        }
    }
}

fn named(name: &str, number: u64, value: u64) -> (String, u64, u64) {
    (name.to_owned(), number, value)
}

#[test]
fn spans_have_the_numbers_of_their_fields_or_of_the_span_around_them() {
    let scratch = Scratch::new("numbers");
    let (dispatch, counts) = layer(&scratch, SpanLayerOptions::default());
    let path = region(&scratch, "work-er");
    in_thread("work.er", &dispatch, || {
        info_span!("before").in_scope(|| ());
        switch(&path, Rate::ALL);
        let outer = info_span!("Handle Message", sequence = 7_u64);
        outer.in_scope(|| {
            info_span!("parse", value = 3).in_scope(|| ());
            info_span!("store", number = 9_u64, other = "x").in_scope(|| ());
            info_span!(parent: None, "apart").in_scope(|| ());
        });
        let inner = info_span!(parent: &outer, "inner", value = tracing::field::Empty);
        inner.record("value", 5_u64);
        inner.in_scope(|| ());
        inner.in_scope(|| ());
        switch(&path, Rate::Off);
        info_span!("after", sequence = 1_u64).in_scope(|| ());
    });
    let found = spans(&path);
    let own = found[2].1;
    assert!(own >= 1 << 63, "{own}");
    let expected = [
        named("parse", 7, 3),
        named("store", 9, 0),
        named("apart", own, 0),
        named("handle-message", 7, 0),
        named("inner", 7, 5),
        named("inner", 7, 5),
    ];
    assert_eq!(found, expected);
    assert_eq!(counts.left_out(), LeftOut::default());
    let owner = SpanReader::open(&path, Start::Newest).unwrap().owner();
    assert_eq!(owner.state, OwnerState::Closed, "the thread has ended");
}

#[test]
fn a_span_that_another_thread_enters_is_in_the_ring_of_that_thread() {
    let scratch = Scratch::new("moved");
    let (dispatch, _) = layer(&scratch, SpanLayerOptions::default());
    let [one, two] = ["one", "two"].map(|name| region(&scratch, name));
    let (span, moved) = in_thread("one", &dispatch, || {
        info_span!("first").in_scope(|| ());
        switch(&one, Rate::ALL);
        info_span!("second", sequence = 1_u64).in_scope(|| ());
        let span = info_span!("third", sequence = 2_u64);
        let moved = span.clone();
        span.in_scope(|| ());
        (span, moved)
    });
    in_thread("two", &dispatch, || {
        info_span!("second").in_scope(|| ());
        switch(&two, Rate::ALL);
        moved.in_scope(|| info_span!("second").in_scope(|| ()));
    });
    drop(span);
    assert_eq!(spans(&one), [named("second", 1, 0), named("third", 2, 0)]);
    assert_eq!(spans(&two), [named("second", 2, 0), named("third", 2, 0)]);
    // A thread of the same name replaces the files.
    in_thread("two", &dispatch, || info_span!("second").in_scope(|| ()));
    assert_eq!(spans(&two), []);
}

#[test]
fn what_is_too_much_is_counted() {
    let scratch = Scratch::new("bounds");
    let options = SpanLayerOptions { threads: 1, spans: 64, ..SpanLayerOptions::default() };
    let (dispatch, counts) = layer(&scratch, options);
    let path = region(&scratch, "only");
    in_thread("only", &dispatch, || {
        info_span!("first").in_scope(|| ());
        switch(&path, Rate::ALL);
        in_thread("more", &dispatch, || info_span!("first").in_scope(|| ()));
        assert_eq!(counts.left_out().threads, 1);
        let spans: Vec<_> =
            (0..MAX_OPEN as u64 + 1).map(|at| info_span!("x", number = at)).collect();
        let left_out = counts.left_out().open;
        assert!((1..MAX_OPEN as u64 / 2).contains(&left_out), "{left_out}");
        drop(spans);
        let span = info_span!("x", number = 5_u64);
        span.in_scope(|| ());
        assert_eq!(counts.left_out(), LeftOut { threads: 1, names: 0, open: left_out });
    });
    assert_eq!(spans(&path).last(), Some(&named("x", 5, 0)));
    assert!(!region(&scratch, "more").exists());
}

/// As many call sites with different names as its argument has.
macro_rules! spans_named {
    ($($name:literal)*) => { $(info_span!($name).in_scope(|| ());)* };
}

#[test]
fn names_beyond_the_last_site_are_counted() {
    let scratch = Scratch::new("names");
    let (dispatch, counts) = layer(&scratch, SpanLayerOptions::default());
    let path = region(&scratch, "names");
    let work = || {
        spans_named!("a0" "a1" "a2" "a3" "a4" "a5" "a6" "a7" "a8" "a9" "b0" "b1" "b2" "b3" "b4");
        spans_named!("b5" "b6" "b7" "b8" "b9" "c0" "c1" "c2" "c3" "c4" "c5" "c6" "c7" "c8" "c9");
        spans_named!("d0" "d1" "d2" "d3" "d4" "d5" "d6" "d7" "d8" "d9" "e0" "e1" "e2" "e3" "e4");
        spans_named!("e5" "e6" "e7" "e8" "e9" "f0" "f1" "f2" "f3" "f4" "f5" "f6" "f7" "f8" "f9");
        spans_named!("g0" "g1" "g2" "g3" "G0" "g4" "g5");
    };
    in_thread("names", &dispatch, || {
        info_span!("a0").in_scope(|| ());
        switch(&path, Rate::ALL);
        work();
        work();
    });
    assert_eq!(SpanReader::open(&path, Start::Newest).unwrap().sites().len(), MAX_SITES);
    assert_eq!(spans(&path).len(), 2 * (MAX_SITES + 1));
    assert_eq!(counts.left_out(), LeftOut { names: 4, ..LeftOut::default() });
}

/// The traced process: works until it is killed. Returns at once in a run of the tests.
#[test]
fn working() {
    let Some(task) = Task::of_this_process() else { return };
    let layer = SpanLayer::open(task.path.to_str().unwrap()).unwrap();
    let dispatch = tracing_subscriber::registry().with(layer).into();
    in_thread("main", &dispatch, || {
        info_span!("message").in_scope(|| ());
        say("ready");
        for sequence in 1_u64.. {
            info_span!("message", sequence).in_scope(|| {
                info_span!("parse").in_scope(|| ());
                info_span!("store", value = sequence + 1).in_scope(|| ());
            });
        }
    });
}

#[test]
fn another_program_is_switched_while_it_runs_and_leaves_its_last_spans() {
    let scratch = Scratch::new("working");
    let mut peer = Peer::start(Task::new("working", scratch.path()).command("span_layer::working"));
    assert_eq!(peer.receive(), "ready");
    let path = region(&scratch, "main");
    let written = || SpanReader::open(&path, Start::Newest).unwrap().next_sequence() - 1;
    assert_eq!(written(), 0);
    switch(&path, Rate::one_in(4).unwrap());
    eventually("spans of the program", || written() > 300);
    switch(&path, Rate::Off);
    let few = written();
    thread::sleep(std::time::Duration::from_millis(20));
    assert!(written() <= few + 3, "off");
    switch(&path, Rate::ALL);
    eventually("all spans of the program", || written() > few + 10_000);
    peer.kill();
    let found = spans(&path);
    let sites = ["parse", "store", "message"];
    // Long after the change of the switches: a message whose span was made before has others.
    let last = &found[found.len() - 9_000..];
    let first = last.iter().position(|span| span.0 == "parse").unwrap();
    let mut messages = last[first..].chunks_exact(3);
    for message in messages.by_ref() {
        let number = message[0].1;
        let expected = [0, number + 1, 0];
        for (span, (site, value)) in message.iter().zip(sites.iter().zip(expected)) {
            assert_eq!(*span, named(site, number, value));
        }
    }
    assert!(found.len() > 10_000);
    assert_eq!(SpanReader::open(&path, Start::Newest).unwrap().owner().state, OwnerState::Dead);
}
