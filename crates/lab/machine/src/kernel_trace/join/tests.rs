//! Causes of gaps from events that a test writes. A tick is a nanosecond.

use std::{collections::BTreeMap, sync::Arc};

use super::*;
use crate::kernel_trace::event::{Loss, Losses};

const SPINNER: u32 = 42;
const US: u64 = 1_000;

fn stamp(at: u64) -> Stamp {
    Stamp::from_ticks(at)
}

fn event(at: u64, what: What) -> Event {
    Event { at: stamp(at), thread: SPINNER, what }
}

fn named(name: &str) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    bytes
}

fn switch(at: u64, state: Left, (from, to): (u32, u32), to_name: &str) -> Event {
    let (from_priority, to_priority) = (120, 120);
    let to_name = named(to_name);
    event(at, What::Switch(Switch { from, state, from_priority, to, to_name, to_priority }))
}

/// The spinner loses its processor to a kernel worker.
fn out(at: u64, state: Left) -> Event {
    switch(at, state, (SPINNER, 77), "kworker/1:2")
}

fn back(at: u64) -> Event {
    switch(at, Left::Blocked, (77, SPINNER), "spin")
}

/// An interrupt from one moment to another one.
fn during(from: u64, to: u64, what: What) -> [Event; 2] {
    [event(from, what), event(to, What::End)]
}

fn events_of(processors: Vec<(u32, Vec<Event>, Vec<Loss>)>) -> KernelEvents {
    let processors = processors
        .into_iter()
        .map(|(cpu, events, losses)| Processor { cpu, events, losses })
        .collect();
    KernelEvents {
        processors,
        whole: Gap { from: stamp(0), to: stamp(1 << 40) },
        began: stamp(0),
        nanos_per_tick: 1.0,
        losses: Losses::default(),
        functions: Arc::new(BTreeMap::from([(0xff, "vmstat_update".to_owned())])),
    }
}

/// The cause of a gap from 100 to 200 us on processor 1.
fn judged(events: &KernelEvents, accounts: &Cause) -> Judged {
    let gap = Gap { from: stamp(100 * US), to: stamp(200 * US) };
    events.judge(&gap, 100 * US, (SPINNER, 1), accounts)
}

fn cause(events: Vec<Event>) -> Cause {
    judged(&events_of(vec![(1, events, Vec::new())]), &Cause::Unexplained).cause
}

fn preempted(by: &str) -> Cause {
    Cause::Preempted { by: Some(by.to_owned()) }
}

#[test]
fn the_event_that_explains_the_others_is_the_cause() {
    let timer = || during(110 * US, 140 * US, What::Timer);
    let soft = || during(141 * US, 170 * US, What::Softirq("TIMER"));
    let with = |rest: &[Event]| [&timer()[..], rest].concat();
    let outside = [event(99 * US, What::Timer), event(201 * US, What::Timer)];
    let cases = [
        (vec![], Cause::Unexplained),
        (outside.to_vec(), Cause::Unexplained),
        (with(&soft()), Cause::Timer),
        (with(&[event(142 * US, What::Signal(14))]), Cause::Signal { number: 14 }),
        (with(&[event(142 * US, What::PageFault)]), Cause::PageFault),
        // The interrupt that brings a signal and its handler cover the gap together.
        (with(&[event(165 * US, What::Signal(14))]), Cause::Signal { number: 14 }),
        (with(&[out(142 * US, Left::Stopped), back(199 * US)]), Cause::Stopped),
        (vec![out(130 * US, Left::Blocked), back(199 * US)], Cause::Blocked),
        (with(&[out(142 * US, Left::Runnable), back(199 * US)]), preempted("kworker")),
        (
            during(101 * US, 180 * US, What::Softirq("NET_RX")).to_vec(),
            Cause::Softirq { name: "NET_RX".to_owned() },
        ),
        (vec![event(199 * US, What::NonMaskable { nanos: 90 * US })], Cause::NonMaskable),
    ];
    for (events, expected) in cases {
        assert_eq!(cause(events.clone()), expected, "{events:?}");
    }
}

#[test]
fn a_gap_is_no_longer_than_its_events() {
    // The hypervisor had the processor for 95 us; the timer that came afterwards took 3 us.
    let late = during(196 * US, 199 * US, What::Timer);
    let events = events_of(vec![(1, late.to_vec(), Vec::new())]);
    let found = judged(&events, &Cause::Unexplained);
    assert_eq!((found.cause, found.covered_ns), (Cause::Unexplained, Some(3 * US)));
    assert_eq!(judged(&events, &Cause::Stolen).cause, Cause::Stolen);
    // The same before a switch of 3 us.
    let short = vec![out(196 * US, Left::Runnable), back(199 * US)];
    let events = events_of(vec![(1, short, Vec::new())]);
    assert_eq!(judged(&events, &Cause::Unexplained).cause, Cause::Unexplained);
    // A timer of 3 us in a gap of 9 us: the rest is the way into the kernel and back.
    let near = Gap { from: stamp(194 * US), to: stamp(203 * US) };
    let events = events_of(vec![(1, late.to_vec(), Vec::new())]);
    let found = events.judge(&near, 9 * US, (SPINNER, 1), &Cause::Unexplained);
    assert_eq!(found.cause, Cause::Timer);
}

