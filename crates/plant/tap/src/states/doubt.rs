//! Why a state might be wrong: the bits of [`StockState::doubts`](super::StockState::doubts).

/// A message did not fit the book, or a snapshot differed from it.
pub const TAINTED: u16 = 1;
/// Messages of the input are missing, and any book may lack them.
pub const SUSPECT: u16 = 2;
/// Records were lost before the keeper got them, and the inside has not changed since.
pub const MISSED: u16 = 4;
/// The records have the flag of a bad book, for a reason that the keeper has not seen.
pub const FLAGGED: u16 = 8;
/// The session was joined late: trades of before are missing.
pub const LATE: u16 = 16;
/// Messages of the input were lost or could not be read: trades and states may be missing.
pub const INPUT_LOST: u16 = 32;
/// Records were lost before the keeper got them: trades may be missing.
pub const RECORDS_LOST: u16 = 64;
/// A trade had more shares than a record can hold.
pub const OVERSIZED: u16 = 128;
/// Records were lost before the keeper got them, or two trading states of the same time came while
/// messages were missing; and the trading state has not changed since.
pub const STATE_MISSED: u16 = 256;
/// The plant does not publish insides, trades or trading states, so that these are not known.
pub const UNPUBLISHED: u16 = 512;

/// Records were lost before the keeper got them, or two restrictions of the same time came while
/// messages were missing; and the restriction of short sales has not changed since.
pub const RESTRICTION_MISSED: u16 = 1024;

/// All of them, with the words for each.
pub const ALL: [(u16, &str); 11] = [
    (TAINTED, "tainted"),
    (SUSPECT, "suspect"),
    (MISSED, "missed"),
    (FLAGGED, "flagged"),
    (LATE, "late"),
    (INPUT_LOST, "input_lost"),
    (RECORDS_LOST, "records_lost"),
    (OVERSIZED, "oversized"),
    (STATE_MISSED, "state_missed"),
    (UNPUBLISHED, "unpublished"),
    (RESTRICTION_MISSED, "restriction_missed"),
];

/// Doubts that a stock has because all stocks have them.
pub(crate) const OF_MARKET: u16 = SUSPECT | LATE | INPUT_LOST | RECORDS_LOST | UNPUBLISHED;

/// Doubts of a stock after a loss of records.
pub(crate) const AFTER_LOSS: u16 = RECORDS_LOST | MISSED | OF_STATES;

/// Doubts of a trading state and of a restriction.
pub(crate) const OF_STATES: u16 = STATE_MISSED | RESTRICTION_MISSED;

/// The words for doubts, with plus signs between them.
pub fn text(doubts: u16) -> String {
    let there = ALL.iter().filter(|(bit, _)| doubts & bit != 0);
    there.map(|(_, name)| *name).collect::<Vec<_>>().join("+")
}
