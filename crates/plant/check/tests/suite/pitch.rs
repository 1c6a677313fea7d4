//! Each rule of Cboe multicast PITCH.

use nanotape_check::Rule;
use nanotape_types::{
    Alpha, Decimal, MatchNumber, NanosOffset, OrderReferenceNumber, SecondsSinceMidnight, Shares,
    Symbol,
};
use nanotape_wire::pitch::{
    AddFlags, AddOrderLongFields, DeleteOrderFields, EndOfSessionFields, ModifyFlags,
    ModifyOrderLongFields, OrderExecutedAtPriceSizeFields, OrderExecutedFields,
    ReduceSizeLongFields, RegShoAction, SideIndicator, TimeFields, TradeBreakFields,
    TradeLongFields, TradingStatusCode, TradingStatusFields, UnitClearFields,
};

use crate::made::{Made, Violated, violated};

const MAT: [u8; 6] = *b"MAT   ";

fn ns(nanos: u32) -> NanosOffset {
    NanosOffset::new(nanos)
}

fn order(number: u64) -> OrderReferenceNumber {
    OrderReferenceNumber::new(number)
}

fn time(second: u32) -> Vec<u8> {
    let time = SecondsSinceMidnight::new(second);
    TimeFields { time, epoch_time: None }.encode(&mut [0; 10]).unwrap().to_vec()
}

fn clear() -> Vec<u8> {
    UnitClearFields { time_offset: ns(10) }.encode().to_vec()
}

fn end() -> Vec<u8> {
    EndOfSessionFields { time_offset: ns(10) }.encode().to_vec()
}

fn add_at(
    offset: u32,
    number: u64,
    symbol: [u8; 6],
    (side_indicator, shares, dollars): (SideIndicator, u32, u64),
) -> Vec<u8> {
    AddOrderLongFields {
        time_offset: ns(offset),
        order_reference_number: order(number),
        side_indicator,
        shares: Shares::new(shares),
        symbol: Alpha::new(symbol),
        price: Decimal::new(10_000 * dollars),
        add_flags: AddFlags::default(),
    }
    .encode()
    .to_vec()
}

fn buy(number: u64, shares: u32, dollars: u64) -> Vec<u8> {
    add_at(10, number, MAT, (SideIndicator::Buy, shares, dollars))
}

fn sell(number: u64, shares: u32, dollars: u64) -> Vec<u8> {
    add_at(10, number, MAT, (SideIndicator::Sell, shares, dollars))
}

fn execute(number: u64, shares: u32, execution: u64) -> Vec<u8> {
    OrderExecutedFields {
        time_offset: ns(10),
        order_reference_number: order(number),
        executed_shares: Shares::new(shares),
        match_number: MatchNumber::new(execution),
    }
    .encode()
    .to_vec()
}

fn execute_at(number: u64, (shares, remaining): (u32, u32), execution: u64) -> Vec<u8> {
    OrderExecutedAtPriceSizeFields {
        time_offset: ns(10),
        order_reference_number: order(number),
        executed_shares: Shares::new(shares),
        remaining_shares: Shares::new(remaining),
        match_number: MatchNumber::new(execution),
        price: Decimal::new(110_000),
    }
    .encode()
    .to_vec()
}

fn reduce(number: u64, shares: u32) -> Vec<u8> {
    ReduceSizeLongFields {
        time_offset: ns(10),
        order_reference_number: order(number),
        cancelled_shares: Shares::new(shares),
    }
    .encode()
    .to_vec()
}

fn modify(number: u64, shares: u32, dollars: u64) -> Vec<u8> {
    ModifyOrderLongFields {
        time_offset: ns(10),
        order_reference_number: order(number),
        shares: Shares::new(shares),
        price: Decimal::new(10_000 * dollars),
        modify_flags: ModifyFlags::default(),
    }
    .encode()
    .to_vec()
}

fn delete(number: u64) -> Vec<u8> {
    DeleteOrderFields { time_offset: ns(10), order_reference_number: order(number) }
        .encode()
        .to_vec()
}

fn trade(execution: u64) -> Vec<u8> {
    TradeLongFields {
        time_offset: ns(10),
        order_reference_number: order(999),
        side_indicator: SideIndicator::Buy,
        shares: Shares::new(7),
        symbol: Alpha::new(MAT),
        price: Decimal::new(100_000),
        match_number: MatchNumber::new(execution),
    }
    .encode()
    .to_vec()
}

fn trade_break(execution: u64) -> Vec<u8> {
    let match_number = MatchNumber::new(execution);
    TradeBreakFields { time_offset: ns(10), match_number }.encode().to_vec()
}

fn status(trading_status: TradingStatusCode) -> Vec<u8> {
    TradingStatusFields {
        time_offset: ns(10),
        symbol: Symbol::new(*b"MAT     "),
        trading_status,
        reg_sho_action: RegShoAction::NoRestriction,
        reserved_1: Alpha::new(*b"0"),
        reserved_2: Alpha::new(*b"0"),
    }
    .encode()
    .to_vec()
}

