//! The process that keeps the newest state of every stock of a plant: this program again, as
//! `nanotape latest keep`, and its options.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::bail;
use clap::Args;
use nanotape_board::BoardReader;
use nanotape_latest::{LatestError, LatestReader};
use nanotape_plant::{
    Companion, CompanionProcess, PlantConfig, RecordingError, Report, config::LatestConfig,
};
use nanotape_tap::states::{CopyError, StockState, StockWords, read_market, require_stock_map};
use nanotape_tape::Deadline;

use super::recorder::{program, words};
use crate::{
    status::warn,
    values::{count, mode},
    verbosity::is_quiet,
};

/// The options of the map, which override those of the configuration.
#[derive(Args, Debug)]
pub(super) struct LatestOptions {
    /// Keep the newest state of every stock in the map of this name or path
    #[arg(long, value_name = "NAME")]
    latest: Option<PathBuf>,

    /// Stocks that a new map has room for [default: 65536]
    #[arg(help_heading = "Newest states", long, value_name = "N", value_parser = count::<u64>(1..))]
    latest_entries: Option<u64>,

    /// Permissions of a new map: 0600 is this user only, 0644 lets all users read [default: 0600]
    #[arg(help_heading = "Newest states", long, value_name = "OCTAL", value_parser = mode)]
    latest_mode: Option<u32>,

    /// Keep the states on this processor only
    #[arg(help_heading = "Processors and memory", long, value_name = "N")]
    latest_cpu: Option<u32>,
}

impl LatestOptions {
    /// Overrides the configuration with the options that were given.
    pub(super) fn override_latest(&self, config: &mut Option<LatestConfig>) {
        if let Some(name) = &self.latest {
            config.get_or_insert_default().name.clone_from(name);
        }
        if let Some(latest) = config {
            latest.entries = self.latest_entries.unwrap_or(latest.entries);
            latest.mode = self.latest_mode.unwrap_or(latest.mode);
            latest.cpu = self.latest_cpu.or(latest.cpu);
        }
    }

    /// Refuses options of a map that there is none for, a map of other values, and the ring itself.
    pub(super) fn require_map(&self, config: &PlantConfig) -> anyhow::Result<()> {
        let given = [
            ("--latest-entries", self.latest_entries.is_some()),
            ("--latest-mode", self.latest_mode.is_some()),
            ("--latest-cpu", self.latest_cpu.is_some()),
        ];
        let Some(latest) = &config.latest else {
            return match given.iter().find(|(_, is_given)| *is_given) {
                Some((option, _)) => bail!("{option} has no effect without --latest NAME"),
                None => Ok(()),
            };
        };
        if latest.name.as_os_str().is_empty() {
            bail!("no map given: use --latest NAME, or name in [latest]");
        }
        let path = nanotape_shm::named(&latest.name)?;
        if path == nanotape_shm::named(&config.ring.name)? {
            bail!("{}: the map and the ring need different names", path.display());
        }
        // A plant that has begun has no way back.
        match require_stock_map(&path) {
            Ok(()) => Ok(()),
            Err(CopyError::Latest(LatestError::Region(error))) if error.refusal().is_pending() => {
                match path.parent().is_none_or(Path::is_dir) {
                    true => Ok(()),
                    false => bail!("{}: no such folder for the map", path.display()),
                }
            }
            Err(error) => bail!("{}: {error}", path.display()),
        }
    }
}

/// Starts the process, if the plant has a map.
pub(super) fn start(
    config: &PlantConfig,
    report: &Report,
) -> Result<Option<CompanionProcess>, RecordingError> {
    let Some(latest) = &config.latest else { return Ok(None) };
    let mut arguments = words(["latest", "keep", "--for-plant"]);
    let mut option = |name: &str, value: String| arguments.extend(words([name, &value]));
    option("--entries", latest.entries.to_string());
    option("--mode", format!("{:o}", latest.mode));
    if let Some(cpu) = latest.cpu {
        option("--cpu", cpu.to_string());
    }
    if let Some(journal) = &config.journal {
        arguments.extend(["--heal".into(), journal.dir.clone().into()]);
    }
    if is_quiet() {
        arguments.push("--quiet".into());
    }
    // After this, a path that begins with a dash is a path.
    arguments.extend(["--".into(), config.ring.name.clone().into(), latest.name.clone().into()]);
    let companion = Companion { name: "newest states", arguments, matters: true };
    CompanionProcess::start(&program(), &companion, report.clone()).map(Some)
}

/// How long a keeper may be without progress after the end of its plant.
const PATIENCE: Duration = Duration::from_secs(10);

/// Waits until everything is kept, or the keeper makes no progress; returns whether it is.
pub(super) fn is_whole(config: &PlantConfig, process: Option<CompanionProcess>) -> bool {
    let (Some(latest), Some(process)) = (&config.latest, process) else { return true };
    let path = nanotape_shm::named(&latest.name).unwrap_or_default();
    let (mut number, mut since) = (0, Deadline::after(PATIENCE));
    let lacks = process.finish_while(|| {
        let now = market_of(config, &path).map_or(0, |market| market.sequence());
        if now != number {
            (number, since) = (now, Deadline::after(PATIENCE));
        }
        !since.is_over()
    });
    // The last keeper may have been killed when it had written all.
    let lacks = lacks && !has_stop(config, &path);
    if lacks {
        let (ring, map) = (config.ring.name.display(), latest.name.display());
        let heal = match &config.journal {
            Some(journal) => format!(" --heal {}", journal.dir.display()),
            None => String::new(),
        };
        let larger = match is_full(&path) {
            true => format!(" once it is larger (nanotape latest upgrade {map} --entries N)"),
            false => String::new(),
        };
        warn(format_args!(
            "{map}: lacks the last states; nanotape latest keep {ring} {map}{heal} adds them{larger}"
        ));
    }
    !lacks
}

/// Whether the map has the stop of this run, which is its last record.
fn has_stop(config: &PlantConfig, map: &Path) -> bool {
    market_of(config, map).is_some_and(|market| market.is_over() != 0)
}

/// The state of the market of this run in the map.
fn market_of(config: &PlantConfig, map: &Path) -> Option<StockState<StockWords>> {
    let ring = nanotape_shm::named(&config.ring.name).ok()?;
    let board = BoardReader::open(&ring).ok()?;
    let run = board.run();
    let market = read_market(map, run.publisher_id).ok()?;
    (market.started_ns() == run.started_ns).then_some(market)
}

fn is_full(map: &Path) -> bool {
    LatestReader::open(map).is_ok_and(|map| map.len() >= map.spec().entries)
}
