//! Loom models of successive owners: a reader gets the values of a single owner, and the words that
//! it sees of a region belong to the epoch that it sees.
//!
//! The words are those of the header that change, and one of a payload. The kernel's lock is a
//! mutex: it orders everything an owner did before its release before everything of the next one.

use std::{path::Path, sync::Arc};

use loom::{sync::Mutex, thread};

use super::{
    header::{EPOCH, OWNER, READY, live::WORDS},
    live,
    owner::{Owner, Started},
};
use crate::{
    models::{Case, Survivor, Weaken, check_every_site, death},
    word::{Word, as_read_only},
};

/// A region, and the lock of its file.
struct Region {
    live: Vec<Word>,
    payload: Word,
    is_locked: Mutex<bool>,
}

impl Region {
    /// A region without an owner.
    fn new() -> Arc<Self> {
        let live = (0..WORDS).map(|_| Word::new(0)).collect();
        Arc::new(Self { live, payload: Word::new(0), is_locked: Mutex::new(false) })
    }

    /// Takes the lock and enters.
    fn take(&self, epoch: u64, pid: u32) {
        self.lock(true);
        live::enter(&self.live, epoch, pid, Started::at_unix_s(100 + epoch));
    }

    fn lock(&self, is_locked: bool) {
        *self.is_locked.lock().unwrap() = is_locked;
    }

    fn owner(&self) -> Owner {
        live::owner(as_read_only(&self.live), || Some(*self.is_locked.lock().unwrap()))
    }

    fn epoch(&self) -> u64 {
        live::epoch(as_read_only(&self.live))
    }

    fn payload(&self) -> u64 {
        self.payload.as_read_only().load()
    }
}

/// The results of a reader in this thread while owners change in another.
fn race(
    region: Arc<Region>,
    owners: impl FnOnce(&Region) + Send + 'static,
    read: fn(&Region) -> String,
) -> String {
    let shared = Arc::clone(&region);
    let owners = thread::spawn(move || owners(&shared));
    let seen = read(&region);
    owners.join().unwrap();
    seen
}

/// Owner 1, and its start time.
fn owned(pid: u32) -> Arc<Region> {
    let region = Region::new();
    region.take(1, pid);
    region
}

fn described(region: &Region) -> String {
    let Owner { state, pid, started, epoch } = region.owner();
    format!("{epoch}: {pid} since {}, {state}", started.unix_s())
}

fn created(region: &Region) -> String {
    if !live::is_ready(as_read_only(&region.live)) {
        return "not ready".to_owned();
    }
    format!("{} in {}", region.payload(), described(region))
}

/// The word that is loaded between two loads of the epoch, if these are equal.
fn between(region: &Region) -> String {
    let before = region.epoch();
    let payload = region.payload();
    if region.epoch() == before { format!("{payload} in {before}") } else { "changed".to_owned() }
}

fn left(region: &Region) -> String {
    let owner = region.owner();
    format!("{} {}", owner.state, region.payload())
}

/// The first owner ends, and the next one takes over and works.
fn hand_over(is_closed: bool, pid: u32) -> impl FnOnce(&Region) + Send {
    move |region| {
        region.payload.store(1);
        if is_closed {
            live::close(&region.live);
        }
        region.lock(false);
        region.take(2, pid);
        region.payload.store(2);
    }
}

fn cases() -> Vec<Case> {
    let dead = &["alive 0", "alive 1", "dead 1"];
    vec![
        Case::new("region: opened while it is created", CREATED, || {
            let create = |region: &Region| {
                region.lock(true);
                region.payload.store(7);
                live::enter(&region.live, 1, 11, Started::at_unix_s(101));
            };
            race(Region::new(), create, created)
        }),
        Case::new("region: who owns it, of two owners", CLOSED, || {
            race(owned(11), hand_over(true, 12), described)
        }),
        Case::new("region: who owns it, when the first one died", DIED, || {
            race(owned(11), hand_over(false, 12), described)
        }),
        Case::new("region: who owns it, when both have number 1", SAME, || {
            race(owned(1), hand_over(true, 1), described)
        }),
        Case::new("region: what is seen between two loads of the epoch", BETWEEN, || {
            race(owned(11), hand_over(true, 12), between)
        }),
        Case::new(
            "region: what a closed owner leaves",
            &["alive 0", "alive 1", "closed 1"],
            || {
                let end = |region: &Region| {
                    region.payload.store(1);
                    live::close(&region.live);
                    region.lock(false);
                };
                race(owned(11), end, left)
            },
        ),
        Case::new("region: what a dead owner leaves", dead, || {
            let end = |region: &Region| {
                region.payload.store(1);
                region.lock(false);
            };
            race(owned(11), end, left)
        }),
    ]
}

