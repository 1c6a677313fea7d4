//! Whatever the changes and settings are, an answer is finite and nothing panics.

use nanotape_delay::{Changes, LeadLag, LeadLagSettings, Window};
use proptest::prelude::*;

/// Times in order, from few different ones to extreme ones; values of any size.
fn changes() -> impl Strategy<Value = (Vec<i64>, Vec<i64>)> {
    let times = prop_oneof![0_i64..20, -1_000_000_i64..1_000_000, any::<i64>()];
    let values = prop_oneof![-2_i64..2, any::<i64>()];
    prop::collection::vec((times, values), 0..60).prop_map(|mut ticks| {
        ticks.sort_by_key(|&(time_ns, _)| time_ns);
        ticks.into_iter().unzip()
    })
}

fn settings() -> impl Strategy<Value = LeadLagSettings> {
    let lags = prop_oneof![0_usize..40, Just(usize::MAX)];
    let max_lag_ns = prop_oneof![-1_i64..100, any::<i64>()];
    let blocks = prop_oneof![0_usize..9, Just(usize::MAX)];
    (max_lag_ns, lags, blocks, 0_usize..20, 0_usize..20).prop_map(
        |(max_lag_ns, lags, blocks, resamples, permutations)| LeadLagSettings {
            max_lag_ns,
            lags,
            // Both at their bounds take the memory that they are meant to bound.
            blocks: if lags > 40 { blocks.min(3) } else { blocks },
            least_changes: 0,
            least_peak_ratio: 1.0,
            largest_p: 1.0,
            resamples,
            permutations,
            seed: 7,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_input_has_a_finite_answer(
        (first_times, first_values) in changes(),
        (second_times, second_values) in changes(),
        settings in settings(),
        (from_ns, until_ns) in prop_oneof![
            Just((i64::MIN, i64::MAX)),
            (-1_000_i64..1_000, -1_000_i64..1_000_000),
            (any::<i64>(), any::<i64>()),
        ],
    ) {
        let mut lead_lag = LeadLag::new(settings);
        let first = Changes { times_ns: &first_times, values: &first_values, marks: &[] };
        let second = Changes { times_ns: &second_times, values: &second_values, marks: &[] };
        let lead = lead_lag.examine(first, second, Window { from_ns, until_ns });
        if let Ok(estimate) = lead.estimate {
            prop_assert!(estimate.low_ns <= estimate.delay_ns, "{:?}", estimate);
            prop_assert!(estimate.delay_ns <= estimate.high_ns, "{:?}", estimate);
            prop_assert!(estimate.low_ns.is_finite() && estimate.high_ns.is_finite());
            prop_assert!((0.0..=1.0).contains(&estimate.quality));
        }
        if let Some(evidence) = lead.evidence {
            prop_assert!(evidence.contrast.is_finite());
            prop_assert!((0.0..=1.0).contains(&evidence.p_value));
            prop_assert!(evidence.lead_lag_ratio >= 0.0);
        }
        prop_assert!(lead_lag.contrasts().all(|(_, value)| value.is_finite()));
        // The same again: nothing of a call is left in the next one.
        let again = lead_lag.examine(first, second, Window { from_ns, until_ns });
        prop_assert_eq!(again, lead);
    }
}
