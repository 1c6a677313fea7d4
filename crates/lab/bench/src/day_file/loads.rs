//! The cost of a load from memory: one that waits for the previous one, and several at once.
//!
//! A book makes such loads to find the order and the level of each message. It cannot make one load
//! faster; it can only have several in progress at a time.
//!
//! Layout: lines of 64 bytes. Each holds the number of the next line. All lines are on one cycle in
//! random order, so that a prefetcher cannot predict the next load.

use core::hint::black_box;

use nanotape_clock::Clock;
use nanotape_lab::Rng;
use nanotape_shm::Table;

use super::{
    Day,
    usage::{Peak, Stopwatch},
};
use crate::engine::Reading;

/// Loads of one reading, all chains together: half a second if each waits for memory.
const ACCESSES: usize = 1 << 21;

/// Approximate bytes per order in a table that is at most half full.
const BYTES_PER_SLOT: usize = 32;

const SEED: u64 = 1;

/// A cache line that holds the number of the next line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(u32);

const _: () = assert!(size_of::<Line>() == 64);

/// Size of a table that holds `orders` orders, approximately.
pub(super) fn table_bytes(orders: usize) -> usize {
    (2 * orders).next_power_of_two() * BYTES_PER_SLOT
}

/// Follows `CHAINS` chains at the same time.
pub(super) fn measure<const CHAINS: usize>(day: &Day, clock: Clock) -> Reading {
    let startup = Stopwatch::start(clock);
    let (lines, starts) = cycle::<CHAINS>(table_bytes(day.orders()) / size_of::<Line>());
    let (startup_nanos, _) = startup.stop();
    let steps = ACCESSES / CHAINS;
    let watch = Stopwatch::start(clock);
    black_box(follow(&lines, starts, steps));
    watch.reading(startup_nanos, (steps * CHAINS) as u64, Peak::default()).into()
}

/// One cycle through all lines, and starts at equal distances on it.
fn cycle<const CHAINS: usize>(count: usize) -> (Table<Line>, [u32; CHAINS]) {
    let mut order: Vec<u32> = (0..count as u32).collect();
    Rng::new(SEED).shuffle(&mut order);
    let mut lines = Table::new(count, Line(0));
    for (place, &line) in order.iter().enumerate() {
        lines[line as usize] = Line(order[(place + 1) % count]);
    }
    (lines, core::array::from_fn(|chain| order[chain * count / CHAINS]))
}

#[inline(never)]
fn follow<const CHAINS: usize>(
    lines: &[Line],
    mut places: [u32; CHAINS],
    steps: usize,
) -> [u32; CHAINS] {
    for _ in 0..steps {
        for place in &mut places {
            *place = lines[*place as usize].0;
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_pass_every_line_once_and_meet_nowhere() {
        let (lines, starts) = cycle::<4>(4_096);
        let mut seen = vec![false; lines.len()];
        for start in starts {
            let mut place = [start];
            for _ in 0..1_024 {
                assert!(!core::mem::replace(&mut seen[place[0] as usize], true));
                place = follow(&lines, place, 1);
            }
        }
        assert!(seen.iter().all(|&seen| seen));
    }

    #[test]
    fn the_table_grows_with_the_orders() {
        assert_eq!(table_bytes(1 << 16), 4 << 20);
        assert_eq!(table_bytes((1 << 20) + 1), 128 << 20);
        assert_eq!(table_bytes(1 << 21), 128 << 20);
    }
}
