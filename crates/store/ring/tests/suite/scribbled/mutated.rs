//! A few words of a ring become values that break sizes and positions. Failures shrink.

use nanotape_ring::Start;
use proptest::prelude::*;

use super::{Kind, Slots, Stream, everything, region_of, used};

fn config() -> ProptestConfig {
    ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() }
}

/// Values that break sizes and positions.
fn value() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        0..1_200u64,
        (0..64u32).prop_map(|shift| 1 << shift),
        (0..64u32).prop_map(|shift| (1u64 << shift).wrapping_neg()),
        (0..64u32).prop_map(|shift| (1u64 << shift) - 1),
        // The header of a message, of any length, and of padding.
        (any::<u32>(), any::<u16>()).prop_map(|(length, type_id)| (b'M' as u64) << 48
            | (type_id as u64) << 32
            | length as u64),
        (0..1_030u64).prop_map(|length| (b'M' as u64) << 48 | length),
        Just((b'P' as u64) << 48),
    ]
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_mutation_of_a_stream_makes_anything_panic(
        words in prop::collection::vec((prop_oneof![0usize..176, 176usize..688], value()), 1..5),
    ) {
        mutated::<Stream>(&words);
    }

    #[test]
    fn no_mutation_of_slots_makes_anything_panic(
        words in prop::collection::vec((prop_oneof![0usize..32, 32usize..544], value()), 1..5),
    ) {
        mutated::<Slots>(&words);
    }
}

fn mutated<K: Kind>(words: &[(usize, u64)]) {
    let (spec, good) = used::<K>();
    let region = region_of(spec, &good);
    let old = [Start::Oldest, Start::Newest].map(|start| K::join(region.share(), start).unwrap());
    for &(at, value) in words {
        region.words()[at].store(value);
    }
    everything::<K>(region, &old);
}
