//! Records of a DBN file that are not orders: upgraded to version 3, and notices from their text.

use std::ops::ControlFlow;

use dbn::{
    ErrorMsg, RecordHeader, RecordRef, SType, SymbolMappingMsg, SystemMsg, VersionUpgradePolicy,
    decode::dbn::RecordDecoder, rtype, v1, v2,
};
use nanotape_records::{
    Notice, PlantStart, PlantStop, RecordKind, RestoredNotice, Taint, UNSTATED_PUBLISHER_ID,
};
use nanotape_types::{StockLocate, Symbol};

use super::{At, DbnError, Layout, days::Days};
use crate::Entry;

/// The texts that a tap writes before those of a notice.
const START: &str = "plant start: ";
const STOP: &str = "plant stop: ";
const TAINT: &str = "taint: ";
const RESTORED: &str = "restored: ";

/// Visits a record that is not an order.
#[cold]
pub(super) fn visit_rare(
    days: &mut Days,
    layout: Layout,
    at: At,
    record: &[u8],
    visit: &mut impl FnMut(Entry<'_>) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, DbnError> {
    let type_of = record[1];
    let Some(bytes) = bytes_of(type_of, layout.version) else {
        return Ok(ControlFlow::Continue(()));
    };
    // The decoder panics on a record that is shorter than its type.
    let expected = bytes + layout.ts_out_bytes();
    if record.len() != expected {
        return Err(at.length(type_of, record.len(), expected));
    }
    let bad = || DbnError::Record { offset: at.offset, sequence: at.sequence, rtype: type_of };
    let policy = VersionUpgradePolicy::UpgradeToV3;
    let decoder = RecordDecoder::with_version(record, layout.version, policy, layout.has_ts_out);
    let mut decoder = decoder.map_err(|_| bad())?;
    let upgraded = decoder.decode_ref().ok().flatten().ok_or_else(bad)?;
    let sequence = at.sequence;
    Ok(match type_of {
        rtype::SYSTEM => {
            let system = upgraded.get::<SystemMsg>().ok_or_else(bad)?;
            visit_system(days, sequence, system, visit)
        }
        rtype::ERROR => {
            let error = upgraded.get::<ErrorMsg>().ok_or_else(bad)?;
            visit_error(sequence, error, visit)
        }
        rtype::SYMBOL_MAPPING => {
            let mapping = upgraded.get::<SymbolMappingMsg>().ok_or_else(bad)?;
            match name_of(mapping) {
                Some((locate, symbol)) => visit(Entry::Name(locate, symbol)),
                None => ControlFlow::Continue(()),
            }
        }
        _ => visit_upgraded(layout, sequence, upgraded, visit),
    })
}

/// The length of a record in a version; `None` for a type without effect on books.
fn bytes_of(type_of: u8, version: u8) -> Option<usize> {
    Some(match (type_of, version) {
        (rtype::SYSTEM, 1) => size_of::<v1::SystemMsg>(),
        (rtype::SYSTEM, _) => size_of::<SystemMsg>(),
        (rtype::ERROR, 1) => size_of::<v1::ErrorMsg>(),
        (rtype::ERROR, _) => size_of::<ErrorMsg>(),
        (rtype::SYMBOL_MAPPING, 1) => size_of::<v1::SymbolMappingMsg>(),
        (rtype::SYMBOL_MAPPING, _) => size_of::<SymbolMappingMsg>(),
        (rtype::INSTRUMENT_DEF, 1) => size_of::<v1::InstrumentDefMsg>(),
        (rtype::INSTRUMENT_DEF, 2) => size_of::<v2::InstrumentDefMsg>(),
        _ => RecordKind::of_type_id(type_of.into())?.length(),
    })
}

/// A record as it is in version 3, without the time of its sending.
fn visit_upgraded(
    layout: Layout,
    sequence: u64,
    record: RecordRef<'_>,
    visit: &mut impl FnMut(Entry<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let type_id = u16::from(record.header().rtype);
    let bytes: &[u8] = record.as_ref();
    let mut payload = bytes[..bytes.len().saturating_sub(layout.ts_out_bytes())].to_vec();
    if let Some(first) = payload.first_mut() {
        *first -= (layout.ts_out_bytes() / RecordHeader::LENGTH_MULTIPLIER) as u8;
    }
    visit(Entry::record(sequence, type_id, &payload))
}

fn visit_system(
    days: &mut Days,
    sequence: u64,
    system: &SystemMsg,
    visit: &mut impl FnMut(Entry<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let text = system.msg().unwrap_or_default();
    if let Some(text) = text.strip_prefix(START) {
        // A text of a later version still begins a run, of the date that its orders have.
        return match PlantStart::of_text(text, publisher_of(&system.hd), system.hd.ts_event) {
            Some(start) => days.plant_start(start, sequence, visit),
            None => ControlFlow::Continue(()),
        };
    }
    if let Some(text) = text.strip_prefix(STOP) {
        let stop = PlantStop::of_text(text, system.hd.ts_event);
        return days.plant_stop(stop, sequence, visit);
    }
    if let Some(text) = text.strip_prefix(RESTORED)
        && let Some((cause, next)) = RestoredNotice::of_text(after_name(text))
    {
        let RecordHeader { instrument_id, ts_event, .. } = system.hd;
        let restored = RestoredNotice { instrument_id, ts_event, ts_recv: ts_event, cause, next };
        return visit(Entry::Notice { sequence, notice: Notice::Restored(restored) });
    }
    ControlFlow::Continue(())
}

/// The publisher of a record that an earlier version wrote without one.
fn publisher_of(header: &RecordHeader) -> u16 {
    match header.publisher_id {
        0 => UNSTATED_PUBLISHER_ID,
        publisher_id => publisher_id,
    }
}

fn visit_error(
    sequence: u64,
    error: &ErrorMsg,
    visit: &mut impl FnMut(Entry<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let text = error.err().unwrap_or("an error without text");
    if let Some(text) = text.strip_prefix(TAINT) {
        let dbn::RecordHeader { instrument_id, ts_event, .. } = error.hd;
        let (anomaly, message) = Taint::of_text(after_name(text)).unwrap_or((None, 0));
        let taint = Taint { instrument_id, ts_event, ts_recv: ts_event, anomaly, message };
        return visit(Entry::Notice { sequence, notice: Notice::Taint(taint) });
    }
    visit(Entry::Loss { sequence, text })
}

/// The text of a notice without the name of its stock.
fn after_name(text: &str) -> &str {
    text.split_once(": ").map_or("", |(_, text)| text)
}

fn name_of(mapping: &SymbolMappingMsg) -> Option<(StockLocate, Symbol)> {
    let locate = u16::try_from(mapping.hd.instrument_id).ok()?;
    let symbol = match mapping.stype_out() {
        Ok(SType::InstrumentId) => mapping.stype_in_symbol(),
        _ => mapping.stype_out_symbol(),
    };
    Some((StockLocate::new(locate), symbol.ok()?.parse().ok()?))
}
