//! The schedule of a plant that runs day and night, as a configuration and an option write it.
//!
//! Failure: what is wrong in a file of holidays is an error with the file and its line.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    str::FromStr,
};

use nanotape_live::text::parsed;
use nanotape_types::NanosSinceMidnight;
use serde::{Deserialize, Deserializer, de};

use crate::{
    TradeDate,
    config::ConfigError,
    records::{Days, Schedule, Zone},
};

/// When a plant joins sessions. Outside of it packets are counted, and none is joined.
#[derive(Clone, PartialEq, Debug)]
pub struct ScheduleConfig {
    /// Days, times and zone; the holidays are those of the file.
    pub schedule: Schedule,
    /// A file of dates on which no session is joined.
    pub holidays: Option<PathBuf>,
}

/// The keys of the section.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Section {
    #[serde(deserialize_with = "days")]
    days: Days,
    #[serde(deserialize_with = "parsed")]
    start: NanosSinceMidnight,
    #[serde(deserialize_with = "parsed")]
    end: NanosSinceMidnight,
    #[serde(deserialize_with = "parsed")]
    time_zone: Zone,
    holidays: Option<PathBuf>,
}

/// Nasdaq's hours: from before its first message until after its last one.
const DEFAULT: &str = "mon-fri 03:55-20:05 America/New_York";

impl Default for ScheduleConfig {
    fn default() -> Self {
        let Section { days, start, end, time_zone: zone, holidays } = Section::default();
        let schedule = Schedule { days, start, end, zone, holidays: BTreeSet::new() };
        Self { schedule, holidays }
    }
}

impl ScheduleConfig {
    /// The schedule with its holidays, which are read now.
    pub fn load(&self) -> Result<Schedule, ConfigError> {
        let holidays = self.holidays.as_deref().map(read_holidays).transpose()?;
        Ok(Schedule { holidays: holidays.unwrap_or_default(), ..self.schedule.clone() })
    }
}

/// `mon-fri 03:55-20:05 America/New_York`.
impl FromStr for ScheduleConfig {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || format!("expected days, times and a time zone, such as {DEFAULT:?}");
        let words: Vec<&str> = text.split_whitespace().collect();
        let [days, times, zone] = words[..] else { return Err(form()) };
        let (start, end) = times.split_once('-').ok_or_else(form)?;
        let time = |text: &str| text.parse().map_err(|error| format!("{text:?}: {error}"));
        let section = Section {
            days: days.parse().map_err(|error| format!("{error}"))?,
            start: time(start)?,
            end: time(end)?,
            time_zone: zone.parse().map_err(|error| format!("{error}"))?,
            holidays: None,
        };
        section.try_into()
    }
}

impl TryFrom<Section> for ScheduleConfig {
    type Error = String;

    fn try_from(section: Section) -> Result<Self, String> {
        let Section { days, start, end, time_zone: zone, holidays } = section;
        if start == end {
            return Err(
                "start and end of the schedule are the same: no session would be joined, or \
                        none would end; give another end"
                    .to_owned(),
            );
        }
        let schedule = Schedule { days, start, end, zone, holidays: BTreeSet::new() };
        Ok(Self { schedule, holidays })
    }
}

impl<'de> Deserialize<'de> for ScheduleConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Section::deserialize(deserializer)?.try_into().map_err(de::Error::custom)
    }
}

/// `"mon-fri"`, or a list of such texts.
fn days<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Days, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Texts {
        One(String),
        List(Vec<String>),
    }
    let form = |_| de::Error::custom("expected days such as \"mon-fri\" or [\"mon\", \"wed\"]");
    let text = match Texts::deserialize(deserializer).map_err(form)? {
        Texts::One(text) => text,
        Texts::List(texts) => texts.join(","),
    };
    text.parse().map_err(de::Error::custom)
}

