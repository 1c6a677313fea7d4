//! Human-readable times and sizes.

use std::time::Duration;

use nanotape_clock::UtcNanos;
use nanotape_console::values::duration;

/// A time in UTC; empty if it is unknown or out of range.
pub fn known_time_text(ts_ns: Option<u64>) -> String {
    ts_ns.and_then(utc_text).unwrap_or_default()
}

/// A time in UTC; a number of ns if it is out of range.
pub fn time_text(ts_ns: u64) -> String {
    utc_text(ts_ns).unwrap_or_else(|| format!("{ts_ns} ns"))
}

fn utc_text(ts_ns: u64) -> Option<String> {
    Some(UtcNanos::new(i64::try_from(ts_ns).ok()?).to_string())
}

/// Parses an age: `30d`, `12h`, or any duration.
pub fn age(text: &str) -> Result<Duration, String> {
    let expected = || format!("expected an age such as 30d, 12h, 90m or 10s, not {text:?}");
    duration(text).map_err(|_| expected())
}

/// Human-readable size with three digits.
pub fn size_text(bytes: u64) -> String {
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let (mut value, mut unit) = (bytes as f64, 0);
    while value >= 1024.0 && unit + 1 < units.len() {
        (value, unit) = (value / 1024.0, unit + 1);
    }
    let digits = if unit == 0 || value >= 100.0 { 0 } else { 1 };
    format!("{value:.digits$} {}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_sizes_and_times_read_as_they_are_meant() {
        assert_eq!(age("30d"), Ok(Duration::from_secs(30 * 86_400)));
        assert_eq!(age("12h"), Ok(Duration::from_secs(43_200)));
        assert_eq!(age("90m"), Ok(Duration::from_secs(5400)));
        assert_eq!(age("1.5d"), Ok(Duration::from_secs(36 * 3600)));
        for text in ["", "d", "-1d", "30", "99999999999999999999d", "300000000000000d"] {
            assert!(age(text).is_err(), "{text}");
        }
        assert_eq!(size_text(100), "100 bytes");
        assert_eq!(size_text(2000), "2.0 KiB");
        assert_eq!(size_text(500 << 30), "500 GiB");
        assert_eq!(known_time_text(None), "");
        assert_eq!(known_time_text(Some(u64::MAX)), "");
        assert_eq!(time_text(1), "1970-01-01T00:00:00.000000001Z");
        assert_eq!(time_text(u64::MAX), "18446744073709551615 ns");
        assert!(
            known_time_text(Some(1_700_000_000_000_000_000)).starts_with("2023-11-14T22:13:20")
        );
    }
}
