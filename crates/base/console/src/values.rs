//! Sizes, durations and modes, as typed and printed.

use std::{
    ops::{Bound, RangeBounds, RangeInclusive},
    time::Duration,
};

use nanotape_types::units::{self, quoted};

/// Parses bytes: `8MiB`, `64k`, `4096`.
pub fn bytes(text: &str) -> Result<usize, String> {
    quoted(text, units::bytes).map(|bytes| bytes as usize)
}

/// Parses a duration with its units: `10ms`, `1h30m`.
pub fn duration(text: &str) -> Result<Duration, String> {
    quoted(text, units::duration)
}

/// Parses a duration of waiting or of work: with its units, or in seconds.
pub fn duration_or_seconds(text: &str) -> Result<Duration, String> {
    quoted(text, units::duration_or_seconds)
}

/// Parses permission bits in octal: `0644`.
pub fn mode(text: &str) -> Result<u32, String> {
    quoted(text, units::mode)
}

/// A parser of numbers of things in this range: `5000000`, `5_000_000`, `5M`.
pub fn count<N: TryFrom<u64>>(
    range: impl RangeBounds<u64> + Clone,
) -> impl Fn(&str) -> Result<N, String> + Clone {
    move |text| {
        let number = units::count(text).map_err(|error| error.to_string())?;
        let least = match range.start_bound() {
            Bound::Included(&least) => least,
            _ => 0,
        };
        match N::try_from(number) {
            Ok(value) if range.contains(&number) => Ok(value),
            _ => match range.end_bound() {
                Bound::Included(most) => Err(format!("{number} is not in {least}..={most}")),
                _ if number < least => Err(format!("expected at least {least}")),
                _ => Err(format!("{number} is too large")),
            },
        }
    }
}

/// Parses a duration that is not zero.
pub fn some_duration(text: &str) -> Result<Duration, String> {
    match duration(text) {
        Ok(Duration::ZERO) => Err("expected more than 0".to_owned()),
        parsed => parsed.map_err(|error| error.to_string()),
    }
}

/// Parses a duration, or a number of seconds, up to one day.
pub fn seconds(text: &str) -> Result<Duration, String> {
    match duration_or_seconds(text)? {
        time if time <= Duration::from_secs(86_400) => Ok(time),
        _ => Err("expected at most one day".to_owned()),
    }
}

/// A parser of the same within limits in seconds.
pub fn seconds_in(range: RangeInclusive<f64>) -> impl Fn(&str) -> Result<f64, String> + Clone {
    move |text| {
        let seconds = seconds(text)?.as_secs_f64();
        range.contains(&seconds).then_some(seconds).ok_or_else(|| {
            format!("expected a time from {} to {} seconds", range.start(), range.end())
        })
    }
}

