//! The messages of PITCH about orders and trades, each in the shortest form that can say it.

use nanotape_types::{Decimal, MatchNumber, Mpid, OrderReferenceNumber, Shares, Side};
use nanotape_wire::pitch::{
    AddFlags, AddOrderExpandedFields, CustomerIndicator, DeleteOrderFields, ModifyFlags,
    ModifyOrderLongFields, ModifyOrderShortFields, OrderExecutedAtPriceSizeFields,
    OrderExecutedFields, ReduceSizeLongFields, ReduceSizeShortFields, SideIndicator,
    TradeExpandedFields, TradeLongFields, TradeShortFields, short_symbol, short_terms,
};

use super::{
    changes::{DayChange, DayPrint, ShownOrder},
    pitch::PitchMessages,
    stock::TranslatedStock,
};

/// A price of ITCH in a long field.
pub(super) fn price(units: u32) -> Decimal<u64, 4> {
    Decimal::new(units.into())
}

/// Writes a change of a displayed order, or a hidden trade.
pub(super) fn write(
    change: &DayChange<'_>,
    stock: &TranslatedStock,
    messages: &mut PitchMessages<'_>,
) {
    match *change {
        DayChange::Added { ref order, attribution } => add(messages, stock, order, attribution),
        DayChange::Executed { ref order, shares, print: Some(ref print), is_own_price } => {
            executed(messages, order, shares, (print, is_own_price));
        }
        DayChange::Cancelled { ref order, is_resized: true, .. } => {
            resized(messages, order, ModifyFlags::DISPLAYED.with(ModifyFlags::PRIORITY_KEPT));
        }
        // An execution that is not printed is a part of a cross, which a Trade prints.
        DayChange::Executed { ref order, shares, print: None, .. }
        | DayChange::Cancelled { ref order, shares, .. } => reduced(messages, order, shares),
        DayChange::Deleted { ref order } => reduced(messages, order, 0),
        DayChange::Replaced { ref order, .. } => resized(messages, order, ModifyFlags::DISPLAYED),
        DayChange::HiddenTrade { ref print, hidden_order } => {
            trade(messages, stock, print, hidden_order);
        }
        _ => {}
    }
}

/// `0x2f` for a signed order or a longer symbol, `0x22` if it fits, otherwise `0x21`.
fn add(
    messages: &mut PitchMessages<'_>,
    stock: &TranslatedStock,
    order: &ShownOrder,
    attribution: Option<Mpid>,
) {
    let time_offset = messages.time_offset();
    let order_reference_number = OrderReferenceNumber::new(order.id);
    let side_indicator = match order.side {
        Side::Buy => SideIndicator::Buy,
        Side::Sell => SideIndicator::Sell,
    };
    let message = AddOrderExpandedFields {
        time_offset,
        order_reference_number,
        side_indicator,
        shares: Shares::new(order.shares),
        symbol: stock.symbol,
        price: price(order.price),
        add_flags: AddFlags::DISPLAYED,
        participant_id: attribution.unwrap_or(Mpid::new(*b"    ")),
        customer_indicator: CustomerIndicator::NonCustomer,
    };
    message.put_shortest(attribution.is_some(), |message| messages.put(message));
}

/// `0x23`, or `0x24` at another price.
fn executed(
    messages: &mut PitchMessages<'_>,
    order: &ShownOrder,
    shares: u32,
    (print, is_own_price): (&DayPrint, bool),
) {
    let time_offset = messages.time_offset();
    let order_reference_number = OrderReferenceNumber::new(order.id);
    let (executed_shares, match_number) = (Shares::new(shares), MatchNumber::new(print.id));
    if is_own_price {
        let message = OrderExecutedFields {
            time_offset,
            order_reference_number,
            executed_shares,
            match_number,
        };
        return messages.put(&message.encode());
    }
    let message = OrderExecutedAtPriceSizeFields {
        time_offset,
        order_reference_number,
        executed_shares,
        remaining_shares: Shares::new(order.shares),
        match_number,
        price: price(print.price),
    };
    messages.put(&message.encode());
}

/// `0x26` if it fits, otherwise `0x25`; `0x29` if the order has no shares.
fn reduced(messages: &mut PitchMessages<'_>, order: &ShownOrder, shares: u32) {
    let time_offset = messages.time_offset();
    let order_reference_number = OrderReferenceNumber::new(order.id);
    if order.shares == 0 {
        return messages.put(&DeleteOrderFields { time_offset, order_reference_number }.encode());
    }
    if let Ok(cancelled_shares) = u16::try_from(shares) {
        let message =
            ReduceSizeShortFields { time_offset, order_reference_number, cancelled_shares };
        return messages.put(&message.encode());
    }
    let cancelled_shares = Shares::new(shares);
    let message = ReduceSizeLongFields { time_offset, order_reference_number, cancelled_shares };
    messages.put(&message.encode());
}

/// `0x28` if it fits, otherwise `0x27`; `0x29` if the order has no shares.
fn resized(messages: &mut PitchMessages<'_>, order: &ShownOrder, modify_flags: ModifyFlags) {
    if order.shares == 0 {
        return reduced(messages, order, 0);
    }
    let time_offset = messages.time_offset();
    let order_reference_number = OrderReferenceNumber::new(order.id);
    if let Some((shares, price)) = short_terms(Shares::new(order.shares), price(order.price)) {
        let message = ModifyOrderShortFields {
            time_offset,
            order_reference_number,
            shares,
            price,
            modify_flags,
        };
        return messages.put(&message.encode());
    }
    let message = ModifyOrderLongFields {
        time_offset,
        order_reference_number,
        shares: Shares::new(order.shares),
        price: price(order.price),
        modify_flags,
    };
    messages.put(&message.encode());
}

/// `0x30` for a longer symbol, `0x2b` if it fits, otherwise `0x2a`.
pub(super) fn trade(
    messages: &mut PitchMessages<'_>,
    stock: &TranslatedStock,
    print: &DayPrint,
    hidden_order: u64,
) {
    let time_offset = messages.time_offset();
    let order_reference_number = OrderReferenceNumber::new(hidden_order);
    let side_indicator = SideIndicator::Buy;
    let match_number = MatchNumber::new(print.id);
    match (short_symbol(stock.symbol), short_terms(Shares::new(print.shares), price(print.price))) {
        (None, _) => {
            let message = TradeExpandedFields {
                time_offset,
                order_reference_number,
                side_indicator,
                shares: Shares::new(print.shares),
                symbol: stock.symbol,
                price: price(print.price),
                match_number,
            };
            messages.put(&message.encode());
        }
        (Some(symbol), Some((shares, price))) => {
            let message = TradeShortFields {
                time_offset,
                order_reference_number,
                side_indicator,
                shares,
                symbol,
                price,
                match_number,
            };
            messages.put(&message.encode());
        }
        (Some(symbol), None) => {
            let message = TradeLongFields {
                time_offset,
                order_reference_number,
                side_indicator,
                shares: Shares::new(print.shares),
                symbol,
                price: price(print.price),
                match_number,
            };
            messages.put(&message.encode());
        }
    }
}
