//! What writers and readers do, the same for every rival.

use std::hint::{black_box, spin_loop};

use crate::{
    Failure, Wrong,
    clock::{Clock, ticks, ticks_after_loads},
    message::{self, CHECKED_EVERY, Message},
    options::{Mode, Options},
    percentiles::Percentiles,
    report::Reading,
};

/// The end of a rival's queue that messages go into.
pub(crate) trait Writer {
    /// Copies it in; waits, as the rival waits, while there is no room.
    fn send(&mut self, message: &Message) -> Result<(), Failure>;
}

/// The end that messages come out of.
pub(crate) trait Reader {
    /// Shows every message that is there, in the rival's memory if it lets us look, and says how
    /// many there were. Shows none rather than wait, unless the rival can only wait.
    fn poll(&mut self, see: &mut impl FnMut(&Message)) -> Result<usize, Failure>;
}

/// Sends everything and says how many seconds it took.
pub(crate) fn write(writer: &mut impl Writer, options: &Options) -> Result<f64, Failure> {
    let clock = Clock::calibrated();
    let start = ticks();
    match options.mode {
        Mode::Latency => write_paced(writer, options, &clock)?,
        _ => write_flat_out(writer, options)?,
    }
    Ok(clock.seconds(ticks() - start))
}

fn write_flat_out(writer: &mut impl Writer, options: &Options) -> Result<(), Failure> {
    let mut message = [0; 73];
    for sequence in 1..=options.messages {
        message::fill(&mut message, sequence);
        writer.send(&message)?;
    }
    Ok(())
}

/// An open loop: a message that is late does not move those behind it.
fn write_paced(writer: &mut impl Writer, options: &Options, clock: &Clock) -> Result<(), Failure> {
    let mut message = [0; 73];
    let period = clock.ticks_per_second / options.rate as f64;
    let start = ticks();
    for sequence in 1..=options.messages {
        message::fill(&mut message, sequence);
        let intended = start + (sequence as f64 * period) as u64;
        while ticks() < intended {}
        message::stamp(&mut message, ticks(), intended);
        writer.send(&message)?;
    }
    Ok(())
}

/// Receives everything, copies it out and checks it.
pub(crate) fn read(reader: &mut impl Reader, options: &Options) -> Result<Reading, Failure> {
    let clock = Clock::calibrated();
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
    let (mut check, mut idle) = (Check::new(), Idle::new(options));
    let mut first = 0;
    let mut copy = [0; 73];
    while check.received < options.messages {
        let count = reader.poll(&mut |message| {
            copy = *message;
            // Otherwise the compiler would copy no more than what is looked at.
            black_box(&copy);
            if first == 0 {
                first = ticks();
            }
            check.see(&copy);
        })?;
        idle.after(count);
    }
    let seconds = clock.seconds(ticks_after_loads() - first);
    check.finish()?;
    Ok(Reading { received: check.received, seconds, ..Reading::default() })
}

fn read_latency(
    reader: &mut impl Reader,
    options: &Options,
    clock: &Clock,
) -> Result<Reading, Failure> {
    let (mut check, mut idle) = (Check::new(), Idle::new(options));
    let warm_up = options.warm_up();
    let samples = (options.messages - warm_up) as usize;
    // Written to once, so that no page has to be found while the clock runs.
    let (mut from_sent, mut from_intended) = (vec![u64::MAX; samples], vec![u64::MAX; samples]);
    let mut copy = [0; 73];
    while check.received < options.messages {
        let count = reader.poll(&mut |message| {
            copy = *message;
            black_box(&copy);
            let now = ticks_after_loads();
            check.see(&copy);
            if let Some(sample) = check.received.checked_sub(warm_up + 1) {
                from_sent[sample as usize] = now.saturating_sub(message::sent(&copy));
                from_intended[sample as usize] = now.saturating_sub(message::intended(&copy));
            }
        })?;
        idle.after(count);
    }
    check.finish()?;
    Ok(Reading {
        received: check.received,
        seconds: 0.0,
        samples: samples as u64,
        from_sent: Percentiles::of(&mut from_sent, |ticks| clock.nanoseconds(ticks)),
        from_intended: Percentiles::of(&mut from_intended, |ticks| clock.nanoseconds(ticks)),
    })
}

