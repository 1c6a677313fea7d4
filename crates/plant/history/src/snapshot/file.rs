//! Reads a snapshot: its header and directory at once, the orders of a stock when they are needed.
//! A compressed file is unpacked into memory.
//!
//! Failure: everything is checked before it is used. A file of other bytes is
//! [`SnapshotError::Damaged`] with the offset.

use std::path::{Path, PathBuf};

use nanotape_journal::{Start, Tail, Tailer, checksum_bytes};
use nanotape_records::FIRST_TYPE_ID;
use nanotape_types::{OrderReferenceNumber, Price, Shares, Side, StockLocate};

use super::{ExcerptMark, SnapshotError, content::Content, layout};
use crate::{LocalBooks, Moment, RunState};

/// The type of stop records.
const STOP: u16 = FIRST_TYPE_ID + 3;

/// A snapshot on disk.
#[derive(Debug)]
pub struct SnapshotFile {
    path: PathBuf,
    content: Content,
    moment: Moment,
    mark: ExcerptMark,
    digest: u64,
    /// By locate.
    entries: Vec<StockEntry>,
    orders: u64,
    /// Bytes of the snapshot, before compression.
    bytes: u64,
}

/// A stock in a snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StockEntry {
    /// The stock.
    pub locate: StockLocate,
    /// Number of live orders to buy.
    pub buys: u32,
    /// Number of live orders to sell.
    pub sells: u32,
    /// The digest of its records.
    pub digest: u64,
    /// The number of the record that tainted its book; 0 if none did.
    pub tainted: u64,
    first_order: u64,
    check: u32,
}

/// A live order of a snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SnapshotOrder {
    /// The order.
    pub reference: OrderReferenceNumber,
    /// Its side.
    pub side: Side,
    /// Its price.
    pub price: Price,
    /// Its shares.
    pub shares: Shares,
}

