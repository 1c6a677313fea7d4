//! The meaning of each word of a snapshot: 64-bit words, low byte first.

use nanotape_types::StockLocate;

/// The first eight bytes.
pub const MAGIC: [u8; 8] = *b"nanosnap";

/// The second word; changes whenever the meaning of a word changes.
pub const LAYOUT: u64 = u64::from_be_bytes(*b"snap   2");

/// In the upper half of the last word of the header.
pub(super) const HEAD: u64 = u32::from_be_bytes(*b"SNAP") as u64;

pub(super) const WORD: usize = 8;

/// Words of the header.
pub(super) const HEADER_WORDS: usize = 32;
pub(super) const HEADER_BYTES: usize = HEADER_WORDS * WORD;

// Words of the header.
pub(super) const SEQUENCE: usize = 2;
pub(super) const EXCERPT_TS: usize = 3;
pub(super) const EXCERPT_CHECK: usize = 4;
pub(super) const TS_EVENT: usize = 5;
pub(super) const MESSAGE: usize = 6;
pub(super) const FIRST_SEQUENCE: usize = 7;
pub(super) const STARTED: usize = 8;
pub(super) const MIDNIGHT: usize = 9;
pub(super) const LOSSES: usize = 10;
pub(super) const FIRST_LOSS: usize = 11;
pub(super) const STOCKS: usize = 12;
pub(super) const ORDERS: usize = 13;
pub(super) const DIGEST: usize = 14;
pub(super) const DIRECTORY_CHECK: usize = 15;
pub(super) const HEADER_CHECK: usize = 31;

/// Words of a stock's entry in the directory.
pub(super) const ENTRY_WORDS: usize = 6;
pub(super) const ENTRY_BYTES: usize = ENTRY_WORDS * WORD;

/// Words of an order.
pub(super) const ORDER_WORDS: usize = 2;
pub(crate) const ORDER_BYTES: usize = ORDER_WORDS * WORD;

/// Offset and name of each word of the header, as in `docs/formats/snapshot.md`.
pub const HEADER_FIELDS: [(usize, &str); 17] = [
    (0, "magic"),
    (WORD, "layout"),
    (SEQUENCE * WORD, "sequence"),
    (EXCERPT_TS * WORD, "excerpt_ts_ns"),
    (EXCERPT_CHECK * WORD, "excerpt_check"),
    (TS_EVENT * WORD, "ts_event"),
    (MESSAGE * WORD, "message"),
    (FIRST_SEQUENCE * WORD, "first_sequence"),
    (STARTED * WORD, "started_ns"),
    (MIDNIGHT * WORD, "midnight_ns"),
    (LOSSES * WORD, "losses"),
    (FIRST_LOSS * WORD, "first_loss"),
    (STOCKS * WORD, "stocks"),
    (ORDERS * WORD, "orders"),
    (DIGEST * WORD, "digest"),
    (DIRECTORY_CHECK * WORD, "directory_check"),
    (HEADER_CHECK * WORD, "check"),
];

/// Offset and name of each word of an entry of the directory.
pub const ENTRY_FIELDS: [(usize, &str); ENTRY_WORDS] = [
    (0, "locate"),
    (WORD, "first_order"),
    (2 * WORD, "counts"),
    (3 * WORD, "digest"),
    (4 * WORD, "tainted"),
    (5 * WORD, "check"),
];

/// Offset and name of each word of an order.
pub const ORDER_FIELDS: [(usize, &str); ORDER_WORDS] = [(0, "reference"), (WORD, "price_shares")];

/// A word of these bytes; 0 beyond their end.
pub(super) fn word_at(bytes: &[u8], word: usize) -> u64 {
    let bytes = bytes.get(word * WORD..).and_then(|rest| rest.first_chunk());
    bytes.map_or(0, |&bytes| u64::from_le_bytes(bytes))
}

/// Bytes of a snapshot with this many stocks and orders; `None` if there cannot be one.
pub(super) fn stated_bytes(stocks: u64, orders: u64) -> Option<u64> {
    let directory = (stocks <= StockLocate::COUNT as u64).then_some(stocks * ENTRY_BYTES as u64)?;
    orders.checked_mul(ORDER_BYTES as u64)?.checked_add(HEADER_BYTES as u64 + directory)
}
