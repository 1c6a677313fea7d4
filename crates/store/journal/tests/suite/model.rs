//! Compares a journal with a naive model: a vector of records.

use nanotape_clock::UtcNanos;
use nanotape_harness::Scratch;
use nanotape_journal::{Appender, AppenderOptions, ErrorKind, Gap, RollCycle, Start, Tail, Tailer};
use proptest::prelude::*;

/// A written record.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Record {
    sequence: u64,
    type_id: u16,
    ts_ns: u64,
    payload: Vec<u8>,
}

/// A step of a test.
#[derive(Clone, Debug)]
enum Step {
    Append { type_id: u16, later_ns: i64, length: usize },
    Claim { length: usize, is_committed: bool },
    Batch { lengths: Vec<usize>, is_committed: bool },
    Skip(u64),
    GiveBack(u64),
    Roll,
    Reopen { is_closed: bool },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let length = prop_oneof![0..200_usize, 0..9_usize, 3000..9000_usize];
    let step = prop_oneof![
        8 => (any::<u16>(), prop_oneof![0..50_i64, -20..20_i64, 900..3000_i64], length.clone())
            .prop_map(|(type_id, later_ns, length)| Step::Append { type_id, later_ns, length }),
        2 => (length.clone(), any::<bool>())
            .prop_map(|(length, is_committed)| Step::Claim { length, is_committed }),
        2 => (proptest::collection::vec(0..300_usize, 0..6), any::<bool>())
            .prop_map(|(lengths, is_committed)| Step::Batch { lengths, is_committed }),
        1 => (0..40_u64).prop_map(Step::Skip),
        1 => (0..60_u64).prop_map(Step::GiveBack),
        1 => Just(Step::Roll),
        1 => any::<bool>().prop_map(|is_closed| Step::Reopen { is_closed }),
    ];
    proptest::collection::vec(step, 0..120)
}

fn options(has_pretoucher: bool) -> AppenderOptions {
    AppenderOptions {
        segment_bytes: 1 << 16,
        roll_cycle: RollCycle::EveryNs(1000),
        has_pretoucher,
        ..AppenderOptions::default()
    }
}

fn bytes(length: usize, salt: u64) -> Vec<u8> {
    (0..length).map(|at| (at as u64 * 31 + salt) as u8).collect()
}

/// Applies the steps to the journal and to the model.
fn write(path: &std::path::Path, steps: &[Step], has_pretoucher: bool) -> Vec<Record> {
    let options = options(has_pretoucher);
    let mut appender = Some(Appender::open(path, &options).unwrap());
    let (mut records, mut now, mut next) = (Vec::new(), 10_000_u64, 1);
    for step in steps {
        let open = appender.as_mut().unwrap();
        assert_eq!(open.next_sequence(), next);
        match step {
            Step::Append { type_id, later_ns, length } => {
                now = now.saturating_add_signed(*later_ns);
                let payload = bytes(*length, next);
                assert_eq!(open.append(*type_id, now, &payload).unwrap(), next);
                records.push(Record { sequence: next, type_id: *type_id, ts_ns: now, payload });
                next += 1;
            }
            Step::Claim { length, is_committed } => {
                let payload = bytes(*length, next);
                let mut claim = open.claim(3, now, *length).unwrap();
                claim.copy_from(&payload);
                if *is_committed {
                    assert_eq!(claim.commit().unwrap(), next);
                    records.push(Record { sequence: next, type_id: 3, ts_ns: now, payload });
                    next += 1;
                }
            }
            Step::Batch { lengths, is_committed } => {
                let room = lengths.iter().map(|&l| nanotape_journal::excerpt_bytes(l)).sum();
                let mut batch = open.batch(now, room).unwrap();
                let mut added = Vec::new();
                for &length in lengths {
                    let sequence = next + added.len() as u64;
                    let payload = bytes(length, sequence);
                    assert_eq!(batch.append(4, now, &payload).unwrap(), sequence);
                    added.push(Record { sequence, type_id: 4, ts_ns: now, payload });
                }
                if *is_committed {
                    next += added.len() as u64;
                    assert_eq!(batch.commit().unwrap(), next);
                    records.append(&mut added);
                }
            }
            Step::Skip(more) => {
                next += more;
                open.skip_to(next).unwrap();
            }
            Step::GiveBack(count) => {
                let to = next - count.min(&(next - 1));
                match open.rewind_to(to).map_err(|error| error.kind().clone()) {
                    // The journal begins later.
                    Err(ErrorKind::Sequence { next: oldest, .. }) => assert!(to < oldest),
                    taken => {
                        taken.unwrap();
                        next = to;
                        records.retain(|record: &Record| record.sequence < next);
                    }
                }
            }
            Step::Roll => open.roll().unwrap(),
            Step::Reopen { is_closed } => {
                let open = appender.take().unwrap();
                if *is_closed {
                    open.close().unwrap();
                } else {
                    drop(open);
                }
                let open = Appender::open(path, &options).unwrap();
                assert_eq!(open.recovery().bytes_pruned, 0);
                // The next appender does not know numbers that were skipped and never written.
                next = open.next_sequence();
                assert!(next > records.last().map_or(0, |last: &Record| last.sequence));
                appender = Some(open);
            }
        }
    }
    records
}

