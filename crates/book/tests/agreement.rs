//! Every structure agrees with the naive model after every event, whatever the events are.
//!
//! A later structure is one more line in `for_every_structure!`.

use nanotape_book::{
    Anomaly, BestLastLevels, Books, CompactOrders, HashMapOrders, OrderStore, PriceLevels,
    SortedMapLevels,
};
use nanotape_testkit::naive::NaiveBooks;
use nanotape_types::{BookEvent, OrderReferenceNumber, Price4, Shares, Side, StockLocate};
use proptest::prelude::*;

macro_rules! for_every_structure {
    ($check:ident($($argument:expr),*)) => {{
        $check::<BestLastLevels, CompactOrders>($($argument),*);
        $check::<SortedMapLevels, HashMapOrders>($($argument),*);
        $check::<BestLastLevels, HashMapOrders>($($argument),*);
        $check::<SortedMapLevels, CompactOrders>($($argument),*);
    }};
}

/// Few references, locates and prices, so that events collide; the ends of every range among them.
fn any_event() -> impl Strategy<Value = BookEvent> {
    let locate =
        prop_oneof![Just(0u16), Just(1), Just(2), Just(u16::MAX)].prop_map(StockLocate::new);
    let reference = || {
        prop_oneof![8 => 0u64..48, 1 => Just(u64::MAX), 1 => (0u64..4).prop_map(|i| i << 60)]
            .prop_map(OrderReferenceNumber::new)
    };
    let shares = prop_oneof![1 => Just(0u32), 8 => 1u32..5, 2 => 100u32..300, 1 => Just(u32::MAX)]
        .prop_map(Shares::new);
    let price = prop_oneof![
        12 => (0u32..40).prop_map(|tick| 1_000_000 + tick * 100),
        1 => Just(0), 1 => Just(1), 1 => Just(1_999_999_900), 1 => Just(u32::MAX),
    ]
    .prop_map(Price4::new);
    let side = prop_oneof![Just(Side::Buy), Just(Side::Sell)];
    let all = (0u8..10, locate, reference(), reference(), shares, price, side);
    all.prop_map(|(kind, stock_locate, reference, replacement, shares, price, side)| match kind {
        0..=3 => BookEvent::Add { stock_locate, reference, side, shares, price },
        4 => BookEvent::Execute { stock_locate, reference, shares },
        5 => BookEvent::Cancel { stock_locate, reference, shares },
        6 | 7 => BookEvent::Delete { stock_locate, reference },
        _ => BookEvent::Replace { stock_locate, original: reference, replacement, shares, price },
    })
}

const LOCATES: [StockLocate; 4] =
    [StockLocate::new(0), StockLocate::new(1), StockLocate::new(2), StockLocate::new(u16::MAX)];

fn agrees_after_every_event<L: PriceLevels, S: OrderStore>(events: &[BookEvent]) {
    let mut books = Books::<L, S>::with_capacity(1);
    let mut naive = NaiveBooks::default();
    for (number, &event) in events.iter().enumerate() {
        let before: Vec<_> = LOCATES.iter().map(|&locate| naive.inside(locate)).collect();
        let concerned = naive.apply(event);
        let outcome = books.apply(event);
        let context = format!("event {number}: {event:?}");
        assert_eq!(outcome.stock_locate, concerned, "{context}");
        for (locate, before) in LOCATES.into_iter().zip(before) {
            let changed = naive.inside(locate) != before;
            let said = outcome.inside_changed && outcome.stock_locate == locate;
            assert_eq!(said, changed, "inside of {locate} after {context}");
            assert_same_book(&books, &naive, locate, &context);
        }
        assert_same_orders(&books, &naive, &context);
    }
}

