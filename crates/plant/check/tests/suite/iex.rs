//! Messages that both feeds of IEX have.

use nanotape_types::{Alpha, Decimal, MatchNumber, NanosSinceEpoch, Shares, Symbol};
use nanotape_wire::iex_common::{
    SaleConditionFlags, SystemEventCode, SystemEventFields, TradeBreakFields, TradeReportFields,
    TradingStatusCode, TradingStatusFields,
};

use crate::made::{Made, OPEN_NS, Violated, violated};

pub(crate) const STOCK: Symbol = Symbol::new(*b"V       ");

/// A time: ns after the open.
pub(crate) fn at(nanos: u64) -> NanosSinceEpoch {
    NanosSinceEpoch::new(OPEN_NS + nanos)
}

pub(crate) fn usd(dollars: i64) -> Decimal<i64, 4> {
    Decimal::new(10_000 * dollars)
}

pub(crate) fn system(system_event: SystemEventCode, nanos: u64) -> Vec<u8> {
    SystemEventFields { system_event, timestamp: at(nanos) }.encode().to_vec()
}

pub(crate) fn status(trading_status: TradingStatusCode, nanos: u64) -> Vec<u8> {
    let (timestamp, symbol, reason) = (at(nanos), STOCK, Alpha::new(*b"    "));
    TradingStatusFields { trading_status, timestamp, symbol, reason }.encode().to_vec()
}

pub(crate) fn trade(number: u64, nanos: u64) -> Vec<u8> {
    TradeReportFields {
        sale_condition_flags: SaleConditionFlags::default(),
        timestamp: at(nanos),
        symbol: STOCK,
        shares: Shares::new(100),
        price: usd(10),
        match_number: MatchNumber::new(number),
    }
    .encode()
    .to_vec()
}

pub(crate) fn trade_break(number: u64, (shares, dollars): (u32, i64), nanos: u64) -> Vec<u8> {
    TradeBreakFields {
        sale_condition_flags: SaleConditionFlags::default(),
        timestamp: at(nanos),
        symbol: STOCK,
        shares: Shares::new(shares),
        price: usd(dollars),
        match_number: MatchNumber::new(number),
    }
    .encode()
    .to_vec()
}

/// A day around these messages, which begin with number 5.
pub(crate) fn day(messages: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let before = [
        system(SystemEventCode::StartOfMessages, 0),
        system(SystemEventCode::StartOfSystemHours, 1),
        status(TradingStatusCode::Trading, 2),
        system(SystemEventCode::StartOfRegularHours, 3),
    ];
    let after = [
        system(SystemEventCode::EndOfRegularHours, 1_000),
        system(SystemEventCode::EndOfSystemHours, 1_001),
        system(SystemEventCode::EndOfMessages, 1_002),
    ];
    [&before[..], messages, &after].concat()
}

/// What a capture of these messages violates: two in a segment.
pub(crate) fn violated_by(protocol: u16, first: u64, messages: &[Vec<u8>]) -> Violated {
    let (mut made, mut number, mut offset) = (Made::new(), first, 1_000 * (first - 1));
    for two in messages.chunks(2) {
        offset = made.segment(protocol, (number, offset), two);
        number += two.len() as u64;
    }
    violated(made.bytes)
}
