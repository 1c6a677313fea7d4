//! The meaning of each word of a board.

use nanotape_book::Anomaly;
use nanotape_history::Run;
use nanotape_records::{PlantStart, RecordKind, RecordKinds};
use nanotape_shm::field;
use nanotape_types::StockLocate;

use super::{live, stages};

/// The kind of region.
pub const KIND: [u8; 8] = *b"BOARD   ";

/// Changes whenever the meaning of a word changes.
pub const LAYOUT: u64 = u64::from_be_bytes(*b"board  4");

/// Values that are constant for a run: in the header of the region.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BoardSpec {
    /// The ring's sequence number of the run's first record: its start.
    pub first_sequence: u64,
    /// Start time of the run, ns since the UNIX epoch.
    pub started_ns: u64,
    /// The exchange's midnight of the trade date, ns since the UNIX epoch.
    pub midnight_ns: u64,
    /// The trade date as the number YYYYMMDD.
    pub date: u32,
    /// Speed relative to recorded time, in thousandths; 0 is unlimited. Below 2^24.
    pub pace_milli: u32,
    /// The bits of the kinds of records.
    pub kinds: u8,
    /// DBN's number of the feed and the venue. It is in a word of the board.
    pub publisher_id: u16,
}

impl BoardSpec {
    /// The values of the run that begins with `start`.
    pub fn of(start: &PlantStart, first_sequence: u64) -> Self {
        Self {
            first_sequence,
            started_ns: start.started_ns,
            midnight_ns: start.midnight_ns,
            date: start.date,
            pace_milli: start.pace_milli,
            kinds: start.kinds.bits(),
            publisher_id: start.publisher_id,
        }
    }

    /// The values of a run; the pace is not among those that are stored of one.
    pub fn of_run(run: &Run) -> Self {
        let &Run { first_sequence, started_ns, midnight_ns, date, publisher_id, kinds, .. } = run;
        let (pace_milli, kinds) = (0, kinds.bits());
        Self { first_sequence, started_ns, midnight_ns, date, pace_milli, kinds, publisher_id }
    }

    /// The run, without names.
    pub fn as_run(&self) -> Run {
        let Self { first_sequence, started_ns, midnight_ns, date, publisher_id, .. } = *self;
        let kinds = RecordKinds::of_bits(self.kinds);
        let names = Vec::new();
        Run { first_sequence, started_ns, midnight_ns, date, publisher_id, kinds, names }
    }

    /// The values as parameters of the header, without the publisher.
    pub(super) fn parameters(&self) -> [u64; 4] {
        let packed = u64::from(self.date)
            | u64::from(self.pace_milli & 0xFF_FFFF) << 32
            | u64::from(self.kinds) << 56;
        [self.first_sequence, self.started_ns, self.midnight_ns, packed]
    }

    pub(super) fn of_parameters(parameters: [u64; 4]) -> Self {
        let [first_sequence, started_ns, midnight_ns, packed] = parameters;
        Self {
            first_sequence,
            started_ns,
            midnight_ns,
            date: packed as u32,
            pace_milli: (packed >> 32) as u32 & 0xFF_FFFF,
            kinds: (packed >> 56) as u8,
            publisher_id: 0,
        }
    }
}

// The state: the activity of the plant in the lower half, the reason for its end in the upper one.
pub(super) const STATE: usize = 0;
pub(super) const RUNNING: u64 = 1;
pub(super) const STOPPED: u64 = 2;