/// Sends a message, waits for it to come back, and so on: the time of the round trips.
pub(crate) fn ping(
    writer: &mut impl Writer,
    reader: &mut impl Reader,
    options: &Options,
) -> Result<Reading, Failure> {
    let clock = Clock::calibrated();
    let (mut check, mut idle) = (Check::new(), Idle::new(options));
    let warm_up = options.warm_up();
    let mut round_trips = vec![u64::MAX; (options.messages - warm_up) as usize];
    let (mut message, mut copy) = ([0; 73], [0; 73]);
    for sequence in 1..=options.messages {
        message::fill(&mut message, sequence);
        let sent = ticks();
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
        let now = ticks_after_loads();
        check.see(&copy);
        if let Some(sample) = check.received.checked_sub(warm_up + 1) {
            round_trips[sample as usize] = now - sent;
        }
    }
    check.finish()?;
    let samples = round_trips.len() as u64;
    let from_sent = Percentiles::of(&mut round_trips, |ticks| clock.nanoseconds(ticks));
    Ok(Reading { received: check.received, samples, from_sent, ..Reading::default() })
}

/// Sends back what comes.
pub(crate) fn pong(
    reader: &mut impl Reader,
    writer: &mut impl Writer,
    options: &Options,
) -> Result<Reading, Failure> {
    let (mut check, mut idle) = (Check::new(), Idle::new(options));
    let mut copy = [0; 73];
    while check.received < options.messages {
        let count = reader.poll(&mut |message| copy = *black_box(message))?;
        if count > 0 {
            writer.send(&copy)?;
            check.see(&copy);
        }
        idle.after(count);
    }
    check.finish()?;
    Ok(Reading { received: check.received, ..Reading::default() })
}

/// Whether everything arrives once, in order and whole. All rivals here promise that.
struct Check {
    received: u64,
    wrong: Option<String>,
}

impl Check {
    fn new() -> Self {
        Self { received: 0, wrong: None }
    }

    #[inline]
    fn see(&mut self, message: &Message) {
        self.received += 1;
        let sequence = message::sequence(message);
        if sequence != self.received {
            self.complain(format!("message {} arrived where {} was due", sequence, self.received));
        }
        if sequence.is_multiple_of(CHECKED_EVERY) && !message::is_whole(message) {
            self.complain(format!("message {sequence} arrived damaged"));
        }
    }

    #[cold]
    fn complain(&mut self, what: String) {
        self.wrong.get_or_insert(what);
    }

    fn finish(&self) -> Result<(), Failure> {
        match &self.wrong {
            Some(wrong) => Err(Wrong(wrong.clone()).into()),
            None => Ok(()),
        }
    }
}

/// What a reader does when nothing is there: spins, and lets others run if it shares a processor.
struct Idle {
    crowded: bool,
    empty: u32,
}

impl Idle {
    fn new(options: &Options) -> Self {
        Self { crowded: options.crowded(), empty: 0 }
    }

    #[inline]
    fn after(&mut self, count: usize) {
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

    fn checked(sequences: &[u64], damage: bool) -> Result<(), String> {
        let mut check = Check::new();
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
        assert_eq!(checked(&whole, false), Ok(()));
        assert_eq!(checked(&[1, 3], false), Err("message 3 arrived where 2 was due".to_owned()));
        assert_eq!(checked(&[1, 1], false), Err("message 1 arrived where 2 was due".to_owned()));
        assert_eq!(checked(&whole, true), Err("message 1000 arrived damaged".to_owned()));
    }
}
