//! Memory and membership with references of any density.

use nanotape_types::StockLocate;

use super::*;

fn order() -> Order {
    let (stock_locate, side) = (StockLocate::new(1), Side::Buy);
    let (price, shares) = (Price::new(1), Shares::new(1));
    Order { stock_locate, side, price, shares, arrival: 0 }
}

/// Bytes of the tables.
fn bytes(store: &PagedOrders) -> usize {
    size_of_val(&*store.records) + size_of_val(&*store.entries)
}

fn filled(references: impl Iterator<Item = u64>) -> PagedOrders {
    let mut store = PagedOrders::with_capacity(1 << 12);
    for reference in references.map(OrderReferenceNumber::new) {
        assert!(store.insert(reference, order()));
        assert!(!store.insert(reference, order()), "it is live");
    }
    store
}

#[test]
fn references_that_are_far_apart_take_bounded_pages() {
    let count = 300_000;
    for apart in [32, 64, 1 << 10] {
        let mut store = filled((0..count).map(|number| number * apart));
        assert!(bytes(&store) < 64 << 20, "{apart} apart: {} bytes", bytes(&store));
        assert_eq!(store.iter().count() as u64, count);
        for reference in (0..count).map(|number| OrderReferenceNumber::new(number * apart)) {
            assert!(store.take(reference, 1).is_some());
        }
        assert!(store.is_empty());
    }
}

/// The references of an exchange are dense when they are new, and those of orders that live
/// long are sparse: none of them leaves the pages.
#[test]
fn dense_references_stay_in_pages_however_few_of_them_live_long() {
    let mut store = PagedOrders::with_capacity(1 << 12);
    for reference in 0..2_500_000 {
        assert!(store.insert(OrderReferenceNumber::new(reference), order()));
        // One of 32 stays.
        if reference % 32 == 31 {
            for gone in reference - 31..reference {
                assert!(store.take(OrderReferenceNumber::new(gone), 1).is_some());
            }
        }
    }
    assert_eq!((store.elsewhere.len(), store.pages.in_use() - 1), (0, store.len()));
}

/// Sparse references, then dense ones: those are in pages again.
#[test]
fn dense_references_after_sparse_ones_are_in_pages() {
    let sparse = (0..200_000).map(|number| number * 32);
    let mut store = filled(sparse);
    assert!(store.elsewhere.len() > 0);
    let before = store.elsewhere.len();
    for reference in 1 << 30..(1 << 30) + 400_000 {
        assert!(store.insert(OrderReferenceNumber::new(reference), order()));
    }
    let elsewhere = store.elsewhere.len() - before;
    assert!(elsewhere < 300_000, "{elsewhere}");
}

#[test]
fn the_bytes_of_a_capacity_are_those_of_its_tables() {
    for orders in [1, 1 << 12, 1 << 18] {
        let store = PagedOrders::with_capacity(orders);
        let expected = PagedOrders::bytes_for(orders);
        assert!((bytes(&store)..bytes(&store) + (4 << 20)).contains(&expected));
    }
}