/// Time of the last update of the board.
pub(super) const UPDATED_NS: usize = 1;
pub(super) const MESSAGES: usize = 2;
/// The exchange's time of the last message.
pub(super) const TS_EVENT: usize = 3;
/// Offset of the last message in the (decompressed) input.
pub(super) const OFFSET: usize = 4;
/// Bytes of the stored input: read, and in total (0 if unknown).
pub(super) const INPUT_DONE: usize = 5;
pub(super) const INPUT_TOTAL: usize = 6;
pub(super) const LIVE_ORDERS: usize = 7;
/// Records by kind.
pub(super) const RECORDS: usize = 8;
pub(super) const NOTICES: usize = 16;
/// What the plant waits for; 0: nothing.
pub(super) const WAITING: usize = 17;
/// The exchange's time of the message that is waited for, and when it is due.
pub(super) const WAITING_EVENT_NS: usize = 18;
pub(super) const WAITING_DUE_NS: usize = 19;
/// Named followers that have joined.
pub(super) const WAITING_JOINED: usize = 20;
/// Named followers that are waited for before the first record; 0: none.
pub(super) const WAIT_FOR: usize = 21;
/// The number of the plant among the writers of the ring.
pub(super) const WRITER_EPOCH: usize = 22;
/// DBN's number of the feed and the venue; 0: that of a version that knew only one.
pub(super) const PUBLISHER: usize = 23;
/// Damaged parts of the input: length, type, lost.
pub(super) const DAMAGES: usize = 24;
pub(super) const LOST_BYTES: usize = 28;
/// Messages of a session that no line brought.
pub(super) const LOST_MESSAGES: usize = 29;
pub(super) const TAINTED_STOCKS: usize = 31;
/// Messages that did not fit, by kind, in the order of [`Anomaly::ALL`].
pub(super) const ANOMALIES: usize = 32;
/// Histograms of the times in each stage.
pub(super) const STAGES: usize = 64;
/// Symbols by stock locate: eight bytes, padded with spaces; 0 if unknown.
pub(super) const SYMBOLS: usize = 1024;
/// Number of messages that did not fit, by stock locate.
pub(super) const TAINTS: usize = SYMBOLS + StockLocate::COUNT;
/// A live session: its lines, gaps and races.
pub(super) const LIVE: usize = TAINTS + StockLocate::COUNT;
pub(super) const WORDS: usize = LIVE + live::WORDS;

/// Offset and size in bytes and the name of each word or table, as in `docs/formats/board.md`.
pub const FIELDS: [(usize, usize, &str); 26] = [
    field(STATE, 1, "state"),
    field(UPDATED_NS, 1, "updated_ns"),
    field(MESSAGES, 1, "messages"),
    field(TS_EVENT, 1, "ts_event"),
    field(OFFSET, 1, "offset"),
    field(INPUT_DONE, 1, "input_done_bytes"),
    field(INPUT_TOTAL, 1, "input_total_bytes"),
    field(LIVE_ORDERS, 1, "live_orders"),
    field(RECORDS, RecordKind::ALL.len(), "records"),
    field(NOTICES, 1, "notices"),
    field(WAITING, 1, "waiting"),
    field(WAITING_EVENT_NS, 1, "waiting_event_ns"),
    field(WAITING_DUE_NS, 1, "waiting_due_ns"),
    field(WAITING_JOINED, 1, "waiting_joined"),
    field(WAIT_FOR, 1, "wait_for"),
    field(WRITER_EPOCH, 1, "writer_epoch"),
    field(PUBLISHER, 1, "publisher_id"),
    field(DAMAGES, 3, "damages"),
    field(LOST_BYTES, 1, "lost_bytes"),
    field(LOST_MESSAGES, 1, "lost_messages"),
    field(TAINTED_STOCKS, 1, "tainted_stocks"),
    field(ANOMALIES, Anomaly::ALL.len(), "anomalies"),
    field(STAGES, stages::BUCKETS * stages::Stage::ALL.len(), "stages"),
    field(SYMBOLS, StockLocate::COUNT, "symbols"),
    field(TAINTS, StockLocate::COUNT, "taints"),
    field(LIVE, live::WORDS, "live"),
];

const _: () = {
    assert!(RECORDS + RecordKind::ALL.len() <= NOTICES);
    assert!(PUBLISHER < DAMAGES);
    assert!(ANOMALIES + Anomaly::ALL.len() <= STAGES);
    assert!(STAGES + stages::BUCKETS * stages::Stage::ALL.len() <= SYMBOLS);
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spec_is_the_same_after_it_was_in_a_header() {
        let spec = BoardSpec {
            first_sequence: 1,
            started_ns: u64::MAX,
            midnight_ns: 3,
            date: 20_191_230,
            pace_milli: 0xFF_FFFF,
            kinds: 0x3F,
            publisher_id: 0,
        };
        assert_eq!(BoardSpec::of_parameters(spec.parameters()), spec);
    }
}
