//! Whole synthetic days in each protocol, and real captures.

use std::path::Path;

use nanotape_check::{Rule, Strength};
use nanotape_feed::DaySource;
use nanotape_harness::skipped;
use nanotape_synth::{FeedProtocol, Market, MarketConfig, ProtocolConfig, ProtocolDay};

use crate::made::{Made, validator_of};

/// The capture of a synthetic day.
fn capture(protocol: FeedProtocol, market: MarketConfig, units: u8, has_line_b: bool) -> Vec<u8> {
    let midnight_ns = 1_577_682_000_000_000_000;
    let config = ProtocolConfig { protocol, midnight_ns, units, has_line_b };
    let mut records = Vec::new();
    Market::new(market).unwrap().write_to(&mut records).unwrap();
    let (mut day, mut made) = (ProtocolDay::new(&market, config), Made::new());
    let mut take = |packet: nanotape_synth::FeedPacket<'_>| {
        made.datagram(5_001 + 100 * packet.line as u16 + packet.stream as u16, packet.payload);
        Ok(())
    };
    day.add(&records, &mut take).unwrap();
    day.finish(&mut take).unwrap();
    made.bytes
}

#[test]
fn a_synthetic_day_of_each_feed_breaks_no_rule() {
    for protocol in FeedProtocol::ALL {
        for (messages, symbols, seed, units) in [(60_000, 100, 1, 4), (5_000, 10, 2, 1)] {
            let market = MarketConfig { messages, symbols, seed, ..MarketConfig::default() };
            let bytes = capture(protocol, market, units, seed == 2);
            let validator = validator_of(DaySource::memory("a synthetic day", bytes));
            assert!(validator.rules().len() > 9);
            for row in validator.rules() {
                let finding = validator.finding(row.rule);
                assert_eq!(finding.violations, 0, "{protocol} {seed}: {} {finding:?}", row.text);
            }
        }
    }
}

fn real(name: &str) -> Option<DaySource> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/data");
    let file = folder.join(name);
    if !file.exists() {
        skipped(format_args!("no {name} in ../shared/data (real market data)"));
        return None;
    }
    Some(DaySource::open(&file).unwrap())
}

/// It begins with the day and ends before the open.
#[test]
fn a_real_capture_of_iex_follows_the_specification() {
    let Some(source) = real("iex_deep10_20231002.pcap.gz") else { return };
    let validator = validator_of(source);
    assert!(validator.is_valid());
    for row in validator.rules() {
        let finding = validator.finding(row.rule);
        let is_of_the_end = matches!(row.rule, Rule::EndsEmpty | Rule::WholeDay);
        assert_eq!(finding.violations > 0, is_of_the_end, "{}: {finding:?}", row.text);
    }
}

/// It begins late, and has all that its messages need.
#[test]
fn a_real_capture_of_pitch_follows_the_specification_except_for_missing_messages() {
    let Some(source) = real("mcastpitch_realtime_useq.pcap") else { return };
    let validator = validator_of(source);
    for row in validator.rules() {
        let finding = validator.finding(row.rule);
        let is_broken = row.rule == Rule::MessageLength || row.strength == Strength::Practice;
        assert!(finding.violations == 0 || is_broken, "{}: {finding:?}", row.text);
    }
    let finding = validator.finding(Rule::WholeDay);
    assert_eq!((finding.violations, finding.first), (2, Some((3, Some(3)))));
}