/// The dates in a file: one on a line; `#` begins a comment.
fn read_holidays(path: &Path) -> Result<BTreeSet<TradeDate>, ConfigError> {
    let read = |source| ConfigError::Read { path: path.to_owned(), source };
    let text = fs::read_to_string(path).map_err(read)?;
    let mut holidays = BTreeSet::new();
    for (number, line) in text.lines().enumerate() {
        let date = line.split('#').next().unwrap_or_default().trim();
        if date.is_empty() {
            continue;
        }
        let what = |error| format!("{error}, found {date:?}");
        let failed = |what| ConfigError::Text { path: path.to_owned(), line: number + 1, what };
        holidays.insert(date.parse().map_err(|error| failed(what(error)))?);
    }
    Ok(holidays)
}

impl Default for Section {
    fn default() -> Self {
        let hours = |hour, minute| NanosSinceMidnight::from_hms(hour, minute, 0);
        Self {
            days: Days::WEEK,
            start: hours(3, 55),
            end: hours(20, 5),
            time_zone: Zone::exchange(),
            holidays: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use nanotape_harness::Scratch;

    use super::*;
    use crate::PlantConfig;

    fn section(text: &str) -> Result<ScheduleConfig, (usize, String)> {
        let config = PlantConfig::parse(&format!("[schedule]\n{text}"))?;
        Ok(config.schedule.unwrap())
    }

    #[test]
    fn a_section_an_option_and_the_default_are_the_same_schedule() {
        let default = section("").unwrap();
        assert_eq!(DEFAULT.parse(), Ok(default.clone()));
        let all = "days = [\"mon-thu\", \"fri\"]\nstart = \"03:55\"\nend = \"20:05:00\"\n\
                   time_zone = \"America/New_York\"\n";
        assert_eq!(section(all), Ok(default));
        let other = section("days = \"sun-thu\"\nstart = \"18:00\"\nend = \"17:00\"\n").unwrap();
        assert_eq!("sun-thu 18:00-17:00 America/New_York".parse(), Ok(other));
    }

    #[test]
    fn what_is_wrong_is_reported_with_its_line() {
        for (text, line, what) in [
            ("days = \"mon-fir\"\n", 2, "unknown day \"fir\""),
            ("start = \"3:5\"\n", 2, "time of day"),
            (
                "end = \"04:00\"\ntime_zone = \"America/York\"\n",
                3,
                "unknown time zone \"America/York\"",
            ),
            ("start = \"20:05\"\n", 1, "start and end of the schedule are the same"),
            ("zone = \"UTC\"\n", 2, "unknown field `zone`"),
        ] {
            let (found, said) = section(text).unwrap_err();
            assert!(
                found == line && said.contains(what) && !said.contains('\n'),
                "{found}: {said}"
            );
        }
        for (text, what) in [
            ("mon-fri 03:55-20:05", "expected days, times and a time zone"),
            ("mon-fri 03:55 UTC", "expected days, times and a time zone"),
            ("mon-fri 03:55-3 UTC", "\"3\""),
            ("day 03:55-20:05 UTC", "unknown day \"day\""),
            ("mon 03:55-03:55 UTC", "are the same"),
        ] {
            let said = text.parse::<ScheduleConfig>().unwrap_err();
            assert!(said.contains(what), "{text}: {said}");
        }
    }

    #[test]
    fn holidays_are_the_dates_of_a_file() {
        let folder = Scratch::folder("schedule-holidays");
        let path = folder.join("holidays.txt");
        let config = ScheduleConfig {
            holidays: Some(path.clone()),
            ..DEFAULT.parse::<ScheduleConfig>().unwrap()
        };
        let missing = config.load().unwrap_err().to_string();
        assert!(missing.contains("cannot read") && missing.contains("holidays.txt"), "{missing}");
        fs::write(&path, "# 2026\n2026-11-26  # Thanksgiving\n\n  2026-12-25\n").unwrap();
        let holidays = config.load().unwrap().holidays;
        let dates: Vec<String> = holidays.iter().map(ToString::to_string).collect();
        assert_eq!(dates, ["2026-11-26", "2026-12-25"]);
        fs::write(&path, "2026-11-26\nChristmas\n").unwrap();
        let wrong = config.load().unwrap_err().to_string();
        assert!(wrong.contains("holidays.txt, line 2: expected a date"), "{wrong}");
        assert!(wrong.contains("\"Christmas\""), "{wrong}");
    }
}