/// Reads from the position of a tailer; checks that missing numbers are reported.
fn read_on(tailer: &mut Tailer, mut expected: u64) -> Vec<Record> {
    let mut records = Vec::new();
    loop {
        match tailer.next().unwrap() {
            Tail::Excerpt(excerpt) => {
                assert_eq!(excerpt.sequence(), expected);
                records.push(record(&excerpt));
                expected += 1;
            }
            Tail::Gap(Gap { from, to }) => {
                assert_eq!(from, expected);
                assert!(to >= from);
                expected = to + 1;
            }
            Tail::Reused(reused) => panic!("{reused:?}"),
            Tail::Nothing => return records,
        }
    }
}

fn record(excerpt: &nanotape_journal::Excerpt<'_>) -> Record {
    Record {
        sequence: excerpt.sequence(),
        type_id: excerpt.type_id(),
        ts_ns: excerpt.ts_ns(),
        payload: excerpt.to_vec(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn a_journal_holds_what_the_model_holds_wherever_it_is_entered(
        steps in steps(), has_pretoucher: bool, seeks in proptest::collection::vec((any::<bool>(), 0..20_000_u64), 0..12)
    ) {
        let place = Scratch::new("model");
        let records = write(place.path(), &steps, has_pretoucher);
        // In a journal without records nothing is reported: its first number might have been
        // skipped.
        let first = records.first().map_or(u64::MAX, |first| first.sequence);

        let mut tailer = Tailer::open(place.path(), Start::Oldest).unwrap();
        let begins_at = tailer.next_sequence();
        prop_assert!(begins_at <= first);
        let read = read_on(&mut tailer, begins_at.max(1));
        prop_assert_eq!(&read, &records);

        // Backwards from the end, and forwards again.
        let mut tailer = Tailer::open(place.path(), Start::Newest).unwrap();
        prop_assert!(matches!(tailer.next().unwrap(), Tail::Nothing));
        let mut back = Vec::new();
        loop {
            match tailer.previous().unwrap() {
                Tail::Excerpt(excerpt) => back.push(record(&excerpt)),
                Tail::Gap(gap) => prop_assert!(gap.to >= gap.from),
                Tail::Reused(reused) => prop_assert!(false, "{reused:?}"),
                Tail::Nothing => break,
            }
        }
        back.reverse();
        prop_assert_eq!(&back, &records);
        if !records.is_empty() {
            let begins_at = tailer.next_sequence();
            prop_assert!(begins_at <= first);
            prop_assert_eq!(read_on(&mut tailer, begins_at), records.clone());
        }

        for (by_time, wanted) in seeks {
            if by_time {
                let mut tailer = Tailer::open(place.path(), Start::Time(UtcNanos::of_unix_ns(wanted))).unwrap();
                let from = records.iter().position(|record| record.ts_ns >= wanted);
                let expected = &records[from.unwrap_or(records.len())..];
                let begins_at = expected.first().map_or(tailer.next_sequence(), |r| r.sequence);
                // After a seek by time, nothing is missing before the target.
                let read = read_on(&mut tailer, begins_at);
                prop_assert_eq!(&read, expected);
            } else {
                let last = records.last().map_or(0, |last| last.sequence);
                let wanted = wanted % (last + 40) + 1;
                match Tailer::open(place.path(), Start::Sequence(wanted)) {
                    Ok(mut tailer) => {
                        let expected: Vec<Record> =
                            records.iter().filter(|r| r.sequence >= wanted).cloned().collect();
                        prop_assert_eq!(read_on(&mut tailer, wanted), expected);
                    }
                    Err(error) => {
                        prop_assert!(wanted > last);
                        let is_not_yet = matches!(error.kind(), ErrorKind::NotYet { .. });
                        prop_assert!(is_not_yet, "{error}");
                    }
                }
            }
        }
    }
}
