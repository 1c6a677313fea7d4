//! Notices as bytes: each is a call of the generated interface `Notices`, and back.

use nanotape_book::Anomaly;
use nanotape_interface::{Encoded, Message, UtcNanos};
use nanotape_market::SessionGap;

use super::{
    FIRST_TYPE_ID, Gap, GapKind, GapNotice, Notice, PlantStart, PlantStop, Predecessor,
    RestoredCause, RestoredNotice, StopReason, SuspectNotice, SuspectReason, Taint,
};
use crate::{
    RecordKinds,
    generated::notices::{Notices, NoticesWriter, dispatch},
};

/// Words of the longest notice.
const MOST_WORDS: usize = 15;

/// No line showed the gap: the answer of a server did.
const SEEN_BY_SERVER: u8 = 0xFF;

impl Notice {
    /// The highest type id with a notice of this version.
    pub const LAST_KNOWN_TYPE_ID: u16 = FIRST_TYPE_ID + 6;

    /// The type id on the ring.
    pub const fn type_id(&self) -> u16 {
        FIRST_TYPE_ID
            + match self {
                Self::Gap(_) => 0,
                Self::Taint(_) => 1,
                Self::Start(_) => 2,
                Self::Stop(_) => 3,
                Self::SessionGap(_) => 4,
                Self::Suspect(_) => 5,
                Self::Restored(_) => 6,
            }
    }

    /// Room for the words of any notice.
    pub const fn buffer() -> [[u8; 8]; MOST_WORDS] {
        [[0; 8]; MOST_WORDS]
    }

    /// Encodes the notice of a publisher into `buffer`, and returns the used bytes.
    pub fn encode<'b>(&self, publisher: u16, buffer: &'b mut [[u8; 8]; MOST_WORDS]) -> &'b [u8] {
        let mut encoded = Encoded::new(buffer);
        // The time of the message is that of the ring, and not in its bytes.
        let outcome = self.call(publisher, &mut NoticesWriter::new(&mut encoded, UtcNanos::new(0)));
        debug_assert!(outcome.is_ok(), "the buffer has room for any notice: {outcome:?}");
        encoded.into_payload()
    }

    /// Calls the method of this notice.
    fn call<H: Notices>(&self, publisher: u16, handler: &mut H) -> H::Output {
        match *self {
            Self::Gap(Gap { ts_recv, kind, offset, lost_bytes, after_message }) => {
                handler.gap(publisher, ts_recv, kind.code(), offset, lost_bytes, after_message)
            }
            Self::Taint(Taint { instrument_id, ts_event, ts_recv, anomaly, message }) => {
                let code = anomaly.map_or(u64::MAX, |anomaly| anomaly as u64);
                handler.taint(publisher, instrument_id, ts_event, ts_recv, code, message)
            }
            Self::Start(start) => handler.start(
                publisher,
                start.started_ns,
                start.midnight_ns,
                start.date,
                start.kinds.bits(),
                start.predecessor as u32,
                start.pace_milli,
            ),
            Self::Stop(stop) => handler.stop(
                publisher,
                stop.ts_event,
                stop.stopped_ns,
                stop.reason.code(),
                stop.messages,
                stop.records,
                stop.damaged,
                stop.anomalies,
                stop.digest,
            ),
            Self::SessionGap(GapNotice { ts_recv, gap }) => {
                let [a, b, c, d] = gap.lines;
                handler.session_gap(
                    publisher,
                    ts_recv,
                    gap.first,
                    gap.next,
                    gap.seen_ns,
                    gap.closed_ns,
                    gap.seen_by.unwrap_or(SEEN_BY_SERVER),
                    gap.requests,
                    a,
                    b,
                    c,
                    d,
                    gap.retransmitted,
                    gap.snapshot,
                    gap.lost,
                )
            }
            Self::Suspect(SuspectNotice { ts_recv, reason, first, next }) => {
                handler.suspect(publisher, ts_recv, reason.code(), first, next)
            }
            Self::Restored(RestoredNotice { instrument_id, ts_event, ts_recv, cause, next }) => {
                handler.restored(publisher, instrument_id, ts_event, ts_recv, cause.code(), next)
            }
        }
    }

    /// Decodes a notice; `None` if the bytes are too short for its type, or the type is unknown.
    /// Longer notices are from a later version, and their unknown fields are ignored.
    pub fn decode(type_id: u16, bytes: &[u8]) -> Option<Self> {
        // The caller knows the number of the message, and reports it.
        let message = Message { sequence: 0, type_id, ts: None, payload: bytes };
        dispatch(&message, &mut Decoder).ok().flatten()
    }
}

