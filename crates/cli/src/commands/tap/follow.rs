//! Reading on and on: what ends a tap, and the numbers that it ends with.

use std::{io, time::Duration};

use nanotape_plant::{Event, SubscribeError, Subscriber, records::Notice, records::Record};
use nanotape_ring::{WaitStrategy, Waiter};
use nanotape_shm::OwnerState;
use nanotape_types::Symbol;

use super::{
    TapArguments,
    join::{Joined, of_subscription},
    printer::Printer,
};
use crate::{
    deadline::Deadline,
    interrupt::Interrupt,
    regions::{of_region, state_sentence},
    status::{BadData, Status, is_broken_pipe, tell},
};

/// How to wait for more: quick while records come, and next to no processor while none do.
const WAIT: WaitStrategy = WaitStrategy::Backoff { looks: 200, sleep: Duration::from_millis(1) };

/// Looks without a record before it asks whether the plant is still there.
const LOOKS_BEFORE_ASKING: u32 = 420;

/// Lines about records that are none, before they are only counted in the status.
const BAD_LINES: u64 = 10;

/// A subscription that is being written out.
pub(super) struct Tap<'a> {
    symbols: &'a [Symbol],
    through_restarts: bool,
    fails_on_loss: bool,
    subscriber: Subscriber,
    deadline: Deadline,
    reading: Reading,
}

/// What is told of each record, and what came of it.
struct Reading {
    printer: Printer,
    /// The exchange's midnight of the run that is being read.
    midnight_ns: Option<u64>,
    /// Records that may still be written.
    left: u64,
    ends_with_stop: bool,
    /// Whether the last that was heard of the plant is that it stopped.
    is_stopped: bool,
    counts: Counts,
    bad_records: u64,
    end: Option<End>,
    error: Option<io::Error>,
}

/// What the last line says.
struct Counts {
    /// The first sequence number that was to be read.
    first: u64,
    /// The last one that was read or lost.
    last: u64,
    written: u64,
    lost: u64,
    gaps: u64,
}

/// Why it is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Stopped,
    Gone(OwnerState),
    Enough,
    Interrupted,
}

impl<'a> Tap<'a> {
    pub(super) fn new(command: &'a TapArguments, joined: Joined, printer: Printer) -> Self {
        let Joined { subscriber, deadline } = joined;
        let first = subscriber.next_sequence();
        let reading = Reading {
            printer,
            midnight_ns: None,
            left: command.count.unwrap_or(u64::MAX),
            ends_with_stop: !command.through_restarts,
            is_stopped: false,
            counts: Counts { first, last: first - 1, written: 0, lost: 0, gaps: 0 },
            bad_records: 0,
            end: None,
            error: None,
        };
        let TapArguments { symbols, through_restarts, fail_on_loss, .. } = command;
        let (through_restarts, fails_on_loss) = (*through_restarts, *fail_on_loss);
        Self { symbols, through_restarts, fails_on_loss, subscriber, deadline, reading }
    }

    /// Reads until it is over, and completes the output, also in front of damage.
    pub(super) fn run(mut self, interrupt: &Interrupt) -> anyhow::Result<Status> {
        let end = self.follow(interrupt);
        let Self { symbols, fails_on_loss, subscriber, reading, .. } = self;
        let Reading { printer, counts, bad_records, .. } = reading;
        if end.as_ref().is_err_and(is_broken_pipe) {
            // Nobody reads on, and nobody is told how much there was.
            return end.map(|_| Status::Good);
        }
        let finished = printer.finish(&subscriber);
        tell(format_args!("{counts}"));
        let end = end?;
        finished?;
        let ring = subscriber.ring().display();
        if let End::Gone(state) = end {
            tell(format_args!("{ring}: {}", state_sentence(state)));
        }
        if matches!(end, End::Stopped | End::Gone(_)) {
            require_symbols(symbols, &subscriber)?;
        }
        let is_loss_bad = fails_on_loss && counts.lost > 0;
        if is_loss_bad {
            tell(format_args!("{ring}: records lost: {} (--fail-on-loss)", counts.lost));
        }
        let is_bad = end == End::Gone(OwnerState::Dead) || bad_records > 0 || is_loss_bad;
        Ok(if is_bad { Status::Bad } else { Status::Good })
    }

