//! The work of writers and readers, the same for every rival.

use std::hint::{black_box, spin_loop};

use nanotape_clock::{Clock, Stamp};
use rivals_measure::{
    Failure, Percentiles, Wrong,
    message::{self, CHECKED_EVERY},
};

use crate::{
    options::{Mode, Options},
    report::Reading,
};

/// A message. Its alignment is 1, so that queues of slots can pack it.
pub(crate) type Message = [u8; 73];

/// The sending end of a rival's queue.
pub(crate) trait Writer {
    /// Copies the message into the queue. If the queue is full, it waits as the rival waits.
    fn send(&mut self, message: &Message) -> Result<(), Failure>;

    /// Called once, after the last message of a run that is not ping-pong.
    fn finish(&mut self) {}
}

/// The receiving end.
pub(crate) trait Reader {
    /// Whether the writer may overtake the reader, which then loses messages.
    const LOSSY: bool = false;

    /// Calls `see` with every available message, in the rival's memory if the rival allows it, and
    /// returns their number. Returns 0 instead of waiting, if the rival can do that.
    fn poll(&mut self, see: &mut impl FnMut(&Message)) -> Result<usize, Failure>;

    /// How often the writer has overtaken this reader.
    fn laps(&self) -> u64 {
        0
    }

    /// Whether the writer has sent its last message, which this reader may have lost.
    fn is_writer_done(&self) -> bool {
        false
    }
}

/// Sends all messages, and returns the seconds that took.
pub(crate) fn write(writer: &mut impl Writer, options: &Options) -> Result<f64, Failure> {
    let clock = Clock::calibrate();
    let is_paced = options.mode == Mode::Latency;
    let period = clock.rate().ticks_per_second / options.rate as f64;
    let mut message = [0; 73];
    let start = clock.stamp_unfenced();
    for sequence in 1..=options.messages {
        message::fill(&mut message, sequence);
        if is_paced {
            // An open loop: a message that is late does not delay those after it.
            let intended = start.ticks() + (sequence as f64 * period) as u64;
            while clock.stamp_unfenced().ticks() < intended {}
            message::stamp(&mut message, clock.stamp_unfenced().ticks(), intended);
        }
        writer.send(&message)?;
    }
    let seconds = clock.nanos_between(start, clock.stamp_unfenced()) as f64 / 1e9;
    writer.finish();
    Ok(seconds)
}

/// Receives all messages, copies them out and checks them.
pub(crate) fn read(reader: &mut impl Reader, options: &Options) -> Result<Reading, Failure> {
    let clock = Clock::calibrate();
    match options.mode {
        Mode::Latency => read_latency(reader, options, &clock),
        _ => read_flat_out(reader, options, &clock),
    }
}

fn read_flat_out(
    reader: &mut impl Reader,
    options: &Options,
    clock: &Clock,
) -> Result<Reading, Failure> {
    let mut first = None;
    let received = receive(reader, options, |_| {
        first.get_or_insert_with(|| clock.stamp_unfenced());
    })?;
    let last = clock.stamp();
    let seconds = clock.nanos_between(first.unwrap_or(last), last) as f64 / 1e9;
    Ok(Reading { received, laps: reader.laps(), seconds, ..Reading::default() })
}

fn read_latency(
    reader: &mut impl Reader,
    options: &Options,
    clock: &Clock,
) -> Result<Reading, Failure> {
    let mut from_sent = touched_samples(options);
    let mut from_intended = touched_samples(options);
    let mut samples = 0;
    let received = receive(reader, options, |message| {
        let now = clock.stamp().ticks();
        let [sequence, sent, intended] = message::head(message);
        // A queue that repeats messages has no room for all of them, and fails later.
        if sequence > options.warm_up() && samples < from_sent.len() {
            from_sent[samples] = now.saturating_sub(sent);
            from_intended[samples] = now.saturating_sub(intended);
            samples += 1;
        }
    })?;
    // Messages that were lost have no samples.
    from_sent.truncate(samples);
    from_intended.truncate(samples);
    Ok(Reading {
        received,
        laps: reader.laps(),
        seconds: 0.0,
        samples: from_sent.len() as u64,
        from_sent: percentiles(&mut from_sent, clock),
        from_intended: percentiles(&mut from_intended, clock),
    })
}

/// Copies every message out, calls `arrived` with it, and checks it.
fn receive<R: Reader>(
    reader: &mut R,
    options: &Options,
    mut arrived: impl FnMut(&Message),
) -> Result<u64, Failure> {
    let (mut check, mut idle) = (Check::of::<R>(), Idle::new(options));
    let (mut copy, mut is_writer_done) = ([0; 73], false);
    while check.last < options.messages {
        let count = reader.poll(&mut |message| {
            copy = *message;
            // Without it the compiler would copy only the bytes that are read below.
            black_box(&copy);
            arrived(&copy);
            check.see(&copy);
        })?;
        if count == 0 && is_writer_done {
            break;
        }
        is_writer_done = count == 0 && reader.is_writer_done();
        idle.after(count);
    }
    check.finish()
}

