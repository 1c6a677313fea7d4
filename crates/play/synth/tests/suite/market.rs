//! The synthetic market has the statistics of a real one, and equal bytes on every machine.

use nanotape_synth::{Market, MarketConfig, MeasureError, Measurement};

/// FNV-1a over the whole day: a single changed bit changes it.
fn fingerprint(config: MarketConfig) -> u64 {
    let mut bytes = Vec::new();
    Market::new(config).unwrap().write_to(&mut bytes).unwrap();
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn small(seed: u64) -> MarketConfig {
    MarketConfig { messages: 200_000, symbols: 800, seed, ..MarketConfig::default() }
}

#[test]
fn a_day_of_five_million_messages_resembles_the_market() {
    let config = MarketConfig::default();
    let mut market = Market::new(config).unwrap();
    let (mut measurement, mut buffer) = (Measurement::default(), Vec::new());
    while market.fill(&mut buffer) {
        measurement.add(&buffer).unwrap();
        buffer.clear();
    }
    println!("{measurement}");
    assert_eq!(measurement.messages(), config.messages);
    assert_eq!(market.messages(), config.messages);
    let off: Vec<_> = measurement.figures().into_iter().filter(|f| !f.is_ok()).collect();
    assert!(off.is_empty(), "not like the market: {off:#?}");
}

/// If this fails on one machine only, that machine computes differently. If it fails everywhere,
/// the market has changed: check that this was intended, then write the new numbers.
#[test]
fn the_bytes_are_the_same_on_every_machine() {
    assert_eq!(fingerprint(small(1)), 16_795_217_596_389_369_559);
    assert_eq!(fingerprint(small(2)), 1_509_026_180_283_305_706);
}

#[test]
fn another_seed_or_date_is_another_day() {
    let config = small(1);
    assert_eq!(fingerprint(config), fingerprint(config));
    assert_ne!(fingerprint(config), fingerprint(small(2)));
    let next = MarketConfig { date: "2019-12-31".parse().unwrap(), ..config };
    assert_ne!(fingerprint(config), fingerprint(next));
}

#[test]
fn a_day_taken_in_pieces_is_the_day_taken_at_once() {
    let mut whole = Vec::new();
    Market::new(small(3)).unwrap().write_to(&mut whole).unwrap();
    // Appended to the existing content.
    let mut market = Market::new(small(3)).unwrap();
    let mut pieces = b"before".to_vec();
    while market.fill(&mut pieces) {}
    assert_eq!(pieces[..6], *b"before");
    assert!(pieces[6..] == whole);
    assert!(!market.fill(&mut pieces), "a finished day stays finished");
}

#[test]
fn a_cut_day_cannot_be_measured_to_the_end() {
    let mut bytes = Vec::new();
    Market::new(small(3)).unwrap().write_to(&mut bytes).unwrap();
    bytes.truncate(bytes.len() - 1);
    assert_eq!(Measurement::of(&bytes).unwrap_err(), MeasureError::Cut { message: 200_000 });
}
