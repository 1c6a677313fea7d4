//! Interval logs, read back by the crate `hdrhistogram`, which has its own reader of the format.
#![cfg(not(nanotape_loom))]

use hdrhistogram::{
    Histogram as Other,
    serialization::{
        Deserializer,
        interval_log::{IntervalLogIterator, LogEntry},
    },
};
use nanotape_trace::{Histogram, hlog};
use proptest::prelude::*;

/// Writes a log of one interval for each tag, and decodes the lines.
fn read_back(intervals: &[(&str, Histogram)]) -> Vec<(String, f64, f64, Other<u64>)> {
    let mut log = Vec::new();
    hlog::write_header(&mut log, 1_700_000_000_250_000_000).unwrap();
    for (tag, histogram) in intervals {
        let interval = (1_700_000_001_500_000_000, 250_000_000);
        hlog::write_interval(&mut log, tag, interval, histogram).unwrap();
    }
    let mut deserializer = Deserializer::new();
    let mut all = Vec::new();
    for entry in IntervalLogIterator::new(&log) {
        match entry.unwrap() {
            LogEntry::StartTime(time) => assert_eq!(time.as_millis(), 1_700_000_000_250),
            LogEntry::BaseTime(time) => panic!("{time:?}"),
            LogEntry::Interval(line) => {
                assert_eq!(line.start_timestamp().as_millis(), 1_700_000_001_500);
                let bytes = base64(line.encoded_histogram());
                let histogram = deserializer.deserialize(&mut &bytes[..]).unwrap();
                let tag = line.tag().map(|tag| tag.as_str().to_owned()).unwrap_or_default();
                all.push((tag, line.duration().as_secs_f64(), line.max(), histogram));
            }
        }
    }
    all
}

/// The bytes of a text in base64.
fn base64(text: &str) -> Vec<u8> {
    const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits: Vec<u32> = text
        .trim_end_matches('=')
        .chars()
        .map(|letter| LETTERS.find(letter).expect("a letter of base64") as u32)
        .collect();
    let bytes = digits.chunks(4).flat_map(|four| {
        let bits = four.iter().zip(0..).fold(0, |bits, (digit, at)| bits | digit << (18 - 6 * at));
        let bytes: [u8; 4] = u32::to_be_bytes(bits);
        bytes[1..four.len()].to_vec()
    });
    assert_eq!(text.len() % 4, 0);
    bytes.collect()
}

/// Checks that both have the same counts, and the same quantiles up to the precision.
fn check(ours: &Histogram, other: &Other<u64>) {
    assert_eq!(other.len(), ours.count());
    let counts: Vec<(u64, u64)> = other
        .iter_recorded()
        .map(|step| (step.value_iterated_to(), step.count_since_last_iteration()))
        .collect();
    let of_ours: Vec<(u64, u64)> =
        ours.buckets().map(|(value, count)| (other.highest_equivalent(value), count)).collect();
    assert_eq!(counts, of_ours);
    for quantile in [0.5, 0.9, 0.99, 0.999, 1.0] {
        let Some(value) = ours.quantile(quantile) else { continue };
        assert!(other.equivalent(value, other.value_at_quantile(quantile)), "{quantile}");
    }
}

fn histogram(precision_bits: u32, values: &[(u64, u64)]) -> Histogram {
    let mut histogram = Histogram::growing(precision_bits);
    values.iter().for_each(|&(value, times)| histogram.record_many(value, times));
    histogram
}

proptest! {
    #[test]
    fn another_reader_finds_the_same_counts(
        precision_bits in prop::sample::select(vec![5_u32, 8, 11, 15]),
        values in prop::collection::vec(
            ((0..63_u32, any::<u64>()), 1..1_000_000_u64),
            0..100,
        ),
    ) {
        let values: Vec<(u64, u64)> = values
            .into_iter()
            .map(|((bits, value), times)| (value & ((1 << bits) - 1), times))
            .collect();
        let ours = histogram(precision_bits, &values);
        let read = read_back(&[("plant.book", ours.clone())]);
        prop_assert_eq!(read.len(), 1);
        let (tag, length, max, other) = &read[0];
        prop_assert_eq!((tag.as_str(), *length), ("plant.book", 0.25));
        let expected = ours.max().unwrap_or(0) as f64 / 1e6;
        prop_assert!((max - expected).abs() <= 1e-6 + expected * 1e-9, "{} {}", max, expected);
        check(&ours, other);
    }
}

#[test]
fn extremes_and_several_tags_are_read_back() {
    let all = [
        ("a", histogram(11, &[])),
        ("b", histogram(11, &[(0, 1), (1, 2), (3, u64::from(u32::MAX) * 8)])),
        ("c", histogram(18, &[(i64::MAX as u64, 1), (0, 1 << 60)])),
        // Longer than a stored block.
        ("d", histogram(18, &(0..200_000).map(|value| (value, value + 1)).collect::<Vec<_>>())),
    ];
    let read = read_back(&all);
    assert_eq!(read.len(), 4);
    for ((tag, ours), (found, _, _, other)) in all.iter().zip(&read) {
        assert_eq!(tag, found);
        check(ours, other);
    }
    // Signed numbers: a value above counts as the largest.
    let read = read_back(&[("a b,c", histogram(11, &[(u64::MAX, 3)]))]);
    assert_eq!((read[0].0.as_str(), read[0].3.len()), ("a-b-c", 3));
    assert!(read[0].3.equivalent(read[0].3.max(), i64::MAX as u64));
}
