//! Messages of several IEX feeds: views, encoders and codes.
//!
//! Written by `cargo xtask gen` from `schema/iex-common.toml`: edit that, not this.
//! Covers version DEEP 1.0, DEEP+ 1.0 and TOPS 1.6.

use nanotape_types::{
    Alpha, Decimal, MatchNumber, NanosSinceEpoch, SecondsSinceEpoch, Shares, Symbol,
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
    }
    shared {
        timestamp: NanosSinceEpoch {
            SystemEvent, SecurityDirectory, TradingStatus, RetailLiquidityIndicator,
            OperationalHaltStatus, ShortSalePriceTestStatus, SecurityEvent, TradeReport,
            TradeBreak, OfficialPrice, AuctionInformation,
        }
        symbol: Symbol {
            SecurityDirectory, TradingStatus, RetailLiquidityIndicator, OperationalHaltStatus,
            ShortSalePriceTestStatus, SecurityEvent, TradeReport, TradeBreak, OfficialPrice,
            AuctionInformation,
        }
    }
}

with_head! { message:
    /// `S` System Event. A milestone of the trading day.
    SystemEvent / SystemEventFields: 10 bytes little-endian, growing, type b'S' as char at 0,
        "System Event";
    [1] system_event: SystemEventCode, "The milestone.";
    [2..10] timestamp: NanosSinceEpoch, "Time of the event.";
}

with_head! { message:
    /// `D` Security Directory. One security of the day.
    SecurityDirectory / SecurityDirectoryFields: 31 bytes little-endian,
        growing, type b'D' as char at 0, "Security Directory";
    [1] flags: SecurityFlags, "Its properties.";
    [2..10] timestamp: NanosSinceEpoch, "Time of the event.";
    [10..18] symbol: Symbol, "Symbol.";
    [18..22] round_lot_size: u32, "Shares in a round lot.";
    [22..30] adjusted_poc_price: Decimal<i64, 4>,
        "Previous official closing price, adjusted for corporate actions.";
    [30] luld_tier: LuldTier, "Its tier.";
}

with_head! { message:
    /// `H` Trading Status. A security changed its trading status. A security that is absent from
    /// the spin before the open counts as halted.
    TradingStatus / TradingStatusFields: 22 bytes little-endian, growing, type b'H' as char at 0,
        "Trading Status";
    [1] trading_status: TradingStatusCode, "Status from now on.";
    [2..10] timestamp: NanosSinceEpoch, "Time of the event.";
    [10..18] symbol: Symbol, "Symbol.";
    [18..22] reason: Alpha<4>, "Reason. Codes: TradingStatusReason in the document.";
}

with_head! { message:
    /// `I` Retail Liquidity Indicator. Retail liquidity of a security.
    RetailLiquidityIndicator / RetailLiquidityIndicatorFields: 18 bytes little-endian,
        growing, type b'I' as char at 0, "Retail Liquidity Indicator";
    [1] retail_liquidity: RetailLiquidity, "Sides with it.";
    [2..10] timestamp: NanosSinceEpoch, "Time of the event.";
    [10..18] symbol: Symbol, "Symbol.";
}

with_head! { message:
    /// `O` Operational Halt Status. IEX stopped or resumed a security. The status on other markets
    /// does not change.
    OperationalHaltStatus / OperationalHaltStatusFields: 18 bytes little-endian,
        growing, type b'O' as char at 0, "Operational Halt Status";
    [1] operational_halt_status: OperationalHaltCode, "Stopped or not.";
    [2..10] timestamp: NanosSinceEpoch, "Time of the event.";
    [10..18] symbol: Symbol, "Symbol.";
}

with_head! { message:
    /// `P` Short Sale Price Test Status. Whether short sales of a security are restricted.
    ShortSalePriceTestStatus / ShortSalePriceTestStatusFields: 19 bytes little-endian,
        growing, type b'P' as char at 0, "Short Sale Price Test Status";
    [1] short_sale_price_test_status: ShortSaleTestStatus, "Whether the test is in effect.";
    [2..10] timestamp: NanosSinceEpoch, "Time of the event.";
    [10..18] symbol: Symbol, "Symbol.";
    [18] detail: ShortSaleTestDetail, "What changed it.";
}

