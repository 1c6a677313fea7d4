//! Arbitrary messages about orders: books that are rebuilt from order records equal the plant's
//! after every message, and insides are published exactly when they change.

use std::collections::BTreeMap;

use dbn::{MboMsg, Mbp1Msg};
use nanotape_plant::records::{RecordKind, RecordKinds};
use nanotape_types::{Side, StockLocate};
use nanotape_wire::itch50::YesNo;
use proptest::prelude::*;

use crate::published::{
    messages::{add, add_mpid, cancel, delete, executed, executed_at, replace, trade},
    tape::{OTHER, Raw, STOCK, Tape, decoded},
};

/// Two stocks with names and one without.
const LOCATES: [u16; 3] = [STOCK, OTHER, 30];

/// A side of an inside: price in DBN's units, shares and orders.
type Quote = Option<(i64, u64, u32)>;

/// Orders by reference: stock, side, price, size. A book is their sum.
#[derive(Default)]
struct Naive(BTreeMap<u64, (u32, u8, i64, u32)>);

impl Naive {
    /// Applies adds and cancels, as in the document; prints change nothing.
    fn apply(&mut self, mbo: &MboMsg) {
        match mbo.action as u8 {
            b'A' => {
                let order = (mbo.hd.instrument_id, mbo.side as u8, mbo.price, mbo.size);
                assert_eq!(self.0.insert(mbo.order_id, order), None, "{mbo:?}");
                assert!(mbo.size > 0);
            }
            b'C' => {
                let (stock, side, price, size) = self.0.remove(&mbo.order_id).unwrap();
                assert_eq!(
                    (stock, side, price),
                    (mbo.hd.instrument_id, mbo.side as u8, mbo.price),
                    "a cancel repeats its order"
                );
                assert!(mbo.size > 0);
                let left = size.checked_sub(mbo.size).unwrap();
                if left > 0 {
                    self.0.insert(mbo.order_id, (stock, side, price, left));
                }
            }
            b'T' => assert_eq!(mbo.order_id, 0),
            action => assert_eq!(action, b'F'),
        }
    }

    /// Levels of a side, best first: price, shares, orders.
    fn levels(&self, locate: u16, side: Side) -> Vec<(i64, u64, u32)> {
        let code = if side == Side::Buy { b'B' } else { b'A' };
        let mut levels = BTreeMap::new();
        for &(stock, of, price, size) in self.0.values() {
            if stock == u32::from(locate) && of == code {
                let (shares, orders) = levels.entry(price).or_insert((0, 0));
                (*shares, *orders) = (*shares + u64::from(size), *orders + 1);
            }
        }
        let levels = levels.into_iter().map(|(price, (shares, orders))| (price, shares, orders));
        if side == Side::Buy { levels.rev().collect() } else { levels.collect() }
    }

    fn inside(&self, locate: u16) -> [Quote; 2] {
        Side::BOTH.map(|side| self.levels(locate, side).first().copied())
    }
}

/// The levels of the plant's book, in the same form.
fn levels_of(tape: &Tape, locate: u16, side: Side) -> Vec<(i64, u64, u32)> {
    let book = tape.plant.books().book(StockLocate::new(locate));
    let scale = book.price_scale();
    let levels = book.depth(side);
    levels.map(|level| (scale.nanos(level.price), level.shares.get(), level.orders.get())).collect()
}

/// Both sides of an inside record.
fn recorded(bbo: &Mbp1Msg) -> [Quote; 2] {
    let [level] = &bbo.levels;
    let quote = |price, shares, orders| {
        (price != dbn::UNDEF_PRICE).then_some((price, u64::from(shares), orders))
    };
    [
        quote(level.bid_px, level.bid_sz, level.bid_ct),
        quote(level.ask_px, level.ask_sz, level.ask_ct),
    ]
}

/// Price and shares: the contents of an inside record.
fn without_orders(inside: [Quote; 2]) -> [Option<(i64, u64)>; 2] {
    inside.map(|quote| quote.map(|(price, shares, _)| (price, shares)))
}

