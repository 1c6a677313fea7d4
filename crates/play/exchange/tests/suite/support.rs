//! Synthetic days, message by message.

use nanotape_exchange::{History, HistoryWriter};
use nanotape_synth::{Market, MarketConfig};
use nanotape_types::Alpha;
use nanotape_wire::framing::binary_file::Records;

pub(crate) const SESSION: Alpha<10> = Alpha::new(*b"MONDAY    ");

/// A synthetic day as bytes.
pub(crate) fn day(messages: u64, symbols: u16, seed: u64) -> Vec<u8> {
    let config = MarketConfig { messages, symbols, seed, ..MarketConfig::default() };
    let mut bytes = Vec::new();
    Market::new(config).unwrap().write_to(&mut bytes).unwrap();
    bytes
}

/// The messages of a day with the offsets of their records.
pub(crate) fn messages(day: &[u8]) -> Vec<(u64, &[u8])> {
    Records::new(day, 0).map(|record| (record.offset, record.bytes)).collect()
}

/// The history of a day that no message was sent of.
pub(crate) fn history(day: &[u8]) -> (HistoryWriter, History) {
    History::of_memory(SESSION, day.to_vec())
}
