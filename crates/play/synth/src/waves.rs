//! Square and triangle waves as the shares of the best bid, as in published tests of estimators: a
//! known signal, of which a second feed is a known number of samples later.

use core::{cmp::Reverse, fmt, str::FromStr};
use std::collections::BinaryHeap;

use super::{
    quotes::{Quote, QuoteUpdate},
    spec::{self, SpecError, Time},
};

const KEYS: &str = "square:PERIOD or triangle:PERIOD, then stocks";
const A_PERIOD: &str = "a time from 1us to 1h such as 2ms";
const A_COUNT: &str = "a number of stocks from 1 to 1000";

/// The values of a triangle go up in so many steps, and down again.
const RISE: u64 = 16;

/// The form of a wave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaveShape {
    /// 1,600 shares for half a period, then 100 for the other half.
    Square,
    /// From 100 shares to 1,700 in 16 equal steps, and back.
    Triangle,
}

impl WaveShape {
    const ALL: [Self; 2] = [Self::Square, Self::Triangle];

    fn name(self) -> &'static str {
        match self {
            Self::Square => "square",
            Self::Triangle => "triangle",
        }
    }

    /// Number of values in a period.
    fn steps(self) -> u64 {
        match self {
            Self::Square => 2,
            Self::Triangle => 2 * RISE,
        }
    }

    fn shares(self, step: u64) -> u32 {
        let lots = match self {
            Self::Square => 1 + (1 - step) * (RISE - 1),
            Self::Triangle => 1 + step.min(2 * RISE - step),
        };
        lots as u32 * 100
    }
}

/// A wave for each of some stocks. Its text has the form `square:2ms,stocks=4`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaveSpec {
    /// Its form.
    pub shape: WaveShape,
    /// Its period in nanoseconds.
    pub period_ns: u64,
    /// Number of stocks. Of `n`, each is later than the one before by a part in `n` of a period.
    pub stocks: u16,
}

impl FromStr for WaveSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let (wave, rest) = text.split_once(',').unwrap_or((text, ""));
        let unknown = || SpecError::UnknownKey { part: wave.to_owned(), keys: KEYS };
        let (name, period) = wave.split_once(':').ok_or_else(unknown)?;
        let shape = WaveShape::ALL.into_iter().find(|shape| shape.name() == name.trim());
        let shape = shape.ok_or_else(unknown)?;
        let allowed = 1_000..=3_600_000_000_000;
        let nanos = spec::nanos(period.trim()).filter(|nanos| allowed.contains(nanos));
        let period_ns = nanos.ok_or_else(|| SpecError::Value {
            key: name.to_owned(),
            value: period.to_owned(),
            expected: A_PERIOD,
        })? as u64;
        let mut own = Self { shape, period_ns, stocks: 1 };
        spec::read(rest, KEYS, |key, value| {
            if key == "stocks" {
                own.stocks = spec::count(value, 1..=1_000).ok_or(A_COUNT)?;
            }
            Ok(key == "stocks")
        })?;
        Ok(own)
    }
}

impl fmt::Display for WaveSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.shape.name(), Time(self.period_ns as i64))?;
        if self.stocks == 1 { Ok(()) } else { write!(f, ",stocks={}", self.stocks) }
    }
}

/// The quotes of a wave without end, in order of time: one for each change of its value. Prices and
/// the offer do not change.
#[derive(Debug)]
pub struct WaveStream {
    wave: WaveSpec,
    from_ns: u64,
    /// The next change of each stock: time, stock, and number of changes before.
    next: BinaryHeap<Reverse<(u64, u16, u64)>>,
}

impl WaveStream {
    /// The wave from a time on, in nanoseconds since midnight, at which the first stock's begins.
    pub fn new(wave: WaveSpec, from_ns: u64) -> Self {
        let mut own = Self { wave, from_ns, next: BinaryHeap::new() };
        for stock in 0..wave.stocks {
            own.plan(stock, 0);
        }
        own
    }

    fn plan(&mut self, stock: u16, number: u64) {
        let WaveSpec { shape, period_ns, stocks } = self.wave;
        let (periods, step) = (number / shape.steps(), number % shape.steps());
        let later = period_ns * u64::from(stock) / u64::from(stocks);
        let since = periods * period_ns + period_ns * step / shape.steps() + later;
        self.next.push(Reverse((self.from_ns.saturating_add(since), stock, number)));
    }
}

impl Iterator for WaveStream {
    type Item = QuoteUpdate;

    fn next(&mut self) -> Option<QuoteUpdate> {
        let Reverse((time_ns, stock, number)) = self.next.pop()?;
        self.plan(stock, number + 1);
        let shape = self.wave.shape;
        let bid_shares = shape.shares(number % shape.steps());
        let quote =
            Quote { bid_price: 100_000, bid_shares, offer_price: 100_100, offer_shares: 100 };
        Some(QuoteUpdate { time_ns, stock, quote })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waves_have_their_shape_and_period() {
        let shares = |text: &str, count| -> Vec<_> {
            let stream = WaveStream::new(text.parse().unwrap(), 1_000);
            stream.take(count).map(|u| (u.time_ns, u.stock, u.quote.bid_shares)).collect()
        };
        let square = [(1_000, 0, 1_600), (1_001_000, 0, 100), (2_001_000, 0, 1_600)];
        assert_eq!(shares("square:2ms", 3), square);
        let two = [(1_000, 0, 1_600), (1_001_000, 0, 100), (1_001_000, 1, 1_600)];
        assert_eq!(shares("square:2ms,stocks=2", 3), two);
        let triangle = shares("triangle:32us", 65);
        assert!(triangle.windows(2).all(|w| w[1].0 - w[0].0 == 1_000));
        assert!(triangle.windows(2).all(|w| w[1].2.abs_diff(w[0].2) == 100));
        let at = |step: usize| triangle[step].2;
        assert_eq!((at(0), at(16), at(32), at(48), at(64)), (100, 1_700, 100, 1_700, 100));
    }

    #[test]
    fn texts_of_waves_print_and_parse() {
        for text in ["square:2ms", "triangle:1500us,stocks=7"] {
            assert_eq!(text.parse::<WaveSpec>().unwrap().to_string(), text);
        }
        for (text, expected) in [
            ("sine:2ms", "\"sine:2ms\": expected square:PERIOD or triangle:PERIOD"),
            ("square", "\"square\": expected square:PERIOD"),
            ("square:1ns", "square=1ns: expected a time from 1us to 1h"),
            ("square:2ms,stocks=0", "stocks=0: expected a number of stocks"),
            ("square:2ms,high=3", "\"high=3\": expected"),
        ] {
            let error = text.parse::<WaveSpec>().unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
