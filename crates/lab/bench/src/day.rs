//! The synthetic days of the benchmarks, made in memory from a fixed seed.

use std::sync::Arc;

use nanotape_synth::{Market, MarketConfig};
use nanotape_wire::framing::binary_file::Records;

/// A whole valid day. It begins and ends with empty books, so it can be repeated.
#[derive(Clone, Debug)]
pub(crate) struct Day {
    pub(crate) bytes: Arc<Vec<u8>>,
    pub(crate) messages: u64,
}

impl Day {
    /// Bytes and books together fit in a second-level cache. A run takes about a millisecond.
    pub(crate) fn small() -> Self {
        Self::of(20_000, 200)
    }

    /// As many stocks as Nasdaq has, in random order: the memory of the books does not fit in a
    /// second-level cache.
    pub(crate) fn wide() -> Self {
        Self::of(200_000, 8_500)
    }

    fn of(messages: u64, symbols: u16) -> Self {
        let config = MarketConfig { messages, symbols, ..MarketConfig::default() };
        let mut bytes = Vec::new();
        let made = Market::new(config).map(|mut market| while market.fill(&mut bytes) {});
        assert!(made.is_ok(), "more messages than such a day needs at least");
        Self { bytes: Arc::new(bytes), messages }
    }

    /// The bytes of each message.
    pub(crate) fn records(&self) -> impl Iterator<Item = &[u8]> {
        Records::new(&self.bytes, 0).map(|record| record.bytes)
    }
}
