//! Nasdaq TotalView-ITCH 5.0: views, encoders and codes.
//!
//! Written by `cargo xtask gen` from `schema/nasdaq-itch-5.0.toml`: edit that, not this.
//! Covers version 5.0, revision of 2023-04-28, with the codes added until 2026-02-19.

use nanotape_types::{
    Alpha, MatchNumber, Maybe, Mpid, NanosSinceMidnight, OrderReferenceNumber, Price4, Price8,
    SecondsSinceMidnight, Shares, StockLocate, Symbol, TotalShares, TrackingNumber,
};

/// Writes a table of this protocol, after the fields that every message begins with.
macro_rules! with_head {
    ($table:ident: $($rows:tt)*) => {
        crate::$table! {
            head {
                [1..3] stock_locate: StockLocate,
                    "The number of the stock for the day; 0 if the message is not about a single \
                     stock.";
                [3..5] tracking_number: TrackingNumber, "Internal to the exchange, not unique.";
                [5..11] timestamp: NanosSinceMidnight,
                    "Time of the event: nanoseconds since midnight, US Eastern, of the trade date.";
            }
            $($rows)*
        }
    };
}

with_head! { messages:
    type at 0;
    messages {
        SystemEvent, "`S` System Event.";
        StockDirectory, "`R` Stock Directory.";
        StockTradingAction, "`H` Stock Trading Action.";
        RegShoRestriction, "`Y` Reg SHO Short Sale Price Test Restricted Indicator.";
        MarketParticipantPosition, "`L` Market Participant Position.";
        MwcbDeclineLevel, "`V` MWCB Decline Level.";
        MwcbStatus, "`W` MWCB Status.";
        IpoQuotingPeriodUpdate, "`K` IPO Quoting Period Update.";
        LuldAuctionCollar, "`J` LULD Auction Collar.";
        OperationalHalt, "`h` Operational Halt.";
        AddOrder, "`A` Add Order.";
        AddOrderMpid, "`F` Add Order with MPID Attribution.";
        OrderExecuted, "`E` Order Executed.";
        OrderExecutedWithPrice, "`C` Order Executed with Price.";
        OrderCancel, "`X` Order Cancel.";
        OrderDelete, "`D` Order Delete.";
        OrderReplace, "`U` Order Replace.";
        Trade, "`P` Trade (Non-Cross).";
        CrossTrade, "`Q` Cross Trade.";
        BrokenTrade, "`B` Broken Trade.";
        NetOrderImbalance, "`I` Net Order Imbalance Indicator.";
        RetailPriceImprovement, "`N` Retail Price Improvement Indicator.";
        DirectListingPriceDiscovery, "`O` Direct Listing with Capital Raise Price Discovery.";
    }
    shared {
        stock: Symbol {
            StockDirectory, StockTradingAction, RegShoRestriction, MarketParticipantPosition,
            IpoQuotingPeriodUpdate, LuldAuctionCollar, OperationalHalt, AddOrder, AddOrderMpid,
            Trade, CrossTrade, NetOrderImbalance, RetailPriceImprovement,
            DirectListingPriceDiscovery,
        }
    }
}

with_head! { message:
    /// `S` System Event. A milestone of the trading day. Stock locate is 0.
    SystemEvent / SystemEventFields: 12 bytes, type b'S' at 0, "System Event";
    [11] event_code: EventCode, "The milestone.";
}

with_head! { message:
    /// `R` Stock Directory. One stock of the day and its stock locate; sent before any other
    /// message about the stock.
    StockDirectory / StockDirectoryFields: 39 bytes, type b'R' at 0, "Stock Directory";
    [11..19] stock: Symbol, "Symbol of the stock locate for this day.";
    [19] market_category: MarketCategory, "Listing market.";
    [20] financial_status: FinancialStatus, "Standing of the issuer.";
    [21..25] round_lot_size: u32, "Shares in a round lot.";
    [25] round_lots_only: YesNo, "Whether only round lots may be entered.";
    [26] issue_classification: IssueClassification, "Kind of security.";
    [27..29] issue_sub_type: Alpha<2>,
        "Kind of security, in more detail. Codes: IssueSubType in the document.";
    [29] authenticity: Authenticity, "Real or test symbol.";
    [30] short_sale_threshold: YesNo, "Whether it is on the threshold list of Regulation SHO.";
    [31] ipo_flag: IpoFlag, "Whether it is new through an initial public offering.";
    [32] luld_tier: LuldTier, "Limit-up limit-down tier.";
    [33] etp_flag: YesNo, "Whether it is an exchange-traded product.";
    [34..38] etp_leverage_factor: u32,
        "Leverage of an exchange-traded product, whole part; 0 or 1 is unleveraged.";
    [38] inverse_indicator: YesNo, "Whether the product moves against its underlying.";
}

