//! Checksums that programs of different design can be compared by.
//!
//! Both are sums, so that it does not matter in which order a program visits its levels.
//! `itch_book_driver.cpp` computes the same.

use std::collections::BTreeMap;

/// What a parser read: the fields that a book needs, added up, wrapping.
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

/// One level. `is_offer` is 0 for a bid, 1 for an offer; `orders` only where they are counted.
pub(crate) struct LevelState {
    pub(crate) locate: u16,
    pub(crate) is_offer: u64,
    pub(crate) price: u64,
    pub(crate) shares: u64,
    pub(crate) orders: u64,
}

impl BookDigest {
    pub(crate) fn level(&mut self, level: &LevelState) {
        let place = mix(u64::from(level.locate) << 1 | level.is_offer);
        let state = mix(mix(place ^ level.price) ^ level.shares);
        self.levels += 1;
        self.prices_and_shares = self.prices_and_shares.wrapping_add(state);
        self.order_counts = self.order_counts.wrapping_add(mix(state ^ level.orders));
        self.live_orders += level.orders;
    }

    pub(crate) fn answers(&self) -> BTreeMap<&'static str, u64> {
        BTreeMap::from([
            ("levels", self.levels),
            ("prices_and_shares", self.prices_and_shares),
            ("order_counts", self.order_counts),
            ("live_orders", self.live_orders),
        ])
    }
}

/// Spreads a number over 64 bits so that sums of such numbers collide by chance only.
fn mix(number: u64) -> u64 {
    let number = (number ^ number >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ number >> 29).wrapping_mul(0xd6e8_feb8_6659_fd93);
    number ^ number >> 32
}
