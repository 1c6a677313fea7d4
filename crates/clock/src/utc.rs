//! A point in time that means something outside this process: nanoseconds since the UNIX epoch.

use core::fmt;

use crate::choice;

const NANOS_PER_SECOND: i64 = 1_000_000_000;
const SECONDS_PER_DAY: i64 = 86_400;

/// Nanoseconds since 1970-01-01T00:00:00 UTC as UNIX counts them, which is without leap seconds.
/// The range is from the year 1677 to 2262.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(transparent)]
pub struct UtcNanos(i64);

impl UtcNanos {
    /// The point in time so many nanoseconds after the epoch.
    #[inline]
    pub const fn new(nanos: i64) -> Self {
        Self(nanos)
    }

    /// What the kernel's clock says now. For a time now and then: it needs no [`crate::Clock`], which takes half a
    /// millisecond to make.
    pub fn now() -> Self {
        Self(choice::kernel_clock().realtime_nanos())
    }

    /// Nanoseconds since the epoch, negative before it.
    #[inline]
    pub const fn get(self) -> i64 {
        self.0
    }

    /// So many nanoseconds later, or earlier if negative, within the range.
    #[inline]
    pub const fn plus(self, nanos: i64) -> Self {
        Self(self.0.saturating_add(nanos))
    }

    /// Nanoseconds since `earlier`, negative if that is the later one, within the range.
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

/// Year, month and day of a number of days since 1970-01-01, in the Gregorian calendar.
///
/// Years begin in March here, so that the leap day is the last day of a year and every month begins
/// at a day that a line through the month numbers gives: (153 m + 2) / 5. Four centuries have
/// always 146,097 days.
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
        // The two read different clocks of the kernel, which drift apart by less than this in between.
        assert!(between.since(before) > -1_000_000, "{before} {between}");
        assert!(UtcNanos::now().since(between) > -1_000_000, "{between}");
    }

    #[test]
    fn known_dates_are_written_as_the_calendar_has_them() {
        let at = |seconds: i64, nanos: i64| UtcNanos::new(seconds * NANOS_PER_SECOND + nanos);
        for (time, expected) in [
            (at(0, 0), "1970-01-01T00:00:00.000000000Z"),
            (at(-1, 999_999_999), "1969-12-31T23:59:59.999999999Z"),
            // 2000 is a leap year because 400 divides it; 2100 is none because 100 does.
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
        }
    }

    #[test]
    fn every_day_of_the_range_follows_the_one_before() {
        let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for days in 0..120_000 {
            assert_eq!(civil_from_days(days), (year, month, day), "day {days}");
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
    }
}
