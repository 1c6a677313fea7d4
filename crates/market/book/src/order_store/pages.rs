//! The default: a direct index by order reference number, in small pages that are freed when empty.
//!
//! ```text
//! reference  | chunk | entry 10 bits | record 5 bits |
//!                |           |              |
//! chunk_of   [chunk]         |              |   4 bytes for each 32,768 references
//! entries    [page | orders in it]          |   4 bytes for each 32 references, in chunks of 1024
//! records    | order | order | ...              16 bytes each, 32 to a page; all zeros: no order
//! ```
//!
//! References mostly grow, and most orders live briefly. So four orders that arrive together share
//! one cache line, and the next arrivals find it loaded; a hash would spread them over many lines.
//! Nothing is compared: the reference is the position.
//!
//! A page is freed when its last order leaves, a chunk with its last page; both are used again. So
//! memory follows the live orders. On a real day many of the orders that live long are alone in
//! their page (512 bytes), and the pages that were opened last are full. While references are
//! sparse, so that hardly any page gets a second order, there are at most [`FREE_PAGES`] and one
//! page per [`ORDERS_PER_PAGE`] orders. Beyond the first few there is at most one chunk per
//! [`ORDERS_PER_CHUNK`] orders. Orders that would need another page or chunk, and references of
//! [`LIMIT`] and more, go to a store of their own (`ranges`). On a real day of Nasdaq it is empty;
//! exchanges that count from large numbers have all of their orders there, in pages too.
//!
//! A table that is too small grows by a quarter and is copied, which stalls a tenth of a second on
//! a full day. Stating the day's number of orders at the start avoids it.

use core::fmt;

use nanotape_shm::Table;
use nanotape_types::{OrderReferenceNumber, Price, Shares, Side, StockLocate};

use super::{ClearingOrders, OrderStore, ranges::RangedOrders};
use crate::{BookSide, Order};

/// Orders by reference in pages of 32.
pub struct PagedOrders {
    /// The chunk of each 32,768 references. Chunk 0 stands for "none": its entries are never
    /// written.
    chunk_of: Box<[u32; MOST_CHUNKS]>,
    /// [`CHUNK_ENTRIES`] entries for each chunk: [`PageEntry`], as a number, so that the table can
    /// begin as untouched zeros.
    entries: Table<u32>,
    chunks: Numbers,
    /// The use of each chunk.
    uses: Vec<ChunkUse>,
    /// [`PAGE_ORDERS`] records for each page. Page 0 stands for "none": its records are never
    /// written.
    records: Table<Record>,
    pages: Numbers,
    /// The page that will be opened next: already taken, and its lines are being loaded.
    next_page: usize,
    /// Orders that entered a page, and those of them that left, modulo 2^64.
    entered: usize,
    left: usize,
    sparsity: Sparsity,
    elsewhere: ClearingOrders<RangedOrders>,
}

/// Whether the references are sparse: how many orders entered for each requested page.
#[derive(Clone, Copy, Debug)]
struct Sparsity {
    /// Pages that were requested last, plus one: each order of a refused page requests it again.
    recent: [u64; RECENT_PAGES],
    /// Pages requested in this window.
    requested: usize,
    /// Orders that had entered before this window.
    entered_before: usize,
    /// Orders of this window that no page took.
    refused: usize,
    is_sparse: bool,
}

/// Omits the tables.
impl fmt::Debug for PagedOrders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PagedOrders")
            .field("live", &self.live())
            .field("pages", &self.pages.in_use())
            .field("elsewhere", &self.elsewhere.len())
            .finish_non_exhaustive()
    }
}

/// Pages that are remembered, by the lowest bits of their numbers.
const RECENT_PAGES: usize = 64;

/// Pages requested in a window.
const WINDOW_PAGES: usize = 4096;

/// With fewer orders for each requested page, references are sparse.
const DENSE_ORDERS: usize = 2;

/// Pages that are available for sparse references: 32 MiB.
const FREE_PAGES: usize = 1 << 16;

/// Live orders that justify one more page for sparse references.
const ORDERS_PER_PAGE: usize = 8;

/// References of this value and above are not indexed.
pub(super) const LIMIT: u64 = 1 << 34;

/// Orders in a page: eight cache lines.
const PAGE_ORDERS: usize = 32;

/// Pages in a chunk.
const CHUNK_ENTRIES: usize = 1024;

const CHUNK_ORDERS: u64 = (PAGE_ORDERS * CHUNK_ENTRIES) as u64;

const MOST_CHUNKS: usize = (LIMIT / CHUNK_ORDERS) as usize;

/// Chunks that are available for any orders.
const FREE_CHUNKS: usize = 1024;

/// Live orders that justify one more chunk.
const ORDERS_PER_CHUNK: usize = 8;

