//! When sessions are received: days and times of a time zone, without holidays.
//!
//! A window is the time from a start to the next end. It belongs to the day on which it starts, so
//! a schedule that ends earlier than it starts has windows over midnight.
//! When clocks change, a window starts and ends at the first moment at which a clock of the zone
//! shows its time or a later one: 02:30 that is left out is 03:00, and of 01:30 that comes twice it
//! is the first.

use std::{collections::BTreeSet, fmt, str::FromStr};

use jiff::{
    Timestamp,
    civil::{Date, DateTime, Weekday},
    tz::{AmbiguousOffset, TimeZone},
};
use nanotape_types::NanosSinceMidnight;

use crate::{TradeDate, trade_date::EXCHANGE_ZONE};

/// Days in a row without a session that are searched.
const MOST_DAYS: u32 = 4_000;

/// A window whose start is farther away than this has its date in texts.
const WEEK_NS: u64 = 6 * 86_400 * 1_000_000_000;

/// A time zone of the IANA database, which is part of the program.
#[derive(Clone, PartialEq, Debug)]
pub struct Zone {
    name: String,
    zone: TimeZone,
}

/// Text that is no time zone.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown time zone {0:?}, expected one such as America/New_York")]
pub struct ParseZoneError(String);

/// Days of the week.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Days(u8);

/// Text that is not days of the week.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown day {0:?}, expected days such as mon, mon-fri or sun,tue-thu")]
pub struct ParseDaysError(String);

/// When sessions are received.
#[derive(Clone, PartialEq, Debug)]
pub struct Schedule {
    /// The days on which windows start.
    pub days: Days,
    /// When they start.
    pub start: NanosSinceMidnight,
    /// When they end; not the start.
    pub end: NanosSinceMidnight,
    /// The zone of the days and times.
    pub zone: Zone,
    /// Dates on which no window starts.
    pub holidays: BTreeSet<TradeDate>,
}

/// A time in which sessions are received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScheduleWindow {
    /// The day on which it starts.
    pub date: TradeDate,
    /// Its start, ns since the UNIX epoch.
    pub start_ns: u64,
    /// The first moment after it, ns since the UNIX epoch.
    pub end_ns: u64,
}

impl ScheduleWindow {
    /// Whether a moment in ns since the UNIX epoch lies in it.
    pub fn contains(&self, unix_ns: u64) -> bool {
        (self.start_ns..self.end_ns).contains(&unix_ns)
    }
}

impl Schedule {
    /// The window that a moment lies in, or the next one; `None` if there is none for years. In ns
    /// since the UNIX epoch.
    pub fn next(&self, now_ns: u64) -> Option<ScheduleWindow> {
        let today = self.zone.datetime_of(now_ns)?.date();
        // A window of yesterday may end today.
        let mut date = today.yesterday().ok()?;
        for _ in 0..MOST_DAYS {
            if let Some(window) = self.window_of(date)
                && window.end_ns > now_ns
            {
                return Some(window);
            }
            date = date.tomorrow().ok()?;
        }
        None
    }

    /// The window that starts on a day. `None` without one, also if clocks leave all of it out.
    fn window_of(&self, day: Date) -> Option<ScheduleWindow> {
        let date = TradeDate::of_date(day)?;
        if !self.days.has(day.weekday()) || self.holidays.contains(&date) {
            return None;
        }
        let last_day = if self.end > self.start { day } else { day.tomorrow().ok()? };
        let start_ns = self.zone.first_at(day, self.start)?;
        let end_ns = self.zone.first_at(last_day, self.end)?;
        (start_ns < end_ns).then_some(ScheduleWindow { date, start_ns, end_ns })
    }

    /// The start of a window, as people say it: `Monday 03:55 America/New_York`, with the date if
    /// it is more than six days after `now_ns`.
    pub fn start_text(&self, window: &ScheduleWindow, now_ns: u64) -> String {
        self.moment_text(window.start_ns, window.start_ns.saturating_sub(now_ns) > WEEK_NS)
    }

