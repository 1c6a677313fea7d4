//! Unrelated instruments seldom seem related, also if both are busy at the same times.

use nanotape_delay::{LeadLag, LeadLagSettings, NoEstimate, Window};

use crate::{
    likely_least, likely_most,
    market::{Arrivals, Market, SECOND},
};

#[test]
fn p_values_of_unrelated_instruments_are_uniform() {
    const DAYS: usize = 300;
    for arrivals in [Arrivals::Poisson(0.36 * SECOND), Arrivals::CommonBursts] {
        let market = Market { correlation: 0.0, lead_ns: 0.0, length_ns: 900.0 * SECOND, arrivals };
        let settings =
            LeadLagSettings { max_lag_ns: 2_000_000_000, lags: 100, ..Default::default() };
        let mut lead_lag = LeadLag::new(settings);
        let mut p_values = Vec::new();
        for seed in 0..DAYS as u64 {
            let (first, second) = market.day(seed);
            let window = Window::new(0, market.length_ns as i64);
            let lead = lead_lag.examine(first.changes(), second.changes(), window);
            let p_value = lead.evidence.unwrap().p_value;
            if p_value > 0.05 {
                let Err(NoEstimate::WeakPeak { correlation, least }) = lead.estimate else {
                    panic!("{lead:?}");
                };
                // What is needed is what chance exceeds in 1 of 20 cases.
                assert!(correlation <= least, "{correlation} {least}");
            }
            p_values.push(p_value);
        }
        for share in [0.05, 0.2, 0.5, 0.8] {
            let below = p_values.iter().filter(|&&p_value| p_value <= share).count();

            let likely = likely_least(DAYS, share)..=likely_most(DAYS, share);
            assert!(likely.contains(&below), "{below} of {DAYS} at {share}");
        }
    }
}