/// Price, shares, arrival, number of the [`BookSide`]. Numbers, so that the table can begin as
/// untouched zeros. No order has no shares.
type Record = [u32; 4];

const SHARES: usize = 1;

const SIDE: usize = 3;

const _: () = assert!(size_of::<[Record; PAGE_ORDERS]>() == 512);

/// The number of a page and, in the lowest bits, its number of orders.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct PageEntry(u32);

const COUNT_BITS: u32 = 6;

const MOST_PAGES: usize = 1 << (u32::BITS - COUNT_BITS);

const _: () = assert!(PAGE_ORDERS < 1 << COUNT_BITS);

impl PageEntry {
    const NONE: Self = Self(0);

    #[inline]
    fn page(self) -> usize {
        (self.0 >> COUNT_BITS) as usize
    }

    #[inline]
    fn is_empty(self) -> bool {
        self.0.is_multiple_of(1 << COUNT_BITS)
    }
}

/// The owner of a chunk.
#[derive(Clone, Copy, Default, Debug)]
struct ChunkUse {
    /// Its index in `chunk_of`.
    place: u32,
    /// Pages in use.
    pages: u32,
}

/// Allocates numbers from 1, and reuses those that were given back.
#[derive(Debug, Default)]
struct Numbers {
    /// The greatest number that was ever taken.
    greatest: usize,
    given_back: Vec<u32>,
}

impl Numbers {
    fn with_capacity(numbers: usize) -> Self {
        Self { greatest: 0, given_back: Vec::with_capacity(numbers) }
    }

    fn take(&mut self) -> usize {
        match self.given_back.pop() {
            Some(number) => number as usize,
            None => {
                self.greatest += 1;
                self.greatest
            }
        }
    }

    fn give_back(&mut self, number: usize) {
        self.given_back.push(number as u32);
    }

    fn in_use(&self) -> usize {
        self.greatest - self.given_back.len()
    }
}

impl Sparsity {
    const DENSE: Self = Self {
        recent: [0; RECENT_PAGES],
        requested: 0,
        entered_before: 0,
        refused: 0,
        is_sparse: false,
    };

    /// Counts a requested page; `entered`: orders that entered a page so far.
    fn request(&mut self, page: u64, entered: usize) {
        let recent = &mut self.recent[page as usize % RECENT_PAGES];
        if core::mem::replace(recent, page + 1) == page + 1 {
            return;
        }
        self.requested += 1;
        if self.requested == WINDOW_PAGES {
            let orders = entered.wrapping_sub(self.entered_before) + self.refused;
            self.is_sparse = orders < WINDOW_PAGES * DENSE_ORDERS;
            (self.requested, self.entered_before, self.refused) = (0, entered, 0);
        }
    }
}

impl PagedOrders {
    /// Orders in the pages.
    fn live(&self) -> usize {
        self.entered.wrapping_sub(self.left)
    }

    /// Index of the entry for this reference; meaningless from [`LIMIT`] on.
    #[inline(always)]
    fn entry_index(&self, reference: OrderReferenceNumber) -> usize {
        let page = (reference.get() % LIMIT) as usize / PAGE_ORDERS;
        self.chunk_of[page / CHUNK_ENTRIES] as usize * CHUNK_ENTRIES + page % CHUNK_ENTRIES
    }

    #[inline(always)]
    fn record_index(entry: PageEntry, reference: OrderReferenceNumber) -> usize {
        entry.page() * PAGE_ORDERS + reference.get() as usize % PAGE_ORDERS
    }

    #[inline(always)]
    fn record(&self, reference: OrderReferenceNumber) -> Record {
        let entry = PageEntry(self.entries[self.entry_index(reference)]);
        self.records[Self::record_index(entry, reference)]
    }

    /// Makes the page of a reference and returns the index of its entry. `None` if the orders do
    /// not justify it or the entries have no number left.
    #[cold]
    #[inline(never)]
    fn open_page(&mut self, reference: OrderReferenceNumber) -> Option<usize> {
        self.sparsity.request(reference.get() / PAGE_ORDERS as u64, self.entered);
        let most_sparse_pages = FREE_PAGES + self.live() / ORDERS_PER_PAGE;
        let is_refused = self.sparsity.is_sparse && self.pages.in_use() > most_sparse_pages;
        if is_refused || self.next_page + 1 >= MOST_PAGES {
            self.sparsity.refused += 1;
            return None;
        }
        let chunk_place = (reference.get() / CHUNK_ORDERS) as usize;
        if self.chunk_of[chunk_place] == 0 {
            if self.chunks.in_use() > FREE_CHUNKS + self.live() / ORDERS_PER_CHUNK {
                self.sparsity.refused += 1;
                return None;
            }
            let chunk = self.chunks.take();
            if (chunk + 1) * CHUNK_ENTRIES > self.entries.len() {
                self.entries.grow(self.entries.len() / 4 * 5);
                self.uses.resize(self.entries.len() / CHUNK_ENTRIES, ChunkUse::default());
            }
            self.chunk_of[chunk_place] = chunk as u32;
            self.uses[chunk].place = chunk_place as u32;
        }
        let page = core::mem::replace(&mut self.next_page, self.pages.take());
        if (page + 1) * PAGE_ORDERS > self.records.len() {
            self.records.grow(self.records.len() / 4 * 5);
        }
        let next = self.next_page * PAGE_ORDERS;
        (next..next + PAGE_ORDERS).step_by(4).for_each(|record| self.records.prefetch(record));
        self.uses[self.chunk_of[chunk_place] as usize].pages += 1;
        let index = self.entry_index(reference);
        self.entries[index] = (page as u32) << COUNT_BITS;
        Some(index)
    }

