//! `nanotape ring publish-aeron`: the messages of a ring on an Aeron stream, for many hosts.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Args;
use nanotape_aeron::{
    AeronAddress, FanOut, FanOutError, FanOutEvent, FanOutOptions, FanOutSummary,
};
use nanotape_answers::Given;
use nanotape_arguments::regions::{of_ring, place, report_state, within};
use nanotape_ring::{RingError, RingSource, Start};
use nanotape_shm::Refusal;
use nanotape_tape::{Deadline, ShutdownFlag, Tape as _, WriterState};

use super::following::FollowArguments;
use crate::{
    aeron::{self, DriverArguments},
    gaps::Gaps,
    interrupt,
    output::{Format, Output, OutputArguments},
    record::Record,
    status::{BadData, Status, note, warn},
    values::seconds,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape ring publish-aeron equities --channel aeron:udp?endpoint=239.1.1.1:4000 --stream 7 \\
      --embedded-driver --through-restarts
  nanotape ring publish-aeron equities --channel aeron:ipc --stream 7      aeronmd runs
  nanotape tap 'aeron:udp?endpoint=239.1.1.1:4000|stream=7' --embedded-driver
  nanotape tap 'aeron:ipc?stream=7' --heal days/equities

RING is published on an Aeron stream, as many messages in a packet as fit, each with its number on
the ring. Any number of hosts read the stream with nanotape tap, as they would read the ring. The
format is docs/formats/aeron.md; docs/aeron.md says when to use Aeron, and when a journal that is
replicated.

The writer of RING never waits. If flow control holds a packet back, or no subscriber is connected,
the publisher offers it again; what RING overwrites meanwhile is a gap, which every subscriber reports
as a row (lost), or reads from a journal with --heal. A publisher that is started again begins with the
oldest message of RING: subscribers skip what they have.

The publisher ends when the writer of RING ends, or with Ctrl-C or SIGTERM. Only the first one ends
its subscribers too. With --through-restarts it waits for the next writer, and for the next ring if
RING is removed or replaced.

Without --embedded-driver, a media driver of Aeron must run on this host. aeron:ipc needs one driver
for both sides. The stream is neither encrypted nor authenticated: use it in a network of your own.

Exit status: 0 success; 1 RING is damaged, removed or replaced, the media driver is lost, or messages
were lost and --fail-on-loss was given; 2 RING, the media driver or the channel cannot be opened, or
this nanotape was built without the feature aeron.")]
pub(super) struct PublishAeronCommand {
    /// Name or path of the ring to publish
    #[arg(value_name = "RING")]
    ring: Given,

    /// Channel, as Aeron has it: aeron:udp?endpoint=HOST:PORT or aeron:ipc, with parameters
    #[arg(help_heading = "Aeron", long, value_name = "URI")]
    channel: String,

    /// Number of the stream in the channel
    #[arg(help_heading = "Aeron", long, value_name = "N", allow_negative_numbers = true)]
    stream: i32,

    #[command(flatten)]
    driver: DriverArguments,

    /// Where to begin: oldest, newest, or a sequence number
    #[arg(long, value_name = "START", default_value = "oldest")]
    from: Start,

    #[command(flatten)]
    follow: FollowArguments,

    /// Wait up to SECONDS for RING
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = seconds)]
    wait: Duration,

    /// After the end of the writer, send what is left, and again what the network lost, for SECONDS
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = seconds)]
    linger: Duration,

    /// End with status 1 if a message was not sent
    #[arg(long)]
    fail_on_loss: bool,

    #[command(flatten)]
    output: OutputArguments,
}

pub(super) fn run(command: &PublishAeronCommand) -> anyhow::Result<Status> {
    let shutdown = interrupt::install()?;
    let path = place(&command.ring)?;
    let address = AeronAddress::new(&command.channel, command.stream)
        .map_err(|error| anyhow::anyhow!("--channel {}: {error}", command.channel))?;
    let format = command.output.format_or(Format::Text)?;
    let mut output = command.output.open()?;
    let (mut outlet, driver) = aeron::publication(&command.driver, &address)?;
    let mut wait = command.wait;
    let mut total = FanOutSummary::default();
    let outcome = loop {
        let deadline = Deadline::after(wait);
        let open = || RingSource::open(&path, command.from);
        let opened = deadline.open(&shutdown, RingError::is_pending, open);
        let Some(source) = opened.map_err(|error| not_there(&path, &error, wait))? else {
            note(format_args!("{}: interrupted before it was created", path.display()));
            break Ok(());
        };
        let options = command.options(&source, &shutdown);
        let next = source.next_sequence();
        write_begin((&path, &address, &driver), next, format, &mut output)?;
        let mut fan_out = FanOut::new(source, outlet, options);
        let mut reports = Reports { path: &path, gaps: Gaps::in_all("each subscriber"), long: 0 };
        let ended = fan_out.run(|event| reports.take(event));
        add(&mut total, &fan_out.summary());
        match ended {
            Err(FanOutError::Source(error))
                if command.follow.through_restarts && is_lost(&error) =>
            {
                warn(format_args!("{error}; waiting for the next ring"));
                // It is a ring of its own, with numbers from 1 on.
                (outlet, wait) = (fan_out.into_outlet(), Duration::MAX);
            }
            Err(FanOutError::Source(error)) => break Err(of_ring(&path, &error)),
            Err(FanOutError::Outlet(error)) => {
                break Err(BadData(format!("{address}: {error}")).into());
            }
            Ok(()) => break Ok(()),
        }
    };
    write_summary(&total, &path, &address, format, &mut output)?;
    output.finish()?;
    outcome?;
    let missing = total.lost + total.unsent;
    if command.fail_on_loss && missing > 0 {
        warn(format_args!("{}: messages not sent: {missing} (--fail-on-loss)", path.display()));
        return Ok(Status::Bad);
    }
    Ok(Status::Good)
}

