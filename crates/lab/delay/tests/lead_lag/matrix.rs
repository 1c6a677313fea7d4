//! A matrix finds the pairs that are related, and few others.

use std::num::NonZeroUsize;

use nanotape_delay::{Changes, LeadLagSettings, Matrix, NoEstimate, Pair, Series, Window};

use crate::{
    likely_least, likely_most,
    market::{Arrivals, Market, SECOND},
};

const LENGTH: f64 = 900.0 * SECOND;
const RATE: f64 = 0.1;

fn matrix(threads: usize) -> Matrix {
    Matrix {
        settings: LeadLagSettings { max_lag_ns: 1_000_000_000, lags: 50, ..Default::default() },
        false_discovery_rate: RATE,
        threads: NonZeroUsize::new(threads).unwrap(),
    }
}

/// Pairs at `2 k` and `2 k + 1`, of which the first so many are related, with known leads.
fn instruments(pairs: usize, related: usize, seed: u64) -> (Vec<Series>, Vec<f64>) {
    let leads: Vec<f64> = (0..related).map(|pair| (pair as f64 - 1.5) * 0.2 * SECOND).collect();
    let mut all = Vec::new();
    for pair in 0..pairs {
        let market = Market {
            correlation: if pair < related { 0.6 } else { 0.0 },
            lead_ns: leads.get(pair).copied().unwrap_or(0.0),
            length_ns: LENGTH,
            arrivals: Arrivals::Poisson((0.2 + 0.1 * (pair % 4) as f64) * SECOND),
        };
        let (first, second) = market.day(seed * 100 + pair as u64);
        all.extend([first, second]);
    }
    (all, leads)
}

fn changes(all: &[Series]) -> Vec<Changes<'_>> {
    all.iter().map(Series::changes).collect()
}

fn window() -> Window {
    Window::new(0, LENGTH as i64)
}

#[test]
fn known_leads_are_found_and_false_discoveries_stay_below_the_rate() {
    const SEEDS: u64 = 25;
    let (mut found, mut related, mut unrelated) = (0, 0, 0);
    for seed in 0..SEEDS {
        let (all, leads) = instruments(7, 4, seed);
        let rows = matrix(2).all_pairs(&changes(&all), window());
        assert_eq!(rows.len(), 14 * 13 / 2);
        for row in &rows {
            let pair = row.first / 2;
            let is_related = row.second == row.first + 1 && row.first % 2 == 0;
            let lead_ns = leads.get(pair).copied().filter(|_| is_related);
            related += usize::from(lead_ns.is_some());
            if row.is_found {
                let estimate = row.lead.estimate.unwrap();
                let is_near = |lead_ns: f64| (estimate.delay_ns - lead_ns).abs() < 0.2 * SECOND;
                assert!(lead_ns.is_none_or(is_near), "{row:?} {lead_ns:?}");
                found += usize::from(lead_ns.is_some());
                unrelated += usize::from(lead_ns.is_none());
            }
        }
    }
    assert!(found >= likely_least(related, 0.98), "{found} of {related}");
    assert!(unrelated <= likely_most(found + unrelated, RATE), "{unrelated} beside {found}");
}

#[test]
fn without_relations_few_matrices_find_any() {
    const SEEDS: usize = 60;
    let any = (0..SEEDS as u64).filter(|&seed| {
        let (all, _) = instruments(4, 0, seed);
        matrix(2).all_pairs(&changes(&all), window()).iter().any(|row| row.is_found)
    });
    let any = any.count();
    assert!(any <= likely_most(SEEDS, RATE), "{any} of {SEEDS}");
}

#[test]
fn rows_do_not_depend_on_threads_and_say_why_there_is_no_estimate() {
    let (mut all, _) = instruments(3, 2, 1);
    all.push(Series::new());
    let all = changes(&all);
    let rows = matrix(1).all_pairs(&all, window());
    for threads in [2, 5, 100] {
        assert_eq!(matrix(threads).all_pairs(&all, window()), rows);
    }
    let silent: Vec<&Pair> = rows.iter().filter(|row| row.second == 6).collect();
    assert_eq!(silent.len(), 6);
    for row in silent {
        let few = matches!(row.lead.estimate, Err(NoEstimate::FewChanges { second: 0, .. }));
        assert!(few && row.q_value.is_none() && !row.is_found, "{row:?}");
    }
    let crossed = matrix(3).between(&all[..2], &all[2..4], window());
    let indices: Vec<_> = crossed.iter().map(|row| (row.first, row.second)).collect();
    assert_eq!(indices, [(0, 0), (0, 1), (1, 0), (1, 1)]);
    assert!(matrix(2).all_pairs(&all[..1], window()).is_empty());
    assert!(matrix(2).between(&[], &all, window()).is_empty());
}
