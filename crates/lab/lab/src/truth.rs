//! Benchmarks with known true differences, to test comparisons.
//!
//! A run walks through a megabyte in an order that no prefetcher predicts, with a branch that no
//! predictor learns and a store at every step. Its time is proportional to its number of steps, so
//! 408 steps are 2% more work than 400 on any machine.

use crate::{fixture::Fixture, suite::Suite};

/// Words in the megabyte that is walked through.
const WORDS: usize = 1 << 17;

/// Steps of the base, and of the benchmarks that are slower by a known share.
const STEPS: [(&str, u32); 4] =
    [("truth/base", 400), ("truth/plus-2", 408), ("truth/plus-3", 412), ("truth/plus-5", 420)];

/// The benchmarks `truth/base`, `truth/plus-2`, `truth/plus-3` and `truth/plus-5`.
pub fn suite() -> Suite {
    let add = |suite: Suite, (name, steps)| suite.add(name, move || Walk::new(steps));
    STEPS.into_iter().fold(Suite::new("truth"), add)
}

struct Walk {
    steps: u32,
    state: u32,
    words: Vec<u64>,
    walked: u64,
}

impl Walk {
    fn new(steps: u32) -> Self {
        let scattered = |index: usize| (index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        Self { steps, state: 1, words: (0..WORDS).map(scattered).collect(), walked: 0 }
    }
}

impl Fixture for Walk {
    type Answer = u64;

    fn run(&mut self) -> u64 {
        let mut state = self.state;
        for _ in 0..self.steps {
            // Marsaglia's xorshift with the shifts 13, 17 and 5 visits every state but 0.
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            let word = &mut self.words[state as usize % WORDS];
            if *word & 1 == 0 {
                *word = word.wrapping_add(u64::from(state) | 1);
            } else {
                *word ^= u64::from(state);
            }
        }
        self.state = state;
        self.walked += u64::from(self.steps);
        self.walked
    }

    fn expected(&self) -> u64 {
        // Only whole runs, and a state that a walk never leaves.
        if self.state != 0 && self.walked.is_multiple_of(self.steps.into()) {
            self.walked
        } else {
            0
        }
    }
}
