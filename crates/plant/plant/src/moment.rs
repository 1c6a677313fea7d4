//! A moment of the exchange's time, as options and configurations have it. All take the same forms.

use std::{fmt, str::FromStr};

use nanotape_clock::UtcNanos;
use nanotape_types::NanosSinceMidnight;

/// A moment of the exchange's time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// A time of day.
    Clock(NanosSinceMidnight),
    /// Ns since the UNIX epoch.
    Unix(u64),
}

impl FromStr for Moment {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unix = match text.strip_prefix('@') {
            Some(nanos) => nanos.parse().ok(),
            None => text.parse::<UtcNanos>().ok().and_then(|utc| u64::try_from(utc.get()).ok()),
        };
        let clock = || text.parse().map(Self::Clock);
        unix.map(Self::Unix).map_or_else(clock, Ok).map_err(|_| {
            "expected a time of day from 00:00 to 24:00 such as 09:45 or 09:45:00.123456789, a \
             time such as 2019-12-30T14:45:00Z, or @ and nanoseconds since 1970"
        })
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clock(time) => time.fmt(f),
            Self::Unix(nanos) => write!(f, "@{nanos}"),
        }
    }
}

impl Moment {
    /// The moment in ns since the UNIX epoch, on the day that begins at this midnight.
    pub fn on_day(self, midnight_ns: u64) -> u64 {
        match self {
            Self::Clock(time) => midnight_ns.saturating_add(time.get()),
            Self::Unix(nanos) => nanos,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_time_of_day_or_a_time_of_the_world() {
        let midnight_ns = 1_577_682_000_000_000_000;
        for text in ["9:30", "09:30", "09:30:00.0", "2019-12-30T14:30:00Z", "@1577716200000000000"]
        {
            let moment: Moment = text.parse().unwrap();
            assert_eq!(moment.on_day(midnight_ns), 1_577_716_200_000_000_000, "{text}");
        }
        for text in ["", "noon", "@", "@1.5", "25:00", "2019-12-30"] {
            assert!(text.parse::<Moment>().is_err(), "{text}");
        }
    }
}
