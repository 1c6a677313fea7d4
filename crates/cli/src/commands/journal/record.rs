//! `nanotape journal record`: what a ring publishes, kept under the same sequence numbers.

use std::{path::Path, time::Duration};

use clap::Args;
use nanotape_clock::{Clock, Timeline};
use nanotape_journal::Appender;
use nanotape_ring::{
    AnyReader, Lapped, Read, ReadError, Rejoin, Start, StartError, Subscribe as _, WaitStrategy,
    Waiter,
};
use nanotape_shm::OwnerState;

use super::append::is_full;
use crate::{
    interrupt::Interrupt,
    journals::{AppenderArguments, of_journal, tell_recovery},
    output::{Format, OutputArguments},
    record::Record,
    regions::{of_read, of_ring, place, state_sentence},
    status::{Status, tell},
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape journal record nasdaq days/nasdaq
  nanotape journal record nasdaq days/nasdaq --roll hour --sync 10ms --through-restarts

Every message becomes an excerpt with the same sequence number and type, and the time at which it was
recorded. It goes on behind the last one that the journal has; messages that the ring has overwritten
by then are missing in the journal, and readers of it are told which. It ends when the writer closes the
ring or is gone, or with Ctrl-C.

Exit status: 0; 1 the ring or the journal is damaged; 2 one of them cannot be opened.")]
pub(super) struct RecordCommand {
    /// Name or path of the ring
    #[arg(value_name = "RING")]
    ring: String,

    #[command(flatten)]
    appender: AppenderArguments,

    /// Go on when the writer of the ring ends, with the one that takes the ring over
    #[arg(long)]
    through_restarts: bool,

    #[command(flatten)]
    output: OutputArguments,
}

const WAIT: WaitStrategy = WaitStrategy::Backoff { looks: 500, sleep: Duration::from_millis(1) };

/// Looks without a message before it asks whether the writer is still there.
const LOOKS_BEFORE_ASKING: u32 = 1_020;

/// How long it waits for room on the disk before it tries again.
const RETRY: Duration = Duration::from_millis(100);

pub(super) fn run(command: &RecordCommand) -> anyhow::Result<Status> {
    let ring = place(&command.ring)?;
    let format = command.output.format_or(Format::Text)?;
    let interrupt = Interrupt::install()?;
    let options = command.appender.options();
    let mut appender = Appender::open(&command.appender.journal, &options).map_err(of_journal)?;
    tell_recovery(&command.appender.journal, appender.recovery());
    let mut reader = open(&ring, appender.next_sequence())?;
    // What is lost is lost for good here: as little as can be.
    reader.set_rejoin(Rejoin::Oldest);
    let mut output = command.output.open()?;
    let first = appender.next_sequence();
    let mut recording = Recording {
        ring: &ring,
        reader,
        appender: &mut appender,
        timeline: Timeline::recalibrating(Clock::calibrate()),
        interrupt: &interrupt,
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
        format!(
            "recorded {recorded} messages from {first} on, lost {lost}; {next} would be the next\n"
        )
    })?;
    output.finish()?;
    outcome.and(closed)?;
    Ok(Status::Good)
}

/// The ring, behind what the journal has.
fn open(ring: &Path, next: u64) -> anyhow::Result<AnyReader> {
    let start = if next == 1 { Start::Oldest } else { Start::Sequence(next) };
    AnyReader::open(ring, start).map_err(|error| match error {
        nanotape_ring::RingError::Start(StartError::NotYet { next: ring_next, .. }) => {
            anyhow::anyhow!(
                "{}: the journal goes on with {next} and the ring with {ring_next}: it is not what the \
                 journal was recorded from; give a new journal",
                ring.display()
            )
        }
        error => of_ring(ring, &error),
    })
}

struct Recording<'a> {
    ring: &'a Path,
    reader: AnyReader,
    appender: &'a mut Appender,
    /// Times of excerpts: they do not go back, and follow the kernel's clock over a long day.
    timeline: Timeline,
    interrupt: &'a Interrupt,
    recorded: u64,
    lost: u64,
}

impl Recording<'_> {
    fn run(&mut self, through_restarts: bool) -> anyhow::Result<()> {
        let mut buffer = vec![0; 64 << 10];
        let mut waiter = Waiter::new(WAIT);
        let mut gone = None;
        while !self.interrupt.is_asked() {
            match self.reader.try_read(&mut buffer) {
                Ok(Read::Message(received)) => {
                    let payload = &buffer[..received.length as usize];
                    self.appender.skip_to(received.sequence).map_err(of_journal)?;
                    self.append(received.type_id, payload)?;
                    self.recorded += 1;
                    waiter.reset();
                }
                Ok(Read::Lapped(lapped)) => {
                    let Lapped { from, to } = lapped;
                    self.lost += to - from + 1;
                    tell(format_args!("{}: {lapped}", self.ring.display()));
                    waiter.reset();
                }
                Ok(Read::Empty) => {
                    if let Some(state) = gone.take() {
                        tell(format_args!("{}: {}", self.ring.display(), state_sentence(state)));
                        return Ok(());
                    }
                    if waiter.idles() >= LOOKS_BEFORE_ASKING {
                        let state = self.reader.region().owner().state;
                        gone = (state != OwnerState::Alive && !through_restarts).then_some(state);
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

    /// Appends, and waits for room where there is none: the ring keeps what comes meanwhile, as long as it
    /// can.
    fn append(&mut self, type_id: u16, payload: &[u8]) -> anyhow::Result<()> {
        let mut is_told = false;
        loop {
            let error = match self.appender.append(type_id, self.timeline.now_ns(), payload) {
                Ok(_) if is_told => {
                    tell("there is room again");
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
