//! Each rule of IEX DEEP, and those that both feeds of IEX have.

use nanotape_check::Rule;
use nanotape_types::Shares;
use nanotape_wire::{
    iex_common::{SystemEventCode, TradingStatusCode},
    iex_deep::{
        EventFlags, MESSAGE_PROTOCOL_ID, PriceLevelUpdateBuyFields, PriceLevelUpdateSellFields,
    },
};

use crate::{
    iex::{STOCK, at, day, status, system, trade, trade_break, usd, violated_by},
    made::{Made, violated},
};

const DONE: EventFlags = EventFlags::new(1);
const MORE: EventFlags = EventFlags::new(0);

fn buy(event_flags: EventFlags, (shares, dollars): (u32, i64), nanos: u64) -> Vec<u8> {
    PriceLevelUpdateBuyFields {
        event_flags,
        timestamp: at(nanos),
        symbol: STOCK,
        shares: Shares::new(shares),
        price: usd(dollars),
    }
    .encode()
    .to_vec()
}

fn sell(event_flags: EventFlags, (shares, dollars): (u32, i64), nanos: u64) -> Vec<u8> {
    PriceLevelUpdateSellFields {
        event_flags,
        timestamp: at(nanos),
        symbol: STOCK,
        shares: Shares::new(shares),
        price: usd(dollars),
    }
    .encode()
    .to_vec()
}

/// Messages 5 to 12 of a day: levels, an event of two levels with its trade, and a break.
fn good() -> Vec<Vec<u8>> {
    vec![
        buy(DONE, (100, 9), 10),
        buy(DONE, (100, 10), 11),
        sell(DONE, (300, 11), 12),
        buy(MORE, (0, 10), 13),
        trade(1, 13),
        buy(DONE, (0, 9), 13),
        trade_break(1, (100, 10), 14),
        sell(DONE, (0, 11), 15),
    ]
}

fn broken(messages: &[Vec<u8>]) -> Vec<(Rule, u64, Option<u64>)> {
    violated_by(MESSAGE_PROTOCOL_ID, 1, &day(messages)).rules
}

/// The good messages with another one at a place, from 5.
fn with(number: usize, message: Vec<u8>) -> Vec<Vec<u8>> {
    let mut messages = good();
    messages[number - 5] = message;
    messages
}

/// The good messages with one more in front of a place, from 5.
fn inserted(number: usize, message: Vec<u8>) -> Vec<Vec<u8>> {
    let mut messages = good();
    messages.insert(number - 5, message);
    messages
}

#[test]
fn a_good_day_breaks_no_rule() {
    assert_eq!(broken(&good()), []);
}

#[test]
fn system_events_come_in_order_and_nothing_follows_the_last() {
    let again = inserted(7, system(SystemEventCode::StartOfSystemHours, 20));
    assert_eq!(broken(&again), [(Rule::SystemEvents, 1, Some(7))]);
    let mut unknown = system(SystemEventCode::StartOfSystemHours, 20);
    unknown[1] = b'?';
    assert_eq!(broken(&inserted(7, unknown)), [(Rule::SystemEvents, 1, Some(7))]);
    let mut after = day(&good());
    after.push(status(TradingStatusCode::Trading, 2_000));
    let found = violated_by(MESSAGE_PROTOCOL_ID, 1, &after).rules;
    assert_eq!(found, [(Rule::SystemEvents, 1, Some(16))]);
}

#[test]
fn a_message_has_the_length_of_its_type_and_a_known_type() {
    let mut short = sell(DONE, (5, 12), 12);
    short.truncate(29);
    assert_eq!(broken(&inserted(7, short)), [(Rule::MessageLength, 1, None)]);
    assert_eq!(broken(&inserted(7, b"zzz".to_vec())), [(Rule::TypeKnown, 1, Some(7))]);
    // A longer message is one of a later version.
    let longer = [sell(DONE, (300, 11), 12), vec![0; 4]].concat();
    assert_eq!(broken(&with(7, longer)), []);
}

#[test]
fn missing_messages_are_found() {
    let (messages, mut made) = (day(&good()), Made::new());
    let offset = made.segment(MESSAGE_PROTOCOL_ID, (1, 0), &messages[..5]);
    // After missing messages any offset can be right.
    made.segment(MESSAGE_PROTOCOL_ID, (7, offset + 999), &messages[6..]);
    // The level that message 6 has would have been removed.
    let expected = [(Rule::MessageLength, 1, None), (Rule::LevelExists, 1, Some(8))];
    assert_eq!(violated(made.bytes).rules, expected);
}

