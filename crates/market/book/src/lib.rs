//! Order-by-order books for every stock at once: a pure state machine over book events.
//!
//! Where: market, between FEED, which produces [`BookEvent`]s, and the users of prices. It has no
//! protocol, clock or I/O, and allocates nothing once its tables have grown to the day's size.
//!
//! ```text
//!  BookEvent --> Books::apply --> Outcome { stock, whether its inside changed, anomaly }
//!                  |
//!                  +-- OrderStore    reference -> stock, side, price, shares, arrival
//!                  +-- PriceLevels   of every side of every stock: price -> shares, orders
//! ```
//!
//! Small traits separate both parts, so that structures can be compared on the same stream.
//! [`DefaultBooks`] have those of all commands, [`PlainBooks`] the simplest, and [`ChosenBooks`]
//! those whose names are given at run time.
//!
//! ```
//! use nanotape_book::DefaultBooks;
//! use nanotape_types::{BookEvent, OrderReferenceNumber, Price, Shares, Side, StockLocate};
//!
//! let mut books = DefaultBooks::with_capacity(1024);
//! let apple = StockLocate::new(13);
//! let outcome = books.apply(BookEvent::Add {
//!     stock_locate: apple,
//!     reference: OrderReferenceNumber::new(1001),
//!     side: Side::Buy,
//!     shares: Shares::new(300),
//!     price: Price::new(1_899_500),
//! });
//! assert!(outcome.inside_changed);
//! let bid = books.book(apple).inside().bid.unwrap();
//! assert_eq!((bid.price, bid.shares.get()), (Price::new(1_899_500), 300));
//! ```
#![forbid(unsafe_code)]

mod anomaly;
mod book_side;
mod books;
mod chosen;
mod inside;
mod level;
mod order;
mod order_store;
mod price_levels;
mod queue;

pub use anomaly::{Anomaly, AnomalyCounts};
pub use book_side::BookSide;
pub use books::{Book, Books, OrderWatcher, Outcome, PrefetchHint, Room};
pub use chosen::{
    ChosenBooks, ChosenLevels, ChosenOrders, LevelStructure, OrderStructure, UnknownStructure,
};
pub use inside::{Condition, Inside, Quote};
pub use level::{DepthLevel, Level, PriceKey};
pub use nanotape_types::BookEvent;
pub use order::Order;
pub use order_store::{
    BucketOrders, ClearingOrders, CompactOrders, HashMapOrders, OrderStore, PagedOrders,
    PooledOrders,
};
pub use price_levels::{
    BestFirst, BestLast, BinarySearch, BranchFreeSearch, EachSide, LinearSearch, NearSearch,
    PackedLevels, PriceLevels, Search, SideLevels, SortedMap, TickIndexed,
};
pub use queue::{QueuePosition, QueuedOrder};

/// The structures that commands use by default.
pub type DefaultBooks = Books<PackedLevels, PagedOrders>;

/// One book of [`DefaultBooks`].
pub type DefaultBook<'a> = Book<'a, PackedLevels>;

/// The simplest structures: a sorted map of prices, a standard map of orders.
pub type PlainBooks = Books<EachSide<SortedMap>, HashMapOrders>;
