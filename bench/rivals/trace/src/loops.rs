//! The loop of all programs: the work alone and the work in a span, in turns.

use std::hint::black_box;

use nanotape_clock::Clock;
use rivals_measure::Failure;

/// Turns of a run. fastrace keeps up to 10,240 spans of a root.
pub(crate) const TURNS: u64 = 1 << 10;

/// Multiplications of each chain in a turn, as in `nanotape lab bench trace`.
const STEPS: u32 = 16;

/// The states of the chains.
pub(crate) type State = [u64; 4];

/// Pairs that do not count.
const WARM_UP: u64 = 64;

/// A way to record spans.
pub(crate) trait Spans {
    /// A run: each turn is `work` in a span that has the number of the turn.
    fn run(&mut self, first: u64, state: State) -> State;

    /// After each run, not timed: takes away what was recorded, if that is not done elsewhere.
    fn settle(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Whether spans are recorded.
    fn is_on(&self) -> bool;

    /// Whether spans have the numbers of their turns.
    fn has_numbers(&self) -> bool {
        true
    }

    /// What was recorded, read as its users read it.
    fn read(&mut self) -> Result<Found, Failure>;

    fn version(&self) -> &'static str;
}

/// Spans that were read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Found {
    pub(crate) spans: u64,
    /// The sum of their numbers.
    pub(crate) numbers: u64,
    /// Spans that end before they begin, or have another name.
    pub(crate) wrong: u64,
    /// Spans known to be overwritten before they were read.
    pub(crate) lost: u64,
}

impl Found {
    pub(crate) fn add(&mut self, number: u64, is_right: bool) {
        self.spans += 1;
        self.numbers = self.numbers.wrapping_add(number);
        self.wrong += u64::from(!is_right);
    }
}

/// Medians over pairs, in ns of a turn.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Measured {
    pub(crate) work_ns: f64,
    pub(crate) own_ns: f64,
    pub(crate) adds_ns: f64,
    pub(crate) pairs: usize,
    /// Turns in a span.
    pub(crate) spans: u64,
    /// The sum of their numbers.
    numbers: u64,
}

impl Measured {
    /// Whether exactly the spans of all turns were read; none if they are off.
    pub(crate) fn check(&self, is_on: bool, numbers: bool, found: &Found) -> Result<(), String> {
        let wanted = if is_on { (self.spans, self.numbers) } else { (0, 0) };
        let counted = found.spans + found.lost;
        if found.wrong > 0 {
            return Err(format!("{} spans have another name or a negative time", found.wrong));
        }
        let is_sum = !numbers || found.lost > 0 || found.numbers == wanted.1;
        if counted != wanted.0 || !is_sum {
            return Err(format!(
                "{counted} spans were read of {}, or their numbers differ",
                wanted.0
            ));
        }
        match is_on && found.spans == 0 {
            true => Err("no span was read".to_owned()),
            false => Ok(()),
        }
    }
}

/// The work of a turn: four chains of multiplications side by side.
#[inline(always)]
pub(crate) fn work(mut state: State) -> State {
    for _ in 0..STEPS {
        state = state.map(|chain| (chain ^ (chain >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    }
    state
}

#[inline(never)]
fn work_alone(mut state: State) -> State {
    for _ in 0..TURNS {
        state = work(state);
    }
    state
}

pub(crate) fn measure(program: &mut dyn Spans, least: u64) -> Result<Measured, Failure> {
    let clock = Clock::calibrate();
    let (mut works, mut owns, mut adds) = (Vec::new(), Vec::new(), Vec::new());
    let (mut state, mut spans, mut numbers, mut lots) = ([1, 2, 3, 4], 0_u64, 0_u64, [1; 4]);
    let mut timed = |run: &mut dyn FnMut(State) -> State| {
        let began = clock.stamp_start();
        state = black_box(run(state));
        clock.nanos_between(began, clock.stamp()) as f64 / TURNS as f64
    };
    for pair in 0..WARM_UP + least.div_ceil(TURNS) {
        let first = spans;
        lots = work(lots);
        let is_own_first = lots[0] >> 63 == 1;
        let mut own = 0.0;
        if is_own_first {
            own = timed(&mut |state| program.run(first, state));
            program.settle()?;
        }
        let alone = timed(&mut work_alone);
        if !is_own_first {
            own = timed(&mut |state| program.run(first, state));
            program.settle()?;
        }
        spans += TURNS;
        numbers = (first..spans).fold(numbers, u64::wrapping_add);
        if pair >= WARM_UP {
            works.push(alone);
            owns.push(own);
            adds.push(own - alone);
        }
    }
    let pairs = adds.len();
    let (work_ns, own_ns, adds_ns) = (median(works), median(owns), median(adds));
    Ok(Measured { work_ns, own_ns, adds_ns, pairs, spans, numbers })
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_unstable_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_wrong_and_unexpected_spans_are_found() {
        let measured =
            Measured { work_ns: 1.0, own_ns: 2.0, adds_ns: 1.0, pairs: 1, spans: 3, numbers: 6 };
        let all = Found { spans: 3, numbers: 6, wrong: 0, lost: 0 };
        assert_eq!(measured.check(true, true, &all), Ok(()));
        assert_eq!(
            measured.check(true, true, &Found { spans: 1, numbers: 3, lost: 2, wrong: 0 }),
            Ok(())
        );
        assert_eq!(measured.check(false, true, &Found::default()), Ok(()));
        assert_eq!(measured.check(true, false, &Found { numbers: 0, ..all }), Ok(()));
        for wrong in [
            Found { spans: 2, ..all },
            Found { numbers: 7, ..all },
            Found { wrong: 1, ..all },
            Found { lost: 1, ..all },
            Found { spans: 0, lost: 3, ..all },
        ] {
            assert!(measured.check(true, true, &wrong).is_err(), "{wrong:?}");
        }
        assert!(measured.check(false, true, &all).is_err());
    }

    #[test]
    fn the_median_is_the_middle_number() {
        assert_eq!(median(vec![3.0, 1.0, 900.0]), 3.0);
    }
}
