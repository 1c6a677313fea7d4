//! Two or three nodes whose every step is known.

use nanotape_harness::Random;
use nanotape_latest::LatestError;
use nanotape_link::Now;
use nanotape_peers::{
    FRAME_BYTES, PeerEvent, PeerOptions, PeerWriter, PeersError, PeersRefusal, STAMP_WORDS,
};

use crate::{
    machine::Machine,
    wire::{Cable, Pace},
};

pub(crate) const SECOND_NS: u64 = 1_000_000_000;

pub(crate) fn machine(node: u16, founding: &[u16]) -> Machine {
    let options = PeerOptions::new(1, node, u64::from(node) * 11, founding.to_vec());
    Machine::still(options, 100, &mut Random::new(u64::from(node)))
}

pub(crate) fn cable(machines: [usize; 2], now: Now) -> Cable {
    let pace = Pace { delay: 1, piece: 4_000, most: FRAME_BYTES };
    Cable::new(machines, [now; 2], pace, 5)
}

/// Lets all nodes work for some seconds; returns the bytes that were sent.
pub(crate) fn pass(
    machines: &mut [Machine],
    cables: &mut [Cable],
    since_ns: &mut u64,
    seconds: u64,
) -> Result<usize, PeersError> {
    let mut sent = 0;
    for _ in 0..seconds * 10 {
        *since_ns += SECOND_NS / 10;
        for machine in &mut *machines {
            let now = machine.now(*since_ns);
            machine.node.as_mut().unwrap().turn(now)?;
        }
        for cable in &mut *cables {
            let nows = cable.machines.map(|at| machines[at].now(*since_ns));
            sent += cable.pass(*since_ns, nows, &mut Random::new(1));
            for side in 0..2 {
                let node = machines[cable.machines[side]].node.as_mut().unwrap();
                cable.sides[side].turn(node, nows[side])?;
            }
        }
    }
    Ok(sent)
}

pub(crate) fn value_of(machine: &Machine, key: u64) -> Option<u64> {
    let mut value = [0; 1 + STAMP_WORDS];
    machine.writer.reader().get(&[key], &mut value).unwrap().then_some(value[0])
}

#[test]
fn the_later_write_wins_and_a_removal_is_forgotten_when_all_have_it() {
    let mut machines = [machine(1, &[1, 2]), machine(2, &[1, 2])];
    let mut since_ns = SECOND_NS;
    let mut cables = [cable([0, 1], machines[0].now(since_ns))];
    let now_ns = machines[0].now(since_ns).utc_ns;
    machines[0].writer.insert(&[7], &[1], now_ns).unwrap();
    machines[1].writer.insert(&[7], &[2], now_ns).unwrap();
    machines[1].writer.insert(&[8], &[3], now_ns - 50).unwrap();
    assert!(machines[0].writer.update(&[7], now_ns, |value| value[0] += 10).unwrap());
    pass(&mut machines, &mut cables, &mut since_ns, 2).unwrap();
    for machine in &machines {
        assert_eq!((value_of(machine, 7), value_of(machine, 8)), (Some(11), Some(3)));
    }
    // A clock behind changes nothing: the write has seen the entry.
    assert!(machines[1].writer.remove(&[7], 5).unwrap());
    assert!(!machines[1].writer.remove(&[7], 5).unwrap());
    assert!(!machines[1].writer.update(&[7], 5, |_| ()).unwrap());
    pass(&mut machines, &mut cables, &mut since_ns, 2).unwrap();
    let reader = machines[0].writer.reader();
    assert_eq!((value_of(&machines[0], 7), reader.len().unwrap()), (None, 1));
    // It is kept as long as clocks can differ.
    assert_eq!((machines[0].removed(), machines[1].removed()), (1, 1));
    pass(&mut machines, &mut cables, &mut since_ns, 62).unwrap();
    assert_eq!((machines[0].removed(), machines[1].removed()), (0, 0));
    assert_eq!(pass(&mut machines, &mut cables, &mut since_ns, 5).unwrap(), 0);
}

