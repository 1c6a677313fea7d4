//! A process of a node that reads the map: the keys that are not removed, without the words of
//! their stamps.

use nanotape_latest::{LatestError, LatestReader};

use crate::{
    error::PeersError,
    write_stamp::{STAMP_WORDS, WriteStamp},
};

/// A reader of the map of a node. It needs neither a connection nor the process that has them.
#[derive(Clone, Debug)]
pub struct PeerReader {
    reader: LatestReader,
}

impl PeerReader {
    /// A reader of a map that [`peer_map`](crate::peer_map) describes.
    pub fn new(reader: LatestReader) -> Result<Self, PeersError> {
        let value_words = reader.spec().value_words;
        if value_words < STAMP_WORDS {
            return Err(PeersError::NoPeerMap { value_words });
        }
        Ok(Self::of(reader))
    }

    pub(crate) fn of(reader: LatestReader) -> Self {
        Self { reader }
    }

    /// Whether a value with its stamp, as [`latest`](Self::latest) has it, is that of a removed
    /// key.
    pub fn is_removed(value: &[u64]) -> bool {
        WriteStamp::of(value).is_removed()
    }

    /// The reader of all words, with the stamps and the removed keys.
    pub fn latest(&self) -> &LatestReader {
        &self.reader
    }

    /// Copies the value of a key; returns whether it is there. The two words of the stamp follow
    /// the value: `value` has [`STAMP_WORDS`] more words than a value of the user.
    ///
    /// # Panics
    ///
    /// If the lengths are not those of the map.
    pub fn get(&self, key: &[u64], value: &mut [u64]) -> Result<bool, LatestError> {
        let found = self.reader.get(key, value)?;
        Ok(found.is_some() && !WriteStamp::of(value).is_removed())
    }

    /// Calls `each` with the key and the value of every key that is there, as
    /// [`LatestReader::for_each`] does.
    pub fn for_each(&self, mut each: impl FnMut(&[u64], &[u64])) -> Result<(), LatestError> {
        self.reader.for_each(|key, value, _| {
            if !WriteStamp::of(value).is_removed() {
                each(key, &value[..value.len() - STAMP_WORDS]);
            }
        })
    }

    /// The number of keys that are there: it reads the whole map. [`LatestReader::len`] counts the
    /// removed ones too, and is cheap.
    pub fn len(&self) -> Result<u64, LatestError> {
        let mut count = 0;
        self.for_each(|_, _| count += 1)?;
        Ok(count)
    }

    /// Whether no key is there.
    pub fn is_empty(&self) -> Result<bool, LatestError> {
        Ok(self.len()? == 0)
    }
}