/// A parser of durations in whole units of `unit_ns`; a number without a unit is one of them.
pub fn whole<N: TryFrom<u64>>(
    unit_ns: u64,
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<N, String> + Clone {
    let count = count::<N>(range);
    move |text| match units::duration(text).map(nanos) {
        Ok(ns) if ns > 0 && ns.is_multiple_of(unit_ns) => count(&(ns / unit_ns).to_string()),
        Ok(ns @ 1..) => Err(format!("{ns} ns is not a multiple of {unit_ns} ns")),
        _ => count(text),
    }
}

/// The period of an event that a test causes: long enough for a process to start.
pub fn period(text: &str) -> Result<Duration, String> {
    seconds(text).and_then(|time| {
        let is_long_enough = time >= Duration::from_millis(50);
        is_long_enough.then_some(time).ok_or("expected at least 0.05 seconds".to_owned())
    })
}

/// A time in ns; the most that fits for one of more than 584 years.
pub fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A percentage as a share: the number nearest to the text's, where a division by 100 can miss it,
/// as in 0.9998999999999999 for 99.99.
pub fn share_of_percent(percent: f64) -> f64 {
    format!("{percent}e-2").parse().unwrap_or(percent / 100.0)
}

/// Human-readable size, in the largest unit that gives a whole number.
pub fn bytes_text(bytes: u64) -> String {
    let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    let whole = units.iter().find(|(shift, _)| bytes > 0 && bytes.trailing_zeros() >= *shift);
    match whole {
        Some((shift, unit)) => format!("{} {unit}", bytes >> shift),
        None => format!("{bytes} bytes"),
    }
}

/// Human-readable time span, in a unit that needs few digits.
pub fn nanos_text(nanos: u64) -> String {
    let value = nanos as f64;
    match nanos {
        0..1_000 => format!("{nanos} ns"),
        1_000..1_000_000 => format!("{:.1} us", value / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} ms", value / 1e6),
        _ => format!("{:.1} s", value / 1e9),
    }
}

/// Parses two processors, like `2,3`.
pub fn two_cpus(text: &str) -> Result<(u32, u32), String> {
    let numbers = text.split_once(',').and_then(|(writer, reader)| {
        Some((writer.trim().parse().ok()?, reader.trim().parse().ok()?))
    });
    numbers.ok_or_else(|| "expected two processors, like 2,3".to_owned())
}

/// A number with its noun: `1 message`, `2 messages`.
pub fn counted(number: u64, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// The same with separators: `12,345 messages`.
pub fn counted_grouped(number: u64, thing: &str) -> String {
    format!("{} {thing}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// A number with separators: `12,345,678`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_is_the_share_that_its_text_is() {
        for (percent, share) in
            [(99.99, "0.9999"), (0.7, "0.007"), (3.0, "0.03"), (1e-7, "0.000000001"), (100.0, "1")]
        {
            assert_eq!(share_of_percent(percent).to_string(), share);
        }
    }

    #[test]
    fn sizes_and_counts_are_in_a_range() {
        assert!(bytes("8MX").unwrap_err().ends_with("8MiB or 1GiB, not \"8MX\""));
        for (value, text) in [(4096, "4 KiB"), (8 << 20, "8 MiB"), (5000, "5000 bytes")] {
            assert_eq!(bytes_text(value), text);
        }
        assert_eq!(count::<u64>(..)("5M"), Ok(5_000_000));
        assert_eq!(count::<u64>(1..)("0"), Err("expected at least 1".to_owned()));
        assert_eq!(count::<u16>(1..)("70k"), Err("70000 is too large".to_owned()));
        assert_eq!(count::<u32>(1..=9)("10"), Err("10 is not in 1..=9".to_owned()));
    }

    const HOUR: Duration = Duration::from_secs(3_600);

    #[test]
    fn times_and_modes_read_as_they_are_meant() {
        assert_eq!(duration("250us"), Ok(Duration::from_micros(250)));
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        assert_eq!((duration("1h"), seconds("1h")), (Ok(HOUR), Ok(HOUR)));
        assert_eq!((seconds("0.5"), seconds("500ms")), (period("0.5"), period("500ms")));
        for text in ["-1", "25h", "86401", "five"] {
            assert!(seconds(text).is_err(), "{text}");
        }
        let whole = whole::<u32>(1_000_000, 1..=60_000);
        assert_eq!((whole("800"), whole("1.5s"), whole("1m")), (Ok(800), Ok(1_500), Ok(60_000)));
        for text in ["0", "0s", "1us", "2m", "s"] {
            assert!(whole(text).is_err(), "{text}");
        }
        assert_eq!(seconds_in(0.05..=60.0)("1m"), Ok(60.0));
        assert!(seconds_in(0.05..=60.0)("1h").unwrap_err().contains("from 0.05 to 60 seconds"));
        for text in ["", "5", "s", "-1s", "1e300s", "nans"] {
            assert!(duration(text).is_err(), "{text}");
        }
        assert_eq!(mode("0644"), Ok(0o644));
        assert!(period("0.01").is_err() && period("0.5").is_ok());
        assert_eq!(nanos_text(1_500_000), "1.5 ms");
        assert_eq!([0, 1, 2].map(|n| counted(n, "record")), ["0 records", "1 record", "2 records"]);
    }

    #[test]
    fn two_processors_are_two_numbers() {
        assert_eq!(two_cpus("2,3").unwrap(), (2, 3));
        assert!(two_cpus("2").is_err() && two_cpus("2,3,4").is_err() && two_cpus("a,b").is_err());
    }

    #[test]
    fn thousands_are_grouped() {
        let cases = [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345_678, "12,345,678")];
        for (number, text) in cases {
            assert_eq!(grouped(number), text);
        }
    }
}
