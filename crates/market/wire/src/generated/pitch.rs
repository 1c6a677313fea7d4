//! Cboe US Equities Multicast PITCH 2.x: views, encoders and codes.
//!
//! Written by `cargo xtask gen` from `schema/cboe-pitch.toml`: edit that, not this.
//! Covers version 2.41.64, with the additions of 2.41.82.

use nanotape_types::{
    Alpha, Decimal, MatchNumber, Mpid, NanosOffset, OrderReferenceNumber, SecondsSinceEpoch,
    SecondsSinceMidnight, Shares, Symbol,
};

/// Writes a table of this protocol, after the fields that every message begins with.
macro_rules! with_head {
    ($table:ident: $($rows:tt)*) => {
        crate::$table! {
            head {
                [0] length: MessageLength, "Bytes of the message, this one included.";
            }
            $($rows)*
        }
    };
}

with_head! { messages:
    type as u8 little-endian at 1;
    messages {
        Time, "`0x20` Time.";
        UnitClear, "`0x97` Unit Clear.";
        AddOrderLong, "`0x21` Add Order (long).";
        AddOrderShort, "`0x22` Add Order (short).";
        AddOrderExpanded, "`0x2f` Add Order (expanded).";
        OrderExecuted, "`0x23` Order Executed.";
        OrderExecutedAtPriceSize, "`0x24` Order Executed at Price/Size.";
        ReduceSizeLong, "`0x25` Reduce Size (long).";
        ReduceSizeShort, "`0x26` Reduce Size (short).";
        ModifyOrderLong, "`0x27` Modify Order (long).";
        ModifyOrderShort, "`0x28` Modify Order (short).";
        DeleteOrder, "`0x29` Delete Order.";
        TradeLong, "`0x2a` Trade (long).";
        TradeShort, "`0x2b` Trade (short).";
        TradeExpanded, "`0x30` Trade (expanded).";
        TradeBreak, "`0x2c` Trade Break.";
        EndOfSession, "`0x2d` End of Session.";
        TradingStatus, "`0x31` Trading Status.";
        AuctionUpdate, "`0x95` Auction Update.";
        AuctionSummary, "`0x96` Auction Summary.";
        RetailPriceImprovement, "`0x98` Retail Price Improvement.";
        TimeReference, "`0xb1` Time Reference.";
    }
    shared {
        time_offset: NanosOffset {
            UnitClear, AddOrderLong, AddOrderShort, AddOrderExpanded, OrderExecuted,
            OrderExecutedAtPriceSize, ReduceSizeLong, ReduceSizeShort, ModifyOrderLong,
            ModifyOrderShort, DeleteOrder, TradeLong, TradeShort, TradeExpanded, TradeBreak,
            EndOfSession, TradingStatus, AuctionUpdate, AuctionSummary, RetailPriceImprovement,
            TimeReference,
        }
        order_reference_number: OrderReferenceNumber {
            AddOrderLong, AddOrderShort, AddOrderExpanded, OrderExecuted, OrderExecutedAtPriceSize,
            ReduceSizeLong, ReduceSizeShort, ModifyOrderLong, ModifyOrderShort, DeleteOrder,
            TradeLong, TradeShort, TradeExpanded,
        }
        match_number: MatchNumber {
            OrderExecuted, OrderExecutedAtPriceSize, TradeLong, TradeShort, TradeExpanded,
            TradeBreak,
        }
    }
}

with_head! { message:
    /// `0x20` Time. The second from which the time offsets of the unit count, until the next one.
    Time / TimeFields: 6 bytes little-endian, growing, type 0x20 as u8 at 1, "Time";
    [2..6] time: SecondsSinceMidnight, "Seconds since midnight, US Eastern.";
    [6..10] epoch_time: Option<SecondsSinceEpoch>, "The same second, since version 2.41.82.";
}

with_head! { message:
    /// `0x97` Unit Clear. All orders of the unit leave the book, at the start or after a fail-over
    /// of the exchange.
    UnitClear / UnitClearFields: 6 bytes little-endian, growing, type 0x97 as u8 at 1, "Unit Clear";
    [2..6] time_offset: NanosOffset, "Nanoseconds after the last Time of the unit.";
}

