//! Measure one lookup: you will see its cost in a map and in a sorted list, and how runs are
//! distributed.

use std::{collections::BTreeMap, process::ExitCode};

use nanotape::lab::{Fixture, Suite};

const KEYS: u64 = 4_096;

struct LookUp<T> {
    table: T,
    look_up: fn(&T, u64) -> Option<u64>,
}

impl<T> Fixture for LookUp<T> {
    type Answer = Option<u64>;

    fn operations(&self) -> u64 {
        KEYS
    }

    fn run(&mut self) -> Option<u64> {
        // An odd factor visits all keys, in another order than theirs.
        (0..KEYS).map(|key| (self.look_up)(&self.table, key * 1_001 % KEYS)).sum()
    }

    fn expected(&self) -> Option<u64> {
        Some(KEYS * (KEYS - 1)) // each key's value is twice the key
    }
}

fn main() -> ExitCode {
    let pairs = || (0..KEYS).map(|key| (key, 2 * key));
    Suite::new("look_up")
        .add("map/4096", move || LookUp {
            table: BTreeMap::from_iter(pairs()),
            look_up: |map, key| map.get(&key).copied(),
        })
        .add("list/4096", move || LookUp {
            table: Vec::from_iter(pairs()),
            look_up: |list, key| Some(list[list.binary_search_by_key(&key, |pair| pair.0).ok()?].1),
        })
        .main()
}
