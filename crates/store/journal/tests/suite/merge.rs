//! Several journals read as one.

use nanotape_harness::Scratch;
use nanotape_journal::{Appender, AppenderOptions, Gap, Merge, Merged, Start, Tailer};
use proptest::prelude::*;

fn appender(place: &Scratch) -> Appender {
    let options = AppenderOptions {
        segment_bytes: 1 << 16,
        has_pretoucher: false,
        ..AppenderOptions::default()
    };
    Appender::open(place.path(), &options).unwrap()
}

fn merge(places: &[Scratch]) -> Merge {
    Merge::new(places.iter().map(|p| Tailer::open(p.path(), Start::Oldest).unwrap()))
}

fn read(merge: &mut Merge, settled_ns: u64) -> Vec<(usize, u64, u64)> {
    let mut all = Vec::new();
    loop {
        match merge.next(settled_ns).unwrap() {
            Merged::Excerpt { source, excerpt } => {
                all.push((source, excerpt.sequence(), excerpt.ts_ns()));
            }
            Merged::Gap { source, gap } => panic!("{source}: {gap:?}"),
            Merged::Reused { source, reused } => panic!("{source}: {reused:?}"),
            Merged::Nothing => return all,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_merge_is_a_stable_sort_by_time(times in proptest::collection::vec(
        proptest::collection::vec(0..50_u64, 0..60), 1..5))
    {
        let places: Vec<Scratch> = times.iter().map(|_| Scratch::new("merge")).collect();
        let mut expected = Vec::new();
        for (source, (place, steps)) in places.iter().zip(&times).enumerate() {
            let (mut appender, mut now) = (appender(place), 0);
            for step in steps {
                now += step;
                let sequence = appender.append(0, now, b"").unwrap();
                expected.push((source, sequence, now));
            }
        }
        expected.sort_by_key(|&(source, sequence, ts)| (ts, source, sequence));
        prop_assert_eq!(read(&mut merge(&places), u64::MAX), expected);
    }
}

#[test]
fn what_may_still_be_overtaken_waits_until_it_is_settled() {
    let places = [Scratch::new("idle"), Scratch::new("busy")];
    let (mut idle, mut busy) = (appender(&places[0]), appender(&places[1]));
    let mut merge = merge(&places);
    busy.append(0, 100, b"").unwrap();
    assert_eq!(read(&mut merge, 99), []);
    // The other journal is late, and its excerpt still comes first.
    idle.append(0, 90, b"").unwrap();
    assert_eq!(read(&mut merge, 99), [(0, 1, 90)]);
    assert_eq!(read(&mut merge, 100), [(1, 1, 100)]);
    idle.append(0, 120, b"").unwrap();
    busy.append(0, 110, b"").unwrap();
    assert_eq!(read(&mut merge, 0), [(1, 2, 110)], "both have one: nothing earlier can come");
    assert_eq!(merge.tailers().map(Tailer::next_sequence).collect::<Vec<_>>(), [2, 3]);
}

#[test]
fn what_is_missing_in_one_journal_is_reported_with_its_number() {
    let places = [Scratch::new("whole"), Scratch::new("gap")];
    let (mut whole, mut gap) = (appender(&places[0]), appender(&places[1]));
    whole.append(0, 5, b"").unwrap();
    gap.append(0, 1, b"").unwrap();
    gap.skip_to(7).unwrap();
    gap.append(0, 9, b"").unwrap();
    let mut merge = merge(&places);
    let mut said = Vec::new();
    loop {
        match merge.next(u64::MAX).unwrap() {
            Merged::Excerpt { source, excerpt } => said.push((source, excerpt.sequence(), 0)),
            Merged::Gap { source, gap: Gap { from, to } } => said.push((source, from, to)),
            Merged::Reused { source, reused } => panic!("{source}: {reused:?}"),
            Merged::Nothing => break,
        }
    }
    assert_eq!(said, [(1, 1, 0), (1, 2, 6), (0, 1, 0), (1, 7, 0)]);
}
