//! A point in time that is valid outside this process: nanoseconds since the UNIX epoch.

use core::{fmt, str::FromStr};

use crate::choice;

const NANOS_PER_SECOND: i64 = 1_000_000_000;
const SECONDS_PER_DAY: i64 = 86_400;

/// Nanoseconds since 1970-01-01T00:00:00 UTC as UNIX counts them, without leap seconds. The range
/// is from the year 1677 to 2262.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(transparent)]
pub struct UtcNanos(i64);

impl UtcNanos {
    /// The point in time `nanos` nanoseconds after the epoch.
    #[inline]
    pub const fn new(nanos: i64) -> Self {
        Self(nanos)
    }

    /// The point in time `nanos` nanoseconds after the epoch, or the end of the range.
    #[inline]
    pub const fn of_unix_ns(nanos: u64) -> Self {
        Self(if nanos > i64::MAX as u64 { i64::MAX } else { nanos as i64 })
    }

    /// Nanoseconds since the epoch, 0 before it.
    #[inline]
    pub const fn unix_ns(self) -> u64 {
        if self.0 < 0 { 0 } else { self.0 as u64 }
    }

    /// The time of the kernel's clock, for occasional use: it needs no [`crate::Clock`], which
    /// takes half a millisecond to make.
    pub fn now() -> Self {
        Self(choice::kernel_clock().realtime_nanos())
    }

    /// Nanoseconds since the epoch, negative before it.
    #[inline]
    pub const fn get(self) -> i64 {
        self.0
    }

    /// `nanos` nanoseconds later, or earlier if negative, within the range.
    #[inline]
    pub const fn plus(self, nanos: i64) -> Self {
        Self(self.0.saturating_add(nanos))
    }

    /// Nanoseconds since `earlier`, negative if `earlier` is later, within the range.
    #[inline]
    pub const fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// RFC 3339 with nine decimals: `2026-11-20T14:30:00.000000001Z`.
impl fmt::Display for UtcNanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.rem_euclid(NANOS_PER_SECOND);
        let seconds = self.0.div_euclid(NANOS_PER_SECOND);
        let of_day = seconds.rem_euclid(SECONDS_PER_DAY);
        let (year, month, day) = civil_from_days(seconds.div_euclid(SECONDS_PER_DAY));
        let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{nanos:09}Z")
    }
}

/// The text is not a time, or the time is outside of the range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParseUtcError;

impl fmt::Display for ParseUtcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected an RFC 3339 time such as 2026-11-20T14:30:00.5Z")
    }
}

impl core::error::Error for ParseUtcError {}

/// Parses RFC 3339: any offset, up to nine decimals, `T` or a space between date and time. The
/// seconds are optional. A leap second counts as the second before it.
impl FromStr for UtcNanos {
    type Err = ParseUtcError;

    fn from_str(text: &str) -> Result<Self, ParseUtcError> {
        parse(text.as_bytes()).ok_or(ParseUtcError)
    }
}

fn parse(mut text: &[u8]) -> Option<UtcNanos> {
    let text = &mut text;
    let year = number(text, 4)?;
    take(text, b"-")?;
    let month = number(text, 2)?;
    take(text, b"-")?;
    let day = number(text, 2)?;
    take(text, b"Tt ")?;
    let days = days_from_civil(year, month, day)?;
    let minutes = minutes_of_day(text)?;
    let (mut seconds, mut nanos) = (0, 0);
    if take(text, b":").is_some() {
        seconds = number(text, 2).filter(|&seconds| seconds <= 60)?.min(59);
        if take(text, b".").is_some() {
            nanos = decimals(text)?;
        }
    }
    let sign = take(text, b"Zz+-")?;
    let offset = if sign.eq_ignore_ascii_case(&b'z') { 0 } else { minutes_of_day(text)? };
    let offset = if sign == b'-' { -offset } else { offset };
    let whole = days * SECONDS_PER_DAY + (minutes - offset) * 60 + seconds;
    let nanos = i128::from(whole) * i128::from(NANOS_PER_SECOND) + i128::from(nanos);
    i64::try_from(nanos).ok().filter(|_| text.is_empty()).map(UtcNanos)
}

/// Takes one byte if it is in `of`.
fn take(text: &mut &[u8], of: &[u8]) -> Option<u8> {
    let (&first, rest) = text.split_first().filter(|(first, _)| of.contains(first))?;
    *text = rest;
    Some(first)
}

/// Takes exactly `digits` digits.
fn number(text: &mut &[u8], digits: usize) -> Option<i64> {
    let (taken, rest) = text.split_at_checked(digits)?;
    *text = rest;
    taken.iter().try_fold(0, |number, byte| {
        byte.is_ascii_digit().then(|| number * 10 + i64::from(byte - b'0'))
    })
}

/// Takes `HH:MM`.
fn minutes_of_day(text: &mut &[u8]) -> Option<i64> {
    let hour = number(text, 2).filter(|&hour| hour < 24)?;
    take(text, b":")?;
    Some(hour * 60 + number(text, 2).filter(|&minute| minute < 60)?)
}

/// Takes one to nine digits of a fraction; returns nanoseconds.
fn decimals(text: &mut &[u8]) -> Option<i64> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let missing = 9_usize.checked_sub(digits).filter(|&missing| missing < 9)?;
    Some(number(text, digits)? * 10_i64.pow(missing as u32))
}

