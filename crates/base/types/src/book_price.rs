//! The price of a book: 32 bits whose order is that of prices, and the scale that they are of.

use core::fmt;

use crate::{Price4, Sentinel, write_price4};

/// A price of a book, in 32 bits: a code of a [`PriceScale`].
///
/// Codes have the order of their prices in each scale, so that books compare and store codes alone.
/// Differences of codes mean nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(transparent)]
pub struct Price(u32);

impl Price {
    /// The price of a code.
    #[inline]
    pub const fn new(code: u32) -> Self {
        Self(code)
    }

    /// The price of a message of ITCH, in [`PriceScale::ITCH`].
    #[inline]
    pub const fn of_price4(price: Price4) -> Self {
        Self(price.get())
    }

    /// The code.
    #[inline]
    pub const fn code(self) -> u32 {
        self.0
    }
}

/// Far, near and initial offering prices are 0 if absent.
impl Sentinel for Price {
    const ABSENT: Self = Self(0);
}

/// The steps of the prices of a venue's books.
///
/// A step is 0.0001. One share of Berkshire Hathaway costs more than 32 bits hold of such steps, so
/// a scale can have a longer step, 0.001, above a price that it states.
///
/// `docs/decisions/0080-the-scale-of-prices.md` has the alternatives.
///
/// ```
/// use nanotape_types::PriceScale;
/// let dear = PriceScale::WIDE.of_nanos(740_000_005_000_000).unwrap();
/// assert_eq!(PriceScale::WIDE.shown(dear).to_string(), "740000.0050");
/// assert_eq!(PriceScale::WIDE.of_nanos(740_000_000_100_000), None);
/// assert!(dear > PriceScale::WIDE.of_nanos(189_950_000_000).unwrap());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PriceScale {
    /// The last code with steps of 0.0001.
    last_fine: u32,
}

/// Units of 0.0001 in a longer step.
const COARSE: u64 = 10;

/// Units of 1e-9 in one of 0.0001.
pub(crate) const NANOS: i64 = 100_000;

impl PriceScale {
    /// That of ITCH: steps of 0.0001 up to 429,496.7295.
    pub const ITCH: Self = Self { last_fine: u32::MAX };

    /// Steps of 0.0001 up to 200,000, and of 0.001 up to 2,494,967.295.
    pub const WIDE: Self = Self { last_fine: 2_000_000_000 };

    /// A price in units of 0.0001, up to 24,949,672,950.
    #[inline(always)]
    pub const fn ten_thousandths(self, price: Price) -> u64 {
        if price.0 <= self.last_fine { price.0 as u64 } else { self.coarse(price) }
    }

    /// A price to print, with four places.
    pub const fn shown(self, price: Price) -> ShownPrice {
        ShownPrice(self.ten_thousandths(price))
    }

    #[cold]
    #[inline(never)]
    const fn coarse(self, price: Price) -> u64 {
        self.last_fine as u64 + (price.0 - self.last_fine) as u64 * COARSE
    }

    /// The price of so many units of 0.0001; `None` if it is too large, or between two steps.
    #[inline]
    pub const fn of_ten_thousandths(self, units: u64) -> Option<Price> {
        if units <= self.last_fine as u64 {
            Some(Price(units as u32))
        } else {
            self.of_coarse(units)
        }
    }

    #[cold]
    const fn of_coarse(self, units: u64) -> Option<Price> {
        let above = units - self.last_fine as u64;
        let code = self.last_fine as u64 + above / COARSE;
        if above.is_multiple_of(COARSE) && code <= u32::MAX as u64 {
            Some(Price(code as u32))
        } else {
            None
        }
    }

    /// A price in units of 1e-9, as DBN has prices.
    #[inline(always)]
    pub const fn nanos(self, price: Price) -> i64 {
        self.ten_thousandths(price) as i64 * NANOS
    }

    /// The price of so many units of 1e-9; `None` if no book can have it: it is negative, too
    /// large, or between two steps.
    #[inline]
    pub const fn of_nanos(self, nanos: i64) -> Option<Price> {
        if nanos < 0 || nanos % NANOS != 0 {
            return None;
        }
        self.of_ten_thousandths((nanos / NANOS) as u64)
    }
}

/// A price to print.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ShownPrice(u64);

impl fmt::Display for ShownPrice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(write_price4(self.0, &mut [0; 12]))
    }
}

/// The scale of books that were not given another one.
impl Default for PriceScale {
    fn default() -> Self {
        Self::WIDE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_the_order_of_their_prices() {
        let last = PriceScale::WIDE.last_fine;
        let codes = [0, 1, 9_999, 1_899_500, last - 1, last, last + 1, u32::MAX];
        for scale in [PriceScale::ITCH, PriceScale::WIDE] {
            for pair in codes.windows(2) {
                let [a, b] = [Price::new(pair[0]), Price::new(pair[1])];
                assert!(a < b && scale.ten_thousandths(a) < scale.ten_thousandths(b));
            }
            for code in codes {
                let price = Price::new(code);
                assert_eq!(scale.of_nanos(scale.nanos(price)), Some(price));
                assert_eq!(scale.of_ten_thousandths(scale.ten_thousandths(price)), Some(price));
            }
        }
        for (code, units) in [(last, 2_000_000_000), (last + 1, 2_000_000_010)] {
            assert_eq!(PriceScale::WIDE.ten_thousandths(Price::new(code)), units);
        }
        assert_eq!(PriceScale::WIDE.ten_thousandths(Price::new(u32::MAX)), 24_949_672_950);
        assert_eq!(PriceScale::ITCH.ten_thousandths(Price::new(u32::MAX)), 4_294_967_295);
    }

    #[test]
    fn prices_between_two_steps_and_outside_are_none() {
        for nanos in [-1, -100_000, 1, 99_999, 100_001, i64::MIN, i64::MAX] {
            assert_eq!(PriceScale::WIDE.of_nanos(nanos), None, "{nanos}");
            assert_eq!(PriceScale::ITCH.of_nanos(nanos), None, "{nanos}");
        }
        for nanos in [200_000_000_100_000, 2_494_967_296_000_000] {
            assert_eq!(PriceScale::WIDE.of_nanos(nanos), None, "{nanos}");
        }
        assert_eq!(PriceScale::ITCH.of_nanos(429_496_729_600_000), None);
        assert_eq!(PriceScale::WIDE.of_ten_thousandths(u64::MAX), None);
    }
}
