//! The owner of a region while processes are stopped, killed, or race for it.

use std::sync::atomic::{AtomicBool, Ordering};

use nanotape_harness::{Peer, Scratch};
use nanotape_shm::{
    Origin, OwnedRegion, OwnerState, Refusal, RegionOptions, RegionSpec, SharedRegion, inspect,
    remove,
};
use rustix::fs::{FlockOperation, fcntl_lock};

use crate::{KIND, children::start, create, fill, is_filled, spec};

#[test]
fn a_lock_of_somebody_who_only_reads_makes_no_owner_and_is_named_when_it_is_in_the_way() {
    let place = Scratch::new("read-locked");
    let mut owner = start("own", place.path(), 0);
    assert_eq!(owner.receive(), "created");
    let reader = SharedRegion::open(place.path(), KIND).unwrap();
    owner.kill();
    let file = std::fs::File::open(place.path()).unwrap();
    fcntl_lock(&file, FlockOperation::NonBlockingLockShared).unwrap();
    assert_eq!(reader.owner().state, OwnerState::Dead);
    let refused = create(place.path()).unwrap_err();
    assert!(matches!(refused.refusal(), Refusal::LockedByReader), "{refused}");
    drop(file);
    create(place.path()).unwrap();
}

#[test]
fn the_creation_time_stays_through_owners_and_is_another_one_in_a_new_region() {
    let place = Scratch::new("created");
    let (first, _) = create(place.path()).unwrap();
    let reader = SharedRegion::open(place.path(), KIND).unwrap();
    let created_ns = reader.created_ns();
    assert!(created_ns > 1_600_000_000_000_000_000, "{created_ns}");
    assert_eq!(first.share().created_ns(), created_ns);
    first.close();
    let (second, origin) = create(place.path()).unwrap();
    assert!(matches!(origin, Origin::TakenOver { .. }));
    assert_eq!(SharedRegion::open(place.path(), KIND).unwrap().created_ns(), created_ns);
    second.close();
    place.clear();
    let (_third, _) = create(place.path()).unwrap();
    assert_ne!(SharedRegion::open(place.path(), KIND).unwrap().created_ns(), created_ns);
    assert_eq!(reader.created_ns(), created_ns);
    assert_eq!(OwnedRegion::on_heap(spec()).share().created_ns(), 0);
}

#[test]
fn a_killed_owner_is_dead_and_the_next_one_takes_over() {
    let place = Scratch::new("killed");
    let mut owner = start("own", place.path(), 0);
    assert_eq!(owner.receive(), "created");
    let reader = SharedRegion::open(place.path(), KIND).unwrap();
    let seen = reader.owner();
    assert_eq!((seen.state, seen.pid, seen.epoch), (OwnerState::Alive, owner.pid(), 1));
    assert!(seen.started.unix_s() > 1_600_000_000, "{}", seen.started);
    assert!(matches!(
        *create(place.path()).unwrap_err().refusal(),
        Refusal::OwnerAlive { pid, started } if pid == owner.pid() && started == seen.started
    ));
    assert!(matches!(*remove(place.path()).unwrap_err().refusal(), Refusal::OwnerAlive { .. }));
    owner.kill();
    assert_eq!(reader.owner().state, OwnerState::Dead);
    let (region, origin) = create(place.path()).unwrap();
    let Origin::TakenOver { previous } = origin else { panic!("{origin:?}") };
    assert_eq!((previous.state, previous.pid), (OwnerState::Dead, owner.pid()));
    assert_eq!((region.epoch(), reader.epoch()), (2, 2));
    assert_eq!(reader.owner().pid, std::process::id());
    assert_eq!(reader.owner().state, OwnerState::Alive);
    assert!(is_filled(reader.words()));
    region.words()[1].store(77);
    assert_eq!(reader.words()[1].load(), 77);
    reader.check().unwrap();
}

#[test]
fn a_stopped_owner_is_alive() {
    let place = Scratch::new("stopped");
    let mut owner = start("own", place.path(), 0);
    assert_eq!(owner.receive(), "created");
    owner.stop();
    let reader = SharedRegion::open(place.path(), KIND).unwrap();
    assert_eq!(reader.owner().state, OwnerState::Alive);
    assert!(create(place.path()).is_err());
    owner.resume();
    owner.send("close");
    assert!(owner.end().success());
    assert_eq!(reader.owner().state, OwnerState::Closed);
}

#[test]
fn of_creators_at_the_same_time_exactly_one_wins() {
    let place = Scratch::new("race");
    for round in 0..8 {
        // The state at the start: no file, that of a killed creator, or a region without an owner.
        match round % 3 {
            0 => {}
            1 => std::fs::write(place.path(), b"").unwrap(),
            _ => create(place.path()).unwrap().0.close(),
        }
        let start = |_| start("race", place.path(), 0);
        let mut peers: Vec<Peer> = (0..4).map(start).collect();
        for peer in &mut peers {
            assert_eq!(peer.receive(), "waiting");
        }
        for peer in &mut peers {
            peer.send("go");
        }
        let said: Vec<String> = peers.iter_mut().map(|h| h.receive()).collect();
        let lost = |said: &&String| said.contains("alive") || said.contains("being created");
        assert_eq!(said.iter().filter(lost).count(), 3, "{said:?}");
        let reader = SharedRegion::open(place.path(), KIND).unwrap();
        assert!(is_filled(reader.words()) && reader.owner().state == OwnerState::Alive);
        drop(peers);
        remove(place.path()).unwrap();
    }
}

