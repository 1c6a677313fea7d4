//! Writes a snapshot: header, directory of stocks, orders.
//!
//! Protocol: the file is [complete](store::complete) before it has its name.

use std::path::{Path, PathBuf};

use nanotape_book::Order;
use nanotape_journal::{Folder, SNAPSHOTS, checksum_bytes};
use nanotape_types::{OrderReferenceNumber, Side, StockLocate};

use super::{ExcerptMark, SnapshotError, layout, store};
use crate::RunState;

/// A snapshot that was written.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Written {
    /// Its file.
    pub path: PathBuf,
    /// Bytes of the file.
    pub bytes: u64,
    /// The last record that it includes.
    pub sequence: u64,
    /// The exchange's time of that moment, ns since the UNIX epoch.
    pub ts_event: u64,
    /// Stocks with records.
    pub stocks: usize,
    /// Live orders.
    pub orders: usize,
}

impl RunState {
    /// Writes a snapshot into the folder of a journal. `mark` is that of the last applied excerpt.
    pub fn write_snapshot(
        &self,
        journal: &Path,
        mark: ExcerptMark,
        mode: u32,
    ) -> Result<Written, SnapshotError> {
        let encoded = Encoded::of(self, mark);
        let folder = journal.join(SNAPSHOTS);
        Folder::new(journal, mode)
            .folder(SNAPSHOTS)
            .map_err(SnapshotError::system("create", &folder))?;
        let path = folder.join(store::name(self.moment.sequence, self.moment.ts_event));
        let part = path.with_extension(store::PART);
        store::complete(&part, &path, mode, &encoded.bytes)
            .map_err(SnapshotError::system("write", &path))?;
        Ok(Written {
            bytes: encoded.bytes.len() as u64,
            sequence: self.moment.sequence,
            ts_event: self.moment.ts_event,
            stocks: encoded.stocks,
            orders: encoded.orders,
            path,
        })
    }
}

/// The bytes of a snapshot of this state.
pub(crate) fn encoded(state: &RunState, mark: ExcerptMark) -> Vec<u8> {
    Encoded::of(state, mark).bytes
}

struct Encoded {
    bytes: Vec<u8>,
    stocks: usize,
    orders: usize,
}

impl Encoded {
    fn of(state: &RunState, mark: ExcerptMark) -> Self {
        let orders = state.all_books().in_queue_order();
        let stocks: Vec<StockLocate> = state.stocks().collect();
        let mut bytes = vec![0; layout::HEADER_BYTES];
        bytes.reserve(stocks.len() * layout::ENTRY_BYTES + orders.len() * layout::ORDER_BYTES);
        let mut rest = orders.as_slice();
        let mut first_order = 0;
        for &locate in &stocks {
            let count = rest.partition_point(|(_, order)| order.stock_locate <= locate);
            let (own, later) = rest.split_at(count);
            push_entry(&mut bytes, state, locate, first_order, own);
            (rest, first_order) = (later, first_order + count);
        }
        for order in &orders {
            bytes.extend_from_slice(words_of(order).as_flattened());
        }
        let directory =
            layout::HEADER_BYTES..layout::HEADER_BYTES + stocks.len() * layout::ENTRY_BYTES;
        let directory_check = checksum_bytes(0, &bytes[directory]);
        let counts = (stocks.len(), orders.len());
        let header = header(state, mark, counts, directory_check);
        bytes[..layout::HEADER_BYTES].copy_from_slice(header.as_flattened());
        Self { bytes, stocks: counts.0, orders: counts.1 }
    }
}

fn push_entry(
    bytes: &mut Vec<u8>,
    state: &RunState,
    locate: StockLocate,
    first_order: usize,
    orders: &[(OrderReferenceNumber, Order)],
) {
    let buys = orders.partition_point(|(_, order)| order.side == Side::Buy) as u64;
    let sells = orders.len() as u64 - buys;
    let check =
        orders.iter().fold(0, |sum, order| checksum_bytes(sum, words_of(order).as_flattened()));
    let entry = [
        u64::from(locate.get()),
        first_order as u64,
        buys | sells << 32,
        state.digests.of(locate),
        state.tainted[locate],
        u64::from(check),
    ];
    bytes.extend_from_slice(entry.map(u64::to_le_bytes).as_flattened());
}

fn words_of((reference, order): &(OrderReferenceNumber, Order)) -> [[u8; 8]; 2] {
    let price_shares = u64::from(order.price.code()) | u64::from(order.shares.get()) << 32;
    [reference.get().to_le_bytes(), price_shares.to_le_bytes()]
}

fn header(
    state: &RunState,
    mark: ExcerptMark,
    (stocks, orders): (usize, usize),
    directory_check: u32,
) -> [[u8; 8]; layout::HEADER_WORDS] {
    let moment = state.moment;
    let mut words = [0; layout::HEADER_WORDS];
    words[0] = u64::from_le_bytes(layout::MAGIC);
    words[1] = layout::LAYOUT;
    words[layout::SEQUENCE] = moment.sequence;
    words[layout::EXCERPT_TS] = mark.ts_ns;
    words[layout::EXCERPT_CHECK] = u64::from(mark.check) | u64::from(mark.type_id) << 32;
    words[layout::TS_EVENT] = moment.ts_event;
    words[layout::MESSAGE] = moment.message;
    words[layout::FIRST_SEQUENCE] = moment.first_sequence;
    words[layout::STARTED] = moment.started_ns;
    words[layout::MIDNIGHT] = moment.midnight_ns;
    words[layout::LOSSES] = moment.losses;
    words[layout::FIRST_LOSS] = moment.first_loss;
    words[layout::STOCKS] = stocks as u64;
    words[layout::ORDERS] = orders as u64;
    words[layout::DIGEST] = state.digests.total();
    words[layout::DIRECTORY_CHECK] = u64::from(directory_check);
    let mut header = words.map(u64::to_le_bytes);
    let checked = header[..layout::HEADER_CHECK].as_flattened();
    let check = u64::from(checksum_bytes(0, checked)) | layout::HEAD << 32;
    header[layout::HEADER_CHECK] = check.to_le_bytes();
    header
}
