//! Plants and taps for tests, with rings of their own and processes to interact with.

use std::{
    env, fs,
    io::{BufReader, Read as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use nanotape_harness::line_of;
use nanotape_plant::{Ended, PlantConfig, PlantRun, ShutdownFlag};

use crate::support::{Folder, running::Running};

/// Environment of a child: the day and the ring.
const DAY: &str = "NANOTAPE_TEST_DAY";
const RING: &str = "NANOTAPE_TEST_RING";

/// A day and a ring of one test; removed at the end.
pub(crate) struct Market {
    pub(crate) folder: Folder,
    pub(crate) day: String,
    ring: PathBuf,
}

impl Market {
    /// `name` must be unique to the test.
    pub(crate) fn new(name: &str, messages: u64, stocks: u32) -> Self {
        let folder = Folder::new(&format!("tap-{name}"));
        let made = folder.day(messages, stocks);
        let day = folder.path("20191230.itch50");
        fs::rename(made, &day).unwrap();
        let ring = folder.path("ring").into();
        Self { folder, day, ring }
    }

    pub(crate) fn ring(&self) -> &str {
        self.ring.to_str().unwrap()
    }

    pub(crate) fn board(&self) -> PathBuf {
        nanotape_board::board_path(&self.ring)
    }

    /// A plant of all records, with a ring that holds the whole day.
    pub(crate) fn config(&self) -> PlantConfig {
        config(&self.day, self.ring(), 64 << 20)
    }

    /// A plant with a ring of a few hundred records.
    pub(crate) fn config_of_small_ring(&self) -> PlantConfig {
        config(&self.day, self.ring(), 64 << 10)
    }

    /// Runs a plant to the end.
    pub(crate) fn run(&self) -> Ended {
        run(&self.config())
    }

    /// A plant in its own process, after its start and before it reads.
    pub(crate) fn child(&self) -> Child {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "tap::plants::child", "--nocapture"])
            .env(DAY, &self.day)
            .env(RING, self.ring())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        while !line_of(&mut output, "the start of the plant").unwrap().ends_with("begun\n") {}
        child
    }

    /// A tap of this ring, with its output readable.
    pub(crate) fn tap(&self, options: &[&str]) -> Running {
        Running::start(&[&["tap", self.ring()], options].concat())
    }
}

/// Not a test: the work of a child. It starts, and continues when its standard input ends.
#[test]
fn child() {
    let (Ok(day), Ok(ring)) = (env::var(DAY), env::var(RING)) else { return };
    let mut run = PlantRun::open(&config(&day, &ring, 64 << 20), ShutdownFlag::new()).unwrap();
    println!("begun");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    run.run(|_| ()).unwrap();
}

fn config(day: &str, ring: &str, capacity_bytes: usize) -> PlantConfig {
    let mut config = PlantConfig::default();
    config.input.file = Path::new(day).to_owned();
    config.ring.name = ring.into();
    config.ring.capacity_bytes = Some(capacity_bytes);
    config
}

pub(crate) fn run(config: &PlantConfig) -> Ended {
    begin(config).run(|_| ()).unwrap()
}

/// A plant after its start record.
pub(crate) fn begin(config: &PlantConfig) -> PlantRun {
    PlantRun::open(config, ShutdownFlag::new()).unwrap()
}

/// The numbers of the last line: read, written, lost, gaps, last sequence number.
pub(crate) fn numbers(complained: &str) -> [u64; 5] {
    let is_it = |line: &&str| line.contains(" messages read, ");
    let line = complained.lines().find(is_it).unwrap_or_else(|| panic!("none in {complained}"));
    let words = line.split(|letter: char| !letter.is_ascii_digit());
    let numbers: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
    numbers.try_into().unwrap_or_else(|_| panic!("five numbers: {line}"))
}
