//! The loops of all maps: the same keys, the same updates, the same check.

use nanotape_clock::{Clock, Stamp};
use rivals_measure::{Failure, Percentiles, Wrong};
use serde_json::{Value, json};

use crate::options::Options;

/// One side of a map with keys and values of 8 bytes.
pub(crate) trait Map {
    /// Adds a key.
    fn insert(&mut self, key: u64, value: u64) -> Result<(), Failure>;

    /// Adds keys in ascending order to an empty map.
    fn fill(&mut self, keys: &[u64]) -> Result<(), Failure> {
        keys.iter().try_for_each(|&key| self.insert(key, 0))
    }

    /// Adds 1 to the value of a key; returns whether the key is there.
    fn add(&mut self, key: u64) -> Result<bool, Failure>;

    /// The value of a key.
    fn get(&mut self, key: u64) -> Result<Option<u64>, Failure>;
}

/// Seeds of the keys, and of the order in which they are updated.
const KEYS: u64 = 42;
const ORDER: u64 = 4_711;

/// A bijection of the number: splitmix64.
#[inline(always)]
fn mix(seed: u64, number: u64) -> u64 {
    let mut mixed = seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The key of an entry.
#[inline(always)]
pub(crate) fn key(entry: u64) -> u64 {
    mix(KEYS, entry)
}

/// Keys in a random order, each of which is equally likely.
#[derive(Clone, Debug)]
pub(crate) struct Picks {
    seed: u64,
    count: u64,
    entries: u64,
}

impl Picks {
    pub(crate) fn new(side: u64, entries: u64) -> Self {
        Self { seed: mix(ORDER, side), count: 0, entries }
    }

    #[inline(always)]
    pub(crate) fn next(&mut self) -> u64 {
        self.count += 1;
        let random = u128::from(mix(self.seed, self.count));
        key(((random * u128::from(self.entries)) >> 64) as u64)
    }
}

/// Adds all keys with the value 0.
pub(crate) fn fill(map: &mut impl Map, entries: u64) -> Result<(), Failure> {
    let mut keys: Vec<u64> = (0..entries).map(key).collect();
    keys.sort_unstable();
    map.fill(&keys)
}

/// One update; a key that is missing is wrong.
#[inline(always)]
fn add(map: &mut impl Map, key: u64) -> Result<(), Failure> {
    if map.add(key)? { Ok(()) } else { Err(missing(key)) }
}

#[cold]
fn missing(key: u64) -> Failure {
    Wrong(format!("the key {key:#018x} is missing")).into()
}

/// Updates at full speed; returns the nanoseconds.
#[inline(never)]
pub(crate) fn flat_out(map: &mut impl Map, side: u64, options: &Options) -> Result<u64, Failure> {
    let clock = Clock::calibrate();
    let mut picks = Picks::new(side, options.entries);
    let start = clock.stamp_start();
    for _ in 0..options.updates / options.sides {
        add(map, picks.next())?;
    }
    Ok(clock.nanos_between(start, clock.stamp()))
}

/// What a run of throughput reports, after its check.
pub(crate) fn throughput(
    map: &mut impl Map,
    options: &Options,
    nanos: &[u64],
) -> Result<Value, Failure> {
    let updates = options.updates / options.sides * options.sides;
    check(map, options.entries, updates)?;
    let longest = nanos.iter().copied().max().unwrap_or(0).max(1);
    Ok(json!({ "updates_per_second": updates as f64 * 1e9 / longest as f64, "updates": updates }))
}

/// Fails unless every update is in a value.
fn check(map: &mut impl Map, entries: u64, updates: u64) -> Result<(), Failure> {
    let mut sum = 0_u64;
    for key in (0..entries).map(key) {
        sum += map.get(key)?.ok_or_else(|| missing(key))?;
    }
    match sum == updates {
        true => Ok(()),
        false => Err(Wrong(format!("the values have {sum} of {updates} updates")).into()),
    }
}

/// Updates at a fixed rate: spins until one is due. A late one begins at once; the schedule of the
/// following ones does not change. The first tenth is not counted.
#[inline(never)]
pub(crate) fn latency(map: &mut impl Map, options: &Options) -> Result<Value, Failure> {
    let clock = Clock::calibrate();
    let mut picks = Picks::new(0, options.entries);
    let ticks_per_update = clock.rate().ticks_per_second / options.rate as f64;
    let begin = clock.stamp().ticks() + (clock.rate().ticks_per_second / 100.0) as u64;
    let warm_up = options.updates / 10;
    let count = (options.updates - warm_up) as usize;
    // Written once, so that their pages exist before the clock runs.
    let (mut calls, mut late) = (vec![1; count], vec![1; count]);
    calls.clear();
    late.clear();
    for number in 0..options.updates {
        let key = picks.next();
        let due = Stamp::from_ticks(begin + (number as f64 * ticks_per_update) as u64);
        while clock.stamp_unfenced() < due {}
        let from = clock.stamp_start();
        add(map, key)?;
        let to = clock.stamp();
        if number >= warm_up {
            calls.push(clock.nanos_between(from, to));
            late.push(clock.nanos_between(due, to));
        }
    }
    check(map, options.entries, options.updates)?;
    Ok(json!({
        "rate": options.rate,
        "updates": options.updates,
        "call_ns": Percentiles::of(&mut calls, |nanos| nanos),
        "from_due_ns": Percentiles::of(&mut late, |nanos| nanos),
    }))
}

/// One update of every key.
pub(crate) fn update_all(map: &mut impl Map, entries: u64) -> Result<(), Failure> {
    (0..entries).map(key).try_for_each(|key| add(map, key))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use clap::Parser;

    use super::*;

    impl Map for HashMap<u64, u64> {
        fn insert(&mut self, key: u64, value: u64) -> Result<(), Failure> {
            HashMap::insert(self, key, value);
            Ok(())
        }

        fn add(&mut self, key: u64) -> Result<bool, Failure> {
            Ok(self.get_mut(&key).map(|value| *value += 1).is_some())
        }

        fn get(&mut self, key: u64) -> Result<Option<u64>, Failure> {
            Ok(HashMap::get(self, &key).copied())
        }
    }

    fn options(words: &str) -> Options {
        Options::try_parse_from(["rivals-map", "std"].into_iter().chain(words.split(' '))).unwrap()
    }

    #[test]
    fn every_update_is_counted_and_a_lost_one_is_wrong() {
        let options = options("throughput --entries 100 --updates 1001 --sides 2");
        let mut map = HashMap::new();
        fill(&mut map, options.entries).unwrap();
        let nanos = [0, 1].map(|side| flat_out(&mut map, side, &options).unwrap());
        let found = throughput(&mut map, &options, &nanos).unwrap();
        assert_eq!(found["updates"], 1_000);
        *map.get_mut(&key(7)).unwrap() -= 1;
        let failure = throughput(&mut map, &options, &nanos).unwrap_err();
        assert_eq!(failure.to_string(), "the values have 999 of 1000 updates");
        map.remove(&key(8));
        assert!(update_all(&mut map, options.entries).unwrap_err().is::<Wrong>());
    }

    #[test]
    fn an_open_loop_times_every_update_after_the_first_tenth() {
        let options = options("latency --entries 100 --updates 1000 --rate 100000");
        let mut map = HashMap::new();
        fill(&mut map, options.entries).unwrap();
        let found = latency(&mut map, &options).unwrap();
        assert!(found["from_due_ns"]["p50"].as_u64() >= found["call_ns"]["p50"].as_u64());
    }
}
