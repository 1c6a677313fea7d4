//! Followers of a ring that does not exist: who counts, what is reported, and what each has read.

use std::{
    cell::RefCell,
    fs::{self, File},
    path::Path,
};

use nanotape_board::{FollowerError, FollowerStart, NamedFollower, follower_names, follower_path};
use nanotape_harness::Scratch;
use nanotape_shm::{OwnerState, Refusal};
use nanotape_tape::Gap;

use super::*;

thread_local! {
    static LINES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

fn keep(reported: Reported<'_>) {
    let line = match reported {
        Reported::Note(line) => line.to_owned(),
        Reported::Problem(line) => format!("problem: {line}"),
    };
    LINES.with_borrow_mut(|lines| lines.push(line));
}

/// The lines since the last call.
fn lines() -> Vec<String> {
    LINES.take()
}

/// A file in the place of a ring, and the plant that waits for its followers.
struct Beside {
    scratch: Scratch,
    first_sequence: u64,
}

const CREATED_NS: u64 = 7;
const EPOCH: u64 = 3;

impl Beside {
    fn new(name: &str, first_sequence: u64) -> Self {
        let scratch = Scratch::folder(name);
        fs::write(scratch.join("ring"), "a ring").unwrap();
        Self { scratch, first_sequence }
    }

    fn ring(&self) -> PathBuf {
        self.scratch.join("ring")
    }

    fn follow(&self, name: &str, first: u64) -> NamedFollower {
        self.try_follow(name, first, CREATED_NS, Some(EPOCH)).unwrap()
    }

    fn try_follow(
        &self,
        name: &str,
        first: u64,
        ring_created_ns: u64,
        writer_epoch: Option<u64>,
    ) -> Result<NamedFollower, FollowerError> {
        let (ring, next_sequence) = (&self.ring(), first);
        let position_bytes = first * 100;
        NamedFollower::begin(
            name,
            &FollowerStart { ring, ring_created_ns, writer_epoch, next_sequence, position_bytes },
        )
    }

    fn roster(&self) -> Roster {
        lines();
        let (path, first_sequence) = (self.ring(), self.first_sequence);
        let ring = HeldRing { path, created_ns: CREATED_NS, epoch: EPOCH, first_sequence };
        Roster::new(ring, Report::new(keep), Arc::default())
    }
}

/// Checks until the folder was searched.
fn check(roster: &mut Roster) {
    (0..5).for_each(|_| roster.check());
}

fn only(roster: &Roster, end: u64) -> FollowerSummary {
    let [one] = roster.summary(end).try_into().unwrap();
    one
}

#[test]
fn a_follower_shows_where_it_is_and_what_it_lost() {
    let beside = Beside::new("shows", 1);
    let mut follower = beside.follow("to-disk", 5);
    let sample = || FollowerReader::open(&beside.ring(), "to-disk").unwrap().sample();
    let seen = sample();
    assert_eq!((seen.first_sequence, seen.next_sequence, seen.position_bytes), (5, 5, 500));
    assert_eq!((seen.owner.state, seen.lost), (OwnerState::Alive, 0));
    assert!(seen.follows(CREATED_NS, EPOCH));
    assert!(!seen.follows(CREATED_NS + 1, EPOCH) && !seen.follows(CREATED_NS, EPOCH + 1));
    follower.show(9, 900);
    follower.lose(&Gap { from: 9, to: 11 });
    follower.lose(&Gap { from: 20, to: 20 });
    let seen = sample();
    assert_eq!((seen.next_sequence, seen.position_bytes), (9, 900));
    assert_eq!((seen.lost, seen.last_lost_sequence), (4, 20));
    drop(follower);
    assert_eq!(sample().owner.state, OwnerState::Closed);
    assert_eq!(follower_names(&beside.ring()), ["to-disk"]);

    let every = beside.try_follow("every", 1, CREATED_NS, None).unwrap();
    let seen = FollowerReader::open(&beside.ring(), "every").unwrap().sample();
    assert!(seen.follows(CREATED_NS, 1) && seen.follows(CREATED_NS, 99));
    drop(every);
}

#[test]
fn a_name_is_valid_and_belongs_to_one_process_and_a_file_is_not_overwritten() {
    let beside = Beside::new("names", 1);
    for name in ["", "-x", ".x", "a/b", "..", "a b", "\u{e9}", &"x".repeat(101)] {
        let error = beside.try_follow(name, 1, 0, None).map(drop).unwrap_err();
        assert!(matches!(error, FollowerError::Name { .. }), "{error}");
        assert!(follower_path(&beside.ring(), name).is_err(), "{name}");
    }
    let first = beside.follow("a", 1);
    let error = beside.try_follow("a", 1, CREATED_NS, None).map(drop).unwrap_err().to_string();
    let expected = format!("{}: process {}", beside.ring().display(), std::process::id());
    assert!(error.starts_with(&expected), "{error}");
    assert!(error.ends_with("follows this ring as a: choose another name"), "{error}");
    // Its successor has a file of its own, so that a plant does not mix the words of both.
    let reader = FollowerReader::open(&beside.ring(), "a").unwrap();
    drop(first);
    let second = beside.follow("a", 4);
    assert_eq!(
        (reader.sample().next_sequence, reader.sample().owner.state),
        (1, OwnerState::Closed)
    );
    drop(second);
    let path = follower_path(&beside.ring(), "b").unwrap();
    fs::write(&path, "the only copy of something else").unwrap();
    let error = beside.try_follow("b", 1, CREATED_NS, None).map(drop).unwrap_err();
    let FollowerError::Region(error) = error else { panic!("{error}") };
    assert!(matches!(error.refusal(), Refusal::NotARegion { .. }), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"the only copy of something else");
}

#[test]
fn only_living_followers_of_this_plant_have_joined() {
    let beside = Beside::new("joined", 1);
    let _good = [beside.follow("b", 1), beside.follow("a", 1)];
    let _every = beside.try_follow("c", 1, CREATED_NS, None).unwrap();
    let _other_ring = beside.try_follow("d", 1, CREATED_NS + 1, Some(EPOCH)).unwrap();
    let _other_writer = beside.try_follow("e", 1, CREATED_NS, Some(EPOCH - 1)).unwrap();
    drop(beside.follow("f", 1));
    fs::write(follower_path(&beside.ring(), "g").unwrap(), "no region").unwrap();
    fs::write(beside.scratch.join("ring.follower.-h"), "no name").unwrap();
    let mut roster = beside.roster();
    assert_eq!(roster.before_the_run(), ["a", "b", "c"]);
    drop(_good);
    assert_eq!(roster.before_the_run(), ["c"]);
    assert_eq!(lines(), [""; 0]);
}

#[test]
fn a_follower_that_ends_or_joins_is_reported_once() {
    let beside = Beside::new("reported", 10);
    let follower = beside.follow("a", 10);
    let mut roster = beside.roster();
    assert_eq!(roster.before_the_run(), ["a"]);
    roster.begin();
    check(&mut roster);
    assert_eq!((lines(), only(&roster, 20).state), (vec![], FollowerState::Following));
    follower.show(15, 1_500);
    drop(follower);
    check(&mut roster);
    check(&mut roster);
    let pid = std::process::id();
    let expected = format!(
        "problem: follower a (process {pid}) ended before message 15; the plant goes on without it"
    );
    assert_eq!(lines(), [expected]);
    let seen = only(&roster, 20);
    assert_eq!((seen.state, seen.read, seen.missing), (FollowerState::Ended, 5, 5));
    assert!(!seen.is_whole && seen.was_promised && !roster.is_reading(20));

    // In time: nothing is missing between the two.
    let again = beside.follow("a", 15);
    check(&mut roster);
    assert_eq!(lines(), ["follower a joined again at message 15"]);
    assert!(roster.is_reading(20));
    again.show(20, 2_000);
    assert!(!roster.is_reading(20));
    let seen = only(&roster, 20);
    assert_eq!((seen.state, seen.read, seen.missing), (FollowerState::Finished, 10, 0));
    assert!(seen.is_whole);

    // Too late.
    drop(again);
    check(&mut roster);
    let late = beside.follow("a", 24);
    late.show(30, 3_000);
    check(&mut roster);
    assert_eq!(lines().len(), 2);
    let seen = only(&roster, 30);
    assert_eq!((seen.state, seen.read, seen.missing), (FollowerState::Finished, 16, 4));
    assert!(!seen.is_whole);
}

#[test]
fn a_follower_that_ends_with_the_plant_is_not_reported() {
    let beside = Beside::new("ends", 1);
    let follower = beside.follow("a", 1);
    let mut roster = beside.roster();
    roster.before_the_run();
    roster.begin();
    roster.shared.is_ending.store(true, Ordering::Release);
    follower.show(8, 800);
    drop(follower);
    check(&mut roster);
    assert_eq!((lines(), only(&roster, 8).state), (vec![], FollowerState::Finished));
}

#[test]
fn one_that_joins_later_is_waited_for_and_does_not_count() {
    let beside = Beside::new("later", 1);
    let mut roster = beside.roster();
    roster.before_the_run();
    roster.begin();
    let mut version = 0;
    assert_eq!(roster.shared.newer(&mut version).unwrap().len(), 0);
    let mut late = beside.follow("late", 50);
    check(&mut roster);
    assert_eq!(lines(), ["follower late joined at message 50"]);
    assert_eq!(roster.shared.newer(&mut version).unwrap()[0].position_bytes(), 5_000);
    assert!(roster.shared.newer(&mut version).is_none());
    late.lose(&Gap { from: 50, to: 59 });
    late.show(70, 7_000);
    drop(late);
    let summary = FollowersSummary { followers: roster.summary(100), waited_ns: 0 };
    let [seen] = summary.followers.as_slice() else { panic!("{summary:?}") };
    assert_eq!((seen.read, seen.missing, seen.is_whole), (10, 40, false));
    assert!(!seen.was_promised && summary.is_whole());
}

#[test]
fn a_truncated_region_is_not_waited_for() {
    let beside = Beside::new("truncated", 1);
    let _follower = beside.follow("a", 1);
    let mut roster = beside.roster();
    roster.before_the_run();
    roster.begin();
    truncate(&follower_path(&beside.ring(), "a").unwrap());
    assert!(!roster.is_reading(100));
    assert_eq!(only(&roster, 100).state, FollowerState::Killed);
}

/// The words are in the first page after the header.
fn truncate(region: &Path) {
    nanotape_shm::guard_against_truncation().unwrap();
    File::options().write(true).open(region).unwrap().set_len(4_096).unwrap();
}