#[test]
fn a_slow_link_carries_the_newest_state_and_not_the_history() {
    let mut machines = [machine(1, &[1, 2]), machine(2, &[1, 2])];
    let mut since_ns = SECOND_NS;
    let mut cables = [cable([0, 1], machines[0].now(since_ns))];
    pass(&mut machines, &mut cables, &mut since_ns, 1).unwrap();
    for number in 0..10_000 {
        let now_ns = machines[0].now(since_ns).utc_ns;
        machines[0].writer.insert(&[number % 4], &[number], now_ns).unwrap();
        let now = machines[0].now(since_ns);
        machines[0].node.as_mut().unwrap().turn(now).unwrap();
    }
    let sent = pass(&mut machines, &mut cables, &mut since_ns, 2).unwrap();
    assert!(sent < 1_500, "{sent} bytes");
    assert_eq!(value_of(&machines[1], 3), Some(9_999));
}

#[test]
fn a_node_that_was_away_gets_what_has_changed() {
    let mut machines = [machine(1, &[1, 2]), machine(2, &[1, 2])];
    let mut since_ns = SECOND_NS;
    let now_ns = machines[0].now(since_ns).utc_ns;
    for key in 0..90 {
        machines[0].writer.insert(&[key], &[key], now_ns).unwrap();
    }
    let mut cables = [cable([0, 1], machines[0].now(since_ns))];
    let all = pass(&mut machines, &mut cables, &mut since_ns, 2).unwrap();
    machines[0].writer.insert(&[5], &[77], now_ns).unwrap();
    let mut cables = [cable([0, 1], machines[0].now(since_ns))];
    let changed = pass(&mut machines, &mut cables, &mut since_ns, 2).unwrap();
    assert_eq!(value_of(&machines[1], 5), Some(77));
    assert!(all > 90 * 32 && changed < 1_500, "{all} and {changed} bytes");
}

#[test]
fn connections_that_break_soon_make_progress() {
    let options = |node| PeerOptions::new(1, node, u64::from(node) * 11, vec![1, 2]);
    let keys = 3_000;
    let mut machines =
        [1, 2].map(|node| Machine::still(options(node), keys, &mut Random::new(node.into())));
    let mut since_ns = SECOND_NS;
    let now_ns = machines[0].now(since_ns).utc_ns;
    for key in 0..keys {
        machines[0].writer.insert(&[key], &[key], now_ns).unwrap();
    }
    // Each connection carries 30 pieces each way, less than a third of the entries.
    let pace = Pace { delay: 1, piece: 1_000, most: FRAME_BYTES };
    let mut connections = 0;
    while machines[1].latest.len() < keys || machines[0].contents() != machines[1].contents() {
        let now = machines[0].now(since_ns);
        let mut cables = [Cable::new([0, 1], [now; 2], pace, 5)];
        pass(&mut machines, &mut cables, &mut since_ns, 3).unwrap();
        connections += 1;
        assert!(connections < 12, "{} keys have come", machines[1].latest.len());
    }
    assert!(connections > 3);
    // What has come is not sent again.
    let mut cables = [cable([0, 1], machines[0].now(since_ns))];
    pass(&mut machines, &mut cables, &mut since_ns, 2).unwrap();
    let mut cables = [cable([0, 1], machines[0].now(since_ns))];
    let sent = pass(&mut machines, &mut cables, &mut since_ns, 2).unwrap();
    assert!(sent < 1_500, "{sent} bytes");
}

