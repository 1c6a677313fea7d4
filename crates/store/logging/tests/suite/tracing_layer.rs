//! Events and spans of tracing are read back as they were logged.

use std::{error::Error, fmt};

use nanotape_harness::Scratch;
use nanotape_logging::{Formatter, Logger, SpanDetail};
use tracing::{Level, debug, error, event, field, info, info_span, trace, trace_span, warn};
use tracing_subscriber::{Layer as _, filter::LevelFilter, layer::SubscriberExt as _};

use crate::lines::log_lines;

/// Logs with a subscriber of one layer, and returns the lines after the first.
fn logged(name: &str, detail: SpanDetail, log: impl FnOnce()) -> Vec<String> {
    let place = Scratch::new(name);
    let logger = Logger::open(place.path()).unwrap();
    let layer = logger.layer().with_span_detail(detail);
    tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), log);
    assert_eq!(logger.lost(), 0);
    let mut lines = log_lines(&place, &mut Formatter::new().with_spans(true));
    let first = lines.remove(0);
    let (program, pid) = first.split_once(" started logging as process ").unwrap();
    assert!(program.starts_with("INFO nanotape_logging: suite"), "{first}");
    assert_eq!(pid.parse(), Ok(std::process::id()));
    lines
}

#[derive(Debug)]
struct Failure(&'static str, Option<Box<Failure>>);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.1.as_deref().map(|cause| cause as _)
    }
}

