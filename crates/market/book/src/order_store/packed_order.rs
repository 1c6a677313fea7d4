//! An order in 16 bytes, the form in which stores keep it.

use nanotape_types::{Price, Shares, Side, StockLocate};

use crate::Order;

/// An [`Order`] without padding, or no order.
///
/// ```text
///  0       4        8         12     14   15  16
///  | price | shares | arrival | locate |side| - |     shares == 0: no order
/// ```
#[derive(Clone, Copy, Debug)]
pub(super) struct PackedOrder {
    pub(super) price: u32,
    /// 0 if there is no order.
    pub(super) shares: u32,
    pub(super) arrival: u32,
    pub(super) stock_locate: u16,
    pub(super) side: Side,
}

const _: () = assert!(size_of::<PackedOrder>() == 16);

impl PackedOrder {
    /// No order.
    pub(super) const NONE: Self =
        Self { price: 0, shares: 0, arrival: 0, stock_locate: 0, side: Side::Buy };

    #[inline]
    pub(super) fn new(order: Order) -> Self {
        debug_assert!(order.shares.get() > 0, "an entry without shares is a free entry");
        Self {
            price: order.price.code(),
            shares: order.shares.get(),
            arrival: order.arrival,
            stock_locate: order.stock_locate.get(),
            side: order.side,
        }
    }

    /// Whether there is no order.
    #[inline]
    pub(super) fn is_none(&self) -> bool {
        self.shares == 0
    }

    #[inline]
    pub(super) fn order(&self) -> Order {
        Order {
            stock_locate: StockLocate::new(self.stock_locate),
            side: self.side,
            price: Price::new(self.price),
            shares: Shares::new(self.shares),
            arrival: self.arrival,
        }
    }
}
