//! `nanotape ring publish`: publishes lines of text as messages, to try out a ring.

use std::{
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use anyhow::Context as _;
use clap::Args;
use nanotape_answers::Given;
use nanotape_arguments::regions::{came, complain, of_ring, place, state_name};
use nanotape_clock::Clock;
use nanotape_ring::{Publish, PublishError, slots, stream};
use nanotape_shm::Origin;
use nanotape_tape::ShutdownFlag;

use crate::{
    framing::Framing,
    interrupt,
    lines::{Line, Lines},
    memory::MemoryArguments,
    output::{Format, OutputArguments},
    record::Record,
    status::{BadData, Status},
    values::{bytes, duration},
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  seq 1000 | nanotape ring publish quotes
  nanotape ring publish quotes trades.txt --rate 5000 --mode 0644
  ping localhost | nanotape ring publish pings --slots 1024 --max-length 128
  yes | nanotape ring publish load --capacity 1MiB --every 10us

Each line, without its line ending, is a message. The ring is created, or taken over if its last
writer is gone: then sequence numbers continue, and readers keep their positions. The ring stays
when this command ends. While there is no line, the command stores a heartbeat ten times a second.

Exit status: 0 success; 1 a line is too long for the ring; 2 the ring cannot be created, or the
file cannot be read.")]
pub(super) struct PublishCommand {
    /// Name or path of the ring
    #[arg(value_name = "NAME")]
    name: Given,

    /// Lines to publish; - is standard input
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,

    /// Bytes of a stream ring, a power of two
    #[arg(long, value_name = "BYTES", default_value = "8MiB", value_parser = bytes)]
    capacity: usize,

    /// Create a slot ring with N slots, a power of two
    #[arg(long, value_name = "N", conflicts_with = "capacity")]
    slots: Option<usize>,

    /// Longest message of a slot ring
    #[arg(long, value_name = "BYTES", default_value = "112", requires = "slots", value_parser = bytes)]
    max_length: usize,

    #[command(flatten)]
    memory: MemoryArguments,

    /// Replace an existing ring with an empty one, unless its writer is alive
    #[arg(long)]
    replace: bool,

    /// Type number of the messages
    #[arg(long = "type", value_name = "N", default_value_t = 1)]
    type_id: u16,

    /// Wait for DURATION between messages
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    every: Option<Duration>,

    /// Publish N messages a second
    #[arg(long, value_name = "N", conflicts_with = "every", value_parser = crate::values::count::<u32>(1..))]
    rate: Option<u32>,

    #[command(flatten)]
    output: OutputArguments,
}

/// Longest wait for a line before the next heartbeat.
const HEARTBEAT: Duration = Duration::from_millis(100);

pub(super) fn run(command: &PublishCommand) -> anyhow::Result<Status> {
    let path = place(&command.name)?;
    let format = command.output.format_or(Format::Text)?;
    let interrupt = interrupt::install()?;
    let lines = Lines::read(&command.file, Framing::Lines)?;
    let options = command.memory.options();
    let publishing = Publishing { command, path: &path, format, interrupt };
    let failed = |error| of_ring(&path, &error);
    match command.slots {
        None => {
            let make =
                if command.replace { stream::Writer::replace } else { stream::Writer::create };
            let (writer, origin) = make(&path, command.capacity, &options).map_err(failed)?;
            publishing.publish(lines, writer, origin)
        }
        Some(slots) => {
            let make = if command.replace { slots::Writer::replace } else { slots::Writer::create };
            let (writer, origin) =
                make(&path, slots, command.max_length, &options).map_err(failed)?;
            publishing.publish(lines, writer, origin)
        }
    }
}

struct Publishing<'a> {
    command: &'a PublishCommand,
    path: &'a Path,
    format: Format,
    interrupt: ShutdownFlag,
}

impl Publishing<'_> {
    fn publish(
        &self,
        mut lines: Lines,
        mut writer: impl Publish,
        origin: Origin,
    ) -> anyhow::Result<Status> {
        let mut output = self.command.output.open()?;
        let first = writer.next_sequence();
        self.made(&writer, origin).write(&mut output, self.format, true, || {
            format!("{}: {}; next message {first}\n", self.path.display(), came(origin))
        })?;
        complain(self.path, &writer.region().residency());
        let outcome = self.publish_all(&mut lines, &mut writer);
        let published = writer.next_sequence() - first;
        if self.format != Format::Csv {
            let record = Record::default()
                .with("published", published)
                .with("next_sequence", writer.next_sequence());
            record.write(&mut output, self.format, true, || match published {
                0 => "published nothing\n".to_owned(),
                _ => format!(
                    "published {published} messages, {first} to {}\n",
                    writer.next_sequence() - 1
                ),
            })?;
        }
        output.finish()?;
        outcome?;
        Ok(Status::Good)
    }

    fn publish_all(&self, lines: &mut Lines, writer: &mut impl Publish) -> anyhow::Result<()> {
        let clock = Clock::monotonic();
        let began = clock.stamp();
        let gap = match (self.command.every, self.command.rate) {
            (Some(every), _) => every,
            (None, Some(rate)) => Duration::from_secs(1) / rate,
            (None, None) => Duration::ZERO,
        };
        let mut due = Duration::ZERO;
        writer.heartbeat(clock.utc_ns());
        while !self.interrupt.is_requested() {
            let line = match lines.next(HEARTBEAT) {
                Line::Some(line) => {
                    line.with_context(|| format!("cannot read {}", lines.name()))?
                }
                Line::NotYet => {
                    writer.heartbeat(clock.utc_ns());
                    continue;
                }
                Line::End => break,
            };
            // Message times have a fixed gap: a late message does not delay the following ones.
            loop {
                let elapsed = Duration::from_nanos(clock.nanos_between(began, clock.stamp()));
                let Some(early) = due.checked_sub(elapsed).filter(|early| !early.is_zero()) else {
                    break;
                };
                if self.interrupt.is_requested() {
                    return Ok(());
                }
                thread::sleep(early.min(HEARTBEAT));
                writer.heartbeat(clock.utc_ns());
            }
            due += gap;
            writer.set_time(clock.utc_ns());
            writer.publish(self.command.type_id, &line).map_err(|error| {
                let place = format!("{}, line {}", lines.name(), lines.number());
                let advice = match (error, self.command.slots) {
                    (PublishError::TooLong { length, .. }, Some(_)) => {
                        format!("; create slots with --max-length {length} --replace")
                    }
                    _ => "; use a larger --capacity with --replace for longer lines".to_owned(),
                };
                BadData(format!("{place}: {error}{advice}"))
            })?;
        }
        Ok(())
    }

    fn made(&self, writer: &impl Publish, origin: Origin) -> Record {
        let previous = match origin {
            Origin::Created => None,
            Origin::TakenOver { previous } => Some(previous),
        };
        Record::default()
            .with("path", self.path.display().to_string())
            .with("origin", if previous.is_some() { "taken over" } else { "created" })
            .with("previous_writer_state", previous.map(|owner| state_name(owner.state)))
            .with("previous_writer_pid", previous.map(|owner| owner.pid))
            .with("writer_epoch", writer.region().epoch())
            .with("next_sequence", writer.next_sequence())
            .with("max_length_bytes", writer.max_length())
    }
}
