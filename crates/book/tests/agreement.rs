//! Every structure agrees with the naive model, whatever the events are.
//!
//! All structures there are (`testkit::structures`, which has every one that can be chosen by name)
//! go through the same events in lockstep with one naive model. After every event the outcomes are
//! compared: which stock, whether its inside is another than before by the model, what was wrong.
//! Everything else, which is all levels, orders, queues and counts of anomalies, is compared after
//! every event where the events are few, every so many events where they are many, because the
//! model walks all of its orders to answer, and at the end in any case.
//!
//! `NANOTAPE_AGREEMENT_OPERATIONS` sets how many events the long tests have; 10,000,000 take some
//! minutes in release. `NANOTAPE_AGREEMENT_SEED` sets what they are. Whatever fails says which
//! structure, which event and which seed.

#[path = "agreement/adversarial.rs"]
mod adversarial;
#[path = "agreement/lockstep.rs"]
mod lockstep;
#[path = "agreement/many_levels.rs"]
mod many_levels;
#[path = "agreement/random.rs"]
mod random;

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
