//! A stock directory message as DBN's instrument definition.

use dbn::{InstrumentClass, InstrumentDefMsg, MatchAlgorithm, RecordHeader, SecurityUpdateAction};
use nanotape_types::Symbol;
use nanotape_wire::itch50::{MarketCategory, StockDirectory};

use crate::{Common, PUBLISHER_ID};

/// The definition of a stock. What ITCH does not say stays undefined.
pub fn definition(common: &Common, entry: StockDirectory<'_>) -> InstrumentDefMsg {
    let mut record = InstrumentDefMsg {
        hd: RecordHeader::new::<InstrumentDefMsg>(
            dbn::rtype::INSTRUMENT_DEF,
            PUBLISHER_ID,
            common.instrument_id,
            common.ts_event,
        ),
        ts_recv: common.ts_recv,
        raw_instrument_id: u64::from(common.instrument_id),
        min_lot_size_round_lot: i32::try_from(entry.round_lot_size()).unwrap_or(i32::MAX),
        instrument_class: InstrumentClass::Stock as u8 as _,
        match_algorithm: MatchAlgorithm::Fifo as u8 as _,
        security_update_action: SecurityUpdateAction::Add as u8 as _,
        ..InstrumentDefMsg::default()
    };
    write_text(&mut record.raw_symbol, &symbol_text(entry.stock()));
    write_text(&mut record.currency, b"USD");
    write_text(&mut record.settl_currency, b"USD");
    write_text(&mut record.exchange, listing_venue(entry.market_category()));
    // The exchange's own codes: what kind of issue it is, and where it is listed.
    write_text(&mut record.security_type, &[entry.issue_classification().code()]);
    write_text(&mut record.secsubtype, entry.issue_sub_type().trimmed());
    write_text(&mut record.group, &[entry.market_category().code()]);
    record
}

/// The market identifier code (ISO 10383) of where a stock is listed; empty if that is not told.
fn listing_venue(category: MarketCategory) -> &'static [u8] {
    match category {
        MarketCategory::NasdaqGlobalSelect
        | MarketCategory::NasdaqGlobal
        | MarketCategory::NasdaqCapital => b"XNAS",
        MarketCategory::Nyse => b"XNYS",
        MarketCategory::NyseAmerican => b"XASE",
        MarketCategory::NyseArca => b"ARCX",
        MarketCategory::CboeBzx => b"BATS",
        MarketCategory::Iex => b"IEXG",
        MarketCategory::NyseTexas => b"XCHI",
        MarketCategory::NotAvailable | MarketCategory::Unknown(_) => b"",
    }
}

/// A symbol as text of printable ASCII without padding: what is anything else becomes `?`.
pub fn symbol_text(symbol: Symbol) -> Vec<u8> {
    let bytes = symbol.as_bytes();
    let length = bytes.iter().rposition(|&b| b != b' ').map_or(0, |last| last + 1);
    bytes[..length].iter().map(|&b| if b.is_ascii_graphic() { b } else { b'?' }).collect()
}

/// Writes text and leaves at least one zero behind it.
fn write_text<const N: usize>(field: &mut [core::ffi::c_char; N], text: &[u8]) {
    *field = [0; N];
    for (place, &byte) in field[..N - 1].iter_mut().zip(text) {
        *place = byte as _;
    }
}
