//! Changes sampled on the grid, as defined in `settings`.

use super::samples::Samples;
use crate::Changes;

/// Cells of one side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    /// The beginning of the first cell. It wraps around where a window begins at the smallest time
    /// and the second feed is widened; differences from it are still right.
    pub(crate) origin_ns: i64,
    pub(crate) cell_ns: i64,
    pub(crate) cells: usize,
}

impl Grid {
    /// The changes in the cells, as indices.
    pub(crate) fn changes(&self, of: Changes<'_>) -> std::ops::Range<usize> {
        let span = (self.cells as u64).saturating_mul(self.cell_ns as u64);
        let until_ns = self.origin_ns.saturating_add_unsigned(span);
        let from = of.times_ns.partition_point(|&at| at < self.origin_ns);
        let until = of.times_ns.partition_point(|&at| at < until_ns);
        from..until.max(from)
    }

    /// Cell of a time that is in one.
    pub(crate) fn cell(&self, time_ns: i64) -> usize {
        (time_ns.abs_diff(self.origin_ns) / self.cell_ns as u64) as usize
    }

    /// The first cell that begins at or after a time that is in one.
    pub(crate) fn cell_from(&self, time_ns: i64) -> usize {
        time_ns.abs_diff(self.origin_ns).div_ceil(self.cell_ns as u64) as usize
    }
}

/// The changes of each cell, added; zero elsewhere.
pub(crate) fn differences(changes: Changes<'_>, grid: Grid, samples: &mut Samples) {
    samples.clear();
    let within = grid.changes(changes);
    let change = |at: usize| i128::from(changes.values[at]) - i128::from(changes.values[at - 1]);
    let counted = within.start.max(1)..within.end;
    let scale = scale(counted.clone().map(change));
    for at in counted {
        samples.add(grid.cell(changes.times_ns[at]), (change(at) as f64 * scale) as f32);
    }
}

/// The value at the beginning of each cell, less the mean.
pub(crate) fn levels(changes: Changes<'_>, grid: Grid, samples: &mut Samples) {
    let within = grid.changes(changes);
    samples.clear();
    // Each value with the cells that it is in.
    let spans = |use_span: &mut dyn FnMut(i64, std::ops::Range<usize>)| {
        // The first value counts before its time.
        let before = within.start.saturating_sub(1);
        let (mut value, mut from) = (changes.values[before], 0);
        for at in within.clone() {
            let until = grid.cell_from(changes.times_ns[at]).min(grid.cells);
            use_span(value, from..until);
            (value, from) = (changes.values[at], until);
        }
        use_span(value, from..grid.cells);
    };
    let mut sum = 0_i128;
    spans(&mut |value, span| sum += i128::from(value) * span.len() as i128);
    let count = grid.cells as i128;
    let mean = (sum + count / 2).div_euclid(count);
    let mut most = 0;
    spans(&mut |value, span| {
        if !span.is_empty() {
            most = most.max((i128::from(value) - mean).abs());
        }
    });
    let scale = scale(std::iter::once(most));
    spans(&mut |value, span| {
        samples.fill(span, ((i128::from(value) - mean) as f64 * scale) as f32);
    });
}

/// The power of two that brings the largest to at least 1/2 and below 1.
pub(crate) fn scale(values: impl Iterator<Item = i128>) -> f64 {
    let largest = values.map(i128::unsigned_abs).max().unwrap_or(0);
    let digits = (u128::BITS - largest.leading_zeros()) as i32;
    // Rounding to a double may reach the next power: then it is 1.
    2.0_f64.powi(-digits)
}