with_head! { message:
    /// `H` Stock Trading Action. A stock changed its trading state on all markets. A stock that is
    /// absent from the spin before system hours counts as halted.
    StockTradingAction / StockTradingActionFields: 25 bytes, type b'H' at 0, "Stock Trading Action";
    [11..19] stock: Symbol, "Symbol.";
    [19] trading_state: TradingState, "State from now on.";
    [20] reserved: Alpha<1>, "Unused.";
    [21..25] reason: Alpha<4>, "Reason. Codes: TradingActionReason in the document.";
}

with_head! { message:
    /// `Y` Reg SHO Short Sale Price Test Restricted Indicator. Whether short sales in the stock are
    /// restricted.
    RegShoRestriction / RegShoRestrictionFields: 20 bytes, type b'Y' at 0,
        "Reg SHO Short Sale Price Test Restricted Indicator";
    [11..19] stock: Symbol, "Symbol.";
    [19] reg_sho_action: RegShoAction, "State of the restriction.";
}

with_head! { message:
    /// `L` Market Participant Position. Standing of a market participant in a stock. In this
    /// message the participant precedes the stock.
    MarketParticipantPosition / MarketParticipantPositionFields: 26 bytes, type b'L' at 0,
        "Market Participant Position";
    [11..15] mpid: Mpid, "Market participant.";
    [15..23] stock: Symbol, "Symbol.";
    [23] primary_market_maker: YesNo, "Whether it is a primary market maker.";
    [24] market_maker_mode: MarketMakerMode, "Its mode.";
    [25] participant_state: ParticipantState, "Its standing.";
}

with_head! { message:
    /// `V` MWCB Decline Level. Index values of the levels of the market-wide circuit breaker for
    /// the day. Stock locate is 0.
    MwcbDeclineLevel / MwcbDeclineLevelFields: 35 bytes, type b'V' at 0, "MWCB Decline Level";
    [11..19] level_1: Price8, "Index value 7 percent down.";
    [19..27] level_2: Price8, "Index value 13 percent down.";
    [27..35] level_3: Price8, "Index value 20 percent down.";
}

with_head! { message:
    /// `W` MWCB Status. A level of the market-wide circuit breaker was reached. Stock locate is 0.
    MwcbStatus / MwcbStatusFields: 12 bytes, type b'W' at 0, "MWCB Status";
    [11] breached_level: BreachedLevel, "Level reached.";
}

with_head! { message:
    /// `K` IPO Quoting Period Update. Expected release time of a new issue. Identify the stock by
    /// its symbol, because the stock locate may be 0.
    IpoQuotingPeriodUpdate / IpoQuotingPeriodUpdateFields: 28 bytes, type b'K' at 0,
        "IPO Quoting Period Update";
    [11..19] stock: Symbol, "Symbol.";
    [19..23] release_time: Maybe<SecondsSinceMidnight>,
        "Expected release in whole seconds since midnight; absent (0) when cancelled.";
    [23] release_qualifier: ReleaseQualifier, "Whether the release stands.";
    [24..28] ipo_price: Maybe<Price4>, "Offering price; absent (0) when cancelled.";
}

with_head! { message:
    /// `J` LULD Auction Collar. Price range of the auction that ends a volatility pause.
    LuldAuctionCollar / LuldAuctionCollarFields: 35 bytes, type b'J' at 0, "LULD Auction Collar";
    [11..19] stock: Symbol, "Symbol.";
    [19..23] reference_price: Price4, "Reference price of the collar.";
    [23..27] upper_price: Price4, "Upper end of the collar.";
    [27..31] lower_price: Price4, "Lower end of the collar.";
    [31..35] extension: u32, "How many times the auction has been extended.";
}

