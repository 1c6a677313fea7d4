//! A recorder beside a real process, which is killed.

use std::{
    path::{Path, PathBuf},
    sync::mpsc,
};

use nanotape_clock::Clock;
use nanotape_harness::{Peer, Scratch, Task, eventually, say};
use nanotape_ring::Start;
use nanotape_trace::{
    export::{Format, Recording, write},
    flight::{Condition, Options, Recorder, Snapshot},
    spans::{Polled, Rate, Site, Sites, SpanReader, Tracer, TracerOptions},
};

use crate::{expected, python};

const FEED: Sites = Sites::new(&["feed.read"]);
const BOOK: Sites = Sites::new(&["book.wait", "book.apply"]);
const READ: Site = FEED.site("feed.read");
const WAIT: Site = BOOK.site("book.wait");
const APPLY: Site = BOOK.site("book.apply");

/// The traced process: two threads that pass messages, until it is killed. Returns at once in a run
/// of the tests.
#[test]
fn worker() {
    let Some(task) = Task::of_this_process() else { return };
    let clock = Clock::calibrate();
    let options = TracerOptions { spans: 1 << 12, ..TracerOptions::default() };
    let create = |name: &str, sites| {
        let tracer = Tracer::create(&task.path.join(name), sites, clock, &options).unwrap();
        tracer.switches().set(&[Rate::ALL; 2][..sites.names().len()]);
        tracer
    };
    let (mut feed, mut book) = (create("feed", FEED), create("book", BOOK));
    let (sender, receiver) = mpsc::sync_channel::<u64>(4);
    std::thread::spawn(move || {
        for number in receiver {
            book.end(WAIT, number, number + 1);
            std::hint::black_box(number.to_string());
            book.end(APPLY, number, number + 2);
        }
    });
    say("ready");
    for number in 1.. {
        feed.begin(READ, number);
        feed.end(READ, number, number);
        sender.send(number).unwrap();
    }
}

fn start(folder: &Path) -> (Peer, [PathBuf; 2]) {
    let mut worker = Peer::start(Task::new("worker", folder).command("processes::worker"));
    assert_eq!(worker.receive(), "ready");
    (worker, ["feed", "book"].map(|name| folder.join(name)))
}

/// Checks what must hold of spans that were not chosen.
fn check(recording: &Recording, pid: u32) {
    for thread in &recording.threads {
        assert_eq!((thread.process.as_str(), thread.process_id), ("worker", pid));
        assert!(thread.spans.len() > 1);
        for pair in thread.spans.windows(2) {
            assert!(pair[0].end_ns <= pair[1].begin_ns + 1, "{pair:?}");
        }
        for span in &thread.spans {
            let site = thread.sites[span.site].as_str();
            let value = ["feed.read", "book.wait", "book.apply"].iter().position(|&of| of == site);
            assert_eq!(span.value - span.number, value.unwrap() as u64);
        }
    }
}

/// Writes a copy in each format, and reads it back.
fn export(snapshot: &Snapshot, folder: &Scratch) {
    let recording = snapshot.recording();
    for format in Format::ALL {
        let path = folder.join(format!("copy.{}", format.suffixes()[0]));
        let mut file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
        let written = write(&recording, format, &mut file).unwrap();
        assert_eq!(written.spans as usize, snapshot.spans());
        drop(file);
        let Some(python) = python::with_packages_for(format) else { continue };
        let [lines] = &python::read(&python, format, &[path])[..] else { panic!("one file") };
        assert_eq!(*lines, expected::lines(&recording), "{format:?}");
    }
}

fn wait_for_spans(paths: &[PathBuf], count: u64) {
    let has_them =
        |path: &PathBuf| SpanReader::open(path, Start::Newest).unwrap().next_sequence() > count;
    eventually("the threads have written", || paths.iter().all(has_them));
}

/// All that is in the ring of a thread.
fn ring(path: &Path) -> Vec<(u64, usize)> {
    let mut reader = SpanReader::open(path, Start::Oldest).unwrap();
    let mut spans = Vec::new();
    while let Polled::Span(span) = reader.try_next().unwrap() {
        spans.push((span.number, span.site.index()));
    }
    spans
}

#[test]
fn a_slow_message_of_a_working_process_is_copied() {
    let scratch = Scratch::folder("flight");
    let (mut worker, paths) = start(scratch.path());
    wait_for_spans(&paths, 100);
    // Any message takes more than 1 ns from the feed to the book.
    let conditions = vec![Condition::Message { above_ns: 1 }];
    let options = Options { conditions, after_ns: 2_000_000, ..Options::default() };
    let mut recorder = Recorder::open("worker", &paths, options).unwrap();
    let clock = Clock::monotonic();
    let zero = clock.stamp();
    let mut snapshot = None;
    eventually("a copy is made", || {
        let now = clock.nanos_between(zero, clock.stamp());
        snapshot = recorder.poll(now, || 0).snapshot;
        snapshot.is_some()
    });
    assert!(worker.is_alive() && !recorder.is_over());
    let snapshot = snapshot.unwrap();
    check(&snapshot.recording(), worker.pid());
    let number = snapshot.triggers()[0].number;
    let recording = snapshot.recording();
    let mut spans = recording.threads.iter().flat_map(|thread| &thread.spans);
    assert!(spans.any(|span| span.number == number), "the message {number} is in its copy");
    export(&snapshot, &scratch);
}

#[test]
fn a_killed_process_leaves_its_last_spans_to_a_recorder() {
    for is_early in [true, false] {
        let scratch = Scratch::folder("flight");
        let (mut worker, paths) = start(scratch.path());
        let written =
            |path: &PathBuf| SpanReader::open(path, Start::Newest).unwrap().next_sequence();
        eventually("both rings are full", || paths.iter().all(|path| written(path) > 1 << 13));
        let pid = worker.pid();
        let open = || Recorder::open("worker", &paths, Options::default()).unwrap();
        // A recorder that is there already, or one that comes afterwards.
        let early = is_early.then(open);
        worker.kill();
        let mut recorder = early.unwrap_or_else(open);
        while recorder.poll(0, || 0).read > 0 {}
        assert!(recorder.is_over());
        recorder.request("the end of the program", 0);
        let snapshot = recorder.finish().unwrap();
        let recording = snapshot.recording();
        check(&recording, pid);
        for (thread, path) in recording.threads.iter().zip(&paths) {
            let found: Vec<_> = thread.spans.iter().map(|span| (span.number, span.site)).collect();
            let ring = ring(path);
            // A reader that was lapped continues in the middle of the ring.
            let common = ring.len().min(found.len());
            assert!(common >= (1 << 11) - 1, "{common} spans");
            assert_eq!(ring[ring.len() - common..], found[found.len() - common..]);
        }
        export(&snapshot, &scratch);
    }
}
