//! Waits until a message of a recorded day is due.

use std::time::Duration;

use nanotape_clock::{Clock, Stamp};
use nanotape_records::Pace;
use nanotape_types::NanosSinceMidnight;

/// Computes when a message is due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pacer {
    milli: u32,
    /// Messages before this are due at once.
    from: NanosSinceMidnight,
    /// The time of the first message that is paced, and its arrival.
    began: Option<(NanosSinceMidnight, Stamp)>,
}

impl Pacer {
    /// Waits shorter than this spin.
    pub(crate) const SPIN: Duration = Duration::from_micros(100);

    /// `None` if the pace is unlimited.
    pub(crate) fn new(pace: Pace, from: Option<NanosSinceMidnight>) -> Option<Self> {
        match pace {
            Pace::Max => None,
            Pace::Recorded { milli } => {
                Some(Self { milli, from: from.unwrap_or_default(), began: None })
            }
        }
    }

    /// Reports a message of that time; the first paced one is the reference.
    pub(crate) fn begin_at(&mut self, time: NanosSinceMidnight, clock: &Clock) {
        if self.began.is_none() && time >= self.from {
            self.began = Some((time, clock.stamp()));
        }
    }

    /// How long a message of that time has to wait; `None` if it is due.
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