with_head! { message:
    /// `h` Operational Halt. One market centre stopped or resumed a stock. The trading state on
    /// other markets does not change.
    OperationalHalt / OperationalHaltFields: 21 bytes, type b'h' at 0, "Operational Halt";
    [11..19] stock: Symbol, "Symbol.";
    [19] market_code: MarketCode, "Market centre.";
    [20] halt_action: HaltAction, "Stopped or resumed.";
}

with_head! { message:
    /// `A` Add Order. A displayed order enters the book at the end of its price level, without
    /// attribution.
    AddOrder / AddOrderFields: 36 bytes, type b'A' at 0, "Add Order";
    [11..19] order_reference_number: OrderReferenceNumber,
        "Identifies the order; unique for the day.";
    [19] buy_sell_indicator: BuySellIndicator, "Side.";
    [20..24] shares: Shares, "Displayed shares, at least one.";
    [24..32] stock: Symbol, "Symbol.";
    [32..36] price: Price4, "Display price.";
}

with_head! { message:
    /// `F` Add Order with MPID Attribution. A displayed order enters the book at the end of its
    /// price level, with the name of its participant.
    AddOrderMpid / AddOrderMpidFields: 40 bytes, type b'F' at 0, "Add Order with MPID Attribution";
    [11..19] order_reference_number: OrderReferenceNumber,
        "Identifies the order; unique for the day.";
    [19] buy_sell_indicator: BuySellIndicator, "Side.";
    [20..24] shares: Shares, "Displayed shares, at least one.";
    [24..32] stock: Symbol, "Symbol.";
    [32..36] price: Price4, "Display price.";
    [36..40] attribution: Mpid, "Participant of the order.";
}

with_head! { message:
    /// `E` Order Executed. Shares of a displayed order traded at the order's own price. The order
    /// leaves the book when no shares remain; no delete follows.
    OrderExecuted / OrderExecutedFields: 31 bytes, type b'E' at 0, "Order Executed";
    [11..19] order_reference_number: OrderReferenceNumber, "The order that was executed.";
    [19..23] executed_shares: Shares, "Shares to remove from the order.";
    [23..31] match_number: MatchNumber, "Identifies the execution; unique for the day.";
}

with_head! { message:
    /// `C` Order Executed with Price. Shares of a displayed order traded at a price that may differ
    /// from the order's own price. The level of the order's own price loses the shares.
    OrderExecutedWithPrice / OrderExecutedWithPriceFields: 36 bytes, type b'C' at 0,
        "Order Executed with Price";
    [11..19] order_reference_number: OrderReferenceNumber, "The order that was executed.";
    [19..23] executed_shares: Shares, "Shares to remove from the order.";
    [23..31] match_number: MatchNumber, "Identifies the execution; unique for the day.";
    [31] printable: YesNo,
        "Whether the execution counts as volume; if not, a later cross trade includes it.";
    [32..36] execution_price: Price4, "Price of the trade.";
}

with_head! { message:
    /// `X` Order Cancel. A displayed order lost some of its shares and keeps price and queue
    /// position.
    OrderCancel / OrderCancelFields: 23 bytes, type b'X' at 0, "Order Cancel";
    [11..19] order_reference_number: OrderReferenceNumber, "The order.";
    [19..23] cancelled_shares: Shares, "Shares to remove from the order.";
}

with_head! { message:
    /// `D` Order Delete. A displayed order left the book with all remaining shares.
    OrderDelete / OrderDeleteFields: 19 bytes, type b'D' at 0, "Order Delete";
    [11..19] order_reference_number: OrderReferenceNumber, "The order.";
}

with_head! { message:
    /// `U` Order Replace. A displayed order left, and another order of the same side and stock
    /// entered at the end of its level.
    OrderReplace / OrderReplaceFields: 35 bytes, type b'U' at 0, "Order Replace";
    [11..19] original_order_reference_number: OrderReferenceNumber, "The order that leaves.";
    [19..27] new_order_reference_number: OrderReferenceNumber,
        "The order that enters; unique for the day.";
    [27..31] shares: Shares, "Total displayed shares of the order that enters.";
    [31..35] price: Price4, "Its display price.";
}

