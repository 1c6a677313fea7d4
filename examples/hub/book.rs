//! The state of the hub, and the interfaces of what it reads and publishes.

#[rustfmt::skip]
#[path = "generated/fills.rs"]
pub(crate) mod fills;
#[rustfmt::skip]
#[path = "generated/positions.rs"]
pub(crate) mod positions;

use std::collections::BTreeMap;

use nanotape::{interface::Message, types::StockLocate};
use positions::Positions;

/// The state. It is what the results say, so the hub reads them again when it starts.
#[derive(Default)]
pub(crate) struct Book {
    /// Fills, shares and cash of each stock.
    pub(crate) stocks: BTreeMap<StockLocate, (u32, i64, i64)>,
    /// The number of the last fill that has a result.
    pub(crate) cause: u64,
    pub(crate) is_closed: bool,
}

impl Positions for Book {
    type Output = ();

    fn changed(&mut self, cause: u64, stock: StockLocate, fills: u32, shares: i64, cash: i64) {
        self.stocks.insert(stock, (fills, shares, cash));
        self.cause = cause;
    }

    fn day_ended(&mut self, cause: u64, _stocks: u64) {
        (self.cause, self.is_closed) = (cause, true);
    }

    fn unknown(&mut self, message: &Message<'_>) {
        eprintln!("result {} is of a later version", message.sequence);
    }
}