    /// Frees an empty page, and its chunk if that was the last page.
    #[inline(never)]
    fn close_page(&mut self, entry_index: usize, reference: OrderReferenceNumber) {
        let entry = PageEntry(core::mem::take(&mut self.entries[entry_index]));
        self.pages.give_back(entry.page());
        let chunk = entry_index / CHUNK_ENTRIES;
        self.uses[chunk].pages -= 1;
        if self.uses[chunk].pages == 0 {
            self.chunks.give_back(chunk);
            self.chunk_of[(reference.get() / CHUNK_ORDERS) as usize] = 0;
        }
    }

    #[cold]
    #[inline(never)]
    fn insert_elsewhere(&mut self, reference: OrderReferenceNumber, order: Order) -> bool {
        self.elsewhere.insert(reference, order)
    }

    #[cold]
    #[inline(never)]
    fn take_elsewhere(&mut self, reference: OrderReferenceNumber, shares: u32) -> Option<Order> {
        self.elsewhere.take(reference, shares)
    }
}

/// Pages and chunks to make room for.
fn tables_for(orders: usize) -> (usize, usize) {
    // A synthetic day of 50 million messages has, at its peak, a third as many pages as orders.
    let pages = (orders / 2).clamp(64, MOST_PAGES);
    let chunks = (orders / CHUNK_ENTRIES).clamp(16, MOST_CHUNKS);
    (pages, chunks)
}

impl OrderStore for PagedOrders {
    fn bytes_for(orders: usize) -> usize {
        let (pages, chunks) = tables_for(orders);
        let of_chunks = (chunks + 1) * (CHUNK_ENTRIES * size_of::<u32>() + size_of::<ChunkUse>());
        let of_pages = (pages + 1) * (PAGE_ORDERS * size_of::<Record>() + size_of::<u32>());
        of_chunks + of_pages + MOST_CHUNKS * size_of::<u32>()
    }

    fn with_capacity(orders: usize) -> Self {
        let (pages, chunks) = tables_for(orders);
        let Ok(chunk_of) = vec![0; MOST_CHUNKS].into_boxed_slice().try_into() else {
            unreachable!("exactly this number was made")
        };
        let mut page_numbers = Numbers::with_capacity(pages);
        Self {
            chunk_of,
            entries: Table::zeros((chunks + 1) * CHUNK_ENTRIES),
            chunks: Numbers::with_capacity(chunks),
            uses: vec![ChunkUse::default(); chunks + 1],
            records: Table::zeros((pages + 1) * PAGE_ORDERS),
            next_page: page_numbers.take(),
            pages: page_numbers,
            entered: 0,
            left: 0,
            sparsity: Sparsity::DENSE,
            elsewhere: ClearingOrders::with_capacity(orders),
        }
    }

    #[inline(always)]
    fn insert(&mut self, reference: OrderReferenceNumber, order: Order) -> bool {
        if reference.get() >= LIMIT {
            return self.insert_elsewhere(reference, order);
        }
        if self.elsewhere.has_records() && self.elsewhere.get(reference).is_some() {
            return false;
        }
        let mut entry_index = self.entry_index(reference);
        if PageEntry(self.entries[entry_index]) == PageEntry::NONE {
            match self.open_page(reference) {
                Some(opened) => entry_index = opened,
                None => return self.insert_elsewhere(reference, order),
            }
        }
        let entry = &mut self.entries[entry_index];
        let record = &mut self.records[Self::record_index(PageEntry(*entry), reference)];
        if record[SHARES] != 0 {
            return false;
        }
        *entry += 1;
        *record = record_of(order);
        self.entered = self.entered.wrapping_add(1);
        true
    }

