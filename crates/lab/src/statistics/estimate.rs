//! A number with its uncertainty: what every estimator here returns.

/// A closed interval that is meant to hold the true value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end, itself inside.
    pub low: f64,
    /// The upper end, itself inside.
    pub high: f64,
    /// The confidence reached, from 0 to 1. Intervals made of ranks cannot reach every confidence;
    /// they take the next higher one, and this says which.
    pub confidence: f64,
}

impl Interval {
    /// Whether `value` lies in the interval, ends included.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// A value and the interval around it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The best single value.
    pub value: f64,
    /// Where the true value is to be expected.
    pub interval: Interval,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_holds_its_ends_and_no_nan() {
        let interval = Interval { low: -1.0, high: 2.0, confidence: 0.95 };
        assert!(interval.contains(-1.0) && interval.contains(2.0) && interval.contains(0.0));
        assert!(
            !interval.contains(2.1) && !interval.contains(-1.1) && !interval.contains(f64::NAN)
        );
    }
}
