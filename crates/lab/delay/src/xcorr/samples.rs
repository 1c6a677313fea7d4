//! Real samples in the form that transforms of half their length take.

use std::ops::Range;

use rustfft::num_complex::Complex32;

/// Samples of one side, from cell 0. Even cells are real parts, and odd cells imaginary parts, so
/// that nothing is copied for a transform.
#[derive(Clone, Debug)]
pub struct Samples {
    pub(super) points: Vec<Complex32>,
}

impl Samples {
    /// Makes all zero.
    pub fn clear(&mut self) {
        self.points.fill(Complex32::ZERO);
    }

    /// Adds to a cell.
    ///
    /// # Panics
    ///
    /// If there is no such cell.
    pub fn add(&mut self, cell: usize, value: f32) {
        *self.cell(cell) += value;
    }

    /// Sets some cells to a value.
    ///
    /// # Panics
    ///
    /// If there are no such cells.
    pub fn fill(&mut self, cells: Range<usize>, value: f32) {
        let Range { mut start, mut end } = cells;
        if start < end && !start.is_multiple_of(2) {
            *self.cell(start) = value;
            start += 1;
        }
        if start < end && !end.is_multiple_of(2) {
            end -= 1;
            *self.cell(end) = value;
        }
        if start < end {
            self.points[start / 2..end / 2].fill(Complex32::new(value, value));
        }
    }

    /// The sum of all squares.
    pub fn energy(&self) -> f64 {
        self.points
            .iter()
            .map(|point| f64::from(point.re).powi(2) + f64::from(point.im).powi(2))
            .sum()
    }

    #[cfg(test)]
    pub(crate) fn cells(&self) -> Vec<f32> {
        self.points.iter().flat_map(|point| [point.re, point.im]).collect()
    }

    fn cell(&mut self, cell: usize) -> &mut f32 {
        let point = &mut self.points[cell / 2];
        if cell.is_multiple_of(2) { &mut point.re } else { &mut point.im }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_filled_whatever_their_ends() {
        for start in 0..10 {
            for end in 0..10 {
                let mut samples = Samples { points: vec![Complex32::ZERO; 5] };
                samples.fill(start..end, 2.0);
                samples.add(3, 1.0);
                let flat = samples.cells();
                for (cell, value) in flat.iter().enumerate() {
                    let filled = if (start..end).contains(&cell) { 2.0 } else { 0.0 };
                    let added = if cell == 3 { 1.0 } else { 0.0 };
                    assert_eq!(*value, filled + added, "cell {cell} of {start}..{end}");
                }
                let energy: f64 = flat.iter().map(|value| f64::from(value * value)).sum();
                assert_eq!(samples.energy(), energy);
                samples.clear();
                assert_eq!(samples.energy(), 0.0);
            }
        }
    }
}
