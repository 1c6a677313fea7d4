//! Spans of another process: one that works, and one that was killed.

use std::{os::unix::fs::MetadataExt as _, path::Path};

use nanotape_clock::Clock;
use nanotape_harness::{Peer, Scratch, Task, eventually, say};
use nanotape_ring::Start;
use nanotape_shm::OwnerState;
use nanotape_trace::spans::{
    Polled, Rate, Request, Site, Sites, Span, SpanReader, Tracer, TracerOptions,
    build_of_this_program,
};

const SITES: Sites = Sites::new(&["work.parse", "work.store"]);
const PARSE: Site = SITES.site("work.parse");
const STORE: Site = SITES.site("work.store");

/// Spans that the ring keeps.
const KEPT: u64 = 1 << 10;

/// The traced process: works until it is killed. Returns at once in a run of the tests.
#[test]
fn worker() {
    let Some(task) = Task::of_this_process() else { return };
    let options = TracerOptions { spans: KEPT as usize, ..TracerOptions::default() };
    let mut tracer = Tracer::create(&task.path, SITES, Clock::calibrate(), &options).unwrap();
    tracer.switches().set(&[Rate::ALL; 2]);
    say("ready");
    for number in 1.. {
        tracer.begin(PARSE, number);
        tracer.end(PARSE, number, number);
        tracer.end(STORE, number, !number);
    }
}

fn start(path: &Path) -> Peer {
    let mut worker = Peer::start(Task::new("worker", path).command("worker"));
    assert_eq!(worker.receive(), "ready");
    worker
}

/// Checks that a span follows the one before it in the work of the process.
fn check(span: Span, last: Option<Span>) {
    let expected = if span.site == PARSE { span.number } else { !span.number };
    assert_eq!(span.value, expected, "{span:?}");
    let Some(last) = last else { return };
    match span.site {
        STORE => assert_eq!((last.site, last.number, last.to), (PARSE, span.number, span.from)),
        _ => assert_eq!((last.site, last.number + 1), (STORE, span.number)),
    }
    assert!(last.to <= span.from, "{last:?} {span:?}");
}

/// A traced process of the build in its task, 0 for its own: all sites are off, and it answers
/// requests. Returns at once in a run of the tests.
#[test]
fn answering() {
    let Some(task) = Task::of_this_process() else { return };
    let build = if task.number == 0 { build_of_this_program() } else { task.number };
    let options = TracerOptions { build, ..TracerOptions::default() };
    let tracer = Tracer::create(&task.path, SITES, Clock::calibrate(), &options).unwrap();
    let mut answers = tracer.answers().unwrap();
    say("ready");
    loop {
        answers.poll();
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

#[test]
fn another_process_switches_the_sites() {
    let scratch = Scratch::new("answering");
    let mut peer = Peer::start(Task::new("answering", scratch.path()).command("answering"));
    assert_eq!(peer.receive(), "ready");
    let reader = SpanReader::open(scratch.path(), Start::Oldest).unwrap();
    let rates = |reader: &SpanReader| -> Vec<_> {
        reader.sites().into_iter().map(|site| site.rate.unwrap()).collect()
    };
    assert_eq!(rates(&reader), [Rate::Off; 2]);
    for wanted in [[Rate::Off, Rate::one_in(16).unwrap()], [Rate::ALL; 2], [Rate::Off; 2]] {
        Request::send(&reader, &wanted).unwrap().wait().unwrap();
        assert_eq!(rates(&reader), wanted);
    }
    assert!(!scratch.join("answering.request").exists());

    // A request of a process that is gone is none.
    let request = Request::send(&reader, &[Rate::ALL; 2]).unwrap();
    let error = Request::send(&reader, &[Rate::Off; 2]).unwrap_err().to_string();
    assert!(error.ends_with("is switching its sites just now: try again"), "{error}");
    request.wait().unwrap();

    peer.kill();
    let pid = reader.owner().pid;
    let error = Request::send(&reader, &[Rate::ALL; 2]).unwrap_err().to_string();
    let end = format!("process {pid} has ended, so its sites cannot be switched");
    assert!(error.ends_with(&end), "{error}");
}

#[test]
fn a_process_of_another_build_or_user_is_not_switched() {
    let scratch = Scratch::new("other");
    let mut peer = Peer::start(Task::new("other", scratch.path()).number(7).command("answering"));
    assert_eq!(peer.receive(), "ready");
    let reader = SpanReader::open(scratch.path(), Start::Oldest).unwrap();
    let error = Request::send(&reader, &[Rate::ALL; 2]).unwrap_err().to_string();
    assert!(error.contains("runs another build of this program"), "{error}");

    // Only root can give a file away.
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    if is_root && std::os::unix::fs::chown(scratch.path(), Some(65_534), None).is_ok() {
        let error = Request::send(&reader, &[Rate::ALL; 2]).unwrap_err().to_string();
        assert!(error.contains("belongs to user 65534, and answers only that user"), "{error}");
    }
    assert!(reader.sites().iter().all(|site| site.rate == Some(Rate::Off)));
}

#[test]
fn the_spans_of_a_working_process_are_whole_and_in_order() {
    let scratch = Scratch::new("worker");
    let _worker = start(scratch.path());
    let mut reader = SpanReader::open(scratch.path(), Start::Oldest).unwrap();
    let (mut last, mut read, mut lost) = (None, 0, 0);
    while read < 100_000 {
        match reader.try_next().unwrap() {
            Polled::Span(span) => {
                check(span, last);
                (last, read) = (Some(span), read + 1);
            }
            Polled::Lost(gap) => (last, lost) = (None, lost + gap.count()),
            Polled::Empty => {}
            Polled::Damaged { sequence } => panic!("damage at {sequence}"),
        }
    }
    // The process waits for no reader.
    assert!(lost + read >= KEPT);
}

#[test]
fn a_killed_process_leaves_its_last_spans() {
    for _ in 0..10 {
        let scratch = Scratch::new("worker");
        let mut worker = start(scratch.path());
        let newest = SpanReader::open(scratch.path(), Start::Newest).unwrap().next_sequence();
        eventually("the ring is full", || {
            let reader = SpanReader::open(scratch.path(), Start::Newest).unwrap();
            reader.next_sequence() > newest + 2 * KEPT
        });
        worker.kill();
        let mut reader = SpanReader::open(scratch.path(), Start::Oldest).unwrap();
        assert_eq!(reader.owner().state, OwnerState::Dead);
        let (mut last, mut read) = (None, 0);
        loop {
            match reader.try_next().unwrap() {
                Polled::Span(span) => {
                    check(span, last);
                    (last, read) = (Some(span), read + 1);
                }
                Polled::Empty => break,
                other => panic!("{other:?} after {read} spans"),
            }
        }
        // A span that was being written is not there.
        assert!((KEPT - KEPT / 4 - 1..=KEPT).contains(&read), "{read} spans");
    }
}
