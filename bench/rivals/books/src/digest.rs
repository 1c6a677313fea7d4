//! Checksums for comparing the answers of different programs.
//!
//! They are sums, so the order in which a program visits its levels does not matter.
//! `itch_book_driver.cpp` computes the same sums.

use nanotape_types::Side;

use crate::measured::Numbers;

/// The wrapping sum of the fields that a book needs.
///
/// Add: locate, reference, shares, price. Execute and cancel: locate, reference, shares. Delete:
/// locate, reference. Replace: locate, both references, shares, price.
#[derive(Default)]
pub(crate) struct FieldSum(pub(crate) u64);

impl FieldSum {
    #[inline]
    pub(crate) fn add(&mut self, fields: u64) {
        self.0 = self.0.wrapping_add(fields);
    }
}

/// Every price level of every book at the end of the day.
#[derive(Default)]
pub(crate) struct BookDigest {
    levels: u64,
    prices_and_shares: u64,
    order_counts: u64,
    live_orders: u64,
}

impl BookDigest {
    /// Adds a level: its stock and side, its price, and the shares and orders at it.
    pub(crate) fn level(&mut self, stock: (u16, Side), price: u64, shares: u64, orders: u64) {
        let side = mix(u64::from(stock.0) << 1 | u64::from(stock.1 == Side::Sell));
        let state = mix(mix(side ^ price) ^ shares);
        self.levels += 1;
        self.prices_and_shares = self.prices_and_shares.wrapping_add(state);
        self.order_counts = self.order_counts.wrapping_add(mix(state ^ orders));
        self.live_orders += orders;
    }

    pub(crate) fn answers(&self) -> Numbers {
        [
            ("levels", self.levels),
            ("prices_and_shares", self.prices_and_shares),
            ("order_counts", self.order_counts),
            ("live_orders", self.live_orders),
        ]
        .into()
    }
}

/// Spreads a number over 64 bits, so that different sums collide only by chance.
fn mix(number: u64) -> u64 {
    let number = (number ^ number >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ number >> 29).wrapping_mul(0xd6e8_feb8_6659_fd93);
    number ^ number >> 32
}
