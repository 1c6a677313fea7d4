//! What the device needs to sample a job: cells with values, as [`XcorrSettings`] defines them.
//!
//! The estimator on the CPU fills every cell; here only those are made in which a value changes.

use super::words::Words;
use crate::{
    Changes, Signal, XcorrSettings,
    xcorr::{
        Sides,
        sample::{Grid, scale},
    },
};

/// Makes cells. It keeps its memory between jobs.
#[derive(Debug)]
pub(super) struct Sampler {
    settings: XcorrSettings,
    sides: [Side; 2],
}

/// The cells of one feed.
#[derive(Default, Debug)]
struct Side {
    /// Cells in order, several times the same one if differences are to be added.
    cells: Vec<(u32, i128)>,
    /// The power of two that brings the largest to at least 1/2 and below 1.
    scale: f64,
    /// Cells of the feed, those without a value included.
    count: usize,
}

impl Sampler {
    pub(super) fn new(settings: XcorrSettings) -> Self {
        Self { settings, sides: <[Side; 2]>::default() }
    }

    /// Finds the cells of a window.
    pub(super) fn sample(&mut self, of: &Sides<'_>) {
        for (side, (changes, grid)) in self.sides.iter_mut().zip([of.first, of.second]) {
            side.cells.clear();
            side.count = grid.cells;
            match self.settings.signal {
                Signal::Differences => side.fill_differences(changes, grid),
                Signal::Levels => side.fill_levels(changes, grid),
            }
            side.scale = scale(side.cells.iter().map(|cell| cell.1));
        }
    }

    /// Room that the job needs in a batch: its cells, and for levels the end of each feed.
    pub(super) fn room(&self) -> usize {
        let most = self.settings.transform_length();
        self.sides.iter().map(|side| (side.cells.len() + 1).min(most)).sum()
    }

    /// Adds the job to a batch that has room for it. The result is the product of the energies of
    /// both feeds.
    pub(super) fn write(&self, words: &mut Words<'_>) -> f64 {
        let mut energies = [0.0; 2];
        for (side, energy) in self.sides.iter().zip(&mut energies) {
            side.each_cell(self.settings, |cell, value, lasts| {
                *energy += f64::from(value) * f64::from(value) * lasts as f64;
                words.push(cell, value);
            });
            words.end_feed();
        }
        let energies = energies[0] * energies[1];
        words.end_job(-1.0);
        energies
    }
}

impl Side {
    fn fill_differences(&mut self, changes: Changes<'_>, grid: Grid) {
        let within = grid.changes(changes);
        // The first value of a series is no change.
        for index in within.start.max(1)..within.end {
            let [before, value] = [index - 1, index].map(|at| i128::from(changes.values[at]));
            self.cells.push((grid.cell(changes.times_ns[index]) as u32, value - before));
        }
    }

    fn fill_levels(&mut self, changes: Changes<'_>, grid: Grid) {
        let within = grid.changes(changes);
        let before = changes.values.get(within.start.saturating_sub(1));
        let Some(&before) = before.filter(|_| grid.cells > 0) else { return };
        self.cells.push((0, i128::from(before)));
        for index in within {
            let cell = grid.cell_from(changes.times_ns[index]);
            if cell >= grid.cells {
                break;
            }
            // The first value counts before its time.
            let cell = if index == 0 { 0 } else { cell as u32 };
            let value = i128::from(changes.values[index]);
            match self.cells.last_mut() {
                Some(last) if last.0 == cell => last.1 = value,
                _ => self.cells.push((cell, value)),
            }
        }
        let mean = self.mean();
        for cell in &mut self.cells {
            cell.1 -= mean;
        }
    }

    /// How many cells the value of each is in, if it lasts until the next.
    fn lengths(&self) -> impl Iterator<Item = usize> {
        let ends = self.cells.iter().skip(1).map(|cell| cell.0 as usize).chain([self.count]);
        self.cells.iter().zip(ends).map(|(cell, end)| end - cell.0 as usize)
    }

    /// Mean over all cells of the levels that last, rounded.
    fn mean(&self) -> i128 {
        let sums = self.cells.iter().zip(self.lengths());
        let sum: i128 = sums.map(|(cell, length)| cell.1 * length as i128).sum();
        let count = self.count as i128;
        (sum + count / 2).div_euclid(count)
    }

    /// Gives each cell with its value and the number of cells with it, in order, each once.
    fn each_cell(&self, settings: XcorrSettings, mut give: impl FnMut(u32, f32, usize)) {
        let scaled = |value: i128| (value as f64 * self.scale) as f32;
        if settings.signal == Signal::Levels {
            for (&(cell, value), length) in self.cells.iter().zip(self.lengths()) {
                give(cell, scaled(value), length);
            }
            if !self.cells.is_empty() && self.count < settings.transform_length() {
                give(self.count as u32, 0.0, 0);
            }
            return;
        }
        let mut cells = self.cells.iter().map(|&(cell, value)| (cell, scaled(value))).peekable();
        while let Some((cell, mut value)) = cells.next() {
            while let Some((_, more)) = cells.next_if(|next| next.0 == cell) {
                value += more;
            }
            give(cell, value, 1);
        }
    }
}

/// Samples of both sides as the estimator on the CPU makes them, which has tests of its own.
#[cfg(test)]
pub(super) fn of_cpu(of: &Sides<'_>, settings: &XcorrSettings) -> [Vec<f32>; 2] {
    use crate::{Correlator, xcorr::sample};
    let correlator = Correlator::new(*settings).expect("good settings");
    [of.first, of.second].map(|(changes, grid)| {
        let mut samples = correlator.samples();
        match settings.signal {
            Signal::Differences => sample::differences(changes, grid, &mut samples),
            Signal::Levels => sample::levels(changes, grid, &mut samples),
        }
        samples.cells()
    })
}
