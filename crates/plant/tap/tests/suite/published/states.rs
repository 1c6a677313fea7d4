//! Messages that are not about orders: the records of each type, and the types without records.

use nanotape_plant::CHECK_EVERY;
use nanotape_types::{Alpha, Maybe, Price4, Price8, TotalShares};
use nanotape_wire::itch50::{
    BreachedLevel, CrossType, DirectListingPriceDiscoveryFields, EventCode, HaltAction,
    ImbalanceDirection, InterestFlag, IpoQuotingPeriodUpdateFields, LuldAuctionCollarFields,
    MarketCode, MarketMakerMode, MarketParticipantPositionFields, MwcbDeclineLevelFields,
    MwcbStatusFields, NetOrderImbalanceFields, OperationalHaltFields, ParticipantState,
    PriceVariation, RegShoAction, RegShoRestrictionFields, ReleaseQualifier,
    RetailPriceImprovementFields, StockTradingActionFields, SystemEventFields, TradingState, YesNo,
};

use crate::published::{
    messages::{TIME, add, code, directory, message, symbol},
    tape::{MIDNIGHT, STOCK, Tape},
};

const DOCUMENT: &str = include_str!("../../../../../../docs/formats/records.md");
const SCHEMA: &str = include_str!("../../../../../../schema/nasdaq-itch-5.0.toml");

fn trading_action(state: TradingState, reason: &[u8; 4]) -> Vec<u8> {
    message!(
        STOCK,
        StockTradingActionFields {
            stock: symbol("AAPL"),
            trading_state: state,
            reserved: Alpha::new(*b" "),
            reason: Alpha::new(*reason),
        }
    )
}

fn operational_halt(market_code: MarketCode, halt_action: HaltAction) -> Vec<u8> {
    message!(
        STOCK,
        OperationalHaltFields {
            stock: symbol("AAPL"),
            market_code: market_code,
            halt_action: halt_action,
        }
    )
}

#[test]
fn a_directory_message_is_a_definition() {
    let mut tape = Tape::of_everything();
    assert_eq!(
        tape.apply(&directory(12, "BRK.A")),
        ["stock 12: definition BRK.A XNAS USD C C Q 100 K"]
    );
}

#[test]
fn system_events_are_states_of_no_stock() {
    let mut tape = Tape::of_everything();
    for (code, line) in [
        (EventCode::StartOfMessages, "None Scheduled ~~~"),
        (EventCode::StartOfSystemHours, "PreOpen Scheduled YY~"),
        (EventCode::StartOfMarketHours, "Trading Scheduled YY~"),
        (EventCode::EndOfMarketHours, "PostClose Scheduled YY~"),
        (EventCode::EndOfSystemHours, "Close Scheduled NN~"),
        (EventCode::EndOfMessages, "None Scheduled ~~~"),
        (code(b'!'), "None Scheduled ~~~"),
    ] {
        let event = message!(0, SystemEventFields { event_code: code });
        assert_eq!(tape.apply(&event), [format!("stock 0: status {line}")]);
    }
}

#[test]
fn trading_actions_are_states_of_a_stock() {
    let mut tape = Tape::of_everything();
    for (state, line) in [
        (TradingState::Halted, "Halt NewsPending NN~"),
        (TradingState::Paused, "Pause NewsPending NN~"),
        (TradingState::QuotationOnly, "Quoting NewsPending NY~"),
        (TradingState::Trading, "Trading NewsPending YY~"),
        (code(b'!'), "None NewsPending ~~~"),
    ] {
        assert_eq!(tape.apply(&trading_action(state, b"T1  ")), [format!("status {line}")]);
    }
    // A stock with an unreliable book: states have no flags.
    tape.apply(&add(STOCK, 1, b'B', 0, 1));
    let halted = trading_action(TradingState::Halted, b"    ");
    assert_eq!(tape.apply(&halted), ["status Halt None NN~"]);
}

/// Checks the table of the document, row by row, and every code of the schema.
#[test]
fn the_reasons_of_the_document_are_those_that_are_written() {
    let (_, table) = DOCUMENT.split_once("The reasons of `H`").unwrap();
    let table = table.split("###").next().unwrap();
    let mut tape = Tape::of_everything();
    let mut number_of = |code: &str| {
        let mut reason = [b' '; 4];
        reason[..code.len()].copy_from_slice(code.as_bytes());
        let records = tape.feed(&trading_action(TradingState::Halted, &reason));
        let status: dbn::StatusMsg = crate::published::tape::decoded(&records[0]);
        status.reason
    };
    let mut codes = Vec::new();
    for line in table.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let names = cells[1].split(", ").map(|name| name.trim_matches('`'));
        let numbers: Vec<u16> = cells[3].split(", ").map(|text| text.parse().unwrap()).collect();
        for (place, name) in names.enumerate() {
            let number = numbers.get(place).unwrap_or(&numbers[0]);
            assert_eq!(number_of(name), *number, "{name}");
            codes.push(name);
        }
    }
    codes.sort_unstable();
    let (_, listed) = SCHEMA.split_once("name = \"TradingActionReason\"").unwrap();
    let (_, listed) = listed.split_once("codes = [").unwrap();
    let listed = listed.split(']').next().unwrap();
    let mut listed: Vec<_> = listed.split('"').skip(1).step_by(2).collect();
    listed.sort_unstable();
    assert_eq!(codes, listed);
    assert_eq!((number_of(""), number_of("ZZZ")), (0, 0));
}

