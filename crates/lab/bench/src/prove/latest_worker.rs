//! The workers of `nanotape latest prove`.
//!
//! Protocol: every value has a word for each writer. A writer adds one to its word of a random key,
//! so the words of an entry add up to its version, less the one of the insertion. Before and after
//! each addition it writes to a file how many it has begun and done: a killed writer is known to
//! one addition. All workers end when their parent requests it.

use std::{
    fs::File,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use anyhow::Context as _;
use nanotape_lab::Rng;
use nanotape_latest::{LatestError, LatestReader, LatestSpec, LatestWriter};
use nanotape_shm::RegionOptions;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::listen;
use crate::{engine::report_ready, error::failed};

/// Keys that come and go, beyond those that stay.
pub(super) const PASSING: u64 = 8;

/// Patience of a writer: longer than another one is frozen.
const PATIENCE: Duration = Duration::from_secs(60);

/// The job of a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LatestJob {
    /// The folder with the map, and what each writer has counted.
    pub(super) folder: PathBuf,
    pub(super) seed: u64,
    pub(super) keys: u64,
    pub(super) writers: u32,
    pub(super) part: Part,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Part {
    /// Inserts all keys, and then only waits.
    First,
    /// Adds to the word with this number.
    Writer {
        number: usize,
    },
    Reader,
}

/// What a writer has begun and done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Counted {
    pub(super) begun: u64,
    pub(super) done: u64,
}

impl Counted {
    fn path(folder: &Path, number: usize) -> PathBuf {
        folder.join(format!("counted-{number}"))
    }

    pub(super) fn read(folder: &Path, number: usize) -> std::io::Result<Self> {
        let mut bytes = [0; 16];
        match File::open(Self::path(folder, number)) {
            // Killed before it began.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            file => file?.read_exact_at(&mut bytes, 0)?,
        }
        let both = u128::from_le_bytes(bytes);
        Ok(Self { begun: both as u64, done: (both >> 64) as u64 })
    }

    fn write(self, file: &File) -> std::io::Result<()> {
        let both = u128::from(self.begun) | u128::from(self.done) << 64;
        file.write_all_at(&both.to_le_bytes(), 0)
    }
}

/// The sum of one word of all values.
pub(super) fn sum(reader: &LatestReader, number: usize) -> Result<u64, LatestError> {
    let mut sum = 0;
    reader.for_each(|_, value, _| sum += value[number])?;
    Ok(sum)
}

impl LatestJob {
    pub(crate) const WORK: &'static str = "latest prove";

    pub(super) fn map(&self) -> PathBuf {
        self.folder.join("map")
    }

    /// One more writer than needed: a killed one can still be there when the next one starts.
    pub(super) fn spec(&self) -> LatestSpec {
        LatestSpec {
            entries: self.keys + PASSING,
            key_words: 1,
            value_words: self.writers as usize,
            writers: 2 * self.writers + 1,
            value_layout: 0,
        }
    }

    pub(crate) fn run(&self) -> anyhow::Result<Value> {
        nanotape_shm::guard_against_truncation().context("cannot install a handler for SIGBUS")?;
        let stop = listen()?;
        if matches!(self.part, Part::Reader) {
            return self.read(&LatestReader::open(&self.map()).map_err(failed)?, &stop);
        }
        let joined = LatestWriter::join(&self.map(), self.spec(), &RegionOptions::default());
        let mut writer = joined.map_err(failed)?;
        writer.set_patience(PATIENCE);
        if let Part::Writer { number } = self.part {
            return self.add(writer, number, &stop);
        }
        for key in 0..self.keys {
            let _ = writer.insert(&[key], &vec![0; self.writers as usize]).map_err(failed)?;
        }
        report_ready()?;
        while !stop.load(Ordering::Relaxed) {
            std::thread::sleep(super::TICK);
        }
        Ok(json!({}))
    }

    fn add(
        &self,
        mut writer: LatestWriter,
        number: usize,
        stop: &AtomicBool,
    ) -> anyhow::Result<Value> {
        let path = Counted::path(&self.folder, number);
        let file = File::options().create(true).truncate(false).write(true).open(path)?;
        let mut done = sum(&writer.reader(), number).map_err(failed)?;
        Counted { begun: done, done }.write(&file)?;
        report_ready()?;
        let mut rng = Rng::new(self.seed ^ done << 16 ^ number as u64);
        let nothing = vec![0; self.writers as usize];
        let mut lost = 0_u64;
        while !stop.load(Ordering::Relaxed) {
            let key = [rng.below(self.keys as usize) as u64];
            Counted { begun: done + 1, done }.write(&file)?;
            let added = writer.update(&key, |value| value[number] += 1).map_err(failed)?;
            done += u64::from(added.is_some());
            lost += u64::from(added.is_none());
            Counted { begun: done, done }.write(&file)?;
            let passing = [self.keys + rng.below(PASSING as usize) as u64];
            if rng.below(2) == 0 {
                let _ = writer.insert(&passing, &nothing).map_err(failed)?;
            } else {
                let _ = writer.remove(&passing).map_err(failed)?;
            }
        }
        Ok(json!({ "lost": lost }))
    }

    fn read(&self, reader: &LatestReader, stop: &AtomicBool) -> anyhow::Result<Value> {
        report_ready()?;
        let mut rng = Rng::new(!self.seed);
        let mut value = vec![0; self.writers as usize];
        let mut newest = vec![0; self.keys as usize];
        let (mut reads, mut torn, mut repeated, mut lost) = (0_u64, 0_u64, 0_u64, 0_u64);
        let is_whole = |value: &[u64], version: u32| {
            value.iter().sum::<u64>() as u32 == version.wrapping_sub(1)
        };
        while !stop.load(Ordering::Relaxed) {
            for _ in 0..1_000 {
                let key = rng.below(self.keys as usize);
                match reader.get(&[key as u64], &mut value).map_err(failed)? {
                    None => lost += 1,
                    Some(version) => {
                        torn += u64::from(!is_whole(&value, version));
                        let older = version.wrapping_sub(newest[key]).cast_signed() < 0;
                        repeated += u64::from(older);
                        newest[key] = version;
                    }
                }
                reads += 1;
            }
            let (mut there, mut all) = (0, 0);
            let each = |key: &[u64], value: &[u64], version: u32| {
                all += 1;
                there += u64::from(key[0] < self.keys);
                // A passing key is inserted again with zeros: a change without an addition.
                torn += u64::from(key[0] < self.keys && !is_whole(value, version));
            };
            reader.for_each(each).map_err(failed)?;
            lost += self.keys.abs_diff(there);
            reads += all;
        }
        Ok(json!({ "reads": reads, "torn": torn, "older": repeated, "lost": lost }))
    }
}
