//! The largest value of a correlation, and the largest elsewhere.

/// Values of a block. The largest of each block is kept, so that one pass over the values is enough
/// for both peaks.
const BLOCK: usize = 128;
const LANES: usize = 16;

/// A peak of a correlation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Peak {
    /// Its index among the lags.
    pub at: usize,
    /// The largest value, at that index.
    pub value: f32,
    /// The largest value outside of the neighbourhood.
    pub second: f32,
}

/// A correlation by lag, from the smallest lag to the largest.
#[derive(Debug)]
pub(super) struct Lags {
    pub(super) values: Vec<f32>,
    blocks: Vec<f32>,
}

impl Lags {
    pub(super) fn new(count: usize) -> Self {
        Self { values: vec![0.0; count], blocks: vec![0.0; count.div_ceil(BLOCK)] }
    }

    /// Finds the peak, and the next one that is more than so many lags away.
    pub(super) fn peak(&mut self, neighbourhood: usize) -> Peak {
        let mut best = (0, f32::MIN);
        for (at, (block, values)) in
            self.blocks.iter_mut().zip(self.values.chunks(BLOCK)).enumerate()
        {
            *block = largest(values);
            if *block > best.1 {
                best = (at, *block);
            }
        }
        let (block, value) = best;
        let from = block * BLOCK;
        let within = self.values[from..].iter().position(|&other| other == value);
        let at = from + within.unwrap_or(0);
        let before = self.largest_within(0, at.saturating_sub(neighbourhood));
        let after = self.largest_within(at + neighbourhood + 1, self.values.len());
        Peak { at, value, second: before.max(after) }
    }

    /// The largest from an index to before another, whole blocks at once.
    fn largest_within(&self, from: usize, until: usize) -> f32 {
        if from >= until {
            return f32::MIN;
        }
        let blocks = from.div_ceil(BLOCK)..until / BLOCK;
        if blocks.is_empty() {
            return largest(&self.values[from..until]);
        }
        let head = largest(&self.values[from..blocks.start * BLOCK]);
        let tail = largest(&self.values[blocks.end * BLOCK..until]);
        largest(&self.blocks[blocks]).max(head).max(tail)
    }
}

/// The largest value; the least `f32` if there is none. What is not a number is left out.
fn largest(values: &[f32]) -> f32 {
    let larger = |a: f32, b: f32| if b > a { b } else { a };
    let (chunks, rest) = values.as_chunks::<LANES>();
    let mut lanes = [f32::MIN; LANES];
    for chunk in chunks {
        for (lane, &value) in lanes.iter_mut().zip(chunk) {
            *lane = larger(*lane, value);
        }
    }
    lanes.iter().chain(rest).copied().fold(f32::MIN, larger)
}

/// Where the parabola through three neighbouring values has its maximum, from -1/2 to 1/2 lags from
/// the middle one.
pub(super) fn offset_of_parabola([before, middle, after]: [f32; 3]) -> f64 {
    let bend = f64::from(before) - 2.0 * f64::from(middle) + f64::from(after);
    if bend >= 0.0 {
        return 0.0;
    }
    ((f64::from(before) - f64::from(after)) / (2.0 * bend)).clamp(-0.5, 0.5)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn peaks_are_those_of_a_search(
            values in prop::collection::vec(-9_i8..9, 1..700),
            neighbourhood in 0_usize..300,
        ) {
            let mut lags = Lags::new(values.len());
            for (lag, value) in lags.values.iter_mut().zip(&values) {
                *lag = f32::from(*value);
            }
            let peak = lags.peak(neighbourhood);
            let value = *values.iter().max().expect("not empty");
            let at = values.iter().position(|&other| other == value).expect("it is there");
            let far = |index: usize| index.abs_diff(at) > neighbourhood;
            let others = (0..values.len()).filter(|&index| far(index)).map(|index| values[index]);
            let second = others.max().map_or(f32::MIN, f32::from);
            prop_assert_eq!(peak, Peak { at, value: f32::from(value), second });
        }
    }

    #[test]
    fn a_parabola_is_found() {
        let parabola = |x: f32| 5.0 - (x - 0.25) * (x - 0.25);
        let values = [-1.0, 0.0, 1.0].map(parabola);
        assert!((offset_of_parabola(values) - 0.25).abs() < 1e-6);
        assert_eq!(offset_of_parabola([1.0, 1.0, 1.0]), 0.0);
        assert_eq!(offset_of_parabola([0.0, 0.0, 1.0]), 0.0);
    }
}