const CREATED: &[&str] = &["7 in 1: 11 since 101, alive", "not ready"];
const CLOSED: &[&str] = &[
    "1: 0 since 0, alive",
    "1: 11 since 101, alive",
    "1: 11 since 101, closed",
    "2: 0 since 0, alive",
    "2: 12 since 102, alive",
];
const DIED: &[&str] = &[
    "1: 0 since 0, alive",
    "1: 11 since 101, alive",
    "1: 11 since 101, dead",
    "2: 0 since 0, alive",
    "2: 12 since 102, alive",
];
const SAME: &[&str] = &[
    "1: 0 since 0, alive",
    "1: 1 since 101, alive",
    "1: 1 since 101, closed",
    "2: 0 since 0, alive",
    "2: 1 since 102, alive",
];
const BETWEEN: &[&str] = &["0 in 1", "1 in 1", "1 in 2", "2 in 2", "changed"];

/// An owner that is killed before each of its stores, and the owner that readers then report.
fn deaths() -> impl Iterator<Item = Case> {
    // The number 0, the start, the epoch, the number, the state.
    let seen_after: [&[&str]; 6] = [
        &["1: 11 since 101, closed"],
        &["1: 0 since 0, closed"],
        &["1: 0 since 0, closed"],
        &["2: 0 since 0, closed"],
        &["2: 12 since 102, closed"],
        &["2: 12 since 102, dead"],
    ];
    (0..).zip(seen_after).map(|(stores, allowed)| {
        let name = format!("region: an owner killed after {stores} stores of entering");
        Case::new(name, allowed, move || {
            let region = owned(11);
            live::close(&region.live);
            region.lock(false);
            let shared = Arc::clone(&region);
            let dead = thread::spawn(move || {
                death::after(Some(stores));
                shared.take(2, 12);
                death::after(None);
                shared.lock(false);
            });
            dead.join().unwrap();
            described(&region)
        })
    })
}

/// Sites that no model needs, with the reason.
const SURVIVORS: &[Survivor] = &[
    (
        "region.epoch",
        "region/live.rs enter",
        "the fence of the number 0 orders what earlier owners stored, and the number behind it the rest",
    ),
    ("region.owner", "region/live.rs enter (2)", "the release fence just before it orders as much"),
    (
        "region.ready",
        "region/live.rs close",
        "an owner is called closed when the lock was let go, which orders as much",
    ),
    ("region.epoch", "region/live.rs owner", "the fence of the number behind it orders as much"),
    (
        "region.owner",
        "region/live.rs owner",
        "the fence of the state lets the second read find facts that are mixed",
    ),
];

#[test]
fn every_model_has_all_of_its_outcomes_and_no_other() {
    cases().iter().for_each(Case::check);
    deaths().for_each(|case| case.check());
}

#[test]
fn every_edge_is_needed() {
    for edge in [READY, EPOCH, OWNER] {
        let seen = cases().iter().find_map(|case| {
            let outcome = case.forbidden_without(Weaken::Edge(edge))?;
            Some(format!("{} | {} | {outcome}", edge.name(), case.name))
        });
        println!("{}", seen.unwrap_or_else(|| panic!("{} is not missed", edge.name())));
    }
}

#[test]
fn every_site_is_needed_or_listed_with_its_reason() {
    let source = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src"));
    let cases: Vec<Case> = cases().into_iter().chain(deaths()).collect();
    check_every_site(source, &[READY, EPOCH, OWNER], &cases, SURVIVORS);
}
