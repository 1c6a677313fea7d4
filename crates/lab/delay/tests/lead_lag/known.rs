//! Known leads are found, with intervals that contain them.

use nanotape_delay::{Estimator, LeadLag, LeadLagSettings, Series, Window};
use nanotape_harness::allocations;

use crate::{
    likely_least,
    market::{Arrivals, Market, SECOND},
};

const HOUR: f64 = 3_600.0 * SECOND;

fn settings() -> LeadLagSettings {
    LeadLagSettings { max_lag_ns: 2_000_000_000, ..LeadLagSettings::default() }
}

fn window(market: Market) -> Window {
    Window::new(0, market.length_ns as i64)
}

/// Errors of the estimates in nanoseconds, and how many intervals contain the lead. Every day must
/// have an estimate.
fn errors(market: Market, days: u64) -> (Vec<f64>, usize) {
    let mut lead_lag = LeadLag::new(settings());
    let mut covered = 0;
    let errors = (0..days).map(|seed| {
        let (first, second) = market.day(seed);
        let estimate = lead_lag.estimate(first.changes(), second.changes(), window(market));
        let estimate = estimate.unwrap_or_else(|reason| panic!("seed {seed}: {reason}"));
        let interval = estimate.low_ns..=estimate.high_ns;
        assert!(interval.contains(&estimate.delay_ns));
        covered += usize::from(interval.contains(&market.lead_ns));
        estimate.delay_ns - market.lead_ns
    });
    (errors.collect(), covered)
}

fn deviation(errors: &[f64]) -> f64 {
    (errors.iter().map(|error| error * error).sum::<f64>() / errors.len() as f64).sqrt()
}

#[test]
fn a_lead_below_the_distance_of_ticks_is_found() {
    // 10,000 ticks, one every 360 ms. Published estimates of this kind are within 20 ms in 29 of
    // 40 such hours.
    let arrivals = Arrivals::Poisson(0.36 * SECOND);
    let market = Market { correlation: 0.8, lead_ns: 0.137 * SECOND, length_ns: HOUR, arrivals };
    let (errors, covered) = errors(market, 120);
    let near = errors.iter().filter(|error| error.abs() <= 0.02 * SECOND).count();
    assert!(near >= likely_least(120, 29.0 / 40.0), "{near} of 120");
    assert!(deviation(&errors) < 0.025 * SECOND, "{}", deviation(&errors));
    // The interval is one of 95%.
    assert!(covered >= likely_least(120, 0.95), "{covered} of 120");
}

#[test]
fn weak_relations_and_short_windows_have_wider_intervals() {
    let arrivals = Arrivals::Poisson(0.36 * SECOND);
    let weak = Market { correlation: 0.3, lead_ns: -0.4 * SECOND, length_ns: HOUR, arrivals };
    let short = Market { correlation: 0.6, length_ns: HOUR / 6.0, ..weak };
    for market in [weak, short] {
        let (errors, covered) = errors(market, 120);
        assert!(deviation(&errors) < 0.08 * SECOND, "{}", deviation(&errors));
        assert!(covered >= likely_least(120, 0.95), "{covered} of 120");
    }
}

#[test]
fn bursts_of_ticks_make_a_lead_precise() {
    let market = Market {
        correlation: 0.6,
        lead_ns: 0.05 * SECOND,
        length_ns: HOUR,
        arrivals: Arrivals::CommonBursts,
    };
    let (errors, covered) = errors(market, 60);
    assert!(deviation(&errors) < 0.003 * SECOND, "{}", deviation(&errors));
    assert!(covered >= likely_least(60, 0.95), "{covered} of 60");
}

#[test]
fn the_sign_is_that_of_the_follower_and_values_may_move_apart() {
    let market = Market {
        correlation: -0.7,
        lead_ns: 0.137 * SECOND,
        length_ns: HOUR,
        arrivals: Arrivals::Poisson(0.36 * SECOND),
    };
    let (first, second) = market.day(1);
    let mut lead_lag = LeadLag::new(settings());
    let ahead = lead_lag.examine(first.changes(), second.changes(), window(market));
    let contrasts: Vec<(i64, f64)> = lead_lag.contrasts().collect();
    let behind = lead_lag.examine(second.changes(), first.changes(), window(market));
    let (found, evidence) = (ahead.estimate.unwrap(), ahead.evidence.unwrap());
    assert!((found.delay_ns - market.lead_ns).abs() < 0.06 * SECOND, "{found:?}");
    assert!(found.quality > 0.5 && evidence.contrast == -found.quality, "{evidence:?}");
    assert!(evidence.lead_lag_ratio > 1.0 && behind.evidence.unwrap().lead_lag_ratio < 1.0);
    assert!((behind.estimate.unwrap().delay_ns + found.delay_ns).abs() < 1e6);
    assert_eq!((contrasts[0].0, contrasts[400].0), (-2_000_000_000, 2_000_000_000));
    let lowest = contrasts.iter().min_by(|one, two| one.1.total_cmp(&two.1)).unwrap();
    let near = (lowest.0 as f64 - market.lead_ns).abs() < 0.06 * SECOND;
    assert!(near && lowest.1 < -0.5, "{lowest:?}");
}

#[test]
fn an_estimate_allocates_nothing_once_memory_has_grown() {
    nanotape_harness::check_the_counter();
    let arrivals = Arrivals::Poisson(0.1 * SECOND);
    let market =
        Market { correlation: 0.8, lead_ns: 0.137 * SECOND, length_ns: HOUR / 4.0, arrivals };
    let days: Vec<(Series, Series)> = (0..3).map(|seed| market.day(seed)).collect();
    let mut lead_lag = LeadLag::new(settings());
    let mut estimates = |days: &[(Series, Series)]| {
        for (first, second) in days {
            lead_lag.estimate(first.changes(), second.changes(), window(market)).unwrap();
        }
    };
    estimates(&days);
    let before = allocations();
    estimates(&days);
    assert_eq!(allocations() - before, 0);
}