#[test]
fn a_stopped_writer_keeps_its_entry_and_no_other_one() {
    let mut machines = [machine(1, &[1, 2]), machine(2, &[1, 2])];
    let mut since_ns = SECOND_NS;
    let mut cables = [cable([0, 1], machines[0].now(since_ns))];
    let now_ns = machines[0].now(since_ns).utc_ns;
    for key in 0..90 {
        machines[0].writer.insert(&[key], &[key], now_ns).unwrap();
    }
    pass(&mut machines, &mut cables, &mut since_ns, 2).unwrap();
    // Another key of the same group, and one of another group, are removed.
    let group = |key: u64| machines[1].latest.group_with(&[key]).unwrap();
    let beside = (1..90).find(|key| group(*key) == group(0)).unwrap();
    let other = (1..90).find(|key| group(*key) != group(0)).unwrap();
    for key in [beside, other] {
        assert!(machines[1].writer.remove(&[key], now_ns).unwrap());
    }
    let mut stopped = machines[1].another_writer();
    let held = stopped.update(&[0], now_ns, |value| {
        value[0] = 5;
        // The group is locked until this closure ends.
        since_ns += SECOND_NS;
        let now_ns = machines[0].now(since_ns).utc_ns;
        let changed = (0..90).filter(|key| ![beside, other].contains(key));
        changed.for_each(|key| machines[0].writer.insert(&[key], &[1_000], now_ns).unwrap());
        machines[0].writer.insert(&[95], &[1_000], now_ns).unwrap();
        machines[1].writer.insert(&[200], &[2_000], now_ns).unwrap();
        pass(&mut machines, &mut cables, &mut since_ns, 5).unwrap();
        let missing: Vec<u64> = (0..96)
            .filter(|key| ![beside, other].contains(key) && !(90..95).contains(key))
            .filter(|key| value_of(&machines[1], *key) != Some(1_000))
            .collect();
        assert!(missing.contains(&0) && missing.len() <= 4, "{missing:?}");
        assert_eq!(value_of(&machines[0], 200), Some(2_000));
        pass(&mut machines, &mut cables, &mut since_ns, 70).unwrap();
        assert_eq!(value_of(&machines[1], 0), Some(0));
    });
    assert!(held.unwrap());
    // After its release nothing is missing, and all removals are forgotten.
    pass(&mut machines, &mut cables, &mut since_ns, 70).unwrap();
    assert_eq!((value_of(&machines[0], 0), value_of(&machines[1], 0)), (Some(1_000), Some(1_000)));
    assert_eq!((machines[0].removed(), machines[1].removed()), (0, 0));
    assert_eq!(machines[0].contents(), machines[1].contents());
}

#[test]
fn what_came_from_a_node_is_not_sent_back_there() {
    let mut machines = [1, 2, 3].map(|node| machine(node, &[1, 2, 3]));
    let mut since_ns = SECOND_NS;
    let now = machines[0].now(since_ns);
    let mut cables = [[0, 1], [0, 2], [1, 2]].map(|pair| cable(pair, now));
    pass(&mut machines, &mut cables, &mut since_ns, 1).unwrap();
    let now_ns = machines[0].now(since_ns).utc_ns;
    for key in 0..40 {
        machines[0].writer.insert(&[key], &[key], now_ns).unwrap();
    }
    let sent = pass(&mut machines, &mut cables, &mut since_ns, 3).unwrap();
    let entries = 40 * 8 * (2 + STAMP_WORDS);
    println!("{sent} bytes for {entries} bytes of entries on three nodes");
    // Both others get it, and forward it to each other.
    assert!(sent > 2 * entries && sent < 5 * entries, "{sent} bytes");
}

