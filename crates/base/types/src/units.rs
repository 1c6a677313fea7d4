//! Durations, sizes, counts and permission bits as text: `250us`, `1h30m`, `64KB`, `5M`, `0640`.
//! Every option, key and specification that takes one reads it here, so that all take the same
//! forms.
//!
//! The value is exact: a text that is not a whole number of nanoseconds or bytes is refused.

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

/// Text that is not what was expected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParseUnitError {
    expected: &'static str,
}

impl fmt::Display for ParseUnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}", self.expected)
    }
}

impl core::error::Error for ParseUnitError {}

/// Parses a text, and quotes it in the error.
pub fn quoted<T>(
    text: &str,
    parse: impl Fn(&str) -> Result<T, ParseUnitError>,
) -> Result<T, String> {
    parse(text).map_err(|error| format!("{error}, not {text:?}"))
}

/// A duration with its units, up to 584 years: `250us`, `1.5s`, `1h30m`. Only `0` needs none.
pub fn duration(text: &str) -> Result<Duration, ParseUnitError> {
    let expected = "a duration such as 250us, 10ms, 1.5s, 2m or 1h30m";
    let nanos = unsigned(text).ok_or(ParseUnitError { expected })?;
    Ok(Duration::from_nanos(nanos))
}

/// A duration with its units, or a number of seconds.
pub fn duration_or_seconds(text: &str) -> Result<Duration, ParseUnitError> {
    let has_unit = text.ends_with(|c: char| c.is_ascii_alphabetic());
    let nanos = if has_unit { unsigned(text) } else { non_negative(decimal(text, 1_000_000_000)) };
    let expected = "seconds such as 60, or a duration such as 500ms or 1h30m";
    nanos.map(Duration::from_nanos).ok_or(ParseUnitError { expected })
}

fn unsigned(text: &str) -> Option<u64> {
    non_negative(nanos(text))
}

fn non_negative(nanos: Option<i64>) -> Option<u64> {
    nanos.and_then(|nanos| u64::try_from(nanos).ok())
}

/// Nanoseconds of a time such as `350us`, `1.5ms`, `1h30m` or `-2s`. Only `0` needs no unit. Of
/// several numbers the units become smaller, and only the last has a fraction.
pub fn nanos(text: &str) -> Option<i64> {
    if text == "0" {
        return Some(0);
    }
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let (mut sum, mut larger) = (0i64, i64::MAX);
    loop {
        let unit_at = rest.find(|c: char| c.is_ascii_alphabetic())?;
        let (number, from_unit) = rest.split_at(unit_at);
        let end = from_unit.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(from_unit.len());
        let (name, behind) = from_unit.split_at(end);
        let (_, scale) = UNITS.into_iter().find(|(unit, _)| *unit == name)?;
        let is_in_order = scale < larger && (behind.is_empty() || !number.contains('.'));
        if !is_in_order || number.starts_with('-') {
            return None;
        }
        sum = sum.checked_add(decimal(number, scale)?)?;
        if behind.is_empty() {
            return Some(sign * sum);
        }
        (rest, larger) = (behind, scale);
    }
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

/// Bytes: `8MiB`, `64KB`, `64k`, `4096`, `1_000_000`. K, KB and KiB are all 1,024 bytes, and so on
/// up to T: sizes here are of memory. Letters of either case.
pub fn bytes(text: &str) -> Result<u64, ParseUnitError> {
    let (digits, unit) = number_and_unit(text);
    let shift = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => Some(0),
        "k" | "kb" | "kib" => Some(10),
        "m" | "mb" | "mib" => Some(20),
        "g" | "gb" | "gib" => Some(30),
        "t" | "tb" | "tib" => Some(40),
        _ => None,
    };
    let number = whole_number(digits).zip(shift);
    let expected = "bytes such as 4096, 64KiB, 8MiB or 1GiB";
    number.and_then(|(n, shift)| n.checked_mul(1 << shift)).ok_or(ParseUnitError { expected })
}

