//! Snapshots whose sums are right, with orders that no book can have.

use std::fs;

use nanotape_harness::Scratch;

use super::*;
use crate::snapshot::Written;

const STOCKS: [StockLocate; 2] = [StockLocate::new(7), StockLocate::new(9)];

fn order(reference: u64, shares: u32) -> SnapshotOrder {
    let (reference, shares) = (OrderReferenceNumber::new(reference), Shares::new(shares));
    SnapshotOrder { reference, side: Side::Buy, price: Price::new(50), shares }
}

/// A snapshot of orders 1 and 2 of one stock, and 3 of another.
fn written(folder: &Path) -> Written {
    let mut books = LocalBooks::new();
    for (stock, reference) in [(STOCKS[0], 1), (STOCKS[0], 2), (STOCKS[1], 3)] {
        assert_eq!(books.enter(stock, &order(reference, 100)), None);
    }
    let state = RunState::at(Moment { sequence: 5, ..Moment::default() }, books);
    state.write_snapshot(folder, ExcerptMark::default(), 0o600).unwrap()
}

/// Sets the words of an order, and all sums.
fn set_order(path: &Path, place: usize, words: [u64; 2]) {
    let mut bytes = fs::read(path).unwrap();
    let put = |bytes: &mut [u8], offset: usize, word: u64| {
        bytes[offset..offset + layout::WORD].copy_from_slice(&word.to_le_bytes());
    };
    let data = layout::HEADER_BYTES + 2 * layout::ENTRY_BYTES;
    let at = data + place * layout::ORDER_BYTES;
    words.iter().enumerate().for_each(|(word, &value)| put(&mut bytes, at + 8 * word, value));
    for (entry, orders) in [(0, 0..2), (1, 2..3)] {
        let own =
            data + orders.start * layout::ORDER_BYTES..data + orders.end * layout::ORDER_BYTES;
        let check = checksum_bytes(0, &bytes[own]);
        let at = layout::HEADER_BYTES + entry * layout::ENTRY_BYTES + 5 * layout::WORD;
        put(&mut bytes, at, check.into());
    }
    let directory = checksum_bytes(0, &bytes[layout::HEADER_BYTES..data]);
    put(&mut bytes, layout::DIRECTORY_CHECK * layout::WORD, directory.into());
    let at = layout::HEADER_CHECK * layout::WORD;
    let check = u64::from(checksum_bytes(0, &bytes[..at])) | layout::HEAD << 32;
    put(&mut bytes, at, check);
    fs::write(path, bytes).unwrap();
}

#[test]
fn orders_that_no_book_can_have_are_damage() {
    let folder = Scratch::folder("snapshot-orders");
    let written = written(folder.path());
    assert!(SnapshotFile::open(&written.path).unwrap().state().is_ok());
    let data = (layout::HEADER_BYTES + 2 * layout::ENTRY_BYTES) as u64;
    let shares = |count: u64| count << 32 | 50;
    // Order 2: no shares, then the reference of another order of its stock. Order 3: the reference
    // of an order of the other stock.
    for (place, words) in [(1, [2, shares(0)]), (1, [1, shares(100)]), (2, [1, shares(100)])] {
        let good = fs::read(&written.path).unwrap();
        set_order(&written.path, place, words);
        let error = SnapshotFile::open(&written.path).unwrap().state().unwrap_err();
        let SnapshotError::Damaged { offset, what, .. } = error else { panic!("{error}") };
        assert_eq!(offset, data + (place * layout::ORDER_BYTES) as u64);
        assert_eq!(what, "an order has no shares, or its reference number occurs twice");
        fs::write(&written.path, good).unwrap();
    }
}
