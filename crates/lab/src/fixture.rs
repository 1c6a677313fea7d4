//! What a benchmark is: something made beforehand, run many times, whose answer is known.

use core::fmt::Debug;

/// A benchmark. Its constructor is whatever makes the value, and is not timed.
///
/// ```
/// use nanotape_lab::{Fixture, Suite};
///
/// struct Sum(Vec<u64>);
///
/// impl Fixture for Sum {
///     type Answer = u64;
///
///     fn operations(&self) -> u64 {
///         self.0.len() as u64 // results are for one addition
///     }
///
///     fn run(&mut self) -> u64 {
///         self.0.iter().sum()
///     }
///
///     fn expected(&self) -> u64 {
///         499_500
///     }
/// }
///
/// let suite = Suite::new("sums").add("sum/1000", || Sum((0..1_000).collect()));
/// suite.smoke().unwrap(); // runs each once and checks its answer
/// ```
pub trait Fixture {
    /// What a run gives. A benchmark whose answer nobody looks at measures what the optimiser left.
    type Answer: PartialEq + Debug;

    /// How many operations one run does; costs are stated for one of them. At least 1.
    fn operations(&self) -> u64 {
        1
    }

    /// Called before runs and not timed. A fixture whose every run needs it returns
    /// [`Prepared::ForOneRun`]; each run is then timed by itself, and the cost of the clock weighs
    /// more.
    fn prepare(&mut self) -> Prepared {
        Prepared::ForAllRuns
    }

    /// The timed part. It is called thousands of times; what it returns is kept from the optimiser,
    /// and so is `self`. If every call sees the same few inputs, caches and branch predictors learn
    /// them by heart, and the result is about nothing else: have more inputs than those can hold,
    /// or go on to others from run to run.
    fn run(&mut self) -> Self::Answer;

    /// What the last run must have given: found in another way than `run`, if it can be. Not timed.
    fn expected(&self) -> Self::Answer;
}

/// For how long a call of [`Fixture::prepare`] is good.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Prepared {
    /// A run leaves things as it found them, or finds its own way on.
    ForAllRuns,
    /// Every run needs a preparation of its own.
    ForOneRun,
}

/// A run gave something else than expected: its time means nothing.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a run answered {answer}, expected {expected}")]
pub struct WrongAnswer {
    /// What the run gave, as `Debug` writes it, shortened.
    pub answer: String,
    /// What the fixture expected, likewise.
    pub expected: String,
}

impl WrongAnswer {
    /// Compares an answer with the expected one.
    pub(crate) fn check<F: Fixture>(fixture: &F, answer: &F::Answer) -> Result<(), Self> {
        let expected = fixture.expected();
        if *answer == expected { Ok(()) } else { Err(Self::between(answer, &expected)) }
    }

    #[cold]
    fn between(answer: &impl Debug, expected: &impl Debug) -> Self {
        Self { answer: shortened(answer), expected: shortened(expected) }
    }
}

/// Answers can be books of thousands of lines.
fn shortened(value: &impl Debug) -> String {
    const LONGEST: usize = 200;
    let mut text = format!("{value:?}");
    if let Some((cut, _)) = text.char_indices().nth(LONGEST) {
        text.truncate(cut);
        text.push_str("...");
    }
    text
}
