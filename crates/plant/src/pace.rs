//! How fast a recorded day goes through a plant: as fast as it can, or as it once came.

use std::{fmt, str::FromStr, time::Duration};

use nanotape_clock::{Clock, Stamp};
use nanotape_types::NanosSinceMidnight;

/// How fast a day is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Pace {
    /// As fast as it goes.
    #[default]
    Max,
    /// Recorded time passes so many thousandths times as fast as time: 1,000 is as it came.
    Recorded {
        /// Thousandths, from 1 to 10,000,000.
        milli: u32,
    },
}

impl Pace {
    const MOST_MILLI: u32 = 10_000_000;

    /// Thousandths, and 0 for as fast as it goes: as records and boards have it.
    pub fn milli(self) -> u32 {
        match self {
            Self::Max => 0,
            Self::Recorded { milli } => milli,
        }
    }
}

/// `max`, `1x`, `0.5x`.
impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Max => f.write_str("max"),
            Self::Recorded { milli } => write!(f, "{}x", f64::from(*milli) / 1e3),
        }
    }
}

/// Text that is no pace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("expected max, or a number of times such as 1x, 10x or 0.5x, from 0.001x to 10000x")]
pub struct ParsePaceError;

impl FromStr for Pace {
    type Err = ParsePaceError;

    fn from_str(text: &str) -> Result<Self, ParsePaceError> {
        if text == "max" {
            return Ok(Self::Max);
        }
        let times: f64 =
            text.strip_suffix('x').unwrap_or(text).parse().map_err(|_| ParsePaceError)?;
        let milli = (times * 1e3).round();
        let fits = (1.0..=f64::from(Self::MOST_MILLI)).contains(&milli);
        fits.then_some(Self::Recorded { milli: milli as u32 }).ok_or(ParsePaceError)
    }
}

/// Says when a message is due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pacer {
    milli: u32,
    /// Messages before this are due at once.
    from: NanosSinceMidnight,
    /// The first message that is paced, and when it came.
    began: Option<(NanosSinceMidnight, Stamp)>,
}

impl Pacer {
    /// What is nearer than this is waited for with a whole processor.
    pub(crate) const SPIN: Duration = Duration::from_micros(100);

    /// None if there is nothing to wait for.
    pub(crate) fn new(pace: Pace, from: Option<NanosSinceMidnight>) -> Option<Self> {
        match pace {
            Pace::Max => None,
            Pace::Recorded { milli } => {
                Some(Self { milli, from: from.unwrap_or_default(), began: None })
            }
        }
    }

    /// A message of that time has come; the first one that is paced sets the time.
    pub(crate) fn begin_at(&mut self, time: NanosSinceMidnight, clock: &Clock) {
        if self.began.is_none() && time >= self.from {
            self.began = Some((time, clock.stamp()));
        }
    }

    /// How long a message of that time has to wait; none if it is due.
    pub(crate) fn early(&self, time: NanosSinceMidnight, clock: &Clock) -> Option<Duration> {
        let (first, began) = self.began?;
        let recorded = time.get().saturating_sub(first.get());
        let due = u128::from(recorded) * 1_000 / u128::from(self.milli);
        let passed = u128::from(clock.nanos_between(began, clock.stamp()));
        let early = due.checked_sub(passed).filter(|&early| early > 0)?;
        Some(Duration::from_nanos(u64::try_from(early).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paces_read_and_print() {
        for (text, pace) in [
            ("max", Pace::Max),
            ("1x", Pace::Recorded { milli: 1_000 }),
            ("0.5x", Pace::Recorded { milli: 500 }),
            ("10000x", Pace::Recorded { milli: 10_000_000 }),
        ] {
            assert_eq!(text.parse(), Ok(pace));
            assert_eq!(pace.to_string(), text);
        }
        assert_eq!("10".parse(), Ok(Pace::Recorded { milli: 10_000 }));
        for text in ["", "x", "0x", "-1x", "fast", "10001x", "nanx", "infx"] {
            assert_eq!(text.parse::<Pace>(), Err(ParsePaceError), "{text:?}");
        }
    }

    #[test]
    fn a_message_is_due_when_as_much_time_has_passed_as_was_recorded() {
        let clock = Clock::monotonic();
        let at = |second| NanosSinceMidnight::from_hms(9, 30, second);
        let mut pacer = Pacer::new("2x".parse().unwrap(), Some(at(0))).unwrap();
        pacer.begin_at(NanosSinceMidnight::from_hms(9, 29, 59), &clock);
        assert_eq!(pacer.early(NanosSinceMidnight::from_hms(9, 29, 59), &clock), None);
        pacer.begin_at(at(1), &clock);
        assert_eq!(pacer.early(at(1), &clock), None);
        let early = pacer.early(at(3), &clock).unwrap();
        assert!(early <= Duration::from_secs(1) && early > Duration::from_millis(900), "{early:?}");
        assert_eq!(Pacer::new(Pace::Max, None).map(|_| ()), None);
    }
}