    /// The end of a window, in the same form.
    pub fn end_text(&self, window: &ScheduleWindow) -> String {
        self.moment_text(window.end_ns, false)
    }

    fn moment_text(&self, unix_ns: u64, has_date: bool) -> String {
        let Some(at) = self.zone.datetime_of(unix_ns) else { return unix_ns.to_string() };
        let day = name_of(at.weekday());
        let date = if has_date { format!(" {}", at.date()) } else { String::new() };
        let (hour, minute, second) = (at.hour(), at.minute(), at.second());
        let seconds = if second > 0 { format!(":{second:02}") } else { String::new() };
        format!("{day}{date} {hour:02}:{minute:02}{seconds} {}", self.zone)
    }
}

impl Zone {
    /// The time zone of Nasdaq.
    pub fn exchange() -> Self {
        let zone = TimeZone::get(EXCHANGE_ZONE).unwrap_or(TimeZone::UTC);
        Self { name: EXCHANGE_ZONE.to_owned(), zone }
    }

    fn datetime_of(&self, unix_ns: u64) -> Option<DateTime> {
        Some(self.zone.to_datetime(Timestamp::from_nanosecond(unix_ns.into()).ok()?))
    }

    /// The first moment at which clocks show this time of the day or a later one, ns since the UNIX
    /// epoch.
    fn first_at(&self, day: Date, time: NanosSinceMidnight) -> Option<u64> {
        let nanos = i64::try_from(time.get()).ok()?;
        let at = day.to_datetime(jiff::civil::Time::midnight());
        let at = at.checked_add(jiff::Span::new().nanoseconds(nanos)).ok()?;
        let timestamp = match self.zone.to_ambiguous_timestamp(at).offset() {
            AmbiguousOffset::Unambiguous { offset }
            | AmbiguousOffset::Fold { before: offset, .. } => offset.to_timestamp(at).ok()?,
            AmbiguousOffset::Gap { before, .. } => {
                let nanosecond = jiff::SignedDuration::from_nanos(1);
                let after = before.to_timestamp(at).ok()?.checked_add(nanosecond).ok()?;
                self.zone.preceding(after).next()?.timestamp()
            }
        };
        u64::try_from(timestamp.as_nanosecond()).ok()
    }
}

impl FromStr for Zone {
    type Err = ParseZoneError;

    fn from_str(text: &str) -> Result<Self, ParseZoneError> {
        let zone = TimeZone::get(text).map_err(|_| ParseZoneError(text.to_owned()))?;
        let name = zone.iana_name().unwrap_or(text).to_owned();
        Ok(Self { name, zone })
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

const DAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

fn name_of(day: Weekday) -> &'static str {
    DAYS.get(day.to_monday_zero_offset() as usize).copied().unwrap_or_default()
}

impl Days {
    /// Monday to Friday.
    pub const WEEK: Self = Self(0b001_1111);

    fn has(self, day: Weekday) -> bool {
        self.0 >> day.to_monday_zero_offset() & 1 == 1
    }
}

/// Days and ranges of days with commas between them, by the first three letters or the whole name.
/// A range may go over Sunday.
impl FromStr for Days {
    type Err = ParseDaysError;

    fn from_str(text: &str) -> Result<Self, ParseDaysError> {
        let unknown = |day: &str| ParseDaysError(day.trim().to_owned());
        let day_of = |text: &str| {
            let text = text.trim().to_ascii_lowercase();
            let is_it = |name: &str| {
                let name = name.to_ascii_lowercase();
                text == name || text == name[..3]
            };
            DAYS.iter().position(|name| is_it(name))
        };
        let mut days = 0;
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let first = day_of(first).ok_or_else(|| unknown(first))?;
            let last = day_of(last).ok_or_else(|| unknown(last))?;
            let count = (last + 7 - first) % 7;
            (first..=first + count).for_each(|day| days |= 1 << (day % 7));
        }
        Ok(Self(days))
    }
}

#[cfg(test)]
mod tests;
