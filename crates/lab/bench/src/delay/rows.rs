//! The rows of `nanotape lab bench delay`, in the order of the table.

use super::Delay;
use crate::engine::{
    Figure, Figures, Row, figures, sections,
    shared::{END, LONGEST, QUANTILES},
};

pub(super) const BATCH: &str = "batch/one";

/// Stocks of a batch.
pub(super) const STOCKS: u64 = 500;

/// Series of a stock: price and size of both sides.
pub(super) const SERIES: u64 = 4;

/// Messages whose numbers are matched together.
pub(super) const MESSAGES: u64 = 1_000;

pub(super) const ROWS: &[Row<Delay>] = &[
    Row::new("whole/2048", &PARTS, What::Part(Part::Whole, 2_048)),
    Row::new("transforms/2048", &PARTS, What::Part(Part::Transforms, 2_048)),
    Row::new("peak/2048", &PARTS, What::Part(Part::Peak, 2_048)),
    Row::new("smoothed/2048", &PARTS, What::Part(Part::Smoothed, 2_048)),
    Row::new("whole/16384", &PARTS, What::Part(Part::Whole, 16_384)),
    Row::new("transforms/16384", &PARTS, What::Part(Part::Transforms, 16_384)),
    Row::new("peak/16384", &PARTS, What::Part(Part::Peak, 16_384)),
    Row::new("smoothed/16384", &PARTS, What::Part(Part::Smoothed, 16_384)),
    Row::new("whole/65536", &PARTS, What::Part(Part::Whole, 65_536)),
    Row::new("transforms/65536", &PARTS, What::Part(Part::Transforms, 65_536)),
    Row::new("peak/65536", &PARTS, What::Part(Part::Peak, 65_536)),
    Row::new("smoothed/65536", &PARTS, What::Part(Part::Smoothed, 65_536)),
    Row::new("estimate/500", &ESTIMATES, What::Estimate(500)),
    Row::new("estimate/5000", &ESTIMATES, What::Estimate(5_000)),
    Row::new(BATCH, &BATCHES, What::Batch { is_spread: false }),
    Row::new("batch/both", &BATCHES, What::Batch { is_spread: true }),
    Row::new("values/500", &VALUES, What::Values),
    Row::new("numbers/1000", &NUMBERS, What::Numbers),
];

/// The work of the process of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    /// A part of a correlation of so many points.
    Part(Part, usize),
    /// An estimate of changes, so many a second.
    Estimate(u32),
    /// Estimates of [`STOCKS`] stocks.
    Batch {
        /// Whether a second thread runs on the other processor.
        is_spread: bool,
    },
    /// Estimates of [`SERIES`] series of [`STOCKS`] stocks by their values.
    Values,
    /// Numbers of [`MESSAGES`] messages of two lines.
    Numbers,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    Whole,
    Transforms,
    Peak,
    Smoothed,
}

/// The row of the transforms alone.
pub(super) fn transforms(points: usize) -> Option<&'static str> {
    let is_meant = |row: &&Row<Delay>| row.work == What::Part(Part::Transforms, points);
    ROWS.iter().find(is_meant).map(|row| row.name)
}

sections! {
    Delay:
    PARTS = "parts" times [QUANTILES, LONGEST, END] |_|
        "A correlation of samples, and its parts: ns; ratio: to its transforms";
    ESTIMATES = "estimates" times [QUANTILES, LONGEST, END] |_|
        "An estimate with its interval, from the changes of 65 ms: ns";
    BATCHES = "batches" times [QUANTILES, LONGEST, END] |_|
        format!("Estimates of {STOCKS} stocks, 500 changes a second each: ns for all");
    VALUES = "values" times [QUANTILES, LONGEST, END] |_|
        format!(
            "Estimates by match-value of {SERIES} series of {STOCKS} stocks, 100 ms at 500 changes a \
            second: ns for all (goal for ten a second in half a core: 50 ms)"
        );
    NUMBERS = "numbers" times [QUANTILES, LONGEST, END] |_|
        format!("{MESSAGES} messages of two lines by number: ns for all (goal: 10 ns a message)");
}

/// Format: docs/formats/lab-bench-delay.md.
pub(super) const FIGURES: Figures<Delay> = &[
    Figure::COMMON,
    Figure::SECTION,
    figures! {
        /// The duration of a reading
        "seconds": "number" = |_, run| run.options.timed.seconds;
    },
    Figure::CPUS,
    Figure::LATENCY,
    Figure::P9999,
    Figure::REVERSED,
    Figure::PAIR,
];
