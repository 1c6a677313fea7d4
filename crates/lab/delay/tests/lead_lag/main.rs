//! What the lead-lag estimator says about instruments whose relation is known.
//!
//! Seeds are fixed, so that each run draws the same. Bounds of shares are those of a binomial
//! count, 3.3 standard deviations from its mean: one draw of a thousand is beyond.

mod hostile;
mod known;
mod market;
mod matrix;
mod unrelated;

use nanotape_harness::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// The least count of `trials` that is likely if each has a probability.
fn likely_least(trials: usize, probability: f64) -> usize {
    (trials as f64 * probability - 3.3 * deviation(trials, probability)).max(0.0).floor() as usize
}

/// The largest one.
fn likely_most(trials: usize, probability: f64) -> usize {
    (trials as f64 * probability + 3.3 * deviation(trials, probability)).ceil() as usize
}

fn deviation(trials: usize, probability: f64) -> f64 {
    (trials as f64 * probability * (1.0 - probability)).sqrt()
}