    fn follow(&mut self, interrupt: &Interrupt) -> anyhow::Result<End> {
        let mut waiter = Waiter::new(WAIT);
        // What a plant that is gone has left is read before anybody is told that it is gone, once.
        let (mut gone, mut told) = (None, 0);
        while !interrupt.is_asked() {
            if self.poll()? > 0 {
                if let Some(end) = self.reading.end {
                    return Ok(end);
                }
                (gone, _) = (None, waiter.reset());
                continue;
            }
            if waiter.idles() == 0 {
                self.reading.printer.flush()?;
            }
            let epoch = self.subscriber.epoch();
            if let Some(state) = gone.take().filter(|_| told != epoch) {
                if !self.through_restarts {
                    return Ok(End::Gone(state));
                }
                // That it stopped has been said, by itself.
                if !self.reading.is_stopped {
                    let ring = self.subscriber.ring().display();
                    tell(format_args!("{ring}: {}", state_sentence(state)));
                }
                told = epoch;
            }
            if waiter.idles() >= LOOKS_BEFORE_ASKING {
                gone = self.who_is_gone()?;
                waiter.reset();
            }
            waiter.idle();
        }
        Ok(End::Interrupted)
    }

    /// Reads what is there and writes what is wanted of it. Gives how many messages were read or lost.
    fn poll(&mut self) -> anyhow::Result<u64> {
        let Self { subscriber, reading, .. } = self;
        if let Some(board) = subscriber.board() {
            reading.midnight_ns = Some(board.run().midnight_ns);
        }
        let read = subscriber.poll(|event| reading.take(&event));
        if let Some(error) = reading.error.take() {
            return Err(error.into());
        }
        if reading.end.is_none() {
            reading.counts.last = subscriber.next_sequence() - 1;
        }
        // What came before damage is kept, too.
        reading.printer.write(subscriber)?;
        match read {
            // One record is not what it says; those around it are.
            Err(error @ SubscribeError::Record { .. }) => {
                reading.bad_records += 1;
                if reading.bad_records <= BAD_LINES {
                    tell(format_args!("{error}"));
                }
                Ok(1)
            }
            read => read.map_err(|error| of_subscription(&error)),
        }
    }

    /// The state of a plant that will not publish any more; an error if the ring is not what it was.
    fn who_is_gone(&self) -> anyhow::Result<Option<OwnerState>> {
        // Removed or replaced, a ring has no plant that anybody could follow.
        self.subscriber.check().map_err(|error| match error {
            SubscribeError::Region(error) => BadData(of_region(&error).to_string()).into(),
            error => of_subscription(&error),
        })?;
        let state = self.subscriber.writer();
        let counts = &self.reading.counts;
        // The plant that is waited for may be the next one on a ring that is there already.
        let is_to_start = counts.last < counts.first && !self.deadline.is_over();
        Ok((state != OwnerState::Alive && !is_to_start).then_some(state))
    }
}

impl Reading {
    #[inline]
    fn take(&mut self, event: &Event<'_>) {
        if self.end.is_some() || self.error.is_some() {
            return;
        }
        match event {
            Event::Record(delivery) => {
                if let Record::Notice(notice) = delivery.record {
                    self.hear(&notice);
                }
                if let Err(error) = self.printer.print(event, self.midnight_ns) {
                    self.error = Some(error);
                    self.counts.last = delivery.sequence - 1;
                    return;
                }
                self.counts.written += 1;
                self.left -= 1;
                if self.left == 0 {
                    self.end = Some(End::Enough);
                }
                if self.end.is_some() {
                    self.counts.last = delivery.sequence;
                }
            }
            Event::Lost(lapped) => {
                self.counts.lost += lapped.count();
                self.counts.gaps += 1;
                // Perhaps a start was among them: the board tells, if it can.
                self.midnight_ns = None;
                self.error = self.printer.print(event, None).err();
            }
        }
    }

    #[cold]
    fn hear(&mut self, notice: &Notice) {
        match notice {
            Notice::Start(start) => {
                self.midnight_ns = Some(start.midnight_ns);
                self.is_stopped = false;
            }
            Notice::Stop(_) => {
                self.is_stopped = true;
                if self.ends_with_stop {
                    self.end = Some(End::Stopped);
                }
            }
            _ => {}
        }
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { first, last, written, lost, gaps } = self;
        let read = last + 1 - first - lost;
        write!(
            f,
            "{read} messages read, {written} records written, {lost} lost in {gaps} gaps; last \
             sequence number {last}"
        )
    }
}

/// An error if a stock was asked for that no message has named.
fn require_symbols(symbols: &[Symbol], subscriber: &Subscriber) -> anyhow::Result<()> {
    if symbols.is_empty() {
        return Ok(());
    }
    let known = subscriber.symbols();
    let is_missing = |symbol: &&Symbol| !known.iter().any(|(_, name)| name == *symbol);
    let missing: Vec<_> = symbols.iter().filter(is_missing).map(ToString::to_string).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let ring = subscriber.ring().display();
    Err(BadData(format!("{ring}: symbols not found: {}", missing.join(", "))).into())
}
