//! Days, rings and plants for tests: real files, in temporary folders.

use std::{
    fs,
    path::{Path, PathBuf},
};

use nanotape_harness::Scratch;
use nanotape_plant::{Ended, PlantConfig, PlantRun, ShutdownFlag};
use nanotape_synth::{Market, MarketConfig};

/// A folder that is removed after its test.
pub(crate) struct Folder(Scratch);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(Scratch::folder("published"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A synthetic day, as a file whose name states the date.
    pub(crate) fn day(&self, messages: u64, stocks: u16) -> PathBuf {
        let path = self.path("20191230.itch50");
        let config = MarketConfig { messages, symbols: stocks, ..MarketConfig::default() };
        let mut bytes = Vec::new();
        Market::new(config).unwrap().write_to(&mut bytes).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    /// A plant that publishes all records of a day on the ring `ring` of this folder.
    pub(crate) fn config(&self, day: &Path) -> PlantConfig {
        let mut config = PlantConfig::default();
        config.input.file = day.to_owned();
        config.ring.name = self.ring().into();
        config.ring.capacity_bytes = Some(64 << 20);
        config
    }

    /// The names of its files that begin so, sorted.
    pub(crate) fn names(&self, beginning: &str) -> Vec<String> {
        let files = fs::read_dir(self.path("")).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name.starts_with(beginning)).collect();
        names.sort();
        names
    }

    pub(crate) fn ring(&self) -> String {
        self.path("ring").display().to_string()
    }
}

/// Runs a plant to its end.
pub(crate) fn run(config: &PlantConfig) -> Ended {
    let mut run = PlantRun::open(config, ShutdownFlag::new()).unwrap();
    run.run(|_| ()).unwrap()
}