#[test]
fn interruptions_within_others_are_not_counted_twice() {
    let nested = [
        event(110 * US, What::Softirq("RCU")),
        event(120 * US, What::Timer),
        event(130 * US, What::End),
        event(190 * US, What::End),
    ];
    let events = events_of(vec![(1, nested.to_vec(), Vec::new())]);
    let found = judged(&events, &Cause::Unexplained);
    assert_eq!(found.covered_ns, Some(80 * US));
    assert_eq!(found.cause, Cause::Softirq { name: "RCU".to_owned() });
}

#[test]
fn a_gap_whose_events_were_lost_has_no_definite_cause_from_the_others() {
    let seen = during(110 * US, 190 * US, What::Timer).to_vec();
    let judge = |loss: (u64, u64), accounts: &Cause| {
        let loss = Loss { from: stamp(loss.0 * US), to: stamp(loss.1 * US) };
        judged(&events_of(vec![(1, seen.clone(), vec![loss])]), accounts)
    };
    for loss in [(0, 100), (150, 160), (0, 300), (200, 300)] {
        let found = judge(loss, &Cause::Unexplained);
        assert_eq!(found, Judged { cause: Cause::EventsLost { accounts: None }, covered_ns: None });
        let cause = judge(loss, &Cause::Preempted { by: None }).cause;
        assert_eq!(cause.to_string(), "events lost (accounts: preempted)");
        assert_eq!(cause.kind(), "events lost");
    }
    assert_eq!(judge((0, 99), &Cause::Unexplained).cause, Cause::Timer);
    assert_eq!(judge((201, 300), &Cause::Unexplained).cause, Cause::Timer);
}

#[test]
fn what_was_not_traced_is_not_lost() {
    let mut events = events_of(vec![(1, Vec::new(), Vec::new())]);
    let gap = Gap { from: stamp(100 * US), to: stamp(200 * US) };
    let cause = |events: &KernelEvents, cpu| {
        events.judge(&gap, 100 * US, (SPINNER, cpu), &Cause::PageFault).cause
    };
    assert_eq!(cause(&events, 0), Cause::PageFault);
    events.began = stamp(150 * US);
    assert_eq!(cause(&events, 1), Cause::PageFault);
    events.began = stamp(0);
    // Events that the trace no longer has are lost.
    events.whole.from = stamp(150 * US);
    assert_eq!(cause(&events, 1), Cause::EventsLost { accounts: Some("page fault") });
}

#[test]
fn of_several_threads_the_one_that_ran_longest_is_the_cause() {
    let both = |first: u64| {
        let next = switch(170 * US, Left::Runnable, (77, 78), "neighbour");
        let end = switch(199 * US, Left::Blocked, (78, SPINNER), "spin");
        cause(vec![out(first * US, Left::Runnable), next, end])
    };
    assert_eq!(both(110), preempted("kworker"));
    assert_eq!(both(145), preempted("neighbour"));
}

#[test]
fn a_normal_thread_before_a_real_time_one_is_the_fair_server() {
    let mut fair = out(101 * US, Left::Runnable);
    if let What::Switch(switch) = &mut fair.what {
        switch.from_priority = 49;
    }
    assert_eq!(cause(vec![fair, back(199 * US)]), Cause::FairServer);
}

#[test]
fn work_of_the_kernel_is_named() {
    let mut work = event(140 * US, What::Work(0xff));
    work.thread = 77;
    let found = cause(vec![out(130 * US, Left::Runnable), work, back(199 * US)]);
    assert_eq!(found, preempted("kworker vmstat_update"));
}

