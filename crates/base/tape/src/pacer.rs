//! When something of a recorded time is due, on an absolute schedule: each due time follows from
//! the beginning alone, so delays do not add up.

use std::time::Duration;

use nanotape_clock::{Clock, Stamp};

/// Computes due times from recorded times.
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    milli: u32,
    /// What was recorded before this time is due at once.
    from_ns: u64,
    /// The first recorded time that is paced, and its arrival.
    began: Option<(u64, Stamp)>,
}

impl Pacer {
    /// Waits shorter than this should spin: a sleep takes longer than requested.
    pub const SPIN: Duration = Duration::from_micros(100);

    /// A pace in thousandths of the recorded one; `None` for 0, which is unlimited.
    pub fn new(milli: u32, from_ns: u64) -> Option<Self> {
        (milli > 0).then_some(Self { milli, from_ns, began: None })
    }

    /// Reports something of that recorded time; the first paced one is the reference.
    pub fn begin_at(&mut self, recorded_ns: u64, clock: &Clock) {
        if self.began.is_none() && recorded_ns >= self.from_ns {
            self.began = Some((recorded_ns, clock.stamp()));
        }
    }

    /// How long something of that recorded time has to wait; `None` if it is due.
    pub fn early(&self, recorded_ns: u64, clock: &Clock) -> Option<Duration> {
        let (due, passed) = self.due_and_passed(recorded_ns, clock, clock.stamp())?;
        let early = due.checked_sub(passed).filter(|&early| early > 0)?;
        Some(Duration::from_nanos(u64::try_from(early).unwrap_or(u64::MAX)))
    }

    /// How long ago something of that recorded time was due; 0 before it is due, and if nothing
    /// began.
    pub fn late_ns(&self, recorded_ns: u64, clock: &Clock) -> u64 {
        self.late_at(recorded_ns, clock, clock.stamp())
    }

    /// The same at the moment of a stamp.
    pub fn late_at(&self, recorded_ns: u64, clock: &Clock, now: Stamp) -> u64 {
        let late = self.due_and_passed(recorded_ns, clock, now);
        let late = late.map_or(0, |(due, passed)| passed.saturating_sub(due));
        u64::try_from(late).unwrap_or(u64::MAX)
    }

    /// The recorded time that is due now; `None` if nothing began.
    pub fn recorded_now(&self, clock: &Clock) -> Option<u64> {
        let (first, began) = self.began?;
        let passed = u128::from(clock.nanos_between(began, clock.stamp()));
        let recorded = passed * u128::from(self.milli) / 1_000 + u128::from(first);
        Some(u64::try_from(recorded).unwrap_or(u64::MAX))
    }

    /// When it is due and the time at `now`, both in nanoseconds since the beginning.
    fn due_and_passed(&self, recorded_ns: u64, clock: &Clock, now: Stamp) -> Option<(u128, u128)> {
        let (first, began) = self.began?;
        let recorded = recorded_ns.saturating_sub(first);
        let due = u128::from(recorded) * 1_000 / u128::from(self.milli);
        Some((due, u128::from(clock.nanos_between(began, now))))
    }
}

/// Decides which waits for a recorded time are reported to an operator: the long ones, and not many
/// of them.
#[derive(Clone, Copy, Default, Debug)]
pub struct LongWaits {
    reported: Option<Stamp>,
}

impl LongWaits {
    /// The shortest wait that is reported.
    const REPORTED: Duration = Duration::from_secs(5);

    /// The least time between two reports.
    const BETWEEN_NS: u64 = 60_000_000_000;

    /// Whether a wait that begins now, and ends after `early`, is to be reported.
    pub fn begins(&mut self, early: Duration, clock: &Clock) -> bool {
        let now = clock.stamp();
        let is_recent = |then| clock.nanos_between(then, now) < Self::BETWEEN_NS;
        let is_due = early >= Self::REPORTED && !self.reported.is_some_and(is_recent);
        if is_due {
            self.reported = Some(now);
        }
        is_due
    }

    /// The words for the operator: `waiting until 04:00:00 (exchange time), in 59 min 58 s`. The
    /// time of day in nanoseconds is one of the clock that `of` names.
    pub fn text(time_of_day_ns: u64, of: &str, early: Duration) -> String {
        let seconds = time_of_day_ns / 1_000_000_000;
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
        let left = time_left(early);
        format!("waiting until {hours:02}:{minutes:02}:{:02} ({of} time), in {left}", seconds % 60)
    }
}

/// `1 h 0 min`, `59 min 58 s` or `7 s`.
fn time_left(left: Duration) -> String {
    let seconds = left.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn long_waits_are_reported_and_not_many_of_them() {
        let (clock, mut waits) = (Clock::monotonic(), LongWaits::default());
        let seconds = Duration::from_secs;
        assert!(!waits.begins(seconds(4), &clock));
        assert!(waits.begins(seconds(360), &clock) && !waits.begins(seconds(360), &clock));
        let text = LongWaits::text(14_400 * SECOND + 1, "exchange", seconds(359));
        assert_eq!(text, "waiting until 04:00:00 (exchange time), in 5 min 59 s");
    }

    #[test]
    fn a_message_is_due_when_as_much_time_has_passed_as_was_recorded() {
        let clock = Clock::monotonic();
        let at = |second: u64| (34_200 + second) * SECOND;
        let mut pacer = Pacer::new(2_000, at(0)).unwrap();
        pacer.begin_at(at(0) - SECOND, &clock);
        assert_eq!(pacer.early(at(0) - SECOND, &clock), None);
        assert_eq!((pacer.late_ns(at(0), &clock), pacer.recorded_now(&clock)), (0, None));
        pacer.begin_at(at(1), &clock);
        assert_eq!(pacer.early(at(1), &clock), None);
        let early = pacer.early(at(3), &clock).unwrap();
        assert!(early <= Duration::from_secs(1) && early > Duration::from_millis(900), "{early:?}");
        assert_eq!(pacer.late_ns(at(3), &clock), 0);
        std::thread::sleep(Duration::from_millis(2));
        let late_ns = pacer.late_ns(at(1), &clock);
        assert!((2_000_000..SECOND).contains(&late_ns), "{late_ns}");
        let now = pacer.recorded_now(&clock).unwrap() - at(1);
        assert!((4_000_000..2 * SECOND).contains(&now), "{now}");
        assert!(Pacer::new(0, 0).is_none());
    }
}
