//! Durations as text: `250us`, `1.5s`, `2m`, `1h`. Every option, key and specification that takes a
//! duration reads it here, so that all take the same forms.
//!
//! The value is exact: a text that is not a whole number of nanoseconds is refused.

use core::{fmt, time::Duration};

/// The units with their nanoseconds, the largest first.
const UNITS: [(&str, i64); 7] = [
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// Text that is not a duration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParseDurationError;

impl fmt::Display for ParseDurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected a duration such as 250us, 10ms, 1.5s, 2m or 1h")
    }
}

impl core::error::Error for ParseDurationError {}

/// A duration with its unit; only `0` needs none.
pub fn duration(text: &str) -> Result<Duration, ParseDurationError> {
    let nanos = nanos(text).and_then(|nanos| u64::try_from(nanos).ok());
    nanos.map(Duration::from_nanos).ok_or(ParseDurationError)
}

/// A duration with its unit, or a number of seconds.
pub fn duration_or_seconds(text: &str) -> Result<Duration, ParseDurationError> {
    let has_unit = text.ends_with(|c: char| c.is_ascii_alphabetic());
    if has_unit {
        return duration(text);
    }
    let nanos = decimal(text, 1_000_000_000).and_then(|nanos| u64::try_from(nanos).ok());
    nanos.map(Duration::from_nanos).ok_or(ParseDurationError)
}

/// Nanoseconds of a time such as `350us`, `1.5ms` or `-2s`. The unit is needed, except for `0`.
pub fn nanos(text: &str) -> Option<i64> {
    if text == "0" {
        return Some(0);
    }
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let (_, scale) = UNITS.into_iter().find(|(unit, _)| *unit == &text[number.len()..])?;
    decimal(number, scale)
}

/// A decimal number times `scale`, if that is a whole number.
pub fn decimal(text: &str, scale: i64) -> Option<i64> {
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

/// Prints nanoseconds as [`nanos`] reads them, in the largest unit up to hours that gives a whole
/// number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NanosText(pub i64);

impl fmt::Display for NanosText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match UNITS[1..].iter().find(|(_, scale)| self.0 % scale == 0) {
            Some((unit, scale)) if self.0 != 0 => write!(f, "{}{unit}", self.0 / scale),
            _ => f.write_str("0"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_print_and_parse() {
        for (text, value) in [
            ("350us", 350_000),
            ("1.5ms", 1_500_000),
            ("-2s", -2_000_000_000),
            ("0", 0),
            ("0.25us", 250),
            ("7ns", 7),
            ("2m", 120_000_000_000),
            ("1.5h", 5_400_000_000_000),
            ("30d", 2_592_000_000_000_000),
        ] {
            assert_eq!(nanos(text), Some(value), "{text}");
            assert_eq!(nanos(&NanosText(value).to_string()), Some(value), "{text}");
        }
        for text in [
            "",
            "5",
            "us",
            "1.5ns",
            "--1s",
            "1e3s",
            "1.s5",
            "99999999999999999999s",
            "\u{e9}",
            "1w",
        ] {
            assert_eq!(nanos(text), None, "{text}");
            assert_eq!(duration(text), Err(ParseDurationError), "{text}");
        }
        assert_eq!(NanosText(86_400_000_000_000).to_string(), "24h");
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("-1s"), Err(ParseDurationError));
    }

    #[test]
    fn a_number_is_seconds_where_that_is_allowed() {
        for (text, millis) in
            [("60", 60_000), ("0.5", 500), ("0", 0), ("500ms", 500), ("1h", 3_600_000)]
        {
            assert_eq!(duration_or_seconds(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", ".", "-1", "1 s", "1e3", "inf", "NaN", "5x"] {
            assert_eq!(duration_or_seconds(text), Err(ParseDurationError), "{text}");
        }
    }
}