with_head! { message:
    /// `P` Trade (Non-Cross). A hidden order traded. The displayed book does not change.
    Trade / TradeFields: 44 bytes, type b'P' at 0, "Trade (Non-Cross)";
    [11..19] order_reference_number: Maybe<OrderReferenceNumber>,
        "The hidden order; absent (0) since 2010-12-06.";
    [19] buy_sell_indicator: BuySellIndicator, "Unused: always buy since 2014-07-14.";
    [20..24] shares: Shares, "Shares traded.";
    [24..32] stock: Symbol, "Symbol.";
    [32..36] price: Price4, "Price of the trade.";
    [36..44] match_number: MatchNumber, "Identifies the trade; unique for the day.";
}

with_head! { message:
    /// `Q` Cross Trade. The bulk print of an auction. The displayed book does not change, because
    /// earlier messages removed its orders one by one.
    CrossTrade / CrossTradeFields: 40 bytes, type b'Q' at 0, "Cross Trade";
    [11..19] shares: TotalShares,
        "Shares matched in the cross; 0 means that it took place without a trade.";
    [19..27] stock: Symbol, "Symbol.";
    [27..31] cross_price: Price4, "The single price of the cross.";
    [31..39] match_number: MatchNumber, "Identifies the cross; unique for the day.";
    [39] cross_type: CrossType, "The auction.";
}

with_head! { message:
    /// `B` Broken Trade. An earlier execution is void. It returns no shares to the book.
    BrokenTrade / BrokenTradeFields: 19 bytes, type b'B' at 0, "Broken Trade";
    [11..19] match_number: MatchNumber, "The execution or trade that is void.";
}

with_head! { message:
    /// `I` Net Order Imbalance Indicator. The result of an auction at the present time.
    NetOrderImbalance / NetOrderImbalanceFields: 50 bytes, type b'I' at 0,
        "Net Order Imbalance Indicator";
    [11..19] paired_shares: TotalShares, "Shares that match at the current reference price.";
    [19..27] imbalance_shares: TotalShares, "Shares that remain at the current reference price.";
    [27] imbalance_direction: ImbalanceDirection, "Side of the remaining shares.";
    [28..36] stock: Symbol, "Symbol.";
    [36..40] far_price: Maybe<Price4>,
        "Clearing price of the auction orders alone; absent (0) when not available.";
    [40..44] near_price: Maybe<Price4>,
        "Clearing price of auction and continuous orders together; absent (0) when not available.";
    [44..48] current_reference_price: Price4, "Reference price of the two share counts.";
    [48] cross_type: CrossType, "The auction.";
    [49] price_variation: PriceVariation, "Distance of the near price from the market.";
}

with_head! { message:
    /// `N` Retail Price Improvement Indicator. Whether hidden orders offer retail orders a better
    /// price.
    RetailPriceImprovement / RetailPriceImprovementFields: 20 bytes, type b'N' at 0,
        "Retail Price Improvement Indicator";
    [11..19] stock: Symbol, "Symbol.";
    [19] interest_flag: InterestFlag, "Side of the hidden orders.";
}

with_head! { message:
    /// `O` Direct Listing with Capital Raise Price Discovery. Price range and state of the auction
    /// that opens a direct listing with a capital raise.
    DirectListingPriceDiscovery / DirectListingPriceDiscoveryFields: 48 bytes, type b'O' at 0,
        "Direct Listing with Capital Raise Price Discovery";
    [11..19] stock: Symbol, "Symbol.";
    [19] open_eligibility: YesNo, "Whether the stock may be released for trading.";
    [20..24] minimum_allowable_price: Price4, "Lowest price at which it may open.";
    [24..28] maximum_allowable_price: Price4, "Highest price at which it may open.";
    [28..32] near_execution_price: Price4, "Last price at which the auction was near execution.";
    [32..40] near_execution_time: u64,
        "Time of that price; the specification gives no unit, probably nanoseconds since midnight.";
    [40..44] lower_collar: Price4, "Lower end of the auction collar.";
    [44..48] upper_collar: Price4, "Upper end of the auction collar.";
}

crate::enumeration! {
    /// A flag; blank if it does not apply.
    YesNo {
        'Y' => Yes, "Yes.";
        'N' => No, "No.";
        ' ' => Blank, "Not available, or does not apply.";
    }
}

