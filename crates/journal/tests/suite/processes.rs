//! Journals between processes that are killed: at random, and before every store; and on a disk
//! that is full.
//!
//! A child is this program once more, with the test `child` chosen and a role in its environment.
//! `NANOTAPE_CAMPAIGN=20` makes twenty times as many kills.

mod children;
mod full_disk;
mod killed_at_every_store;
mod killed_at_random;
mod records;
mod recovery_time;

/// How many times as many as usual.
fn campaign() -> Option<u64> {
    std::env::var("NANOTAPE_CAMPAIGN").ok().map(|times| times.parse().unwrap())
}
