//! The contrast of two instruments over lags, exact, by block of time.
//!
//! Source: T. Hayashi and N. Yoshida, "On covariance estimation of non-synchronously observed
//! diffusion processes", Bernoulli 11 (2005); M. Hoffmann, M. Rosenbaum and N. Yoshida, "Estimation
//! of the lead-lag parameter from non-synchronous data", Bernoulli 19 (2013).
//!
//! The contrast at a lag is the sum of the products of all moves of the first instrument and moves
//! of the second whose intervals overlap, if those of the first are shifted by the lag. The moves
//! of the second that overlap one interval are neighbours, so their sum is a difference of two of
//! its levels: at the first tick not before the interval's end, and at the last tick not after its
//! beginning. One pass over both gives the contrast ([`scan`]).
//!
//! The contrast is constant between the lags at which a tick of the first meets one of the second.
//! [`Rows::by_meetings`] therefore takes one lag from a pass, and for all others adds the changes
//! at the meetings: for ticks `i` and `j` that meet at lag `d`, the move that begins at `i` loses
//! move `j` at `d`, and the move that ends at `i` gains move `j + 1` right after `d`. A search over
//! 401 lags of 10 ms, with ticks every 360 ms, has 11 meetings a tick: far fewer than lags.

use super::ticks::Ticks;

/// Lags at equal distances.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    pub(super) from_ns: i64,
    /// At least 1.
    pub(super) step_ns: i64,
    /// At least 1.
    pub(super) count: usize,
}

impl Grid {
    pub(super) fn lag_ns(self, index: usize) -> i64 {
        self.from_ns + self.step_ns * index as i64
    }

    fn last_ns(self) -> i64 {
        self.lag_ns(self.count - 1)
    }
}

/// Sums of products by block and lag: the contributions of the first instrument's moves that end
/// in the block.
#[derive(Debug, Default)]
pub(super) struct Rows {
    sums: Vec<i128>,
    /// Lags, and one place for changes after the last lag.
    width: usize,
    base: Vec<i128>,
}

impl Rows {
    /// Computes all sums, in the way that has less to do. `blocks` has the block of the move to
    /// each tick of the first instrument, below `count`.
    pub(super) fn compute(
        &mut self,
        first: &Ticks,
        second: &Ticks,
        grid: Grid,
        blocks: &[u32],
        count: usize,
    ) {
        self.width = grid.count + 1;
        self.sums.clear();
        self.sums.resize(self.width * count, 0);
        self.base.clear();
        self.base.resize(count, 0);
        // A step of a pass costs about as much as a meeting.
        let passes = grid.count.saturating_mul(first.len() + second.len());
        if meetings(first, second, grid) <= passes {
            self.by_meetings(first, second, grid, blocks);
        } else {
            self.by_passes(first, second, grid, blocks);
        }
    }

    /// The sums of one block, one a lag.
    pub(super) fn block(&self, block: usize) -> &[i128] {
        &self.sums[block * self.width..][..self.width - 1]
    }

    fn by_passes(&mut self, first: &Ticks, second: &Ticks, grid: Grid, blocks: &[u32]) {
        for index in 0..grid.count {
            self.base.fill(0);
            scan(first, second, grid.lag_ns(index), blocks, &mut self.base);
            for (row, &sum) in self.sums.chunks_exact_mut(self.width).zip(&self.base) {
                row[index] = sum;
            }
        }
    }

    fn by_meetings(&mut self, first: &Ticks, second: &Ticks, grid: Grid, blocks: &[u32]) {
        let (step, width) = (grid.step_ns as u64, self.width);
        let mut from = 0;
        for (index, &time_ns) in first.times_ns.iter().enumerate() {
            let (start_ns, end_ns) = (time_ns + grid.from_ns, time_ns + grid.last_ns());
            from += second.times_ns[from..].iter().take_while(|&&tick| tick < start_ns).count();
            let (ends, begins) = (first.moves[index], first.moves[index + 1]);
            let row_of = |tick: usize| blocks.get(tick).map_or(0, |&block| block as usize * width);
            let (gaining, losing) = (row_of(index), row_of(index + 1));
            for (tick, moves) in second.times_ns[from..].iter().zip(second.moves[from..].windows(2))
            {
                if *tick > end_ns {
                    break;
                }
                let past = (tick - start_ns) as u64;
                let cell = (past / step) as usize;
                let is_between = !past.is_multiple_of(step);
                if past > 0 {
                    // At the first lag that is not before the meeting.
                    let place = losing + cell + usize::from(is_between);
                    self.sums[place] -= i128::from(begins) * i128::from(moves[0]);
                }
                self.sums[gaining + cell + 1] += i128::from(ends) * i128::from(moves[1]);
            }
        }
        scan(first, second, grid.from_ns, blocks, &mut self.base);
        for (row, &base) in self.sums.chunks_exact_mut(width).zip(&self.base) {
            let mut sum = base;
            for place in row {
                sum += *place;
                *place = sum;
            }
        }
    }
}

/// Adds the contrast at one lag to the sums of the blocks, in one pass over both instruments.
pub(super) fn scan(first: &Ticks, second: &Ticks, lag_ns: i64, blocks: &[u32], sums: &mut [i128]) {
    let Some(last) = second.len().checked_sub(1) else { return };
    let (ticks, levels) = (&second.times_ns[..=last], &second.levels[..=last]);
    let (mut after, mut opening) = (0, levels[0]);
    let moves = first.times_ns.iter().zip(&first.moves).zip(blocks);
    for ((&time_ns, &step), &block) in moves {
        let at = time_ns + lag_ns;
        // How many ticks to pass is random, so a loop would be predicted wrongly about once a tick.
        // Comparing four of them at once has no branch that depends on it, but for the last few.
        let near = ticks.get(after..after + 4).unwrap_or_default();
        let passed = near.iter().filter(|&&tick| tick <= at).count();
        after += passed;
        if passed == near.len() {
            while after <= last && ticks[after] <= at {
                after += 1;
            }
        }
        let before = after.saturating_sub(1);
        let next = if ticks[before] == at { before } else { after.min(last) };
        sums[block as usize] += i128::from(step) * i128::from(levels[next] - opening);
        opening = levels[before];
    }
}

/// How many pairs of ticks meet at a lag of the grid or between two.
fn meetings(first: &Ticks, second: &Ticks, grid: Grid) -> usize {
    let (mut from, mut until, mut sum) = (0, 0, 0);
    for &time_ns in &first.times_ns {
        let (start_ns, end_ns) = (time_ns + grid.from_ns, time_ns + grid.last_ns());
        from += second.times_ns[from..].iter().take_while(|&&tick| tick < start_ns).count();
        until += second.times_ns[until..].iter().take_while(|&&tick| tick <= end_ns).count();
        sum += until.saturating_sub(from);
    }
    sum
}

#[cfg(test)]
mod tests;
