//! Threads write the maps of two nodes while the nodes exchange what has changed.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use nanotape_harness::Random;
use nanotape_peers::PeerWriter;

use crate::pair::{SECOND_NS, cable, machine};

const KEYS: u64 = 12;

#[test]
fn nothing_is_missed_of_what_threads_write_meanwhile() {
    for seed in 0..nanotape_harness::campaign(4) {
        let mut machines = [machine(1, &[1, 2]), machine(2, &[1, 2])];
        let mut cable = cable([0, 1], machines[0].now(SECOND_NS));
        let running = AtomicBool::new(true);
        let now_ns = AtomicU64::new(machines[0].now(0).utc_ns);
        let now_ns = &now_ns;
        std::thread::scope(|scope| {
            let writers = machines.each_ref().map(|machine| {
                [1, 2].map(|thread| (machine.number, thread, machine.another_writer()))
            });
            let threads = writers.into_iter().flatten().map(|(node, thread, mut writer)| {
                let seed = seed * 100 + u64::from(node) * 10 + thread;
                let work = move || write(&mut writer, &mut Random::new(seed), now_ns);
                scope.spawn(work)
            });
            let threads: Vec<_> = threads.collect();
            scope.spawn(|| {
                threads.into_iter().for_each(|thread| thread.join().unwrap());
                running.store(false, Ordering::Relaxed);
            });
            let (mut since_ns, mut random, mut left) = (SECOND_NS, Random::new(seed), 2_000);
            // After the last write there is time to send it, and to forget what was removed.
            while left > 0 {
                if !running.load(Ordering::Relaxed) {
                    left -= 1;
                }
                since_ns += SECOND_NS / 10;
                let nows = machines.each_ref().map(|machine| machine.now(since_ns));
                now_ns.store(nows[0].utc_ns, Ordering::Relaxed);
                cable.pass(since_ns, nows, &mut random);
                for (side, machine) in machines.iter_mut().enumerate() {
                    let node = machine.node.as_mut().unwrap();
                    node.turn(nows[side]).unwrap();
                    cable.sides[side].turn(node, nows[side]).unwrap();
                }
            }
        });
        let [one, other] = &machines;
        assert_eq!(one.contents(), other.contents());
        assert_eq!((one.removed(), other.removed()), (0, 0));
        assert!(one.latest.verify().unwrap().is_clean());
    }
}

/// Writes at random.
fn write(writer: &mut PeerWriter, random: &mut Random, now_ns: &AtomicU64) {
    for _ in 0..20_000 {
        let now_ns = now_ns.load(Ordering::Relaxed);
        let key = [random.below(KEYS)];
        let value = random.number();
        match random.below(4) {
            0 => drop(writer.remove(&key, now_ns).unwrap()),
            1 => drop(writer.update(&key, now_ns, |user| user[0] ^= value).unwrap()),
            _ => writer.insert(&key, &[value], now_ns).unwrap(),
        }
    }
}