with_head! { message:
    /// `0x21` Add Order (long). A displayed order enters the book at the end of its price level.
    AddOrderLong / AddOrderLongFields: 34 bytes little-endian, growing, type 0x21 as u8 at 1,
        "Add Order (long)";
    [2..6] time_offset: NanosOffset, "Nanoseconds after the last Time of the unit.";
    [6..14] order_reference_number: OrderReferenceNumber,
        "Order ID in the specification: identifies the order; unique for the day among the units.";
    [14] side_indicator: SideIndicator, "Side.";
    [15..19] shares: Shares, "Displayed shares.";
    [19..25] symbol: Alpha<6>, "Symbol, at most six characters.";
    [25..33] price: Decimal<u64, 4>, "Display price.";
    [33] add_flags: AddFlags, "Flags.";
}

with_head! { message:
    /// `0x22` Add Order (short). The same in fewer bytes, if size, price and symbol allow it.
    AddOrderShort / AddOrderShortFields: 26 bytes little-endian, growing, type 0x22 as u8 at 1,
        "Add Order (short)";
    [2..6] time_offset: NanosOffset, "Nanoseconds after the last Time of the unit.";
    [6..14] order_reference_number: OrderReferenceNumber,
        "Order ID in the specification: identifies the order; unique for the day among the units.";
    [14] side_indicator: SideIndicator, "Side.";
    [15..17] shares: u16, "Displayed shares.";
    [17..23] symbol: Alpha<6>, "Symbol, at most six characters.";
    [23..25] price: Decimal<u16, 2>, "Display price.";
    [25] add_flags: AddFlags, "Flags.";
}

with_head! { message:
    /// `0x2f` Add Order (expanded). The same with the name of its participant, or with a longer
    /// symbol.
    AddOrderExpanded / AddOrderExpandedFields: 41 bytes little-endian,
        growing, type 0x2f as u8 at 1, "Add Order (expanded)";
    [2..6] time_offset: NanosOffset, "Nanoseconds after the last Time of the unit.";
    [6..14] order_reference_number: OrderReferenceNumber,
        "Order ID in the specification: identifies the order; unique for the day among the units.";
    [14] side_indicator: SideIndicator, "Side.";
    [15..19] shares: Shares, "Displayed shares.";
    [19..27] symbol: Symbol, "Symbol.";
    [27..35] price: Decimal<u64, 4>, "Display price.";
    [35] add_flags: AddFlags, "Flags.";
    [36..40] participant_id: Mpid, "Market participant, RTAL for retail, or blank.";
    [40] customer_indicator: CustomerIndicator, "Whose order it is.";
}

with_head! { message:
    /// `0x23` Order Executed. Shares of a displayed order traded at the order's own price. The
    /// order leaves the book when no shares remain; no delete follows.
    OrderExecuted / OrderExecutedFields: 26 bytes little-endian, growing, type 0x23 as u8 at 1,
        "Order Executed";
    [2..6] time_offset: NanosOffset, "Nanoseconds after the last Time of the unit.";
    [6..14] order_reference_number: OrderReferenceNumber,
        "Order ID in the specification: identifies the order; unique for the day among the units.";
    [14..18] executed_shares: Shares, "Shares to remove from the order.";
    [18..26] match_number: MatchNumber,
        "Execution ID in the specification: identifies the execution; unique for the day.";
}

with_head! { message:
    /// `0x24` Order Executed at Price/Size. Shares of a displayed order traded at another price,
    /// and the order has a new size.
    OrderExecutedAtPriceSize / OrderExecutedAtPriceSizeFields: 38 bytes little-endian,
        growing, type 0x24 as u8 at 1, "Order Executed at Price/Size";
    [2..6] time_offset: NanosOffset, "Nanoseconds after the last Time of the unit.";
    [6..14] order_reference_number: OrderReferenceNumber,
        "Order ID in the specification: identifies the order; unique for the day among the units.";
    [14..18] executed_shares: Shares, "Shares traded.";
    [18..22] remaining_shares: Shares, "Shares of the order from now on; 0 removes it.";
    [22..30] match_number: MatchNumber,
        "Execution ID in the specification: identifies the execution; unique for the day.";
    [30..38] price: Decimal<u64, 4>, "Price of the trade.";
}

