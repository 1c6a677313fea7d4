//! Converts ticks to nanoseconds with one multiplication.

/// Fraction bits of the factor. A month of ticks is below 2^54, so the last bit of the factor is
/// less than a quarter of a nanosecond in a month; and the factor fits in 64 bits for every counter
/// above 4 MHz.
const FRACTION_BITS: u32 = 56;

/// Nanoseconds per tick, as a 64-bit number with 56 fraction bits.
///
/// A 64-bit float is enough for short spans, but has only 53 bits: after about a month the product
/// is off by a nanosecond, and each conversion pays for two changes of representation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Scale {
    factor: u64,
}

impl Scale {
    /// A tick is a nanosecond.
    pub(crate) const ONE: Self = Self { factor: 1 << FRACTION_BITS };

    /// The ratio of `nanos` to `ticks`; `None` if it is zero or does not fit.
    pub(crate) fn of(nanos: u64, ticks: u64) -> Option<Self> {
        let scaled = u128::from(nanos) << FRACTION_BITS;
        let rounded = (scaled + u128::from(ticks / 2)).checked_div(u128::from(ticks))?;
        let factor = u64::try_from(rounded).ok().filter(|factor| *factor > 0)?;
        Some(Self { factor })
    }

    /// Whole nanoseconds in `ticks`, rounded down.
    #[inline]
    pub(crate) fn nanos(self, ticks: u64) -> u64 {
        let product = u128::from(ticks) * u128::from(self.factor);
        u64::try_from(product >> FRACTION_BITS).unwrap_or(u64::MAX)
    }

    /// Nanoseconds from one count of ticks to another, negative if the second is the smaller.
    #[inline]
    pub(crate) fn nanos_from(self, from: u64, to: u64) -> i64 {
        let nanos = i64::try_from(self.nanos(from.abs_diff(to))).unwrap_or(i64::MAX);
        if to >= from { nanos } else { -nanos }
    }

    /// Nanoseconds in a tick, as a fraction.
    pub(crate) fn nanos_per_tick(self) -> f64 {
        self.factor as f64 / (1u64 << FRACTION_BITS) as f64
    }
}

#[cfg(test)]
mod tests {
    use nanotape_harness::Random;

    use super::*;

    #[test]
    fn random_ticks_convert_as_by_exact_division() {
        let mut random = Random::new(1);
        for _ in 0..20_000 {
            // Rates from 0.1 to 6.5 GHz, measured over an interval of 50 ms to 3.3 s.
            let interval = 50_000_000 + random.number() % (1 << 32);
            let megahertz = 100 + random.number() % 6_400;
            let interval_ticks = interval * megahertz / 1_000 + random.number() % 1_000;
            let scale = Scale::of(interval, interval_ticks).expect("a rate of this size fits");
            // Up to 2^54 ticks, short spans as likely as long ones.
            let ticks = random.number() >> (10 + random.number() % 54);
            let exact = u128::from(ticks) * u128::from(interval) / u128::from(interval_ticks);
            let off = u128::from(scale.nanos(ticks)).abs_diff(exact);
            assert!(off <= 1, "{ticks} ticks: {} ns, exact {exact}", scale.nanos(ticks));
        }
    }

    #[test]
    fn the_unit_scale_changes_nothing() {
        for ticks in [0, 1, 999_999_999, u64::MAX] {
            assert_eq!(Scale::ONE.nanos(ticks), ticks);
        }
        assert_eq!(Scale::of(50_000_000, 50_000_000), Some(Scale::ONE));
        assert_eq!(Scale::ONE.nanos_per_tick(), 1.0);
    }

    #[test]
    fn what_is_no_proportion_is_refused() {
        assert_eq!(Scale::of(1, 0), None);
        assert_eq!(Scale::of(0, 0), None);
        assert_eq!(Scale::of(0, 1_000), None);
        assert_eq!(Scale::of(256, 1), None);
        assert!(Scale::of(255, 1).is_some());
        assert_eq!(Scale::of(u64::MAX, 1), None);
        assert!(Scale::of(u64::MAX, u64::MAX).is_some());
    }

    #[test]
    fn products_beyond_the_range_saturate() {
        let slow = Scale::of(100, 1).expect("fits");
        assert_eq!(slow.nanos(u64::MAX), u64::MAX);
        assert_eq!(slow.nanos_from(0, u64::MAX), i64::MAX);
        assert_eq!(slow.nanos_from(u64::MAX, 0), -i64::MAX);
    }

    #[test]
    fn differences_have_a_sign() {
        let scale = Scale::of(1, 2).expect("fits");
        assert_eq!(scale.nanos_from(10, 30), 10);
        assert_eq!(scale.nanos_from(30, 10), -10);
        assert_eq!(scale.nanos_from(7, 7), 0);
    }
}
