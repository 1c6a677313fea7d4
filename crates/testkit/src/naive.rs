//! Models that are slow, obvious and never optimised: what the real structures must agree with.

mod books;

pub use books::{NaiveBooks, NaiveOrder};
