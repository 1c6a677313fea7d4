//! Recordings as files of trace viewers, read back by readers that share no code with the writer.

mod expected;
mod python;

use std::path::PathBuf;

use nanotape_harness::Scratch;
use nanotape_trace::export::{Format, Instant, Recording, Slice, Thread, Written, write};
use proptest::{
    prelude::*,
    strategy::ValueTree as _,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};

/// A thread as a program has it: stages that follow each other.
fn thread(name: &str, thread_id: u32, sites: &[&str], first_ns: u64, numbers: &[u64]) -> Thread {
    let mut at_ns = first_ns;
    let mut spans = Vec::new();
    for &number in numbers {
        for site in 0..sites.len() {
            let begin_ns = at_ns;
            at_ns += 10 + number % 7 + site as u64;
            let value = number * 3 + site as u64;
            spans.push(Slice { site, number, value, begin_ns, end_ns: at_ns, lost_before: 0 });
        }
        at_ns += 1_000;
    }
    Thread {
        process: "plant".into(),
        process_id: 4242,
        name: name.into(),
        thread_id: Some(thread_id),
        sites: sites.iter().map(ToString::to_string).collect(),
        spans,
        lost_after: 0,
    }
}

/// Three threads of a plant, and a trigger.
fn plant() -> Recording {
    let now_ns = 1_764_111_111_222_333_444;
    let numbers: Vec<u64> = (1_000..1_100).collect();
    let some: Vec<u64> = (1_000..1_100).step_by(16).collect();
    let mut threads = vec![
        thread("receive", 4243, &["feed.read", "feed.arbitrate"], now_ns, &numbers),
        thread("book", 4244, &["book.decode", "book.apply", "book.publish"], now_ns + 70, &numbers),
        thread("recorder", 4245, &["recorder.append"], now_ns + 500, &some),
    ];
    threads[1].spans[30].lost_before = 6;
    threads[2].lost_after = 12;
    let instants = vec![
        Instant {
            at_ns: now_ns + 5_000,
            name: "budget".into(),
            text: "message 1004 took 5.2 us, budget 5 us".into(),
            thread: Some(1),
        },
        Instant {
            at_ns: now_ns + 9_000,
            name: "request".into(),
            text: "nanotape trace copy".into(),
            thread: None,
        },
    ];
    Recording { threads, instants }
}

fn bytes_of(recording: &Recording, format: Format) -> (Vec<u8>, Written) {
    let mut bytes = Vec::new();
    let written = write(recording, format, &mut bytes).unwrap();
    (bytes, written)
}

/// Writes recordings in a format, and compares what its reader finds with them.
fn check(recordings: &[Recording], format: Format) {
    let Some(python) = python::with_packages_for(format) else { return };
    let folder = Scratch::folder("traces");
    let paths: Vec<PathBuf> = (0..recordings.len())
        .map(|at| folder.join(format!("{at}.{}", format.suffixes()[0])))
        .collect();
    for (recording, path) in recordings.iter().zip(&paths) {
        let (bytes, written) = bytes_of(recording, format);
        let spans = recording.threads.iter().map(|thread| thread.spans.len());
        assert_eq!(written.spans as usize, spans.sum::<usize>());
        assert_eq!(written.flows as usize, expected::flows(recording).len());
        std::fs::write(path, bytes).unwrap();
    }
    let found = python::read(&python, format, &paths);
    assert_eq!(found.len(), recordings.len());
    for (recording, found) in recordings.iter().zip(found) {
        let expected = expected::lines(recording);
        for (line, found) in expected.iter().zip(&found) {
            assert_eq!(line, found, "{format:?}");
        }
        assert_eq!(expected.len(), found.len(), "{format:?}");
    }
}

fn check_all(recordings: &[Recording]) {
    Format::ALL.into_iter().for_each(|format| check(recordings, format));
}

#[test]
fn every_reader_finds_every_span_of_a_plant() {
    let recording = plant();
    let (_, written) = bytes_of(&recording, Format::Chrome);
    let expected = Written { spans: 507, flows: 100, ..Written::default() };
    assert_eq!(written, expected);
    check_all(&[recording]);
}

