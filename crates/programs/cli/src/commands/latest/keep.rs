//! `nanotape latest keep`: keeps the newest state of every stock of a plant.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Args;
use nanotape_answers::Given;
use nanotape_arguments::errors::of_journal;
use nanotape_arguments::regions::{complain, of_region, place, report_state, within};
use nanotape_journal::{ErrorKind, JournalError};
use nanotape_latest::LatestError;
use nanotape_shm::Refusal;
use nanotape_tap::{
    LatestKeeper, LatestKeeperError, LatestKeeperEvent, LatestKeeperOptions, SubscribeError,
    states::{CopyError, STOCKS, doubt},
};
use nanotape_tape::{Deadline, ShutdownFlag, WriterState};

use super::of_latest;
use crate::{
    gaps::Gaps,
    interrupt,
    memory::MemoryArguments,
    output::{Format, OutputArguments},
    record::Record,
    status::{BadData, Status, note, warn},
    values::{count, seconds},
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape latest keep equities quotes
  nanotape latest keep equities quotes --heal days/equities --through-restarts --wait 60
  nanotape latest get quotes AAPL

Keeps of every stock: the inside with sizes, the last trade, volume, VWAP, open, high and low, the trading
state, whether this can be relied on, and the number of the last record that is included. It begins with
the run of the plant, or where a keeper before it was killed, and counts no record twice. Records that
the ring has overwritten come from the journal, with --heal; without it they are lost: a line on
standard error names them, and each state has a doubt until the next run. A new run begins with no stocks.\nThe plant must publish bbo, trades and status. The map is the keeper's: what other tools change in it is\nnot repaired.

`nanotape run --latest NAME` starts a keeper together with a plant. Keeping ends when the plant closes
the ring or is gone, or with Ctrl-C; the map stays.

Exit status: 0 success; 1 the ring, the journal or the map is damaged or was removed, or records were
lost and --fail-on-loss was given; 2 one of them cannot be opened, or another keeper has the map and\ndoes not end within 10 seconds.")]
pub(super) struct KeepCommand {
    /// Name or path of the ring
    #[arg(value_name = "RING")]
    ring: Given,

    /// Name or path of the map
    #[arg(value_name = "NAME")]
    map: Given,

    /// Read what was overwritten from the journal in this folder, which records the ring
    #[arg(long, value_name = "JOURNAL")]
    heal: Option<PathBuf>,

    /// Wait up to SECONDS for a recorder that is behind or was killed
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds,
          requires = "heal")]
    heal_wait: Duration,

    /// Stocks that a new map has room for
    #[arg(long, value_name = "N", default_value_t = STOCKS, value_parser = count::<u64>(1..))]
    entries: u64,

    #[command(flatten)]
    memory: MemoryArguments,

    /// When the plant ends, go on with the next plant on the ring
    #[arg(long)]
    through_restarts: bool,

    /// Name under which a plant with --wait-for waits for this keeper: 1 to 100 letters, digits,
    /// dots, dashes or underscores
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Wait up to SECONDS for the plant
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = seconds)]
    wait: Duration,

    /// Keep on this processor only
    #[arg(long, value_name = "N")]
    cpu: Option<u32>,

    /// End with status 1 if a record was lost
    #[arg(long)]
    fail_on_loss: bool,

    /// The keeper of a plant: ends with it, not with a signal
    #[arg(long, hide = true, conflicts_with_all = ["through_restarts", "wait", "fail_on_loss", "name"])]
    for_plant: bool,

    #[command(flatten)]
    output: OutputArguments,
}

