//! Draws from the contributions of blocks: an interval of the lag, and what chance alone gives.
//!
//! Both need the contributions of blocks only ([`Contributions`]), so a draw costs one sum over
//! blocks for each lag, and no new contrast.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;

use super::contrast::{Grid, Rows};

/// Draws that reach the contrast before the search for more of them stops.
const ENOUGH_HITS: usize = 20;

/// Contributions to the contrast by block and lag, for several grids of lags.
#[derive(Debug, Default)]
pub(super) struct Contributions {
    grids: Vec<Grid>,
    /// For each grid the rows of the blocks, one after another.
    values: Vec<f64>,
    blocks: usize,
    weights: Vec<f64>,
    sums: Vec<f64>,
    drawn: Vec<f64>,
}

impl Contributions {
    pub(super) fn clear(&mut self, blocks: usize) {
        self.grids.clear();
        self.values.clear();
        self.blocks = blocks;
    }

    /// Adds what the blocks contribute at the lags of a grid, times a scale.
    pub(super) fn add(&mut self, grid: Grid, rows: &Rows, scale: f64) {
        self.grids.push(grid);
        for block in 0..self.blocks {
            self.values.extend(rows.block(block).iter().map(|&sum| sum as f64 * scale));
        }
    }

    /// The contrast at the lags of the first grid.
    pub(super) fn coarse(&mut self) -> &[f64] {
        self.weights.clear();
        self.weights.resize(self.blocks, 1.0);
        if let Some(grid) = self.grids.first() {
            add_up(&self.values, grid.count, &self.weights, &mut self.sums);
        }
        &self.sums
    }

    /// How often chance gives as large a contrast at any lag of the first grid, and the contrast
    /// that is needed for this to be at most `share`.
    ///
    /// The signs of the first instrument's moves are turned, all moves of a block together. If the
    /// instruments are unrelated, then the turned moves are as likely as the real ones, whatever
    /// the times of the ticks and the sizes of the moves are. These stay in place: clusters of
    /// ticks, also those that both instruments have at the same times, and moves that depend on
    /// one another within a block.
    ///
    /// Blocks of the second instrument in another order, or shifted, would pull common clusters
    /// apart: for unrelated instruments that are busy in the same bursts, such a null gave p of at
    /// most 0.05 on 25% of simulated days, and this one on 5% (see `tests/lead_lag/unrelated.rs`).
    ///
    /// The draws stop at [`ENOUGH_HITS`] that reach the contrast: J. Besag and P. Clifford,
    /// "Sequential Monte Carlo p-values", Biometrika 78 (1991). So only a strong relation costs
    /// all `draws`.
    pub(super) fn chance(
        &mut self,
        draws: usize,
        share: f64,
        random: &mut Xoshiro256PlusPlus,
    ) -> (f64, f64) {
        let Some(&Grid { count, .. }) = self.grids.first() else { return (1.0, 0.0) };
        let observed = largest(self.coarse());
        self.drawn.clear();
        let (mut hits, mut bits) = (0, 0);
        while self.drawn.len() < draws && hits < ENOUGH_HITS {
            for (block, weight) in self.weights.iter_mut().enumerate() {
                if block % 64 == 0 {
                    bits = random.next_u64();
                }
                *weight = if bits >> (block % 64) & 1 == 0 { 1.0 } else { -1.0 };
            }
            add_up(&self.values, count, &self.weights, &mut self.sums);
            let drawn = largest(&self.sums);
            hits += usize::from(drawn >= observed);
            self.drawn.push(drawn);
        }
        let p_value = if hits == ENOUGH_HITS {
            hits as f64 / self.drawn.len() as f64
        } else {
            (1 + hits) as f64 / (1 + self.drawn.len()) as f64
        };
        self.drawn.sort_unstable_by(f64::total_cmp);
        // As many draws, less one, may reach the contrast for a p of the share.
        let reaching = ((1 + self.drawn.len()) as f64 * share) as usize;
        let place = self.drawn.len().checked_sub(reaching.max(1));
        (p_value, place.map_or(observed, |place| self.drawn[place]))
    }

    /// An interval of the lag of the largest contrast: blocks are drawn with replacement, and the
    /// ends are quantiles of the lags that the draws give (percentile interval; B. Efron, Annals
    /// of Statistics 7, 1979; blocks: H. R. Kuensch, Annals of Statistics 17, 1989).
    pub(super) fn interval(
        &mut self,
        draws: usize,
        confidence: f64,
        random: &mut Xoshiro256PlusPlus,
    ) -> Option<(f64, f64)> {
        self.drawn.clear();
        self.weights.resize(self.blocks, 0.0);
        for _ in 0..draws {
            self.weights.fill(0.0);
            for _ in 0..self.blocks {
                let block = (u128::from(random.next_u64()) * self.blocks as u128) >> 64;
                self.weights[block as usize] += 1.0;
            }
            let lag_ns = self.best_lag_ns();
            self.drawn.push(lag_ns as f64);
        }
        self.drawn.sort_unstable_by(f64::total_cmp);
        // Draws are between as many plus one equally likely spans.
        let beyond = ((draws + 1) as f64 * (1.0 - confidence) / 2.0) as usize;
        let beyond = beyond.saturating_sub(1);
        let last = draws.checked_sub(1)?;
        Some((self.drawn[beyond], self.drawn[last - beyond]))
    }

    /// The lag of the largest contrast of the weighted blocks, on any grid.
    fn best_lag_ns(&mut self) -> i64 {
        let (mut best, mut best_ns, mut values) = (-1.0, 0, &self.values[..]);
        for grid in &self.grids {
            let (rows, others) = values.split_at(grid.count * self.blocks);
            values = others;
            add_up(rows, grid.count, &self.weights, &mut self.sums);
            for (index, sum) in self.sums.iter().enumerate() {
                if sum.abs() > best {
                    (best, best_ns) = (sum.abs(), grid.lag_ns(index));
                }
            }
        }
        best_ns
    }
}

/// Adds up weighted rows of a length.
fn add_up(rows: &[f64], length: usize, weights: &[f64], sums: &mut Vec<f64>) {
    sums.clear();
    sums.resize(length, 0.0);
    for (row, &weight) in rows.chunks_exact(length).zip(weights) {
        if weight != 0.0 {
            for (sum, value) in sums.iter_mut().zip(row) {
                *sum += weight * value;
            }
        }
    }
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most, value| if value.abs() > most { value.abs() } else { most })
}