/// Sends a message, waits until it comes back, and so on. Measures the round trips.
pub(crate) fn ping(
    writer: &mut impl Writer,
    reader: &mut impl Reader,
    options: &Options,
) -> Result<Reading, Failure> {
    let clock = Clock::calibrate();
    let (mut check, mut idle) = (Check::default(), Idle::new(options));
    let mut round_trips = touched_samples(options);
    let (mut message, mut copy) = ([0; 73], [0; 73]);
    for sequence in 1..=options.messages {
        message::fill(&mut message, sequence);
        let sent = clock.stamp_unfenced().ticks();
        message::stamp(&mut message, sent, sent);
        writer.send(&message)?;
        loop {
            let count = reader.poll(&mut |message| copy = *black_box(message))?;
            if count > 0 {
                break;
            }
            idle.after(count);
        }
        black_box(&copy);
        let now = clock.stamp().ticks();
        check.see(&copy);
        if let Some(sample) = check.received.checked_sub(options.warm_up() + 1) {
            round_trips[sample as usize] = now - sent;
        }
    }
    let received = check.finish()?;
    let samples = round_trips.len() as u64;
    let from_sent = percentiles(&mut round_trips, &clock);
    Ok(Reading { received, samples, from_sent, ..Reading::default() })
}

/// Sends every message back.
pub(crate) fn pong(
    reader: &mut impl Reader,
    writer: &mut impl Writer,
    options: &Options,
) -> Result<Reading, Failure> {
    let (mut check, mut idle) = (Check::default(), Idle::new(options));
    let mut copy = [0; 73];
    while check.received < options.messages {
        let count = reader.poll(&mut |message| copy = *black_box(message))?;
        if count > 0 {
            writer.send(&copy)?;
            check.see(&copy);
        }
        idle.after(count);
    }
    Ok(Reading { received: check.finish()?, ..Reading::default() })
}

/// Room for the samples after the warm-up, written once so that its pages exist before the run.
fn touched_samples(options: &Options) -> Vec<u64> {
    vec![u64::MAX; (options.messages - options.warm_up()) as usize]
}

fn percentiles(ticks: &mut [u64], clock: &Clock) -> Percentiles {
    let begin = Stamp::from_ticks(0);
    Percentiles::of(ticks, |ticks| clock.nanos_between(begin, Stamp::from_ticks(ticks)))
}

/// Whether messages arrive once, in order and whole, and, unless the queue is lossy, all of them.
#[derive(Default)]
struct Check {
    is_lossy: bool,
    received: u64,
    /// The sequence number of the last message that arrived.
    last: u64,
    wrong: Option<String>,
}

impl Check {
    fn of<R: Reader>() -> Self {
        Self { is_lossy: R::LOSSY, ..Self::default() }
    }

    #[inline]
    fn see(&mut self, message: &Message) {
        self.received += 1;
        let [sequence, ..] = message::head(message);
        let expected = self.last + 1;
        if sequence != expected && (sequence < expected || !self.is_lossy) {
            self.complain(format!("message {sequence} arrived, expected {expected}"));
        }
        self.last = sequence;
        if sequence.is_multiple_of(CHECKED_EVERY) && !message::is_whole(message) {
            self.complain(format!("message {sequence} arrived damaged"));
        }
    }

    #[cold]
    fn complain(&mut self, what: String) {
        self.wrong.get_or_insert(what);
    }

    /// The number of messages that arrived, if all were good.
    fn finish(&self) -> Result<u64, Failure> {
        match &self.wrong {
            Some(wrong) => Err(Wrong(wrong.clone()).into()),
            None => Ok(self.received),
        }
    }
}

/// How a reader waits for messages: it spins, and yields if it shares a processor.
pub(crate) struct Idle {
    crowded: bool,
    empty: u32,
}

impl Idle {
    pub(crate) fn new(options: &Options) -> Self {
        Self { crowded: options.crowded(), empty: 0 }
    }

    #[inline]
    pub(crate) fn after(&mut self, count: usize) {
        if count > 0 {
            self.empty = 0;
            return;
        }
        self.empty += 1;
        if self.crowded && self.empty.is_multiple_of(100) {
            std::thread::yield_now();
        } else {
            spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(sequences: &[u64], damage: bool, is_lossy: bool) -> Result<u64, String> {
        let mut check = Check { is_lossy, ..Check::default() };
        for &sequence in sequences {
            let mut message = [0; 73];
            message::fill(&mut message, sequence);
            message[50] ^= u8::from(damage && sequence == CHECKED_EVERY);
            check.see(&message);
        }
        check.finish().map_err(|wrong| wrong.to_string())
    }

    #[test]
    fn gaps_repeats_and_damage_are_noticed() {
        let whole: Vec<u64> = (1..=CHECKED_EVERY).collect();
        let wrong = |what: &str| Err(what.to_owned());
        assert_eq!(checked(&whole, false, false), Ok(CHECKED_EVERY));
        assert_eq!(checked(&[1, 3], false, false), wrong("message 3 arrived, expected 2"));
        assert_eq!(checked(&[1, 1], false, false), wrong("message 1 arrived, expected 2"));
        assert_eq!(checked(&whole, true, false), wrong("message 1000 arrived damaged"));
    }

    #[test]
    fn a_lossy_queue_may_lose_messages_but_neither_repeat_nor_damage_them() {
        let whole: Vec<u64> = (1..=CHECKED_EVERY).collect();
        let wrong = |what: &str| Err(what.to_owned());
        assert_eq!(checked(&[2, 3, 9], false, true), Ok(3));
        assert_eq!(checked(&[2, 9, 9], false, true), wrong("message 9 arrived, expected 10"));
        assert_eq!(checked(&[2, 9, 3], false, true), wrong("message 3 arrived, expected 10"));
        assert_eq!(checked(&whole, true, true), wrong("message 1000 arrived damaged"));
    }
}
