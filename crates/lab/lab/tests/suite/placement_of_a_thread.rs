//! Placements as the kernel reports them, and the texts of refusals.

use std::{fs, thread};

use nanotape_harness::skipped;

use nanotape_clock::Clock;
use nanotape_host::{allowed_cpus, usable_cpus, value};
use nanotape_lab::placement::{Burst, Pin, Placement, PlacementRequest};

const NOTHING: PlacementRequest =
    PlacementRequest { pin: Pin::Free, real_time_priority: None, lock_memory: false };

/// A value in the calling thread's status.
fn status(key: &str) -> String {
    let text = fs::read_to_string("/proc/thread-self/status").expect("a thread has a status");
    value(&text, key).expect("the key is there").to_owned()
}

#[test]
fn a_pinned_thread_may_run_on_one_processor_until_it_is_released() {
    thread::spawn(|| {
        let before = status("Cpus_allowed_list");
        let placement = Placement::apply(&PlacementRequest { pin: Pin::Last, ..NOTHING });
        assert_eq!(placement.refused(), [""; 0]);
        let cpu = placement.cpu().expect("pinned");
        assert_eq!(status("Cpus_allowed_list"), cpu.to_string());
        assert!(placement.scheduling().starts_with(&format!("pinned to processor {cpu}; ")));
        assert_eq!(placement.memory_locked(), "not asked for");
        assert_eq!(placement.release(), [""; 0]);
        assert_eq!(status("Cpus_allowed_list"), before);
    })
    .join()
    .expect("the thread ends well");
}

/// Symptom: a processor outside those of the calling thread was refused although the kernel grants
/// it, as it does for isolated processors.
#[test]
fn a_thread_is_pinned_to_a_processor_that_it_did_not_have() {
    thread::spawn(|| {
        let all = usable_cpus();
        let (Some(&first), Some(&last)) = (all.first(), all.last()) else { panic!("none") };
        if first == last {
            return skipped("there is one processor here");
        }
        // Held to the end: what it restores would be more.
        let _one = Placement::apply(&PlacementRequest { pin: Pin::To(first), ..NOTHING });
        assert_eq!(allowed_cpus(), [first]);
        assert_eq!(usable_cpus(), all);
        let other = Placement::apply(&PlacementRequest { pin: Pin::To(last), ..NOTHING });
        assert_eq!(other.refused(), [""; 0]);
        assert_eq!((other.cpu(), status("Cpus_allowed_list")), (Some(last), last.to_string()));
        assert_eq!(other.release(), [""; 0]);
        assert_eq!(allowed_cpus(), [first]);
    })
    .join()
    .expect("the thread ends well");
}

#[test]
fn a_dropped_place_is_given_back_too() {
    thread::spawn(|| {
        let before = status("Cpus_allowed_list");
        drop(Placement::apply(&PlacementRequest { pin: Pin::Last, ..NOTHING }));
        assert_eq!(status("Cpus_allowed_list"), before);
    })
    .join()
    .expect("the thread ends well");
}

#[test]
fn what_cannot_be_is_refused_in_a_sentence() {
    thread::spawn(|| {
        let request = PlacementRequest {
            pin: Pin::To(999_999),
            real_time_priority: Some(99),
            lock_memory: false,
        };
        let placement = Placement::apply(&request);
        assert_eq!(placement.cpu(), None);
        let [pinning, class] = placement.refused() else {
            panic!("two requests cannot be granted")
        };
        assert!(
            pinning.starts_with("pinning was refused: processor 999999 is not among"),
            "{pinning}"
        );
        assert_eq!(class, "real-time scheduling was refused: priority 99 is not between 1 and 49");
        assert_eq!(placement.scheduling(), format!("{pinning}; {class}"));
    })
    .join()
    .expect("the thread ends well");
}

#[test]
fn memory_is_locked_or_the_reason_is_given() {
    let placement = Placement::apply(&PlacementRequest { lock_memory: true, ..NOTHING });
    match placement.refused() {
        [] => {
            assert_ne!(status("VmLck"), "0 kB");
            assert_eq!(placement.memory_locked(), "all, also what is still to come");
        }
        [refusal] => {
            skipped(refusal);
            assert_eq!(placement.memory_locked(), refusal);
        }
        more => panic!("one request was refused more than once: {more:?}"),
    }
}

#[test]
fn a_burst_rests_before_the_kernel_takes_its_share() {
    let clock = Clock::calibrate();
    let mut burst = Burst::start(&clock);
    let start = clock.stamp();
    let mut rests = 0;
    while clock.nanos_between(start, clock.stamp()) < 1_000_000_000 {
        rests += u32::from(burst.rest_if_due(&clock));
    }
    assert!(rests >= 1);
    assert!(burst.rested_ns() >= u64::from(rests) * 99_000_000);
}
