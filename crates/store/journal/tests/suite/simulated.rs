//! The journal on a simulated disk: lost power, killed processes and failed operations, at every
//! moment.
//!
//! A seed determines everything that happens. A failed seed is printed. Once it is in `seeds.txt`,
//! with the name of its campaign, it always runs first. `NANOTAPE_CAMPAIGN=100` runs a hundred
//! times as many.

mod copies;
mod dice;
mod disk;
mod failing;
mod faults;
mod given_again;
mod half_written;
mod history;
mod live;
mod lost_pages;
mod promises;
mod readers;
mod reading;
mod replicated;
mod rewinds;
mod scenario;
mod short_lives;
mod sites;
mod steps;
mod survivors;
mod threads;
mod upkeep;

use faults::FAULTS;
use nanotape_harness::campaign;
use scenario::{Counts, End, Scenario};

/// Seeds that failed once, then the seeds of this campaign.
fn seeds(name: &str, usual: u64) -> impl Iterator<Item = u64> {
    let known = include_str!("simulated/seeds.txt").lines().filter_map(move |line| {
        let (campaign, seed) = line.split_once(' ')?;
        (campaign == name).then(|| seed.parse().unwrap())
    });
    let known: Vec<u64> = known.collect();
    let first = std::env::var("NANOTAPE_SEED").map_or(1, |seed| seed.parse().unwrap());
    known.into_iter().chain(first..first + campaign(usual))
}

/// Prints the seed that failed.
#[derive(Debug)]
struct Saying(&'static str, u64);

impl Drop for Saying {
    fn drop(&mut self) {
        if std::thread::panicking() && !sites::is_quiet() {
            eprintln!("campaign {}, seed {}: add it to seeds.txt", self.0, self.1);
        }
    }
}

fn run(name: &'static str, usual: u64, mut scenario: impl FnMut(u64) -> Counts) -> Counts {
    let (mut counts, mut runs) = (Counts::default(), 0_u64);
    for seed in seeds(name, usual) {
        let saying = Saying(name, seed);
        counts.add(&scenario(seed));
        drop(saying);
        runs += 1;
    }
    if !sites::is_quiet() {
        println!("{name}: {runs} histories, {counts:?}");
    }
    counts
}

#[test]
fn after_a_loss_of_power_there_is_a_prefix_with_everything_that_was_promised() {
    let counts = lose_power(120);
    assert!(counts.lost > 0 && counts.cuts > 0 && counts.in_recoveries > 0, "{counts:?}");
}

fn lose_power(histories: u64) -> Counts {
    run("power", histories, |seed| Scenario::new(seed).run(Some(End::PowerLoss)))
}

#[test]
fn after_a_death_everything_that_was_committed_is_there_once() {
    let counts = die(120);
    assert!(counts.pruned_bytes > 0 && counts.in_recoveries > 0, "{counts:?}");
}

fn die(histories: u64) -> Counts {
    run("death", histories, |seed| Scenario::new(seed).run(Some(End::Death)))
}

#[test]
fn deaths_and_losses_of_power_in_any_order_take_nothing_that_was_promised() {
    die_and_lose_power(120);
}

fn die_and_lose_power(histories: u64) -> Counts {
    run("both", histories, |seed| Scenario::new(seed).run(None))
}

#[test]
fn what_a_recovery_took_out_does_not_come_back() {
    let counts = live_shortly(100);
    assert!(counts.cuts > 100, "{counts:?}");
}

fn live_shortly(histories: u64) -> Counts {
    run("short-lives", histories, |seed| Scenario::new(seed).run_short_lives())
}

#[test]
fn numbers_that_are_given_back_come_again_wherever_that_is_stopped() {
    let counts = give_back(200);
    let is_all = counts.in_recoveries > 0 && counts.reused > 0 && counts.resumed > 0;
    assert!(is_all && counts.cuts > 1000, "{counts:?}");
}

fn give_back(histories: u64) -> Counts {
    run("rewinds", histories, |seed| Scenario::new(seed).run_rewinds())
}

#[test]
fn a_copy_has_the_words_of_its_source_wherever_both_are_stopped() {
    let counts = copy(200);
    let is_all = counts.crashes > 0 && counts.in_recoveries > 0 && counts.cuts > 0;
    assert!(is_all && counts.resumed > 0 && counts.records > 1000, "{counts:?}");
}

fn copy(histories: u64) -> Counts {
    run("copies", histories, copies::run)
}

#[test]
fn what_a_follower_acknowledged_is_on_it_wherever_anything_stops() {
    let counts = replicate(100);
    let is_all = counts.crashes > 0 && counts.in_recoveries > 0 && counts.reused > 0;
    assert!(is_all && counts.cuts > 0 && counts.records > 1000, "{counts:?}");
}

fn replicate(histories: u64) -> Counts {
    run("replicated", histories, replicated::run)
}

#[test]
fn upkeep_beside_an_appender_takes_nothing_that_was_promised_wherever_it_is_stopped() {
    let counts = keep_up(60);
    assert!(counts.lost > 0 && counts.in_recoveries > 0, "{counts:?}");
}

fn keep_up(histories: u64) -> Counts {
    run("upkeep", histories, |seed| Scenario::new(seed).run_with_upkeep())
}

#[test]
fn operations_that_fail_take_nothing_that_was_promised_wherever_they_are() {
    let (places, counts) = fail_everywhere(3);
    println!("faults: {places} places, {counts:?}");
    assert!(places > 300, "{places}");
}

/// Returns how many operations there were.
fn fail_everywhere(histories: u64) -> (u64, Counts) {
    let mut places = 0;
    let counts = run("faults", histories, |seed| {
        let mut counts = Counts::default();
        for fault in FAULTS {
            for count in [1, 3] {
                places += failing::at_every_operation(seed, fault, count, &mut counts);
            }
        }
        counts
    });
    (places, counts)
}

/// Tests that must notice that a call has no effect, those first that notice most.
const NOTICES: [Notice; 11] = [
    ("lost pages", lost_pages::all),
    ("given again", given_again::all),
    ("upkeep", || _ = keep_up(60)),
    ("rewinds", || _ = give_back(100)),
    ("promises", promises::all),
    ("steps", steps::all),
    ("death", || _ = die(40)),
    ("both", || _ = die_and_lose_power(120)),
    ("power", || _ = lose_power(120)),
    ("short-lives", || _ = live_shortly(100)),
    ("faults", || _ = fail_everywhere(1)),
];

/// A name, and tests that panic on failure.
type Notice = (&'static str, fn());
