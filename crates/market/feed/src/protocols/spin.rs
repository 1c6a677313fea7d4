//! The image of a unit of PITCH: its open orders and trading states at one moment, from messages
//! without numbers.
//!
//! Where: a spin server sends it on TCP; the books of the stocks of the unit are replaced by it.
//! Protocol: times, adds of orders and trading statuses in any order. The number of the image is
//! outside of it.
//! Bounds: [`MOST_ORDERS`] orders and [`MOST_STATUSES`] statuses.
//! Failure: a message that is no part of an image, or that no book can have, makes it unusable: an
//! order that is left out would be a wrong book.

use std::collections::BTreeSet;

use nanotape_market::StatusChange;
use nanotape_types::{OrderReferenceNumber, Price, Shares, Side, Symbol};
use nanotape_wire::pitch::{Message, SideIndicator, symbol_of};

use super::{pitch, price_of};

/// Orders of an image, at most: those of a whole market on a busy day.
const MOST_ORDERS: usize = 4 << 20;

/// Trading statuses of an image, at most: four for each stock.
const MOST_STATUSES: usize = 1 << 18;

/// An open order of an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpinOrder {
    /// Its stock.
    pub symbol: Symbol,
    /// Its reference number.
    pub reference: OrderReferenceNumber,
    /// Its side.
    pub side: Side,
    /// Its shares.
    pub shares: Shares,
    /// Its price.
    pub price: Price,
}

/// The open orders and trading states of a unit.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SpinImage {
    orders: Vec<SpinOrder>,
    statuses: Vec<(Symbol, StatusChange)>,
    second: Option<u32>,
}

/// Why a message is no part of an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpinError {
    /// It is of another type, or too short for its own.
    #[error("{bytes} bytes of type {tag:#04x}: expected a time, an add of an order, or a status")]
    Message {
        /// Its type.
        tag: u8,
        /// Its length.
        bytes: usize,
    },
    /// An order that no book can have.
    #[error("order {reference} has no side, or a price that no book can have")]
    Order {
        /// Its reference number.
        reference: u64,
    },
    /// The image has more messages than a market can need.
    #[error("more than {MOST_ORDERS} orders or {MOST_STATUSES} trading statuses")]
    TooMany,
}

impl SpinImage {
    /// Takes the next message.
    pub fn message(&mut self, bytes: &[u8]) -> Result<(), SpinError> {
        let refused = SpinError::Message {
            tag: bytes.get(1).copied().unwrap_or_default(),
            bytes: bytes.len(),
        };
        match Message::decode(bytes).map_err(|_| refused)? {
            Message::Time(time) => self.second = Some(time.time().get()),
            Message::AddOrderShort(m) => {
                let (symbol, shares) = (symbol_of(m.symbol()), Shares::new(m.shares().into()));
                let price = price_of(m.price());
                self.add(symbol, m.order_reference_number(), (m.side_indicator(), shares, price))?;
            }
            Message::AddOrderLong(m) => {
                let (symbol, shares) = (symbol_of(m.symbol()), m.shares());
                let price = price_of(m.price());
                self.add(symbol, m.order_reference_number(), (m.side_indicator(), shares, price))?;
            }
            Message::AddOrderExpanded(m) => {
                let (symbol, shares) = (m.symbol(), m.shares());
                let price = price_of(m.price());
                self.add(symbol, m.order_reference_number(), (m.side_indicator(), shares, price))?;
            }
            Message::TradingStatus(m) => {
                if self.statuses.len() == MOST_STATUSES {
                    return Err(SpinError::TooMany);
                }
                self.statuses.push((m.symbol(), pitch::status(m)));
            }
            _ => return Err(refused),
        }
        Ok(())
    }

    fn add(
        &mut self,
        symbol: Symbol,
        reference: OrderReferenceNumber,
        (side, shares, price): (SideIndicator, Shares, Option<Price>),
    ) -> Result<(), SpinError> {
        if self.orders.len() == MOST_ORDERS {
            return Err(SpinError::TooMany);
        }
        let (Some(side), Some(price)) = (side.side(), price) else {
            return Err(SpinError::Order { reference: reference.get() });
        };
        self.orders.push(SpinOrder { symbol, reference, side, shares, price });
        Ok(())
    }

    /// The open orders; those of one price level from the first to be executed.
    pub fn orders(&self) -> &[SpinOrder] {
        &self.orders
    }

    /// The trading states.
    pub fn statuses(&self) -> &[(Symbol, StatusChange)] {
        &self.statuses
    }

    /// The second of the day from which the times of the next messages count, if it has one.
    pub fn second(&self) -> Option<u32> {
        self.second
    }

    /// The stocks that it has orders of.
    pub fn symbols(&self) -> impl Iterator<Item = Symbol> + use<> {
        let symbols: BTreeSet<Symbol> = self.orders.iter().map(|order| order.symbol).collect();
        symbols.into_iter()
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn an_image_has_orders_and_the_second_and_nothing_that_no_book_can_have() {
        let mut image = SpinImage::default();
        let time = [6, 0x20, 7, 0, 0, 0];
        image.message(&time).unwrap();
        let mut add = *b"\x1a\x22\0\0\0\0\x09\0\0\0\0\0\0\0B\x64\0AAPL  \x5f\0\x01";
        image.message(&add).unwrap();
        let [order] = image.orders() else { panic!("{image:?}") };
        assert_eq!((order.reference.get(), order.side, order.price.code()), (9, Side::Buy, 9500));
        assert_eq!(image.second(), Some(7));
        assert_eq!(image.symbols().count(), 1);
        add[14] = b'X';
        assert_eq!(image.message(&add), Err(SpinError::Order { reference: 9 }));
        let refused = SpinError::Message { tag: 0x29, bytes: 14 };
        assert_eq!(image.message(b"\x0e\x29\0\0\0\0\0\0\0\0\0\0\0\0"), Err(refused));
        assert!(image.message(&add[..9]).is_err() && image.message(b"").is_err());
    }
}
