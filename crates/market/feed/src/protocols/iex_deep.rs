//! IEX DEEP 1.0: price levels, trades, and the flag that ends an event.

use core::ops::ControlFlow;

use nanotape_market::{EventHandler, LevelChange, Position, TradeKind, What};
use nanotape_types::{Decimal, Price, Shares, Side};
use nanotape_wire::iex_deep::Message;

use super::{
    iex,
    iex::{IexFeed, IexState, of_every_feed},
    price_of,
};

/// IEX DEEP 1.0.
#[derive(Debug)]
pub(crate) enum IexDeep {}

impl IexFeed for IexDeep {
    #[inline]
    fn message(
        state: &mut IexState,
        source: (Position, &[u8]),
        handler: &mut impl EventHandler,
    ) -> ControlFlow<()> {
        let Ok(message) = Message::decode(source.1) else {
            return IexState::unreadable(source, handler);
        };
        let of = (message.timestamp(), message.symbol());
        let mut is_last = true;
        let what = match message {
            Message::PriceLevelUpdateBuy(m) => {
                is_last = m.event_flags().is_event_complete();
                level(Side::Buy, m.price(), m.shares())
            }
            Message::PriceLevelUpdateSell(m) => {
                is_last = m.event_flags().is_event_complete();
                level(Side::Sell, m.price(), m.shares())
            }
            Message::TradeReport(m) => iex::trade(m, TradeKind::Unstated),
            Message::AuctionInformation(m) => iex::auction(m),
            Message::OfficialPrice(_) => Some(What::Other),
            other => of_every_feed!(other).flatten(),
        };
        if what == Some(What::PriceOutOfRange(None)) {
            state.pass(source, of, (false, what), handler)?;
            // A level that was not there can end the event.
            let (side, price, shares) = (Side::Buy, Price::default(), Shares::new(0));
            let none = What::Level(LevelChange { side, price, shares, is_only: false });
            return state.pass(source, of, (is_last, Some(none)), handler);
        }
        state.pass(source, of, (is_last, what), handler)
    }
}

#[inline]
fn level(side: Side, price: Decimal<i64, 4>, shares: Shares) -> Option<What> {
    Some(match price_of(price) {
        Some(price) => What::Level(LevelChange { side, price, shares, is_only: false }),
        None => What::PriceOutOfRange(None),
    })
}