/// A message from few orders, prices and shares, so that most of them collide; a small share has
/// values that no exchange sends.
fn message() -> impl Strategy<Value = Vec<u8>> {
    let locate = prop::sample::select(&LOCATES[..]);
    let order = 1_u64..12;
    let side = prop_oneof![8 => Just(b'B'), 8 => Just(b'S'), 1 => any::<u8>()];
    let shares = prop_oneof![1 => Just(0), 12 => 1_u32..6, 1 => Just(u32::MAX)];
    let price = prop_oneof![12 => 100_u32..106, 1 => Just(0), 1 => Just(u32::MAX)];
    let printable = prop_oneof![Just(YesNo::Yes), Just(YesNo::No)];
    (0_usize..11, locate, order.clone(), order, side, shares, price, printable).prop_map(
        |(sort, locate, one, two, side, shares, price, printable)| match sort {
            0..3 => add(locate, one, side, shares, price),
            3 => add_mpid(locate, one, side, shares, price),
            4 => executed(locate, one, shares),
            5 => executed_at(locate, one, shares, price, printable),
            6 => cancel(locate, one, shares),
            7 => delete(locate, one),
            8 | 9 => replace(locate, (one, two), shares, price),
            _ => trade(locate, shares, price),
        },
    )
}

/// Applies the records of one message, and compares the result with the plant.
fn check(tape: &Tape, naive: &mut Naive, records: &[Raw]) -> Result<(), TestCaseError> {
    let before = LOCATES.map(|locate| naive.inside(locate));
    let of_kind = |kind: RecordKind| {
        let type_id = kind.type_id();
        records.iter().filter(move |record| record.type_id == type_id)
    };
    let mbos: Vec<MboMsg> = of_kind(RecordKind::Mbo).map(decoded).collect();
    mbos.iter().for_each(|mbo| naive.apply(mbo));
    let lasts = mbos.iter().map(|mbo| mbo.flags.is_last());
    prop_assert!(lasts.eq((1..=mbos.len()).map(|place| place == mbos.len())));

    let insides: Vec<Mbp1Msg> = of_kind(RecordKind::Bbo).map(decoded).collect();
    prop_assert!(insides.len() <= 1 && records.len() <= 6);
    for (locate, before) in LOCATES.into_iter().zip(before) {
        for side in Side::BOTH {
            prop_assert_eq!(naive.levels(locate, side), levels_of(tape, locate, side));
        }
        let after = naive.inside(locate);
        let its = |bbo: &&Mbp1Msg| bbo.hd.instrument_id == u32::from(locate);
        let has_changed = without_orders(before) != without_orders(after);
        prop_assert_eq!(insides.iter().find(its).is_some(), has_changed);
        if let Some(bbo) = insides.iter().find(its) {
            let fits = |quote: Quote| {
                quote.map(|(price, shares, orders)| (price, shares.min(u32::MAX.into()), orders))
            };
            prop_assert_eq!(recorded(bbo), after.map(fits));
        }
        // After a message that did not fit, every record of that stock has the flag.
        let is_tainted = tape.plant.books().book(StockLocate::new(locate)).is_tainted();
        for mbo in mbos.iter().filter(|mbo| mbo.hd.instrument_id == u32::from(locate)) {
            prop_assert_eq!(mbo.flags.is_maybe_bad_book(), is_tainted);
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn books_rebuilt_from_order_records_are_the_plants_after_every_message(
        messages in prop::collection::vec(message(), 1..120),
    ) {
        let mut tape = Tape::new(RecordKinds::ALL);
        let mut naive = Naive::default();
        for message in messages {
            let records = tape.feed(&message);
            check(&tape, &mut naive, &records)?;
        }
        // A replace can fail in two ways, and the board counts it once.
        let (board, books) = (tape.publisher.board(), tape.plant.books());
        let stat = board.sample();
        let counted = stat.anomalies.iter().sum::<u64>();
        prop_assert!(counted <= books.anomalies().total());
        prop_assert_eq!(board.tainted().map(|(_, taints)| taints).sum::<u64>(), counted);
        let tainted = board.tainted().map(|(locate, _)| locate);
        prop_assert!(tainted.eq(books.tainted().map(|(locate, _)| locate)));
        prop_assert_eq!(stat.tainted_stocks, books.tainted().count() as u64);
    }
}
