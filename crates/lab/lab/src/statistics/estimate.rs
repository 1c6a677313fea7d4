//! A number with its uncertainty, the result of every estimator here.

/// A closed interval that should contain the true value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end, included.
    pub low: f64,
    /// The upper end, included.
    pub high: f64,
    /// The actual confidence, from 0 to 1. Intervals from ranks cannot have every confidence; they
    /// use the next higher possible one, which is stated here.
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
    /// The interval for the true value.
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