#[test]
fn a_dropped_node_learns_when_it_was_dropped_and_begins_again() {
    let mut machines = [1, 2, 3].map(|node| machine(node, &[1, 2, 3]));
    let mut since_ns = SECOND_NS;
    let now = machines[0].now(since_ns);
    let mut cables = [[0, 1], [0, 2], [1, 2]].map(|pair| cable(pair, now));
    pass(&mut machines, &mut cables, &mut since_ns, 1).unwrap();
    let at = machines[0].now(since_ns);
    assert!(machines[0].node.as_mut().unwrap().drop_node(3, at).unwrap());
    pass(&mut machines[..2], &mut cables[..1], &mut since_ns, 1).unwrap();
    // The second node has learned it from the first one.
    let mut pair = [cable([1, 2], machines[0].now(since_ns))];
    let error = pass(&mut machines, &mut pair, &mut since_ns, 1).unwrap_err();
    let refusal = PeersRefusal::Dropped { at_ns: at.utc_ns };
    assert!(matches!(error, PeersError::Refuses { node: 3, refusal: why } if why == refusal));
    for _ in 0..2 {
        let nows = [machines[0].now(since_ns); 2];
        pair[0].pass(since_ns, nows, &mut Random::new(1));
    }
    let third = machines[2].node.as_mut().unwrap();
    let error = pair[0].sides[1].turn(third, at).unwrap_err().to_string();
    assert!(error.starts_with("refused by node 2: it was dropped at 18"), "{error}");
    while let Some(event) = third.take_event() {
        let is_joined = matches!(event, PeerEvent::Joined { .. });
        assert!(is_joined || event == PeerEvent::Dropped { at_ns: at.utc_ns }, "{event:?}");
    }
    // A new life of the same number must be added, and begins with an empty map.
    machines[2] = machine(3, &[]);
    let mut pair = [cable([1, 2], machines[0].now(since_ns))];
    let error = pass(&mut machines, &mut pair, &mut since_ns, 1).unwrap_err();
    assert!(error.to_string().contains("it was dropped at"), "the same life: {error}");
    let mut options = PeerOptions::new(1, 3, 99, Vec::new());
    options.frame_bytes = 100;
    machines[2] = Machine::still(options, 100, &mut Random::new(9));
    let mut pair = [cable([1, 2], machines[0].now(since_ns))];
    let error = pass(&mut machines, &mut pair, &mut since_ns, 1).unwrap_err();
    assert!(error.to_string().ends_with("it is not a member: add it first"), "{error}");
    assert!(machines[1].node.as_mut().unwrap().add(3).unwrap());
    let now_ns = machines[1].now(since_ns).utc_ns;
    machines[1].writer.insert(&[1], &[5], now_ns).unwrap();
    let now = machines[0].now(since_ns);
    let mut cables = [[0, 1], [1, 2]].map(|pair| cable(pair, now));
    pass(&mut machines, &mut cables, &mut since_ns, 2).unwrap();
    assert_eq!((value_of(&machines[2], 1), value_of(&machines[0], 1)), (Some(5), Some(5)));
    assert!(machines[2].node.as_ref().unwrap().has_joined());
}

#[test]
fn changes_far_ahead_of_the_clock_and_keys_without_room_are_refused_with_an_event() {
    let mut machines = [machine(1, &[1, 2]), machine(2, &[1, 2])];
    let mut since_ns = SECOND_NS;
    let mut cables = [cable([0, 1], machines[0].now(since_ns))];
    let now_ns = machines[0].now(since_ns).utc_ns;
    let later_ns = now_ns + 2 * 86_400 * SECOND_NS;
    machines[0].writer.insert(&[1], &[1], later_ns).unwrap();
    machines[0].writer.insert(&[2], &[2], now_ns).unwrap();
    pass(&mut machines, &mut cables, &mut since_ns, 3).unwrap();
    assert_eq!((value_of(&machines[1], 1), value_of(&machines[1], 2)), (None, Some(2)));
    let node = machines[1].node.as_mut().unwrap();
    let events: Vec<PeerEvent> = std::iter::from_fn(|| node.take_event()).collect();
    let is_future = |event: &PeerEvent| matches!(event, PeerEvent::Future { node: 1, sender: 1, ahead_ns } if *ahead_ns > 86_400);
    assert!(events.iter().any(is_future), "{events:?}");
    // The clock has come there: nothing is missing.
    since_ns += 86_400 * SECOND_NS;
    cables[0] = cable([0, 1], machines[0].now(since_ns));
    pass(&mut machines, &mut cables, &mut since_ns, 3).unwrap();
    assert_eq!(value_of(&machines[1], 1), Some(1));

    let now_ns = machines[1].now(since_ns).utc_ns;
    let mut key = 1_000;
    while machines[1].writer.insert(&[key], &[key], now_ns).is_ok() {
        key += 1;
    }
    let full = machines[1].writer.insert(&[key], &[key], now_ns);
    assert!(matches!(full, Err(LatestError::Full { .. })));
    machines[0].writer.insert(&[3], &[3], now_ns).unwrap();
    pass(&mut machines, &mut cables, &mut since_ns, 3).unwrap();
    assert_eq!(value_of(&machines[1], 3), None);
    let node = machines[1].node.as_mut().unwrap();
    let events: Vec<PeerEvent> = std::iter::from_fn(|| node.take_event()).collect();
    assert!(events.contains(&PeerEvent::Full { sender: 1 }), "{events:?}");
}

