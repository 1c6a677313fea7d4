//! scc: a hash map with a lock for each bucket, in one process.

use std::sync::Arc;

use rivals_measure::Failure;
use scc::HashMap;
use serde_json::Value;

use crate::{options::Options, threads, work::Map};

#[derive(Clone)]
struct Side(Arc<HashMap<u64, u64>>);

pub(super) fn run(options: &Options) -> Result<Option<Value>, Failure> {
    threads::run(options, Side(Arc::new(HashMap::with_capacity(options.entries as usize))))
}

impl Map for Side {
    fn insert(&mut self, key: u64, value: u64) -> Result<(), Failure> {
        self.0.insert_sync(key, value).map_err(|_| "a key is there twice".into())
    }

    #[inline]
    fn add(&mut self, key: u64) -> Result<bool, Failure> {
        Ok(self.0.update_sync(&key, |_, value| *value += 1).is_some())
    }

    fn get(&mut self, key: u64) -> Result<Option<u64>, Failure> {
        Ok(self.0.read_sync(&key, |_, value| *value))
    }
}
