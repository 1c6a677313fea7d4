//! Times since the UNIX epoch, and offsets from a time that another message states.

use core::fmt;

use crate::wire_value::integer_newtype;

integer_newtype! {
    /// Nanoseconds since the UNIX epoch. Some protocols type the field as signed; it is never
    /// negative, and its bits are the same.
    NanosSinceEpoch, u64, 8
}

integer_newtype! {
    /// Whole seconds since the UNIX epoch.
    SecondsSinceEpoch, u32, 4
}

integer_newtype! {
    /// Nanoseconds after a time that another message of the stream states. Displayed as an integer.
    NanosOffset, u32, 4
}

const PER_SECOND: u64 = 1_000_000_000;
const SECONDS_PER_DAY: u64 = 86_400;

/// `2023-10-02T13:30:00.000000001Z`.
impl fmt::Display for NanosSinceEpoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_seconds(f, self.0 / PER_SECOND)?;
        write!(f, ".{:09}Z", self.0 % PER_SECOND)
    }
}

/// `2023-10-02T13:30:00Z`.
impl fmt::Display for SecondsSinceEpoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_seconds(f, self.0.into())?;
        f.write_str("Z")
    }
}

impl fmt::Display for NanosOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

fn write_seconds(f: &mut fmt::Formatter<'_>, seconds: u64) -> fmt::Result {
    let (year, month, day) = date(seconds / SECONDS_PER_DAY);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")
}

/// The year, month and day of a number of days since 1970-01-01.
///
/// Years are counted from 1 March, so that the leap day is the last one of a year, and months have
/// the pattern of lengths 31 30 31 30 31, of which (5 x + 2) / 153 is the inverse.
fn date(days: u64) -> (u64, u64, u64) {
    // Days from 0000-03-01, in eras of 400 years.
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let march_based = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march_based + 2) / 5 + 1;
    let month = if march_based < 10 { march_based + 3 } else { march_based - 9 };
    (400 * era + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_follow_the_calendar_day_by_day() {
        let is_leap = |year: u64| {
            year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
        };
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for days in 0..200_000 {
            assert_eq!(date(days), (year, month, day));
            let length = match month {
                2 => 28 + u64::from(is_leap(year)),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            (year, month, day) = match (month, day) {
                (12, 31) => (year + 1, 1, 1),
                (_, day) if day == length => (year, month + 1, 1),
                _ => (year, month, day + 1),
            };
        }
    }

    #[test]
    fn times_are_shown_in_utc() {
        for (nanos, text) in [
            (0, "1970-01-01T00:00:00.000000000Z"),
            (1_700_000_000_123_456_789, "2023-11-14T22:13:20.123456789Z"),
            (u64::MAX, "2554-07-21T23:34:33.709551615Z"),
        ] {
            assert_eq!(NanosSinceEpoch::new(nanos).to_string(), text);
        }
        assert_eq!(SecondsSinceEpoch::new(u32::MAX).to_string(), "2106-02-07T06:28:15Z");
        assert_eq!(NanosOffset::new(44_000).to_string(), "44000");
    }
}
