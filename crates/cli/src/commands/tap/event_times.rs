//! `--ts-recv event`: records with the exchange's time as their receive time.
//!
//! A replay stamps its own time as the receive time, and tools that index by it would put the
//! records of a day into the minutes of the replay.

use nanotape_plant::{
    Delivery, Event, dbn,
    records::{Header, RecordBuffer, RecordKind},
};

#[derive(Default)]
pub(super) struct EventTimes {
    bytes: Vec<u8>,
    record: RecordBuffer,
}

impl EventTimes {
    /// The event with the other receive time; None if it has no receive time, or no exchange time.
    #[inline]
    pub(super) fn of(&mut self, event: &Event<'_>) -> Option<Event<'_>> {
        let Event::Record(delivery) = event else { return None };
        let kind = RecordKind::of_type_id(delivery.type_id)?;
        let ts_event = Header::of(delivery.bytes)?.ts_event;
        if ts_event == dbn::UNDEF_TIMESTAMP {
            return None;
        }
        self.bytes.clear();
        self.bytes.extend_from_slice(delivery.bytes);
        let ts_recv = self.bytes.get_mut(kind.ts_recv_offset()..)?.first_chunk_mut()?;
        *ts_recv = ts_event.to_le_bytes();
        let Delivery { sequence, type_id, symbol, midnight_ns, is_digest_same, .. } = *delivery;
        let record = self.record.decode(sequence, type_id, &self.bytes).ok()??;
        Some(Event::Record(Delivery {
            sequence,
            type_id,
            symbol,
            record,
            bytes: &self.bytes,
            midnight_ns,
            books: None,
            is_digest_same,
        }))
    }
}