    #[inline(always)]
    fn take(&mut self, reference: OrderReferenceNumber, shares: u32) -> Option<Order> {
        let entry_index = self.entry_index(reference);
        let entry = &mut self.entries[entry_index];
        let record = &mut self.records[Self::record_index(PageEntry(*entry), reference)];
        if record[SHARES] == 0 || reference.get() >= LIMIT {
            return self.take_elsewhere(reference, shares);
        }
        let before = order_of(*record);
        let left = record[SHARES].saturating_sub(shares);
        record[SHARES] = left;
        if left == 0 {
            self.left = self.left.wrapping_add(1);
            *entry -= 1;
            if PageEntry(*entry).is_empty() {
                self.close_page(entry_index, reference);
            }
        }
        Some(before)
    }

    fn get(&self, reference: OrderReferenceNumber) -> Option<Order> {
        let record = self.record(reference);
        if record[SHARES] == 0 || reference.get() >= LIMIT {
            return self.elsewhere.get(reference);
        }
        Some(order_of(record))
    }

    #[inline]
    fn prefetch(&self, reference: OrderReferenceNumber) {
        if reference.get() >= LIMIT {
            return self.elsewhere.prefetch(reference);
        }
        // Entries are dense: theirs is mostly in the cache.
        let entry = PageEntry(self.entries[self.entry_index(reference)]);
        self.records.prefetch(Self::record_index(entry, reference));
    }

    /// Returns the index of the entry.
    #[inline(always)]
    fn prefetch_index(&self, reference: OrderReferenceNumber) -> usize {
        let entry_index = self.entry_index(reference);
        self.entries.prefetch(entry_index);
        entry_index
    }

    /// Returns the index of the record.
    #[inline(always)]
    fn touch(&self, reference: OrderReferenceNumber, entry_index: usize) -> usize {
        let entry = self.entries.get(entry_index).copied().unwrap_or(PageEntry::NONE.0);
        let record_index = Self::record_index(PageEntry(entry), reference);
        self.records.prefetch(record_index);
        record_index
    }

    #[inline(always)]
    fn side_hint(&self, record_index: usize) -> Option<Side> {
        Some(self.records.get(record_index).map_or(Side::Buy, |record| side_of(record).side()))
    }

    fn touch_all(&mut self) {
        self.entries.touch();
        self.records.touch();
    }

    /// An exchange that clears books has its references in the other store, where a clear costs
    /// nothing for other stocks; the pages are searched only if an order is in one.
    fn clear(&mut self, stock_locate: StockLocate, count: usize, arrivals: u32) {
        let mut paged = Vec::new();
        if self.live() > 0 {
            let of_stock = |(_, order): &(_, Order)| order.stock_locate == stock_locate;
            paged.extend(self.paged().filter(of_stock).map(|(reference, _)| reference));
        }
        for reference in &paged {
            self.take(*reference, u32::MAX);
        }
        self.elsewhere.clear(stock_locate, count.saturating_sub(paged.len()), arrivals);
    }

    fn len(&self) -> usize {
        self.live() + self.elsewhere.len()
    }

    fn iter(&self) -> impl Iterator<Item = (OrderReferenceNumber, Order)> + '_ {
        self.paged().chain(self.elsewhere.iter())
    }
}

impl PagedOrders {
    /// The live orders in pages.
    fn paged(&self) -> impl Iterator<Item = (OrderReferenceNumber, Order)> + '_ {
        let chunks = self.uses.iter().enumerate().filter(|(_, chunk)| chunk.pages > 0);
        let references = chunks.flat_map(|(number, chunk)| {
            let first = number * CHUNK_ENTRIES;
            let entries = self.entries[first..first + CHUNK_ENTRIES].iter().enumerate();
            let open = entries.filter(|&(_, &entry)| PageEntry(entry) != PageEntry::NONE);
            open.flat_map(move |(number, _)| {
                let page = chunk.place as usize * CHUNK_ENTRIES + number;
                let first = (page * PAGE_ORDERS) as u64;
                (first..first + PAGE_ORDERS as u64).map(OrderReferenceNumber::new)
            })
        });
        let indexed = references.map(|reference| (reference, self.record(reference)));
        let live = indexed.filter(|(_, record)| record[SHARES] != 0);
        live.map(|(reference, record)| (reference, order_of(record)))
    }
}

#[inline(always)]
fn record_of(order: Order) -> Record {
    let side = BookSide::new(order.stock_locate, order.side);
    [order.price.code(), order.shares.get(), order.arrival, side.index() as u32]
}

#[inline(always)]
fn side_of(record: &Record) -> BookSide {
    BookSide::of_index(record[SIDE])
}

#[inline(always)]
fn order_of(record: Record) -> Order {
    let [price, shares, arrival, _] = record;
    let side = side_of(&record);
    Order {
        stock_locate: side.stock_locate(),
        side: side.side(),
        price: Price::new(price),
        shares: Shares::new(shares),
        arrival,
    }
}

#[cfg(test)]
mod tests;