crate::enumeration! {
    /// Milestone of the trading day; a normal day has each once, in this order.
    EventCode {
        'O' => StartOfMessages, "First message of the day.";
        'S' => StartOfSystemHours, "Order entry opens.";
        'Q' => StartOfMarketHours, "Regular trading opens.";
        'M' => EndOfMarketHours, "Regular trading has closed.";
        'E' => EndOfSystemHours, "Order entry has closed; deletes and breaks may still follow.";
        'C' => EndOfMessages, "Last message of the day.";
    }
}

crate::enumeration! {
    /// Listing market and, for Nasdaq, its tier.
    MarketCategory {
        'Q' => NasdaqGlobalSelect, "Nasdaq Global Select Market.";
        'G' => NasdaqGlobal, "Nasdaq Global Market.";
        'S' => NasdaqCapital, "Nasdaq Capital Market.";
        'N' => Nyse, "New York Stock Exchange.";
        'A' => NyseAmerican, "NYSE American.";
        'P' => NyseArca, "NYSE Arca.";
        'Z' => CboeBzx, "Cboe BZX.";
        'V' => Iex, "Investors Exchange.";
        'M' => NyseTexas, "NYSE Texas; since 2026.";
        ' ' => NotAvailable, "Not available.";
    }
}

crate::enumeration! {
    /// Whether the issuer of a Nasdaq-listed stock meets the listing's conditions.
    FinancialStatus {
        'N' => Normal, "Compliant.";
        'D' => Deficient, "Below a listing requirement.";
        'E' => Delinquent, "Late with a filing.";
        'Q' => Bankrupt, "In bankruptcy.";
        'S' => Suspended, "Listing suspended.";
        'G' => DeficientBankrupt, "Deficient and bankrupt.";
        'H' => DeficientDelinquent, "Deficient and delinquent.";
        'J' => DelinquentBankrupt, "Delinquent and bankrupt.";
        'K' => DeficientDelinquentBankrupt, "Deficient, delinquent and bankrupt.";
        'C' => CreationsSuspended,
            "Exchange-traded product whose creations or redemptions are suspended.";
        ' ' => NotAvailable, "Not listed on Nasdaq.";
    }
}

crate::enumeration! {
    /// Kind of security.
    IssueClassification {
        'A' => AmericanDepositaryShare, "American depositary share.";
        'B' => Bond, "Bond.";
        'C' => CommonStock, "Common stock.";
        'F' => DepositaryReceipt, "Depositary receipt.";
        'I' => Rule144A, "Placed privately under rule 144A.";
        'L' => LimitedPartnership, "Share of a limited partnership.";
        'N' => Notes, "Notes.";
        'O' => OrdinaryShare, "Ordinary share.";
        'P' => PreferredStock, "Preferred stock.";
        'Q' => OtherSecurities, "Other security.";
        'R' => Right, "Right.";
        'S' => SharesOfBeneficialInterest, "Shares of beneficial interest.";
        'T' => ConvertibleDebenture, "Convertible debenture.";
        'U' => Unit, "Unit.";
        'V' => UnitsOfBeneficialInterest, "Units or units of beneficial interest.";
        'W' => Warrant, "Warrant.";
    }
}

crate::enumeration! {
    /// Whether the symbol is real.
    Authenticity {
        'P' => Production, "A real security.";
        'T' => Test, "A test symbol.";
    }
}

crate::enumeration! {
    /// Whether the stock is new today through an initial public offering.
    IpoFlag {
        'Y' => Yes, "Set up for an initial public offering.";
        'N' => No, "Not a new issue.";
        'Z' => NewListing, "New listing without an initial public offering; since 2026.";
        ' ' => NotAvailable, "Not listed on Nasdaq.";
    }
}

crate::enumeration! {
    /// Tier that sets the width of the limit-up limit-down price band.
    LuldTier {
        '1' => Tier1, "Tier 1, the narrower band.";
        '2' => Tier2, "Tier 2, the wider band.";
        ' ' => NotAvailable, "Not available.";
    }
}

crate::enumeration! {
    /// Permitted activity in the stock, across all markets.
    TradingState {
        'H' => Halted, "No quoting, no trading.";
        'P' => Paused, "Volatility pause of a Nasdaq-listed stock.";
        'Q' => QuotationOnly,
            "Orders are displayed but not matched, before the cross that reopens.";
        'T' => Trading, "Trading.";
    }
}