#[test]
fn no_removed_value_comes_back_while_members_cannot_be_stored() {
    let mut machines = [1, 2, 3].map(|node| machine(node, &[1, 2, 3]));
    let mut since_ns = SECOND_NS;
    let now = machines[0].now(since_ns);
    let mut cables = [[0, 1], [0, 2], [1, 2]].map(|pair| cable(pair, now));
    machines[2].writer.insert(&[5], &[50], now.utc_ns).unwrap();
    pass(&mut machines, &mut cables, &mut since_ns, 2).unwrap();
    // The third node is away when the key is removed, and is dropped. The first one has no space
    // to store this.
    let now = machines[1].now(since_ns);
    assert!(machines[1].writer.remove(&[5], now.utc_ns).unwrap());
    pass(&mut machines, &mut cables[..1], &mut since_ns, 2).unwrap();
    machines[0].disk.is_full.set(true);
    assert!(machines[1].node.as_mut().unwrap().drop_node(3, now).unwrap());
    let mut failed = 0;
    for _ in 0..100 {
        let passed = pass(&mut machines, &mut cables[..1], &mut since_ns, 1);
        if let Err(error) = passed {
            assert!(error.to_string().starts_with("failed to store the members"), "{error}");
            failed += 1;
            cables[0] = cable([0, 1], machines[0].now(since_ns));
        }
    }
    assert!(failed > 10 && machines[0].disk.failed.get() >= failed, "{failed}");
    assert_eq!(machines[0].removed(), 1);
    // It is killed, and comes back beside the third one.
    machines[0].disk.is_full.set(false);
    machines[0].kill(&mut Random::new(5));
    machines[0].start();
    cables[1] = cable([0, 2], machines[0].now(since_ns));
    pass(&mut machines, &mut cables[1..2], &mut since_ns, 2).unwrap();
    assert_eq!((value_of(&machines[0], 5), value_of(&machines[2], 5)), (None, None));
    // With space, storing succeeds, and the first two forget the removal.
    cables[0] = cable([0, 1], machines[0].now(since_ns));
    pass(&mut machines, &mut cables[..1], &mut since_ns, 100).unwrap();
    assert_eq!((machines[0].removed(), machines[1].removed()), (0, 0));
    let members = machines[0].node.as_ref().unwrap().members();
    assert_eq!(members.dropped().count(), 1);
}

#[test]
fn a_map_without_the_two_words_is_refused() {
    let spec = nanotape_latest::LatestSpec {
        entries: 1,
        key_words: 1,
        value_words: 1,
        writers: 1,
        value_layout: 0,
    };
    let writer = nanotape_latest::LatestWriter::on_heap(spec, 1).unwrap();
    let error = PeerWriter::new(writer, 1).unwrap_err();
    assert!(matches!(error, PeersError::NoPeerMap { value_words: 1 }));
}
