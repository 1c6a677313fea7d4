//! IEX DEEP+ 1.0: orders. Each message is an event of its own.

use core::ops::ControlFlow;

use nanotape_market::{EventHandler, Execution, Modified, Position, Priority, TradeKind, What};
use nanotape_types::{BookEvent, OrderReferenceNumber, StockLocate};
use nanotape_wire::iex_deep_plus::Message;

use super::{
    iex,
    iex::{IexFeed, IexState, of_every_feed},
    price_of,
};

/// IEX DEEP+ 1.0.
#[derive(Debug)]
pub(crate) enum IexDeepPlus {}

impl IexFeed for IexDeepPlus {
    /// Modified, deleted and executed orders have their ids at one place.
    #[inline]
    fn known_order(bytes: &[u8]) -> Option<OrderReferenceNumber> {
        let id = bytes.get(18..)?.first_chunk()?;
        let is_of_known = matches!(bytes[0], b'M' | b'R' | b'L');
        is_of_known.then(|| OrderReferenceNumber::new(u64::from_le_bytes(*id)))
    }

    #[inline]
    fn message(
        state: &mut IexState,
        source: (Position, &[u8]),
        handler: &mut impl EventHandler,
    ) -> ControlFlow<()> {
        let Ok(message) = Message::decode(source.1) else {
            return IexState::unreadable(source, handler);
        };
        let stock_locate = match message.symbol() {
            Some(symbol) => match state.locate(symbol) {
                Some(stock_locate) => stock_locate,
                None => return IexState::unreadable(source, handler),
            },
            None => StockLocate::default(),
        };
        let what = match message {
            Message::AddOrder(m) => Some(match (m.side_indicator().side(), price_of(m.price())) {
                (Some(side), Some(price)) => {
                    let (reference, shares) = (m.order_reference_number(), m.shares());
                    let added = BookEvent::Add { stock_locate, reference, side, shares, price };
                    What::Order(added)
                }
                (None, _) => What::UnknownSide,
                (_, None) => What::PriceOutOfRange(None),
            }),
            Message::OrderModify(m) => {
                let (reference, shares) = (m.order_reference_number(), m.shares());
                let is_kept = m.modify_flags().is_priority_kept();
                let priority = if is_kept { Priority::Kept } else { Priority::Lost };
                Some(match price_of(m.price()) {
                    Some(price) => {
                        let side = None;
                        What::OrderModified(Modified { reference, side, shares, price, priority })
                    }
                    None => What::PriceOutOfRange(Some(reference)),
                })
            }
            Message::OrderDelete(m) => {
                let reference = m.order_reference_number();
                Some(What::Order(BookEvent::Delete { stock_locate, reference }))
            }
            Message::OrderExecuted(m) => {
                let price = price_of(m.price());
                if price.is_none() {
                    // The trade is lost; what the order has is known.
                    IexState::unreadable(source, handler)?;
                }
                Some(What::Execution(Execution {
                    reference: m.order_reference_number(),
                    shares: m.executed_shares(),
                    price,
                    is_printed: price.is_some(),
                    match_number: m.match_number(),
                    remaining: None,
                }))
            }
            Message::ClearBook(_) => Some(What::BookCleared),
            // A trade between hidden orders.
            Message::TradeReport(m) => iex::trade(m, TradeKind::Hidden),
            other => of_every_feed!(other).flatten(),
        };
        state.pass(source, (message.timestamp(), message.symbol()), (true, what), handler)
    }
}

#[cfg(test)]
mod tests {
    use nanotape_types::{Alpha, Decimal, NanosSinceEpoch, Shares, Symbol};
    use nanotape_wire::iex_deep_plus::{AddOrderFields, OrderDeleteFields, SideIndicator};

    use super::*;
    use crate::protocols::Protocol;

    #[test]
    fn what_is_loaded_early_is_what_the_schema_has() {
        let (timestamp, symbol) = (NanosSinceEpoch::new(5), Symbol::new(*b"ZIEXT   "));
        let order_reference_number = OrderReferenceNumber::new(77);
        let added = AddOrderFields {
            side_indicator: SideIndicator::Buy,
            timestamp,
            symbol,
            order_reference_number,
            shares: Shares::new(1),
            price: Decimal::new(1),
        };
        let deleted = OrderDeleteFields {
            reserved: Alpha::new(*b" "),
            timestamp,
            symbol,
            order_reference_number,
        };
        for (bytes, known) in
            [(&added.encode()[..], None), (&deleted.encode()[..], Some(order_reference_number))]
        {
            assert_eq!(<IexDeepPlus as Protocol>::symbol(bytes), Some(symbol));
            assert_eq!(<IexDeepPlus as Protocol>::known_order(bytes), known);
        }
    }
}
