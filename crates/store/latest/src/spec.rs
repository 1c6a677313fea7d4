//! What a map is made for.

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
}
