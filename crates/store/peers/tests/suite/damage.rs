//! A node with a damaged map ends, and sends nothing of the damage.

use nanotape_peers::PeersError;

use crate::{
    machine::Machine,
    pair::{SECOND_NS, cable, machine, pass, value_of},
};

/// A key that no other word of a map has.
const KEY: u64 = 0x1234_5678_9abc_def0;

/// The words of an entry after its key.
const VALUE: usize = 1;
const TIME: usize = 2;
const ORIGIN: usize = 3;

/// Two machines, of which the first one has the key, and its node has seen it.
fn machines(since_ns: u64) -> [Machine; 2] {
    let mut machines = [machine(1, &[1, 2]), machine(2, &[1, 2])];
    let now = machines[0].now(since_ns);
    machines[0].writer.insert(&[KEY], &[7], now.utc_ns).unwrap();
    machines[0].node.as_mut().unwrap().turn(now).unwrap();
    machines
}

/// The first node ends with what a connection has found.
fn assert_end(machine: &mut Machine, since_ns: u64, found: &PeersError, expected: &str) {
    let now = machine.now(since_ns);
    let error = machine.node.as_mut().unwrap().turn(now).unwrap_err();
    assert_eq!(error.to_string(), found.to_string());
    assert!(error.is_bad_data() && error.to_string().contains(expected), "{error}");
    assert!(error.to_string().contains("; drop this node on another one"), "{error}");
}

#[test]
fn a_damaged_entry_is_not_sent_and_ends_its_node() {
    for word in [VALUE, TIME, ORIGIN] {
        for bit in [0, 1, 20, 40, 60] {
            let mut since_ns = SECOND_NS;
            let mut machines = machines(since_ns);
            machines[0].damage(KEY, word, bit);
            let mut cables = [cable([0, 1], machines[0].now(since_ns))];
            let error = pass(&mut machines, &mut cables, &mut since_ns, 2).unwrap_err();
            assert_end(&mut machines[0], since_ns, &error, "damaged: word ");
            assert_eq!(value_of(&machines[1], KEY), None);
        }
    }
}

#[test]
fn a_damaged_entry_that_is_merged_or_scanned_ends_its_node() {
    let mut since_ns = SECOND_NS;
    let mut machines = machines(since_ns);
    let mut cables = [cable([0, 1], machines[0].now(since_ns))];
    pass(&mut machines, &mut cables, &mut since_ns, 2).unwrap();
    machines[0].damage(KEY, VALUE, 3);
    let now_ns = machines[1].now(since_ns).utc_ns;
    machines[1].writer.insert(&[KEY], &[8], now_ns).unwrap();
    let error = pass(&mut machines, &mut cables, &mut since_ns, 2).unwrap_err();
    assert_end(&mut machines[0], since_ns, &error, "damaged: word ");
    // The next process of the node finds it when it reads the whole map.
    machines[0].kill(&mut nanotape_harness::Random::new(1));
    machines[0].start();
    let now = machines[0].now(since_ns);
    let error = machines[0].node.as_mut().unwrap().turn(now).unwrap_err();
    assert!(error.is_bad_data(), "{error}");
}

#[test]
fn a_stamp_that_no_node_stores_ends_its_node() {
    // An origin without a node, and one with bits that have no meaning, both with their sums.
    for origin in [0, 1 << 48 | 1 << 20] {
        let mut since_ns = SECOND_NS;
        let mut machines = machines(since_ns);
        let _ = machines[0].plain_writer().insert(&[9], &[5, 5, origin]).unwrap();
        let mut cables = [cable([0, 1], machines[0].now(since_ns))];
        let error = pass(&mut machines, &mut cables, &mut since_ns, 2).unwrap_err();
        assert!(
            error.is_bad_data() && error.to_string().contains("of time 5 and origin "),
            "{error}"
        );
        assert_eq!(value_of(&machines[1], 9), None);
    }
    // A node that is no member.
    let mut since_ns = SECOND_NS;
    let mut machines = machines(since_ns);
    let _ = machines[0].plain_writer().insert(&[9], &[5, 5, 3 << 48]).unwrap();
    let mut cables = [cable([0, 1], machines[0].now(since_ns))];
    let error = pass(&mut machines, &mut cables, &mut since_ns, 2).unwrap_err();
    assert_end(&mut machines[0], since_ns, &error, "of time 5 and origin 0x3000000000000, which");
}