/// Messages 1 to 14 of a unit, at 10:00.
fn good() -> Vec<Vec<u8>> {
    vec![
        time(36_000),
        clear(),
        status(TradingStatusCode::Trading),
        buy(1, 100, 9),
        sell(2, 300, 11),
        execute(1, 60, 71),
        execute_at(2, (100, 200), 72),
        reduce(1, 10),
        modify(2, 250, 12),
        delete(1),
        trade(73),
        trade_break(72),
        delete(2),
        end(),
    ]
}

/// What messages of unit 1 violate: three in a packet.
fn violated_by(first: u64, messages: &[Vec<u8>]) -> Violated {
    let (mut made, mut number) = (Made::new(), first);
    for three in messages.chunks(3) {
        made.unit(1, number, three);
        number += three.len() as u64;
    }
    violated(made.bytes)
}

/// What the good messages violate with some more in front of a place.
fn broken(number: usize, messages: &[Vec<u8>]) -> Vec<(Rule, u64, Option<u64>)> {
    let mut all = good();
    all.splice(number - 1..number - 1, messages.iter().cloned());
    violated_by(1, &all).rules
}

/// What two units violate, which take turns.
fn broken_by_two(one: &[Vec<u8>], two: &[Vec<u8>]) -> Vec<(Rule, u64, Option<u64>)> {
    let mut made = Made::new();
    for number in 1..=one.len().max(two.len()) {
        for (unit, messages) in [(1, one), (2, two)] {
            if let Some(message) = messages.get(number - 1) {
                made.unit(unit, number as u64, std::slice::from_ref(message));
            }
        }
    }
    violated(made.bytes).rules
}

#[test]
fn a_good_day_breaks_no_rule() {
    assert_eq!(broken(1, &[]), []);
    // An ID may come again after its order left, and a second again.
    assert_eq!(broken(14, &[time(36_001), buy(1, 5, 9), delete(1)]), []);
    assert_eq!(broken(8, &[time(36_000)]), []);
}

#[test]
fn messages_have_the_length_of_their_type_and_a_known_type() {
    assert_eq!(broken(5, &[vec![6, 0x29, 0, 0, 0, 0]]), [(Rule::MessageLength, 1, None)]);
    assert_eq!(broken(5, &[vec![4, 0xee, 0, 0]]), [(Rule::TypeKnown, 1, Some(5))]);
    // A longer message is one of a later version.
    let mut longer = [trade(74), vec![0; 2]].concat();
    longer[0] += 2;
    assert_eq!(broken(14, &[longer]), []);
}

#[test]
fn no_order_enters_under_a_live_id() {
    assert_eq!(broken(6, &[buy(2, 5, 9)]), [(Rule::ReferenceUnique, 1, Some(6))]);
}

#[test]
fn changes_are_to_live_orders_and_take_no_more_than_there_is() {
    for message in [delete(3), reduce(3, 1), modify(3, 1, 1), execute(3, 1, 80)] {
        assert_eq!(broken(14, &[message]), [(Rule::OrderLive, 1, Some(14))]);
    }
    assert_eq!(broken(14, &[execute_at(3, (1, 1), 80)]), [(Rule::OrderLive, 1, Some(14))]);
    assert_eq!(broken(6, &[buy(3, 0, 9)]), [(Rule::OrderLive, 1, Some(6))]);
    // The order leaves, and its delete is about no order.
    assert_eq!(broken(13, &[execute(2, 251, 80)]), [(Rule::OrderLive, 2, Some(13))]);
    assert_eq!(broken(13, &[reduce(2, 251)]), [(Rule::OrderLive, 2, Some(13))]);
}

#[test]
fn execution_ids_are_unique_and_a_break_names_one() {
    for message in [trade(73), trade(72), trade(71)] {
        assert_eq!(broken(14, &[message]), [(Rule::MatchUnique, 1, Some(14))]);
    }
    assert_eq!(broken(9, &[execute(1, 1, 71)]), [(Rule::MatchUnique, 1, Some(9))]);
    assert_eq!(broken(14, &[trade_break(79)]), [(Rule::BrokenKnown, 1, Some(14))]);
    assert_eq!(broken(14, &[trade_break(73)]), []);
}

#[test]
fn times_of_a_unit_do_not_go_back() {
    let early = add_at(9, 3, MAT, (SideIndicator::Buy, 1, 1));
    assert_eq!(broken(6, &[early, delete(3)]), [(Rule::TimeOrder, 1, Some(6))]);
    assert_eq!(broken(3, &[time(35_999)]), [(Rule::TimeOrder, 1, Some(3))]);
    // The clock of another unit is another one.
    assert_eq!(broken_by_two(&good(), &[time(35_000), clear(), end()]), []);
}

