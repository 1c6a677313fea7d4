//! The day as IEX TOPS 1.6: a quote whenever the best bid or offer of a stock changes.

use std::collections::BTreeMap;

use nanotape_types::Side;
use nanotape_wire::iex_tops::{QuoteFlags, QuoteUpdateFields};

use super::{
    changes::{DayChange, DayHappening, DayState},
    iex::{IexMessages, price, shares},
    packets::PacketWindow,
    stock::BestLevel,
};

/// A quote, as far as a change of it is worth a message.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct ShownQuote {
    bid: BestLevel,
    offer: BestLevel,
    is_available: bool,
}

/// Remembers the quotes that it has written.
#[derive(Default, Debug)]
pub(super) struct TopsWriter {
    shown: BTreeMap<u16, ShownQuote>,
}

impl TopsWriter {
    /// Writes the messages of a change.
    pub(super) fn write(
        &mut self,
        happening: &DayHappening<'_>,
        state: &DayState,
        output: &mut PacketWindow,
    ) {
        let stock = state.stock(happening.stock);
        let mut messages = IexMessages::new(output, happening.time, stock, true);
        match happening.change {
            DayChange::Executed { print: Some(ref print), .. } => messages.trade(print),
            _ => messages.other(happening),
        }
        let quote = ShownQuote {
            bid: stock.best(Side::Buy),
            offer: stock.best(Side::Sell),
            is_available: stock.is_available(),
        };
        let shown = self.shown.entry(happening.stock).or_default();
        if *shown == quote {
            return;
        }
        *shown = quote;
        let extended = if state.is_regular { 0 } else { QuoteFlags::EXTENDED_HOURS.get() };
        let halted = if quote.is_available { 0 } else { QuoteFlags::NOT_AVAILABLE.get() };
        let message = QuoteUpdateFields {
            flags: QuoteFlags::new(extended | halted),
            timestamp: messages.timestamp(),
            symbol: messages.symbol(),
            bid_shares: shares(quote.bid.1),
            bid_price: price(quote.bid.0),
            offer_price: price(quote.offer.0),
            offer_shares: shares(quote.offer.1),
        };
        messages.put(&message.encode());
    }
}
