//! The goals of a row, with the numbers it reached.

use serde_json::{Value, json};

/// A number with its goal: a minimum or a maximum.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Goal {
    /// Name of the number, as in results.
    pub(crate) of: &'static str,
    pub(crate) bound: Bound,
    /// The measured value.
    pub(crate) value: f64,
}

/// The goal of a number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

impl Goal {
    pub(crate) fn is_met(&self) -> bool {
        match self.bound {
            Bound::AtLeast(least) => self.value >= least,
            Bound::AtMost(most) => self.value <= most,
        }
    }

    /// Absolute distance between the number and the goal.
    pub(crate) fn distance(&self) -> f64 {
        (self.value - self.bound.number()).abs()
    }

    /// The same distance, relative to the goal.
    pub(crate) fn share(&self) -> f64 {
        (self.value / self.bound.number() - 1.0).abs()
    }

    pub(crate) fn to_json(self) -> Value {
        json!({
            "of": self.of,
            "bound": self.bound.name(),
            "wanted": self.bound.number(),
            "value": self.value,
            "met": self.is_met(),
            "distance": self.share(),
        })
    }
}

impl Bound {
    pub(crate) fn number(self) -> f64 {
        match self {
            Self::AtLeast(number) | Self::AtMost(number) => number,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::AtLeast(_) => "at least",
            Self::AtMost(_) => "at most",
        }
    }
}
