//! A state of random books is the same after it was written and read, and its orders keep their
//! positions in the queues.

use dbn::{Action, MboMsg};
use nanotape_harness::Scratch;
use nanotape_history::{Run, RunState, SnapshotFile, snapshot::ExcerptMark};
use nanotape_records::{
    Common, PublisherInstrument, Record, RecordBuffer, RecordKind, RecordKinds,
    dbn::{self, Side as DbnSide},
    encode::{Change, LAST, bytes, mbo},
};
use nanotape_types::{Side, StockLocate};
use proptest::prelude::*;

pub(super) fn run() -> Run {
    Run {
        publisher_id: 2,
        first_sequence: 1,
        started_ns: 7,
        midnight_ns: 1_577_682_000_000_000_000,
        date: 20_191_230,
        kinds: RecordKinds::USUAL,
        names: Vec::new(),
    }
}

/// One order record: locate, reference, whether it is a cancel, side, price level, size.
pub(super) type Step = (u16, u64, bool, bool, u32, u32);

pub(super) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (1..4_u16, 0..60_u64, any::<bool>(), any::<bool>(), 1..4_u32, 1..300_u32);
    prop::collection::vec(step, 0..300)
}

/// The state after these records.
pub(super) fn state(steps: &[Step]) -> RunState {
    let mut state = RunState::before(&run());
    let mut buffer = RecordBuffer::default();
    for (number, &(locate, order_id, is_cancel, buys, level, size)) in (1_u32..).zip(steps) {
        let common = Common {
            instrument: PublisherInstrument::none_of(2).numbered(locate.into()),
            ts_event: run().midnight_ns + u64::from(number),
            ts_recv: u64::from(number),
            sequence: number,
            flags: 0,
        };
        let action = if is_cancel { Action::Cancel } else { Action::Add };
        let side = if buys { DbnSide::Bid } else { DbnSide::Ask };
        let change = Change { action, side, price: i64::from(level) * 100_000_000, size };
        let words = bytes(mbo(&common, LAST, order_id, change));
        let (type_id, payload) = (RecordKind::Mbo.type_id(), words.as_flattened());
        let sequence = u64::from(number) + 1;
        let record: Record<'_> = buffer.decode(sequence, type_id, payload).unwrap().unwrap();
        let Record::Mbo(MboMsg { .. }) = record else { panic!("{record:?}") };
        state.take(sequence, type_id, payload, &record);
    }
    state
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_state_is_the_same_after_it_was_a_snapshot(steps in steps()) {
        let folder = Scratch::folder("states");
        let before = state(&steps);
        let mark = ExcerptMark { ts_ns: 5, type_id: 160, check: 9 };
        let written = before.write_snapshot(folder.path(), mark, 0o600).unwrap();
        let file = SnapshotFile::open(&written.path).unwrap();
        prop_assert_eq!(file.moment(), &before.moment);
        prop_assert_eq!(file.digest(), before.digests.total());
        let after = file.state().unwrap();
        prop_assert_eq!(&after.digests, &before.digests);
        prop_assert_eq!(after.books.is_whole(), before.books.is_whole());
        for locate in (0..5).map(StockLocate::new) {
            for side in Side::BOTH {
                let levels: Vec<_> = before.all_books().book(locate).depth(side).collect();
                let restored: Vec<_> = after.all_books().book(locate).depth(side).collect();
                prop_assert_eq!(&restored, &levels);
                for level in levels {
                    prop_assert_eq!(
                        after.all_books().queue(locate, side, level.price),
                        before.all_books().queue(locate, side, level.price)
                    );
                }
            }
        }
        // The same again, byte for byte.
        let bytes = std::fs::read(&written.path).unwrap();
        let again = after.write_snapshot(folder.path(), mark, 0o600).unwrap();
        prop_assert_eq!(std::fs::read(&again.path).unwrap(), bytes);
    }
}
