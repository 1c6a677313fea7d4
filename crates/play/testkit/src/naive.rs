//! Models that are slow, simple and never optimised. The real structures must agree with them.

mod books;
mod day;

pub use books::{NaiveBooks, NaiveOrder};
pub use day::{NaiveDay, NaiveDayStock, NaiveTrade};
