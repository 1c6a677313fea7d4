//! dashmap: shards of a hash map, each with a lock, in one process.

use std::sync::Arc;

use dashmap::DashMap;
use rivals_measure::Failure;
use serde_json::Value;

use crate::{options::Options, threads, work::Map};

#[derive(Clone)]
struct Side(Arc<DashMap<u64, u64>>);

pub(super) fn run(options: &Options) -> Result<Option<Value>, Failure> {
    threads::run(options, Side(Arc::new(DashMap::with_capacity(options.entries as usize))))
}

impl Map for Side {
    fn insert(&mut self, key: u64, value: u64) -> Result<(), Failure> {
        self.0.insert(key, value);
        Ok(())
    }

    #[inline]
    fn add(&mut self, key: u64) -> Result<bool, Failure> {
        Ok(self.0.get_mut(&key).map(|mut value| *value += 1).is_some())
    }

    fn get(&mut self, key: u64) -> Result<Option<u64>, Failure> {
        Ok(self.0.get(&key).map(|value| *value))
    }
}
