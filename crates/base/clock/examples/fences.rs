//! Measures a load that misses the caches with pairs of stamps, with and without fences.
//!
//! It prints three figures for the same loads. Each load's address depends on the load before, so
//! no two overlap, and the whole time divided by their number is the time of one. Pairs with fences
//! agree with that, plus the cost of the pair. Pairs without fences do not: the second stamp is
//! read while the load is still in progress.

use core::hint::black_box;

use nanotape_clock::{Clock, Stamp};

/// Words to load from: 128 MiB, more than the caches of one core.
const PLACES: usize = 1 << 25;

/// Loads to time in each way.
const LOADS: usize = 200_000;

fn main() {
    let clock = Clock::calibrate();
    println!("{}, because {}", clock.source(), clock.why());
    println!("stamps: {}", clock.costs());

    let next = circle();
    let mut place = 0;

    let from = clock.stamp_start();
    for _ in 0..LOADS {
        place = next[place as usize];
    }
    black_box(place);
    let whole = clock.nanos_between(from, clock.stamp());
    println!("one load, from the time of all       {:>5} ns", whole / LOADS as u64);

    let unfenced =
        median_of(&clock, &next, &mut place, Clock::stamp_unfenced, Clock::stamp_unfenced);
    println!("median of one, unfenced pairs        {unfenced:>5} ns");
    let fenced = median_of(&clock, &next, &mut place, Clock::stamp_start, Clock::stamp);
    println!("median of one, start and end stamps  {fenced:>5} ns");
}

/// Each word holds the index of the next one, and all form one cycle in random order (Sattolo).
fn circle() -> Vec<u32> {
    let mut next: Vec<u32> = (0..PLACES as u32).collect();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for last in (1..next.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        next.swap(last, (state % last as u64) as usize);
    }
    next
}

fn median_of(
    clock: &Clock,
    next: &[u32],
    place: &mut u32,
    before: impl Fn(&Clock) -> Stamp,
    after: impl Fn(&Clock) -> Stamp,
) -> u64 {
    let mut nanos: Vec<u64> = (0..LOADS)
        .map(|_| {
            let from = before(clock);
            *place = black_box(next[*place as usize]);
            clock.nanos_between(from, after(clock))
        })
        .collect();
    nanos.sort_unstable();
    nanos[nanos.len() / 2]
}
