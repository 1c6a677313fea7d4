//! Events that change the books and that no message of ITCH makes: a book is cleared, an order is
//! modified, or has another rest after an execution. Subscribers get records of both, and so the
//! plant's books.

use nanotape_harness::Random;
use nanotape_market::{Execution, Modified, Priority, What};
use nanotape_types::{
    BookEvent, MatchNumber, OrderReferenceNumber, Price, Shares, Side, StockLocate,
};

use crate::published::pair::{Pair, STOCKS};

const FIRST: StockLocate = STOCKS[0];
const SECOND: StockLocate = STOCKS[1];

fn add(stock_locate: StockLocate, order: Modified) -> What {
    let Modified { reference, side, shares, price, .. } = order;
    let side = side.expect("it has one");
    What::Order(BookEvent::Add { stock_locate, reference, side, shares, price })
}

fn order(reference: u64, side: Side, shares: u32, price: u32) -> Modified {
    let (reference, price) = (OrderReferenceNumber::new(reference), Price::new(price));
    let (side, shares, priority) = (Some(side), Shares::new(shares), Priority::KeptIfLess);
    Modified { reference, side, shares, price, priority }
}

fn buy(reference: u64, shares: u32, price: u32) -> Modified {
    order(reference, Side::Buy, shares, price)
}

/// Orders 1, 2 and 3 to buy at one price, and 4 to sell; order 5 is of another stock.
fn five_orders() -> Pair {
    let mut pair = Pair::new();
    for reference in 1..=3 {
        pair.apply(FIRST, add(FIRST, buy(reference, 100, 50)));
    }
    pair.apply(FIRST, add(FIRST, order(4, Side::Sell, 30, 60)));
    pair.apply(SECOND, add(SECOND, buy(5, 10, 70)));
    pair
}

/// The plant's books are those of the events, and the subscriber's are the plant's.
fn assert_same_books(pair: &Pair, count: usize) {
    let [theirs, ours] = pair.orders();
    assert_eq!(theirs, ours);
    assert_eq!(ours.len(), count);
}

#[test]
fn a_book_that_is_cleared_is_cleared_for_subscribers() {
    let mut pair = five_orders();
    let cleared = ["7 mbo R N 0 at - #0 [L]", "7 bbo R N 0 at - [L] 0x- / 0x-"];
    assert_eq!(pair.apply(FIRST, What::BookCleared).0, cleared);
    assert_same_books(&pair, 1);
    // It was empty: no inside changes.
    assert_eq!(pair.apply(FIRST, What::BookCleared).0, cleared[..1]);
    // The references are free again.
    let entered = pair.apply(FIRST, add(FIRST, buy(1, 7, 40))).0;
    assert_eq!(entered, ["7 mbo A B 7 at 40 #1 [L]", "7 bbo A B 7 at 40 [L] 7x40 / 0x-"]);
    assert_same_books(&pair, 2);
    let (with, without) = (pair.end(), five_orders().end());
    assert_ne!(with.digest, without.digest, "a clear is content");
    assert_eq!(with.anomalies, 0);
}

#[test]
fn an_order_that_is_modified_is_modified_for_subscribers() {
    let mut pair = five_orders();
    let mut modified = |stock, order, lines: &[&str]| {
        assert_eq!(pair.apply(stock, What::OrderModified(order)).0, lines);
        let [theirs, ours] = pair.orders();
        assert_eq!(theirs, ours);
    };
    // Fewer shares: it keeps its position before orders 2 and 3.
    let lines = ["7 mbo C B 40 at 50 #1 [L]", "7 bbo C B 40 at 50 [L] 260x50 / 30x60"];
    modified(FIRST, buy(1, 60, 50), &lines);
    // More shares: it moves to the end.
    let lines = [
        "7 mbo C B 100 at 50 #2 []",
        "7 mbo A B 120 at 50 #2 [L]",
        "7 bbo M B 120 at 50 [L] 280x50 / 30x60",
    ];
    modified(FIRST, buy(2, 120, 50), &lines);
    // Another price.
    let lines = [
        "7 mbo C A 30 at 60 #4 []",
        "7 mbo A A 30 at 55 #4 [L]",
        "7 bbo M A 30 at 55 [L] 280x50 / 30x55",
    ];
    modified(FIRST, order(4, Side::Sell, 30, 55), &lines);
    // As it is.
    modified(FIRST, buy(3, 100, 50), &[]);
    // A message that names another stock applies to the order's own.
    let lines = ["7 taint locate_mismatch", "7 mbo C B 10 at 50 #1 [LB]"];
    let [taint, cancel] = lines;
    modified(SECOND, buy(1, 50, 50), &[taint, cancel, "7 bbo C B 10 at 50 [LB] 270x50 / 30x55"]);
    // The other side is refused.
    modified(FIRST, order(1, Side::Sell, 10, 55), &[]);
    // No shares: it leaves.
    let lines = ["7 mbo C B 100 at 50 #3 [LB]", "7 bbo C B 100 at 50 [LB] 170x50 / 30x55"];
    modified(FIRST, buy(3, 0, 50), &lines);
    // An order that is not live enters, and the book is tainted.
    let lines = [
        "9 taint unknown_reference",
        "9 mbo A B 3 at 80 #6 [LB]",
        "9 bbo A B 3 at 80 [LB] 3x80 / 0x-",
    ];
    modified(SECOND, buy(6, 3, 80), &lines);
    assert_same_books(&pair, 5);
    assert_ne!(pair.end().digest, five_orders().end().digest, "a modify is content");
}

