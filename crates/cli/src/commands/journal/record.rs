//! `nanotape journal record`: what a ring publishes, kept under the same sequence numbers.
//!
//! Failure: a ring that is not the one that the journal was recorded from is refused ([`origin`]), and one that
//! is removed, replaced or cut while it is recorded ends the recording.

mod origin;

use std::{path::Path, time::Duration};

use clap::Args;
use nanotape_clock::{Clock, Timeline};
use nanotape_journal::Appender;
use nanotape_ring::{
    AnyReader, Gap, Read, ReadError, Rejoin, RingError, Start, StartError, Subscribe as _,
    WaitStrategy, Waiter,
};
use nanotape_shm::{OwnerState, Refusal, RegionError};

use super::append::is_full;
use crate::{
    deadline::{Deadline, is_not_there},
    interrupt::Interrupt,
    journals::{AppenderArguments, of_journal, tell_recovery},
    output::{Format, OutputArguments},
    record::Record,
    regions::{of_read, of_ring, place, state_sentence},
    status::{BadData, Status, tell},
    values::seconds,
};
use origin::Origin;

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape journal record nasdaq days/nasdaq
  nanotape journal record nasdaq days/nasdaq --roll hour --sync 10ms --through-restarts
  nanotape journal record nasdaq days/nasdaq --wait 60 --fail-on-loss

Every message becomes an excerpt with the same sequence number and type, and the time at which it
was recorded. Recording starts after the last excerpt of the journal. Messages that the ring has
already overwritten are lost: a line on standard error names them, and readers of the journal get
them as a gap. Recording ends when the writer closes the ring or is gone, or with Ctrl-C.

A journal holds the messages of one ring. The file recorded-from in its folder identifies the
ring: writers that take the ring over continue in the same journal; a new ring of the same name
needs a new journal. Recording ends if the ring is removed, replaced or truncated.

Exit status: 0 success; 1 the ring or the journal is damaged, the ring was removed, replaced or
truncated during recording, or messages were lost and --fail-on-loss was given; 2 one of them
cannot be opened, or the journal was recorded from another ring.")]
pub(super) struct RecordCommand {
    /// Name or path of the ring
    #[arg(value_name = "RING")]
    ring: String,

    #[command(flatten)]
    appender: AppenderArguments,

    /// When the writer ends, continue with the next writer that takes the ring over
    #[arg(long)]
    through_restarts: bool,

    /// Wait up to SECONDS for the ring, or for the next writer of an existing ring
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = seconds)]
    wait: Duration,

    /// End with status 1 if a message was lost
    #[arg(long)]
    fail_on_loss: bool,

    #[command(flatten)]
    output: OutputArguments,
}

const WAIT: WaitStrategy = WaitStrategy::Backoff { looks: 500, sleep: Duration::from_millis(1) };

/// Looks without a message before it asks whether the writer is still there.
const LOOKS_BEFORE_ASKING: u32 = 1_020;

/// Messages from one look at the ring's file to the next, while there are messages.
const MESSAGES_A_LOOK: u64 = 1 << 16;

/// How long it waits for room on the disk before it tries again.
const RETRY: Duration = Duration::from_millis(100);

