//! The largest value of a correlation, and the largest elsewhere.

use std::{iter::zip, ops::Range};

use rustfft::num_complex::Complex32;

/// Points of a block, and values in them. The largest of each block is kept, so that one pass over
/// the values is enough for both peaks.
const POINTS: usize = 64;
const BLOCK: usize = 2 * POINTS;
/// Values that are compared side by side.
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

/// Values by lag in packed points, which the search does not move: even values are real parts, and
/// odd values imaginary parts.
#[derive(Clone, Debug)]
pub(super) struct Search {
    /// The largest value of each whole block of points that has a lag.
    blocks: Vec<f32>,
    /// Lags below zero that are at the end of the points, because those are circular.
    wrapped: usize,
    lags: usize,
}

impl Search {
    /// Among so many lags, of which these are at the end.
    pub(super) fn new(points: usize, lags: usize, wrapped: usize) -> Self {
        Self { blocks: vec![f32::MIN; points / POINTS], wrapped, lags }
    }

    /// The values of some lags: at the end of the points, and at their beginning.
    fn places(&self, points: &[Complex32], lags: Range<usize>) -> [Range<usize>; 2] {
        let split = |at: usize| at.clamp(lags.start, lags.end);
        let (low, high) = (lags.start..split(self.wrapped), split(self.wrapped)..lags.end);
        let end = 2 * points.len() - self.wrapped;
        let at_end = low.start + end..low.end + end;
        [
            at_end,
            high.start.max(self.wrapped) - self.wrapped..high.end.max(self.wrapped) - self.wrapped,
        ]
    }

    /// Values of lags in their order.
    pub(super) fn values<'a>(
        &'a self,
        points: &'a [Complex32],
        lags: Range<usize>,
    ) -> impl Iterator<Item = f32> + 'a {
        self.places(points, lags).into_iter().flatten().map(|at| value(points, at))
    }

    /// Finds the peak, and the next one that is more than so many lags away.
    pub(super) fn peak(&mut self, points: &[Complex32], neighbourhood: usize) -> Peak {
        let (chunks, _) = points.as_chunks::<POINTS>();
        for places in self.places(points, 0..self.lags) {
            let whole = places.start.div_ceil(BLOCK)..places.end / BLOCK;
            if !whole.is_empty() {
                for (block, chunk) in zip(&mut self.blocks[whole.clone()], &chunks[whole]) {
                    *block = largest(chunk);
                }
            }
        }
        let value = self.largest_of(points, 0..self.lags);
        let at = self.find(points, value);
        let before = self.largest_of(points, 0..at.saturating_sub(neighbourhood));
        let after = self.largest_of(points, (at + neighbourhood + 1).min(self.lags)..self.lags);
        Peak { at, value, second: before.max(after) }
    }

    /// The largest value of some lags, whole blocks at once.
    fn largest_of(&self, points: &[Complex32], lags: Range<usize>) -> f32 {
        let of = |places: Range<usize>| {
            let single =
                |places: Range<usize>| places.map(|at| value(points, at)).fold(f32::MIN, larger);
            let whole = places.start.div_ceil(BLOCK)..places.end / BLOCK;
            if whole.is_empty() {
                return single(places);
            }
            let ends = [places.start..whole.start * BLOCK, whole.end * BLOCK..places.end];
            let ends = ends.map(single).into_iter().fold(f32::MIN, larger);
            larger(ends, largest_value(&self.blocks[whole]))
        };
        self.places(points, lags).map(of).into_iter().fold(f32::MIN, larger)
    }

    /// The first lag with a value that is there. Only the block that has it is searched.
    fn find(&self, points: &[Complex32], wanted: f32) -> usize {
        let mut lag = 0;
        for places in self.places(points, 0..self.lags) {
            let mut at = places.start;
            while at < places.end {
                let block = at / BLOCK;
                let until = places.end.min((block + 1) * BLOCK);
                let largest = match until - at {
                    BLOCK => self.blocks[block],
                    _ => largest_part(points, at..until),
                };
                if largest == wanted {
                    let found = (at..until).find(|&at| value(points, at) == wanted);
                    return lag + found.unwrap_or(at) - at;
                }
                lag += until - at;
                at = until;
            }
        }
        0
    }
}

fn value(points: &[Complex32], at: usize) -> f32 {
    let point = points[at / 2];
    if at.is_multiple_of(2) { point.re } else { point.im }
}

/// The largest of some values.
fn largest_part(points: &[Complex32], places: Range<usize>) -> f32 {
    if places.is_empty() {
        return f32::MIN;
    }
    let ends = larger(value(points, places.start), value(points, places.end - 1));
    let whole = places.start.div_ceil(2)..places.end / 2;
    if whole.is_empty() { ends } else { larger(ends, largest(&points[whole])) }
}

/// The larger one; the first if the second is not a number.
fn larger(a: f32, b: f32) -> f32 {
    if b > a { b } else { a }
}

/// The largest part of any point.
#[inline(always)]
fn largest(points: &[Complex32]) -> f32 {
    let (chunks, rest) = points.as_chunks::<{ LANES / 2 }>();
    let mut lanes = [f32::MIN; LANES];
    for chunk in chunks {
        for at in 0..LANES / 2 {
            lanes[2 * at] = larger(lanes[2 * at], chunk[at].re);
            lanes[2 * at + 1] = larger(lanes[2 * at + 1], chunk[at].im);
        }
    }
    let rest = rest.iter().map(|point| larger(point.re, point.im)).fold(f32::MIN, larger);
    larger(largest_lane(lanes), rest)
}

/// The largest value.
fn largest_value(values: &[f32]) -> f32 {
    let (chunks, rest) = values.as_chunks::<LANES>();
    let mut lanes = [f32::MIN; LANES];
    for chunk in chunks {
        for at in 0..LANES {
            lanes[at] = larger(lanes[at], chunk[at]);
        }
    }
    larger(largest_lane(lanes), rest.iter().copied().fold(f32::MIN, larger))
}

/// Half with half, so that no comparison waits for fifteen others.
#[inline(always)]
fn largest_lane(mut lanes: [f32; LANES]) -> f32 {
    for half in [8, 4, 2, 1] {
        for at in 0..half {
            lanes[at] = larger(lanes[at], lanes[at + half]);
        }
    }
    lanes[0]
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
            spare in 0_usize..300,
            wrapped in 0_usize..700,
            neighbourhood in 0_usize..300,
        ) {
            let lags = values.len();
            let wrapped = wrapped.min(lags);
            // Lags below zero are at the end, and what is between is not searched.
            let mut flat = vec![99.0; (lags + spare).next_multiple_of(2)];
            let length = flat.len();
            for (lag, value) in values.iter().enumerate() {
                flat[(lag + length - wrapped) % length] = f32::from(*value);
            }
            let points: Vec<Complex32> =
                flat.as_chunks::<2>().0.iter().map(|&[re, im]| Complex32::new(re, im)).collect();
            let mut search = Search::new(points.len(), lags, wrapped);
            let peak = search.peak(&points, neighbourhood);
            let value = *values.iter().max().expect("not empty");
            let at = values.iter().position(|&other| other == value).expect("it is there");
            let far = |index: usize| index.abs_diff(at) > neighbourhood;
            let others = (0..lags).filter(|&index| far(index)).map(|index| values[index]);
            let second = others.max().map_or(f32::MIN, f32::from);
            prop_assert_eq!(peak, Peak { at, value: f32::from(value), second });
            let found: Vec<f32> = search.values(&points, 0..lags).collect();
            let expected: Vec<f32> = values.iter().copied().map(f32::from).collect();
            prop_assert_eq!(found, expected);
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