with_head! { message:
    /// `E` Security Event. A process of a security has been completed.
    SecurityEvent / SecurityEventFields: 18 bytes little-endian, growing, type b'E' as char at 0,
        "Security Event";
    [1] security_event: SecurityEventCode, "The process.";
    [2..10] timestamp: NanosSinceEpoch, "Time of the event.";
    [10..18] symbol: Symbol, "Symbol.";
}

with_head! { message:
    /// `T` Trade Report. A trade. It changes no book: in DEEP a price level update follows, and in
    /// DEEP+ it is a trade between hidden orders.
    TradeReport / TradeReportFields: 38 bytes little-endian, growing, type b'T' as char at 0,
        "Trade Report";
    [1] sale_condition_flags: SaleConditionFlags, "Conditions.";
    [2..10] timestamp: NanosSinceEpoch, "Time of the event.";
    [10..18] symbol: Symbol, "Symbol.";
    [18..22] shares: Shares, "Shares traded.";
    [22..30] price: Decimal<i64, 4>, "Price of the trade.";
    [30..38] match_number: MatchNumber,
        "Trade ID in the specification: identifies the trade, unique for the day.";
}

with_head! { message:
    /// `B` Trade Break. A trade of the day was broken. It changes no book.
    TradeBreak / TradeBreakFields: 38 bytes little-endian, growing, type b'B' as char at 0,
        "Trade Break";
    [1] sale_condition_flags: SaleConditionFlags, "Conditions of the trade.";
    [2..10] timestamp: NanosSinceEpoch, "Time of the event.";
    [10..18] symbol: Symbol, "Symbol.";
    [18..22] shares: Shares, "Shares of the trade.";
    [22..30] price: Decimal<i64, 4>, "Price of the trade.";
    [30..38] match_number: MatchNumber, "Trade ID in the specification: the broken trade.";
}

with_head! { message:
    /// `X` Official Price. Official opening or closing price of a security that IEX lists.
    OfficialPrice / OfficialPriceFields: 26 bytes little-endian, growing, type b'X' as char at 0,
        "Official Price";
    [1] price_type: OfficialPriceType, "Which one.";
    [2..10] timestamp: NanosSinceEpoch, "Time of the event.";
    [10..18] symbol: Symbol, "Symbol.";
    [18..26] price: Decimal<i64, 4>, "The price.";
}

with_head! { message:
    /// `A` Auction Information. State of a coming auction of a security that IEX lists.
    AuctionInformation / AuctionInformationFields: 80 bytes little-endian,
        growing, type b'A' as char at 0, "Auction Information";
    [1] auction_type: AuctionType, "Kind of auction.";
    [2..10] timestamp: NanosSinceEpoch, "Time of the event.";
    [10..18] symbol: Symbol, "Symbol.";
    [18..22] paired_shares: Shares, "Shares that match at the reference price.";
    [22..30] reference_price: Decimal<i64, 4>, "Clearing price within the best bid and offer.";
    [30..38] indicative_clearing_price: Decimal<i64, 4>,
        "Clearing price of all orders for the auction.";
    [38..42] imbalance_shares: Shares, "Shares that do not match at the reference price.";
    [42] imbalance_side: ImbalanceSide, "Their side.";
    [43] extension_number: u8, "How many times the auction has been extended.";
    [44..48] scheduled_auction_time: SecondsSinceEpoch, "When the auction is planned.";
    [48..56] auction_book_clearing_price: Decimal<i64, 4>,
        "Clearing price of the orders for the auction alone.";
    [56..64] collar_reference_price: Decimal<i64, 4>, "Reference price of the collar.";
    [64..72] lower_auction_collar: Decimal<i64, 4>, "Lower end of the collar.";
    [72..80] upper_auction_collar: Decimal<i64, 4>, "Upper end of the collar.";
}

crate::enumeration! {
    /// Milestone of the trading day.
    SystemEventCode {
        'O' => StartOfMessages, "First message of the day.";
        'S' => StartOfSystemHours, "Order entry opens.";
        'R' => StartOfRegularHours, "Regular trading opens.";
        'M' => EndOfRegularHours, "Regular trading has closed.";
        'E' => EndOfSystemHours, "Order entry has closed.";
        'C' => EndOfMessages, "Last message of the day.";
    }
}

