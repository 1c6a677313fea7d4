//! Days to damage, parsed here by the lengths of their records alone.

use std::{collections::HashSet, ops::Range, path::Path};

use nanotape_synth::{Market, MarketConfig};

pub(crate) struct Day {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
    /// Each record, its length included.
    pub(crate) records: Vec<Range<usize>>,
    /// The messages.
    pub(crate) bodies: HashSet<Vec<u8>>,
}

impl Day {
    /// A day as from `nanotape synth --messages N --symbols N`.
    pub(crate) fn synthetic(messages: u64, symbols: u16) -> Self {
        let config = MarketConfig { messages, symbols, ..MarketConfig::default() };
        let mut bytes = Vec::new();
        Market::new(config).unwrap().write_to(&mut bytes).unwrap();
        Self::of_bytes(format!("synthetic, {messages} messages, {symbols} symbols"), bytes)
    }

    /// A real day that is next to the repository, or `None`.
    pub(crate) fn real(name: &str) -> Option<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/data");
        let bytes = std::fs::read(folder.join(name)).ok()?;
        Some(Self::of_bytes(name.to_owned(), bytes))
    }

    fn of_bytes(name: String, bytes: Vec<u8>) -> Self {
        let mut records = Vec::new();
        let mut start = 0;
        while start < bytes.len() {
            let end = start + 2 + usize::from(u16::from_be_bytes([bytes[start], bytes[start + 1]]));
            records.push(start..end);
            start = end;
        }
        assert_eq!(start, bytes.len(), "the day is whole");
        let bodies = records.iter().map(|record| bytes[record.start + 2..record.end].to_vec());
        let bodies = bodies.collect();
        Self { name, bytes, records, bodies }
    }
}