pub(super) fn run(command: &RecordCommand) -> anyhow::Result<Status> {
    let ring = place(&command.ring)?;
    let format = command.output.format_or(Format::Text)?;
    let interrupt = Interrupt::install()?;
    let options = command.appender.options();
    let mut appender = Appender::open(&command.appender.journal, &options).map_err(of_journal)?;
    tell_recovery(&command.appender.journal, appender.recovery());
    let deadline = Deadline::after(command.wait);
    let Some(mut reader) = join(&ring, &deadline, &interrupt)? else {
        tell(format_args!("{}: interrupted before a writer created the ring", ring.display()));
        appender.close().map_err(of_journal)?;
        return Ok(Status::Good);
    };
    begin(&mut reader, &ring, command, appender.next_sequence())?;
    let mut output = command.output.open()?;
    let first = appender.next_sequence();
    let mut recording = Recording {
        ring: &ring,
        reader,
        appender: &mut appender,
        timeline: Timeline::recalibrating(Clock::calibrate()),
        interrupt: &interrupt,
        deadline,
        recorded: 0,
        lost: 0,
    };
    let outcome = recording.run(command.through_restarts);
    let (recorded, lost) = (recording.recorded, recording.lost);
    let next = appender.next_sequence();
    let closed = appender.close().map_err(of_journal);
    let record = Record::default()
        .with("ring", ring.display().to_string())
        .with("journal", command.appender.journal.display().to_string())
        .with("recorded", recorded)
        .with("lost", lost)
        .with("next_sequence", next);
    record.write(&mut output, format, true, || {
        format!("recorded {recorded} messages from {first} on, lost {lost}; next message {next}\n")
    })?;
    output.finish()?;
    outcome.and(closed)?;
    if command.fail_on_loss && lost > 0 {
        tell(format_args!("{}: messages lost: {lost} (--fail-on-loss)", ring.display()));
        return Ok(Status::Bad);
    }
    Ok(Status::Good)
}

/// Opens the ring, as soon as it is there. None if it was interrupted before that.
fn join(
    ring: &Path,
    deadline: &Deadline,
    interrupt: &Interrupt,
) -> anyhow::Result<Option<AnyReader>> {
    while !interrupt.is_asked() {
        match AnyReader::open(ring, Start::Newest) {
            Ok(reader) => return Ok(Some(reader)),
            Err(RingError::Region(error)) if is_not_there(&error) => {
                if deadline.is_over() {
                    let (ring, within) = (ring.display(), deadline.within());
                    anyhow::bail!(
                        "{ring}: no such ring, and no writer created it{within}; start its writer \
                         (nanotape run), or wait for it with --wait SECONDS"
                    );
                }
                deadline.sleep();
            }
            Err(error) => return Err(of_ring(ring, &error)),
        }
    }
    Ok(None)
}

/// Goes to the message after the last excerpt of the journal, if that is of this ring.
fn begin(
    reader: &mut AnyReader,
    ring: &Path,
    command: &RecordCommand,
    next: u64,
) -> anyhow::Result<()> {
    let AppenderArguments { journal, mode, .. } = &command.appender;
    let origin = Origin { journal, mode: *mode, ring, reader };
    origin.check(next)?;
    let mut behind = reader.clone();
    // From message 1 for an empty journal: what the ring has overwritten is lost, and counted.
    behind.seek(Start::Sequence(next)).map_err(|error| match error {
        RingError::Start(StartError::NotYet { next: ring_next, .. }) => {
            origin.refuse(format_args!(
                "its next message is {ring_next}, but the next excerpt of the journal is {next}"
            ))
        }
        error => of_ring(ring, &error),
    })?;
    *reader = behind;
    // What is lost is lost for good here: as little as can be.
    reader.set_rejoin(Rejoin::Oldest);
    Ok(())
}

struct Recording<'a> {
    ring: &'a Path,
    reader: AnyReader,
    appender: &'a mut Appender,
    /// Times of excerpts: they do not go back, and follow the kernel's clock over a long day.
    timeline: Timeline,
    interrupt: &'a Interrupt,
    /// Until when the next writer of a ring is waited for.
    deadline: Deadline,
    recorded: u64,
    lost: u64,
}

/// What became of the file of a ring that is recorded.
struct Loss {
    error: RegionError,
    /// The message after the last one that the ring had when that was noticed.
    end: u64,
}

