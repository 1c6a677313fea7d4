//! Whole synthetic days: both structures against the naive model after every message, and every
//! rule of the validator.

use std::{collections::BTreeMap, ops::ControlFlow, sync::Arc};

use nanotape_book::{BookEvent, DefaultBooks, OrderStore as _, PlainBooks};
use nanotape_feed::{DayEnd, DaySource, Position, book_event};
use nanotape_plant::{Applied, Observer, Plant, Rule, Validator};
use nanotape_testkit::{
    market::{Market, MarketConfig},
    naive::NaiveBooks,
};
use nanotape_types::{Side, StockLocate};
use nanotape_wire::itch50::Message;

fn day(config: MarketConfig) -> Arc<Vec<u8>> {
    let mut bytes = Vec::new();
    Market::new(config).unwrap().write_to(&mut bytes).unwrap();
    Arc::new(bytes)
}

/// Compares the stock of every message with the naive model, and everything now and then.
#[derive(Default)]
struct AgainstNaive {
    naive: NaiveBooks,
    plain: Option<PlainBooks>,
    insides: BTreeMap<StockLocate, [Option<(nanotape_types::Price4, u64)>; 2]>,
    inside_changes: u64,
}

impl Observer<DefaultBooks> for AgainstNaive {
    fn after(
        &mut self,
        plant: &Plant<DefaultBooks>,
        position: Position,
        message: &Message<'_>,
        applied: Applied,
    ) -> ControlFlow<()> {
        let Ok(Some(event)) = book_event(message) else {
            assert_eq!(applied, Applied(None), "message {}", position.number);
            return ControlFlow::Continue(());
        };
        let outcome = applied.0.expect("an order message has an outcome");
        let plain = self.plain.get_or_insert_with(|| PlainBooks::with_capacity(1));
        assert_eq!(plain.apply(event), outcome, "message {}", position.number);
        let locate = self.naive.apply(event);
        assert_eq!(outcome.stock_locate, locate);
        assert_eq!(outcome.anomaly, None, "message {}", position.number);

        let inside = self.naive.inside(locate);
        let before = self.insides.insert(locate, inside).unwrap_or_default();
        assert_eq!(outcome.inside_changed, inside != before, "message {}", position.number);
        self.inside_changes += u64::from(outcome.inside_changed);
        let book = plant.books().book(locate);
        for side in Side::BOTH {
            let depth = book.depth(side).map(|l| (l.price, l.shares.get(), l.orders.get()));
            assert!(depth.eq(self.naive.depth(locate, side)), "message {}", position.number);
            let depth = plain.book(locate).depth(side);
            assert!(depth.eq(book.depth(side)), "message {}", position.number);
        }
        if let BookEvent::Add { reference, .. } = event
            && position.number.is_multiple_of(512)
        {
            let found = plant.books().queue_position(reference).unwrap();
            let ahead = (found.orders_ahead, found.shares_ahead);
            assert_eq!(Some(ahead), self.naive.ahead(reference), "message {}", position.number);
            // Whoever came last is last in the queue.
            let order = plant.books().order(reference).unwrap();
            let queue = plant.books().queue(locate, order.side, order.price);
            assert_eq!(queue.last().unwrap().reference, reference);
        }
        ControlFlow::Continue(())
    }
}

#[test]
fn both_structures_agree_with_the_naive_model_on_whole_days() {
    for (messages, symbols, seed) in [(150_000, 40, 1), (60_000, 1, 2), (100_000, 3_000, 3)] {
        let config = MarketConfig { messages, symbols, seed, ..MarketConfig::default() };
        let mut source = DaySource::memory("a synthetic day", day(config));
        let mut plant = Plant::new(DefaultBooks::with_capacity(16));
        let mut compared = AgainstNaive::default();
        let report = plant.run(&mut source, &mut compared, |_| ()).unwrap();
        assert_eq!(report.summary.records, messages);
        assert_eq!(report.summary.end, DayEnd::EndOfFile);
        assert!(report.is_good());
        assert!(compared.inside_changes > messages / 10, "{} changes", compared.inside_changes);
        assert!(plant.books().orders().is_empty(), "all books end empty");
    }
}

#[test]
fn a_synthetic_day_breaks_no_rule() {
    for (messages, symbols, seed) in [(400_000, 500, 1), (50_000, 8_500, 2), (5_000, 10, 3)] {
        let config = MarketConfig { messages, symbols, seed, ..MarketConfig::default() };
        let mut source = DaySource::memory("a synthetic day", day(config));
        let mut plant = Plant::new(DefaultBooks::with_capacity(16));
        let mut validator = Validator::default();
        let report = plant.run(&mut source, &mut validator, |_| ()).unwrap();
        validator.finish(&plant, &report);
        for rule in Rule::ALL {
            assert_eq!(validator.finding(rule).violations, 0, "{} ({seed})", rule.text());
        }
    }
}