fn assert_same_book<L: PriceLevels, S: OrderStore>(
    books: &Books<L, S>,
    naive: &NaiveBooks,
    locate: StockLocate,
    context: &str,
) {
    let book = books.book(locate);
    for side in Side::BOTH {
        let depth: Vec<_> =
            book.depth(side).map(|l| (l.price, l.shares.get(), l.orders.get())).collect();
        let expected = naive.depth(locate, side);
        assert_eq!(depth, expected, "{side} side of {locate} after {context}");
        for &(price, _, _) in &expected {
            let queue: Vec<_> =
                books.queue(locate, side, price).iter().map(|order| order.reference).collect();
            assert_eq!(queue, naive.queue(locate, side, price), "queue at {price}, {context}");
            let level = book.level(side, price).map(|level| (level.price, level.shares.get()));
            assert_eq!(level.map(|l| l.0), Some(price), "{context}");
        }
        let best = book.inside().side(side).map(|quote| (quote.price, quote.shares.get()));
        assert_eq!(best, naive.inside(locate)[side as usize], "{context}");
    }
    let mut tainted = false;
    for anomaly in Anomaly::ALL {
        let expected = naive.anomalies(locate, anomaly);
        assert_eq!(book.anomalies().of(anomaly), expected, "{anomaly} of {locate}, {context}");
        tainted |= expected > 0;
    }
    assert_eq!(book.is_tainted(), tainted, "{context}");
}

fn assert_same_orders<L: PriceLevels, S: OrderStore>(
    books: &Books<L, S>,
    naive: &NaiveBooks,
    context: &str,
) {
    assert_eq!(books.orders().len(), naive.live().count(), "{context}");
    for reference in naive.live() {
        let (order, expected) = (books.order(reference).unwrap(), naive.order(reference).unwrap());
        assert_eq!(order.stock_locate, expected.stock_locate, "{context}");
        assert_eq!(order.side, expected.side, "{context}");
        assert_eq!(order.price, expected.price, "{context}");
        assert_eq!(order.shares.get(), expected.shares, "{context}");
        let position = books.queue_position(reference).unwrap();
        let ahead = (position.orders_ahead, position.shares_ahead);
        assert_eq!(Some(ahead), naive.ahead(reference), "queue position of {reference}, {context}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 160, ..ProptestConfig::default() })]

    #[test]
    fn structures_agree_with_the_naive_model_on_random_events(
        events in prop::collection::vec(any_event(), 1..160)
    ) {
        for_every_structure!(agrees_after_every_event(&events));
    }
}

/// Shapes that real feeds never have and that structures break on.
#[test]
fn structures_agree_on_adversarial_events() {
    let locate = LOCATES[1];
    let add = |reference: u64, side, price| BookEvent::Add {
        stock_locate: locate,
        reference: OrderReferenceNumber::new(reference),
        side,
        shares: Shares::new(7),
        price: Price4::new(price),
    };
    let delete = |reference: u64| BookEvent::Delete {
        stock_locate: locate,
        reference: OrderReferenceNumber::new(reference),
    };
    let mut descending: Vec<_> = (0..60).rev().map(|i| add(i, Side::Buy, 500)).collect();
    descending.extend((0..60).step_by(2).map(delete));
    let far_ends =
        (0..60).map(|i| add(i, Side::BOTH[i as usize % 2], [0, u32::MAX][i as usize / 2 % 2]));
    let replace_chain =
        core::iter::once(add(0, Side::Sell, 900)).chain((0..60).map(|i| BookEvent::Replace {
            stock_locate: locate,
            original: OrderReferenceNumber::new(i),
            replacement: OrderReferenceNumber::new(i + 1),
            shares: Shares::new(1 + i as u32),
            price: Price4::new(900 - i as u32),
        }));
    // References whose hashes share their upper bits, so that the compact store's runs grow long.
    let inverse = 0xf1de_83e1_9937_733du64;
    let colliding = (0..80u64).map(|i| i.wrapping_mul(inverse));
    let mut runs: Vec<_> = colliding.clone().map(|r| add(r, Side::Buy, 700)).collect();
    runs.extend(colliding.step_by(3).map(delete));
    for events in [descending, far_ends.collect(), replace_chain.collect(), runs] {
        for_every_structure!(agrees_after_every_event(&events));
    }
}