impl Recording<'_> {
    fn run(&mut self, through_restarts: bool) -> anyhow::Result<()> {
        let mut buffer = vec![0; 64 << 10];
        let mut waiter = Waiter::new(WAIT);
        let mut gone = None;
        let mut loss: Option<Loss> = None;
        while !self.interrupt.is_asked() {
            if let Some(loss) = loss.take_if(|loss| self.reader.next_sequence() >= loss.end) {
                return Err(self.ended_by(&loss));
            }
            match self.reader.try_read(&mut buffer) {
                Ok(Read::Message(received)) => {
                    let payload = &buffer[..received.length as usize];
                    self.appender.skip_to(received.sequence).map_err(of_journal)?;
                    self.append(received.type_id, payload)?;
                    self.recorded += 1;
                    waiter.reset();
                    if self.recorded.is_multiple_of(MESSAGES_A_LOOK) {
                        loss = loss.or(self.look_for_loss());
                    }
                }
                Ok(Read::Lapped(lapped)) => {
                    let Gap { from, to } = lapped;
                    self.lost += to - from + 1;
                    tell(format_args!("{}: {lapped}", self.ring.display()));
                    waiter.reset();
                }
                Ok(Read::Empty) => {
                    if let Some(loss) = loss {
                        return Err(self.ended_by(&loss));
                    }
                    if let Some(state) = gone.take() {
                        tell(format_args!("{}: {}", self.ring.display(), state_sentence(state)));
                        return Ok(());
                    }
                    if waiter.idles() >= LOOKS_BEFORE_ASKING {
                        loss = self.look_for_loss();
                        gone = self.who_is_gone(through_restarts);
                        waiter.reset();
                    }
                    waiter.idle();
                }
                Err(ReadError::BufferTooSmall { needed, .. }) => buffer.resize(needed, 0),
                Err(error) => return Err(of_read(self.ring, &error)),
            }
        }
        Ok(())
    }

    /// The state of a writer after which no other is waited for.
    fn who_is_gone(&self, through_restarts: bool) -> Option<OwnerState> {
        let state = self.reader.region().owner().state;
        // The writer that is waited for may be the next one of a ring that is there already.
        let is_to_start = self.recorded == 0 && !self.deadline.is_over();
        (state != OwnerState::Alive && !through_restarts && !is_to_start).then_some(state)
    }

    /// Whether the ring's file was removed, replaced or cut. What it has until then is recorded.
    #[cold]
    fn look_for_loss(&self) -> Option<Loss> {
        let error = self.reader.region().check().err()?;
        // A file that cannot be asked about is not lost.
        if matches!(error.refusal(), Refusal::System { .. }) {
            return None;
        }
        let mut newest = self.reader.clone();
        let end = newest.seek(Start::Newest).map_or(u64::MAX, |()| newest.next_sequence());
        Some(Loss { error, end })
    }

    fn ended_by(&self, loss: &Loss) -> anyhow::Error {
        let what = match loss.error.refusal() {
            Refusal::Removed => "was removed during recording".to_owned(),
            Refusal::Replaced => "was replaced by another region during recording".to_owned(),
            other => other.to_string(),
        };
        let (ring, last) = (self.ring.display(), self.appender.next_sequence() - 1);
        BadData(format!(
            "{ring}: {what}; the last recorded message is {last}; record the next ring of this name \
             into a new journal"
        ))
        .into()
    }

    /// Appends, and waits for room where there is none: the ring keeps what comes meanwhile, as long as it
    /// can.
    fn append(&mut self, type_id: u16, payload: &[u8]) -> anyhow::Result<()> {
        let mut is_told = false;
        loop {
            let error = match self.appender.append(type_id, self.timeline.now_ns(), payload) {
                Ok(_) if is_told => {
                    tell("space is available again");
                    return Ok(());
                }
                Ok(_) => return Ok(()),
                Err(error) => error,
            };
            if !is_full(&error) || self.interrupt.is_asked() {
                return Err(of_journal(error));
            }
            if !is_told {
                tell(&error);
                is_told = true;
            }
            self.interrupt.sleep(RETRY);
        }
    }
}