/// The inverse of [`civil_from_days`]; `None` for a date that the calendar does not have.
fn days_from_civil(year: i64, month: i64, day: i64) -> Option<i64> {
    let march_year = year - i64::from(month <= 2);
    let months_since_march = (month + 9).rem_euclid(12);
    let century_of_four = march_year.div_euclid(400);
    let year_of_era = march_year.rem_euclid(400);
    let day_of_year = (153 * months_since_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = century_of_four * 146_097 + day_of_era - 719_468;
    (civil_from_days(days) == (year, month, day)).then_some(days)
}

/// Year, month and day of a number of days since 1970-01-01, in the Gregorian calendar.
///
/// Years begin in March here, so that the leap day is the last day of a year, and the first day of
/// each month is linear in its number: (153 m + 2) / 5. Four centuries always have 146,097 days.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    // Days since 0000-03-01.
    let days = days + 719_468;
    let century_of_four = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let leap_corrected =
        day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096;
    let year_of_era = leap_corrected / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let months_since_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * months_since_march + 2) / 5 + 1;
    let month =
        if months_since_march < 10 { months_since_march + 3 } else { months_since_march - 9 };
    let year = century_of_four * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Clock;

    #[test]
    fn now_is_what_a_clock_says() {
        let (before, clock) = (UtcNanos::now(), Clock::monotonic());
        let between = clock.utc(clock.stamp());
        // The two read different clocks of the kernel, which drift apart by less than this in
        // between.
        assert!(between.since(before) > -1_000_000, "{before} {between}");
        assert!(UtcNanos::now().since(between) > -1_000_000, "{between}");
    }

    #[test]
    fn known_dates_are_written_as_the_calendar_has_them() {
        let at = |seconds: i64, nanos: i64| UtcNanos::new(seconds * NANOS_PER_SECOND + nanos);
        for (time, expected) in [
            (at(0, 0), "1970-01-01T00:00:00.000000000Z"),
            (at(-1, 999_999_999), "1969-12-31T23:59:59.999999999Z"),
            // 2000 is a leap year because 400 divides it; 2100 is not, because 100 does.
            (at(951_782_399, 0), "2000-02-28T23:59:59.000000000Z"),
            (at(951_782_400, 1), "2000-02-29T00:00:00.000000001Z"),
            (at(951_868_800, 0), "2000-03-01T00:00:00.000000000Z"),
            (at(1_234_567_890, 123_456_789), "2009-02-13T23:31:30.123456789Z"),
            (at(1_709_164_800, 0), "2024-02-29T00:00:00.000000000Z"),
            (at(1_735_689_599, 0), "2024-12-31T23:59:59.000000000Z"),
            (at(2_147_483_648, 0), "2038-01-19T03:14:08.000000000Z"),
            (at(4_107_542_399, 0), "2100-02-28T23:59:59.000000000Z"),
            (at(4_107_542_400, 0), "2100-03-01T00:00:00.000000000Z"),
            (at(-2_203_891_200, 0), "1900-03-01T00:00:00.000000000Z"),
            (UtcNanos::new(i64::MAX), "2262-04-11T23:47:16.854775807Z"),
            (UtcNanos::new(i64::MIN), "1677-09-21T00:12:43.145224192Z"),
        ] {
            assert_eq!(time.to_string(), expected);
            assert_eq!(expected.parse(), Ok(time));
        }
    }

    #[test]
    fn times_with_offsets_and_without_decimals_are_parsed() {
        for (text, expected) in [
            ("1970-01-01T00:00:01.5Z", 1_500_000_000),
            ("1970-01-01t01:00:00z", 3_600_000_000_000),
            ("1970-01-01 00:01Z", 60_000_000_000),
            ("1970-01-01T01:00:00+01:00", 0),
            ("1969-12-31T22:30:00-01:30", 0),
            ("1970-01-01T00:00:60Z", 59_000_000_000),
        ] {
            assert_eq!(text.parse(), Ok(UtcNanos(expected)), "{text}");
        }
        for text in [
            "",
            "2026-11-20",
            "2026-11-20T14:30:00",
            "2026-11-20T14:30:00.Z",
            "2026-11-20T14:30:00.1234567890Z",
            "2026-11-20T14:30:61Z",
            "2026-11-20T24:00:00Z",
            "2026-11-31T14:30:00Z",
            "2026-13-01T14:30:00Z",
            "2026-00-01T14:30:00Z",
            "2026-1-01T14:30:00Z",
            "2026-11-20T14:30:00Zz",
            "2026-11-20T14:30:00+1:00",
            "9999-12-31T23:59:59Z",
            "\u{fc}026-11-20T14:30:00Z",
        ] {
            assert_eq!(text.parse::<UtcNanos>(), Err(ParseUtcError), "{text}");
        }
    }

    #[test]
    fn every_day_of_the_range_follows_the_one_before() {
        let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for days in 0..120_000 {
            assert_eq!(civil_from_days(days), (year, month, day), "day {days}");
            assert_eq!(days_from_civil(year, month, day), Some(days));
            let length = match month {
                2 => 28 + i64::from(leap(year)),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            day += 1;
            if day > length {
                (day, month) = (1, month + 1);
            }
            if month > 12 {
                (month, year) = (1, year + 1);
            }
        }
    }

    #[test]
    fn differences_saturate() {
        assert_eq!(UtcNanos::new(5).since(UtcNanos::new(7)), -2);
        assert_eq!(UtcNanos::new(5).plus(-7).get(), -2);
        assert_eq!(UtcNanos::new(i64::MAX).plus(1).get(), i64::MAX);
        assert_eq!(UtcNanos::new(i64::MIN).since(UtcNanos::new(1)), i64::MIN);
        assert_eq!(UtcNanos::of_unix_ns(u64::MAX), UtcNanos::new(i64::MAX));
        assert_eq!((UtcNanos::of_unix_ns(7).unix_ns(), UtcNanos::new(-1).unix_ns()), (7, 0));
    }
}
