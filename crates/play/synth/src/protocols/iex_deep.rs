//! The day as IEX DEEP 1.0: the new size of each level that a message changes.

use nanotape_types::{Decimal, NanosSinceEpoch, Shares, Side, Symbol};
use nanotape_wire::iex_deep::{EventFlags, PriceLevelUpdateBuyFields, PriceLevelUpdateSellFields};

use super::{
    changes::{DayChange, DayHappening, DayState, ShownOrder},
    iex::{IexMessages, price, shares},
    packets::PacketWindow,
};

/// Writes the messages of a change.
pub(super) fn write(happening: &DayHappening<'_>, state: &DayState, output: &mut PacketWindow) {
    let stock = state.stock(happening.stock);
    let mut messages = IexMessages::new(output, happening.time, stock, true);
    match happening.change {
        DayChange::Added { ref order, .. }
        | DayChange::Cancelled { ref order, .. }
        | DayChange::Deleted { ref order } => level(&mut messages, order, true),
        DayChange::Executed { ref order, ref print, .. } => {
            if let Some(print) = print {
                messages.trade(print);
            }
            level(&mut messages, order, true);
        }
        DayChange::Replaced { ref before, ref order } if before.price == order.price => {
            if before.shares != order.shares {
                level(&mut messages, order, true);
            }
        }
        DayChange::Replaced { ref before, ref order } => {
            level(&mut messages, before, false);
            level(&mut messages, order, true);
        }
        _ => messages.other(happening),
    }
}

/// `8` or `5`, for the level of an order.
fn level(messages: &mut IexMessages<'_>, order: &ShownOrder, is_complete: bool) {
    let update = LevelUpdate {
        event_flags: if is_complete { EventFlags::EVENT_COMPLETE } else { EventFlags::new(0) },
        timestamp: messages.timestamp(),
        symbol: messages.symbol(),
        shares: shares(messages.stock.level(order.side, order.price)),
        price: price(order.price),
    };
    let bytes = update.encode(order.side);
    messages.put(&bytes);
}

/// The fields of the messages of both sides.
struct LevelUpdate {
    event_flags: EventFlags,
    timestamp: NanosSinceEpoch,
    symbol: Symbol,
    shares: Shares,
    price: Decimal<i64, 4>,
}

impl LevelUpdate {
    fn encode(self, side: Side) -> [u8; 30] {
        let Self { event_flags, timestamp, symbol, shares, price } = self;
        match side {
            Side::Buy => {
                PriceLevelUpdateBuyFields { event_flags, timestamp, symbol, shares, price }.encode()
            }
            Side::Sell => {
                PriceLevelUpdateSellFields { event_flags, timestamp, symbol, shares, price }
                    .encode()
            }
        }
    }
}
