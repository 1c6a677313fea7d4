//! The ITCH day, read naively.

use std::collections::HashMap;

use nanotape_types::{Side, Symbol};
use nanotape_wire::{
    framing::binary_file::Records,
    itch50::{CrossType, MarketCode, Message, YesNo},
};

use super::books::{DayLog, NaiveBooks, key};

/// Times of the messages that are not about orders and trades, by their type.
pub(super) type OtherTimes = Vec<(u8, u64)>;

/// What the day shows, and its other messages.
pub(super) fn read(records: &[u8]) -> (DayLog, OtherTimes) {
    let (mut books, mut symbols) = (NaiveBooks::default(), HashMap::<u16, Symbol>::new());
    let mut others = Vec::new();
    for record in Records::new(records, 0) {
        let message = Message::decode(record.bytes).unwrap();
        let time = message.timestamp().unwrap().get();
        let locate = message.stock_locate().unwrap().get();
        let symbol = symbols.get(&locate).copied();
        let mut add = |id, side: Option<Side>, price, shares| {
            books.add(time, id, symbol.unwrap(), key(side.unwrap(), price), shares);
        };
        match message {
            Message::AddOrder(m) => add(
                m.order_reference_number().get(),
                m.buy_sell_indicator().side(),
                m.price().get(),
                m.shares().get(),
            ),
            Message::AddOrderMpid(m) => add(
                m.order_reference_number().get(),
                m.buy_sell_indicator().side(),
                m.price().get(),
                m.shares().get(),
            ),
            Message::OrderExecuted(m) => {
                let (id, shares) = (m.order_reference_number().get(), m.executed_shares().get());
                let row = (time, shares, books.price(id));
                books.print(m.match_number().get(), symbol.unwrap(), row);
                books.reduce(time, id, shares);
            }
            Message::OrderExecutedWithPrice(m) => {
                let (id, shares) = (m.order_reference_number().get(), m.executed_shares().get());
                if m.printable() == YesNo::Yes {
                    let row = (time, shares, m.execution_price().get());
                    books.print(m.match_number().get(), symbol.unwrap(), row);
                }
                books.reduce(time, id, shares);
            }
            Message::OrderCancel(m) => {
                let id = m.order_reference_number().get();
                books.reduce(time, id, m.cancelled_shares().get());
            }
            Message::OrderDelete(m) => books.remove(time, m.order_reference_number().get()),
            Message::OrderReplace(m) => {
                let original = m.original_order_reference_number().get();
                let ids = (original, m.new_order_reference_number().get());
                books.replace(time, ids, m.price().get(), m.shares().get());
            }
            Message::Trade(m) => {
                let row = (time, m.shares().get(), m.price().get());
                books.print(m.match_number().get(), symbol.unwrap(), row);
            }
            Message::CrossTrade(m) => {
                let shares = u32::try_from(m.shares().get()).unwrap();
                if shares > 0 {
                    let row = (time, shares, m.cross_price().get());
                    books.print(m.match_number().get(), symbol.unwrap(), row);
                }
                if [CrossType::Opening, CrossType::Closing].contains(&m.cross_type()) {
                    others.push((b'Q', time));
                }
            }
            Message::BrokenTrade(m) => {
                // A trade that no feed printed cannot be broken there.
                let id = m.match_number().get();
                if books.is_traded(id) {
                    books.break_trade(time, id);
                }
            }
            Message::StockDirectory(m) => {
                symbols.insert(locate, m.stock());
                others.push((b'R', time));
            }
            Message::OperationalHalt(m) if m.market_code() != MarketCode::Nasdaq => {}
            Message::SystemEvent(_)
            | Message::StockTradingAction(_)
            | Message::RegShoRestriction(_)
            | Message::OperationalHalt(_)
            | Message::NetOrderImbalance(_) => others.push((record.bytes[0], time)),
            _ => {}
        }
        books.end_event();
    }
    (books.finish(), others)
}
