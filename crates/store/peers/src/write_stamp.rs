//! The two words after the value of a user: when and by which node an entry was written.
//!
//! Layout: `docs/formats/peers.md`. The time, and a word with the node in its upper 16 bits, so
//! that a comparison of both words, and of the value after them, orders all writes of a key.

use std::cmp::Ordering;

use nanotape_latest::{LatestError, LatestSpec, MOST_WORDS};

use crate::error::PeersError;

/// Words that a value has more than that of the user.
pub const STAMP_WORDS: usize = 2;

/// The write removed the key.
const REMOVED: u64 = 2;

/// Every node has had this removal.
const SETTLED: u64 = 1;

const NODE_SHIFT: u32 = 48;

/// The map of a node for values of this specification: with [`STAMP_WORDS`] more words.
pub fn peer_map(user: LatestSpec) -> Result<LatestSpec, LatestError> {
    if user.value_words > MOST_WORDS - STAMP_WORDS {
        return Err(LatestError::Spec { spec: user });
    }
    Ok(LatestSpec { value_words: user.value_words + STAMP_WORDS, ..user })
}

/// When and by which node an entry was written.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct WriteStamp {
    /// In ns since the UNIX epoch.
    pub(crate) time_ns: u64,
    /// The word `origin`.
    pub(crate) word: u64,
}

impl WriteStamp {
    pub(crate) fn new(time_ns: u64, node: u16, is_removed: bool) -> Self {
        let flags = if is_removed { REMOVED } else { 0 };
        Self { time_ns, word: u64::from(node) << NODE_SHIFT | flags }
    }

    /// The stamp of a value in the map.
    pub(crate) fn of(value: &[u64]) -> Self {
        match *value {
            [.., time_ns, word] => Self { time_ns, word },
            _ => Self::default(),
        }
    }

    /// Stores it after the value of the user.
    pub(crate) fn store(self, value: &mut [u64]) {
        if let [.., time_ns, word] = value {
            (*time_ns, *word) = (self.time_ns, self.word);
        }
    }

    pub(crate) fn node(self) -> u16 {
        (self.word >> NODE_SHIFT) as u16
    }

    pub(crate) fn is_removed(self) -> bool {
        self.word & REMOVED != 0
    }

    pub(crate) fn is_settled(self) -> bool {
        self.word & SETTLED != 0
    }

    pub(crate) fn settled(self) -> Self {
        Self { word: self.word | SETTLED, ..self }
    }

    /// The error of a group that has it, although no node can have stored it.
    #[cold]
    pub(crate) fn damage(self, group: usize) -> PeersError {
        PeersError::Stamp { group, time_ns: self.time_ns, origin: self.word }
    }

    /// Whether a node can have stored this stamp after this value of the user.
    pub(crate) fn is_valid(self, user: &[u64]) -> bool {
        let is_known = self.word & !(REMOVED | SETTLED | 0xffff << NODE_SHIFT) == 0;
        let is_zero = || user.iter().all(|word| *word == 0);
        is_known
            && self.node() != 0
            && (self.is_removed() || !self.is_settled())
            && (!self.is_removed() || is_zero())
    }
}

/// Whether a value of the map wins over another one. Values of equal stamps have an order too, so
/// that nodes agree whatever a damaged one sends.
pub(crate) fn wins(value: &[u64], over: &[u64]) -> bool {
    let stamps = WriteStamp::of(value).cmp(&WriteStamp::of(over));
    stamps.then_with(|| value.cmp(over)) == Ordering::Greater
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_have_one_order() {
        let stamp = |time_ns, node, is_removed| {
            let mut value = [7, 0, 0];
            WriteStamp::new(time_ns, node, is_removed).store(&mut value);
            value
        };
        let mut settled = stamp(1, 2, true);
        WriteStamp::of(&settled).settled().store(&mut settled);
        let mut other_value = stamp(2, 1, false);
        other_value[0] = 8;
        let ordered = [
            stamp(1, 1, false),
            stamp(1, 2, false),
            stamp(1, 2, true),
            settled,
            stamp(2, 1, false),
            other_value,
        ];
        for (number, value) in ordered.iter().enumerate() {
            for (other_number, other) in ordered.iter().enumerate() {
                assert_eq!(wins(value, other), number > other_number);
            }
        }
    }

    #[test]
    fn stamps_that_no_node_stores_are_not_valid() {
        let removed = WriteStamp::new(1, 9, true);
        assert_eq!((removed.node(), removed.is_removed(), removed.is_settled()), (9, true, false));
        assert!(removed.is_valid(&[0]) && removed.settled().is_valid(&[0]));
        assert!(!removed.is_valid(&[1]));
        assert!(WriteStamp::new(1, 9, false).is_valid(&[1]));
        assert!(!WriteStamp::new(1, 9, false).settled().is_valid(&[1]));
        assert!(!WriteStamp::new(1, 0, false).is_valid(&[1]));
        assert!(!WriteStamp { time_ns: 1, word: 9 << NODE_SHIFT | 4 }.is_valid(&[1]));
    }
}