/// Every rule can be broken, and then says where.
#[test]
fn the_validator_finds_what_is_wrong() {
    let config = MarketConfig { messages: 5_000, symbols: 10, ..MarketConfig::default() };
    let good = day(config);
    let records = records(&good);
    let of = |tag: u8| records.iter().copied().filter(move |record| record[2] == tag);
    let check = |bytes: Vec<u8>, rule: Rule| {
        let mut source = DaySource::memory("a broken day", bytes);
        let mut plant = Plant::new(DefaultBooks::with_capacity(16));
        let mut validator = Validator::default();
        let report = plant.run(&mut source, &mut validator, |_| ()).unwrap();
        validator.finish(&plant, &report);
        let finding = validator.finding(rule);
        assert!(finding.violations > 0 && finding.first.is_some(), "{}", rule.text());
    };
    let without = |tag: u8| {
        records.iter().filter(|record| record[2] != tag).copied().collect::<Vec<_>>().concat()
    };
    let place_of = |tag: u8| {
        let before = records.iter().take_while(|record| record[2] != tag);
        before.map(|record| record.len()).sum::<usize>()
    };
    let doubled = |tag: u8| {
        let first = records.iter().position(|record| record[2] == tag).unwrap();
        [&records[..=first], &records[first..]].concat().concat()
    };
    let mut renamed = good.to_vec();
    renamed[place_of(b'A') + 2 + 24] ^= 1;
    check(renamed, Rule::SymbolOfLocate);
    check(without(b'S'), Rule::SystemEvents);
    check(without(b'R'), Rule::DirectoryFirst);
    check(without(b'A'), Rule::OrderLive);
    check(without(b'D'), Rule::EndsEmpty);
    check(doubled(b'A'), Rule::ReferenceUnique);
    check(doubled(b'E'), Rule::MatchUnique);
    check(records.iter().rev().copied().collect::<Vec<_>>().concat(), Rule::TimeOrder);
    check([&good[..], &[0, 1, b'z']].concat(), Rule::TypeKnown);
    let short_add = [0, 9, b'A', 0, 0, 0, 0, 0, 0, 0, 0];
    check([&good[..], &short_add, of(b'S').next().unwrap()].concat(), Rule::MessageLength);
    // A break of a match number that nothing had.
    let mut unknown_break = vec![0, 19, b'B'];
    unknown_break.extend_from_slice(&[0; 10]);
    unknown_break.extend_from_slice(&u64::MAX.to_be_bytes());
    check([&unknown_break[..], &good[..]].concat(), Rule::BrokenKnown);
    let mut large = of(b'A').next().unwrap().to_vec();
    large[2 + 11] = 0xff;
    check([&good[..], &large[..]].concat(), Rule::ReferenceSmall);
    // Every buyer would pay anything.
    let eager: Vec<u8> = records
        .iter()
        .flat_map(|record| {
            let mut record = record.to_vec();
            if record[2] == b'A' && record[2 + 19] == b'B' {
                record[2 + 32..].copy_from_slice(&1_999_999_900u32.to_be_bytes());
            }
            record
        })
        .collect();
    check(eager, Rule::NotCrossed);
}

/// A second run through the same plant reports its own damage, not the first one's.
#[test]
fn a_report_is_of_its_own_run() {
    let good = day(MarketConfig { messages: 1_000, symbols: 5, ..MarketConfig::default() });
    let mut damaged = good.to_vec();
    damaged[0] ^= 1;
    let mut plant = Plant::new(DefaultBooks::with_capacity(16));
    for (bytes, damage) in [(damaged.clone(), 1), (damaged, 1), (good.to_vec(), 0)] {
        let mut source = DaySource::memory("a day", bytes);
        let report = plant.run(&mut source, &mut (), |_| ()).unwrap();
        assert_eq!((report.damage.total(), report.is_good()), (damage, damage == 0));
    }
}

/// The records of a day, lengths included.
fn records(bytes: &[u8]) -> Vec<&[u8]> {
    let mut records = Vec::new();
    let mut rest = bytes;
    while let [high, low, ..] = rest {
        let (record, behind) = rest.split_at(2 + usize::from(u16::from_be_bytes([*high, *low])));
        records.push(record);
        rest = behind;
    }
    records
}
