//! A benchmark: a value made beforehand, run many times, with a known answer.

use core::fmt::Debug;

/// A benchmark. Its constructor is any function that creates the value, and is not timed.
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
    /// The result of a run. If the answer is not used, the optimiser can remove the measured work.
    type Answer: PartialEq + Debug;

    /// The number of operations of one run, at least 1; costs are stated per operation.
    fn operations(&self) -> u64 {
        1
    }

    /// Called before runs and not timed. If every run needs it, return [`Prepared::ForOneRun`].
    /// Each run is then timed separately, and the cost of the clock has more weight.
    fn prepare(&mut self) -> Prepared {
        Prepared::ForAllRuns
    }

    /// The timed part, called thousands of times. Its result and `self` are hidden from the
    /// optimiser. If every call sees the same few inputs, caches and branch predictors learn them,
    /// and the result measures only that. Use more inputs than they can hold, or change inputs
    /// between runs.
    fn run(&mut self) -> Self::Answer;

    /// The expected result of the last run, if possible computed in another way. Not timed.
    fn expected(&self) -> Self::Answer;
}

/// How long the effect of [`Fixture::prepare`] lasts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Prepared {
    /// A run leaves the state as it was, or works from any state.
    ForAllRuns,
    /// Every run needs its own preparation.
    ForOneRun,
}

/// A run returned an unexpected answer: its time is invalid.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a run answered {answer}, expected {expected}")]
pub struct WrongAnswer {
    /// The answer of the run in `Debug` format, shortened.
    pub answer: String,
    /// The expected answer, in the same format.
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

/// Answers can be order books with thousands of lines.
fn shortened(value: &impl Debug) -> String {
    const LONGEST: usize = 200;
    let mut text = format!("{value:?}");
    if let Some((cut, _)) = text.char_indices().nth(LONGEST) {
        text.truncate(cut);
        text.push_str("...");
    }
    text
}