pub(super) fn run(command: &KeepCommand) -> anyhow::Result<Status> {
    let shutdown = match command.for_plant {
        true => ShutdownFlag::new(),
        false => interrupt::install()?,
    };
    let (ring, map) = (place(&command.ring)?, place(&command.map)?);
    let interrupted = || {
        note(format_args!("{}: interrupted before it began", ring.display()));
        Status::Good
    };
    if let Some(journal) = command.heal.as_deref().filter(|_| !command.for_plant) {
        let is_pending = |error: &JournalError| *error.kind() == ErrorKind::NotFound;
        let found = Deadline::after(command.wait)
            .open(&shutdown, is_pending, || nanotape_journal::stat(journal).map(drop));
        if found.map_err(of_journal)?.is_none() {
            return Ok(interrupted());
        }
    }
    let format = command.output.format_or(Format::Text)?;
    let mut output = command.output.open()?;
    let options = LatestKeeperOptions {
        entries: command.entries,
        region: command.memory.options(),
        journal: command.heal.clone().map(|journal| (journal, command.heal_wait)),
        wait: command.wait,
        through_restarts: command.through_restarts,
        name: command.name.clone(),
        shutdown,
        ..LatestKeeperOptions::default()
    };
    if let Some(Err(refusal)) = command.cpu.map(nanotape_host::pin_to) {
        warn(refusal);
    }
    let mut keeper = match LatestKeeper::open(&ring, &map, &options) {
        Err(LatestKeeperError::Subscribe(error)) if matches!(*error, SubscribeError::Shutdown) => {
            return Ok(interrupted());
        }
        opened => opened.map_err(|error| of_keeper(error, &ring, command.wait))?,
    };
    complain(&map, &keeper.residency());
    let mut gaps = Gaps::reported();
    let outcome = keeper.run(|event| match event {
        LatestKeeperEvent::Lost(gap) => {
            if let Some(line) = gaps.line(&gap) {
                warn(format_args!("{}: {line}", ring.display()));
            }
        }
        // The plant reports its own end.
        LatestKeeperEvent::WriterGone(_) if command.for_plant => {}
        LatestKeeperEvent::WriterGone(WriterState::Alive) => warn(format_args!(
            "{}: another plant took the ring over; use --through-restarts to go on with it",
            ring.display()
        )),
        LatestKeeperEvent::WriterGone(state) => report_state(&ring, state),
        _ => {}
    });
    let summary = keeper.summary();
    outcome.and(keeper.close()).map_err(|error| of_keeper(error, &ring, command.wait))?;
    let record = Record::default()
        .with("ring", ring.display().to_string())
        .with("map", map.display().to_string())
        .with("stocks", summary.stocks)
        .with("next_sequence", summary.next_sequence)
        .with("lost", summary.lost)
        .with("doubts", doubt::text(summary.doubts));
    record.write(&mut output, format, true, || {
        let doubts = match summary.doubts {
            0 => String::new(),
            doubts => format!("; in doubt: {}", doubt::text(doubts)),
        };
        format!(
            "kept {} stocks, lost {} records; next record {}{doubts}\n",
            summary.stocks, summary.lost, summary.next_sequence
        )
    })?;
    output.finish()?;
    if command.fail_on_loss && summary.lost > 0 {
        let lost = summary.lost;
        warn(format_args!("{}: records lost: {lost} (--fail-on-loss)", ring.display()));
        return Ok(Status::Bad);
    }
    Ok(Status::Good)
}

/// Damage and a lost ring are bad data; other errors belong to the environment.
fn of_keeper(error: LatestKeeperError, ring: &Path, wait: Duration) -> anyhow::Error {
    match error {
        LatestKeeperError::Latest { error, .. } if is_lost(&error) => {
            BadData(error.to_string()).into()
        }
        LatestKeeperError::Latest { map, error } => of_latest(&map, *error),
        LatestKeeperError::Copy { map, error } => match *error {
            CopyError::Latest(error) => of_latest(&map, error),
            error => anyhow::anyhow!("{}: {error}", map.display()),
        },
        LatestKeeperError::Subscribe(error) => match *error {
            SubscribeError::Region(error) if is_gone(error.refusal()) => {
                BadData(error.to_string()).into()
            }
            SubscribeError::Region(error) if *error.refusal() != Refusal::NotFound => {
                of_region(&error)
            }
            // It is the board that is missing.
            SubscribeError::Region(_) if is_other_region(ring) => {
                anyhow::anyhow!("{}: is no ring of a plant (nanotape ring list)", ring.display())
            }
            SubscribeError::Region(_) => {
                anyhow::anyhow!(
                    "{}: no plant runs on this ring{}; start it (nanotape run), or wait for it with \
                     --wait SECONDS",
                    ring.display(),
                    within(wait)
                )
            }
            error if error.is_bad_data() => BadData(error.to_string()).into(),
            error => anyhow::anyhow!("{error}"),
        },
        error @ (LatestKeeperError::Taken { .. } | LatestKeeperError::Damaged { .. }) => {
            BadData(error.to_string()).into()
        }
        error => anyhow::anyhow!("{error}"),
    }
}

/// Whether the map that is kept is another one, or none.
fn is_lost(error: &LatestError) -> bool {
    matches!(error, LatestError::Region(error) if is_gone(error.refusal()))
}

fn is_gone(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::Removed | Refusal::Replaced)
}

fn is_other_region(ring: &Path) -> bool {
    let header = nanotape_shm::inspect(ring).ok().and_then(|info| info.header);
    header.is_some_and(|header| header.spec.kind != nanotape_ring::stream::KIND)
}