/// Makes a notice of each call.
struct Decoder;

impl Notices for Decoder {
    type Output = Option<Notice>;

    fn gap(
        &mut self,
        _: u16,
        ts_recv: u64,
        kind: u32,
        offset: u64,
        lost_bytes: u64,
        after_message: u64,
    ) -> Option<Notice> {
        let kind = GapKind::of(kind);
        Some(Notice::Gap(Gap { ts_recv, kind, offset, lost_bytes, after_message }))
    }

    fn taint(
        &mut self,
        _: u16,
        instrument_id: u32,
        ts_event: u64,
        ts_recv: u64,
        anomaly: u64,
        message: u64,
    ) -> Option<Notice> {
        let place = usize::try_from(anomaly).ok();
        let anomaly = place.and_then(|place| Anomaly::ALL.get(place).copied());
        Some(Notice::Taint(Taint { instrument_id, ts_event, ts_recv, anomaly, message }))
    }

    fn start(
        &mut self,
        publisher_id: u16,
        started_ns: u64,
        midnight_ns: u64,
        date: u32,
        kinds: u8,
        predecessor: u32,
        pace_milli: u32,
    ) -> Option<Notice> {
        let kinds = RecordKinds::of_bits(kinds);
        let predecessor = match predecessor {
            0 => Predecessor::None,
            1 => Predecessor::Closed,
            _ => Predecessor::Died,
        };
        let start = PlantStart {
            publisher_id,
            started_ns,
            midnight_ns,
            date,
            kinds,
            predecessor,
            pace_milli,
        };
        Some(Notice::Start(start))
    }

    fn stop(
        &mut self,
        _: u16,
        ts_event: u64,
        stopped_ns: u64,
        reason: u32,
        messages: u64,
        records: u64,
        damaged: u64,
        anomalies: u64,
        digest: u64,
    ) -> Option<Notice> {
        let reason = StopReason::of(reason);
        Some(Notice::Stop(PlantStop {
            ts_event,
            stopped_ns,
            reason,
            messages,
            records,
            damaged,
            anomalies,
            digest,
        }))
    }

    fn session_gap(
        &mut self,
        _: u16,
        ts_recv: u64,
        first: u64,
        next: u64,
        seen_ns: u64,
        closed_ns: u64,
        seen_by: u8,
        requests: u32,
        line_a: u64,
        line_b: u64,
        line_c: u64,
        line_d: u64,
        retransmitted: u64,
        snapshot: u64,
        lost: u64,
    ) -> Option<Notice> {
        let gap = SessionGap {
            first,
            next,
            seen_ns,
            closed_ns,
            seen_by: Some(seen_by).filter(|&line| line != SEEN_BY_SERVER),
            requests,
            lines: [line_a, line_b, line_c, line_d],
            retransmitted,
            snapshot,
            lost,
        };
        Some(Notice::SessionGap(GapNotice { ts_recv, gap }))
    }

    fn suspect(
        &mut self,
        _: u16,
        ts_recv: u64,
        reason: u32,
        first: u64,
        next: u64,
    ) -> Option<Notice> {
        let reason = SuspectReason::of(reason);
        Some(Notice::Suspect(SuspectNotice { ts_recv, reason, first, next }))
    }

    fn restored(
        &mut self,
        _: u16,
        instrument_id: u32,
        ts_event: u64,
        ts_recv: u64,
        cause: u32,
        next: u64,
    ) -> Option<Notice> {
        let cause = RestoredCause::of(cause);
        let restored = RestoredNotice { instrument_id, ts_event, ts_recv, cause, next };
        Some(Notice::Restored(restored))
    }

    fn unknown(&mut self, _: &Message<'_>) -> Option<Notice> {
        None
    }
}
