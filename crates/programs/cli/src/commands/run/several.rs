//! Several plants of one process: each has a configuration, lines, a ring and a thread of its own.
//!
//! Failure: a plant that cannot start ends the others, so that a wrong configuration is noticed.
//! One whose session was kept to its end has nothing to do: the others may go on after a crash.
//! After that, one that fails is reported, and the others go on. The exit status is the highest one
//! of all plants.

use std::{
    path::{Component, Path, PathBuf},
    sync::Arc,
    thread::{self, ScopedJoinHandle},
    time::Duration,
};

use nanotape_feed::SourceError;
use nanotape_plant::{PlantConfig, RunError, ShutdownFlag};

use super::{plant::Plant, results::Results, systemd::Service};
use crate::status::{Status, labelled, report_error, warn};

/// Time between two checks for a signal and for plants that have ended.
const CHECK: Duration = Duration::from_millis(20);

/// What a plant has in common with one of the others, although each needs its own, and which one.
pub(super) fn conflict(
    others: &[PlantConfig],
    config: &PlantConfig,
) -> Option<(usize, &'static str)> {
    let ours = places(config);
    others.iter().enumerate().find_map(|(place, other)| {
        let theirs = places(other);
        let is_theirs = |path: &PathBuf| theirs.iter().any(|(_, other)| other == path);
        let (what, _) = ours.iter().find(|(_, path)| is_theirs(path))?;
        Some((place, *what))
    })
}

/// What belongs to a plant alone, and where it is.
fn places(config: &PlantConfig) -> Vec<(&'static str, PathBuf)> {
    let ring = nanotape_shm::named(&config.ring.name).unwrap_or_else(|_| config.ring.name.clone());
    let journal = config.journal.as_ref().map(|journal| journal.dir.clone());
    let kept = config.input.live.as_ref().and_then(|live| live.keep.clone());
    let latest = config.latest.as_ref();
    let map = latest.map(|map| nanotape_shm::named(&map.name).unwrap_or_else(|_| map.name.clone()));
    let all = [
        ("its ring", Some(ring)),
        ("its journal", journal),
        ("the folder of its packets", kept),
        ("its map of newest states", map),
    ];
    all.into_iter().filter_map(|(what, path)| Some((what, spelled_once(&path?)))).collect()
}

/// A path without links and `..`, whether or not its last parts exist.
fn spelled_once(path: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for part in std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).components() {
        match part {
            Component::ParentDir => drop(whole.pop()),
            part => whole.push(part),
        }
        whole = whole.canonicalize().unwrap_or(whole);
    }
    whole
}

/// Runs the plants until all have ended.
pub(super) fn run(configs: &[PlantConfig], results: &Results, interrupt: &ShutdownFlag) -> Status {
    let names: Vec<String> =
        configs.iter().map(|config| config.display_name().into_owned()).collect();
    let service = Service::of(names.iter().map(String::as_str));
    // A plant whose recorder fails for good ends itself, and not the others.
    let stops: Vec<ShutdownFlag> = configs.iter().map(|_| ShutdownFlag::new()).collect();
    let run_one = |place: usize| {
        let label = Some(Arc::from(names[place].as_str()));
        let plant = Plant::new(&configs[place], (&service, place), results, label.clone());
        labelled(label.as_ref(), || match plant.run(stops[place].clone()) {
            Ok(status) => {
                service.ended(place, "ended");
                status
            }
            // What is kept is whole, and the others may have to go on after a crash.
            Err(error) if error.downcast_ref().is_some_and(RunError::is_kept_to_its_end) => {
                warn(&error);
                service.absent(place);
                Status::Good
            }
            Err(error) => {
                report_error(&error);
                if let Err(unwritten) =
                    results.failed(&configs[place].ring.name, &error, Some(&names[place]))
                {
                    warn(unwritten);
                }
                if !service.is_ready() {
                    stops.iter().for_each(ShutdownFlag::request);
                }
                service.ended(place, "failed");
                Status::of_error(&error, SourceError::is_bad_data)
            }
        })
    };
    let run_one = &run_one;
    thread::scope(|scope| {
        let threads: Vec<_> =
            (0..configs.len()).map(|place| scope.spawn(move || run_one(place))).collect();
        while !threads.iter().all(ScopedJoinHandle::is_finished) {
            if interrupt.is_requested() {
                stops.iter().for_each(ShutdownFlag::request);
            }
            thread::sleep(CHECK);
        }
        let status = |thread: ScopedJoinHandle<'_, Status>| match thread.join() {
            Ok(status) => status,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        threads.into_iter().map(status).max().unwrap_or(Status::Good)
    })
}