/// Any clears and modifies among adds and cancels, of few references: books and insides agree
/// after each.
#[test]
fn books_of_subscribers_agree_after_any_clears_and_modifies() {
    let seed = 43;
    let mut random = Random::new(seed);
    let mut pair = Pair::new();
    let (mut clears, mut modifies, mut insides) = (0, 0, 0);
    for event in 0..4_000 {
        let stock = STOCKS[random.below(2) as usize];
        let side = Side::BOTH[random.below(2) as usize];
        // The prices of the second stock are on both sides of the longer steps.
        let lowest = if stock == FIRST { 50 } else { 1_999_999_999 };
        let (shares, price) = (random.below(4) as u32, lowest + random.below(3) as u32);
        let order = order(1 + random.below(12), side, shares, price);
        let priorities = [Priority::Kept, Priority::Lost, Priority::KeptIfLess];
        let priority = priorities[random.below(3) as usize];
        let what = match random.below(20) {
            0 => What::BookCleared,
            1..=7 => What::OrderModified(Modified { priority, ..order }),
            8..=16 => add(stock, order),
            17 | 18 => What::Execution(Execution {
                reference: order.reference,
                shares: Shares::new(shares),
                price: None,
                is_printed: true,
                match_number: MatchNumber::default(),
                remaining: Some(Shares::new(random.below(4) as u32)),
            }),
            _ => What::Order(BookEvent::Delete { stock_locate: stock, reference: order.reference }),
        };
        clears += u64::from(matches!(what, What::BookCleared));
        modifies += u64::from(matches!(what, What::OrderModified(_)));
        let (lines, is_changed) = pair.apply(stock, what);
        let [theirs, ours] = pair.orders();
        assert_eq!(theirs, ours, "seed {seed}, event {event}: {what:?} gave {lines:?}");
        let published = lines.iter().filter(|line| line.contains(" bbo ")).count();
        insides += published;
        assert!(
            published <= 1 && (published == 1 || !is_changed),
            "seed {seed}, event {event}: {what:?} gave {lines:?}, {is_changed}"
        );
    }
    assert!(clears > 100 && modifies > 1_000 && insides > 1_000, "{clears} {modifies} {insides}");
    pair.end();
}

#[test]
fn an_order_that_grows_in_its_place_does_so_for_subscribers() {
    let mut pair = five_orders();
    let grown = Modified { priority: Priority::Kept, ..buy(2, 140, 50) };
    let lines = ["7 mbo M B 140 at 50 #2 [LP]", "7 bbo M B 140 at 50 [L] 340x50 / 30x60"];
    assert_eq!(pair.apply(FIRST, What::OrderModified(grown)).0, lines);
    assert_same_books(&pair, 5);
    let [theirs, _] = pair.orders();
    let references: Vec<u64> = theirs[..3].iter().map(|(reference, ..)| reference.get()).collect();
    assert_eq!(references, [1, 2, 3], "the queue of the level");
    // The exchange states that the order goes to the end although it shrinks.
    let lost = Modified { priority: Priority::Lost, ..buy(1, 90, 50) };
    pair.apply(FIRST, What::OrderModified(lost));
    let [theirs, ours] = pair.orders();
    assert_eq!(theirs, ours);
    assert_eq!(theirs[2].0.get(), 1);
    // Without a side, and without shares: it leaves.
    let left = Modified { side: None, ..buy(3, 0, 50) };
    pair.apply(FIRST, What::OrderModified(left));
    assert_same_books(&pair, 4);
}
