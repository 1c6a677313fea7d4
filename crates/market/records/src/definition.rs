//! A definition of an instrument as DBN's record.

use dbn::{InstrumentClass, InstrumentDefMsg, MatchAlgorithm, RecordHeader, SecurityUpdateAction};
use nanotape_market::Definition;
use nanotape_types::{Maybe, Sentinel as _, Symbol};

use crate::Common;

/// The record of a definition. Fields without a value in the event stay undefined.
pub fn definition(common: &Common, symbol: Maybe<Symbol>, entry: &Definition) -> InstrumentDefMsg {
    let mut record = InstrumentDefMsg {
        hd: RecordHeader::new::<InstrumentDefMsg>(
            dbn::rtype::INSTRUMENT_DEF,
            common.instrument.publisher_id(),
            common.instrument.id(),
            common.ts_event,
        ),
        ts_recv: common.ts_recv,
        raw_instrument_id: u64::from(common.instrument.id()),
        min_lot_size_round_lot: i32::try_from(entry.round_lot_shares).unwrap_or(i32::MAX),
        instrument_class: InstrumentClass::Stock as u8 as _,
        match_algorithm: MatchAlgorithm::Fifo as u8 as _,
        security_update_action: SecurityUpdateAction::Add as u8 as _,
        ..InstrumentDefMsg::default()
    };
    write_text(&mut record.raw_symbol, &symbol_text(symbol.unwrap_or(Symbol::ABSENT)));
    write_text(&mut record.currency, b"USD");
    write_text(&mut record.settl_currency, b"USD");
    write_text(&mut record.exchange, entry.listing_venue.trimmed());
    // The exchange's own codes: the kind of issue, and the listing segment.
    write_text(&mut record.security_type, &[entry.issue_class]);
    write_text(&mut record.secsubtype, entry.issue_sub_type.trimmed());
    write_text(&mut record.group, &[entry.segment]);
    record
}

/// A symbol as printable ASCII without padding; other bytes become `?`.
pub fn symbol_text(symbol: Symbol) -> Vec<u8> {
    let bytes = symbol.as_bytes();
    let length = bytes.iter().rposition(|&b| b != b' ').map_or(0, |last| last + 1);
    bytes[..length].iter().map(|&b| if b.is_ascii_graphic() { b } else { b'?' }).collect()
}

/// Writes text and leaves at least one zero after it.
fn write_text<const N: usize>(field: &mut [core::ffi::c_char; N], text: &[u8]) {
    *field = [0; N];
    for (place, &byte) in field[..N - 1].iter_mut().zip(text) {
        *place = byte as _;
    }
}
