//! One file for each message of `testdata/itch50`: bytes, text and JSON made from field values.
//!
//! The values are those of the shared vectors. `BLESS=1` rewrites the files; see the README there.

use std::{env, fs, path::PathBuf};

use nanotape_types::{
    Alpha, MatchNumber, Maybe, NanosSinceMidnight, OrderReferenceNumber, Price4, Price8,
    SecondsSinceMidnight, Shares, StockLocate, Symbol, TotalShares, TrackingNumber, WireValue,
};
use nanotape_wire::itch50::*;

/// 09:30:00, the base of most times in the vectors.
const OPEN: u64 = 34_200_000_000_000;

fn head(
    locate: u16,
    tracking: u16,
    nanos: u64,
) -> (StockLocate, TrackingNumber, NanosSinceMidnight) {
    let time = NanosSinceMidnight::new(nanos).expect("a time of day");
    (StockLocate::new(locate), TrackingNumber::new(tracking), time)
}

fn symbol(text: &str) -> Symbol {
    text.parse().expect("a symbol")
}

fn order(raw: u64) -> OrderReferenceNumber {
    OrderReferenceNumber::new(raw)
}

/// Builds the fields of a message; the first three are always the head.
macro_rules! fields {
    ($Fields:ident($locate:expr, $tracking:expr, $nanos:expr) { $($field:ident: $value:expr),* $(,)? }) => {{
        let (stock_locate, tracking_number, timestamp) = head($locate, $tracking, $nanos);
        $Fields { stock_locate, tracking_number, timestamp, $($field: $value),* }
    }};
}

#[track_caller]
fn check(name: &str, bytes: &[u8]) {
    let message = Message::decode(bytes).expect("it was encoded");
    let mut content: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    content.push('\n');
    message.write_text(&mut content).expect("a String takes any text");
    content.push('\n');
    message.write_json(&mut content).expect("a String takes any text");
    content.push('\n');

    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata/itch50"));
    let path = folder.join(format!("{name}.txt"));
    if env::var_os("BLESS").is_some() {
        fs::write(&path, &content).expect("the file can be written");
    }
    let golden = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(content, golden, "{name}: BLESS=1 rewrites it, if that is what you want");
    let hex = golden.lines().next().unwrap_or_default().as_bytes().chunks(2);
    let stored: Vec<u8> = hex
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect();
    assert_eq!(Message::decode(&stored), Ok(message));
}

#[test]
fn a_day_from_start_to_end() {
    let event = fields!(SystemEventFields(0, 0, 10_800_000_000_001) {
        event_code: EventCode::StartOfMessages,
    });
    check("01_start_of_messages", &event.encode());
    let event = fields!(SystemEventFields(0, 9, 72_300_000_000_000) {
        event_code: EventCode::EndOfMessages,
    });
    check("25_end_of_messages", &event.encode());
}

#[test]
fn what_is_known_of_a_stock() {
    let directory = fields!(StockDirectoryFields(13, 0, 11_700_000_000_123) {
        stock: symbol("AAPL"),
        market_category: MarketCategory::NasdaqGlobalSelect,
        financial_status: FinancialStatus::Normal,
        round_lot_size: 100,
        round_lots_only: YesNo::No,
        issue_classification: IssueClassification::CommonStock,
        issue_sub_type: Alpha::new(*b"Z "),
        authenticity: Authenticity::Production,
        short_sale_threshold: YesNo::No,
        ipo_flag: IpoFlag::No,
        luld_tier: LuldTier::Tier1,
        etp_flag: YesNo::No,
        etp_leverage_factor: 0,
        inverse_indicator: YesNo::No,
    });
    check("02_stock_directory", &directory.encode());
    let trading = fields!(StockTradingActionFields(13, 0, 11_800_000_000_456) {
        stock: symbol("AAPL"),
        trading_state: TradingState::Trading,
        reserved: Alpha::new(*b" "),
        reason: Alpha::new(*b"    "),
    });
    check("03_trading", &trading.encode());
    let paused = fields!(StockTradingActionFields(13, 2, OPEN + 1) {
        stock: symbol("AAPL"),
        trading_state: TradingState::Paused,
        reserved: Alpha::new(*b" "),
        reason: Alpha::new(*b"LUDP"),
    });
    check("04_paused", &paused.encode());
    let short_sale = fields!(RegShoRestrictionFields(13, 0, 11_900_000_000_789) {
        stock: symbol("AAPL"),
        reg_sho_action: RegShoAction::NoPriceTest,
    });
    check("05_reg_sho_restriction", &short_sale.encode());
    let position = fields!(MarketParticipantPositionFields(13, 0, 12_000_000_000_000) {
        mpid: Alpha::new(*b"GSCO"),
        stock: symbol("AAPL"),
        primary_market_maker: YesNo::Yes,
        market_maker_mode: MarketMakerMode::Normal,
        participant_state: ParticipantState::Active,
    });
    check("06_market_participant_position", &position.encode());
}

