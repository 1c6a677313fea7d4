//! A stock of the day: what its messages have said so far, and its price levels.

use std::collections::BTreeMap;

use nanotape_types::{Side, Symbol};
use nanotape_wire::itch50::{LuldAuctionCollar, TradingState};

/// Prices of an auction's collar after a volatility pause.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct AuctionCollar {
    pub(super) reference: u32,
    pub(super) lower: u32,
    pub(super) upper: u32,
    pub(super) extension: u32,
}

/// Best price of a side and its shares; zeros if the side is empty.
pub(super) type BestLevel = (u32, u64);

/// A stock. It is as before its first message by default.
#[derive(Clone, Debug)]
pub(super) struct TranslatedStock {
    pub(super) symbol: Symbol,
    pub(super) is_new_issue: bool,
    pub(super) trading_state: TradingState,
    /// The reason of the trading state.
    pub(super) reason: [u8; 4],
    pub(super) is_halted_here: bool,
    pub(super) is_short_sale_restricted: bool,
    pub(super) collar: AuctionCollar,
    /// The number of an order that was deleted and that no order has since.
    pub(super) deleted: Option<u64>,
    /// By side: shares at each price.
    levels: [BTreeMap<u32, u64>; 2],
}

impl Default for TranslatedStock {
    fn default() -> Self {
        Self {
            symbol: Symbol::new([b' '; 8]),
            is_new_issue: false,
            trading_state: TradingState::Halted,
            reason: [b' '; 4],
            is_halted_here: false,
            is_short_sale_restricted: false,
            collar: AuctionCollar::default(),
            deleted: None,
            levels: [BTreeMap::new(), BTreeMap::new()],
        }
    }
}

impl TranslatedStock {
    /// Shares at a price.
    pub(super) fn level(&self, side: Side, price: u32) -> u64 {
        self.levels[side as usize].get(&price).copied().unwrap_or(0)
    }

    /// The best level of a side.
    pub(super) fn best(&self, side: Side) -> BestLevel {
        let levels = &self.levels[side as usize];
        let best = match side {
            Side::Buy => levels.last_key_value(),
            Side::Sell => levels.first_key_value(),
        };
        best.map_or((0, 0), |(&price, &shares)| (price, shares))
    }

    pub(super) fn add_shares(&mut self, side: Side, price: u32, shares: u32) {
        *self.levels[side as usize].entry(price).or_default() += u64::from(shares);
    }

    pub(super) fn take_shares(&mut self, side: Side, price: u32, shares: u32) {
        let levels = &mut self.levels[side as usize];
        let left = levels.get(&price).map_or(0, |&shown| shown.saturating_sub(shares.into()));
        match left {
            0 => levels.remove(&price),
            left => levels.insert(price, left),
        };
    }

    pub(super) fn set_collar(&mut self, message: LuldAuctionCollar<'_>) {
        self.collar = AuctionCollar {
            reference: message.reference_price().get(),
            lower: message.lower_price().get(),
            upper: message.upper_price().get(),
            extension: message.extension(),
        };
    }

    /// Whether the stock can be traded here.
    pub(super) fn is_available(&self) -> bool {
        self.trading_state == TradingState::Trading && !self.is_halted_here
    }
}
