//! IEX DEEP 1.0: views, encoders and codes.
//!
//! Written by `cargo xtask gen` from `schema/iex-deep.toml`: edit that, not this.
//! Covers version 1.0, specification 1.06 to 1.08.

use nanotape_types::{Decimal, NanosSinceEpoch, Shares, Symbol};

pub use super::iex_common::{
    AuctionInformation, AuctionInformationFields, AuctionType, ImbalanceSide, LuldTier,
    OfficialPrice, OfficialPriceFields, OfficialPriceType, OperationalHaltCode,
    OperationalHaltStatus, OperationalHaltStatusFields, RetailLiquidity, RetailLiquidityIndicator,
    RetailLiquidityIndicatorFields, SaleConditionFlags, SecurityDirectory, SecurityDirectoryFields,
    SecurityEvent, SecurityEventCode, SecurityEventFields, SecurityFlags, ShortSalePriceTestStatus,
    ShortSalePriceTestStatusFields, ShortSaleTestDetail, ShortSaleTestStatus, SystemEvent,
    SystemEventCode, SystemEventFields, TradeBreak, TradeBreakFields, TradeReport,
    TradeReportFields, TradingStatus, TradingStatusCode, TradingStatusFields,
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
        OfficialPrice, "`X` Official Price.";
        AuctionInformation, "`A` Auction Information.";
        PriceLevelUpdateBuy, "`8` Price Level Update, buy side.";
        PriceLevelUpdateSell, "`5` Price Level Update, sell side.";
    }
    shared {
        timestamp: NanosSinceEpoch {
            SystemEvent, SecurityDirectory, TradingStatus, RetailLiquidityIndicator,
            OperationalHaltStatus, ShortSalePriceTestStatus, SecurityEvent, TradeReport,
            TradeBreak, OfficialPrice, AuctionInformation, PriceLevelUpdateBuy,
            PriceLevelUpdateSell,
        }
        symbol: Symbol {
            SecurityDirectory, TradingStatus, RetailLiquidityIndicator, OperationalHaltStatus,
            ShortSalePriceTestStatus, SecurityEvent, TradeReport, TradeBreak, OfficialPrice,
            AuctionInformation, PriceLevelUpdateBuy, PriceLevelUpdateSell,
        }
    }
}

with_head! { message:
    /// `8` Price Level Update, buy side. A price level of the buy side has a new size.
    PriceLevelUpdateBuy / PriceLevelUpdateBuyFields: 30 bytes little-endian,
        growing, type b'8' as char at 0, "Price Level Update, buy side";
    [1] event_flags: EventFlags, "Whether the event is complete.";
    [2..10] timestamp: NanosSinceEpoch, "Time of the event.";
    [10..18] symbol: Symbol, "Symbol.";
    [18..22] shares: Shares,
        "Size in the specification: displayed shares of the level from now on; 0 removes it.";
    [22..30] price: Decimal<i64, 4>, "Price of the level.";
}

with_head! { message:
    /// `5` Price Level Update, sell side. A price level of the sell side has a new size.
    PriceLevelUpdateSell / PriceLevelUpdateSellFields: 30 bytes little-endian,
        growing, type b'5' as char at 0, "Price Level Update, sell side";
    [1] event_flags: EventFlags, "Whether the event is complete.";
    [2..10] timestamp: NanosSinceEpoch, "Time of the event.";
    [10..18] symbol: Symbol, "Symbol.";
    [18..22] shares: Shares,
        "Size in the specification: displayed shares of the level from now on; 0 removes it.";
    [22..30] price: Decimal<i64, 4>, "Price of the level.";
}

crate::bits! {
    /// Whether the book of the symbol can be read after this message.
    EventFlags: u8 {
        0 => EVENT_COMPLETE, is_event_complete, "event_complete",
            "The last update of the event; without it more updates of the same event follow, and \
             the book may look crossed.";
    }
}