#[test]
fn breakers_collars_and_halts() {
    let levels = fields!(MwcbDeclineLevelFields(0, 0, 12_100_000_000_000) {
        level_1: Price8::new(558_012_000_000),
        level_2: Price8::new(522_011_000_000),
        level_3: Price8::new(480_010_000_000),
    });
    check("07_mwcb_decline_level", &levels.encode());
    let status = fields!(MwcbStatusFields(0, 1, OPEN + 2) {
        breached_level: BreachedLevel::Level1,
    });
    check("08_mwcb_status", &status.encode());
    let quoting = fields!(IpoQuotingPeriodUpdateFields(0, 0, 34_199_000_000_000) {
        stock: symbol("ZWZZT"),
        release_time: Maybe::some(SecondsSinceMidnight::new(35_100)).expect("not midnight"),
        release_qualifier: ReleaseQualifier::Anticipated,
        ipo_price: Maybe::some(Price4::new(100_000)).expect("not 0"),
    });
    check("09_ipo_quoting_period_update", &quoting.encode());
    let collar = fields!(LuldAuctionCollarFields(13, 3, OPEN + 3) {
        stock: symbol("AAPL"),
        reference_price: Price4::new(133_912),
        upper_price: Price4::new(140_612),
        lower_price: Price4::new(127_212),
        extension: 1,
    });
    check("10_luld_auction_collar", &collar.encode());
    let halt = fields!(OperationalHaltFields(13, 4, OPEN + 4) {
        stock: symbol("AAPL"),
        market_code: MarketCode::Bx,
        halt_action: HaltAction::Halted,
    });
    check("11_operational_halt", &halt.encode());
}

#[test]
fn the_life_of_an_order() {
    let first = order(0x0102_0304_0506_0708);
    let add = fields!(AddOrderFields(13, 5, OPEN + 1000) {
        order_reference_number: first,
        buy_sell_indicator: BuySellIndicator::Buy,
        shares: Shares::new(300),
        stock: symbol("AAPL"),
        price: Price4::new(1_899_500),
    });
    check("12_add_order", &add.encode());
    let add = fields!(AddOrderMpidFields(13, 6, OPEN + 2000) {
        order_reference_number: order(1001),
        buy_sell_indicator: BuySellIndicator::Sell,
        shares: Shares::new(100),
        stock: symbol("AAPL"),
        price: Price4::new(1_900_000),
        attribution: Alpha::new(*b"NSDQ"),
    });
    check("13_add_order_mpid", &add.encode());
    let executed = fields!(OrderExecutedFields(13, 7, OPEN + 3000) {
        order_reference_number: first,
        executed_shares: Shares::new(100),
        match_number: MatchNumber::new(77),
    });
    check("14_order_executed", &executed.encode());
    let executed = fields!(OrderExecutedWithPriceFields(13, 8, OPEN + 4000) {
        order_reference_number: first,
        executed_shares: Shares::new(50),
        match_number: MatchNumber::new(78),
        printable: YesNo::No,
        execution_price: Price4::new(1_899_400),
    });
    check("15_order_executed_with_price", &executed.encode());
    let cancel = fields!(OrderCancelFields(13, 9, OPEN + 5000) {
        order_reference_number: first,
        cancelled_shares: Shares::new(50),
    });
    check("16_order_cancel", &cancel.encode());
    let replace = fields!(OrderReplaceFields(13, 10, OPEN + 6000) {
        original_order_reference_number: first,
        new_order_reference_number: order(1002),
        shares: Shares::new(200),
        price: Price4::new(1_899_600),
    });
    check("17_order_replace", &replace.encode());
    let delete = fields!(OrderDeleteFields(13, 11, OPEN + 7000) {
        order_reference_number: order(1001),
    });
    check("18_order_delete", &delete.encode());
}

