//! What a subscriber delivers: records, losses, and the ends of readings in the journal.

use std::fmt;

use nanotape_history::{Handover, LocalBooks};
use nanotape_records::Record;
use nanotape_ring::Gap;
use nanotape_types::{StockLocate, Symbol};

/// An event of a subscriber.
///
/// It is not `#[non_exhaustive]`. A program with an arm for any other event would lose data without
/// a word if a later version had one more kind of loss. So a new kind is a breaking change, and the
/// compiler names each match that must handle it.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A wanted record, or a notice.
    Record(Delivery<'a>),
    /// Records were overwritten before they could be read. Reading continues after them.
    Lost(Gap),
    /// The records before this event came from the journal; those after it come from the ring.
    Healed(Handover),
    /// A loss that a DBN file has as text: a part of the input of its plant, or records.
    Reported {
        /// The number of the message in the file.
        sequence: u64,
        /// The report.
        text: &'a str,
    },
}

/// What a snapshot at the begin of a subscriber lacks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Opening {
    /// The last record that it includes.
    pub sequence: u64,
    /// How many times records or input were lost before it.
    pub losses: u64,
    /// The number of the first loss.
    pub first_loss: u64,
    /// The selected stocks whose books were unreliable (tainted), and the number of the record that
    /// reported it.
    pub tainted: Vec<(StockLocate, u64)>,
}

impl Opening {
    /// Whether nothing was lost before it, and the books of the selected stocks are reliable.
    pub fn is_whole(&self) -> bool {
        self.losses == 0 && self.tainted.is_empty()
    }
}

/// `after record 90: 2 times records or input were lost before it, the first time at record 5`.
impl fmt::Display for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sequence, losses, first_loss, tainted } = self;
        write!(f, "after record {sequence}: ")?;
        if *losses > 0 {
            write!(f, "{losses} times records or input were lost before it, the first time at ")?;
            write!(f, "record {first_loss}")?;
        }
        if let Some((_, first)) = tainted.iter().min_by_key(|(_, sequence)| *sequence) {
            let separator = if *losses > 0 { "; " } else { "" };
            let count = tainted.len();
            write!(f, "{separator}books marked unreliable (tainted): {count}, the first one by ")?;
            write!(f, "record {first}")?;
        }
        Ok(())
    }
}

/// A record with its context.
#[derive(Clone, Copy, Debug)]
pub struct Delivery<'a> {
    /// The sequence number on the ring.
    pub sequence: u64,
    /// The record type on the ring.
    pub type_id: u16,
    /// The symbol of the stock, if the record has a stock and the symbol is known.
    pub symbol: Option<Symbol>,
    /// The record.
    pub record: Record<'a>,
    /// The bytes of the record on the ring, as for a DBN file.
    pub bytes: &'a [u8],
    /// The exchange's midnight of the record's run, if it is known.
    pub midnight_ns: Option<u64>,
    /// The local books after the record, if they are kept.
    pub books: Option<&'a LocalBooks>,
    /// For a stop, if digests are checked: whether the digest of all records that were read is that
    /// of the plant. `None` if records of the run were not read.
    pub is_digest_same: Option<bool>,
}
