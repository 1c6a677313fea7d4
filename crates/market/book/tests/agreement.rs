//! Every structure agrees with the naive model, for any events.
//!
//! All structures that can be chosen by name (`testkit::structures`) go through the same events in
//! lockstep with one naive model. Each event compares the outcomes: the stock, whether its inside
//! changed, and the anomaly. All levels, orders, queues and counts of anomalies are compared at the
//! end, and also after every event of short lists or at intervals of long ones, because the model
//! walks all of its orders to answer.
//!
//! `NANOTAPE_AGREEMENT_OPERATIONS` sets the number of events of the long tests; 10,000,000 take
//! some minutes in release. `NANOTAPE_AGREEMENT_SEED` sets their seed. A failure reports the
//! structure, the event and the seed.

#[path = "agreement/adversarial.rs"]
mod adversarial;
#[path = "agreement/lockstep.rs"]
mod lockstep;
#[path = "agreement/many_levels.rs"]
mod many_levels;
#[path = "agreement/random.rs"]
mod random;
#[path = "agreement/set_levels.rs"]
mod set_levels;

/// Events of each long test.
fn operations() -> u64 {
    from_environment("NANOTAPE_AGREEMENT_OPERATIONS", 100_000)
}

fn seed() -> u64 {
    from_environment("NANOTAPE_AGREEMENT_SEED", 1)
}

fn from_environment(name: &str, otherwise: u64) -> u64 {
    match std::env::var(name) {
        Ok(value) => value.parse().unwrap_or_else(|_| panic!("{name} is not a number: {value}")),
        Err(_) => otherwise,
    }
}
