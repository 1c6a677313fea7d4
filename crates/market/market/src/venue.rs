//! A feed of an exchange, as plants, records and commands need to know it.
//!
//! Where: FEED has the venues. What depends on this type works for each of them.

use nanotape_types::PriceScale;

/// A feed of an exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Venue {
    /// Its name, for people.
    pub name: &'static str,
    /// DBN's number of the feed and the exchange.
    pub publisher_id: u16,
    /// The time zone of its dates, as in the IANA database.
    pub zone: &'static str,
    /// When its days begin, in seconds after midnight of their date. Days that begin on the evening
    /// before have a negative number.
    pub day_begins_s: i32,
    /// What its books can have.
    pub detail: BookDetail,
    /// How far the times of its messages are out of order, at most, in ns: those of channels that
    /// are read together.
    pub skew_ns: u64,
    /// The scale of the prices of its books.
    pub price_scale: PriceScale,
}

impl Venue {
    /// A feed of which nothing is known.
    pub const UNKNOWN: &Self = &Self {
        name: "unknown",
        publisher_id: 0,
        zone: "UTC",
        day_begins_s: 0,
        detail: BookDetail::Orders,
        skew_ns: 1_000_000_000,
        price_scale: PriceScale::WIDE,
    };
}

/// What the books of a feed can have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum BookDetail {
    /// The best price of each side.
    Quotes,
    /// Price levels.
    Levels,
    /// Orders, and their places in the queue.
    Orders,
}
