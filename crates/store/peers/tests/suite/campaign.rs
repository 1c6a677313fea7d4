//! Clusters of random nodes, where anything fails at any moment.

use nanotape_harness::campaign;

use crate::cluster::{Cluster, Totals};

/// Clusters of a usual run. `NANOTAPE_CAMPAIGN=50` runs 10,000 of them.
const USUAL: u64 = 200;

#[test]
fn all_nodes_become_equal_to_the_latest_writes_whatever_fails() {
    // A seed that failed, alone.
    let seed = std::env::var("NANOTAPE_SEED").ok().map(|seed| seed.parse::<u64>().unwrap());
    let seeds = seed.map_or(0..campaign(USUAL), |seed| seed..seed + 1);
    let mut all = Totals::default();
    for seed in seeds {
        let totals = Cluster::new(seed).run();
        let totals = totals.unwrap_or_else(|error| panic!("NANOTAPE_SEED={seed}: {error}"));
        all.steps += totals.steps;
        all.writes += totals.writes;
        all.removals += totals.removals;
        all.kills += totals.kills;
        all.drops += totals.drops;
        all.joins += totals.joins;
        all.unstored += totals.unstored;
        all.forgotten += totals.forgotten;
        all.forgotten_early += totals.forgotten_early;
        all.last_steps = all.last_steps.max(totals.last_steps);
    }
    println!("{all:?}");
    if seed.is_none() {
        assert!(all.writes > 5_000 && all.removals > 1_000 && all.forgotten > 1_000, "{all:?}");
        assert!(all.forgotten_early > 500, "{all:?}");
        assert!(all.kills > 500 && all.drops > 100 && all.joins > 50, "{all:?}");
        assert!(all.unstored > 20, "{all:?}");
    }
}
