//! A mirror allocates nothing for a message.

use std::time::Duration;

use nanotape_harness::{Scratch, allocations, check_the_counter};
use nanotape_ring::{Publish as _, RingMonitor, Start, stream};
use nanotape_shm::RegionOptions;
use nanotape_tap::{Mirror, MirrorOptions};
use nanotape_tape::ShutdownFlag;

/// Allocations of a mirror from its first message to the end of its source.
fn mirrored(folder: &Scratch, messages: u64) -> u64 {
    let (source, target) =
        (folder.join(format!("{messages}")), folder.join(format!("{messages}-mirror")));
    let (mut writer, _) =
        stream::Writer::create(&source, 16 << 20, &RegionOptions::default()).unwrap();
    for number in 0..messages {
        writer.publish(1, &[number as u8; 40]).unwrap();
    }
    drop(writer);
    let options = MirrorOptions {
        start: Start::Oldest,
        capacity: None,
        region: RegionOptions::default(),
        replaces: false,
        wait: Duration::ZERO,
        through_restarts: false,
        strategy: None,
        shutdown: ShutdownFlag::new(),
    };
    let mut mirror = Mirror::open(&source, &target, options).unwrap().unwrap();
    let before = allocations();
    mirror.run(|_| ()).unwrap();
    let counted = allocations() - before;
    assert_eq!(mirror.summary().mirrored, messages);
    assert_eq!(RingMonitor::open(&target).unwrap().sample().unwrap().next_sequence, messages + 1);
    counted
}

#[test]
fn a_mirror_allocates_nothing_for_a_message() {
    let folder = Scratch::folder("mirror-allocates");
    let (few, many) = (mirrored(&folder, 1_000), mirrored(&folder, 200_000));
    println!("{few} allocations for 1,000 messages, {many} for 200,000");
    // Those of the end, and of the thread that checks the file of the ring.
    assert!(few.max(many) < 100, "{few} and {many}");
    check_the_counter();
}
