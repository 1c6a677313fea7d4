//! Text of the form `key=value,key=value`: its parts, and what is wrong with it.

use core::{fmt, ops::RangeInclusive, str::FromStr};

use nanotape_types::units::decimal;
pub(super) use nanotape_types::units::{NanosText as Time, nanos};
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

/// A whole number of a range.
pub(super) fn count(text: &str, range: RangeInclusive<u16>) -> Option<u16> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| is_plain && range.contains(number))
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
    fn shares_print_and_parse() {
        for text in ["0%", "10%", "0.5%", "12.0345%", "90%"] {
            assert_eq!(text.parse::<Share>().unwrap().to_string(), text);
        }
        for text in ["10", "-1%", "91%", "0.00001%", "%"] {
            assert!(text.parse::<Share>().is_err(), "{text}");
        }
    }
}
