//! A number over rounds: its median and its range.

use nanotape_lab::statistics::order::median;

/// A number over rounds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Spread {
    /// Median over rounds.
    pub(crate) median: f64,
    /// The smallest.
    pub(crate) lowest: f64,
    /// The largest.
    pub(crate) highest: f64,
}

impl Spread {
    /// Spread of the numbers of all rounds; None if there are none.
    pub(crate) fn of(numbers: &[f64]) -> Option<Self> {
        Some(Self {
            median: median(numbers)?,
            lowest: numbers.iter().copied().reduce(f64::min)?,
            highest: numbers.iter().copied().reduce(f64::max)?,
        })
    }
}
