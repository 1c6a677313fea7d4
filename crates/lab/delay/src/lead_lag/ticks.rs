//! The ticks of one instrument, prepared for sums of products that are exact.

use crate::Changes;

/// Times lie within this of the start of the window, so that a time and a lag add up.
const FARTHEST_NS: i64 = (1 << 62) - 1;

/// The largest sum of the sizes of all moves. Two of them multiply to less than `2^124`, so that
/// no sum of products leaves 128 bits.
const LARGEST_VARIATION: u128 = 1 << 62;

/// Ticks at ascending times. Of several values at one time the last one counts, since no interval
/// lies between them.
#[derive(Debug, Default)]
pub(super) struct Ticks {
    /// From the start of the window, strictly ascending.
    pub(super) times_ns: Vec<i64>,
    /// Value less the first value.
    pub(super) levels: Vec<i64>,
    /// The move to each tick from the one before it: 0 for the first one, and one more 0 at the
    /// end, for the move that the last tick does not begin.
    pub(super) moves: Vec<i64>,
}

impl Ticks {
    /// Replaces the ticks; allocates only if there are more than ever before.
    ///
    /// Values whose moves add up to more than 2^62 lose their lowest bits.
    pub(super) fn load(&mut self, changes: Changes<'_>, from_ns: i64) {
        self.times_ns.clear();
        self.levels.clear();
        self.moves.clear();
        let Some(&first) = changes.values.first() else { return };
        let shift = lost_bits(changes.values);
        for (&time_ns, &value) in changes.times_ns.iter().zip(changes.values) {
            let time_ns = time_ns.saturating_sub(from_ns).clamp(-FARTHEST_NS, FARTHEST_NS);
            let level = (value >> shift) - (first >> shift);
            match (self.times_ns.last(), self.levels.last_mut()) {
                (Some(&last_ns), Some(last)) if time_ns <= last_ns => *last = level,
                _ => {
                    self.times_ns.push(time_ns);
                    self.levels.push(level);
                }
            }
        }
        self.moves.push(0);
        self.moves.extend(self.levels.windows(2).map(|pair| pair[1] - pair[0]));
        self.moves.push(0);
    }

    pub(super) fn len(&self) -> usize {
        self.times_ns.len()
    }

    /// The sum of the squares of the moves between ticks from time 0 to before a time.
    pub(super) fn variance(&self, until_ns: i64) -> u128 {
        let from = self.times_ns.partition_point(|&at| at < 0);
        let until = self.times_ns.partition_point(|&at| at < until_ns);
        let moves = self.moves.get(from + 1..until).unwrap_or_default();
        moves.iter().map(|&step| u128::from(step.unsigned_abs()).pow(2)).sum()
    }

    /// The lags around one without another lag at which ticks of both instruments meet. The
    /// contrast is the same at all of them.
    pub(super) fn plateau(&self, second: &Ticks, lag_ns: i64) -> (i64, i64) {
        let (mut below, mut above) = (FARTHEST_NS, FARTHEST_NS);
        let mut after = 0;
        for &time_ns in &self.times_ns {
            let at = time_ns + lag_ns;
            while second.times_ns.get(after).is_some_and(|&tick| tick <= at) {
                after += 1;
            }
            if let Some(before) = after.checked_sub(1) {
                below = below.min(at - second.times_ns[before]);
            }
            if let Some(&next) = second.times_ns.get(after) {
                above = above.min(next - at);
            }
        }
        if below == 0 {
            return (lag_ns, lag_ns);
        }
        (lag_ns.saturating_sub(below - 1), lag_ns.saturating_add(above - 1))
    }
}

/// The number of lowest bits to drop, for the variation to stay below its bound.
fn lost_bits(values: &[i64]) -> u32 {
    let variation: u128 = values.windows(2).map(|pair| u128::from(pair[1].abs_diff(pair[0]))).sum();
    if variation < LARGEST_VARIATION {
        return 0;
    }
    // Dropping bits can add 1 to each move.
    let fits = |shift: u32| (variation >> shift) + (values.len() as u128) < LARGEST_VARIATION;
    (1..63).find(|&shift| fits(shift)).unwrap_or(63)
}
