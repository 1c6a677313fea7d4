//! A segment explains itself: earlier segments may be pruned, and a reader that starts in the
//! middle can still format its lines.

use nanotape_harness::Scratch;
use nanotape_journal::{AppenderOptions, Start, Tail, Tailer};
use nanotape_logging::{Formatter, Logger, log_options};
use tracing::{info, info_span, warn};
use tracing_subscriber::layer::SubscriberExt as _;

use crate::lines::log_lines;

/// Logs over several segments, within long spans, and then opens the journal again.
fn log_over_segments(place: &Scratch) {
    let options = AppenderOptions { segment_bytes: 1 << 16, ..log_options() };
    for run in 0..2 {
        let logger = Logger::open_with(place.path(), &options).unwrap();
        let subscriber = tracing_subscriber::registry().with(logger.layer());
        tracing::subscriber::with_default(subscriber, || {
            let _day = info_span!("day", run).entered();
            let _hour = info_span!("hour", of = "day").entered();
            for count in 0..2_000_u64 {
                match count % 2 {
                    0 => info!(target: "t", count, "even"),
                    _ => warn!(target: "t", count, "odd"),
                }
            }
        });
    }
}

#[test]
fn what_is_before_a_segment_may_be_pruned() {
    let place = Scratch::new("pruned");
    log_over_segments(&place);
    let whole = log_lines(&place, &mut Formatter::new());
    let events = whole.iter().filter(|line| line.contains(" t: ")).count();
    assert_eq!(events, 4_000);
    assert!(whole.iter().all(|line| !line.contains("unknown")));
    let last = r#"WARN day{run=1}:hour{of="day"}: t: odd count=1999"#;
    assert_eq!(whole.last().unwrap(), last);
    let mut names: Vec<_> =
        std::fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.retain(|name| name.extension().is_some_and(|end| end == "segment"));
    names.sort();
    assert!(names.len() > 4, "{names:?}");
    let mut before = whole;
    for name in &names[..names.len() - 1] {
        std::fs::remove_file(name).unwrap();
        let lines = log_lines(&place, &mut Formatter::new());
        assert!(lines.len() < before.len());
        assert_eq!(lines, before[before.len() - lines.len()..]);
        before = lines;
    }
}

#[test]
fn a_reader_that_begins_within_a_segment_learns_or_reports_what_is_not_known() {
    let place = Scratch::new("middle");
    log_over_segments(&place);
    let mut tailer = Tailer::open(place.path(), Start::Sequence(100)).unwrap();
    let Tail::Excerpt(excerpt) = tailer.next().unwrap() else { panic!() };
    let line = Formatter::new().line(&excerpt).unwrap();
    assert!(line.contains("unknown span") && line.contains("unknown call site"), "{line}");
    assert!(line.contains("field 1="), "{line}");

    let mut formatter = Formatter::new();
    let mut beginning = Tailer::open(place.path(), Start::Oldest).unwrap();
    while beginning.next_sequence() < 100 {
        let Tail::Excerpt(excerpt) = beginning.next().unwrap() else { panic!() };
        formatter.learn(&excerpt);
    }
    let line = formatter.line(&excerpt).unwrap();
    assert!(line.contains(r#"day{run=0}:hour{of="day"}: t: "#), "{line}");
}

#[test]
fn an_event_within_more_than_a_segment_holds_is_shown_within_the_innermost_spans() {
    let place = Scratch::new("deep");
    let options = AppenderOptions { segment_bytes: 1 << 16, ..log_options() };
    let logger = Logger::open_with(place.path(), &options).unwrap();
    let subscriber = tracing_subscriber::registry().with(logger.layer());
    tracing::subscriber::with_default(subscriber, || {
        let long = "x".repeat(4_000);
        let spans: Vec<_> =
            (0..30).map(|depth| info_span!("deep", depth, long).entered()).collect();
        for count in 0..100_u64 {
            info!(target: "t", count, "event");
        }
        // Spans end from the innermost outwards.
        spans.into_iter().rev().for_each(drop);
    });
    assert_eq!(logger.lost(), 0);
    let lines = log_lines(&place, &mut Formatter::new());
    let counts = lines.iter().filter_map(|line| line.rsplit_once(" count=")?.1.parse().ok());
    assert_eq!(counts.collect::<Vec<u64>>(), (0..100).collect::<Vec<_>>());
    for line in &lines[1..] {
        assert!(line.starts_with("INFO unknown span "), "{}", &line[..40]);
        for depth in 26..30 {
            assert!(line.contains(&format!(":deep{{depth={depth} long=\"xxx")), "{depth}");
        }
    }
}
