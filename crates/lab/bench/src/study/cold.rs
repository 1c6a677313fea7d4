//! The time of a message after an idle time: what cold caches and idle states cost.
//!
//! One thread applies orders to the books at an absolute schedule. Between two of them it spins or
//! sleeps. Only orders that are added are timed, so that the mix is the same at each rate; the
//! messages up to the next one are applied directly after it, outside of the timed part.

mod answers;
mod feed;

use std::{hint::spin_loop, thread, time::Duration};

use nanotape_clock::{Clock, Stamp};
use nanotape_console::values::grouped;
use nanotape_trace::Histogram;

use self::feed::OrderFeed;
use super::{
    Setup, StudyError,
    findings::{Axis, Cell, Findings, Plot, Point, Scale, Series, Unit, cells},
    numbers::{Quartiles, Times},
    rounds::{FEWEST, Rounds},
};
use crate::day::Day;

/// Messages a second.
pub(super) const RATES: [u32; 7] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000];

/// The share of messages at the start of a turn that does not count: a turn begins with another
/// rate.
const WARM_UP: f64 = 0.1;

/// Messages before a turn, without an idle time between them.
const WARM_MESSAGES: u32 = 5_000;

const CELLS: &[Cell<Case>] = cells! {
    "rate" Count = |case| case.rate;
    "idle" Words = |case| case.idle.name();
    "messages" Count = |case| case.times.count();
    "p25" Nanos = |case| case.times.quartiles().map(|times| times.low);
    "p50" Nanos = |case| case.times.quartiles().map(|times| times.median);
    "p75" Nanos = |case| case.times.quartiles().map(|times| times.high);
    "p99" Nanos = |case| case.times.p99();
    "late p50" Nanos = |case| case.late.quartiles().map(|late| late.median);
};

/// What the thread does between two messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Idle {
    Spins,
    Sleeps,
}

#[derive(Debug)]
struct Case {
    rate: u32,
    idle: Idle,
    /// Messages of a turn.
    messages: u64,
    times: Times,
    /// How late a message was begun.
    late: Times,
}

impl Idle {
    const ALL: [Self; 2] = [Self::Spins, Self::Sleeps];

    fn name(self) -> &'static str {
        match self {
            Self::Spins => "spins",
            Self::Sleeps => "sleeps",
        }
    }

    /// Waits until `due`, which can be over.
    #[inline]
    fn wait(self, clock: &Clock, due: Stamp) {
        match self {
            Self::Spins => {
                while clock.stamp() < due {
                    spin_loop();
                }
            }
            Self::Sleeps => {
                let left = clock.nanos_between(clock.stamp(), due);
                if left > 0 {
                    thread::sleep(Duration::from_nanos(left));
                }
            }
        }
    }
}

pub(super) fn study(setup: &Setup<'_>, rates: &[u32]) -> Result<Findings, StudyError> {
    let mut cases = cases(setup.options.time, rates);
    let names: Vec<String> = cases.iter().map(Case::name).collect();
    let mut feed = OrderFeed::new(&Day::small());
    let rounds = Rounds { count: FEWEST, turn: Duration::ZERO };
    rounds.run(setup.progress, &names, |index| {
        let case = &mut cases[index];
        let (times, late) = setup.on_first(|| case.turn(&setup.clock, &mut feed))?;
        case.times.add(&times);
        case.late.add(&late);
        Ok(())
    })?;
    Ok(findings(setup, &cases))
}

/// Every rate with every idle time. Slow rates get most of the time, and at least a message in each
/// round whatever the time.
fn cases(time: Duration, rates: &[u32]) -> Vec<Case> {
    let in_all: f64 = rates.iter().map(|&rate| weight(rate)).sum();
    let mut cases = Vec::new();
    for &rate in rates {
        let share = weight(rate) / in_all / Idle::ALL.len() as f64;
        let seconds = time.as_secs_f64() * share / f64::from(FEWEST);
        let messages = ((seconds * f64::from(rate)) as u64).max(1);
        cases.extend(Idle::ALL.map(|idle| Case {
            rate,
            idle,
            messages,
            times: Times::new(),
            late: Times::new(),
        }));
    }
    cases
}

