//! papaya: a hash map without locks that replaces an entry to change it, in one process.

use std::sync::Arc;

use papaya::HashMap;
use rivals_measure::Failure;
use serde_json::Value;

use crate::{options::Options, threads, work::Map};

#[derive(Clone)]
struct Side(Arc<HashMap<u64, u64>>);

pub(super) fn run(options: &Options) -> Result<Option<Value>, Failure> {
    threads::run(options, Side(Arc::new(HashMap::with_capacity(options.entries as usize))))
}

impl Map for Side {
    fn insert(&mut self, key: u64, value: u64) -> Result<(), Failure> {
        self.0.pin().insert(key, value);
        Ok(())
    }

    #[inline]
    fn add(&mut self, key: u64) -> Result<bool, Failure> {
        Ok(self.0.pin().update(key, |value| value + 1).is_some())
    }

    fn get(&mut self, key: u64) -> Result<Option<u64>, Failure> {
        Ok(self.0.pin().get(&key).copied())
    }
}
