//! What a recorder shows after it took the region of another one over.

use nanotape_harness::Scratch;
use nanotape_shm::Refusal;

use super::*;

/// A ring's path, and the region of its recorder, without a ring.
struct Beside(Scratch);

impl Beside {
    fn new(name: &str) -> Self {
        Self(Scratch::new(name))
    }

    fn own(&self, created_ns: u64, journal: &str, next_sequence: u64) -> RecorderProgress {
        let ring = self.0.path();
        RecorderProgress::own(ring, created_ns, Path::new(journal), next_sequence).unwrap()
    }

    fn sample(&self) -> RecorderStat {
        RecorderReader::open(self.0.path()).unwrap().sample()
    }

    fn counts(&self) -> (u64, u64, u64, u64) {
        let RecorderStat { next_sequence, recorded, lost, gaps, .. } = self.sample();
        (next_sequence, recorded, lost, gaps)
    }
}

#[test]
fn a_recorder_shows_what_it_does_and_its_end() {
    let beside = Beside::new("shows");
    let mut progress = beside.own(7, "/journals/day", 1);
    let seen = beside.sample();
    assert_eq!((seen.state, seen.ring_created_ns), (RecorderState::Starting, 7));
    assert_eq!(seen.journal, Path::new("/journals/day"));
    progress.set_state(RecorderState::Recording);
    progress.polled(10, 11, 960, 5);
    progress.lost(20);
    progress.polled(1, 32, 3_000, 6);
    let seen = beside.sample();
    assert_eq!((seen.state, seen.updated_ns), (RecorderState::Recording, 6));
    assert_eq!((seen.position_bytes, beside.counts()), (3_000, (32, 11, 20, 1)));
    progress.set_state(RecorderState::WaitingForRoom);
    assert_eq!(beside.sample().state, RecorderState::WaitingForRoom);
    drop(progress);
    assert_eq!(beside.sample().state, RecorderState::Gone);
}

#[test]
fn the_counters_continue_in_the_same_journal_as_if_no_recorder_had_died() {
    let beside = Beside::new("continues");
    let mut first = beside.own(7, "/journals/day", 1);
    first.polled(10, 11, 960, 5);
    drop(first);
    // It had recorded five messages more before it died.
    let mut second = beside.own(7, "/journals/day", 16);
    assert_eq!(beside.counts(), (16, 15, 0, 0));
    // It shows a gap, and dies before the excerpt after it: the next recorder finds the gap again.
    second.lost(100);
    second.polled(0, 116, 2_000, 6);
    assert_eq!(beside.counts(), (116, 15, 100, 1));
    drop(second);
    let mut third = beside.own(7, "/journals/day", 16);
    assert_eq!(beside.counts(), (16, 15, 0, 0));
    third.lost(104);
    third.polled(1, 121, 2_100, 7);
    assert_eq!(beside.counts(), (121, 16, 104, 1));
}

#[test]
fn another_journal_or_another_ring_begins_at_zero() {
    let beside = Beside::new("another");
    beside.own(7, "/journals/day", 1).polled(10, 11, 960, 5);
    let other = beside.own(7, "/journals/other", 3);
    assert_eq!(
        (beside.sample().journal, beside.counts()),
        ("/journals/other".into(), (3, 0, 0, 0))
    );
    drop(other);
    let mapped = RecorderReader::open(beside.0.path()).unwrap();
    let next = beside.own(8, "/journals/other", 5);
    assert_eq!((beside.sample().ring_created_ns, beside.counts()), (8, (5, 0, 0, 0)));
    // A reader of the earlier ring keeps its words, and can find that they are no longer current.
    assert_eq!((mapped.sample().ring_created_ns, mapped.region().check().is_err()), (7, true));
    drop(next);
}

#[test]
fn a_second_recorder_is_refused_and_a_damaged_region_replaced_but_no_other_file() {
    let beside = Beside::new("second");
    let path = recorder_path(beside.0.path());
    let first = beside.own(7, "/journals/day", 1);
    let second = RecorderProgress::own(beside.0.path(), 7, Path::new("/journals/day"), 1);
    assert!(matches!(second.unwrap_err().refusal(), Refusal::OwnerAlive { .. }));
    drop(first);
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_len(5_000).unwrap();
    assert!(RecorderReader::open(beside.0.path()).is_err());
    drop(beside.own(7, "/journals/day", 1));
    assert_eq!(beside.counts(), (1, 0, 0, 0));
    fs::write(&path, "the only copy of something else").unwrap();
    let refused = RecorderProgress::own(beside.0.path(), 7, Path::new("/journals/day"), 1);
    assert!(matches!(refused.unwrap_err().refusal(), Refusal::NotARegion { .. }));
    assert_eq!(fs::read(&path).unwrap(), b"the only copy of something else");
}
