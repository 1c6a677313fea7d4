//! Records in order, from a numbered stream or a DBN file.

use std::{fmt, ops::ControlFlow};

use nanotape_records::Notice;
use nanotape_tape::{Gap, Item, Message, Progress, Source};
use nanotape_types::{StockLocate, Symbol};

/// One step through a stream of records.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Entry<'a> {
    /// A record or a notice as it is stored, or a gap.
    Item(Item<'a>),
    /// A record of the snapshot that a reading begins with. Its plant did not publish it.
    Opening(Message<'a>),
    /// A notice that the stream does not store as one.
    Notice {
        /// The number of the message that it is from, or of the next one.
        sequence: u64,
        /// The notice.
        notice: Notice,
    },
    /// The symbol of a stock.
    Name(StockLocate, Symbol),
    /// A loss that the writer of the stream reported as text.
    Loss {
        /// The number of the message.
        sequence: u64,
        /// The report.
        text: &'a str,
    },
    /// The entries before this one came from a journal; those after it come from its ring.
    Handover(Handover),
}

impl<'a> Entry<'a> {
    /// A record in a stream without times.
    pub fn record(sequence: u64, type_id: u16, payload: &'a [u8]) -> Self {
        Self::Item(Item::Message(Message { sequence, type_id, ts: None, payload }))
    }
}

/// The end of a reading in the journal: the numbers of what came from there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Handover {
    /// The first number that was read from the journal.
    pub from: u64,
    /// The last number that was read from the journal.
    pub to: u64,
    /// Records that the journal had.
    pub records: u64,
    /// Records that the journal lacked; each range was an [`Item::Gap`].
    pub lost: u64,
    /// Age of the first record when it was read: the time since it was recorded, in ns.
    pub behind_ns: u64,
    /// Duration of the reading in the journal, in ns.
    pub took_ns: u64,
}

/// `records 5 to 90 from the journal: 86, 0 lost, 12.3 ms behind, read in 1.2 ms`.
impl fmt::Display for Handover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, records, lost, behind_ns, took_ns } = *self;
        let milliseconds = |nanos: u64| nanos as f64 / 1e6;
        write!(
            f,
            "records {from} to {to} from the journal: {records}, {lost} lost, {:.3} ms behind, read \
             in {:.3} ms",
            milliseconds(behind_ns),
            milliseconds(took_ns)
        )
    }
}
impl Handover {
    /// A reading that begins at the record `next`.
    pub fn beginning_at(next: u64) -> Self {
        Self { from: next, to: next - 1, records: 0, lost: 0, behind_ns: 0, took_ns: 0 }
    }

    /// Adds records that the journal lacks.
    pub fn lose(&mut self, gap: &Gap) {
        self.lost += gap.count();
        self.to = gap.to;
    }
}

/// A stream of records that is read once, in order.
pub trait RecordStream {
    /// Why the stream cannot be read.
    type Error;

    /// Visits entries in order, as many as one poll finds; `Break` stops after the entry.
    /// [`Progress::Nothing`] is the end.
    fn poll(
        &mut self,
        visit: impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<Progress, Self::Error>;
}

impl<S: Source> RecordStream for S {
    type Error = S::Error;

    #[inline]
    fn poll(
        &mut self,
        mut visit: impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<Progress, S::Error> {
        Source::poll(self, |item| visit(Entry::Item(item)))
    }
}