#[test]
fn values_of_every_type_come_back() {
    let lines = logged("values", SpanDetail::Lifetime, || {
        let cause = Failure("connection reset", None);
        let failure = Failure("cannot read line B", Some(Box::new(cause)));
        let failure: &(dyn Error + 'static) = &failure;
        info!(target: "numbers", a = true, b = 7_u8, c = -7_i32, d = 0.25, "all {}", "sorts");
        info!(target: "numbers", large = u128::MAX, small = i128::MIN, end = u64::MAX);
        warn!(target: "words", text = "two \"words\"\n", debug = ?Some(1), display = %"plain");
        warn!(target: "words", bytes = &[0_u8, 255, 16][..], later = field::Empty, "bytes");
        error!(target: "words", error = failure, "it failed");
        event!(name: "named", target: "words", Level::INFO, { dotted.name = 1, r#type = "x" });
    });
    assert_eq!(
        lines,
        [
            "INFO numbers: all sorts a=true b=7 c=-7 d=0.25".to_owned(),
            format!("INFO numbers: large={} small={} end={}", u128::MAX, i128::MIN, u64::MAX),
            r#"WARN words: text="two \"words\"\n" debug=Some(1) display=plain"#.to_owned(),
            "WARN words: bytes bytes=0x00ff10".to_owned(),
            "ERROR words: it failed error=cannot read line B: connection reset".to_owned(),
            r#"INFO words: dotted.name=1 type="x""#.to_owned(),
        ]
    );
}

#[test]
fn every_level_and_the_module_are_shown() {
    let lines = logged("levels", SpanDetail::Lifetime, || {
        error!("a");
        warn!("b");
        info!("c");
        debug!("d");
        trace!("e");
    });
    let levels = ["ERROR", "WARN", "INFO", "DEBUG", "TRACE"].into_iter().zip('a'..='e');
    let expected: Vec<_> =
        levels.map(|(level, letter)| format!("{level} suite::tracing_layer: {letter}")).collect();
    assert_eq!(lines, expected);
}

fn three_spans() {
    let feed = info_span!("feed", line = "A");
    let _feed = feed.enter();
    info!(target: "t", "in one");
    let packet = trace_span!("packet", sequence = 5, outcome = field::Empty);
    packet.in_scope(|| {
        info!(target: "t", count = 2, "in two");
        packet.record("outcome", "good");
        info!(target: "t", "recorded");
        packet.record("outcome", "late").record("sequence", 6);
    });
    info!(target: "t", parent: &packet, "from outside");
    info!(target: "t", parent: None, "in none");
    drop(packet);
    let _other = info_span!(parent: None, "other").entered();
    info!(target: "t", "last");
}

#[test]
fn events_are_shown_within_their_spans_as_their_values_were() {
    assert_eq!(
        logged("spans", SpanDetail::Context, three_spans),
        [
            r#"INFO feed{line="A"}: t: in one"#,
            r#"INFO feed{line="A"}:packet{sequence=5}: t: in two count=2"#,
            r#"INFO feed{line="A"}:packet{sequence=5 outcome="good"}: t: recorded"#,
            r#"INFO feed{line="A"}:packet{outcome="late" sequence=6}: t: from outside"#,
            "INFO t: in none",
            "INFO other: t: last",
        ]
    );
}

#[test]
fn what_happens_to_spans_is_shown_as_requested() {
    let steps = logged("steps", SpanDetail::Steps, three_spans);
    let of = |what: &str| steps.iter().filter(|line| line.ends_with(what)).count();
    assert_eq!((of(": new"), of(": enter"), of(": exit"), of(": close")), (3, 3, 3, 3));
    assert_eq!(steps[0], r#"INFO feed{line="A"}: new"#);
    assert_eq!(steps[1], r#"INFO feed{line="A"}: enter"#);
    let lifetime = logged("lifetime", SpanDetail::Lifetime, three_spans);
    let kept = |line: &&String| !line.ends_with(": enter") && !line.ends_with(": exit");
    assert_eq!(lifetime, steps.iter().filter(kept).cloned().collect::<Vec<_>>());
    let closed = r#"TRACE feed{line="A"}:packet{outcome="late" sequence=6}: close"#;
    assert!(lifetime.iter().any(|line| line == closed), "{lifetime:#?}");
}

#[test]
fn two_journals_of_one_subscriber_have_what_their_filters_let_through() {
    let (all, some) = (Scratch::new("all"), Scratch::new("some"));
    let loggers = [&all, &some].map(|place| Logger::open(place.path()).unwrap());
    let subscriber = tracing_subscriber::registry()
        .with(loggers[0].layer())
        .with(loggers[1].layer().with_filter(LevelFilter::INFO));
    tracing::subscriber::with_default(subscriber, || {
        let _outer = info_span!("outer").entered();
        let _inner = trace_span!("inner").entered();
        info!(target: "t", "seen");
        debug!(target: "t", "unseen");
    });
    let lines = |place: &Scratch| log_lines(place, &mut Formatter::new()).split_off(1);
    assert_eq!(lines(&all), ["INFO outer:inner: t: seen", "DEBUG outer:inner: t: unseen"]);
    assert_eq!(lines(&some), ["INFO outer: t: seen"]);
}

/// Logs while it is formatted. It does not use tracing, which hides nested events from subscribers.
struct Talks(Logger);

impl fmt::Debug for Talks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.text(nanotape_logging::Level::Info, "t", format_args!("inner"));
        f.write_str("talked")
    }
}

#[test]
fn a_value_may_log_while_it_is_formatted() {
    let place = Scratch::new("talks");
    let logger = Logger::open(place.path()).unwrap();
    let subscriber = tracing_subscriber::registry().with(logger.layer());
    tracing::subscriber::with_default(subscriber, || {
        for _ in 0..2 {
            info!(target: "t", before = 1, value = ?Talks(logger.clone()), after = 2, "outer");
        }
    });
    let lines = log_lines(&place, &mut Formatter::new()).split_off(1);
    let outer = "INFO t: outer before=1 value=talked after=2";
    assert_eq!(lines, ["INFO t: inner", outer, "INFO t: inner", outer]);
}

#[test]
fn what_is_too_long_is_cut_and_says_so() {
    let long = "\u{e4}".repeat(10_000);
    let lines = logged("long", SpanDetail::Lifetime, || {
        info!(target: "t", long, after = 1);
        info!(target: "t", a = long, b = ?long, c = long.as_bytes(), d = 4, e = 5, "many");
        info!("{long}{long}");
        let _span = info_span!("s", long, x = 1).entered();
        info!(target: "t", "within");
    });
    let quoted = format!("{:?}", "\u{e4}".repeat(8192));
    assert_eq!(lines[0], format!("INFO t: long={quoted}...(cut) after=1"));
    assert!(lines[1].starts_with("INFO t: many a=\""), "{}", &lines[1][..100]);
    assert!(lines[1].ends_with("...(cut) (3 values omitted)"), "{}", lines[1]);
    assert!(lines[2].ends_with("\u{e4}...(cut)"));
    assert!(lines[3].contains("...(cut) (1 values omitted)}: new"), "{}", lines[3]);
    assert!(lines[4].ends_with("}: t: within"));
}

#[test]
fn a_line_cannot_drive_a_terminal() {
    let lines = logged("terminal", SpanDetail::Lifetime, || {
        info!(target: "t", a = %"\x1b[2J\r\n", b = "\x1b[2J", "one\ntwo\u{202e}three");
    });
    assert_eq!(
        lines,
        [r#"INFO t: one\ntwo\u{202e}three a=\u{1b}[2J\r\n b="\u{1b}[2J""#.to_owned()]
    );
}
