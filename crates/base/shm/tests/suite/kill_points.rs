//! A process killed before each of its stores, in turn.

use std::{os::unix::process::ExitStatusExt as _, path::Path};

use nanotape_harness::Scratch;
use nanotape_shm::{Origin, OwnerState, Refusal, SharedRegion, inspect};

use crate::{KIND, children::start, create, is_filled};

/// Runs the role with the first store fatal, then the second, until it survives; returns the number
/// of stores. `prepare` runs before each, `examine` after each kill.
pub(crate) fn at_every_store(
    role: &str,
    path: &Path,
    mut prepare: impl FnMut(),
    mut examine: impl FnMut(u64),
) -> u64 {
    for number in 1.. {
        prepare();
        let mut peer = start(role, path, number);
        let said = peer.receive_or_end();
        let status = peer.end();
        if let Some(said) = said {
            assert!(status.success());
            assert_eq!(said, format!("survived {} stores", number - 1));
            println!("{role}: killed at each of {} stores", number - 1);
            return number - 1;
        }
        assert_eq!(status.signal(), Some(9), "{role}, store {number}");
        examine(number);
    }
    unreachable!("the loop ends after the last store")
}

#[test]
fn a_creator_killed_at_any_store_leaves_nothing_to_read_and_nothing_in_the_way() {
    let place = Scratch::new("create-kill");
    let prepare = || place.clear();
    let points = at_every_store("create and die", place.path(), prepare, |number| {
        let refused = SharedRegion::open(place.path(), KIND).unwrap_err();
        assert_eq!(*refused.refusal(), Refusal::HalfCreated, "store {number}");
        assert_eq!(inspect(place.path()).unwrap().refusal, Some(Refusal::HalfCreated));
        let (region, origin) = create(place.path()).unwrap();
        assert_eq!((origin, region.epoch()), (Origin::Created, 1));
        assert!(is_filled(SharedRegion::open(place.path(), KIND).unwrap().words()));
    });
    assert_eq!(points, 11 + 4 + 6, "constant words, the test's own, live words");
}

#[test]
fn an_owner_killed_at_any_store_of_a_take_over_leaves_a_region_to_take_over() {
    let place = Scratch::new("take-kill");
    let prepare = || {
        place.clear();
        create(place.path()).unwrap().0.close();
    };
    let points = at_every_store("take over and die", place.path(), prepare, |number| {
        let reader = SharedRegion::open(place.path(), KIND).unwrap();
        assert!(is_filled(reader.words()));
        let owner = reader.owner();
        assert_ne!(owner.state, OwnerState::Alive, "store {number}");
        // The number 0, the start, the epoch, the number, the state: unknown while they change.
        assert_eq!(owner.pid == 0, (2..=4).contains(&number), "store {number}: {owner:?}");
        assert_eq!(owner.started.unix_s() == 0, owner.pid == 0, "store {number}: {owner:?}");
        let before = reader.epoch();
        assert_eq!(before, if number <= 3 { 1 } else { 2 });
        let (region, origin) = create(place.path()).unwrap();
        assert!(matches!(origin, Origin::TakenOver { .. }));
        assert_eq!((region.epoch(), reader.epoch()), (before + 1, before + 1));
        assert_eq!(reader.owner().pid, std::process::id());
    });
    assert_eq!(points, 5);
}

#[test]
fn an_owner_killed_before_it_could_say_closed_is_dead() {
    let place = Scratch::new("close-kill");
    let points = at_every_store(
        "close and die",
        place.path(),
        || (),
        |_| {
            let reader = SharedRegion::open(place.path(), KIND).unwrap();
            assert_eq!(reader.owner().state, OwnerState::Dead);
        },
    );
    assert_eq!(points, 1);
}

/// System calls are not kill points: the states between them are made by hand.
#[test]
fn what_a_creator_leaves_between_its_system_calls_is_finished_by_the_next() {
    let place = Scratch::new("calls");
    create(place.path()).unwrap().0.close();
    let whole = std::fs::read(place.path()).unwrap();
    let mut reserved = vec![0; whole.len()];
    reserved[..24].copy_from_slice(&whole[..24]);
    for left in [&b""[..], &whole[..24], &reserved] {
        place.clear();
        std::fs::write(place.path(), left).unwrap();
        let refused = SharedRegion::open(place.path(), KIND).unwrap_err();
        assert_eq!(*refused.refusal(), Refusal::HalfCreated, "{} bytes", left.len());
        let (_region, origin) = create(place.path()).unwrap();
        assert_eq!(origin, Origin::Created);
        assert!(is_filled(SharedRegion::open(place.path(), KIND).unwrap().words()));
    }
}
