//! IEX TOPS 1.6: the best bid and offer, and trades.

use core::ops::ControlFlow;

use nanotape_market::{EventHandler, LevelChange, TradeKind, What};
use nanotape_types::{Decimal, Shares, Side};
use nanotape_wire::{
    framing::iextp::{IexSession, IexTp},
    iex_tops::Message,
};

use super::{
    Place, Protocol, iex,
    iex::{IexState, of_every_feed},
    price_of,
};

/// IEX TOPS 1.6.
#[derive(Debug)]
pub(crate) enum IexTops {}

impl Protocol for IexTops {
    type Framing = IexTp;
    type State = IexState;

    fn channel(session: IexSession) -> u32 {
        session.channel_id
    }

    fn begin(_: u64) -> IexState {
        IexState::default()
    }

    #[inline]
    fn deliver(
        state: &mut IexState,
        from: Place<IexSession>,
        bytes: &[u8],
        handler: &mut impl EventHandler,
    ) -> ControlFlow<()> {
        let source = (from.at, bytes);
        let Ok(message) = Message::decode(bytes) else {
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

    fn restart(
        state: &mut IexState,
        from: Place<IexSession>,
        handler: &mut impl EventHandler,
    ) -> ControlFlow<()> {
        state.clear(from.at, handler)
    }
}

/// The best level of a side; a side without shares has no level.
#[inline]
fn best(side: Side, price: Decimal<i64, 4>, shares: Shares) -> Option<What> {
    let price = price_of(price)?;
    Some(What::Level(LevelChange { side, price, shares, is_only: true }))
}
