//! A process of a node that writes the map.
//!
//! Protocol: the time of a write is that of the caller's clock, or one more than that of the entry,
//! whichever is later. It is decided while the entry is locked. So a write wins over all that it
//! has seen, whatever the clocks are.

use nanotape_latest::{LatestError, LatestWriter};

use crate::{
    error::PeersError,
    reader::PeerReader,
    write_stamp::{STAMP_WORDS, WriteStamp},
};

/// A writer of the map of a node. Each thread has its own, as of [`LatestWriter`].
#[derive(Debug)]
pub struct PeerWriter {
    writer: LatestWriter,
    node: u16,
    /// A value with its stamp.
    value: Vec<u64>,
}

impl PeerWriter {
    /// A writer of a map that [`peer_map`](crate::peer_map) describes, on this node: 1 to 65,535.
    pub fn new(writer: LatestWriter, node: u16) -> Result<Self, PeersError> {
        let value_words = writer.spec().value_words;
        if value_words < STAMP_WORDS {
            return Err(PeersError::NoPeerMap { value_words });
        }
        if node == 0 {
            return Err(PeersError::Node);
        }
        Ok(Self { writer, node, value: vec![0; value_words] })
    }

    /// Gives a key a value. A removed key counts for the capacity until it is forgotten:
    /// [`LatestError::Full`] if no other key fits.
    ///
    /// # Panics
    ///
    /// If the lengths are not those of the map.
    pub fn insert(&mut self, key: &[u64], value: &[u64], now_ns: u64) -> Result<(), LatestError> {
        let Self { writer, node, value: fresh, .. } = self;
        let user = fresh.len() - STAMP_WORDS;
        fresh[..user].copy_from_slice(value);
        WriteStamp::new(now_ns, *node, false).store(fresh);
        let change = |now: &mut [u64]| {
            let stamp = next(now, now_ns, *node, false);
            now[..user].copy_from_slice(value);
            stamp.store(now);
            true
        };
        writer.insert_or_update(key, fresh, change).map(|_| ())
    }

    /// Changes the value of a key in place; returns whether the key is there.
    ///
    /// # Panics
    ///
    /// If the length of the key is not that of the map.
    pub fn update(
        &mut self,
        key: &[u64],
        now_ns: u64,
        change: impl FnOnce(&mut [u64]),
    ) -> Result<bool, LatestError> {
        let (node, user) = (self.node, self.value.len() - STAMP_WORDS);
        let changed = self.writer.update_if(key, |now| {
            let is_there = !WriteStamp::of(now).is_removed();
            if is_there {
                let stamp = next(now, now_ns, node, false);
                change(&mut now[..user]);
                stamp.store(now);
            }
            is_there
        });
        Ok(changed? == Some(true))
    }

    /// Removes a key; returns whether it was there.
    ///
    /// # Panics
    ///
    /// If the length of the key is not that of the map.
    pub fn remove(&mut self, key: &[u64], now_ns: u64) -> Result<bool, LatestError> {
        let node = self.node;
        let changed = self.writer.update_if(key, |now| {
            let is_there = !WriteStamp::of(now).is_removed();
            if is_there {
                let stamp = next(now, now_ns, node, true);
                now.fill(0);
                stamp.store(now);
            }
            is_there
        });
        Ok(changed? == Some(true))
    }

    /// A reader of the same memory.
    pub fn reader(&self) -> PeerReader {
        PeerReader::of(self.writer.reader())
    }
}

/// The stamp of a write after another one.
fn next(now: &[u64], now_ns: u64, node: u16, is_removed: bool) -> WriteStamp {
    let time_ns = now_ns.max(WriteStamp::of(now).time_ns.saturating_add(1));
    WriteStamp::new(time_ns, node, is_removed)
}
