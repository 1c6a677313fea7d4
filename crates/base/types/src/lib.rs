//! The vocabulary of market data: units, identities and absence, each one machine word or less.
//!
//! Where: base. Every other crate uses these types; this one is independent of files, clocks and
//! threads.
//!
//! The crate has two ideas. Each quantity has its own type: a price, a share count, a stock locate
//! and an order reference number are different types, so that they cannot be swapped by accident.
//! And a value that may be absent is a [`Maybe`], which has the size of the value itself and cannot
//! be read without a check.
#![forbid(unsafe_code)]

mod book_event;
mod book_price;
mod coming;
mod decimal;
mod epoch;
mod identity;
mod locate_table;
mod maybe;
mod nearest;
mod nullable;
mod price;
mod quantity;
pub mod rows;
mod side;
mod text;
mod time;
pub mod units;
mod wire_value;

pub use book_event::{BookEvent, Modified, Priority};
pub use book_price::{Price, PriceScale, ShownPrice};
pub use coming::Coming;
pub use decimal::{AnyDecimal, Decimal, MOST_PLACES};
pub use epoch::{NanosOffset, NanosSinceEpoch, SecondsSinceEpoch};
pub use identity::{MatchNumber, OrderReferenceNumber, StockLocate, TrackingNumber};
pub use locate_table::LocateTable;
pub use maybe::{Maybe, Sentinel};
pub use nearest::nearest;
pub use nullable::{Nullable, WireBits};
pub use price::{ParsePriceError, Price4, Price8, PriceText, write_price4};
pub use quantity::{Shares, TotalShares};
pub use side::Side;
pub use text::{Alpha, Mpid, ParseSymbolError, Symbol};
pub use time::{NanosSinceMidnight, ParseTimeError, SecondsSinceMidnight};
pub use wire_value::WireValue;
