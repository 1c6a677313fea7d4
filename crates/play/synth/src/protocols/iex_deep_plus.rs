//! The day as IEX DEEP+ 1.0: order by order, each under its first number.

use nanotape_types::{Alpha, MatchNumber, OrderReferenceNumber, Shares, Side};
use nanotape_wire::iex_deep_plus::{
    AddOrderFields, ModifyFlags, OrderDeleteFields, OrderExecutedFields, OrderModifyFields,
    SideIndicator,
};

use super::{
    changes::{DayChange, DayHappening, DayPrint, DayState, ShownOrder},
    iex::{IexMessages, price, sale_condition},
    packets::PacketWindow,
};

/// Writes the messages of a change.
pub(super) fn write(happening: &DayHappening<'_>, state: &DayState, output: &mut PacketWindow) {
    let stock = state.stock(happening.stock);
    let mut messages = IexMessages::new(output, happening.time, stock, false);
    match happening.change {
        DayChange::Added { ref order, .. } => {
            let message = AddOrderFields {
                side_indicator: match order.side {
                    Side::Buy => SideIndicator::Buy,
                    Side::Sell => SideIndicator::Sell,
                },
                timestamp: messages.timestamp(),
                symbol: messages.symbol(),
                order_reference_number: OrderReferenceNumber::new(order.id),
                shares: Shares::new(order.shares),
                price: price(order.price),
            };
            messages.put(&message.encode());
        }
        DayChange::Executed { ref order, shares, print: Some(ref print), .. } => {
            executed(&mut messages, order, shares, print);
        }
        // An execution that is not printed is a part of a cross, which `T` prints as one trade.
        DayChange::Executed { ref order, print: None, .. }
        | DayChange::Cancelled { ref order, .. } => {
            resized(&mut messages, order, ModifyFlags::PRIORITY_KEPT);
        }
        DayChange::Deleted { ref order } => resized(&mut messages, order, ModifyFlags::new(0)),
        DayChange::Replaced { ref order, .. } => {
            resized(&mut messages, order, ModifyFlags::new(0));
        }
        _ => messages.other(happening),
    }
}

/// `L`.
fn executed(messages: &mut IexMessages<'_>, order: &ShownOrder, shares: u32, print: &DayPrint) {
    let message = OrderExecutedFields {
        sale_condition_flags: sale_condition(print),
        timestamp: messages.timestamp(),
        symbol: messages.symbol(),
        order_reference_number: OrderReferenceNumber::new(order.id),
        executed_shares: Shares::new(shares),
        price: price(print.price),
        match_number: MatchNumber::new(print.id),
    };
    messages.put(&message.encode());
}

/// `M` with the size and the price of the order, or `R` if it has no shares.
fn resized(messages: &mut IexMessages<'_>, order: &ShownOrder, modify_flags: ModifyFlags) {
    let (timestamp, symbol) = (messages.timestamp(), messages.symbol());
    let order_reference_number = OrderReferenceNumber::new(order.id);
    if order.shares == 0 {
        let reserved = Alpha::new(*b" ");
        let message = OrderDeleteFields { reserved, timestamp, symbol, order_reference_number };
        return messages.put(&message.encode());
    }
    let message = OrderModifyFields {
        modify_flags,
        timestamp,
        symbol,
        order_reference_number,
        shares: Shares::new(order.shares),
        price: price(order.price),
    };
    messages.put(&message.encode());
}
