//! One span: loops whose turns do the same work, and then nothing, a stamp, or the end of a stage.
//!
//! The work is four chains of multiplications side by side, about as long as a stage of a plant and
//! with as many instructions a cycle. A stamp and the stores of a span overlap with it as far as it
//! leaves room, as in a plant. Bare loops have no work, so nothing is hidden: what a call takes of
//! the processor.

use core::hint::black_box;

use nanotape_clock::Clock;
use nanotape_trace::spans::{Site, Sites, Tracer, TracerOptions};

use super::{
    Trace,
    pairs::{Pairs, Side},
    rows::{Call, Spans},
};
use crate::{
    engine::{Reading, Worker},
    error::Error,
};

const SITES: Sites = Sites::new(&["bench.stage"]);
const SITE: Site = SITES.site("bench.stage");

/// Turns of a run, a multiple of 16. A run takes some tens of microseconds, and few are
/// interrupted.
const TURNS: u64 = 1 << 10;

/// Multiplications of each chain in a turn.
const STEPS: u32 = 16;

/// The states of the chains.
type State = [u64; 4];

/// States at the start.
const START: State = [1, 2, 3, 4];

/// What all loops have.
struct Bench {
    clock: Clock,
    tracer: Tracer,
    /// The number of the next turn.
    number: u64,
    state: State,
}

#[inline(always)]
fn work(mut state: State) -> State {
    for _ in 0..STEPS {
        state = state.map(|chain| (chain ^ (chain >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    }
    state
}

pub(super) fn measure(
    worker: &mut Worker<Trace>,
    has_work: bool,
    (base, own): (Call, Call),
) -> Result<Reading, Error> {
    let clock = worker.clock;
    // The ring of a plant, in files: its lines are not in the first two caches.
    let path = worker.path("calls");
    let tracer = Tracer::create(&path, SITES, clock, &TracerOptions::default())?;
    let spans = match own {
        Call::End(spans) => spans,
        _ => Spans::Off,
    };
    tracer.switches().set(&[spans.rate()]);
    worker.begin(&[])?;
    let mut bench = Bench { clock, tracer, number: 1, state: START };
    let mut pairs = Pairs::new(clock.stamp().ticks());
    // Warm-up, of the ring too.
    for _ in 0..WARM_UP_RUNS {
        bench.run(has_work, base);
        bench.run(has_work, own);
    }
    let wanted = worker.job.options.pairs;
    for _ in 0..wanted {
        let (mut base_ns, mut own_ns) = (0.0, 0.0);
        for side in pairs.order() {
            match side {
                Side::Base => base_ns = bench.run(has_work, base),
                Side::Own => own_ns = bench.run(has_work, own),
            }
        }
        pairs.push(base_ns, own_ns);
    }
    black_box(bench.state);
    let runs = WARM_UP_RUNS + u64::from(wanted);
    check(bench.tracer.written(), expected(base, runs) + expected(own, runs))?;
    Ok(Reading { detail: pairs.detail().unwrap_or_default(), ..Reading::default() })
}

/// Runs of each side that do not count: their spans fill the ring once.
const WARM_UP_RUNS: u64 = 64;

/// Turns of so many pairs.
pub(super) fn turns(pairs: u32) -> u64 {
    2 * TURNS * (WARM_UP_RUNS + u64::from(pairs))
}

/// Spans of so many runs.
fn expected(call: Call, runs: u64) -> u64 {
    let rate = match call {
        Call::End(spans) => spans.rate().count(),
        Call::Nothing | Call::Stamp => None,
    };
    rate.map_or(0, |rate| runs * TURNS / rate)
}

fn check(written: u64, expected: u64) -> Result<(), Error> {
    match written == expected {
        true => Ok(()),
        false => Err(Error::found(
            "the tracer",
            format!("{written} spans were written, but {expected} were on"),
        )),
    }
}

impl Bench {
    /// Nanoseconds of a turn of one run.
    fn run(&mut self, has_work: bool, call: Call) -> f64 {
        match has_work {
            true => self.call(call, work),
            false => self.call(call, black_box),
        }
    }

    #[inline(always)]
    fn call(&mut self, call: Call, work: impl Fn(State) -> State) -> f64 {
        let clock = self.clock;
        match call {
            Call::Nothing => self.turns(work, |_, _, _| ()),
            Call::Stamp => self.turns(work, |_, _, _| {
                black_box(clock.stamp_unfenced());
            }),
            Call::End(_) => {
                self.turns(work, |tracer, number, value| tracer.end(SITE, number, value))
            }
        }
    }

    #[inline(always)]
    fn turns(
        &mut self,
        work: impl Fn(State) -> State,
        call: impl Fn(&mut Tracer, u64, u64),
    ) -> f64 {
        let began = self.clock.stamp_start();
        let mut state = self.state;
        for number in self.number..self.number + TURNS {
            state = work(state);
            call(&mut self.tracer, number, state[0]);
        }
        self.state = black_box(state);
        self.number += TURNS;
        let nanos = self.clock.nanos_between(began, self.clock.stamp());
        nanos as f64 / TURNS as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_loop_does_the_same_work_and_writes_the_spans_that_are_on() {
        let all = [Spans::Off, Spans::OneIn16, Spans::On];
        for (spans, has_work) in all.into_iter().flat_map(|one| [(one, true), (one, false)]) {
            let tracer = Tracer::on_heap(SITES, Clock::monotonic(), 8);
            tracer.switches().set(&[spans.rate()]);
            let mut bench = Bench { clock: Clock::monotonic(), tracer, number: 1, state: START };
            let calls = [Call::Nothing, Call::Stamp, Call::End(spans)];
            let states = calls.map(|call| {
                (bench.state, bench.number) = (START, 1);
                bench.run(has_work, call);
                bench.state
            });
            assert!(states[0] == states[1] && states[1] == states[2], "{states:?}");
            assert_eq!(states[0] != START, has_work);
            let on = expected(Call::End(spans), 1);
            assert_eq!(
                (bench.tracer.written(), check(bench.tracer.written(), on).is_ok()),
                (on, true)
            );
            assert!(check(bench.tracer.written(), on + 1).is_err());
        }
        assert_eq!(expected(Call::End(Spans::OneIn16), 3), 3 * 64);
    }
}
