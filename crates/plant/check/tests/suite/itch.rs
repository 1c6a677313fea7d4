//! Every rule of a day of ITCH: a synthetic day follows it, and a day that breaks it is detected.

use std::sync::Arc;

use nanotape_book::DefaultBooks;
use nanotape_check::{Rule, Validator};
use nanotape_engine::BookEngine;
use nanotape_feed::DaySource;
use nanotape_synth::{Market, MarketConfig};

fn day(config: MarketConfig) -> Arc<Vec<u8>> {
    let mut bytes = Vec::new();
    Market::new(config).unwrap().write_to(&mut bytes).unwrap();
    Arc::new(bytes)
}

#[test]
fn a_synthetic_day_breaks_no_rule() {
    for (messages, symbols, seed) in [(400_000, 500, 1), (50_000, 8_500, 2), (5_000, 10, 3)] {
        let config = MarketConfig { messages, symbols, seed, ..MarketConfig::default() };
        let mut source = DaySource::memory("a synthetic day", day(config));
        let mut engine = BookEngine::new(DefaultBooks::with_capacity(16));
        let mut validator = Validator::default();
        let report = engine.run(&mut source, &mut validator, |_| ()).unwrap();
        validator.finish(&engine, &report);
        assert_eq!(validator.rules().len(), 13);
        for row in validator.rules() {
            assert_eq!(validator.finding(row.rule).violations, 0, "{} ({seed})", row.text);
        }
    }
}

/// Every rule can be broken, and the finding has the location.
#[test]
fn the_validator_finds_what_is_wrong() {
    let config = MarketConfig { messages: 5_000, symbols: 10, ..MarketConfig::default() };
    let good = day(config);
    let records = records(&good);
    let of = |tag: u8| records.iter().copied().filter(move |record| record[2] == tag);
    let check = |bytes: Vec<u8>, rule: Rule| {
        let mut source = DaySource::memory("a broken day", bytes);
        let mut engine = BookEngine::new(DefaultBooks::with_capacity(16));
        let mut validator = Validator::default();
        let report = engine.run(&mut source, &mut validator, |_| ()).unwrap();
        validator.finish(&engine, &report);
        let finding = validator.finding(rule);
        assert!(finding.violations > 0 && finding.first.is_some(), "{rule:?}");
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
    // A break of an unknown match number.
    let mut unknown_break = vec![0, 19, b'B'];
    unknown_break.extend_from_slice(&[0; 10]);
    unknown_break.extend_from_slice(&u64::MAX.to_be_bytes());
    check([&unknown_break[..], &good[..]].concat(), Rule::BrokenKnown);
    let mut large = of(b'A').next().unwrap().to_vec();
    large[2 + 11] = 0xff;
    check([&good[..], &large[..]].concat(), Rule::ReferenceSmall);
    // Every buyer accepts any price.
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
