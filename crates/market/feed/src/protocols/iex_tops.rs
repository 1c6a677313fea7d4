//! IEX TOPS 1.6: the best bid and offer, and trades.

use core::ops::ControlFlow;

use nanotape_market::{EventHandler, LevelChange, Position, TradeKind, What};
use nanotape_types::{Price, Shares, Side};
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
                let (bid, offer) = (price_of(m.bid_price()), price_of(m.offer_price()));
                let has_both = bid.is_some() && offer.is_some();
                let bid = best(Side::Buy, bid, m.bid_shares());
                let offer = best(Side::Sell, offer, m.offer_shares());
                if !has_both {
                    // First, so that the records of both sides are marked.
                    let out_of_range = What::PriceOutOfRange(None);
                    state.pass(source, of, (false, Some(out_of_range)), handler)?;
                }
                state.pass(source, of, (false, Some(bid)), handler)?;
                Some(offer)
            }
            Message::TradeReport(m) => iex::trade(m, TradeKind::Unstated),
            Message::AuctionInformation(m) => iex::auction(m),
            Message::OfficialPrice(_) => Some(What::Other),
            other => of_every_feed!(other).flatten(),
        };
        state.pass(source, of, (true, what), handler)
    }
}

/// The best level of a side; a side without shares has no level, nor has one whose price no book
/// can have.
#[inline]
fn best(side: Side, price: Option<Price>, shares: Shares) -> What {
    let shares = if price.is_some() { shares } else { Shares::new(0) };
    let price = price.unwrap_or_default();
    What::Level(LevelChange { side, price, shares, is_only: true })
}