with_head! { message:
    /// `0x25` Reduce Size (long). Shares of an order were cancelled; it keeps its place.
    ReduceSizeLong / ReduceSizeLongFields: 18 bytes little-endian, growing, type 0x25 as u8 at 1,
        "Reduce Size (long)";
    [2..6] time_offset: NanosOffset, "Nanoseconds after the last Time of the unit.";
    [6..14] order_reference_number: OrderReferenceNumber,
        "Order ID in the specification: identifies the order; unique for the day among the units.";
    [14..18] cancelled_shares: Shares, "Shares to remove from the order.";
}

with_head! { message:
    /// `0x26` Reduce Size (short). The same in fewer bytes.
    ReduceSizeShort / ReduceSizeShortFields: 16 bytes little-endian, growing, type 0x26 as u8 at 1,
        "Reduce Size (short)";
    [2..6] time_offset: NanosOffset, "Nanoseconds after the last Time of the unit.";
    [6..14] order_reference_number: OrderReferenceNumber,
        "Order ID in the specification: identifies the order; unique for the day among the units.";
    [14..16] cancelled_shares: u16, "Shares to remove from the order.";
}

with_head! { message:
    /// `0x27` Modify Order (long). An order has a new size and price, under the same number.
    ModifyOrderLong / ModifyOrderLongFields: 27 bytes little-endian, growing, type 0x27 as u8 at 1,
        "Modify Order (long)";
    [2..6] time_offset: NanosOffset, "Nanoseconds after the last Time of the unit.";
    [6..14] order_reference_number: OrderReferenceNumber,
        "Order ID in the specification: identifies the order; unique for the day among the units.";
    [14..18] shares: Shares, "Displayed shares from now on.";
    [18..26] price: Decimal<u64, 4>, "Display price from now on.";
    [26] modify_flags: ModifyFlags, "Flags.";
}

with_head! { message:
    /// `0x28` Modify Order (short). The same in fewer bytes.
    ModifyOrderShort / ModifyOrderShortFields: 19 bytes little-endian,
        growing, type 0x28 as u8 at 1, "Modify Order (short)";
    [2..6] time_offset: NanosOffset, "Nanoseconds after the last Time of the unit.";
    [6..14] order_reference_number: OrderReferenceNumber,
        "Order ID in the specification: identifies the order; unique for the day among the units.";
    [14..16] shares: u16, "Displayed shares from now on.";
    [16..18] price: Decimal<u16, 2>, "Display price from now on.";
    [18] modify_flags: ModifyFlags, "Flags.";
}

with_head! { message:
    /// `0x29` Delete Order. An order leaves the book. Its number may come back the same day.
    DeleteOrder / DeleteOrderFields: 14 bytes little-endian, growing, type 0x29 as u8 at 1,
        "Delete Order";
    [2..6] time_offset: NanosOffset, "Nanoseconds after the last Time of the unit.";
    [6..14] order_reference_number: OrderReferenceNumber,
        "Order ID in the specification: identifies the order; unique for the day among the units.";
}

with_head! { message:
    /// `0x2a` Trade (long). A trade with a hidden order, or a routed one. It changes no book.
    TradeLong / TradeLongFields: 41 bytes little-endian, growing, type 0x2a as u8 at 1,
        "Trade (long)";
    [2..6] time_offset: NanosOffset, "Nanoseconds after the last Time of the unit.";
    [6..14] order_reference_number: OrderReferenceNumber, "Not the number of an order in the book.";
    [14] side_indicator: SideIndicator, "Always buy.";
    [15..19] shares: Shares, "Shares traded.";
    [19..25] symbol: Alpha<6>, "Symbol, at most six characters.";
    [25..33] price: Decimal<u64, 4>, "Price of the trade.";
    [33..41] match_number: MatchNumber,
        "Execution ID in the specification: identifies the execution; unique for the day.";
}