#[test]
fn trades_and_auctions() {
    let trade = fields!(TradeFields(13, 12, OPEN + 8000) {
        order_reference_number: Maybe::NONE,
        buy_sell_indicator: BuySellIndicator::Buy,
        shares: Shares::new(25),
        stock: symbol("AAPL"),
        price: Price4::new(1_899_750),
        match_number: MatchNumber::new(79),
    });
    check("19_trade", &trade.encode());
    let cross = fields!(CrossTradeFields(13, 13, OPEN + 9000) {
        shares: TotalShares::new(1_234_567),
        stock: symbol("AAPL"),
        cross_price: Price4::new(1_899_500),
        match_number: MatchNumber::new(80),
        cross_type: CrossType::Opening,
    });
    check("20_cross_trade", &cross.encode());
    let broken = fields!(BrokenTradeFields(13, 14, OPEN + 10_000) {
        match_number: MatchNumber::new(79),
    });
    check("21_broken_trade", &broken.encode());
    let imbalance = fields!(NetOrderImbalanceFields(13, 15, 57_300_000_000_000) {
        paired_shares: TotalShares::new(500_000),
        imbalance_shares: TotalShares::new(12_000),
        imbalance_direction: ImbalanceDirection::Buy,
        stock: symbol("AAPL"),
        far_price: Maybe::some(Price4::new(1_900_100)).expect("not 0"),
        near_price: Maybe::some(Price4::new(1_899_900)).expect("not 0"),
        current_reference_price: Price4::new(1_899_800),
        cross_type: CrossType::Closing,
        price_variation: PriceVariation::Below1,
    });
    check("22_net_order_imbalance", &imbalance.encode());
    let interest = fields!(RetailPriceImprovementFields(13, 16, OPEN + 11_000) {
        stock: symbol("AAPL"),
        interest_flag: InterestFlag::BuySide,
    });
    check("23_retail_price_improvement", &interest.encode());
    let discovery = fields!(DirectListingPriceDiscoveryFields(14, 17, OPEN + 12_000) {
        stock: symbol("ZXYZ.A"),
        open_eligibility: YesNo::Yes,
        minimum_allowable_price: Price4::new(80_000),
        maximum_allowable_price: Price4::new(270_000),
        near_execution_price: Price4::new(150_000),
        near_execution_time: OPEN + 11_999,
        lower_collar: Price4::new(135_000),
        upper_collar: Price4::new(165_000),
    });
    check("24_direct_listing_price_discovery", &discovery.encode());
}

/// Cases without a vector: an unknown type, an unknown code, absent prices, bytes that are not
/// text.
#[test]
fn what_is_not_understood_is_shown() {
    check("26_unknown_type", b"z\x00\x01\xff");
    let imbalance = fields!(NetOrderImbalanceFields(1, 0, OPEN) {
        paired_shares: TotalShares::new(0),
        imbalance_shares: TotalShares::new(0),
        imbalance_direction: ImbalanceDirection::from_be_bytes(*b"?"),
        stock: Symbol::new(*b"A\"\\\x1b\xff B "),
        far_price: Maybe::NONE,
        near_price: Maybe::NONE,
        current_reference_price: Price4::new(0),
        cross_type: CrossType::from_be_bytes([0]),
        price_variation: PriceVariation::NotAvailable,
    });
    check("27_unknown_codes", &imbalance.encode());
}
