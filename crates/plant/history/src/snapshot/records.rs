//! A snapshot as records: for each stock a clear, then its live orders as adds in queue order.
//!
//! Layout: DBN's convention. All records have the flag `F_SNAPSHOT`, the last one of a stock also
//! `F_LAST`. Times and the message number are those of the moment of the snapshot.

use dbn::{Action, Side as DbnSide, UNDEF_PRICE, flags};
use nanotape_records::{
    Common, PublisherInstrument,
    encode::{Change, LAST, bytes, mbo},
};
use nanotape_types::{PriceScale, Side, StockLocate};

use super::{SnapshotError, SnapshotFile, SnapshotOrder, StockEntry};

/// The records of a snapshot, stock by stock.
#[derive(Debug)]
pub struct SnapshotRecords {
    file: SnapshotFile,
    publisher_id: u16,
    /// The stocks that follow.
    stocks: std::vec::IntoIter<StockEntry>,
    locate: StockLocate,
    /// The orders of the current stock that follow.
    orders: std::vec::IntoIter<SnapshotOrder>,
}

impl SnapshotRecords {
    /// The records of these stocks of a snapshot, of a publisher. The orders of others are not
    /// read.
    pub fn new(
        file: SnapshotFile,
        publisher_id: u16,
        is_wanted: impl FnMut(StockLocate) -> bool,
    ) -> Self {
        let mut is_wanted = is_wanted;
        let wanted = |entry: &&StockEntry| entry.locate.get() != 0 && is_wanted(entry.locate);
        let stocks: Vec<_> = file.stocks().iter().filter(wanted).copied().collect();
        let (locate, orders) = (StockLocate::default(), Vec::new().into_iter());
        Self { file, publisher_id, stocks: stocks.into_iter(), locate, orders }
    }

    /// The snapshot.
    pub fn file(&self) -> &SnapshotFile {
        &self.file
    }

    /// The stocks that follow.
    pub fn stocks(&self) -> impl Iterator<Item = &StockEntry> {
        self.stocks.as_slice().iter()
    }

    /// The next order record; `None` after the last.
    #[expect(clippy::should_implement_trait, reason = "an iterator of results is read to its end")]
    pub fn next(&mut self) -> Result<Option<[[u8; 8]; 7]>, SnapshotError> {
        if let Some(order) = self.orders.next() {
            let side = if order.side == Side::Buy { DbnSide::Bid } else { DbnSide::Ask };
            let (price, size) = (PriceScale::WIDE.nanos(order.price), order.shares.get());
            let change = Change { action: Action::Add, side, price, size };
            return Ok(Some(self.record(order.reference.get(), change)));
        }
        let Some(entry) = self.stocks.next() else { return Ok(None) };
        self.orders = self.file.orders_of(&entry)?.into_iter();
        self.locate = entry.locate;
        let (action, side) = (Action::Clear, DbnSide::None);
        let change = Change { action, side, price: UNDEF_PRICE, size: 0 };
        Ok(Some(self.record(0, change)))
    }

    fn record(&self, order_id: u64, change: Change) -> [[u8; 8]; 7] {
        let moment = self.file.moment();
        let common = Common {
            instrument: PublisherInstrument::none_of(self.publisher_id)
                .numbered(self.locate.get().into()),
            ts_event: moment.ts_event,
            ts_recv: self.file.mark().ts_ns,
            sequence: moment.message as u32,
            flags: flags::SNAPSHOT,
        };
        let last = if self.orders.as_slice().is_empty() { LAST } else { 0 };
        bytes(mbo(&common, last, order_id, change))
    }
}