crate::enumeration! {
    /// Short sale price test of Regulation SHO.
    RegShoAction {
        '0' => NoPriceTest, "No test in place.";
        '1' => RestrictionTriggered, "Restricted since a fall in price today.";
        '2' => RestrictionInEffect, "Still restricted from the day before.";
    }
}

crate::enumeration! {
    /// Mode of the market maker.
    MarketMakerMode {
        'N' => Normal, "Normal.";
        'P' => Passive, "Passive.";
        'S' => Syndicate, "Syndicate.";
        'R' => PreSyndicate, "Before the syndicate forms.";
        'L' => Penalty, "Under penalty.";
    }
}

crate::enumeration! {
    /// Standing of the market participant in this stock.
    ParticipantState {
        'A' => Active, "Active.";
        'E' => Excused, "Excused.";
        'W' => Withdrawn, "Withdrawn.";
        'S' => Suspended, "Suspended.";
        'D' => Deleted, "Deleted.";
    }
}

crate::enumeration! {
    /// The level of the market-wide circuit breaker that was reached.
    BreachedLevel {
        '1' => Level1, "The fall of 7 percent.";
        '2' => Level2, "The fall of 13 percent.";
        '3' => Level3, "The fall of 20 percent.";
    }
}

crate::enumeration! {
    /// Whether the release of a new issue stands.
    ReleaseQualifier {
        'A' => Anticipated, "Expected at the release time.";
        'C' => Cancelled, "Cancelled or postponed.";
    }
}

crate::enumeration! {
    /// Market centre of the Nasdaq group.
    MarketCode {
        'Q' => Nasdaq, "Nasdaq.";
        'B' => Bx, "BX, named Nasdaq Texas since 2026.";
        'X' => Psx, "PSX.";
    }
}

crate::enumeration! {
    /// Whether a market centre stopped or resumed.
    HaltAction {
        'H' => Halted, "Halted on this market centre.";
        'T' => Resumed, "Trading again on this market centre.";
    }
}

crate::enumeration! {
    /// Side of the order.
    BuySellIndicator {
        'B' => Buy, "Buy order.";
        'S' => Sell, "Sell order.";
    }
}

crate::enumeration! {
    /// The auction.
    CrossType {
        'O' => Opening, "Opening cross.";
        'C' => Closing, "Closing cross.";
        'H' => HaltOrIpo, "Cross that reopens a halted stock or opens a new issue.";
        'A' => ExtendedClose, "Extended trading close.";
        'I' => Intraday, "Intraday or post-close cross; in files from before 2018.";
    }
}

crate::enumeration! {
    /// Side of the shares that remain at the current reference price.
    ImbalanceDirection {
        'B' => Buy, "More to buy.";
        'S' => Sell, "More to sell.";
        'N' => NoImbalance, "Balanced.";
        'O' => InsufficientOrders, "Too few orders to calculate.";
        'P' => Paused, "Paused; since 2023.";
    }
}

crate::enumeration! {
    /// Distance between the near price and the nearest current reference price, in percent.
    PriceVariation {
        'L' => Below1, "Below 1 percent.";
        '1' => From1, "1 to below 2 percent.";
        '2' => From2, "2 to below 3 percent.";
        '3' => From3, "3 to below 4 percent.";
        '4' => From4, "4 to below 5 percent.";
        '5' => From5, "5 to below 6 percent.";
        '6' => From6, "6 to below 7 percent.";
        '7' => From7, "7 to below 8 percent.";
        '8' => From8, "8 to below 9 percent.";
        '9' => From9, "9 to below 10 percent.";
        'A' => From10, "10 to below 20 percent.";
        'B' => From20, "20 to below 30 percent.";
        'C' => From30, "30 percent or more.";
        ' ' => NotAvailable, "Cannot be calculated.";
    }
}

crate::enumeration! {
    /// Side of the retail price improvement interest.
    InterestFlag {
        'B' => BuySide, "On the buy side.";
        'S' => SellSide, "On the sell side.";
        'A' => BothSides, "On both sides.";
        'N' => Neither, "On neither side.";
    }
}
