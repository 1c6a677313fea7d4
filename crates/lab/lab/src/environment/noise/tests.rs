//! Synthetic accounts, because tests cannot rely on a quiet or a noisy machine.

use nanotape_host::CpuList;

use super::*;

const SECOND: u64 = 1_000_000_000;

/// Accounts of one thread that can run on `allowed` and has used `run_ns`.
fn accounts(busy: u64, stolen: u64, run_ns: u64, allowed: &str) -> Accounts {
    let thread = Thread {
        run_ns: Some(run_ns),
        involuntary_switches: run_ns / SECOND,
        allowed: CpuList::parse(allowed).expect("a list"),
    };
    Accounts {
        children_ticks: None,
        ticks: Some(Ticks { busy, stolen, ..Ticks::default() }),
        process_ns: run_ns,
        threads: Some([(7, thread)].into()),
        faults: Some((run_ns / SECOND, 0)),
        waiting_us: Some(0),
    }
}

fn judged(
    nanos: u64,
    ticks_per_second: u64,
    cpu: Option<u32>,
    before: &Accounts,
    after: &Accounts,
) -> Noise {
    let cpu = cpu.map(|cpu| (cpu, own_time(cpu, before, after)));
    judge(nanos, ticks_per_second, cpu, before, after)
}

#[test]
fn what_children_use_is_not_foreign() {
    let with_children = |busy: u64, ticks: u64| {
        let mut accounts = accounts(busy, 0, 0, "0-1");
        accounts.children_ticks = Some(ticks);
        accounts
    };
    // Ten seconds: children used nine on the processor; others used half a second, then two.
    let before = with_children(0, 0);
    for (busy, noisy) in [(950, false), (1_000, true)] {
        let after = with_children(busy, 900 - u64::from(noisy) * 150);
        let own = time_of_children(100, &before, &after);
        let noise = judge(10 * SECOND, 100, Some((1, own)), &before, &after);
        assert_eq!(!noise.sentences.is_empty(), noisy, "{noise:?}");
    }
    let mut silent = with_children(0, 0);
    silent.children_ticks = None;
    assert!(time_of_children(100, &before, &silent).is_err());
}

#[test]
fn a_quiet_run_says_nothing() {
    let (before, after) = (accounts(100, 5, 0, "1"), accounts(1_095, 5, 9_900_000_000, "1"));
    let noise = judged(10 * SECOND, 100, Some(1), &before, &after);
    assert_eq!(noise.sentences, [""; 0]);
    assert_eq!(noise.unknown, [""; 0]);
    assert_eq!(noise.stolen, Some(0.0));
    assert!(noise.foreign.is_some_and(|share| (share - 0.005).abs() < 1e-9));
    assert_eq!(noise.involuntary_switches, Some(9));
    assert_eq!((noise.minor_faults, noise.major_faults), (Some(9), Some(0)));
}

#[test]
fn other_processes_and_the_hypervisor_are_named() {
    let (before, after) = (accounts(0, 0, 0, "1"), accounts(980, 12, 8_600_000_000, "1"));
    let noise = judged(10 * SECOND, 100, Some(1), &before, &after);
    assert_eq!(
        noise.sentences,
        [
            "the hypervisor took 1.2% of processor 1 (limit 0.5%)",
            "other processes used 12% of processor 1 (limit 5%)"
        ]
    );
}

#[test]
fn a_short_run_is_not_judged_by_coarse_ticks() {
    let (before, after) = (accounts(0, 0, 0, "1"), accounts(26, 0, SECOND / 4, "1"));
    let noise = judged(3 * SECOND / 10, 100, Some(1), &before, &after);
    assert_eq!((noise.stolen, noise.foreign), (None, None));
    assert_eq!(noise.sentences, [""; 0]);
    assert_eq!(noise.unknown.len(), 2);
    assert_eq!(
        noise.unknown[1],
        "the share of other processes is not known: it can be measured to 20 ms only, and in 300 \
         ms \
         the limit of 5% is 15.0 ms"
    );
}

#[test]
fn a_short_run_that_was_clearly_disturbed_is_judged() {
    let (before, after) = (accounts(0, 0, 0, "1"), accounts(30, 20, SECOND / 10, "1"));
    let noise = judged(3 * SECOND / 10, 100, Some(1), &before, &after);
    assert!(noise.stolen.is_some_and(|share| share > 0.6));
    assert!(noise.foreign.is_some_and(|share| share > 0.6));
    assert_eq!(noise.sentences.len(), 2);
}

#[test]
fn a_thread_that_may_run_anywhere_hides_who_used_the_processor() {
    let (before, after) = (accounts(0, 0, 0, "0-1"), accounts(995, 0, 9 * SECOND, "0-1"));
    let noise = judged(10 * SECOND, 100, Some(1), &before, &after);
    assert_eq!(noise.foreign, None);
    assert!(noise.unknown[0].starts_with("the share of other processes is not known"));
    // Unless this process cannot have used the time, on any processor.
    let noise = judged(10 * SECOND, 100, Some(1), &before, &accounts(995, 0, SECOND / 2, "0-1"));
    assert!(noise.foreign.is_some_and(|share| share > 0.9));
}

#[test]
fn time_on_other_processors_is_not_taken_for_own() {
    let (before, after) = (accounts(0, 0, 0, "0"), accounts(900, 0, 10 * SECOND, "0"));
    let noise = judged(10 * SECOND, 100, Some(1), &before, &after);
    assert!(noise.foreign.is_some_and(|share| (share - 0.9).abs() < 1e-9));
}

#[test]
fn what_is_not_there_is_not_known() {
    let noise = judged(SECOND, 100, None, &Accounts::default(), &Accounts::default());
    assert_eq!(noise.unknown.len(), 1);
    assert_eq!((noise.stolen, noise.foreign, noise.pressure), (None, None, None));
    let noise = judged(SECOND, 100, Some(9), &Accounts::default(), &Accounts::default());
    assert!(noise.unknown[0].contains("no line for processor 9"));
    assert_eq!(noise.involuntary_switches, None);
}

#[test]
fn pressure_and_the_disk_are_named() {
    let before = accounts(0, 0, 0, "1");
    let mut after = accounts(995, 0, 10 * SECOND, "1");
    after.waiting_us = Some(3_500_000);
    after.faults = Some((0, 3));
    let noise = judged(10 * SECOND, 100, Some(1), &before, &after);
    assert_eq!(
        noise.sentences,
        [
            "page faults that needed the disk: 3 (limit 0)",
            "tasks of this machine waited for a processor during 35% of the run (limit 5%)"
        ]
    );
}

#[test]
fn accounts_that_run_backwards_do_no_harm() {
    let (before, after) = (accounts(900, 90, 10 * SECOND, "1"), accounts(0, 0, 0, "1"));
    let noise = judged(0, 1, Some(1), &before, &after);
    assert_eq!(noise.sentences, [""; 0]);
}

#[test]
fn percents_are_short() {
    assert_eq!([0.12, 0.005, 0.05, 1.0, 0.0].map(percent), ["12%", "0.5%", "5%", "100%", "0%"]);
}