with_head! { message:
    /// `0x2b` Trade (short). The same in fewer bytes.
    TradeShort / TradeShortFields: 33 bytes little-endian, growing, type 0x2b as u8 at 1,
        "Trade (short)";
    [2..6] time_offset: NanosOffset, "Nanoseconds after the last Time of the unit.";
    [6..14] order_reference_number: OrderReferenceNumber, "Not the number of an order in the book.";
    [14] side_indicator: SideIndicator, "Always buy.";
    [15..17] shares: u16, "Shares traded.";
    [17..23] symbol: Alpha<6>, "Symbol, at most six characters.";
    [23..25] price: Decimal<u16, 2>, "Price of the trade.";
    [25..33] match_number: MatchNumber,
        "Execution ID in the specification: identifies the execution; unique for the day.";
}

with_head! { message:
    /// `0x30` Trade (expanded). The same with a longer symbol.
    TradeExpanded / TradeExpandedFields: 43 bytes little-endian, growing, type 0x30 as u8 at 1,
        "Trade (expanded)";
    [2..6] time_offset: NanosOffset, "Nanoseconds after the last Time of the unit.";
    [6..14] order_reference_number: OrderReferenceNumber, "Not the number of an order in the book.";
    [14] side_indicator: SideIndicator, "Always buy.";
    [15..19] shares: Shares, "Shares traded.";
    [19..27] symbol: Symbol, "Symbol.";
    [27..35] price: Decimal<u64, 4>, "Price of the trade.";
    [35..43] match_number: MatchNumber,
        "Execution ID in the specification: identifies the execution; unique for the day.";
}

with_head! { message:
    /// `0x2c` Trade Break. An execution of the day was broken. It changes no book.
    TradeBreak / TradeBreakFields: 14 bytes little-endian, growing, type 0x2c as u8 at 1,
        "Trade Break";
    [2..6] time_offset: NanosOffset, "Nanoseconds after the last Time of the unit.";
    [6..14] match_number: MatchNumber, "Execution ID in the specification: the broken execution.";
}

with_head! { message:
    /// `0x2d` End of Session. The unit sends no more sequenced messages.
    EndOfSession / EndOfSessionFields: 6 bytes little-endian, growing, type 0x2d as u8 at 1,
        "End of Session";
    [2..6] time_offset: NanosOffset, "Nanoseconds after the last Time of the unit.";
}

with_head! { message:
    /// `0x31` Trading Status. A security changed its trading status.
    TradingStatus / TradingStatusFields: 18 bytes little-endian, growing, type 0x31 as u8 at 1,
        "Trading Status";
    [2..6] time_offset: NanosOffset, "Nanoseconds after the last Time of the unit.";
    [6..14] symbol: Symbol, "Symbol.";
    [14] trading_status: TradingStatusCode, "Status from now on.";
    [15] reg_sho_action: RegShoAction, "Whether short sales are restricted.";
    [16] reserved_1: Alpha<1>, "Not used.";
    [17] reserved_2: Alpha<1>, "Not used.";
}

with_head! { message:
    /// `0x95` Auction Update. State of a coming auction.
    AuctionUpdate / AuctionUpdateFields: 47 bytes little-endian, growing, type 0x95 as u8 at 1,
        "Auction Update";
    [2..6] time_offset: NanosOffset, "Nanoseconds after the last Time of the unit.";
    [6..14] symbol: Symbol, "Symbol.";
    [14] auction_type: AuctionType, "Kind of auction.";
    [15..23] reference_price: Decimal<u64, 4>, "Reference price.";
    [23..27] buy_shares: Shares, "Shares to buy at the reference price.";
    [27..31] sell_shares: Shares, "Shares to sell at the reference price.";
    [31..39] indicative_price: Decimal<u64, 4>, "Price of the auction with the continuous book.";
    [39..47] auction_only_price: Decimal<u64, 4>, "Price of the auction with its own orders only.";
}

with_head! { message:
    /// `0x96` Auction Summary. Result of an auction.
    AuctionSummary / AuctionSummaryFields: 27 bytes little-endian, growing, type 0x96 as u8 at 1,
        "Auction Summary";
    [2..6] time_offset: NanosOffset, "Nanoseconds after the last Time of the unit.";
    [6..14] symbol: Symbol, "Symbol.";
    [14] auction_type: AuctionType, "Kind of auction.";
    [15..23] price: Decimal<u64, 4>, "Price of the auction.";
    [23..27] shares: Shares, "Shares traded.";
}

