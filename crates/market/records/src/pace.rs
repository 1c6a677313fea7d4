//! The speed at which a recorded day goes through a plant, as in a start record.

use std::{fmt, str::FromStr};

/// The speed of reading a day.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Pace {
    /// Unlimited.
    #[default]
    Max,
    /// Relative to recorded time, in thousandths: 1,000 is the original speed.
    Recorded {
        /// Thousandths, from 1 to 10,000,000.
        milli: u32,
    },
}

impl Pace {
    const MOST_MILLI: u32 = 10_000_000;

    /// The pace of this number of thousandths; 0 is unlimited.
    pub fn of_milli(milli: u32) -> Self {
        if milli == 0 { Self::Max } else { Self::Recorded { milli } }
    }

    /// Thousandths, or 0 if unlimited, as in records and boards.
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

/// Text that is not a pace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("expected max, or a multiple such as 1x, 10x or 0.5x, from 0.001x to 10000x")]
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
}
