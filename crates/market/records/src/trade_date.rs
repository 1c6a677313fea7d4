//! The trade date of a file, which no ITCH message contains; without it a time of day is not a
//! point in time.

use std::{fmt, path::Path, str::FromStr};

use jiff::{Timestamp, civil::Date, tz::TimeZone};
use nanotape_market::Venue;

/// The time zone of Nasdaq.
pub(crate) const EXCHANGE_ZONE: &str = "America/New_York";

/// A trade date of the exchange.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct TradeDate(Date);

/// Text that is not a date, or not a possible trade date.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("expected a date such as 2019-12-30, from 1990 to 2199")]
pub struct ParseDateError;

impl TradeDate {
    fn of(year: u32, month: u32, day: u32) -> Option<Self> {
        if !(1990..=2199).contains(&year) {
            return None;
        }
        Date::new(year as i16, month as i8, day as i8).ok().map(Self)
    }

    pub(crate) fn of_date(date: Date) -> Option<Self> {
        Self::of(date.year().unsigned_abs().into(), date.month() as u32, date.day() as u32)
    }

    /// The date in a file name, in the usual forms: `12302019.NASDAQ_ITCH50.gz`,
    /// `S081321-v50.txt.gz`, `aapl_20190130.itch50`, `2019-01-30.itch50`.
    pub fn of_file_name(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_string_lossy();
        let bytes = name.as_bytes();
        let mut from = 0;
        while let Some(first) = (from..bytes.len()).find(|&at| bytes[at].is_ascii_digit()) {
            let end = (first..bytes.len()).find(|&at| !bytes[at].is_ascii_digit());
            let run = &name[first..end.unwrap_or(bytes.len())];
            let number = |from: usize, to: usize| run[from..to].parse::<u32>().ok();
            let date = match run.len() {
                // The two forms exclude each other: no month is 19 or 20, and no century begins
                // with 0 or 1.
                8 => Self::of(number(0, 4)?, number(4, 6)?, number(6, 8)?).or(Self::of(
                    number(4, 8)?,
                    number(0, 2)?,
                    number(2, 4)?,
                )),
                6 => Self::of(2000 + number(4, 6)?, number(0, 2)?, number(2, 4)?),
                4 => name.get(first..first + 10).and_then(|text| text.parse().ok()),
                _ => None,
            };
            if date.is_some() {
                return date;
            }
            from = first + run.len();
        }
        None
    }

    /// The date in the exchange's time zone at a time in ns since the UNIX epoch.
    pub fn of_time(unix_ns: u64) -> Option<Self> {
        let zone = zone_of(EXCHANGE_ZONE);
        let time = Timestamp::from_nanosecond(unix_ns.into()).ok()?;
        Self::of_date(zone.to_datetime(time).date())
    }

    /// The date of a venue's day at a time in ns since the UNIX epoch.
    pub fn of_day(venue: &Venue, unix_ns: u64) -> Option<Self> {
        let zone = zone_of(venue.zone);
        let since = i128::from(unix_ns) - i128::from(venue.day_begins_s) * 1_000_000_000;
        Self::of_date(zone.to_datetime(Timestamp::from_nanosecond(since).ok()?).date())
    }

    /// When a venue's day of this date begins, in ns since the UNIX epoch.
    pub fn begins_ns(self, venue: &Venue) -> u64 {
        let begins_ns = i64::from(venue.day_begins_s) * 1_000_000_000;
        self.midnight_in(&zone_of(venue.zone)).saturating_add_signed(begins_ns)
    }

    /// The next day.
    pub fn next(self) -> Option<Self> {
        self.0.tomorrow().ok().map(Self)
    }

    /// Midnight in the exchange's time zone at its start, in ns since the UNIX epoch.
    ///
    /// Times of day are added without correction: the clock changes on two Sundays a year, without
    /// trading.
    pub fn midnight_ns(self) -> u64 {
        self.midnight_in(&zone_of(EXCHANGE_ZONE))
    }

    fn midnight_in(self, zone: &TimeZone) -> u64 {
        let midnight =
            self.0.to_zoned(zone.clone()).map(|midnight| midnight.timestamp().as_nanosecond());
        midnight.ok().and_then(|nanos| u64::try_from(nanos).ok()).unwrap_or(0)
    }

    /// The number YYYYMMDD.
    pub fn number(self) -> u32 {
        let (year, month, day) = (self.0.year(), self.0.month(), self.0.day());
        year as u32 * 10_000 + month as u32 * 100 + day as u32
    }

    /// The date of that number YYYYMMDD.
    pub fn of_number(number: u32) -> Option<Self> {
        Self::of(number / 10_000, number / 100 % 100, number % 100)
    }