fn weight(rate: u32) -> f64 {
    match rate {
        0..10 => 12.0,
        10..100 => 4.0,
        100..1_000 => 2.0,
        _ => 1.0,
    }
}

impl Case {
    fn name(&self) -> String {
        format!("{} a second, {}", grouped(self.rate.into()), self.idle.name())
    }

    /// The times of the messages of a turn, and how late each was begun.
    fn turn(&self, clock: &Clock, feed: &mut OrderFeed) -> (Histogram, Histogram) {
        let (mut times, mut late) = (Histogram::fine(), Histogram::fine());
        let warm_up = (self.messages as f64 * WARM_UP) as u64;
        let period = clock.rate().ticks_per_second / f64::from(self.rate);
        // Every turn begins with warm caches, whatever was measured before it.
        for _ in 0..WARM_MESSAGES {
            feed.apply();
        }
        feed.skip_to_order();
        let begin = clock.stamp().ticks();
        for message in 1..=self.messages {
            let due = Stamp::from_ticks(begin + (period * message as f64) as u64);
            self.idle.wait(clock, due);
            let from = clock.stamp_start();
            feed.apply();
            let to = clock.stamp();
            feed.skip_to_order();
            if message > warm_up {
                times.record(clock.nanos_between(from, to));
                late.record(clock.nanos_between(due, from));
            }
        }
        (times, late)
    }
}

fn findings(setup: &Setup<'_>, cases: &[Case]) -> Findings {
    let few = cases.iter().filter(|case| case.times.p99().is_none());
    let few: Vec<String> = few.map(Case::name).collect();
    let not_measured = match few.is_empty() {
        true => Vec::new(),
        false => vec![format!("p99 needs 100 messages: {}", few.join("; "))],
    };
    Findings {
        method: format!(
            "A thread on processor {} adds orders of a synthetic day to the books on an absolute \
             schedule, and spins or sleeps in between. The time of a message is from before to \
             after its decoding and its books, without the idle time; \"late\" is how long after \
             its due time it was begun. Every timed message is an added order.",
            setup.cpus[0]
        ),
        answers: answers::answers(cases),
        plots: vec![
            plot("Time of a message after an idle time", cases, |case| case.times.quartiles()),
            plot("How late a message is begun", cases, |case| {
                // A logarithmic scale has no zero.
                let late = case.late.quartiles()?;
                let positive = |nanos: f64| nanos.max(1.0);
                Some(Quartiles {
                    low: positive(late.low),
                    median: positive(late.median),
                    high: positive(late.high),
                })
            }),
        ],
        not_measured,
        ..Findings::of(CELLS, cases)
    }
}

fn plot(
    title: &'static str,
    cases: &[Case],
    of: impl Fn(&Case) -> Option<Quartiles> + Copy,
) -> Plot {
    let point = |case: &Case| Some(Point::of(case.rate, of(case)?));
    let series = |idle: Idle| {
        let points = cases.iter().filter(|case| case.idle == idle).filter_map(point);
        Series::new(format!("{} between messages", idle.name()), points)
    };
    Plot {
        title,
        x: Axis::new("messages a second", Unit::Plain, Scale::Log),
        y: Axis::TIME,
        series: Idle::ALL.map(series).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_rates_have_a_message_in_each_round_and_most_of_the_time() {
        let cases = cases(Duration::from_secs(20), &RATES);
        assert_eq!(cases.len(), 14);
        let seconds = |case: &Case| f64::from(FEWEST) * case.messages as f64 / f64::from(case.rate);
        assert!(cases.iter().all(|case| case.messages >= 1));
        assert!(seconds(&cases[0]) >= 5.0);
        assert!(cases.iter().map(seconds).sum::<f64>() < 25.0);
    }
}