crate::enumeration! {
    /// Whether a security trades.
    TradingStatusCode {
        'H' => Halted, "Halted on all markets.";
        'O' => OrderAcceptancePeriod, "Halted, and IEX accepts orders.";
        'P' => Paused, "Paused, and IEX accepts orders.";
        'T' => Trading, "Trading on IEX.";
    }
}

crate::enumeration! {
    /// Sides with retail liquidity that improves on the best price.
    RetailLiquidity {
        ' ' => None, "No side.";
        'A' => Buy, "Buy side.";
        'B' => Sell, "Sell side.";
        'C' => Both, "Both sides.";
    }
}

crate::enumeration! {
    /// Whether IEX alone has halted a security.
    OperationalHaltCode {
        'O' => Halted, "Halted on IEX only.";
        'N' => NotHalted, "Not halted by IEX.";
    }
}

crate::enumeration! {
    /// What changed the short sale price test.
    ShortSaleTestDetail {
        ' ' => NoTest, "No test is in effect.";
        'A' => Activated, "Activated because the price fell during the day.";
        'C' => Continued, "Continues from the day before.";
        'D' => Deactivated, "Deactivated.";
        'N' => NotAvailable, "Not available.";
    }
}

crate::enumeration! {
    /// Process that has been completed for a security.
    SecurityEventCode {
        'O' => OpeningComplete, "The opening process.";
        'C' => ClosingComplete, "The closing process.";
    }
}

crate::enumeration! {
    /// Which official price it is.
    OfficialPriceType {
        'Q' => Opening, "IEX official opening price.";
        'M' => Closing, "IEX official closing price.";
    }
}

crate::enumeration! {
    /// Kind of auction.
    AuctionType {
        'O' => Opening, "Opening auction.";
        'C' => Closing, "Closing auction.";
        'I' => Ipo, "Auction of an initial public offering.";
        'H' => Halt, "Auction after a halt.";
        'V' => Volatility, "Auction after a volatility pause.";
    }
}

crate::enumeration! {
    /// Side of an imbalance.
    ImbalanceSide {
        'B' => Buy, "More to buy.";
        'S' => Sell, "More to sell.";
        'N' => None, "No imbalance.";
    }
}

crate::enumeration! {
    /// Limit-up limit-down tier.
    LuldTier as u8 {
        0 => NotApplicable, "No tier.";
        1 => Tier1, "Tier 1 NMS stock.";
        2 => Tier2, "Tier 2 NMS stock.";
    }
}

crate::enumeration! {
    /// Whether the short sale price test restricts short sales.
    ShortSaleTestStatus as u8 {
        0 => NotInEffect, "It does not.";
        1 => InEffect, "It does.";
    }
}

crate::bits! {
    /// Properties of a security.
    SecurityFlags: u8 {
        5 => EXCHANGE_TRADED_PRODUCT, is_exchange_traded_product, "exchange_traded_product",
            "An exchange-traded product.";
        6 => WHEN_ISSUED, is_when_issued, "when_issued", "Traded when issued.";
        7 => TEST_SECURITY, is_test_security, "test_security", "A test security.";
    }
}

crate::bits! {
    /// Conditions of a trade. It counts for the last sale, the high and the low if it is neither in
    /// extended hours nor an odd lot; it always counts for the volume.
    SaleConditionFlags: u8 {
        3 => SINGLE_PRICE_CROSS, is_single_price_cross, "single_price_cross",
            "Trade of an auction.";
        4 => TRADE_THROUGH_EXEMPT, is_trade_through_exempt, "trade_through_exempt",
            "Not subject to the rule against trading through.";
        5 => ODD_LOT, is_odd_lot, "odd_lot", "Fewer shares than a round lot.";
        6 => EXTENDED_HOURS, is_extended_hours, "extended_hours",
            "Outside of regular hours (Form T).";
        7 => INTERMARKET_SWEEP, is_intermarket_sweep, "intermarket_sweep",
            "The taking order was an intermarket sweep order.";
    }
}
