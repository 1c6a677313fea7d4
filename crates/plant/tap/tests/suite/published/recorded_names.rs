//! The file of runs beside a journal names every stock, whenever the recorder joined.

use std::path::{Path, PathBuf};

use nanotape_history::{Run, Runs};
use nanotape_journal::{Appender, AppenderOptions};
use nanotape_plant::{
    PlantConfig, PlantRun, ShutdownFlag,
    records::{PlantStart, RecordKind, RecordKinds},
};
use nanotape_tap::{Recorder, RecorderOptions};
use nanotape_types::{StockLocate, Symbol};

use crate::published::support::Folder;

/// Records a ring whose plants have ended.
fn record(ring: &Path, journal: &Path) {
    let options = AppenderOptions { segment_bytes: 1 << 20, ..AppenderOptions::default() };
    let appender = Appender::open(journal, &options).unwrap();
    let options = RecorderOptions { mode: 0o600, ..RecorderOptions::default() };
    let mut recorder = Recorder::open(ring, appender, &options).unwrap().unwrap();
    recorder.run(|_| ()).unwrap();
    recorder.close().unwrap();
}

/// A plant that publishes no definitions, so that only the board has names.
fn config(folder: &Folder, messages: u64, capacity_bytes: usize) -> PlantConfig {
    let mut config = folder.config(&folder.day(messages, 30));
    config.ring.capacity_bytes = Some(capacity_bytes);
    config.publish.records = RecordKinds::NONE.with(RecordKind::Mbo);
    config
}

/// A plant that has ended: what the file of runs must say of it.
struct Ran {
    first_sequence: u64,
    start: PlantStart,
    names: Vec<(StockLocate, Symbol)>,
}

impl Ran {
    fn of(config: &PlantConfig) -> Self {
        let mut plant = PlantRun::open(config, ShutdownFlag::new()).unwrap();
        plant.run(|_| ()).unwrap();
        Self {
            first_sequence: plant.first_sequence(),
            start: *plant.start(),
            names: plant.engine().directory().iter().collect(),
        }
    }

    fn check(&self, run: &Run) {
        assert_eq!(run.first_sequence, self.first_sequence);
        assert_eq!((run.started_ns, run.date), (self.start.started_ns, 20_191_230));
        assert_eq!((run.midnight_ns, run.kinds), (self.start.midnight_ns, self.start.kinds));
        assert!(run.names.len() > 20, "{}", run.names.len());
        for pair in &run.names {
            assert!(self.names.contains(pair), "{pair:?}");
        }
    }
}

#[test]
fn every_run_and_name_is_stored_while_it_is_recorded() {
    let folder = Folder::new();
    let (ring, journal): (PathBuf, _) = (folder.ring().into(), folder.path("journal"));
    let config = config(&folder, 20_000, 16 << 20);
    let first = Ran::of(&config);
    record(&ring, &journal);
    first.check(Runs::read(&journal).unwrap().iter().next().unwrap());
    let second = Ran::of(&config);
    record(&ring, &journal);
    let runs = Runs::read(&journal).unwrap();
    assert_eq!(runs.len(), 2);
    second.check(runs.iter().last().unwrap());
    let starts: Vec<_> = runs.iter().map(|run| run.first_sequence).collect();
    assert_eq!(runs.of_sequence(starts[1] - 1).unwrap().first_sequence, starts[0]);
}

#[test]
fn a_recorder_that_joins_in_mid_run_stores_the_run_of_the_board() {
    let folder = Folder::new();
    let (ring, journal): (PathBuf, _) = (folder.ring().into(), folder.path("journal"));
    // The ring has lost the start of the run.
    let plant = Ran::of(&config(&folder, 20_000, 64 << 10));
    record(&ring, &journal);
    let runs = Runs::read(&journal).unwrap();
    assert_eq!(runs.len(), 1);
    plant.check(runs.iter().next().unwrap());
}
