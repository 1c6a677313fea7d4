//! Schedules, compared with a clock that is read every minute.

use jiff::{ToSpan as _, Zoned};

use super::*;

const SECOND_NS: u64 = 1_000_000_000;
const MINUTE_NS: u64 = 60 * SECOND_NS;

fn schedule(days: &str, start: &str, end: &str, zone: &str, holidays: &[&str]) -> Schedule {
    Schedule {
        days: days.parse().unwrap(),
        start: start.parse().unwrap(),
        end: end.parse().unwrap(),
        zone: zone.parse().unwrap(),
        holidays: holidays.iter().map(|date| date.parse().unwrap()).collect(),
    }
}

/// A time with its offset, as `2026-03-06T03:55-05:00[America/New_York]`.
fn at(text: &str) -> u64 {
    let zoned: Zoned = text.parse().unwrap();
    u64::try_from(zoned.timestamp().as_nanosecond()).unwrap()
}

/// Windows by a clock that is read every minute: one starts when a clock first shows the start of a
/// day or later, and ends when it first shows its end or later.
fn windows_of_a_clock(schedule: &Schedule, from_ns: u64, to_ns: u64) -> Vec<ScheduleWindow> {
    let minute = |time: NanosSinceMidnight| time.get() / MINUTE_NS;
    let (start, end) = (minute(schedule.start), minute(schedule.end));
    // The last day whose start was shown, and that whose end was: on the first day it is not known.
    let first = schedule.zone.datetime_of(from_ns).unwrap().date();
    let (mut started, mut ended, mut open): (Date, Date, Option<ScheduleWindow>) =
        (first, first, None);
    let mut windows = Vec::new();
    for now_ns in (from_ns..to_ns).step_by(MINUTE_NS as usize) {
        let shown = schedule.zone.datetime_of(now_ns).unwrap();
        let (date, of_day) = (shown.date(), shown.hour() as u64 * 60 + shown.minute() as u64);
        if of_day >= end && ended < date {
            ended = date;
            windows.extend(open.take().map(|window| ScheduleWindow { end_ns: now_ns, ..window }));
        }
        if of_day >= start && started < date {
            started = date;
            let trade_date = TradeDate::of_date(date).unwrap();
            if schedule.days.has(date.weekday()) && !schedule.holidays.contains(&trade_date) {
                // A day that both begins and ends in a time that is left out has none.
                let is_over = end > start && of_day >= end;
                open = (!is_over).then_some(ScheduleWindow {
                    date: trade_date,
                    start_ns: now_ns,
                    end_ns: 0,
                });
            }
        }
    }
    windows
}

#[test]
fn every_minute_of_a_year_has_the_window_that_a_clock_shows() {
    let holidays = ["2026-01-01", "2026-07-03", "2026-11-26", "2026-12-25", "2027-01-01"];
    for schedule in [
        schedule("mon-fri", "03:55", "20:05", "America/New_York", &holidays),
        schedule("sun-thu", "18:00", "17:00", "America/Chicago", &holidays),
        // Clocks leave these times out, or show them twice, on a Sunday.
        schedule("sat-mon", "02:30", "02:45", "America/New_York", &[]),
        schedule("sun", "01:30", "02:30", "America/New_York", &[]),
        schedule("sat,sun", "02:15", "01:45", "America/New_York", &[]),
        schedule("mon-sun", "00:00", "23:59", "Australia/Lord_Howe", &[]),
        schedule("mon-sun", "12:00", "11:59", "UTC", &[]),
    ] {
        let (from_ns, to_ns) =
            (at("2025-12-30T00:00+00:00[UTC]"), at("2027-01-10T00:00+00:00[UTC]"));
        let windows = windows_of_a_clock(&schedule, from_ns, to_ns);
        assert!(windows.len() > 50, "{}", windows.len());
        let (mut index, mut checked) = (0, 0);
        let first = windows[0].start_ns;
        for now_ns in (first..windows.last().unwrap().end_ns).step_by(MINUTE_NS as usize) {
            while windows[index].end_ns <= now_ns {
                index += 1;
            }
            if checked % 31 == 0 || windows[index].start_ns.abs_diff(now_ns) <= 2 * MINUTE_NS {
                let found = schedule.next(now_ns).unwrap();
                assert_eq!(found, windows[index], "{schedule:?} at {now_ns}");
                let is_open = windows[index].start_ns <= now_ns;
                assert_eq!(found.contains(now_ns), is_open);
            }
            checked += 1;
        }
        assert!(checked > 500_000, "{checked}");
    }
}

