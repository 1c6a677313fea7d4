//! nanotape's map of latest values, which processes share.

use std::path::Path;

use nanotape_latest::{LatestSpec, LatestWriter};
use nanotape_shm::RegionOptions;
use rivals_measure::Failure;
use serde_json::Value;

use crate::{options::Options, processes, work::Map};

struct Side(LatestWriter);

pub(super) fn run(options: &Options) -> Result<Option<Value>, Failure> {
    processes::run(options, join, join)
}

fn join(path: &Path, entries: u64) -> Result<Side, Failure> {
    let spec = LatestSpec { entries, key_words: 1, value_words: 1, writers: 8, value_layout: 0 };
    Ok(Side(LatestWriter::join(path, spec, &RegionOptions::default())?))
}

impl Map for Side {
    fn insert(&mut self, key: u64, value: u64) -> Result<(), Failure> {
        let _ = self.0.insert(&[key], &[value])?;
        Ok(())
    }

    #[inline]
    fn add(&mut self, key: u64) -> Result<bool, Failure> {
        Ok(self.0.update(&[key], |value| value[0] += 1)?.is_some())
    }

    fn get(&mut self, key: u64) -> Result<Option<u64>, Failure> {
        let mut value = [0];
        Ok(self.0.get(&[key], &mut value)?.map(|_| value[0]))
    }
}
