//! IEX: DEEP, DEEP+ and TOPS.

use nanotape_wire::{iex_common, iex_deep, iex_deep_plus, iex_tops};

use super::*;

/// 2023-11-15 09:30:00 in New York.
const TIME: NanosSinceEpoch = NanosSinceEpoch::new(1_700_058_600_000_000_001);

#[test]
fn administrative_messages_trades_and_auctions() {
    use iex_common::*;
    let mut golden = Golden::default();
    add! { golden, iex_common:
        SystemEventFields { system_event: SystemEventCode::StartOfRegularHours, timestamp: TIME }
        SecurityDirectoryFields {
            flags: SecurityFlags::EXCHANGE_TRADED_PRODUCT.with(SecurityFlags::TEST_SECURITY),
            timestamp: TIME,
            symbol: symbol("ZIEXT"),
            round_lot_size: 100,
            adjusted_poc_price: Decimal::new(990_500),
            luld_tier: LuldTier::Tier1,
        }
        TradingStatusFields {
            trading_status: TradingStatusCode::Halted,
            timestamp: TIME,
            symbol: symbol("ZIEXT"),
            reason: Alpha::new(*b"T1  "),
        }
        RetailLiquidityIndicatorFields {
            retail_liquidity: RetailLiquidity::Both,
            timestamp: TIME,
            symbol: symbol("ZIEXT"),
        }
        OperationalHaltStatusFields {
            operational_halt_status: OperationalHaltCode::NotHalted,
            timestamp: TIME,
            symbol: symbol("ZIEXT"),
        }
        ShortSalePriceTestStatusFields {
            short_sale_price_test_status: ShortSaleTestStatus::InEffect,
            timestamp: TIME,
            symbol: symbol("ZIEXT"),
            detail: ShortSaleTestDetail::Activated,
        }
        SecurityEventFields {
            security_event: SecurityEventCode::OpeningComplete,
            timestamp: TIME,
            symbol: symbol("ZIEXT"),
        }
        TradeReportFields {
            sale_condition_flags: SaleConditionFlags::INTERMARKET_SWEEP
                .with(SaleConditionFlags::ODD_LOT),
            timestamp: TIME,
            symbol: symbol("ZIEXT"),
            shares: Shares::new(7),
            price: Decimal::new(990_525),
            match_number: MatchNumber::new(429_974),
        }
        TradeBreakFields {
            sale_condition_flags: SaleConditionFlags::new(0x05),
            timestamp: TIME,
            symbol: symbol("ZIEXT"),
            shares: Shares::new(7),
            price: Decimal::new(990_525),
            match_number: MatchNumber::new(429_974),
        }
        OfficialPriceFields {
            price_type: OfficialPriceType::Opening,
            timestamp: TIME,
            symbol: symbol("ZIEXT"),
            price: Decimal::new(990_500),
        }
        AuctionInformationFields {
            auction_type: AuctionType::Closing,
            timestamp: TIME,
            symbol: symbol("ZIEXT"),
            paired_shares: Shares::new(100_000),
            reference_price: Decimal::new(991_000),
            indicative_clearing_price: Decimal::new(991_100),
            imbalance_shares: Shares::new(10_000),
            imbalance_side: ImbalanceSide::Sell,
            extension_number: 0,
            scheduled_auction_time: SecondsSinceEpoch::new(1_700_082_000),
            auction_book_clearing_price: Decimal::new(991_200),
            collar_reference_price: Decimal::new(990_500),
            lower_auction_collar: Decimal::new(940_975),
            upper_auction_collar: Decimal::new(1_040_025),
        }
    }
    golden.check("iex/common.txt", iex_common::TAGS);
}

#[test]
fn price_levels() {
    use iex_deep::*;
    let mut golden = Golden::default();
    add! { golden, iex_deep:
        PriceLevelUpdateBuyFields {
            event_flags: EventFlags::EVENT_COMPLETE,
            timestamp: TIME,
            symbol: symbol("ZIEXT"),
            shares: Shares::new(9_700),
            price: Decimal::new(990_500),
        }
        PriceLevelUpdateSellFields {
            event_flags: EventFlags::default(),
            timestamp: TIME,
            symbol: symbol("ZIEXT"),
            shares: Shares::new(0),
            price: Decimal::new(-1),
        }
    }
    add!(@bytes golden, iex_deep, b"?a type that is not listed");
    golden.check("iex/deep.txt", b"85?");
    let shared = iex_common::TAGS.iter().filter(|tag| iex_deep::TAGS.contains(tag)).count();
    assert_eq!((shared, iex_common::TAGS.len(), iex_deep::TAGS.len()), (11, 11, 13));
}

#[test]
fn orders() {
    use iex_deep_plus::*;
    let mut golden = Golden::default();
    let order = OrderReferenceNumber::new(1001);
    add! { golden, iex_deep_plus:
        AddOrderFields {
            side_indicator: SideIndicator::Buy,
            timestamp: TIME,
            symbol: symbol("ZIEXT"),
            order_reference_number: order,
            shares: Shares::new(300),
            price: Decimal::new(990_500),
        }
        OrderModifyFields {
            modify_flags: ModifyFlags::PRIORITY_KEPT,
            timestamp: TIME,
            symbol: symbol("ZIEXT"),
            order_reference_number: order,
            shares: Shares::new(200),
            price: Decimal::new(990_500),
        }
        OrderExecutedFields {
            sale_condition_flags: SaleConditionFlags::EXTENDED_HOURS,
            timestamp: TIME,
            symbol: symbol("ZIEXT"),
            order_reference_number: order,
            executed_shares: Shares::new(100),
            price: Decimal::new(990_500),
            match_number: MatchNumber::new(77),
        }
        OrderDeleteFields {
            reserved: Alpha::new(*b" "),
            timestamp: TIME,
            symbol: symbol("ZIEXT"),
            order_reference_number: order,
        }
        ClearBookFields { reserved: Alpha::new(*b" "), timestamp: TIME, symbol: symbol("ZIEXT") }
    }
    golden.check("iex/deep-plus.txt", b"aMLRC");
    assert_eq!(iex_deep_plus::TAGS.len(), 14);
}

#[test]
fn quotes() {
    use iex_tops::*;
    let mut golden = Golden::default();
    add! { golden, iex_tops:
        QuoteUpdateFields {
            flags: QuoteFlags::EXTENDED_HOURS,
            timestamp: TIME,
            symbol: symbol("ZIEXT"),
            bid_shares: Shares::new(9_700),
            bid_price: Decimal::new(990_500),
            offer_price: Decimal::new(990_700),
            offer_shares: Shares::new(1_000),
        }
    }
    golden.check("iex/tops.txt", b"Q");
    assert_eq!((iex_tops::QuoteUpdate::LEN, iex_tops::TAGS.len()), (42, 12));
}