#[test]
fn a_trade_id_is_unique() {
    assert_eq!(broken(&inserted(10, trade(1, 13))), [(Rule::MatchUnique, 1, Some(10))]);
}

#[test]
fn times_of_one_type_and_symbol_do_not_go_back() {
    let early = with(6, buy(DONE, (100, 10), 9));
    assert_eq!(broken(&early), [(Rule::TimeOrder, 1, Some(6))]);
    // Another type has its own order.
    assert_eq!(broken(&with(7, sell(DONE, (300, 11), 9))), []);
}

#[test]
fn a_break_has_the_terms_of_its_trade() {
    for (number, terms) in [(2, (100, 10)), (1, (99, 10)), (1, (100, 11))] {
        let found = broken(&with(11, trade_break(number, terms, 14)));
        assert_eq!(found, [(Rule::BrokenKnown, 1, Some(11))], "{number} {terms:?}");
    }
}

#[test]
fn books_are_empty_at_the_end() {
    let mut messages = good();
    messages.pop();
    assert_eq!(broken(&messages), [(Rule::EndsEmpty, 1, None)]);
}

#[test]
fn a_trading_stock_is_not_crossed_at_the_end_of_an_event_in_regular_hours() {
    let crossed =
        |flags| [inserted(8, buy(flags, (1, 12), 12)), vec![buy(DONE, (0, 12), 16)]].concat();
    assert_eq!(broken(&crossed(DONE)), [(Rule::NotCrossed, 1, Some(8))]);
    // Within an event it may look so.
    let within = [
        &good()[..3],
        &[buy(MORE, (1, 12), 12), sell(MORE, (0, 11), 12), buy(DONE, (0, 12), 12)],
        &[buy(DONE, (0, 10), 13), buy(DONE, (0, 9), 13)],
    ];
    assert_eq!(broken(&within.concat()), []);
    let mut halted = crossed(DONE);
    halted.insert(3, status(TradingStatusCode::Halted, 12));
    assert_eq!(broken(&halted), []);
}

#[test]
fn an_event_is_complete_before_the_next_one() {
    let open = with(6, buy(MORE, (100, 10), 11));
    assert_eq!(broken(&open), [(Rule::EventComplete, 1, Some(7))]);
    let to_the_end = with(12, sell(MORE, (0, 11), 15));
    assert_eq!(broken(&to_the_end), [(Rule::EventComplete, 1, None)]);
}

#[test]
fn a_level_that_is_removed_was_there() {
    let absent = inserted(8, buy(DONE, (0, 8), 12));
    assert_eq!(broken(&absent), [(Rule::LevelExists, 1, Some(8))]);
    assert!(violated_by(MESSAGE_PROTOCOL_ID, 1, &day(&absent)).is_valid);
}

#[test]
fn stream_offsets_advance_with_the_numbers() {
    let messages = day(&good());
    let made = |first_offset, skipped| {
        let mut made = Made::new();
        let offset = made.segment(MESSAGE_PROTOCOL_ID, (1, first_offset), &messages[..7]);
        // Two of its messages came before.
        let before: usize = messages[5..7].iter().map(|message| 2 + message.len()).sum();
        let offset = offset - before as u64 + skipped;
        made.segment(MESSAGE_PROTOCOL_ID, (6, offset), &messages[5..]);
        violated(made.bytes).rules
    };
    assert_eq!(made(0, 0), []);
    assert_eq!(made(0, 1), [(Rule::StreamOffsets, 1, Some(8))]);
    // A session begins with offset 0.
    assert_eq!(made(4, 0), [(Rule::StreamOffsets, 1, Some(1))]);
}

/// A capture that begins late, or is cut, does not break the specification by that.
#[test]
fn a_part_of_a_day_breaks_the_rule_of_the_whole_day() {
    let all = day(&good());
    let late = violated_by(MESSAGE_PROTOCOL_ID, 10, &all[9..]);
    assert!(late.is_valid);
    // The beginning, levels 9 and 11, the trade of the break, and three system events.
    let expected = [(Rule::LevelExists, 2, Some(10)), (Rule::WholeDay, 3, Some(10))];
    assert_eq!(late.rules, expected);
    let cut = violated_by(MESSAGE_PROTOCOL_ID, 1, &all[..8]);
    assert!(cut.is_valid);
    assert_eq!(cut.rules, [(Rule::EndsEmpty, 1, None), (Rule::WholeDay, 1, None)]);
}