#[test]
fn other_messages_about_states() {
    let mut tape = Tape::of_everything();
    for (action, restricted) in [
        (RegShoAction::NoPriceTest, 'N'),
        (RegShoAction::RestrictionTriggered, 'Y'),
        (RegShoAction::RestrictionInEffect, 'Y'),
        (code(b'!'), '~'),
    ] {
        let change = message!(
            STOCK,
            RegShoRestrictionFields { stock: symbol("AAPL"), reg_sho_action: action }
        );
        assert_eq!(tape.apply(&change), [format!("status SsrChange None ~~{restricted}")]);
    }
    for (action, line) in [
        (HaltAction::Halted, "status Halt Operational NN~"),
        (HaltAction::Resumed, "status Trading Operational YY~"),
        (code(b'!'), "status None Operational ~~~"),
    ] {
        assert_eq!(tape.apply(&operational_halt(MarketCode::Nasdaq, action)), [line]);
        // If another market centre stops, trading here continues.
        assert!(tape.apply(&operational_halt(MarketCode::Psx, action)).is_empty());
        assert!(tape.apply(&operational_halt(MarketCode::Bx, action)).is_empty());
    }
    for (level, reason) in [
        (BreachedLevel::Level1, "MarketWideHaltLevel1"),
        (BreachedLevel::Level2, "MarketWideHaltLevel2"),
        (BreachedLevel::Level3, "MarketWideHaltLevel3"),
        (code(b'!'), "None"),
    ] {
        let breach = message!(0, MwcbStatusFields { breached_level: level });
        assert_eq!(tape.apply(&breach), [format!("stock 0: status None {reason} ~~~")]);
    }
}

#[test]
fn imbalances_have_the_prices_that_are_available() {
    let mut tape = Tape::of_everything();
    let imbalance = |direction, paired, near, far| {
        message!(
            STOCK,
            NetOrderImbalanceFields {
                paired_shares: TotalShares::new(paired),
                imbalance_shares: TotalShares::new(7),
                imbalance_direction: direction,
                stock: symbol("AAPL"),
                far_price: far,
                near_price: near,
                current_reference_price: Price4::new(100_000),
                cross_type: CrossType::Closing,
                price_variation: PriceVariation::NotAvailable,
            }
        )
    };
    let price = |price| Maybe::some(Price4::new(price)).unwrap();
    assert_eq!(
        tape.apply(&imbalance(ImbalanceDirection::Buy, 4_000, price(100_100), price(100_200))),
        ["imbalance C B 4000 7 at 10.0000 near 10.0100 far 10.0200"]
    );
    for (direction, side) in [
        (ImbalanceDirection::Sell, 'A'),
        (ImbalanceDirection::NoImbalance, 'N'),
        (ImbalanceDirection::InsufficientOrders, 'N'),
        (ImbalanceDirection::Paused, 'N'),
    ] {
        assert_eq!(
            tape.apply(&imbalance(direction, 1 << 40, Maybe::NONE, Maybe::NONE)),
            [format!("imbalance C {side} ? 7 at 10.0000 near - far -")]
        );
    }
}

#[test]
fn types_that_give_no_record() {
    let stock = symbol("AAPL");
    let price = Price4::new(1);
    let mut tape = Tape::of_everything();
    for message in [
        message!(
            STOCK,
            MarketParticipantPositionFields {
                mpid: Alpha::new(*b"GSCO"),
                stock: stock,
                primary_market_maker: YesNo::Yes,
                market_maker_mode: MarketMakerMode::Normal,
                participant_state: ParticipantState::Active,
            }
        ),
        message!(
            0,
            MwcbDeclineLevelFields {
                level_1: Price8::new(3),
                level_2: Price8::new(2),
                level_3: Price8::new(1),
            }
        ),
        message!(
            STOCK,
            IpoQuotingPeriodUpdateFields {
                stock: stock,
                release_time: Maybe::NONE,
                release_qualifier: ReleaseQualifier::Cancelled,
                ipo_price: Maybe::NONE,
            }
        ),
        message!(
            STOCK,
            LuldAuctionCollarFields {
                stock: stock,
                reference_price: price,
                upper_price: price,
                lower_price: price,
                extension: 1,
            }
        ),
        message!(
            STOCK,
            RetailPriceImprovementFields { stock: stock, interest_flag: InterestFlag::BothSides }
        ),
        message!(
            STOCK,
            DirectListingPriceDiscoveryFields {
                stock: stock,
                open_eligibility: YesNo::Yes,
                minimum_allowable_price: price,
                maximum_allowable_price: price,
                near_execution_price: price,
                near_execution_time: 1,
                lower_collar: price,
                upper_collar: price,
            }
        ),
        b"!a type that no list has".to_vec(),
    ] {
        assert!(tape.apply(&message).is_empty(), "{}", char::from(message[0]));
    }
}

#[test]
fn a_message_of_an_unknown_type_does_not_move_the_plants_time() {
    let mut tape = Tape::of_everything();
    for _ in 0..CHECK_EVERY {
        tape.apply(b"!a type that no list has");
    }
    let stat = tape.publisher.board().sample();
    assert_eq!((stat.messages > 2, stat.ts_event), (true, MIDNIGHT + TIME.get()));
}
