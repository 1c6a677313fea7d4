//! IEX DEEP+ 1.0: views, encoders and codes.
//!
//! Written by `cargo xtask gen` from `schema/iex-deep-plus.toml`: edit that, not this.
//! Covers version 1.0, specification 1.01 to 1.04.

use nanotape_types::{
    Alpha, Decimal, MatchNumber, NanosSinceEpoch, OrderReferenceNumber, Shares, Symbol,
};

pub use super::iex_common::{
    LuldTier, OperationalHaltCode, OperationalHaltStatus, OperationalHaltStatusFields,
    RetailLiquidity, RetailLiquidityIndicator, RetailLiquidityIndicatorFields, SaleConditionFlags,
    SecurityDirectory, SecurityDirectoryFields, SecurityEvent, SecurityEventCode,
    SecurityEventFields, SecurityFlags, ShortSalePriceTestStatus, ShortSalePriceTestStatusFields,
    ShortSaleTestDetail, ShortSaleTestStatus, SystemEvent, SystemEventCode, SystemEventFields,
    TradeBreak, TradeBreakFields, TradeReport, TradeReportFields, TradingStatus, TradingStatusCode,
    TradingStatusFields,
};

/// Writes a table of this protocol, after the fields that every message begins with.
macro_rules! with_head {
    ($table:ident: $($rows:tt)*) => {
        crate::$table! {
            head {
            }
            $($rows)*
        }
    };
}

with_head! { messages:
    type as char little-endian at 0;
    messages {
        SystemEvent, "`S` System Event.";
        SecurityDirectory, "`D` Security Directory.";
        TradingStatus, "`H` Trading Status.";
        RetailLiquidityIndicator, "`I` Retail Liquidity Indicator.";
        OperationalHaltStatus, "`O` Operational Halt Status.";
        ShortSalePriceTestStatus, "`P` Short Sale Price Test Status.";
        SecurityEvent, "`E` Security Event.";
        TradeReport, "`T` Trade Report.";
        TradeBreak, "`B` Trade Break.";
        AddOrder, "`a` Add Order.";
        OrderModify, "`M` Order Modify.";
        OrderDelete, "`R` Order Delete.";
        OrderExecuted, "`L` Order Executed.";
        ClearBook, "`C` Clear Book.";
    }
    shared {
        timestamp: NanosSinceEpoch {
            SystemEvent, SecurityDirectory, TradingStatus, RetailLiquidityIndicator,
            OperationalHaltStatus, ShortSalePriceTestStatus, SecurityEvent, TradeReport,
            TradeBreak, AddOrder, OrderModify, OrderDelete, OrderExecuted, ClearBook,
        }
        symbol: Symbol {
            SecurityDirectory, TradingStatus, RetailLiquidityIndicator, OperationalHaltStatus,
            ShortSalePriceTestStatus, SecurityEvent, TradeReport, TradeBreak, AddOrder,
            OrderModify, OrderDelete, OrderExecuted, ClearBook,
        }
    }
}

with_head! { message:
    /// `a` Add Order. A displayed order enters the book at the end of its price level.
    AddOrder / AddOrderFields: 38 bytes little-endian, growing, type b'a' as char at 0, "Add Order";
    [1] side_indicator: SideIndicator, "Side.";
    [2..10] timestamp: NanosSinceEpoch, "Time of the event.";
    [10..18] symbol: Symbol, "Symbol.";
    [18..26] order_reference_number: OrderReferenceNumber,
        "Order ID in the specification: identifies the order; may come back after a delete.";
    [26..30] shares: Shares, "Displayed shares.";
    [30..38] price: Decimal<i64, 4>, "Display price.";
}

with_head! { message:
    /// `M` Order Modify. An order has another size or price, under the same number.
    OrderModify / OrderModifyFields: 38 bytes little-endian, growing, type b'M' as char at 0,
        "Order Modify";
    [1] modify_flags: ModifyFlags, "Whether it keeps its place.";
    [2..10] timestamp: NanosSinceEpoch, "Time of the event.";
    [10..18] symbol: Symbol, "Symbol.";
    [18..26] order_reference_number: OrderReferenceNumber, "The order.";
    [26..30] shares: Shares, "Displayed shares from now on.";
    [30..38] price: Decimal<i64, 4>, "Display price from now on.";
}

with_head! { message:
    /// `R` Order Delete. An order leaves the book.
    OrderDelete / OrderDeleteFields: 26 bytes little-endian, growing, type b'R' as char at 0,
        "Order Delete";
    [1] reserved: Alpha<1>, "Not used.";
    [2..10] timestamp: NanosSinceEpoch, "Time of the event.";
    [10..18] symbol: Symbol, "Symbol.";
    [18..26] order_reference_number: OrderReferenceNumber, "The order.";
}

with_head! { message:
    /// `L` Order Executed. Shares of a displayed order traded. The order leaves the book when no
    /// shares remain; no delete follows.
    OrderExecuted / OrderExecutedFields: 46 bytes little-endian, growing, type b'L' as char at 0,
        "Order Executed";
    [1] sale_condition_flags: SaleConditionFlags, "Conditions of the trade.";
    [2..10] timestamp: NanosSinceEpoch, "Time of the event.";
    [10..18] symbol: Symbol, "Symbol.";
    [18..26] order_reference_number: OrderReferenceNumber, "The order.";
    [26..30] executed_shares: Shares, "Shares to remove from the order.";
    [30..38] price: Decimal<i64, 4>, "Price of the trade, which can differ from that of the order.";
    [38..46] match_number: MatchNumber, "Trade ID in the specification: identifies the trade.";
}

with_head! { message:
    /// `C` Clear Book. All orders of a symbol leave the book.
    ClearBook / ClearBookFields: 18 bytes little-endian, growing, type b'C' as char at 0,
        "Clear Book";
    [1] reserved: Alpha<1>, "Not used.";
    [2..10] timestamp: NanosSinceEpoch, "Time of the event.";
    [10..18] symbol: Symbol, "Symbol.";
}

crate::enumeration! {
    /// Side of an order.
    SideIndicator {
        '8' => Buy, "To buy.";
        '5' => Sell, "To sell.";
    }
}

crate::bits! {
    /// How an order was modified.
    ModifyFlags: u8 {
        0 => PRIORITY_KEPT, is_priority_kept, "priority_kept",
            "The order keeps its place in the queue, unless its price changes.";
    }
}
