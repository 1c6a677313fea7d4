//! What a map is made for.

use std::fmt;

/// The kind of the region.
pub const KIND: [u8; 8] = *b"LATEST  ";

/// Changes whenever the meaning of a word changes.
pub const LAYOUT: u64 = u64::from_be_bytes(*b"latest 1");

/// The most writers of a map.
pub const MOST_WRITERS: u32 = 1_023;

/// The most words of a key, and of a value.
pub const MOST_WORDS: usize = 1 << 12;

/// What a map holds, and for how many.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LatestSpec {
    /// Keys that fit: any keys.
    pub entries: u64,
    /// Words of a key.
    pub key_words: usize,
    /// Words of a value.
    pub value_words: usize,
    /// Writers at the same time.
    pub writers: u32,
    /// What the words of a value mean: 0 if no schema defines it, otherwise the version in the
    /// upper 16 bits and a hash of the fields ([`MapValue::LAYOUTS`](crate::MapValue::LAYOUTS)).
    pub value_layout: u64,
}

/// The layout of values, as text: its version and its hash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ValueLayout(pub u64);

impl ValueLayout {
    /// The version of the schema, from 1; 0 if the map has no schema.
    pub fn version(self) -> u16 {
        (self.0 >> 48) as u16
    }

    /// The hash of its fields, of 48 bits.
    pub fn hash(self) -> u64 {
        self.0 & 0xffff_ffff_ffff
    }

    /// Whether it is one that a map can have.
    pub(crate) fn is_valid(self) -> bool {
        self.0 == 0 || self.version() > 0
    }
}

impl fmt::Display for ValueLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.version() {
            0 => f.write_str("words without a schema"),
            version => write!(f, "of schema version {version} with hash {:012x}", self.hash()),
        }
    }
}
