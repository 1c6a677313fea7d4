//! A region that many processes write, while they join, are killed and join again.

use std::{collections::BTreeSet, time::Duration};

use nanotape_harness::{Peer, Random, Scratch, campaign};
use nanotape_shm::{
    JoinedRegion, OwnedRegion, Refusal, RegionOptions, SharedRegion, StillRegion, remove,
};

use crate::{
    KIND, children::start, create, fill, is_filled, join, kill_points::at_every_store, spec,
};

#[test]
fn a_creator_killed_at_any_store_leaves_a_region_to_join() {
    let place = Scratch::new("join-kill");
    let prepare = || place.clear();
    let points = at_every_store("join and die", place.path(), prepare, |number| {
        let (region, is_new) = join(place.path()).unwrap();
        assert!(is_filled(region.share().words()), "store {number}");
        assert!(is_new, "store {number}");
    });
    assert_eq!(points, 11 + 4 + 6, "constant words, the test's own, live words");
}

#[test]
fn processes_that_join_at_once_have_one_region_whichever_are_killed() {
    let place = Scratch::new("join-race");
    let mut random = Random::new(7);
    for round in 0..campaign(30) {
        place.clear();
        let mut peers: Vec<Peer> = (0..5).map(|_| start("join", place.path(), 8)).collect();
        // Two of them at any moment of their start.
        for peer in peers.drain(..2) {
            std::thread::sleep(Duration::from_micros(random.below(3_000)));
            let mut peer = peer;
            peer.kill();
        }
        let said: Vec<String> = peers.iter_mut().map(Peer::receive).collect();
        let created = said.iter().filter(|said| said.starts_with("created")).count();
        assert!(created <= 1, "round {round}: {said:?}");
        let numbers: BTreeSet<&str> =
            said.iter().filter_map(|said| said.rsplit(' ').next()).collect();
        assert_eq!(numbers.len(), peers.len(), "round {round}: {said:?}");
        let region = SharedRegion::open(place.path(), KIND).unwrap();
        assert!(is_filled(region.words()));
        for number in numbers {
            assert!(region.is_writer_alive(number.parse().unwrap()), "round {round}: {said:?}");
        }
    }
}

#[test]
fn the_number_of_a_killed_writer_is_free_again() {
    let place = Scratch::new("join-cycles");
    let (region, is_new) = join(place.path()).unwrap();
    assert!(is_new);
    let own = region.take_slot(1..=2).unwrap().unwrap();
    assert_eq!(own.number(), 1);
    let cycles = campaign(200);
    for cycle in 0..cycles {
        let mut peer = start("join", place.path(), 2);
        assert_eq!(peer.receive(), "joined 2", "cycle {cycle}");
        assert!(region.is_writer_alive(2) && region.take_slot(1..=2).unwrap().is_none());
        peer.kill();
        assert!(!region.is_writer_alive(2), "cycle {cycle}");
    }
    println!("{cycles} writers joined and were killed");
    assert!(region.share().is_writer_alive(1));
    drop(own);
    assert!(!region.share().is_writer_alive(1));
}

#[test]
fn a_region_is_not_removed_or_replaced_while_a_process_can_write_it() {
    let place = Scratch::new("join-remove");
    let (first, _) = join(place.path()).unwrap();
    let (second, is_new) = join(place.path()).unwrap();
    assert!(!is_new);
    first.words()[5].store(17);
    assert_eq!(second.words()[5].load(), 17);
    drop(first);
    let refused = [
        remove(place.path()).map(|_| ()),
        create(place.path()).map(|_| ()),
        OwnedRegion::replace(place.path(), spec(), &RegionOptions::default(), fill).map(|_| ()),
    ];
    for refused in refused {
        let refused = refused.unwrap_err();
        assert!(matches!(refused.refusal(), Refusal::LockedByReader), "{refused}");
    }
    drop(second);
    remove(place.path()).unwrap();
}

#[test]
fn a_region_that_is_held_still_has_no_writer_and_gives_way_to_its_copy() {
    let (place, copy) = (Scratch::new("join-still"), Scratch::new("join-still-copy"));
    let (writer, _) = join(place.path()).unwrap();
    let refused = StillRegion::hold(place.path()).unwrap_err();
    assert_eq!(*refused.refusal(), Refusal::LockedByReader);
    drop(writer);
    let reader = SharedRegion::open(place.path(), KIND).unwrap();
    let still = StillRegion::hold(place.path()).unwrap();
    assert_eq!((still.path(), still.mode().unwrap()), (place.path(), 0o600));
    let join_now = || {
        let options = RegionOptions::default();
        JoinedRegion::open(place.path(), KIND, spec().layout, &options)
    };
    assert_eq!(*join_now().unwrap_err().refusal(), Refusal::BeingCreated);
    assert!(StillRegion::hold(place.path()).is_err() && is_filled(reader.words()));
    let (other, _) = join(copy.path()).unwrap();
    other.words()[5].store(17);
    still.replace_with(copy.path()).unwrap();
    assert_eq!(*reader.check().unwrap_err().refusal(), Refusal::Replaced);
    assert_eq!(join_now().unwrap().words()[5].load(), 17);
    assert!(!copy.path().exists());
}

#[test]
fn a_region_of_one_owner_is_not_joined() {
    let place = Scratch::new("join-owned");
    let (owner, _) = create(place.path()).unwrap();
    let options = RegionOptions::default();
    let refused = JoinedRegion::open(place.path(), KIND, spec().layout, &options).unwrap_err();
    assert_eq!(*refused.refusal(), Refusal::BeingCreated);
    owner.close();
    let other = RegionOptions { mode: 0o644, ..options };
    let region = JoinedRegion::open(place.path(), KIND, spec().layout, &other).unwrap();
    assert!(is_filled(region.share().words()));
    let refused = JoinedRegion::open(place.path(), KIND, 99, &RegionOptions::default());
    assert!(matches!(refused.unwrap_err().refusal(), Refusal::Layout { .. }));
}

#[test]
fn numbers_of_writers_on_the_heap_are_given_back_too() {
    let region = JoinedRegion::on_heap(spec());
    let slots = [(), ()].map(|()| region.take_slot(1..=2).unwrap().unwrap());
    assert_eq!(slots.each_ref().map(|slot| slot.number()), [1, 2]);
    assert!(region.take_slot(1..=2).unwrap().is_none());
    let [first, second] = slots;
    drop(first);
    assert!(!region.is_writer_alive(1) && region.share().is_writer_alive(2));
    assert_eq!(region.take_slot(1..=2).unwrap().unwrap().number(), 1);
    drop(second);
}
