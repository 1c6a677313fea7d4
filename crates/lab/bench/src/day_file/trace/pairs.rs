//! Two variants measured in turns in one process: what one adds to the other.
//!
//! A pair is one short reading of each, right after each other, in an order drawn by lot. A slow
//! machine is then slow for both, and what interrupts one reading spoils one pair of many.

use nanotape_lab::{Rng, statistics::order::median};
use serde_json::{Value, json};

/// Pairs of readings, in ns of an operation.
#[derive(Debug)]
pub(super) struct Pairs {
    readings: Vec<[f64; 2]>,
    lots: Rng,
}

/// The variant that is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    /// What the row is compared with.
    Base,
    /// What the row is about.
    Own,
}

impl From<Side> for usize {
    fn from(side: Side) -> Self {
        match side {
            Side::Base => 0,
            Side::Own => 1,
        }
    }
}

impl Pairs {
    /// No pairs yet. The order of their sides differs between processes with another `seed`.
    pub(super) fn new(seed: u64) -> Self {
        Self { readings: Vec::new(), lots: Rng::new(seed) }
    }

    /// The order of the next pair.
    pub(super) fn order(&mut self) -> [Side; 2] {
        match self.lots.below(2) {
            0 => [Side::Base, Side::Own],
            _ => [Side::Own, Side::Base],
        }
    }

    pub(super) fn push(&mut self, base_ns: f64, own_ns: f64) {
        self.readings.push([base_ns, own_ns]);
    }

    /// Medians over the pairs: of both sides, of the difference, and of the share of the base's
    /// rate that the difference takes. `None` without a pair.
    pub(super) fn detail(&self) -> Option<Value> {
        let over = |number: fn(&[f64; 2]) -> f64| {
            median(&self.readings.iter().map(number).collect::<Vec<_>>())
        };
        Some(json!({
            "ns": over(|[_, own]| *own)?,
            "base_ns": over(|[base, _]| *base)?,
            "adds_ns": over(|[base, own]| own - base)?,
            "takes_share": over(|[base, own]| 1.0 - base / own)?,
            "pairs": self.readings.len(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_within_a_pair_and_one_bad_pair_does_not_count() {
        let mut pairs = Pairs::new(1);
        assert_eq!(pairs.detail(), None);
        // The machine becomes three times as slow. The medians of the sides do not distinguish that
        // from a difference.
        for slow in [1.0, 2.0, 3.0] {
            pairs.push(100.0 * slow, 100.0 * slow + 8.0);
        }
        pairs.push(100.0, 90_000.0);
        pairs.push(90_000.0, 108.0);
        let detail = pairs.detail().unwrap();
        assert_eq!((&detail["adds_ns"], &detail["pairs"]), (&json!(8.0), &json!(5)));
        let share = detail["takes_share"].as_f64().unwrap();
        assert!((share - 8.0 / 208.0).abs() < 1e-9, "{share}");
    }

    #[test]
    fn either_side_comes_first_about_as_often() {
        let mut pairs = Pairs::new(7);
        let first = (0..1_000).filter(|_| pairs.order()[0] == Side::Own).count();
        assert!((400..600).contains(&first), "{first}");
        let orders = |seed| {
            let mut pairs = Pairs::new(seed);
            (0..64).map(|_| pairs.order()).collect::<Vec<_>>()
        };
        assert_ne!(orders(1), orders(2));
    }
}