impl SnapshotFile {
    /// Opens a snapshot; reads and checks its header and its directory. A file that was compressed
    /// meanwhile is read under its other name.
    pub fn open(path: &Path) -> Result<Self, SnapshotError> {
        let (content, header) = Content::open(path)?;
        let (path, length) = (content.path().to_owned(), content.length());
        let damaged = |offset: usize, what| SnapshotError::Damaged {
            path: path.clone(),
            offset: offset as u64,
            what,
        };
        let word = |at: usize| layout::word_at(&header, at);
        let (stocks, orders) = (word(layout::STOCKS), word(layout::ORDERS));
        if layout::stated_bytes(stocks, orders) != Some(length) {
            return Err(damaged(length as usize, "the file is not as long as its header states"));
        }
        let directory_bytes = stocks as usize * layout::ENTRY_BYTES;
        let mut directory = vec![0; directory_bytes];
        content.read_at(&mut directory, layout::HEADER_BYTES as u64)?;
        if u64::from(checksum_bytes(0, &directory)) != word(layout::DIRECTORY_CHECK) {
            return Err(damaged(layout::HEADER_BYTES, "the checksum of the directory is wrong"));
        }
        let entries: Vec<_> = directory.chunks(layout::ENTRY_BYTES).map(StockEntry::of).collect();
        if let Some(at) = first_bad_entry(&entries, orders) {
            let at = layout::HEADER_BYTES + at * layout::ENTRY_BYTES;
            return Err(damaged(at, "the entry of a stock is out of order"));
        }
        Ok(Self {
            content,
            moment: Moment {
                sequence: word(layout::SEQUENCE),
                ts_event: word(layout::TS_EVENT),
                message: word(layout::MESSAGE),
                first_sequence: word(layout::FIRST_SEQUENCE),
                started_ns: word(layout::STARTED),
                midnight_ns: word(layout::MIDNIGHT),
                losses: word(layout::LOSSES),
                first_loss: word(layout::FIRST_LOSS),
            },
            mark: ExcerptMark {
                ts_ns: word(layout::EXCERPT_TS),
                type_id: (word(layout::EXCERPT_CHECK) >> 32) as u16,
                check: word(layout::EXCERPT_CHECK) as u32,
            },
            digest: word(layout::DIGEST),
            entries,
            orders,
            bytes: length,
            path,
        })
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its bytes, before compression.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The position in its run.
    pub fn moment(&self) -> &Moment {
        &self.moment
    }

    /// The first record to read after the snapshot. After the stop of a run that is the stop
    /// itself, which changes no book and completes the run.
    pub fn next_sequence(&self) -> u64 {
        let is_stop = self.mark.type_id == STOP;
        self.moment.sequence + u64::from(!is_stop)
    }

    /// The mark of the last record that is included.
    pub fn mark(&self) -> ExcerptMark {
        self.mark
    }

    /// The digest of all stocks together.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// Number of live orders.
    pub fn orders(&self) -> u64 {
        self.orders
    }

    /// Its stocks, by locate.
    pub fn stocks(&self) -> &[StockEntry] {
        &self.entries
    }

    /// The entry of a stock; `None` if the stock has no records.
    pub fn stock(&self, locate: StockLocate) -> Option<&StockEntry> {
        let at = self.entries.binary_search_by_key(&locate, |entry| entry.locate).ok()?;
        Some(&self.entries[at])
    }

    /// The live orders of a stock: buys, then sells, each from the best price, in queue order.
    pub fn orders_of(&self, entry: &StockEntry) -> Result<Vec<SnapshotOrder>, SnapshotError> {
        let (count, offset) = (entry.count() as usize, self.offset_of(entry));
        let mut bytes = vec![0; count * layout::ORDER_BYTES];
        self.content.read_at(&mut bytes, offset)?;
        if checksum_bytes(0, &bytes) != entry.check {
            let what = "the checksum of the orders of a stock is wrong";
            return Err(SnapshotError::Damaged { path: self.path.clone(), offset, what });
        }
        let order = |(index, words): (usize, &[u8])| {
            let price_shares = layout::word_at(words, 1);
            SnapshotOrder {
                reference: OrderReferenceNumber::new(layout::word_at(words, 0)),
                side: if index < entry.buys as usize { Side::Buy } else { Side::Sell },
                price: Price::new(price_shares as u32),
                shares: Shares::new((price_shares >> 32) as u32),
            }
        };
        let orders: Vec<_> = bytes.chunks(layout::ORDER_BYTES).enumerate().map(order).collect();
        match first_bad_order(&orders) {
            Some(place) => Err(self.bad_order(entry, place)),
            None => Ok(orders),
        }
    }

    /// All of its bytes, before compression.
    pub fn to_bytes(&self) -> Result<Vec<u8>, SnapshotError> {
        let mut bytes = vec![0; self.bytes as usize];
        self.content.read_at(&mut bytes, 0)?;
        Ok(bytes)
    }

    /// The state of the run at the snapshot, with all books.
    pub fn state(&self) -> Result<RunState, SnapshotError> {
        let mut books = LocalBooks::with_capacity(self.orders as usize);
        books.begin_at(self.moment.losses == 0);
        let mut state = RunState::at(self.moment, books);
        for entry in &self.entries {
            state.digests.set(entry.locate, entry.digest);
            state.tainted[entry.locate] = entry.tainted;
            for (place, order) in self.orders_of(entry)?.iter().enumerate() {
                if state.books.enter(entry.locate, order).is_some() {
                    return Err(self.bad_order(entry, place));
                }
            }
        }
        Ok(state)
    }

    /// The error of an order of a stock that no book can have.
    fn bad_order(&self, entry: &StockEntry, place: usize) -> SnapshotError {
        let offset = self.offset_of(entry) + (place * layout::ORDER_BYTES) as u64;
        let what = "an order has no shares, or its reference number occurs twice";
        SnapshotError::Damaged { path: self.path.clone(), offset, what }
    }

    /// The offset of the orders of a stock.
    fn offset_of(&self, entry: &StockEntry) -> u64 {
        let data = layout::HEADER_BYTES + self.entries.len() * layout::ENTRY_BYTES;
        data as u64 + entry.first_order * layout::ORDER_BYTES as u64
    }

    /// Whether the journal has the excerpt after which the snapshot was taken.
    pub fn is_of(&self, journal: &Path) -> bool {
        let Ok(mut tailer) = Tailer::open(journal, Start::Sequence(self.moment.sequence)) else {
            return false;
        };
        match tailer.next() {
            Ok(Tail::Excerpt(excerpt)) => {
                excerpt.sequence() == self.moment.sequence
                    && ExcerptMark::of(excerpt.ts_ns(), excerpt.type_id(), &excerpt.to_vec())
                        == self.mark
            }
            _ => false,
        }
    }
}

impl StockEntry {
    fn of(bytes: &[u8]) -> Self {
        let counts = layout::word_at(bytes, 2);
        Self {
            locate: StockLocate::new(layout::word_at(bytes, 0) as u16),
            first_order: layout::word_at(bytes, 1),
            buys: counts as u32,
            sells: (counts >> 32) as u32,
            digest: layout::word_at(bytes, 3),
            tainted: layout::word_at(bytes, 4),
            check: layout::word_at(bytes, 5) as u32,
        }
    }

    /// Number of live orders.
    pub fn count(&self) -> u64 {
        u64::from(self.buys) + u64::from(self.sells)
    }
}

/// The first entry that does not follow the one before it.
fn first_bad_entry(entries: &[StockEntry], orders: u64) -> Option<usize> {
    let mut next = (0, None);
    for (index, entry) in entries.iter().enumerate() {
        if entry.first_order != next.0 || next.1.is_some_and(|last| last >= entry.locate) {
            return Some(index);
        }
        next = (next.0 + entry.count(), Some(entry.locate));
    }
    (next.0 != orders).then_some(entries.len())
}

/// The first order of a stock that no book can have.
fn first_bad_order(orders: &[SnapshotOrder]) -> Option<usize> {
    let mut places: Vec<_> = (0..orders.len()).collect();
    places.sort_unstable_by_key(|&place| (orders[place].reference, place));
    let twice = places.windows(2).filter_map(|pair| match pair {
        &[one, two] if orders[one].reference == orders[two].reference => Some(two),
        _ => None,
    });
    let empty = orders.iter().position(|order| order.shares.get() == 0);
    twice.chain(empty).min()
}

#[cfg(test)]
mod tests;
