//! Each rule of IEX DEEP+ that DEEP does not have, or has with other messages.

use nanotape_check::Rule;
use nanotape_types::{Alpha, MatchNumber, OrderReferenceNumber, Shares};
use nanotape_wire::{
    iex_common::SaleConditionFlags,
    iex_deep_plus::{
        AddOrderFields, MESSAGE_PROTOCOL_ID, ModifyFlags, OrderDeleteFields, OrderExecutedFields,
        OrderModifyFields, SideIndicator,
    },
};

use crate::iex::{STOCK, at, day, trade_break, usd, violated_by};

fn add(order: u64, side_indicator: SideIndicator, (shares, dollars): (u32, i64)) -> Vec<u8> {
    AddOrderFields {
        side_indicator,
        timestamp: at(10),
        symbol: STOCK,
        order_reference_number: OrderReferenceNumber::new(order),
        shares: Shares::new(shares),
        price: usd(dollars),
    }
    .encode()
    .to_vec()
}

fn modify(order: u64, (shares, dollars): (u32, i64)) -> Vec<u8> {
    OrderModifyFields {
        modify_flags: ModifyFlags::default(),
        timestamp: at(11),
        symbol: STOCK,
        order_reference_number: OrderReferenceNumber::new(order),
        shares: Shares::new(shares),
        price: usd(dollars),
    }
    .encode()
    .to_vec()
}

fn delete(order: u64) -> Vec<u8> {
    OrderDeleteFields {
        reserved: Alpha::new(*b" "),
        timestamp: at(12),
        symbol: STOCK,
        order_reference_number: OrderReferenceNumber::new(order),
    }
    .encode()
    .to_vec()
}

fn execute(order: u64, shares: u32, number: u64) -> Vec<u8> {
    OrderExecutedFields {
        sale_condition_flags: SaleConditionFlags::default(),
        timestamp: at(13),
        symbol: STOCK,
        order_reference_number: OrderReferenceNumber::new(order),
        executed_shares: Shares::new(shares),
        price: usd(10),
        match_number: MatchNumber::new(number),
    }
    .encode()
    .to_vec()
}

/// Messages 5 to 11 of a day.
fn good() -> Vec<Vec<u8>> {
    vec![
        add(1, SideIndicator::Buy, (100, 9)),
        add(2, SideIndicator::Sell, (300, 11)),
        modify(1, (200, 10)),
        execute(1, 100, 7),
        trade_break(7, (100, 10), 14),
        execute(1, 100, 8),
        delete(2),
    ]
}

fn broken(number: usize, messages: &[Vec<u8>]) -> Vec<(Rule, u64, Option<u64>)> {
    let mut all = good();
    all.splice(number - 5..number - 5, messages.iter().cloned());
    violated_by(MESSAGE_PROTOCOL_ID, 1, &day(&all)).rules
}

#[test]
fn a_good_day_breaks_no_rule() {
    assert_eq!(broken(5, &[]), []);
    // An ID may come again after its order left.
    let again = [add(1, SideIndicator::Buy, (5, 9)), delete(1)];
    assert_eq!(broken(11, &again), []);
}

#[test]
fn no_order_enters_under_a_live_id() {
    let found = broken(7, &[add(1, SideIndicator::Buy, (5, 9))]);
    assert_eq!(found, [(Rule::ReferenceUnique, 1, Some(7))]);
}

#[test]
fn changes_are_to_live_orders_and_take_no_more_than_there_is() {
    for message in [modify(3, (1, 1)), delete(3), execute(3, 1, 9)] {
        assert_eq!(broken(7, &[message]), [(Rule::OrderLive, 1, Some(7))]);
    }
    assert_eq!(broken(11, &[execute(2, 301, 9)]), [(Rule::OrderLive, 2, Some(11))]);
    assert_eq!(broken(7, &[add(3, SideIndicator::Buy, (0, 9))]), [(Rule::OrderLive, 1, Some(7))]);
    let mut no_side = add(3, SideIndicator::Buy, (5, 9));
    no_side[1] = b'?';
    assert_eq!(broken(7, &[no_side]), [(Rule::OrderLive, 1, Some(7))]);
}

#[test]
fn executions_and_breaks_have_trade_ids() {
    assert_eq!(broken(11, &[execute(2, 1, 8)]), [(Rule::MatchUnique, 1, Some(11))]);
    assert_eq!(broken(11, &[trade_break(9, (1, 1), 15)]), [(Rule::BrokenKnown, 1, Some(11))]);
    assert_eq!(broken(11, &[trade_break(8, (99, 10), 15)]), [(Rule::BrokenKnown, 1, Some(11))]);
}

#[test]
fn a_trading_stock_is_not_crossed() {
    let found = broken(7, &[add(3, SideIndicator::Buy, (5, 11)), delete(3)]);
    assert_eq!(found, [(Rule::NotCrossed, 1, Some(7))]);
}

/// Orders from before a late beginning are unknown, and that is no fault of the feed.
#[test]
fn a_late_capture_breaks_the_rule_of_the_whole_day() {
    let late = violated_by(MESSAGE_PROTOCOL_ID, 8, &day(&good())[7..]);
    assert!(late.is_valid, "{late:?}");
    assert_eq!(late.rules, [(Rule::WholeDay, 5, Some(8))]);
}
