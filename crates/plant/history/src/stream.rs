//! Records in order, from a numbered stream or a DBN file.

use std::ops::ControlFlow;

use nanotape_records::Notice;
use nanotape_tape::{Gap, Item, Progress, Source};
use nanotape_types::{StockLocate, Symbol};

/// One step through a stream of records.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Entry<'a> {
    /// A record or a notice.
    Message {
        /// Its number in the stream.
        sequence: u64,
        /// The type of the record.
        type_id: u16,
        /// Its bytes.
        payload: &'a [u8],
    },
    /// A notice that the stream does not store as one.
    Notice {
        /// The number of the message that it is from, or of the next one.
        sequence: u64,
        /// The notice.
        notice: Notice,
    },
    /// The symbol of a stock.
    Name(StockLocate, Symbol),
    /// Messages that the stream lacks.
    Gap(Gap),
    /// A loss that the writer of the stream reported as text.
    Loss {
        /// The number of the message.
        sequence: u64,
        /// The report.
        text: &'a str,
    },
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
        Source::poll(self, |item| match item {
            Item::Message(message) => visit(Entry::Message {
                sequence: message.sequence,
                type_id: message.type_id,
                payload: message.payload,
            }),
            Item::Gap(gap) => visit(Entry::Gap(gap)),
            // A reading starts once and only advances, so no number occurs twice.
            Item::Reused(_) => ControlFlow::Continue(()),
        })
    }
}
