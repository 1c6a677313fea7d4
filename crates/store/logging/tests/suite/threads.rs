//! Many threads log to one journal: every event is in it once, and each thread's events are in
//! order.

use std::time::Duration;

use nanotape_harness::Scratch;
use nanotape_journal::{AppenderOptions, RollCycle};
use nanotape_logging::{Formatter, Logger, log_options};
use tracing::{Dispatch, dispatcher, info, info_span};
use tracing_subscriber::layer::SubscriberExt as _;

use crate::lines::log_lines;

const THREADS: u64 = 4;
const EVENTS: u64 = 5_000;

const PATIENCE: Duration = Duration::from_secs(600);

#[test]
fn every_event_of_every_thread_is_there_once_and_in_order() {
    let place = Scratch::new("many");
    // Small segments: announcements repeat while other threads log.
    let options = AppenderOptions { segment_bytes: 1 << 16, ..log_options() };
    // Patience enough for a pretoucher that waits for a processor.
    let logger = Logger::open_with(place.path(), &options).unwrap().with_patience(PATIENCE);
    let dispatch = Dispatch::new(tracing_subscriber::registry().with(logger.layer()));
    std::thread::scope(|scope| {
        for number in 0..THREADS {
            let dispatch = dispatch.clone();
            let work = move || {
                let work = || {
                    let _outer = info_span!("worker", number).entered();
                    for count in 0..EVENTS {
                        let inner = (count % 3 == 0).then(|| info_span!("third", count).entered());
                        info!(target: "t", number, count, "done");
                        drop(inner);
                    }
                };
                dispatcher::with_default(&dispatch, work);
            };
            let thread = std::thread::Builder::new().name(format!("worker {number}"));
            thread.spawn_scoped(scope, work).unwrap();
        }
    });
    assert_eq!(logger.lost(), 0);
    let mut next = [0; THREADS as usize];
    for line in log_lines(&place, &mut Formatter::new().with_threads(true)).iter().skip(1) {
        let (front, values) = line.split_once("t: done number=").unwrap();
        let (number, count) = values.split_once(" count=").unwrap();
        let (number, count): (usize, u64) = (number.parse().unwrap(), count.parse().unwrap());
        assert_eq!(count, next[number], "{line}");
        next[number] += 1;
        let third = if count % 3 == 0 { format!("third{{count={count}}}:") } else { String::new() };
        let expected = format!("INFO [worker {number}] worker{{number={number}}}:{third} ");
        assert_eq!(front, expected);
    }
    assert_eq!(next, [EVENTS; THREADS as usize]);
    let segments = std::fs::read_dir(place.path()).unwrap().count();
    assert!(segments > 20, "{segments}");
}

#[test]
fn threads_that_come_and_go_have_their_own_names() {
    let place = Scratch::new("names");
    let logger = Logger::open(place.path()).unwrap();
    for number in 0..10 {
        let logger = &logger;
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name(format!("n{number}"));
            let level = nanotape_logging::Level::Info;
            let log = move || logger.text(level, "t", format_args!("from {number}"));
            thread.spawn_scoped(scope, log).unwrap();
        });
    }
    let lines = log_lines(&place, &mut Formatter::new().with_threads(true)).split_off(1);
    let expected: Vec<_> = (0..10).map(|n| format!("INFO [n{n}] t: from {n}")).collect();
    assert_eq!(lines, expected);
}

#[test]
fn the_usual_options_roll_only_by_size_and_day() {
    let options = log_options();
    assert_eq!(options.roll_cycle, RollCycle::Day);
    assert!(options.segment_bytes < AppenderOptions::default().segment_bytes);
}
