//! From ITCH 5.0 messages to book events: the table of the specification's book semantics.

use nanotape_types::{BookEvent, StockLocate};
use nanotape_wire::itch50::Message;

/// An order message whose side is neither buy nor sell: it cannot become an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownSide {
    /// The stock it was about.
    pub stock_locate: StockLocate,
}

/// What a message does to the displayed book; `None` for the 16 types that do nothing to it.
///
/// A hidden trade or a cross prints shares that were never displayed or were taken off by `C`
/// messages before; a broken trade never gives shares back.
#[inline(always)]
pub fn book_event(message: &Message<'_>) -> Result<Option<BookEvent>, UnknownSide> {
    Ok(Some(match message {
        Message::AddOrder(m) => {
            let stock_locate = m.stock_locate();
            let Some(side) = m.buy_sell_indicator().side() else {
                return Err(UnknownSide { stock_locate });
            };
            let reference = m.order_reference_number();
            BookEvent::Add { stock_locate, reference, side, shares: m.shares(), price: m.price() }
        }
        Message::AddOrderMpid(m) => {
            let stock_locate = m.stock_locate();
            let Some(side) = m.buy_sell_indicator().side() else {
                return Err(UnknownSide { stock_locate });
            };
            let reference = m.order_reference_number();
            BookEvent::Add { stock_locate, reference, side, shares: m.shares(), price: m.price() }
        }
        Message::OrderExecuted(m) => BookEvent::Execute {
            stock_locate: m.stock_locate(),
            reference: m.order_reference_number(),
            shares: m.executed_shares(),
        },
        // The execution price is the trade's; the shares leave the order's own level.
        Message::OrderExecutedWithPrice(m) => BookEvent::Execute {
            stock_locate: m.stock_locate(),
            reference: m.order_reference_number(),
            shares: m.executed_shares(),
        },
        Message::OrderCancel(m) => BookEvent::Cancel {
            stock_locate: m.stock_locate(),
            reference: m.order_reference_number(),
            shares: m.cancelled_shares(),
        },
        Message::OrderDelete(m) => BookEvent::Delete {
            stock_locate: m.stock_locate(),
            reference: m.order_reference_number(),
        },
        Message::OrderReplace(m) => BookEvent::Replace {
            stock_locate: m.stock_locate(),
            original: m.original_order_reference_number(),
            replacement: m.new_order_reference_number(),
            shares: m.shares(),
            price: m.price(),
        },
        _ => return Ok(None),
    }))
}
