//! Both ways to compute contrasts against the definition: all pairs of overlapping intervals.

use proptest::prelude::*;

use super::*;
use crate::Changes;

/// The last value at each time.
fn settled(ticks: &[(i64, i64)]) -> Vec<(i64, i64)> {
    let mut settled: Vec<(i64, i64)> = Vec::new();
    for &(time, value) in ticks {
        match settled.last_mut() {
            Some(last) if last.0 == time => last.1 = value,
            _ => settled.push((time, value)),
        }
    }
    settled
}

/// The sum over all pairs of moves whose intervals `(from, until]` overlap, by block.
fn by_definition(
    first: &[(i64, i64)],
    second: &[(i64, i64)],
    lag: i64,
    blocks: &[u32],
    count: usize,
) -> Vec<i128> {
    let (first, second) = (settled(first), settled(second));
    let mut sums = vec![0; count];
    for (index, one) in first.windows(2).enumerate() {
        let (from, until) = (one[0].0 + lag, one[1].0 + lag);
        for two in second.windows(2) {
            if from.max(two[0].0) < until.min(two[1].0) {
                sums[blocks[index + 1] as usize] +=
                    i128::from(one[1].1 - one[0].1) * i128::from(two[1].1 - two[0].1);
            }
        }
    }
    sums
}

fn loaded(ticks: &[(i64, i64)], from_ns: i64) -> Ticks {
    let (times_ns, values): (Vec<i64>, Vec<i64>) = ticks.iter().copied().unzip();
    let mut loaded = Ticks::default();
    loaded.load(Changes { times_ns: &times_ns, values: &values, marks: &[] }, from_ns);
    loaded
}

/// Ticks at random distances, often 0; values that have nothing to do with each other.
fn ticks() -> impl Strategy<Value = Vec<(i64, i64)>> {
    let values = prop_oneof![-5_i64..5, -1_000_000_000_000_i64..1_000_000_000_000];
    let distances = prop_oneof![0_i64..3, 0_i64..40];
    prop::collection::vec((distances, values), 0..40).prop_map(|steps| {
        let mut time = -100;
        let step = |(distance, value)| {
            time += distance;
            (time, value)
        };
        steps.into_iter().map(step).collect()
    })
}

proptest! {
    #[test]
    fn passes_and_meetings_agree_with_the_definition(
        one in ticks(),
        two in ticks(),
        (from_ns, step_ns, count) in (-150_i64..100, 1_i64..30, 1_usize..40),
        zero_ns in -200_i64..200,
        seed in any::<u32>(),
    ) {
        let (first, second) = (loaded(&one, zero_ns), loaded(&two, zero_ns));
        let blocks: Vec<u32> = (0..first.len() as u32).map(|tick| (tick / 5 + seed) % 4).collect();
        let grid = Grid { from_ns, step_ns, count };
        let mut ways = [Rows::default(), Rows::default(), Rows::default()];
        for (way, rows) in ways.iter_mut().enumerate() {
            rows.compute(&first, &second, grid, &blocks, 4);
            rows.sums.fill(0);
            rows.base.fill(0);
            match way {
                0 => rows.by_meetings(&first, &second, grid, &blocks),
                1 => rows.by_passes(&first, &second, grid, &blocks),
                _ => rows.compute(&first, &second, grid, &blocks, 4),
            }
        }
        for index in 0..count {
            let expected = by_definition(&one, &two, grid.lag_ns(index), &blocks, 4);
            for rows in &ways {
                let sums: Vec<i128> = (0..4).map(|block| rows.block(block)[index]).collect();
                prop_assert_eq!(&sums, &expected);
            }
        }
    }

    #[test]
    fn a_plateau_has_one_contrast(one in ticks(), two in ticks(), lag in -150_i64..150) {
        let (first, second) = (loaded(&one, 0), loaded(&two, 0));
        let (low, high) = first.plateau(&second, lag);
        prop_assert!(low <= lag && lag <= high);
        let blocks = vec![0; first.len()];
        let at = |lag| by_definition(&one, &two, lag, &blocks, 1);
        for near in low.max(-300)..=high.min(300) {
            prop_assert_eq!(at(near), at(lag));
        }
        let meets = |lag| one.iter().any(|x| two.iter().any(|y| x.0 + lag == y.0));
        prop_assert!(low < -300 || low == high || meets(low - 1));
        prop_assert!(high > 300 || low == high || meets(high + 1));
    }

    #[test]
    fn extreme_ticks_give_sums_within_128_bits(
        one in prop::collection::vec((any::<i64>(), any::<i64>()), 0..20),
        two in prop::collection::vec((any::<i64>(), any::<i64>()), 0..20),
        zero_ns in any::<i64>(),
        lag in -1_i64 << 60..1 << 60,
    ) {
        // Debug builds panic at an overflow.
        let (first, second) = (loaded(&one, zero_ns), loaded(&two, zero_ns));
        let blocks = vec![0; first.len()];
        let grid = Grid { from_ns: lag, step_ns: 1 << 57, count: 3 };
        let mut rows = Rows::default();
        rows.compute(&first, &second, grid, &blocks, 1);
        let mut sums = [0];
        scan(&first, &second, lag, &blocks, &mut sums);
        prop_assert_eq!(rows.block(0)[0], sums[0]);
        rows.sums.fill(0);
        rows.by_meetings(&first, &second, grid, &blocks);
    }
}
