//! subetha-cxc: a table with a lock for each slot in a mapped file. It has no update in place, so a
//! value is read and exchanged until nothing changed between both.

use std::path::Path;

use rivals_measure::Failure;
use serde_json::Value;
use subetha_cxc::shared_hash_map::SharedHashMap;

use crate::{options::Options, processes, work::Map};

struct Side(SharedHashMap<u64, u64>);

pub(super) fn run(options: &Options) -> Result<Option<Value>, Failure> {
    processes::run(options, create, create)
}

/// Creates the map, or opens it. Its documentation recommends twice as many slots as keys.
fn create(path: &Path, entries: u64) -> Result<Side, Failure> {
    let map = SharedHashMap::create(path, 2 * entries as usize);
    Ok(Side(map.map_err(|error| format!("{error:?}"))?))
}

impl Map for Side {
    fn insert(&mut self, key: u64, value: u64) -> Result<(), Failure> {
        self.0.insert(key, value).map_err(|error| format!("{error:?}"))?;
        Ok(())
    }

    fn add(&mut self, key: u64) -> Result<bool, Failure> {
        while let Some(value) = self.0.get(&key) {
            let exchanged = self.0.compare_exchange(&key, value, value + 1);
            if exchanged.map_err(|error| format!("{error:?}"))?.is_ok() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn get(&mut self, key: u64) -> Result<Option<u64>, Failure> {
        Ok(self.0.get(&key))
    }
}