#[test]
fn a_thread_that_slept_and_then_waited_has_the_name_of_the_one_that_ran() {
    let neighbour = switch(90 * US, Left::Blocked, (0, 78), "neighbour");
    let back = switch(195 * US, Left::Blocked, (78, SPINNER), "spin");
    let judge = |events: Vec<Event>, accounts: &Cause| {
        judged(&events_of(vec![(1, events, Vec::new())]), accounts).cause
    };
    // It slept before the gap began, or in its first part.
    let slept_before = switch(50 * US, Left::Blocked, (SPINNER, 0), "swapper/1");
    let before = vec![slept_before.clone(), neighbour, back.clone()];
    let slept = vec![
        switch(104 * US, Left::Blocked, (SPINNER, 0), "swapper/1"),
        switch(110 * US, Left::Blocked, (0, 78), "neighbour"),
        back.clone(),
    ];
    let waited = Cause::Preempted { by: None };
    for events in [before, slept.clone()] {
        assert_eq!(judge(events, &waited), preempted("neighbour"));
    }
    assert_eq!(judge(slept, &Cause::Blocked), Cause::Blocked);
    // The processor was idle: nothing says what it waited for.
    let idle = switch(90 * US, Left::Blocked, (77, 0), "swapper/1");
    assert_eq!(judge(vec![slept_before, idle, back.clone()], &waited), waited);
    // It was stopped in its sleep, shortly before the gap began.
    let stopped = switch(99 * US, Left::Stopped, (SPINNER, 0), "swapper/1");
    assert_eq!(judge(vec![stopped, back], &Cause::Blocked), Cause::Stopped);
}

#[test]
fn of_several_times_without_a_processor_the_longest_counts() {
    let events = vec![
        out(102 * US, Left::Blocked),
        back(112 * US),
        out(113 * US, Left::Stopped),
        back(198 * US),
    ];
    assert_eq!(cause(events), Cause::Stopped);
}

#[test]
fn a_thread_that_could_run_beside_an_idle_processor_is_throttled() {
    let idle = switch(110 * US, Left::Runnable, (SPINNER, 0), "swapper/1");
    let end = switch(199 * US, Left::Runnable, (0, SPINNER), "spin");
    assert_eq!(cause(vec![idle, end]), Cause::Throttled);
}

#[test]
fn a_thread_that_is_moved_says_so_and_one_that_waits_elsewhere_was_preempted() {
    let there = |name: &str, moved: u64| {
        let out = switch(110 * US, Left::Runnable, (SPINNER, 20), name);
        let leaves = event(moved * US, What::Move { thread: SPINNER });
        let ends = switch((moved + 1) * US, Left::Blocked, (20, 0), "swapper/0");
        let back = switch(199 * US, Left::Runnable, (0, SPINNER), "spin");
        let all = vec![(0, vec![out, leaves, ends], Vec::new()), (1, vec![back], Vec::new())];
        judged(&events_of(all), &Cause::Unexplained).cause
    };
    assert_eq!(there("migration/0", 120), Cause::Moved);
    assert_eq!(there("neighbour", 190), preempted("neighbour"));
}

#[test]
fn events_that_another_processor_lost_may_have_had_the_switch() {
    let back = switch(199 * US, Left::Runnable, (0, SPINNER), "spin");
    let timer = during(110 * US, 190 * US, What::Timer).to_vec();
    let loss = Loss { from: stamp(105 * US), to: stamp(120 * US) };
    let all = |own: Vec<Event>| events_of(vec![(0, Vec::new(), vec![loss]), (1, own, Vec::new())]);
    let lost = Cause::EventsLost { accounts: None };
    let with_switch = [&timer[..], &[back]].concat();
    assert_eq!(judged(&all(with_switch), &Cause::Unexplained).cause, lost);
    assert_eq!(judged(&all(timer), &Cause::Unexplained).cause, Cause::Timer);
}

#[test]
fn events_of_other_threads_are_not_its_own() {
    let mut fault = event(120 * US, What::PageFault);
    fault.thread = 5;
    assert_eq!(cause(vec![fault]), Cause::Unexplained);
}

#[test]
fn the_accounts_know_what_no_event_shows() {
    let remote = || Some(Cause::Remote { name: "reschedule".to_owned() });
    let cases = [
        (Cause::Unexplained, Some(Cause::Timer), Cause::Timer),
        (Cause::Unexplained, None, Cause::Unexplained),
        (Cause::NotAttributed, None, Cause::Unexplained),
        (Cause::Stolen, None, Cause::Stolen),
        (Cause::Stolen, remote(), Cause::Stolen),
        (Cause::Stolen, Some(Cause::Stopped), Cause::Stopped),
        (Cause::MajorFault, Some(Cause::Blocked), Cause::MajorFault),
        (Cause::Blocked, Some(Cause::Stopped), Cause::Stopped),
        (Cause::Blocked, Some(Cause::Timer), Cause::Blocked),
        (Cause::Preempted { by: None }, remote(), Cause::Preempted { by: None }),
        (Cause::PageFault, None, Cause::PageFault),
        (Cause::Throttled, Some(preempted("cc1")), Cause::Throttled),
    ];
    for (accounts, seen, expected) in cases {
        assert_eq!(both(&accounts, seen.clone()), expected, "{accounts:?} {seen:?}");
    }
}