#[test]
fn books_are_empty_at_the_end_and_each_unit_ends() {
    let all = good();
    let rest = violated_by(1, &all[..9]);
    assert!(rest.is_valid);
    assert_eq!(rest.rules, [(Rule::EndsEmpty, 1, None), (Rule::WholeDay, 1, None)]);
}

#[test]
fn a_trading_stock_is_not_crossed_in_regular_hours() {
    let crossed = [buy(3, 5, 11), delete(3)];
    assert_eq!(broken(6, &crossed), [(Rule::NotCrossed, 1, Some(6))]);
    let halted = [status(TradingStatusCode::Halted), buy(3, 5, 11), delete(3)];
    assert_eq!(broken(6, &halted), []);
    let mut early = good();
    early[0] = time(30_000);
    early.splice(5..5, crossed);
    assert_eq!(violated_by(1, &early).rules, []);
}

#[test]
fn a_time_precedes_the_first_offset_of_each_unit() {
    let all = good();
    let first = (Rule::TimeFirst, 13, Some(1));
    assert_eq!(violated_by(1, &all[1..]).rules, [first]);
    let of_two = broken_by_two(&all, &[clear(), time(36_000), end()]);
    assert_eq!(of_two, [(Rule::TimeFirst, 1, Some(2))]);
}

#[test]
fn offsets_are_below_one_second() {
    let late = add_at(1_000_000_000, 3, MAT, (SideIndicator::Buy, 5, 1));
    let found = broken(13, &[late, time(36_001), delete(3)]);
    assert_eq!(found, [(Rule::OffsetBelowSecond, 1, Some(13))]);
}

#[test]
fn no_message_names_an_order_of_before_a_unit_clear() {
    let found = broken(14, &[time(36_001), buy(5, 10, 9), clear(), time(36_002), delete(5)]);
    assert_eq!(found, [(Rule::UnitClear, 1, Some(18))]);
    // The ID may come again after it.
    let again = [time(36_001), buy(5, 10, 9), time(36_002), clear(), buy(5, 1, 8), delete(5)];
    assert_eq!(broken(14, &again), []);
}

#[test]
fn an_order_and_a_symbol_belong_to_one_unit() {
    let other = *b"ZVZZT ";
    let of_other = |number| add_at(10, number, other, (SideIndicator::Buy, 5, 9));
    let two = |messages: &[Vec<u8>]| {
        let ends = [time(36_000), clear()];
        broken_by_two(&good(), &[&ends[..], messages, &[end()]].concat())
    };
    assert_eq!(two(&[of_other(31), delete(31)]), []);
    let wait = [of_other(31), delete(31), of_other(32), delete(32)];
    // Message 7 of unit 2 comes while order 2 of unit 1 is live.
    let found = two(&[&wait[..], &[reduce(2, 1)]].concat());
    assert!(found.contains(&(Rule::OrderOfUnit, 1, Some(14))), "{found:?}");
    let found = two(&[&wait[..], &[of_other(2)]].concat());
    assert!(found.contains(&(Rule::OrderOfUnit, 1, Some(14))), "{found:?}");
    assert!(found.contains(&(Rule::ReferenceUnique, 1, Some(14))), "{found:?}");
    let found = two(&[&wait[..], &[buy(33, 1, 8), delete(33)]].concat());
    assert_eq!(found.last(), Some(&(Rule::SymbolOfUnit, 1, Some(14))), "{found:?}");
}

#[test]
fn remaining_shares_are_those_before_less_those_executed() {
    let mut all = good();
    all[6] = execute_at(2, (100, 150), 72);
    let found = violated_by(1, &all);
    assert!(found.is_valid);
    assert_eq!(found.rules, [(Rule::RemainingFits, 1, Some(7))]);
}

#[test]
fn nothing_follows_the_end_of_a_session() {
    let mut all = good();
    all.extend([time(36_001), end()]);
    assert_eq!(violated_by(1, &all).rules, [(Rule::NothingAfterEnd, 2, Some(15))]);
    // Numbers that begin again are another session.
    let mut made = Made::new();
    let first = [time(36_000), clear(), buy(1, 5, 9), end()];
    let second = [time(40_000), clear(), buy(1, 5, 9), delete(1), end()];
    made.unit(1, 1, &first);
    made.unit(1, 1, &second);
    assert_eq!(violated(made.bytes).rules, []);
}

/// Orders from before a late beginning are unknown, and that is no fault of the feed.
#[test]
fn a_late_capture_breaks_the_rule_of_the_whole_day() {
    let late = violated_by(8, &good()[7..]);
    assert!(late.is_valid, "{late:?}");
    // The beginning, seven messages without a second, four of unknown orders, and a break.
    assert_eq!(late.rules, [(Rule::WholeDay, 13, Some(8))]);
}
