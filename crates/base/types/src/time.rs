//! Times of day as a feed states them. This module reads no clock.

use core::{fmt, str::FromStr};

use crate::{Sentinel, WireValue, wire_value::integer_newtype};

/// Nanoseconds since midnight, exchange-local, of the trade date: 48 bits, so at most 78.2 hours.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(transparent)]
pub struct NanosSinceMidnight(u64);

integer_newtype! {
    /// Whole seconds since midnight; 0 if absent.
    SecondsSinceMidnight, u32, 4
}

impl Sentinel for SecondsSinceMidnight {
    const ABSENT: Self = Self(0);
}

impl NanosSinceMidnight {
    /// The largest value that fits on the wire.
    pub const MAX: Self = Self((1 << 48) - 1);

    /// Nanoseconds in a second.
    pub const PER_SECOND: u64 = 1_000_000_000;

    /// The time, or `None` if it does not fit in 48 bits.
    #[inline]
    pub const fn new(nanos: u64) -> Option<Self> {
        if nanos <= Self::MAX.0 { Some(Self(nanos)) } else { None }
    }

    /// The time at `hour:minute:second`, for constants. Each may exceed its usual range.
    pub const fn from_hms(hour: u32, minute: u32, second: u32) -> Self {
        let seconds = hour as u64 * 3600 + minute as u64 * 60 + second as u64;
        let nanos = seconds * Self::PER_SECOND;
        assert!(nanos <= Self::MAX.0, "a time of day fits in 48 bits");
        Self(nanos)
    }

    /// Nanoseconds since midnight.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl WireValue<6> for NanosSinceMidnight {
    #[inline]
    fn from_be_bytes(b: [u8; 6]) -> Self {
        Self(u64::from_be_bytes([0, 0, b[0], b[1], b[2], b[3], b[4], b[5]]))
    }

    #[inline]
    fn to_be_bytes(self) -> [u8; 6] {
        let [_, _, bytes @ ..] = self.0.to_be_bytes();
        bytes
    }
}

/// `09:30:00.000000001`; hours continue after 24 without wrapping.
impl fmt::Display for NanosSinceMidnight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, nanos) = (self.0 / Self::PER_SECOND, self.0 % Self::PER_SECOND);
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
        write!(f, "{hours:02}:{minutes:02}:{:02}.{nanos:09}", seconds % 60)
    }
}

impl fmt::Display for SecondsSinceMidnight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}:{:02}", self.0 / 3600, self.0 / 60 % 60, self.0 % 60)
    }
}

/// Text that is not a time of day.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParseTimeError;

impl fmt::Display for ParseTimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "expected a time of day from 00:00 to 24:00, such as 09:45 or 09:45:00.123456789",
        )
    }
}

impl core::error::Error for ParseTimeError {}

/// Accepts `H:MM`, `HH:MM`, `HH:MM:SS` and `HH:MM:SS.f` with one to nine decimals, up to `24:00`. A
/// later time is a typing error: no message of a day has one.
impl FromStr for NanosSinceMidnight {
    type Err = ParseTimeError;

    fn from_str(text: &str) -> Result<Self, ParseTimeError> {
        let (clock, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let mut parts = clock.split(':');
        let mut next = |least: usize, limit: u32| -> Result<Option<u32>, ParseTimeError> {
            let Some(part) = parts.next() else { return Ok(None) };
            if !(least..=2).contains(&part.len()) || !part.bytes().all(|b| b.is_ascii_digit()) {
                return Err(ParseTimeError);
            }
            let value = part.parse().map_err(|_| ParseTimeError)?;
            if value < limit { Ok(Some(value)) } else { Err(ParseTimeError) }
        };
        let hour = next(1, 25)?.ok_or(ParseTimeError)?;
        let minute = next(2, 60)?.ok_or(ParseTimeError)?;
        let second = next(2, 60)?;
        if next(2, 0)?.is_some() || (second.is_none() && text.contains('.')) {
            return Err(ParseTimeError);
        }
        let whole_digits = fraction.bytes().all(|b| b.is_ascii_digit());
        if fraction.is_empty() || fraction.len() > 9 || !whole_digits {
            return Err(ParseTimeError);
        }
        let scale = 10u64.pow(9 - fraction.len() as u32);
        let nanos = fraction.parse::<u64>().map_err(|_| ParseTimeError)? * scale;
        let time = Self(Self::from_hms(hour, minute, second.unwrap_or(0)).0 + nanos);
        if time <= Self::from_hms(24, 0, 0) { Ok(time) } else { Err(ParseTimeError) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_print_and_parse() {
        for (nanos, text) in [
            (0, "00:00:00.000000000"),
            (34_200_000_000_001, "09:30:00.000000001"),
            (72_300_000_000_000, "20:05:00.000000000"),
        ] {
            let time = NanosSinceMidnight::new(nanos).unwrap();
            assert_eq!(time.to_string(), text);
            assert_eq!(text.parse(), Ok(time));
        }
        assert_eq!("09:30".parse(), Ok(NanosSinceMidnight::from_hms(9, 30, 0)));
        assert_eq!("9:30".parse(), Ok(NanosSinceMidnight::from_hms(9, 30, 0)));
        assert_eq!("24:00".parse(), Ok(NanosSinceMidnight::from_hms(24, 0, 0)));
        assert_eq!(
            "09:30:00.5".parse(),
            NanosSinceMidnight::new(34_200_500_000_000).ok_or(ParseTimeError)
        );
    }

    #[test]
    fn text_that_is_no_time_is_refused() {
        for text in [
            "",
            "9:3",
            "009:30",
            ":30",
            "09",
            "09:60",
            "09:30:61",
            "09:30.5",
            "09:30:00.",
            "09:30:00.1234567890",
            "1:2:3:4",
            "24:00:00.000000001",
            "25:00",
            "78:00",
        ] {
            assert_eq!(text.parse::<NanosSinceMidnight>(), Err(ParseTimeError), "{text:?}");
        }
    }

    #[test]
    fn forty_eight_bits_round_trip() {
        for raw in [0, 1, 34_200_000_000_000, (1 << 48) - 1] {
            let time = NanosSinceMidnight::new(raw).unwrap();
            assert_eq!(NanosSinceMidnight::from_be_bytes(time.to_be_bytes()), time);
        }
        assert_eq!(NanosSinceMidnight::new(1 << 48), None);
    }
}
