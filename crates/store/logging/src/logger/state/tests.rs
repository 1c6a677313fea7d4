//! Times in a log while the clock is recalibrated after NTP or an operator changed it.

use nanotape_harness::Scratch;
use nanotape_journal::{Folder, Start, Tail, Tailer};

use super::*;
use crate::{Formatter, Level, Logger, log_options};

const SECOND_NS: i64 = 1_000_000_000;

/// A logger, and a clock that replaces that of its state.
struct Watched {
    place: Scratch,
    logger: Logger,
    clock: Clock,
}

impl Watched {
    fn new(name: &str) -> Self {
        let place = Scratch::new(name);
        let appender = Appender::open(place.path(), &log_options()).unwrap();
        Self { place, logger: Logger::<Folder>::new(appender), clock: Clock::calibrate() }
    }

    fn log(&self, text: &str) {
        self.logger.text(Level::Info, "t", format_args!("{text}"));
    }

    /// Acts as if the clock had been recalibrated after a step of `nanos`.
    fn set_clock(&self, nanos: i64) {
        self.logger.lock().timeline.follow(self.clock.with_utc_set_by(nanos));
    }

    /// Times, and lines without their times.
    fn lines(&self) -> Vec<(u64, String)> {
        let mut tailer = Tailer::open(self.place.path(), Start::Oldest).unwrap();
        let (mut formatter, mut lines) = (Formatter::new(), Vec::new());
        while let Tail::Excerpt(excerpt) = tailer.next().unwrap() {
            if let Some(line) = formatter.line(&excerpt) {
                lines.push((excerpt.ts_ns(), line.split_once(' ').unwrap().1.trim().to_owned()));
            }
        }
        lines
    }
}

#[test]
fn times_do_not_go_back_when_the_clock_is_calibrated_anew() {
    let watched = Watched::new("calibrated");
    for count in 0..100 {
        watched.log("x");
        // The errors within a minute of a rate that is 800 ppb too high, and of slewing by NTP.
        watched.set_clock(if count % 2 == 0 { -48_000 } else { -30_000_000 });
    }
    watched.log("x");
    let lines = watched.lines();
    assert_eq!(lines.iter().filter(|(_, line)| line == "INFO t: x").count(), 101);
    for pair in lines.windows(2) {
        let (before, after) = (pair[0].0, pair[1].0);
        assert!(after >= before, "{} ns back: {:?}", before - after, pair[1].1);
    }
}

#[test]
fn a_clock_that_is_set_back_is_followed_and_the_log_says_so() {
    let watched = Watched::new("set-back");
    watched.log("before");
    watched.set_clock(-3_600 * SECOND_NS);
    watched.log("after");
    watched.log("later");
    let lines = watched.lines();
    let texts: Vec<&str> = lines[1..].iter().map(|(_, line)| line.as_str()).collect();
    let said = texts[1]
        .strip_prefix("WARN nanotape_logging: the clock was set back: times step back by 3599.9");
    assert!(said.is_some_and(|rest| rest.ends_with(" s")), "{texts:?}");
    assert_eq!(
        [texts[0], texts[2], texts[3]],
        ["INFO t: before", "INFO t: after", "INFO t: later"]
    );
    assert_eq!(texts.len(), 4, "{texts:?}");
    let times: Vec<u64> = lines[1..].iter().map(|(time, _)| *time).collect();
    assert!(times[0] - times[1] > 3_500 * SECOND_NS as u64, "{times:?}");
    assert!(times[1] <= times[2] && times[2] <= times[3], "{times:?}");
}

#[test]
fn a_journal_is_tried_again_after_a_loss_although_times_stand_still() {
    let watched = Watched::new("still");
    watched.log("before");
    watched.set_clock(-SECOND_NS + 1_000_000);
    let tried = watched.clock.stamp();
    {
        let mut state = watched.logger.lock();
        let ts_ns = state.timeline.at(tried);
        state.lose(ts_ns, tried, &"no space");
    }
    // All times of most of a second are the same. The pause after a failure is 1 ms.
    while watched.clock.nanos_between(tried, watched.clock.stamp()) < 2 * PAUSE_NS {}
    watched.log("after");
    let lines = watched.lines();
    let (_, last) = lines.last().unwrap();
    assert_eq!(last, "INFO t: after", "{lines:?}");
}