#[test]
fn spans_that_overlap_or_end_before_they_begin_are_kept() {
    let span = |begin_ns, end_ns| Slice { number: 1, begin_ns, end_ns, ..Slice::default() };
    let spans = vec![
        span(100, 200),
        span(150, 250), // over the end of the one before
        span(160, 170), // within both
        span(200, 200), // without a length, at the end of the first
        span(300, 200), // backwards
        span(50, 60),   // after later ones
        span(u64::MAX, 0),
        span(0, u64::MAX),
    ];
    let thread = Thread { sites: vec!["a".into()], spans, ..Thread::default() };
    let recording = Recording { threads: vec![thread], ..Recording::default() };
    let (_, written) = bytes_of(&recording, Format::Perfetto);
    assert_eq!((written.overlapping, written.backwards), (6, 2));
    check_all(&[recording]);
}

/// Any text, also such as the formats use themselves and such as they cannot hold as a whole.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => any::<String>(),
        2 => "[\\x00-\\x1f\"\\\\{}<>&\\x7f]{0,20}",
        2 => Just(String::new()),
        1 => Just("\u{1f4a5}\u{202e}\u{0}\n\u{2028}".to_owned()),
        1 => Just("x".repeat(32_000)),
        1 => (0_usize..40).prop_map(|n| format!("name {n}")),
    ]
}

fn time() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0_u64..100, 1 => Just(u64::MAX), 1 => Just(1 << 63), 2 => any::<u64>()]
}

fn slice() -> impl Strategy<Value = Slice> {
    let count = prop_oneof![4 => Just(0), 1 => any::<u64>()];
    (0_usize..5, time(), time(), time(), time(), count).prop_map(
        |(site, number, value, begin_ns, end_ns, lost_before)| Slice {
            site,
            number,
            value,
            begin_ns,
            end_ns,
            lost_before,
        },
    )
}

fn any_thread() -> impl Strategy<Value = Thread> {
    let names = proptest::collection::vec(text(), 0..4);
    let spans = proptest::collection::vec(slice(), 0..30);
    let id = prop_oneof![Just(None), any::<u32>().prop_map(Some), (0_u32..3).prop_map(Some)];
    let process = prop_oneof![0_u32..3, any::<u32>()];
    let lost = prop_oneof![4 => Just(0), 1 => any::<u64>()];
    (text(), process, text(), id, names, spans, lost).prop_map(
        |(process, process_id, name, thread_id, sites, spans, lost_after)| Thread {
            process,
            process_id,
            name,
            thread_id,
            sites,
            spans,
            lost_after,
        },
    )
}

fn any_recording() -> impl Strategy<Value = Recording> {
    let instant = (time(), text(), text(), proptest::option::of(0_usize..6))
        .prop_map(|(at_ns, name, text, thread)| Instant { at_ns, name, text, thread });
    let threads = proptest::collection::vec(any_thread(), 0..5);
    let instants = proptest::collection::vec(instant, 0..5);
    (threads, instants).prop_map(|(threads, instants)| Recording { threads, instants })
}

/// One process of the reader for all cases: it takes longer to start than to read them.
#[test]
fn any_recording_reads_back() {
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), random);
    let strategy = any_recording();
    let recordings: Vec<Recording> =
        (0..200).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect();
    check_all(&recordings);
}

#[test]
fn a_full_disk_is_an_error() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    for format in Format::ALL {
        let error = write(&plant(), format, &mut Full).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    }
}

#[test]
fn the_suffix_chooses_the_format() {
    let of = |name: &str| Format::of_path(name.as_ref());
    assert_eq!(of("a/slow.pftrace"), Some(Format::Perfetto));
    assert_eq!(of("slow.perfetto-trace"), Some(Format::Perfetto));
    assert_eq!((of("x.fxt"), of("x.y.json")), (None, Some(Format::Chrome)));
    assert_eq!((of("json"), of("x.csv"), of("")), (None, None, None));
}