/// A number of things: `5000000`, `5_000_000`, `5M`. K, M and G are powers of 1,000, in letters of
/// either case.
pub fn count(text: &str) -> Result<u64, ParseUnitError> {
    let (digits, unit) = number_and_unit(text);
    let scale = match unit {
        "" => Some(1),
        "k" | "K" => Some(1_000),
        "m" | "M" => Some(1_000_000),
        "g" | "G" => Some(1_000_000_000),
        _ => None,
    };
    let number = whole_number(digits).zip(scale);
    let expected = "a number such as 5000000, 5_000_000 or 5M";
    number.and_then(|(n, scale)| n.checked_mul(scale)).ok_or(ParseUnitError { expected })
}

/// Permission bits in octal, such as `0644`; the owner must be able to read and to write.
pub fn mode(text: &str) -> Result<u32, ParseUnitError> {
    let mode = u32::from_str_radix(text, 8).ok();
    let expected =
        "permission bits in octal, such as 0600, 0640 or 0644; the owner needs read and write";
    mode.filter(|mode| *mode <= 0o777 && mode & 0o600 == 0o600).ok_or(ParseUnitError { expected })
}

fn number_and_unit(text: &str) -> (&str, &str) {
    text.split_at(text.trim_end_matches(|c: char| c.is_ascii_alphabetic()).len())
}

/// Digits, with single `_` between them.
fn whole_number(digits: &str) -> Option<u64> {
    let is_separated = digits.split('_').all(|part| !part.is_empty());
    let is_digit = |c: char| c.is_ascii_digit();
    if !is_separated || !digits.chars().all(|c| is_digit(c) || c == '_') {
        return None;
    }
    let digits = digits.chars().filter(|&c| is_digit(c));
    digits
        .map(|c| u64::from(c as u8 - b'0'))
        .try_fold(0u64, |number, digit| number.checked_mul(10)?.checked_add(digit))
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
            ("1h30m", 5_400_000_000_000),
            ("-1m0.5s", -60_500_000_000),
            ("1d1ns", 86_400_000_000_001),
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
            "1h30",
            "1.5h30m",
            "30m1h",
            "1h1h",
            "1h-30m",
            "106751d24h",
        ] {
            assert_eq!(nanos(text), None, "{text}");
            assert!(duration(text).is_err(), "{text}");
        }
        assert_eq!(NanosText(86_400_000_000_000).to_string(), "24h");
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert!(duration("-1s").is_err());
    }

    #[test]
    fn a_number_is_seconds_where_that_is_allowed() {
        for (text, millis) in
            [("60", 60_000), ("0.5", 500), ("0", 0), ("500ms", 500), ("1h30m", 5_400_000)]
        {
            assert_eq!(duration_or_seconds(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", ".", "-1", "1 s", "1e3", "inf", "NaN", "5x"] {
            assert!(duration_or_seconds(text).is_err(), "{text}");
        }
    }
    #[test]
    fn sizes_read_as_they_are_meant() {
        for (text, expected) in
            [("0", 0), ("4096", 4096), ("64KiB", 65_536), ("8mib", 8 << 20), ("1G", 1 << 30)]
                .into_iter()
                .chain([("64KB", 65_536), ("100MB", 100 << 20), ("5_000_000", 5_000_000)])
        {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
        for text in
            ["", "MiB", "-1", "1.5MiB", "8MX", "_1", "1_", "1__0", "1_k", "99999999999999999999"]
        {
            assert!(bytes(text).is_err(), "{text}");
        }
        assert!(bytes("16777216TiB").is_err());
    }

    #[test]
    fn modes_read_as_they_are_meant() {
        assert_eq!((mode("0644"), mode("600")), (Ok(0o644), Ok(0o600)));
        for text in ["", "0444", "9", "1777"] {
            assert!(mode(text).is_err(), "{text}");
        }
    }

    #[test]
    fn counts_read_as_they_are_meant() {
        for (text, expected) in [
            ("0", 0),
            ("5M", 5_000_000),
            ("5_000_000", 5_000_000),
            ("20k", 20_000),
            ("1g", 1_000_000_000),
        ] {
            assert_eq!(count(text), Ok(expected), "{text}");
        }
        for text in ["", "M", "-1", "+1", "1.5M", "5MB", "5 M", "_5", "99999999999999999999"] {
            assert!(count(text).is_err(), "{text}");
        }
    }
}
