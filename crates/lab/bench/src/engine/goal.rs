//! The goals of a row, with the numbers it reached.

use core::fmt::Write as _;

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

/// How the number of a goal is printed.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Unit {
    /// The printed number for 1.
    pub(crate) factor: f64,
    pub(crate) name: String,
    pub(crate) digits: usize,
}

impl Unit {
    pub(crate) fn new(factor: f64, name: impl Into<String>, digits: usize) -> Self {
        Self { factor, name: name.into(), digits }
    }
}

/// The goals that were reached and the distance to the others, a line for each; empty without
/// goals. `width`: columns of the name of a row.
pub(crate) fn goals_text(goals: &[(&str, Goal, Unit)], width: usize) -> String {
    let mut text = String::new();
    if goals.is_empty() {
        return text;
    }
    let met = goals.iter().filter(|(_, goal, _)| goal.is_met()).count();
    let _ = writeln!(text, "\nGoals: {met} of {} met", goals.len());
    for (row, goal, Unit { factor, name, digits }) in goals {
        let judged = if goal.is_met() { "met" } else { "missed" };
        let _ = writeln!(
            text,
            "  {row:<width$} {judged:<6} {} {:.digits$} {name}: {:.digits$}, by {:.0}%",
            goal.bound.name(),
            factor * goal.bound.number(),
            factor * goal.value,
            100.0 * goal.share(),
        );
    }
    text
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
