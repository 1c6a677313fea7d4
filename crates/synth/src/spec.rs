//! Text of the form `key=value,key=value`: its parts, the units in it, and what is wrong with it.

use core::{fmt, ops::RangeInclusive, str::FromStr};

use thiserror::Error;

/// Why a text is no specification.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum SpecError {
    /// A part has no key, or one that the specification does not have.
    #[error("{part:?}: expected {keys}, each as key=value and separated by commas")]
    UnknownKey {
        /// The part.
        part: String,
        /// The keys that exist.
        keys: &'static str,
    },
    /// A key occurs twice.
    #[error("{key} is given twice")]
    Twice {
        /// The key.
        key: String,
    },
    /// The value of a key does not have the right form, or is out of range.
    #[error("{key}={value}: expected {expected}")]
    Value {
        /// The key.
        key: String,
        /// The text after it.
        value: String,
        /// What is possible.
        expected: &'static str,
    },
    /// Keys that cannot be together.
    #[error("{0}")]
    Conflict(&'static str),
}

/// Splits a text at its commas, and gives each key with its value to `set`. That returns what the
/// value should be if it is wrong, or `Ok(false)` if there is no such key.
pub(super) fn read(
    text: &str,
    keys: &'static str,
    mut set: impl FnMut(&str, &str) -> Result<bool, &'static str>,
) -> Result<(), SpecError> {
    let mut seen: Vec<&str> = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let unknown = || SpecError::UnknownKey { part: part.to_owned(), keys };
        let (key, value) = part.split_once('=').ok_or_else(unknown)?;
        let (key, value) = (key.trim(), value.trim());
        if seen.contains(&key) {
            return Err(SpecError::Twice { key: key.to_owned() });
        }
        seen.push(key);
        match set(key, value) {
            Ok(true) => {}
            Ok(false) => return Err(unknown()),
            Err(expected) => {
                let (key, value) = (key.to_owned(), value.to_owned());
                return Err(SpecError::Value { key, value, expected });
            }
        }
    }
    Ok(())
}

/// Units of time with their nanoseconds, the largest first.
const UNITS: [(&str, i64); 5] =
    [("h", 3_600_000_000_000), ("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];

/// Nanoseconds of a time such as `350us`, `1.5ms` or `-2s`. The unit is needed, except for `0`.
pub(super) fn nanos(text: &str) -> Option<i64> {
    if text == "0" {
        return Some(0);
    }
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let (_, scale) = UNITS.into_iter().find(|(unit, _)| *unit == &text[number.len()..])?;
    decimal(number, scale)
}

/// A whole number of a range.
pub(super) fn count(text: &str, range: RangeInclusive<u16>) -> Option<u16> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| is_plain && range.contains(number))
}

/// A decimal number times `scale`, if that is a whole number.
pub(super) fn decimal(text: &str, scale: i64) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || fraction.len() > 12 || !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let parts = 10i128.pow(fraction.len() as u32);
    let number = whole.parse::<u64>().ok().map(i128::from)? * parts;
    let number = number + if fraction.is_empty() { 0 } else { fraction.parse::<i128>().ok()? };
    let scaled = number.checked_mul(i128::from(scale))?;
    let value = i64::try_from(scaled / parts).ok().filter(|_| scaled % parts == 0)?;
    Some(if negative { -value } else { value })
}

/// A time as [`nanos`] reads it, in the largest unit that gives a whole number.
pub(super) struct Time(pub(super) i64);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match UNITS.into_iter().find(|(_, scale)| self.0 % scale == 0) {
            Some((unit, scale)) if self.0 != 0 => write!(f, "{}{unit}", self.0 / scale),
            _ => f.write_str("0"),
        }
    }
}

/// A share of things, such as `12.5%`, in millionths.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Share {
    millionths: u32,
}

impl Share {
    /// All of them.
    pub const ALL: u32 = 1_000_000;

    /// The share of so many in a million, at most all of them.
    pub const fn of_a_million(millionths: u32) -> Self {
        let most = if millionths > Self::ALL { Self::ALL } else { millionths };
        Self { millionths: most }
    }

    /// How many in a million.
    pub const fn millionths(self) -> u32 {
        self.millionths
    }
}

/// What a text needs to be a [`Share`].
pub(super) const A_SHARE: &str = "a share such as 10% or 0.5%, from 0% to 90%";

impl FromStr for Share {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let millionths = text.strip_suffix('%').and_then(|number| decimal(number, 10_000));
        match millionths.map(u32::try_from) {
            Some(Ok(millionths @ ..=900_000)) => Ok(Self { millionths }),
            _ => Err(A_SHARE),
        }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.millionths / 10_000, self.millionths % 10_000);
        match rest {
            0 => write!(f, "{whole}%"),
            _ => write!(f, "{whole}.{}%", format!("{rest:04}").trim_end_matches('0')),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_shares_print_and_parse() {
        for (text, value) in [
            ("350us", 350_000),
            ("1.5ms", 1_500_000),
            ("-2s", -2_000_000_000),
            ("0", 0),
            ("0.25us", 250),
            ("7ns", 7),
            ("2h", 7_200_000_000_000),
        ] {
            assert_eq!(nanos(text), Some(value), "{text}");
            assert_eq!(nanos(&Time(value).to_string()), Some(value), "{text}");
        }
        for text in
            ["", "5", "us", "1.5ns", "--1s", "1e3s", "1.s5", "99999999999999999999s", "\u{e9}"]
        {
            assert_eq!(nanos(text), None, "{text}");
        }
        for text in ["0%", "10%", "0.5%", "12.0345%", "90%"] {
            assert_eq!(text.parse::<Share>().unwrap().to_string(), text);
        }
        for text in ["10", "-1%", "91%", "0.00001%", "%"] {
            assert!(text.parse::<Share>().is_err(), "{text}");
        }
    }
}
