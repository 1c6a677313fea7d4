//! A latest-value map: values of keys, all entries one by one, and the states of a plant's stocks.

use std::{ffi::OsStr, fmt, path::PathBuf, ptr, sync::Mutex};

use nanotape_latest::{GroupEntries, LatestError, LatestReader};
use nanotape_shm::named;
use nanotape_tap::states::{STOCK_KEY_WORDS, StockState, stock_key};
use nanotape_types::Symbol;

use crate::{
    Status,
    error::Error,
    memory::{Room, Words},
    stock::Stock,
};

/// A latest-value map. One thread at a time may use it.
pub struct Map(pub(crate) Mutex<MapState>);

impl fmt::Debug for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Map").finish_non_exhaustive()
    }
}

/// What a map is made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct MapShape {
    /// Keys that fit.
    pub capacity: u64,
    /// Keys that are there.
    pub entries: u64,
    /// Words of a key.
    pub key_words: usize,
    /// Words of a value.
    pub value_words: usize,
}

/// An entry of a map.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MapEntry {
    /// The words of the key, which stay as they are until the next call with the map. NULL after
    /// the last entry.
    pub key: *const u64,
    /// The words of the value.
    pub value: *const u64,
    /// How often the value was set, modulo 2^32.
    pub version: u32,
}

pub(crate) struct MapState {
    path: PathBuf,
    reader: LatestReader,
    /// A value, before it is given.
    value: Vec<u64>,
    /// The group whose entries are given next.
    group: usize,
    /// The number of the next entry in the copy of the group before.
    number: usize,
    copy: GroupEntries,
}

impl Map {
    pub(crate) fn open(name: &OsStr) -> Result<Self, Error> {
        let path = named(name)?;
        let reader = LatestReader::open(&path).map_err(|error| Error::of_map(&path, &error))?;
        let copy = reader.group_entries();
        let value = vec![0; reader.spec().value_words];
        Ok(Self(Mutex::new(MapState { path, reader, value, group: 0, number: usize::MAX, copy })))
    }
}

impl MapState {
    pub(crate) fn shape(&self) -> MapShape {
        let spec = self.reader.spec();
        MapShape {
            capacity: spec.entries,
            entries: self.reader.len(),
            key_words: spec.key_words,
            value_words: spec.value_words,
        }
    }

    /// Copies the value of a key; returns its version.
    pub(crate) fn get(
        &mut self,
        (key, key_words): (Words, usize),
        (value, value_words): (Room, usize),
    ) -> Result<u32, Error> {
        let spec = self.reader.spec();
        let key = key.get(key_words, spec.key_words, "key")?;
        value.check(value_words, spec.value_words, "value")?;
        let version = self.reader.get(key, &mut self.value).map_err(|error| self.failed(&error))?;
        let version = version.ok_or_else(|| self.absent("the map does not have the key"))?;
        value.set(value_words, &self.value, "value")?;
        Ok(version)
    }

    /// The state of a stock of a plant.
    pub(crate) fn stock(&mut self, publisher: u16, symbol: &[u8]) -> Result<Stock, Error> {
        self.reader.expect::<StockState<()>>().map_err(|error| self.failed(&error))?;
        if self.reader.spec().key_words != STOCK_KEY_WORDS {
            return Err(Error::wrong(format!("{}: its keys are no stocks", self.path.display())));
        }
        let symbol: Symbol = std::str::from_utf8(symbol)
            .ok()
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| Error::wrong("symbol: expected 1 to 8 letters"))?;
        let key = stock_key(publisher, symbol);
        let found = self.reader.get(&key, &mut self.value).map_err(|error| self.failed(&error))?;
        match found {
            Some(_) => Ok(Stock::of(&StockState::of(&*self.value))),
            None => Err(self.absent(format_args!("no state of {symbol} of publisher {publisher}"))),
        }
    }

    /// Begins again with the first entry.
    pub(crate) fn rewind(&mut self) {
        (self.group, self.number) = (0, usize::MAX);
    }

    /// The next entry; NULL after the last one. Entries of a group are of one moment.
    pub(crate) fn next(&mut self) -> Result<MapEntry, Error> {
        loop {
            while self.number < self.copy.places() {
                let number = self.number;
                self.number += 1;
                if let Some((key, value, version)) = self.copy.entry(number) {
                    return Ok(MapEntry { key: key.as_ptr(), value: value.as_ptr(), version });
                }
            }
            if self.group == self.reader.groups() {
                return Ok(MapEntry { key: ptr::null(), value: ptr::null(), version: 0 });
            }
            let copied = self.reader.copy_group(self.group, &mut self.copy);
            copied.map_err(|error| self.failed(&error))?;
            (self.group, self.number) = (self.group + 1, 0);
        }
    }

    /// Finds out whether the file was removed, replaced or truncated.
    pub(crate) fn check(&self) -> Result<(), Error> {
        Ok(self.reader.region().check()?)
    }

    fn failed(&self, error: &LatestError) -> Error {
        Error::of_map(&self.path, error)
    }

    fn absent(&self, what: impl fmt::Display) -> Error {
        Error::new(Status::NotFound, format!("{}: {what}", self.path.display()))
    }
}