with_head! { message:
    /// `0x98` Retail Price Improvement. Sides with a retail order that improves on the best price.
    RetailPriceImprovement / RetailPriceImprovementFields: 15 bytes little-endian,
        growing, type 0x98 as u8 at 1, "Retail Price Improvement";
    [2..6] time_offset: NanosOffset, "Nanoseconds after the last Time of the unit.";
    [6..14] symbol: Symbol, "Symbol.";
    [14] retail_price_improvement: RetailPriceImprovementCode, "The sides.";
}

with_head! { message:
    /// `0xb1` Time Reference. The date, and the midnight from which times count. Since version
    /// 2.41.82.
    TimeReference / TimeReferenceFields: 18 bytes little-endian, growing, type 0xb1 as u8 at 1,
        "Time Reference";
    [2..6] midnight: SecondsSinceEpoch, "Midnight of the trade date, US Eastern.";
    [6..10] time: SecondsSinceMidnight, "Seconds since midnight.";
    [10..14] time_offset: NanosOffset, "Nanoseconds after the last Time of the unit.";
    [14..18] trade_date: u32, "Trade date as the number YYYYMMDD.";
}

crate::structure! {
    /// Sequenced Unit Header. The first bytes of every datagram and of every block on TCP; the
    /// messages follow without gaps.
    SequencedUnitHeader / SequencedUnitHeaderFields: 8 bytes little-endian, "Sequenced Unit Header";
    [0..2] block_length: u16, "Bytes of the block, these two included.";
    [2] message_count: u8, "Messages in the block; 0 is a heartbeat.";
    [3] unit: u8, "Matching unit; 0 is for no unit in particular.";
    [4..8] sequence_number: u32,
        "Number of the first message, from 1; after 4,294,967,295 comes 1. In a heartbeat the \
         number of the next message; 0 if the messages have no number.";
}

crate::enumeration! {
    /// Side of an order.
    SideIndicator {
        'B' => Buy, "To buy.";
        'S' => Sell, "To sell.";
    }
}

crate::enumeration! {
    /// Whose order it is.
    CustomerIndicator {
        'N' => NonCustomer, "Not of a customer.";
        'C' => Customer, "Of a customer.";
        'R' => Retail, "Of a customer, with retail priority (EDGX).";
    }
}

crate::enumeration! {
    /// Whether a security trades.
    TradingStatusCode {
        'A' => AcceptingOrders, "Orders are accepted for queuing.";
        'H' => Halted, "Halted.";
        'Q' => QuoteOnly, "Quotes only.";
        'S' => Suspended, "Suspended by the exchange.";
        'T' => Trading, "Trading.";
    }
}

crate::enumeration! {
    /// Whether short sales of a security are restricted.
    RegShoAction {
        '0' => NoRestriction, "Not restricted.";
        '1' => Restricted, "Restricted.";
    }
}

crate::enumeration! {
    /// Kind of auction.
    AuctionType {
        'O' => Opening, "Opening auction.";
        'C' => Closing, "Closing auction.";
        'H' => Halt, "Auction after a halt.";
        'I' => Ipo, "Auction of an initial public offering.";
        'V' => Volatility, "Auction after a volatility pause.";
        'M' => MarketClose, "Cboe Market Close.";
        'P' => Periodic, "Periodic auction (BYX).";
    }
}

crate::enumeration! {
    /// Sides with a retail order that improves on the best price.
    RetailPriceImprovementCode {
        'B' => Buy, "Buy side.";
        'S' => Sell, "Sell side.";
        'A' => Both, "Both sides.";
        'N' => None, "No side.";
    }
}

crate::bits! {
    /// Flags of an added order.
    AddFlags: u8 {
        0 => DISPLAYED, is_displayed, "displayed", "Displayed. Current versions always set it.";
    }
}

crate::bits! {
    /// How an order was modified.
    ModifyFlags: u8 {
        0 => DISPLAYED, is_displayed, "displayed", "Displayed.";
        1 => PRIORITY_KEPT, is_priority_kept, "priority_kept",
            "The order keeps its place in the queue.";
    }
}
