//! Messages built by hand: the fields that a test needs, all at the same time of day.

use nanotape_types::{
    Alpha, MatchNumber, Maybe, NanosSinceMidnight, OrderReferenceNumber, Price4, Shares, Symbol,
    TotalShares, WireValue,
};
use nanotape_wire::itch50::{
    AddOrderFields, AddOrderMpidFields, Authenticity, BrokenTradeFields, BuySellIndicator,
    CrossTradeFields, CrossType, FinancialStatus, IpoFlag, IssueClassification, LuldTier,
    MarketCategory, OrderCancelFields, OrderDeleteFields, OrderExecutedFields,
    OrderExecutedWithPriceFields, OrderReplaceFields, StockDirectoryFields, TradeFields, YesNo,
};

/// The time of every message here.
pub(crate) const TIME: NanosSinceMidnight = NanosSinceMidnight::from_hms(9, 30, 0);

/// The bytes of a message about a stock.
macro_rules! message {
    ($locate:expr, $fields:ident { $($name:ident: $value:expr),* $(,)? }) => {
        $fields {
            stock_locate: nanotape_types::StockLocate::new($locate),
            tracking_number: nanotape_types::TrackingNumber::new(0),
            timestamp: $crate::published::messages::TIME,
            $($name: $value,)*
        }
        .encode()
        .to_vec()
    };
}
pub(crate) use message;

pub(crate) fn symbol(text: &str) -> Symbol {
    text.parse().unwrap()
}

pub(crate) fn directory(locate: u16, name: &str) -> Vec<u8> {
    message!(
        locate,
        StockDirectoryFields {
            stock: symbol(name),
            market_category: MarketCategory::NasdaqGlobalSelect,
            financial_status: FinancialStatus::Normal,
            round_lot_size: 100,
            round_lots_only: YesNo::No,
            issue_classification: IssueClassification::CommonStock,
            issue_sub_type: Alpha::new(*b"C "),
            authenticity: Authenticity::Production,
            short_sale_threshold: YesNo::No,
            ipo_flag: IpoFlag::No,
            luld_tier: LuldTier::Tier1,
            etp_flag: YesNo::No,
            etp_leverage_factor: 0,
            inverse_indicator: YesNo::No,
        }
    )
}

fn reference(number: u64) -> OrderReferenceNumber {
    OrderReferenceNumber::new(number)
}

/// A code by its byte on the wire, listed or not.
pub(crate) fn code<T: WireValue<1>>(byte: u8) -> T {
    T::from_be_bytes([byte])
}

/// Adds an order; prices in units of 1/10,000. The symbol is derived from the locate.
pub(crate) fn add(locate: u16, order: u64, side: u8, shares: u32, price: u32) -> Vec<u8> {
    message!(
        locate,
        AddOrderFields {
            order_reference_number: reference(order),
            buy_sell_indicator: code(side),
            shares: Shares::new(shares),
            stock: symbol(&format!("S{locate}")),
            price: Price4::new(price),
        }
    )
}

pub(crate) fn add_mpid(locate: u16, order: u64, side: u8, shares: u32, price: u32) -> Vec<u8> {
    message!(
        locate,
        AddOrderMpidFields {
            order_reference_number: reference(order),
            buy_sell_indicator: code(side),
            shares: Shares::new(shares),
            stock: symbol(&format!("S{locate}")),
            price: Price4::new(price),
            attribution: Alpha::new(*b"GSCO"),
        }
    )
}

pub(crate) fn executed(locate: u16, order: u64, shares: u32) -> Vec<u8> {
    message!(
        locate,
        OrderExecutedFields {
            order_reference_number: reference(order),
            executed_shares: Shares::new(shares),
            match_number: MatchNumber::new(1),
        }
    )
}

pub(crate) fn executed_at(
    locate: u16,
    order: u64,
    shares: u32,
    price: u32,
    printable: YesNo,
) -> Vec<u8> {
    message!(
        locate,
        OrderExecutedWithPriceFields {
            order_reference_number: reference(order),
            executed_shares: Shares::new(shares),
            match_number: MatchNumber::new(2),
            printable: printable,
            execution_price: Price4::new(price),
        }
    )
}

pub(crate) fn cancel(locate: u16, order: u64, shares: u32) -> Vec<u8> {
    message!(
        locate,
        OrderCancelFields {
            order_reference_number: reference(order),
            cancelled_shares: Shares::new(shares),
        }
    )
}

pub(crate) fn delete(locate: u16, order: u64) -> Vec<u8> {
    message!(locate, OrderDeleteFields { order_reference_number: reference(order) })
}

pub(crate) fn replace(locate: u16, orders: (u64, u64), shares: u32, price: u32) -> Vec<u8> {
    message!(
        locate,
        OrderReplaceFields {
            original_order_reference_number: reference(orders.0),
            new_order_reference_number: reference(orders.1),
            shares: Shares::new(shares),
            price: Price4::new(price),
        }
    )
}

pub(crate) fn trade(locate: u16, shares: u32, price: u32) -> Vec<u8> {
    message!(
        locate,
        TradeFields {
            order_reference_number: Maybe::NONE,
            buy_sell_indicator: BuySellIndicator::Buy,
            shares: Shares::new(shares),
            stock: symbol(&format!("S{locate}")),
            price: Price4::new(price),
            match_number: MatchNumber::new(3),
        }
    )
}

pub(crate) fn cross(locate: u16, shares: u64, price: u32) -> Vec<u8> {
    message!(
        locate,
        CrossTradeFields {
            shares: TotalShares::new(shares),
            stock: symbol(&format!("S{locate}")),
            cross_price: Price4::new(price),
            match_number: MatchNumber::new(4),
            cross_type: CrossType::Opening,
        }
    )
}

pub(crate) fn broken(locate: u16) -> Vec<u8> {
    message!(locate, BrokenTradeFields { match_number: MatchNumber::new(3) })
}