    /// The number as it is printed: a date, or the number itself if it is not a date.
    pub fn text_of(number: u32) -> String {
        Self::of_number(number).map_or_else(|| number.to_string(), |date| date.to_string())
    }
}

/// `2019-12-30`.
impl fmt::Display for TradeDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for TradeDate {
    type Err = ParseDateError;

    fn from_str(text: &str) -> Result<Self, ParseDateError> {
        let bytes = text.as_bytes();
        let has_shape = bytes.len() == 10
            && bytes.iter().enumerate().all(|(at, byte)| match at {
                4 | 7 => *byte == b'-',
                _ => byte.is_ascii_digit(),
            });
        let number = |from: usize, to: usize| text[from..to].parse::<u32>().ok();
        let date = || Self::of(number(0, 4)?, number(5, 7)?, number(8, 10)?);
        if has_shape { date().ok_or(ParseDateError) } else { Err(ParseDateError) }
    }
}

/// A time zone, of which the program contains all, so that it exists on every machine.
fn zone_of(name: &str) -> TimeZone {
    TimeZone::get(name).unwrap_or(TimeZone::UTC)
}

/// The midnights of a time zone from `before` days before a time until `after` days after it, in ns
/// since the UNIX epoch. `None` if there is no such zone.
pub fn midnights(zone: &str, unix_ns: u64, before: u32, after: u32) -> Option<Vec<u64>> {
    let zone = TimeZone::get(zone).ok()?;
    let now = zone.to_datetime(Timestamp::from_nanosecond(unix_ns.into()).ok()?).date();
    let days = -i64::from(before)..=i64::from(after);
    let midnight = |day: i64| {
        let date = now.checked_add(jiff::Span::new().days(day)).ok()?;
        let midnight = date.to_zoned(zone.clone()).ok()?.timestamp().as_nanosecond();
        u64::try_from(midnight).ok()
    };
    Some(days.filter_map(midnight).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(text: &str) -> TradeDate {
        text.parse().unwrap()
    }

    #[test]
    fn file_names_state_dates_in_the_ways_of_exchanges() {
        for (name, expected) in [
            ("12302019.NASDAQ_ITCH50.gz", "2019-12-30"),
            ("01302019.NASDAQ_ITCH50", "2019-01-30"),
            ("S081321-v50.txt.gz", "2021-08-13"),
            ("aapl_20190130_open10k.itch50", "2019-01-30"),
            ("days/2019-01-30.itch50.zst", "2019-01-30"),
            ("open_20191230_first1000.itch50", "2019-12-30"),
            ("x1_20190130", "2019-01-30"),
        ] {
            assert_eq!(TradeDate::of_file_name(Path::new(name)), Some(date(expected)), "{name}");
        }
        for name in
            ["day.itch50", "day50.itch50", "99999999", "13322019", "2019", "-", "1970-01-01"]
        {
            assert_eq!(TradeDate::of_file_name(Path::new(name)), None, "{name}");
        }
    }

    #[test]
    fn midnight_is_the_exchanges() {
        // Winter: five hours behind UTC. Summer: four.
        assert_eq!(date("2019-12-30").midnight_ns(), 1_577_682_000_000_000_000);
        assert_eq!(date("2021-08-13").midnight_ns(), 1_628_827_200_000_000_000);
    }

    #[test]
    fn a_time_is_of_the_exchanges_date() {
        let midnight = date("2019-12-30").midnight_ns();
        assert_eq!(TradeDate::of_time(midnight), Some(date("2019-12-30")));
        assert_eq!(TradeDate::of_time(midnight - 1), Some(date("2019-12-29")));
        assert_eq!(date("2019-12-31").next(), Some(date("2020-01-01")));
        assert_eq!((TradeDate::of_time(0), TradeDate::of_time(u64::MAX)), (None, None));
    }

    #[test]
    fn dates_read_print_and_are_numbers() {
        assert_eq!(date("2019-12-30").to_string(), "2019-12-30");
        assert_eq!(date("2019-12-30").number(), 20_191_230);
        assert_eq!(TradeDate::of_number(20_191_230), Some(date("2019-12-30")));
        assert_eq!(TradeDate::text_of(20_191_230), "2019-12-30");
        assert_eq!(TradeDate::text_of(20_191_232), "20191232");
        for text in ["", "2019-13-01", "2019-02-29", "20191230", "1989-12-30", "2019-12-3", "a-b-c"]
        {
            assert_eq!(text.parse::<TradeDate>(), Err(ParseDateError), "{text:?}");
        }
    }
}
