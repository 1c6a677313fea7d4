//! The metadata of a DBN file: the data set and the names of the stocks.

use std::{
    collections::HashMap,
    io::{self, Write},
};

use dbn::{
    MappingInterval, Metadata, Publisher, RecordHeader, SType, SymbolMapping,
    encode::DbnMetadataEncoder,
};
use nanotape_records::{RecordKind, UNSTATED_PUBLISHER_ID};
use nanotape_types::{LocateTable, Sentinel as _, StockLocate, Symbol};

use super::text_of;

const DAY_NS: u64 = 24 * 3600 * 1_000_000_000;

/// How long a name holds after receive times of another day than the trade date: a slow or long
/// replay ends some days later. Records of a later day name their stocks again.
const HOLDS_NS: u64 = 7 * DAY_NS;

/// The input of the metadata.
#[derive(Debug)]
pub(super) struct Contents<'a> {
    /// DBN's number of the feed and the venue; 0 if unknown.
    pub(super) publisher_id: u16,
    /// The exchange's midnight of the trade date; 0 if unknown.
    pub(super) midnight_ns: u64,
    /// Receive time of the first record; 0 before it.
    pub(super) first_ts_recv: u64,
    /// The selected symbols; empty selects all.
    pub(super) wanted: &'a [Symbol],
    /// Names by locate; blank if unknown.
    pub(super) names: &'a LocateTable<Symbol>,
    /// The only kind of record in the file, if there is one.
    pub(super) kind: Option<RecordKind>,
}

impl Contents<'_> {
    pub(super) fn write(&self, output: &mut impl Write) -> io::Result<()> {
        // Encodes in memory first, since the encoder writes field by field.
        let mut bytes = Vec::new();
        let encoded = DbnMetadataEncoder::new(&mut bytes).encode(&self.metadata());
        encoded.map_err(|error| io::Error::other(error.to_string()))?;
        output.write_all(&bytes)
    }

    fn metadata(&self) -> Metadata {
        let named = || self.names.iter().filter(|(_, name)| **name != Symbol::ABSENT);
        let (first, last) = self.times();
        // One mapping for a symbol, also if stocks of several sources have it: Databento's package
        // keeps only the last one.
        let (mut mappings, mut places) = (Vec::<SymbolMapping>::new(), HashMap::new());
        for (locate, symbol) in named() {
            let place = *places.entry(*symbol).or_insert_with(|| {
                let raw_symbol = text_of(*symbol);
                mappings.push(SymbolMapping { raw_symbol, intervals: Vec::new() });
                mappings.len() - 1
            });
            mappings[place].intervals.extend(interval(first, last, locate));
        }
        let all = || mappings.iter().map(|mapping| mapping.raw_symbol.clone()).collect();
        let symbols = match self.wanted {
            [] => all(),
            // A pattern is no symbol: the stocks that it selects have their names.
            wanted if wanted.iter().any(|symbol| symbol.is_pattern()) => all(),
            wanted => wanted.iter().copied().map(text_of).collect(),
        };
        Metadata::builder()
            .dataset(self.dataset())
            .schema(self.kind.map(RecordKind::schema))
            .start(first)
            .stype_in(Some(SType::RawSymbol))
            .stype_out(SType::InstrumentId)
            .symbols(symbols)
            .mappings(mappings)
            .build()
    }

    /// The name of the feed. A number that DBN does not have is one of a later version.
    fn dataset(&self) -> String {
        let stated = match self.publisher_id {
            0 => UNSTATED_PUBLISHER_ID,
            publisher_id => publisher_id,
        };
        let publisher = Publisher::try_from(stated);
        publisher.map_or_else(|_| format!("publisher {stated}"), |of| of.dataset().to_string())
    }

    /// The earliest time that a record can have, and one on the day after the last date of a
    /// record. Dates are those of UTC: a trade date begins on one and ends on the next.
    fn times(&self) -> (u64, u64) {
        let day = self.midnight_ns..self.midnight_ns.saturating_add(DAY_NS);
        match (self.midnight_ns, self.first_ts_recv) {
            (0, only) => (only, only.saturating_add(HOLDS_NS)),
            (midnight_ns, ts_recv) if ts_recv == 0 || day.contains(&ts_recv) => {
                (midnight_ns, (day.end - 1).saturating_add(DAY_NS))
            }
            (midnight_ns, ts_recv) => {
                (midnight_ns.min(ts_recv), day.end.max(ts_recv).saturating_add(HOLDS_NS))
            }
        }
    }
}

/// The days, from one time to another, on which a stock has a number.
fn interval(from_ns: u64, to_ns: u64, locate: StockLocate) -> Option<MappingInterval> {
    let time = |ns| RecordHeader::new::<dbn::MboMsg>(dbn::rtype::MBO, 0, 0, ns).ts_event();
    let (start_date, end_date) = (time(from_ns)?.date(), time(to_ns)?.date());
    Some(MappingInterval { start_date, end_date, symbol: locate.to_string() })
}
