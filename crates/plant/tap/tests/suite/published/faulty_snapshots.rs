//! Snapshots of the exchange with orders that no book can have: a reference number twice, an order
//! of no shares. Their stocks are not published as reliable.

use nanotape_market::{MarketSnapshot, RestingOrder};
use nanotape_types::{OrderReferenceNumber, Price, Shares, Side, StockLocate};

use crate::published::pair::{Pair, STOCKS};

const FIRST: StockLocate = STOCKS[0];
const SECOND: StockLocate = STOCKS[1];

fn buy(stock_locate: StockLocate, reference: u64, shares: u32) -> RestingOrder {
    let (reference, shares) = (OrderReferenceNumber::new(reference), Shares::new(shares));
    RestingOrder { stock_locate, reference, side: Side::Buy, shares, price: Price::new(50) }
}

fn snapshot(orders: &[RestingOrder]) -> MarketSnapshot {
    MarketSnapshot { next: 100, orders: orders.to_vec(), ..MarketSnapshot::default() }
}

/// The first stock of a snapshot has a fault, the second has none; then a good snapshot comes.
fn faulty(orders: &[RestingOrder], anomaly: &str, adds: &[&str], inside: &str) {
    let mut pair = Pair::new();
    let records = pair.restore(&snapshot(orders));
    let mut expected = vec![
        format!("7 taint {anomaly}"),
        "7 mbo R N 0 at - #0 [SB]".to_owned(),
        "9 taint missed_messages".to_owned(),
        "9 mbo R N 0 at - #0 [S]".to_owned(),
    ];
    expected.extend(adds.iter().map(|&add| add.to_owned()));
    expected.extend([
        inside.to_owned(),
        "9 mbo A B 10 at 50 #5 [LS]".to_owned(),
        "9 bbo R N 0 at - [LS] 10x50 / 0x-".to_owned(),
        "9 restored Replaced".to_owned(),
        "0 restored Snapshot".to_owned(),
        format!("7 taint {anomaly}"),
    ]);
    assert_eq!(records, expected);
    let [theirs, ours] = pair.orders();
    assert_eq!(theirs, ours);
    let stat = pair.plant.board().sample();
    assert_eq!(stat.tainted_stocks, 1, "the board counts it");
    let tainted = pair.books.books().tainted().map(|(stock, _)| stock);
    assert!(tainted.eq([FIRST]), "and so do the books");

    let records = pair.restore(&snapshot(&[buy(FIRST, 1, 90), buy(SECOND, 5, 10)]));
    assert!(records.contains(&"7 restored Replaced".to_owned()), "{records:?}");
    assert_eq!(records.last().unwrap(), "0 restored Snapshot");
    assert_eq!(pair.plant.board().sample().tainted_stocks, 0);
    let [theirs, ours] = pair.orders();
    assert_eq!(theirs, ours);
    pair.end();
}

#[test]
fn a_stock_whose_snapshot_has_a_reference_twice_stays_tainted() {
    let orders = [buy(FIRST, 1, 100), buy(FIRST, 1, 30), buy(FIRST, 2, 7), buy(SECOND, 5, 10)];
    let adds = ["7 mbo A B 100 at 50 #1 [SB]", "7 mbo A B 7 at 50 #2 [LSB]"];
    let inside = "7 bbo R N 0 at - [LSB] 107x50 / 0x-";
    faulty(&orders, "duplicate_reference", &adds, inside);
}

#[test]
fn a_stock_whose_snapshot_has_an_order_of_no_shares_stays_tainted() {
    let orders = [buy(FIRST, 1, 100), buy(FIRST, 2, 0), buy(SECOND, 5, 10)];
    let adds = ["7 mbo A B 100 at 50 #1 [LSB]"];
    faulty(&orders, "zero_shares", &adds, "7 bbo R N 0 at - [LSB] 100x50 / 0x-");
}

/// One of two stocks has the reference, and nothing shows which: the later one is refused.
#[test]
fn a_reference_in_the_snapshots_of_two_stocks_taints_the_later_one() {
    let mut pair = Pair::new();
    let records = pair.restore(&snapshot(&[buy(SECOND, 1, 10), buy(FIRST, 1, 100)]));
    let taint = "9 taint duplicate_reference".to_owned();
    assert_eq!(records.last(), Some(&taint));
    assert!(records.contains(&"9 mbo R N 0 at - #0 [LSB]".to_owned()), "{records:?}");
    let [theirs, ours] = pair.orders();
    assert_eq!((theirs.len(), &theirs), (1, &ours));
    pair.end();
}
