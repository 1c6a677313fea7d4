//! The counters of this machine, if it has any. `--nocapture` shows their values.

use std::hint::black_box;

use nanotape_harness::skipped;

use nanotape_lab::counters::{Counters, CountersUnavailable, Event};

const PAGE: usize = 4096;

fn open() -> Option<Counters> {
    match Counters::open() {
        Ok(counters) => Some(counters),
        Err(reason) => {
            skipped(&reason);
            None
        }
    }
}

#[must_use]
fn touch(pages: usize) -> Vec<u8> {
    let mut bytes = vec![0_u8; pages * PAGE];
    for page in bytes.chunks_mut(PAGE) {
        page[0] = 1;
    }
    black_box(bytes)
}

#[test]
fn page_faults_are_counted_between_start_and_stop_only() {
    let Some(mut counters) = open() else { return };
    let mut kept = vec![touch(1_000)];
    counters.start().expect("started");
    kept.push(touch(500));
    counters.stop().expect("stopped");
    kept.push(touch(1_000));
    let rates = counters.per_operation(500).expect("read");
    println!("{:#}", rates.to_json());
    match rates.get(Event::PageFaults) {
        Some(faults) => {
            let huge = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled")
                .is_ok_and(|text| text.contains("[always]"));
            assert!(faults < 1.5, "{faults} for one page");
            assert!(huge || faults >= 1.0, "{faults} for one page");
        }
        None => assert!(rates.absent.iter().any(|(event, _)| *event == Event::PageFaults)),
    }

    counters.reset().expect("reset");
    counters.start().expect("started again");
    counters.stop().expect("stopped again");
    let rates = counters.per_operation(1).expect("read");
    assert!(rates.get(Event::PageFaults).is_none_or(|faults| faults < 100.0));
    drop(kept);
}

#[test]
fn hardware_is_there_or_the_reason_is() {
    let Some(mut counters) = open() else { return };
    match counters.hardware() {
        Err(reason) => {
            skipped(reason);
            assert_ne!(*reason, CountersUnavailable::NoTopdown);
        }
        Ok(()) => {
            counters.start().expect("started");
            let sum = (0..1_000_000_u64).fold(0, |sum: u64, n| black_box(sum.wrapping_add(n)));
            counters.stop().expect("stopped");
            black_box(sum);
            let rates = counters.per_operation(1_000_000).expect("read");
            println!("{:#}", rates.to_json());
            assert!(rates.get(Event::Instructions).is_none_or(|count| count > 1.0));
        }
    }
}

#[test]
fn a_thread_that_sleeps_is_switched() {
    let Some(mut counters) = open() else { return };
    counters.start().expect("started");
    (0..20).for_each(|_| std::thread::sleep(std::time::Duration::from_millis(1)));
    counters.stop().expect("stopped");
    let rates = counters.per_operation(20).expect("read");
    match rates.get(Event::ContextSwitches) {
        Some(switches) => assert!(switches >= 1.0, "{switches} for one sleep"),
        None => skipped(format_args!("{:?}", rates.absent)),
    }
}
