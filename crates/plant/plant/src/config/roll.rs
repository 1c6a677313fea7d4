//! When a journal begins a new segment, as users write it: `size`, `hour`, `15m`, `day`, or
//! `day@America/New_York` for the days of a time zone.

use std::{fmt, str::FromStr};

use nanotape_clock::UtcNanos;
use nanotape_journal::{RollCycle, RollTimes};
use nanotape_types::units;

use crate::records::midnights;

/// How long before the start of an appender its excerpts may be, and how long it may run. Outside
/// of that, segments of a time zone begin by size only.
const DAYS_BEFORE: u32 = 400;
const DAYS_AFTER: u32 = 366 * 20;

/// When a new segment begins although the last one is not full.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Roll {
    cycle: RollCycle,
    /// The time zone whose midnights begin segments.
    zone: Option<String>,
}

impl Roll {
    /// The cycle in UTC.
    pub fn cycle(&self) -> RollCycle {
        self.cycle
    }

    /// The midnights of the time zone, for an appender that starts now.
    pub fn times(&self) -> RollTimes {
        let now_ns = UtcNanos::now().unix_ns();
        let midnights =
            self.zone.as_ref().and_then(|zone| midnights(zone, now_ns, DAYS_BEFORE, DAYS_AFTER));
        RollTimes::new(midnights.unwrap_or_default())
    }
}

impl Default for Roll {
    fn default() -> Self {
        Self { cycle: RollCycle::Day, zone: None }
    }
}

impl FromStr for Roll {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(zone) = text.strip_prefix("day@") {
            return match midnights(zone, 0, 0, 0) {
                Some(_) => Ok(Self { cycle: RollCycle::Size, zone: Some(zone.to_owned()) }),
                None => {
                    Err(format!("unknown time zone {zone:?}, expected one such as Europe/Zurich"))
                }
            };
        }
        let cycle = match text {
            "size" => RollCycle::Size,
            "minute" => RollCycle::Minute,
            "hour" => RollCycle::Hour,
            "day" => RollCycle::Day,
            _ => match units::duration(text).map(|time| u64::try_from(time.as_nanos())) {
                Ok(Ok(nanos)) if nanos > 0 => RollCycle::EveryNs(nanos),
                _ => {
                    return Err("expected size, minute, hour, day, day@ZONE such as \
                         day@America/New_York, or a period like 15m"
                        .to_owned());
                }
            },
        };
        Ok(Self { cycle, zone: None })
    }
}

impl fmt::Display for Roll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.zone, self.cycle) {
            (Some(zone), _) => write!(f, "day@{zone}"),
            (None, RollCycle::Size) => f.write_str("size"),
            (None, RollCycle::Minute) => f.write_str("minute"),
            (None, RollCycle::Hour) => f.write_str("hour"),
            (None, RollCycle::Day) => f.write_str("day"),
            (None, other) => write!(f, "{}ns", other.length_ns()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_is_a_word_or_a_time() {
        for (text, cycle) in [
            ("size", RollCycle::Size),
            ("minute", RollCycle::Minute),
            ("hour", RollCycle::Hour),
            ("day", RollCycle::Day),
            ("100ms", RollCycle::EveryNs(100_000_000)),
            ("15m", RollCycle::EveryNs(900_000_000_000)),
            ("86399999999999ns", RollCycle::EveryNs(86_399_999_999_999)),
        ] {
            let roll: Roll = text.parse().unwrap();
            assert_eq!((roll.cycle(), roll.times()), (cycle, RollTimes::default()), "{text}");
            assert_eq!(roll.to_string().parse(), Ok(roll), "{text}");
        }
        for bad in ["", "0s", "week", "-1s", "day@", "day@Atlantis/Capital", "hour@UTC"] {
            assert!(bad.parse::<Roll>().is_err(), "{bad}");
        }
    }

    #[test]
    fn days_of_a_time_zone_begin_at_its_midnights_also_when_clocks_change() {
        let roll: Roll = "day@America/New_York".parse().unwrap();
        assert_eq!(
            (roll.cycle(), roll.to_string().as_str()),
            (RollCycle::Size, "day@America/New_York")
        );
        assert_ne!(roll.times(), RollTimes::default());
        // 2019-11-02 to 04: clocks go back on the 3rd, which has 25 hours.
        let noon_ns = 1_572_796_800_000_000_000;
        let begins = midnights("America/New_York", noon_ns, 1, 1).unwrap();
        let hour_ns = 3_600_000_000_000;
        let first_ns = 1_572_667_200_000_000_000;
        assert_eq!(begins, [first_ns, first_ns + 24 * hour_ns, first_ns + 49 * hour_ns]);
    }
}
