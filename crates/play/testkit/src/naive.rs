//! Models that are slow, simple and never optimised. The real structures must agree with them.

mod books;

pub use books::{NaiveBooks, NaiveOrder};