#[test]
fn a_region_in_the_making_is_not_read_and_one_left_so_is_finished_by_the_next() {
    let place = Scratch::new("half");
    let mut creator = start("half", place.path(), 0);
    assert_eq!(creator.receive(), "creating");
    let refused = |error: nanotape_shm::RegionError| *error.refusal();
    let open = || SharedRegion::open(place.path(), KIND).unwrap_err();
    assert_eq!(refused(open()), Refusal::BeingCreated);
    assert_eq!(refused(create(place.path()).unwrap_err()), Refusal::BeingCreated);
    assert_eq!(inspect(place.path()).unwrap().refusal, Some(Refusal::BeingCreated));
    creator.kill();
    assert_eq!(refused(open()), Refusal::HalfCreated);
    assert_eq!(inspect(place.path()).unwrap().refusal, Some(Refusal::HalfCreated));
    let take = OwnedRegion::take_over(place.path(), KIND, 3, &RegionOptions::default());
    assert_eq!(refused(take.unwrap_err()), Refusal::HalfCreated);
    let (region, origin) = create(place.path()).unwrap();
    assert_eq!((origin, region.epoch()), (Origin::Created, 1));
    assert!(is_filled(region.share().words()));
}

#[test]
fn a_writer_that_panicked_is_dead_and_not_closed() {
    let place = Scratch::new("panic");
    assert!(!start("panic", place.path(), 0).end().success());
    let reader = SharedRegion::open(place.path(), KIND).unwrap();
    assert_eq!(reader.owner().state, OwnerState::Dead);
}

#[test]
fn an_initialiser_that_panics_leaves_nothing_that_can_be_read() {
    let place = Scratch::new("initialiser");
    let attempt = std::panic::catch_unwind(|| {
        let options = RegionOptions::default();
        OwnedRegion::create(place.path(), spec(), &options, |_| panic!("a bug")).map(|_| ())
    });
    assert!(attempt.is_err());
    let refused = SharedRegion::open(place.path(), KIND).unwrap_err();
    assert_eq!(*refused.refusal(), Refusal::HalfCreated);
    assert_eq!(create(place.path()).unwrap().1, Origin::Created);
}

#[test]
fn what_is_removed_or_replaced_is_seen_by_its_readers_and_stays_readable() {
    let place = Scratch::new("replaced");
    create(place.path()).unwrap().0.close();
    let old = SharedRegion::open(place.path(), KIND).unwrap();
    let larger = RegionSpec { words: 5_000, ..spec() };
    let options = RegionOptions::default();
    let refused = OwnedRegion::create(place.path(), larger, &options, fill).unwrap_err();
    assert!(matches!(*refused.refusal(), Refusal::Parameters { .. }));
    old.check().unwrap();
    let (owned, origin) = OwnedRegion::replace(place.path(), larger, &options, fill).unwrap();
    assert_eq!((origin, owned.epoch()), (Origin::Created, 1));
    assert_eq!(*old.check().unwrap_err().refusal(), Refusal::Replaced);
    assert!(is_filled(old.words()) && !old.is_lost());
    let refused = OwnedRegion::replace(place.path(), spec(), &options, fill).unwrap_err();
    assert!(matches!(*refused.refusal(), Refusal::OwnerAlive { .. }));
    drop(owned);
    let new = SharedRegion::open(place.path(), KIND).unwrap();
    let removed = remove(place.path()).unwrap();
    assert_eq!(removed.owner.unwrap().state, OwnerState::Closed);
    assert_eq!(*new.check().unwrap_err().refusal(), Refusal::Removed);
    assert_eq!(*remove(place.path()).unwrap_err().refusal(), Refusal::NotFound);
}

#[test]
fn take_over_needs_to_know_no_parameters() {
    let place = Scratch::new("take-over");
    create(place.path()).unwrap().0.close();
    let options = RegionOptions::default();
    let (region, origin) = OwnedRegion::take_over(place.path(), KIND, 3, &options).unwrap();
    assert_eq!(*region.spec(), spec());
    let Origin::TakenOver { previous } = origin else { panic!("{origin:?}") };
    assert_eq!((previous.state, previous.epoch), (OwnerState::Closed, 1));
    let refused = OwnedRegion::take_over(place.path(), KIND, 3, &options).unwrap_err();
    assert!(matches!(*refused.refusal(), Refusal::OwnerAlive { .. }));
}

#[test]
fn a_reader_in_the_owners_process_sees_the_owner_go() {
    let place = Scratch::new("same-process");
    let (region, _) = create(place.path()).unwrap();
    let shared = region.share();
    assert_eq!(shared.owner().state, OwnerState::Alive);
    assert_eq!(region.path(), Some(place.path()));
    drop(region);
    assert_eq!(shared.owner().state, OwnerState::Closed);
    // The reader still has the owner's open file, but does not keep the lock.
    let (_region, _) = create(place.path()).unwrap();
    assert_eq!((shared.owner().state, shared.epoch()), (OwnerState::Alive, 2));
}

#[test]
fn readers_and_inspectors_never_get_in_the_way_of_an_owner() {
    let place = Scratch::new("probes");
    create(place.path()).unwrap().0.close();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let reader = SharedRegion::open(place.path(), KIND).unwrap();
            while !done.load(Ordering::Relaxed) {
                reader.owner();
                inspect(place.path()).unwrap();
            }
        });
        for _ in 0..300 {
            create(place.path()).unwrap().0.close();
        }
        done.store(true, Ordering::Relaxed);
    });
}
