//! A merge of sources against a sort of everything.

use std::{collections::BTreeSet, time::Duration};

use nanotape_tap::{Merged, TimeMerge};
use proptest::{collection::vec, option, prelude::*};

/// The times of the items of some sources. An item without a time has that of the one before it.
fn sources() -> impl Strategy<Value = Vec<Vec<Option<u64>>>> {
    vec(vec(option::weighted(0.9, 0_u64..40), 0..30), 1..5)
}

/// Source and number of each item, sorted by the times at which they count.
fn sorted(sources: &[Vec<Option<u64>>]) -> Vec<(u64, usize, usize)> {
    let mut all = Vec::new();
    for (source, times) in sources.iter().enumerate() {
        let mut last = 0;
        for (number, ts_ns) in times.iter().enumerate() {
            last = last.max(ts_ns.unwrap_or(0));
            all.push((last, source, number));
        }
    }
    all.sort();
    all
}

proptest! {
    #[test]
    fn without_a_bound_the_order_is_that_of_a_sort(
        sources in sources(), order in vec(0_usize..5, 0..200),
    ) {
        let mut merge = TimeMerge::new(sources.len(), None);
        let (mut next, mut given) = (vec![0; sources.len()], Vec::new());
        let all = (0..sources.len()).flat_map(|source| vec![source; 31]);
        // The sources are read in any order, then to their ends.
        for source in order.into_iter().filter(|source| *source < sources.len()).chain(all) {
            match sources[source].get(next[source]) {
                Some(ts_ns) => merge.push(source, *ts_ns, 0, next[source]),
                None => merge.end(source),
            }
            next[source] += 1;
            while let Some(Merged { source, ts_ns, is_late, item }) = merge.pop(u64::MAX) {
                prop_assert!(!is_late);
                given.push((ts_ns, source, item));
            }
        }
        prop_assert!(merge.is_over() && merge.late().count == 0);
        prop_assert_eq!(given, sorted(&sources));
    }

    #[test]
    fn with_a_bound_no_item_waits_longer_and_late_ones_are_counted(
        sources in sources(), turns in vec((0_usize..5, 0_u64..8), 0..300),
    ) {
        const BOUND_NS: u64 = 20;
        let mut merge = TimeMerge::new(sources.len(), Some(Duration::from_nanos(BOUND_NS)));
        let (mut next, mut now, mut given) = (vec![0; sources.len()], 0, Vec::<(u64, usize, usize)>::new());
        let (mut late, mut pending) = (0, BTreeSet::new());
        let ends = (0..sources.len()).flat_map(|source| vec![(source, 0); 31]);
        for (source, pause) in turns.into_iter().chain(ends) {
            now += pause;
            let source = source % sources.len();
            match sources[source].get(next[source]) {
                Some(ts_ns) => {
                    pending.insert((source, next[source], now));
                    merge.push(source, *ts_ns, now, (next[source], now));
                }
                None => merge.end(source),
            }
            next[source] += 1;
            while let Some(merged) = merge.pop(now) {
                let most = given.iter().map(|(ts_ns, ..)| *ts_ns).max().unwrap_or(0);
                prop_assert_eq!(merged.is_late, merged.ts_ns < most);
                late += u64::from(merged.is_late);
                let (number, pushed) = merged.item;
                pending.remove(&(merged.source, number, pushed));
                given.push((merged.ts_ns, merged.source, number));
            }
            let longest = pending.iter().map(|(_, _, pushed)| now - pushed).max();
            prop_assert!(longest.unwrap_or(0) < BOUND_NS);
            // Nothing waits for no source.
            prop_assert!(pending.is_empty() || merge.holder().is_some());
        }
        prop_assert_eq!(merge.late().count, late);
        // Everything is given once, and the order of a source never changes.
        for (source, times) in sources.iter().enumerate() {
            let of: Vec<_> = given.iter().filter(|row| row.1 == source).map(|row| row.2).collect();
            prop_assert_eq!(of, (0..times.len()).collect::<Vec<_>>());
        }
        let mut all = given;
        all.sort();
        prop_assert_eq!(all, sorted(&sources));
    }
}

#[test]
fn a_silent_source_holds_the_others_up_to_the_bound() {
    let mut merge = TimeMerge::new(2, Some(Duration::from_nanos(100)));
    merge.push(0, Some(50), 1_000, "first");
    assert_eq!(merge.pop(1_099), None);
    let first = Merged { source: 0, ts_ns: 50, is_late: false, item: "first" };
    assert_eq!(merge.pop(1_100), Some(first));
    // An earlier one comes after all, and waits for nothing.
    merge.push(1, Some(20), 1_200, "late");
    let late = Merged { source: 1, ts_ns: 20, is_late: true, item: "late" };
    assert_eq!(merge.pop(1_200), Some(late));
    assert_eq!((merge.late().count, merge.late().most_ns), (1, 30));
    // With an item of each source nothing waits.
    merge.push(1, Some(70), 1_300, "third");
    merge.push(0, Some(60), 1_300, "second");
    assert_eq!(merge.pop(1_300).map(|merged| merged.item), Some("second"));
    assert_eq!(merge.pop(1_300), None);
    merge.end(0);
    assert_eq!(merge.pop(1_300).map(|merged| merged.item), Some("third"));
}
