//! When the output of a tap continues in the next file, so that the rows so far can be read.

use std::{str::FromStr, time::Duration};

use nanotape_plant::records::{Notice, Record};
use nanotape_tap::Event;
use nanotape_tape::Deadline;

use crate::values::{bytes, duration};

/// `--roll`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Roll {
    /// After so many bytes, before compression.
    Bytes(u64),
    /// After this time.
    Every(Duration),
    /// With each trade date.
    Date,
}

impl FromStr for Roll {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let expected = || {
            format!(
                "expected date, a time such as 30s, 15m or 1h, or bytes such as 100MiB, not {text:?}"
            )
        };
        if text == "date" {
            return Ok(Self::Date);
        }
        if let Ok(time) = duration(text) {
            return if time.is_zero() { Err(expected()) } else { Ok(Self::Every(time)) };
        }
        match bytes(text) {
            Ok(bytes) if bytes > 0 => Ok(Self::Bytes(bytes as u64)),
            _ => Err(expected()),
        }
    }
}

/// The rule, and what it needs of the current file.
pub(super) struct Rolling {
    rule: Roll,
    /// When the current file is over, by time.
    due: Option<Deadline>,
    /// The trade date of the last start.
    date: Option<u32>,
    /// Whether the current file has an event.
    has_events: bool,
}

impl Rolling {
    pub(super) fn new(rule: Roll) -> Self {
        let mut rolling = Self { rule, due: None, date: None, has_events: false };
        rolling.begin();
        rolling
    }

    /// A file begins.
    pub(super) fn begin(&mut self) {
        self.has_events = false;
        self.due = match self.rule {
            Roll::Every(time) => Some(Deadline::after(time)),
            _ => None,
        };
    }

    /// Whether an event begins the next file.
    pub(super) fn is_before(&mut self, event: &Event<'_>) -> bool {
        let had_events = std::mem::replace(&mut self.has_events, true);
        let Event::Record(delivery) = event else { return false };
        let Record::Notice(Notice::Start(start)) = delivery.record else { return false };
        let before = self.date.replace(start.date);
        self.rule == Roll::Date && had_events && before != Some(start.date)
    }

    /// Whether the current file, with so many bytes, is over after the events so far.
    pub(super) fn is_due(&self, bytes: u64) -> bool {
        let is_over = match self.rule {
            Roll::Bytes(most) => bytes >= most,
            Roll::Every(_) => self.due.as_ref().is_some_and(Deadline::is_over),
            Roll::Date => false,
        };
        is_over && self.has_events
    }

    /// Whether the current file has an event.
    pub(super) fn has_events(&self) -> bool {
        self.has_events
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_bytes_and_dates_are_distinguished() {
        for (text, roll) in [
            ("date", Roll::Date),
            ("15m", Roll::Every(Duration::from_secs(900))),
            ("2h", Roll::Every(Duration::from_secs(7_200))),
            ("1.5s", Roll::Every(Duration::from_millis(1_500))),
            ("100MiB", Roll::Bytes(100 << 20)),
            ("65536", Roll::Bytes(65_536)),
        ] {
            assert_eq!(text.parse(), Ok(roll));
        }
        for text in ["", "0s", "0", "weekly", "-1h", "h"] {
            assert!(text.parse::<Roll>().is_err(), "{text}");
        }
    }
}
