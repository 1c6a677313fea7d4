//! The goals of a row, with the numbers it reached.

use core::fmt::Write as _;

use serde_json::{Value, json};

use super::{Benchmark, Measured, Run, figure::number};

/// A number with its goal: a minimum or a maximum.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Goal {
    /// Name of the number, as in results.
    pub(crate) of: &'static str,
    pub(crate) bound: Bound,
    /// The measured value.
    pub(crate) value: f64,
    /// The printed number for 1, its unit, and its decimals.
    pub(crate) unit: (f64, String, usize),
}

/// The goal of a number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

/// A goal that a table declares.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Wanted {
    /// The row, or the section of the rows, that it is for.
    pub(crate) rows: &'static str,
    /// Name of the number, as in results.
    pub(crate) of: &'static str,
    /// The path of the figure.
    pub(crate) path: &'static str,
    pub(crate) bound: Bound,
    /// The printed number for 1, its unit, and its decimals. `{to}` in the unit is the row that the
    /// row is compared with.
    pub(crate) unit: (f64, &'static str, usize),
}

/// Declares goals: the rows, the name of the number, its path, the bound, and the unit.
///
/// ```text
/// "append" => "messages/s" = "written_per_second", AtLeast 20e6, 1e-6 "million a second" 2;
/// ```
macro_rules! goals {
    ($($rows:expr => $of:literal = $path:literal, $bound:ident $number:literal,
        $factor:literal $unit:literal $digits:literal;)*) => {
        &[$($crate::engine::Wanted {
            rows: $rows,
            of: $of,
            path: $path,
            bound: $crate::engine::Bound::$bound($number),
            unit: ($factor, $unit, $digits),
        }),*]
    };
}
pub(crate) use goals;

impl Wanted {
    /// The goal of a row, if it is for the row and its number was measured.
    pub(crate) fn of<B: Benchmark>(&self, row: &Measured<B>, run: &Run<B>) -> Option<Goal> {
        if ![row.row.name, row.row.section.name].contains(&self.rows) {
            return None;
        }
        let value = number(row, run, self.path)?;
        let (factor, name, digits) = self.unit;
        let name = name.replace("{to}", B::base(row.row).map_or("", |base| base.row));
        Some(Goal { of: self.of, bound: self.bound, value, unit: (factor, name, digits) })
    }
}

/// The goals that were reached and the distance to the others, a line for each; empty without
/// goals.
pub(crate) fn goals_text<B: Benchmark>(run: &Run<B>) -> String {
    let of_row = |row| B::goals(row, run).into_iter().map(move |goal| (row.row.name, goal));
    let goals: Vec<(&str, Goal)> = run.measured.iter().flat_map(of_row).collect();
    let mut text = String::new();
    if goals.is_empty() {
        return text;
    }
    let met = goals.iter().filter(|(_, goal)| goal.is_met()).count();
    let _ = writeln!(text, "\nGoals: {met} of {} met", goals.len());
    for (row, goal) in goals {
        let (factor, name, digits) = &goal.unit;
        let judged = if goal.is_met() { "met" } else { "missed" };
        let _ = writeln!(
            text,
            "  {row:<width$} {judged:<6} {} {:.digits$} {name}: {:.digits$}, by {:.0}%",
            goal.bound.name(),
            factor * goal.bound.number(),
            factor * goal.value,
            100.0 * goal.share(),
            width = B::NAME_WIDTH,
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

    pub(crate) fn to_json(&self) -> Value {
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
