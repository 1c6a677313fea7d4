//! IEX TOPS 1.6: the best bid and offer, and trades.

use core::ops::ControlFlow;

use nanotape_market::{EventHandler, LevelChange, Position, TradeKind, What};
use nanotape_types::{Decimal, Shares, Side};
use nanotape_wire::iex_tops::Message;

use super::{
    iex,
    iex::{IexFeed, IexState, of_every_feed},
    price_of,
};

/// IEX TOPS 1.6.
#[derive(Debug)]
pub(crate) enum IexTops {}

impl IexFeed for IexTops {
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
        let what = match message {
            // Both sides are one change.
            Message::QuoteUpdate(m) => {
                let bid = best(Side::Buy, m.bid_price(), m.bid_shares());
                let offer = best(Side::Sell, m.offer_price(), m.offer_shares());
                if bid.is_some() && offer.is_some() {
                    state.pass(source, of, (false, bid), handler)?;
                }
                bid.and(offer)
            }
            Message::TradeReport(m) => iex::trade(m, TradeKind::Unstated),
            Message::AuctionInformation(m) => iex::auction(m),
            Message::OfficialPrice(_) => Some(What::Other),
            other => of_every_feed!(other).flatten(),
        };
        state.pass(source, of, (true, what), handler)
    }
}

/// The best level of a side; a side without shares has no level.
#[inline]
fn best(side: Side, price: Decimal<i64, 4>, shares: Shares) -> Option<What> {
    let price = price_of(price)?;
    Some(What::Level(LevelChange { side, price, shares, is_only: true }))
}
