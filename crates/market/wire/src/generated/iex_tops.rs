//! IEX TOPS 1.6: views, encoders and codes.
//!
//! Written by `cargo xtask gen` from `schema/iex-tops.toml`: edit that, not this.
//! Covers version 1.6.

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
        QuoteUpdate, "`Q` Quote Update.";
    }
    shared {
        timestamp: NanosSinceEpoch {
            SystemEvent, SecurityDirectory, TradingStatus, RetailLiquidityIndicator,
            OperationalHaltStatus, ShortSalePriceTestStatus, SecurityEvent, TradeReport,
            TradeBreak, OfficialPrice, AuctionInformation, QuoteUpdate,
        }
        symbol: Symbol {
            SecurityDirectory, TradingStatus, RetailLiquidityIndicator, OperationalHaltStatus,
            ShortSalePriceTestStatus, SecurityEvent, TradeReport, TradeBreak, OfficialPrice,
            AuctionInformation, QuoteUpdate,
        }
    }
}

with_head! { message:
    /// `Q` Quote Update. The best bid and offer of a symbol on IEX. A side without orders has 0
    /// shares at price 0.
    QuoteUpdate / QuoteUpdateFields: 42 bytes little-endian, growing, type b'Q' as char at 0,
        "Quote Update";
    [1] flags: QuoteFlags, "State of the quote.";
    [2..10] timestamp: NanosSinceEpoch, "Time of the event.";
    [10..18] symbol: Symbol, "Symbol.";
    [18..22] bid_shares: Shares, "Bid size in the specification: shares of the best bid.";
    [22..30] bid_price: Decimal<i64, 4>, "Price of the best bid.";
    [30..38] offer_price: Decimal<i64, 4>,
        "Ask price in the specification: price of the best offer.";
    [38..42] offer_shares: Shares, "Ask size in the specification: shares of the best offer.";
}

crate::bits! {
    /// State of a quote.
    QuoteFlags: u8 {
        6 => EXTENDED_HOURS, is_extended_hours, "extended_hours", "Outside of the regular session.";
        7 => NOT_AVAILABLE, is_not_available, "not_available",
            "The symbol is halted, paused, or cannot be traded on IEX for another reason.";
    }
}