#[test]
fn windows_follow_the_clocks_of_their_zone() {
    let nasdaq = schedule("mon-fri", "03:55", "20:05", "America/New_York", &["2026-11-26"]);
    for (now, start, end, date) in [
        // In winter, in summer, and over the weekends on which clocks change.
        (
            "2026-01-05T12:00-05:00",
            "2026-01-05T03:55-05:00",
            "2026-01-05T20:05-05:00",
            "2026-01-05",
        ),
        (
            "2026-03-06T20:05-05:00",
            "2026-03-09T03:55-04:00",
            "2026-03-09T20:05-04:00",
            "2026-03-09",
        ),
        (
            "2026-10-30T20:06-04:00",
            "2026-11-02T03:55-05:00",
            "2026-11-02T20:05-05:00",
            "2026-11-02",
        ),
        // A holiday, and the half-day after it, on which the session ends by itself.
        (
            "2026-11-25T21:00-05:00",
            "2026-11-27T03:55-05:00",
            "2026-11-27T20:05-05:00",
            "2026-11-27",
        ),
    ] {
        let zoned = |text: &str| at(&format!("{text}[America/New_York]"));
        let window = nasdaq.next(zoned(now)).unwrap();
        let expected = (zoned(start), zoned(end), date.to_owned());
        assert_eq!((window.start_ns, window.end_ns, window.date.to_string()), expected, "{now}");
    }
}

#[test]
fn a_window_over_midnight_has_the_date_of_its_start() {
    let futures = schedule("sun-thu", "18:00", "17:00", "America/Chicago", &[]);
    let window = futures.next(at("2026-11-30T09:00-06:00[America/Chicago]")).unwrap();
    assert_eq!(window.date.to_string(), "2026-11-29");
    assert_eq!(window.end_ns - window.start_ns, 23 * 60 * MINUTE_NS);
    let spring = futures.next(at("2026-03-08T17:00-05:00[America/Chicago]")).unwrap();
    assert_eq!(spring.start_ns, at("2026-03-08T18:00-05:00[America/Chicago]"));
}

#[test]
fn starts_and_ends_print_as_people_say_them() {
    let nasdaq = schedule("mon-fri", "03:55", "20:05:30", "America/New_York", &["2026-12-25"]);
    let now = at("2026-11-27T21:00-05:00[America/New_York]");
    let window = nasdaq.next(now).unwrap();
    assert_eq!(nasdaq.start_text(&window, now), "Monday 03:55 America/New_York");
    assert_eq!(nasdaq.end_text(&window), "Monday 20:05:30 America/New_York");
    let far = schedule("fri", "03:55", "20:05", "America/New_York", &["2026-12-04"]);
    let window = far.next(now).unwrap();
    assert_eq!(far.start_text(&window, now), "Friday 2026-12-11 03:55 America/New_York");
}

#[test]
fn a_schedule_without_days_that_are_no_holidays_has_no_window() {
    let start: Date = "2026-01-01".parse().unwrap();
    let days = (0..4_100).map(|day| start.checked_add(day.days()).unwrap());
    let holidays = days.filter_map(TradeDate::of_date).collect();
    let schedule = Schedule { holidays, ..schedule("mon", "03:55", "20:05", "UTC", &[]) };
    assert_eq!(schedule.next(at("2026-01-01T00:00+00:00[UTC]")), None);
    assert_eq!(schedule.next(u64::MAX), None);
}

#[test]
fn days_and_zones_are_parsed_and_what_is_wrong_is_named() {
    for (text, days) in [
        ("mon-fri", 0b001_1111),
        ("sun-thu", 0b100_1111),
        ("sat, Sunday", 0b110_0000),
        ("wed", 0b000_0100),
        ("tue-tue,fri-mon", 0b111_0011),
    ] {
        assert_eq!(text.parse(), Ok(Days(days)), "{text}");
    }
    assert_eq!(Days::WEEK, "mon-fri".parse().unwrap());
    for (text, wrong) in [("", ""), ("mon-fir", "fir"), ("mon,", ""), ("m", "m"), ("7", "7")] {
        assert_eq!(text.parse::<Days>(), Err(ParseDaysError(wrong.to_owned())), "{text:?}");
    }
    assert_eq!("utc".parse::<Zone>().unwrap().to_string(), "UTC");
    let error = "Atlantis/Capital".parse::<Zone>().unwrap_err().to_string();
    assert!(error.contains("Atlantis/Capital") && error.contains("America/New_York"), "{error}");
}