impl PublishAeronCommand {
    fn options(&self, source: &RingSource, shutdown: &ShutdownFlag) -> FanOutOptions {
        FanOutOptions {
            created_ns: nanotape_ring::Subscribe::region(source.reader()).created_ns(),
            through_restarts: self.follow.through_restarts,
            linger: self.linger,
            strategy: self.follow.strategy(),
            shutdown: shutdown.clone(),
        }
    }
}

/// The lines about events.
struct Reports<'a> {
    path: &'a Path,
    gaps: Gaps,
    /// Messages that were too long.
    long: u64,
}

impl Reports<'_> {
    fn take(&mut self, event: FanOutEvent) {
        let ring = self.path.display();
        match event {
            FanOutEvent::Lost(gap) => {
                if let Some(line) = self.gaps.line(&gap) {
                    warn(format_args!("{ring}: {line}"));
                }
            }
            FanOutEvent::TooLong { sequence, length, most } => {
                self.long += 1;
                if self.long == 1 {
                    warn(format_args!(
                        "{ring}: message {sequence} of {length} bytes is left out: the channel has \
                         room for {most}; use a larger term-length; further ones are not reported"
                    ));
                }
            }
            FanOutEvent::NoSubscriber => note(format_args!("{ring}: no subscriber is connected")),
            FanOutEvent::Subscribed => note(format_args!("{ring}: a subscriber is connected")),
            FanOutEvent::WriterGone(WriterState::Alive) => warn(format_args!(
                "{ring}: another writer took it over; use --through-restarts to publish it too"
            )),
            FanOutEvent::WriterGone(state) => report_state(self.path, state),
            _ => {}
        }
    }
}

/// Whether the ring of this name might come again.
fn is_lost(error: &RingError) -> bool {
    let RingError::Region(error) = error else { return false };
    matches!(error.refusal(), Refusal::Removed | Refusal::Replaced)
}

fn not_there(path: &Path, error: &RingError, wait: Duration) -> anyhow::Error {
    match error.is_pending() && !wait.is_zero() {
        true => anyhow::anyhow!("{error}; it was not created{}", within(wait)),
        false => of_ring(path, error),
    }
}

fn add(total: &mut FanOutSummary, of_ring: &FanOutSummary) {
    total.next_sequence = of_ring.next_sequence;
    total.published += of_ring.published;
    total.lost += of_ring.lost;
    total.unsent += of_ring.unsent;
    total.batches += of_ring.batches;
    total.held_back += of_ring.held_back;
}

fn write_begin(
    (ring, address, driver): (&Path, &AeronAddress, &PathBuf),
    next: u64,
    format: Format,
    output: &mut Output,
) -> anyhow::Result<()> {
    if format == Format::Csv {
        return Ok(());
    }
    let record = Record::default()
        .with("ring", ring.display().to_string())
        .with("channel", address.channel())
        .with("stream", address.stream())
        .with("aeron_dir", driver.display().to_string())
        .with("next_sequence", next);
    record.write(output, format, true, || {
        let (ring, driver) = (ring.display(), driver.display());
        format!("{ring}: published on {address}; next message {next}; media driver {driver}\n")
    })?;
    Ok(())
}

fn write_summary(
    summary: &FanOutSummary,
    ring: &Path,
    address: &AeronAddress,
    format: Format,
    output: &mut Output,
) -> anyhow::Result<()> {
    let FanOutSummary { next_sequence, published, lost, unsent, batches, held_back, .. } = *summary;
    let record = Record::default()
        .with("ring", ring.display().to_string())
        .with("channel", address.channel())
        .with("stream", address.stream())
        .with("published", published)
        .with("lost", lost)
        .with("unsent", unsent)
        .with("batches", batches)
        .with("held_back", held_back)
        .with("next_sequence", next_sequence);
    record.write(output, format, true, || {
        format!(
            "published {published} messages in {batches} packets, lost {lost}, unsent {unsent}; \
             held back {held_back} times; next message {next_sequence}\n"
        )
    })?;
    Ok(())
}
