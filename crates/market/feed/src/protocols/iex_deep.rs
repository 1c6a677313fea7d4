//! IEX DEEP 1.0: price levels, trades, and the flag that ends an event.

use core::ops::ControlFlow;

use nanotape_market::{EventHandler, LevelChange, TradeKind, What};
use nanotape_types::{Decimal, Shares, Side};
use nanotape_wire::{
    framing::iextp::{IexSession, IexTp},
    iex_deep::Message,
};

use super::{
    Place, Protocol, iex,
    iex::{IexState, of_every_feed},
    price_of,
};

/// IEX DEEP 1.0.
#[derive(Debug)]
pub(crate) enum IexDeep {}

impl Protocol for IexDeep {
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
        state.pass(source, (message.timestamp(), message.symbol()), (is_last, what), handler)
    }

    fn restart(
        state: &mut IexState,
        from: Place<IexSession>,
        handler: &mut impl EventHandler,
    ) -> ControlFlow<()> {
        state.clear(from.at, handler)
    }
}

#[inline]
fn level(side: Side, price: Decimal<i64, 4>, shares: Shares) -> Option<What> {
    let price = price_of(price)?;
    Some(What::Level(LevelChange { side, price, shares, is_only: false }))
}
