//! Any bytes as a day, through the validator and both book structures: no panic, and equal results.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nanotape_book::{DefaultBooks, OrderStore as _, PlainBooks};
use nanotape_check::Validator;
use nanotape_engine::BookEngine;
use nanotape_feed::DaySource;
use nanotape_types::{Side, StockLocate};

fuzz_target!(|bytes: &[u8]| through_the_books(bytes));

/// Both structures give the same results for any stream, and levels agree with orders.
fn through_the_books(bytes: &[u8]) {
    let mut source = DaySource::memory("input", bytes.to_vec());
    let mut plant = BookEngine::new(DefaultBooks::with_capacity(1));
    let mut validator = Validator::default();
    let report = plant.run(&mut source, &mut validator, |_| ()).unwrap();
    validator.finish(&plant, &report);
    let mut source = DaySource::memory("input", bytes.to_vec());
    let mut plain = BookEngine::new(PlainBooks::with_capacity(1));
    let plain_report = plain.run(&mut source, &mut (), |_| ()).unwrap();
    assert_eq!(report.summary.records, plain_report.summary.records);
    assert_eq!(plant.books().anomalies(), plain.books().anomalies());
    assert_eq!(plant.books().orders().len(), plain.books().orders().len());
    let mut shares = 0u128;
    for (reference, order) in plant.books().orders().iter() {
        shares += u128::from(order.shares.get());
        assert_eq!(plain.books().order(reference), Some(order));
    }
    let mut in_levels = 0u128;
    for locate in StockLocate::all() {
        let (book, other) = (plant.books().book(locate), plain.books().book(locate));
        for side in Side::BOTH {
            assert!(book.depth(side).eq(other.depth(side)));
            in_levels += u128::from(book.total_shares(side).get());
        }
    }
    assert_eq!(in_levels, shares);
}
