//! Prices as exchanges write them: unsigned integers with implied decimals, never floating point.

use core::{fmt, str::FromStr};

use crate::{Sentinel, wire_value::integer_newtype};

integer_newtype! {
    /// A price in units of 1/10,000 (ITCH "Price (4)"). Displayed as a decimal with four places.
    Price4, u32, 4
}

integer_newtype! {
    /// A price in units of 1/100,000,000 (ITCH "Price (8)"). Displayed with eight places.
    Price8, u64, 8
}

impl Price4 {
    /// Units in 1.0.
    pub const SCALE: u32 = 10_000;

    /// Writes the decimal into `buffer` and returns it, without `core::fmt`: for commands that
    /// print a row per message.
    pub fn write_decimal(self, buffer: &mut PriceText) -> &str {
        write_price4(self.0.into(), buffer)
    }
}

/// Far, near and initial offering prices are 0 if absent.
impl Sentinel for Price4 {
    const ABSENT: Self = Self(0);
}

impl fmt::Display for Price4 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.write_decimal(&mut [0; 12]))
    }
}

impl fmt::Display for Price8 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:08}", self.0 / 100_000_000, self.0 % 100_000_000)
    }
}

/// Text that is not a price with at most four decimal places.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParsePriceError;

impl fmt::Display for ParsePriceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected a price such as 189.95, with at most four decimal places")
    }
}

impl core::error::Error for ParsePriceError {}

impl FromStr for Price4 {
    type Err = ParsePriceError;

    fn from_str(text: &str) -> Result<Self, ParsePriceError> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(fraction) || fraction.len() > 4 {
            return Err(ParsePriceError);
        }
        let padded = 10u32.pow(4 - fraction.len() as u32);
        let fraction = fraction.parse::<u32>().map_err(|_| ParsePriceError)? * padded;
        let whole = whole.parse::<u32>().map_err(|_| ParsePriceError)?;
        let raw = whole.checked_mul(Self::SCALE).and_then(|w| w.checked_add(fraction));
        raw.map(Self).ok_or(ParsePriceError)
    }
}

/// Memory for the decimal of a price with four places.
pub type PriceText = [u8; 12];

/// Writes units of 0.0001, less than 10^11 of them, as a decimal with four places.
pub fn write_price4(ten_thousandths: u64, buffer: &mut PriceText) -> &str {
    let scale = u64::from(Price4::SCALE);
    let (mut whole, mut fraction) = (ten_thousandths / scale, ten_thousandths % scale);
    for position in (8..12).rev() {
        buffer[position] = b'0' + (fraction % 10) as u8;
        fraction /= 10;
    }
    buffer[7] = b'.';
    let mut start = 7;
    loop {
        start -= 1;
        buffer[start] = b'0' + (whole % 10) as u8;
        whole /= 10;
        if whole == 0 || start == 0 {
            break;
        }
    }
    core::str::from_utf8(&buffer[start..]).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_have_four_places() {
        for (raw, text) in [
            (0, "0.0000"),
            (1, "0.0001"),
            (1_899_500, "189.9500"),
            (2_000_000_000, "200000.0000"),
            (u32::MAX, "429496.7295"),
        ] {
            assert_eq!(Price4::new(raw).to_string(), text);
            assert_eq!(text.parse(), Ok(Price4::new(raw)));
        }
        assert_eq!(Price8::new(558_012_000_000).to_string(), "5580.12000000");
    }

    #[test]
    fn text_that_is_no_price_is_refused() {
        for text in ["", ".", "1.", ".5", "1.00001", "-1", "1e3", "429496.7296", "99999999999"] {
            assert_eq!(text.parse::<Price4>(), Err(ParsePriceError), "{text:?}");
        }
        assert_eq!("189.5".parse(), Ok(Price4::new(1_895_000)));
    }
}
