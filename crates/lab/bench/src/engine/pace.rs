//! The pace of a writer: duration, rate, and distance in front of the reader.

use nanotape_clock::{Clock, Stamp};
use nanotape_shm::ReadWord;

use super::{
    TimedOut, Timeout,
    message::{BEGIN, PERIOD},
};

/// Messages between two clock readings if a duration was requested: half a millisecond, of which a
/// clock reading takes a ten-thousandth.
const BLOCK: u64 = 1 << 14;

/// The amount to write in one reading.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Amount {
    /// As many messages as fit into this many seconds.
    Seconds(u32),
    /// This many messages.
    Messages(u64),
}

impl Amount {
    /// Number of messages at `rate` per second.
    pub(crate) fn messages_at(self, rate: u32) -> u64 {
        match self {
            Self::Seconds(seconds) => u64::from(seconds) * u64::from(rate),
            Self::Messages(messages) => messages,
        }
    }
}

/// The end of a loop that writes.
#[derive(Debug)]
pub(crate) struct Until {
    clock: Clock,
    begin: Stamp,
    amount: Amount,
}

impl Until {
    /// Starts now.
    pub(crate) fn new(clock: Clock, amount: Amount) -> Self {
        Self { clock, begin: clock.stamp_start(), amount }
    }

    /// Number of messages to publish before the next call; 0 at the end.
    pub(crate) fn next_block(&self, done: u64) -> u64 {
        match self.amount {
            Amount::Messages(messages) => messages.saturating_sub(done).min(BLOCK),
            Amount::Seconds(_) if self.share(done) >= 1.0 => 0,
            Amount::Seconds(_) => BLOCK,
        }
    }

    /// The elapsed share of the whole, from 0 to 1.
    #[inline]
    pub(crate) fn share(&self, done: u64) -> f64 {
        match self.amount {
            Amount::Messages(messages) => done as f64 / messages as f64,
            Amount::Seconds(seconds) => self.nanos() as f64 / (f64::from(seconds) * 1e9),
        }
    }

    /// Time since the start.
    pub(crate) fn nanos(&self) -> u64 {
        self.clock.nanos_between(self.begin, self.clock.stamp())
    }
}

/// An open loop: the due time of message `n` does not depend on earlier messages.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Schedule {
    pub(crate) begin_ticks: u64,
    pub(crate) ticks_per_message: f64,
}

impl Schedule {
    /// `rate` messages per second; the first one is due in 10 ms.
    pub(crate) fn of_rate(clock: &Clock, rate: u32) -> Self {
        let ticks_per_second = clock.rate().ticks_per_second;
        Self {
            begin_ticks: clock.stamp().ticks() + (ticks_per_second / 100.0) as u64,
            ticks_per_message: ticks_per_second / f64::from(rate),
        }
    }

    /// When message `index` is due; the first is 0.
    #[inline(always)]
    pub(crate) fn due(&self, index: u64) -> Stamp {
        Stamp::from_ticks(self.begin_ticks + (index as f64 * self.ticks_per_message) as u64)
    }
}

/// Sends the schedule to the reader in two messages. Repeats that until the reader has received it
/// before the schedule begins: a reader that just lost its processor would lose the schedule too.
/// `say` writes a message with this type and stamp, and returns the next sequence number.
pub(crate) fn agree<E: From<TimedOut>>(
    clock: &Clock,
    rate: u32,
    progress: &ReadWord,
    timeout: &mut Timeout,
    mut say: impl FnMut(u16, u64) -> Result<u64, E>,
) -> Result<Schedule, E> {
    loop {
        let schedule = Schedule::of_rate(clock, rate);
        say(BEGIN, schedule.begin_ticks)?;
        let next = say(PERIOD, schedule.ticks_per_message.to_bits())?;
        while progress.load() < next {
            timeout.idle(next)?;
        }
        if clock.stamp() < schedule.due(0) {
            return Ok(schedule);
        }
    }
}

/// Limits the distance between a writer and its reader, so that the reader loses nothing. Only the
/// benchmark has such a limit, to measure the rate of a reader: the writer of a ring never waits.
#[derive(Debug)]
pub(crate) struct Window<'region> {
    /// Next sequence number of the reader, which stores it periodically.
    pub(crate) progress: &'region ReadWord,
    /// Most messages between reader and writer.
    pub(crate) messages: u64,
}

impl Window<'_> {
    /// Number of messages that may be published now; waits until it is at least one.
    #[inline]
    pub(crate) fn wait(&self, next: u64, timeout: &mut Timeout) -> Result<u64, TimedOut> {
        loop {
            let allowed = (self.progress.load() + self.messages).saturating_sub(next);
            if allowed > 0 {
                return Ok(allowed);
            }
            timeout.idle(next)?;
        }
    }
}

/// Messages between two stores of the progress: rare enough to cost nothing, frequent enough that
/// the writer never waits while there is room.
pub(crate) fn progress_interval(ring_messages: u64) -> u64 {
    (ring_messages / 8).clamp(1, 1_024)
}

#[cfg(test)]
mod tests {
    use nanotape_shm::Word;

    use super::*;
    use crate::engine::Wait;

    #[test]
    fn a_number_of_messages_is_kept_to_the_last() {
        let until = Until::new(Clock::monotonic(), Amount::Messages(2 * BLOCK + 3));
        let mut done = 0;
        let mut blocks = Vec::new();
        while let block @ 1.. = until.next_block(done) {
            blocks.push(block);
            done += block;
        }
        assert_eq!(blocks, [BLOCK, BLOCK, 3]);
        assert_eq!(until.share(done), 1.0);
    }

    #[test]
    fn a_schedule_does_not_drift() {
        let schedule = Schedule { begin_ticks: 1_000, ticks_per_message: 2.5 };
        let due = [0, 1, 2, 4, 1_000_000].map(|index| schedule.due(index).ticks());
        assert_eq!(due, [1_000, 1_002, 1_005, 1_010, 2_501_000]);
    }

    #[test]
    fn a_writer_gets_so_far_ahead_and_no_further() {
        let progress = Word::new(1);
        let window = Window { progress: progress.as_read_only(), messages: 100 };
        let timeout = &mut Timeout::new(Clock::monotonic(), Wait::Yield);
        assert_eq!(window.wait(1, timeout).unwrap(), 100);
        assert_eq!(window.wait(61, timeout).unwrap(), 40);
        std::thread::scope(|scope| {
            scope.spawn(|| progress.store(11));
            assert_eq!(window.wait(101, timeout).unwrap(), 10);
        });
    }

    #[test]
    fn a_reader_says_how_far_it_is_often_enough_for_half_a_ring() {
        for ring in [8, 100, 4_096, 65_536] {
            assert!(progress_interval(ring) * 4 <= ring.max(4), "{ring}");
        }
    }
}
