//! An event that outlives the buffer of its subscriber.

use nanotape_history::Handover;
use nanotape_records::{Header, Record, RecordBuffer, dbn::UNDEF_TIMESTAMP};
use nanotape_ring::Gap;
use nanotape_types::Symbol;

use crate::{Delivery, Event};

/// The time by which events of several sources are put in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MergeBy {
    /// When the plant received the message.
    TsRecv,
    /// The exchange's time of the message.
    TsEvent,
}

/// A copy of an event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StoredEvent {
    /// A record, or a notice.
    Record {
        /// Its number, type and context: see [`Delivery`].
        sequence: u64,
        /// Its type.
        type_id: u16,
        /// The symbol of its stock.
        symbol: Option<Symbol>,
        /// The midnight of its run.
        midnight_ns: Option<u64>,
        /// Its bytes.
        bytes: Box<[u8]>,
    },
    /// Lost records.
    Lost(Gap),
    /// The end of a reading in the journal.
    Healed(Handover),
    /// A loss that a DBN file has as text.
    Reported {
        /// The number of the message in the file.
        sequence: u64,
        /// The report.
        text: Box<str>,
    },
}

impl StoredEvent {
    /// Copies an event.
    pub fn of(event: &Event<'_>) -> Self {
        match event {
            Event::Record(Delivery { sequence, type_id, symbol, midnight_ns, bytes, .. }) => {
                Self::Record {
                    sequence: *sequence,
                    type_id: *type_id,
                    symbol: *symbol,
                    midnight_ns: *midnight_ns,
                    bytes: (*bytes).into(),
                }
            }
            Event::Lost(gap) => Self::Lost(*gap),
            Event::Healed(handover) => Self::Healed(*handover),
            Event::Reported { sequence, text } => {
                Self::Reported { sequence: *sequence, text: (*text).into() }
            }
        }
    }

    /// The event. `None` if it cannot be decoded any more, which it could when it was copied.
    pub fn event<'a>(&'a self, buffer: &'a mut RecordBuffer) -> Option<Event<'a>> {
        Some(match self {
            Self::Record { sequence, type_id, symbol, midnight_ns, bytes } => {
                Event::Record(Delivery {
                    sequence: *sequence,
                    type_id: *type_id,
                    symbol: *symbol,
                    record: buffer.decode(*sequence, *type_id, bytes).ok().flatten()?,
                    bytes,
                    midnight_ns: *midnight_ns,
                    books: None,
                    is_digest_same: None,
                })
            }
            Self::Lost(gap) => Event::Lost(*gap),
            Self::Healed(handover) => Event::Healed(*handover),
            Self::Reported { sequence, text } => Event::Reported { sequence: *sequence, text },
        })
    }
}

impl MergeBy {
    /// The time of an event. `None` if it has none: it belongs to the event before it.
    pub fn time_of(self, event: &Event<'_>) -> Option<u64> {
        let Event::Record(Delivery { record, bytes, .. }) = event else { return None };
        match (self, record) {
            (Self::TsRecv, Record::Notice(notice)) => notice_ts_recv(notice),
            (Self::TsRecv, record) => record.ts_recv(),
            (Self::TsEvent, _) => {
                Header::of(bytes).map(|of| of.ts_event).filter(|&ts_ns| ts_ns != UNDEF_TIMESTAMP)
            }
        }
    }
}

fn notice_ts_recv(notice: &nanotape_records::Notice) -> Option<u64> {
    use nanotape_records::Notice;
    Some(match notice {
        Notice::Gap(gap) => gap.ts_recv,
        Notice::Taint(taint) => taint.ts_recv,
        Notice::Start(start) => start.started_ns,
        Notice::Stop(stop) => stop.stopped_ns,
        Notice::SessionGap(gap) => gap.ts_recv,
        Notice::Suspect(suspect) => suspect.ts_recv,
        Notice::Restored(restored) => restored.ts_recv,
    })
}
