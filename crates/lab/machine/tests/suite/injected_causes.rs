//! Interruptions with a known cause, and the cause that is found for each: the confusion matrix.
//!
//! ```text
//! the test                                   the victim, a process, spins on one processor
//!   phase 1: wait                              touches a new page every few milliseconds
//!   phase 2: wait                              has a timer that sends a signal to its thread
//!   phase 3: SIGSTOP, SIGCONT         ------>
//!   phase 4: a thread on its processor ----->
//!   phase 5: another processor       ------->
//!   the times of phases 3 to 5       ------->  compares: prints injected, found, count
//! ```
//!
//! A second run has a trace that loses most of its events: then no cause may come from the others.
//!
//! As root both run in the real-time class, so that other work of the machine is not in the way.
//! Run with `--nocapture` to see the matrix.

use std::{
    collections::BTreeMap,
    fs::File,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use nanotape_clock::{Clock, Stamp};
use nanotape_harness::{Peer, Scratch, Task, listen, say, skipped};
use nanotape_host::allowed_cpus;
use nanotape_lab::{Pin, Placement, PlacementRequest};
use nanotape_machine::{
    Gap, Interruption, KernelTrace, Watch, WatchOptions, Watched, kernel_trace::TraceOptions,
};
use nanotape_shm::{Word, WritableWords};
use nix::{
    sys::{
        signal::{SigEvent, SigevNotify, Signal},
        timer::{Expiration, Timer, TimerSetTimeFlags},
    },
    time::ClockId,
    unistd::gettid,
};
use rustix::thread::{CpuSet, Pid, sched_setaffinity};

const VICTIM: &str = "injected_causes::victim";

/// Injections of each cause, and the time between two of them.
const INJECTIONS: usize = 60;
const PAUSE: Duration = Duration::from_millis(4);

/// The phases, in the word that test and victim share.
const FAULTS: u64 = 1;
const SIGNALS: u64 = 2;
const QUIET: u64 = 3;
const END: u64 = 4;
/// The victim sleeps, so that the fair server of the kernel does not let others in later.
const REST: u64 = 5;

/// The kinds that are right for each injected cause: the one that a trace shows, and the one that
/// the accounts show, if they show it.
const RIGHT: [(&str, &str, Option<&str>); 5] = [
    ("page fault", "page fault", Some("page fault")),
    ("timer signal", "signal", None),
    ("SIGSTOP", "stopped", Some("blocked or stopped")),
    ("busy neighbour", "preempted", Some("preempted")),
    ("move", MOVED, Some(MOVED)),
];

const MOVED: &str = "moved to another processor";
const UNEXPLAINED: &str = "unexplained";
const EVENTS_LOST: &str = "events lost";

/// The detail of a victim whose trace loses events.
const LOSES: &str = "loses";

/// An injection in an interruption that is longer by this factor is not its cause: the machine had
/// another one at the same time.
const MOST_TIMES: u64 = 4;

/// Injections that have no cause to be found.
const NOT_SEEN: &str = "not seen";
const WITHIN_ANOTHER: &str = "within a longer interruption";

/// The hypervisor had the processor during the injection, as its account of stolen time shows: the
/// longer of the two interruptions has the true cause, and it is not the injected one.
const STOLEN: &str = "stolen by the hypervisor";

/// At least this share of the others must be found right.
const LEAST_RIGHT: f64 = 0.95;

/// Of moves, fewer: a hypervisor may have to give the other processor back first, which no event
/// and no account shows.
const LEAST_MOVED: f64 = 0.5;

/// A busy machine adds causes of its own: one run of this many must be right.
const ATTEMPTS: usize = 3;

#[test]
fn injected_causes_are_found() {
    until_right(|| inject(false));
}

#[test]
fn no_cause_comes_from_the_events_that_remain() {
    until_right(|| inject(true));
}

fn until_right(inject: impl Fn() -> Vec<String>) {
    let mut wrong = Vec::new();
    for _ in 0..ATTEMPTS {
        wrong = inject();
        if wrong.is_empty() {
            return;
        }
    }
    assert_eq!(wrong, [""; 0], "in {ATTEMPTS} runs");
}

/// Runs a victim through all phases; returns what was not found.
fn inject(loses_events: bool) -> Vec<String> {
    let scratch = Scratch::folder("injected");
    let words = shared(&scratch.path().join("phase"));
    let phase = &words.words()[0];
    let cpu = last_cpu();
    let detail = if loses_events { LOSES } else { "" };
    let task = Task::new("victim", scratch.path()).number(cpu.into()).detail(detail);
    let mut victim = Peer::start(task.command(VICTIM));
    let said = victim.receive();
    let (class, thread) = said.split_once(',').unwrap();
    let (can_be_real_time, thread) = (class == "real-time", thread.parse().unwrap());

    for injected in [FAULTS, SIGNALS] {
        phase.store(injected);
        thread::sleep(PAUSE * INJECTIONS as u32);
        rest(phase);
    }
    go_on(phase);
    let clock = Clock::calibrate_for(Duration::from_millis(2));
    let mut injected = Vec::new();
    for _ in 0..INJECTIONS {
        victim.stop();
        let from = clock.stamp_start();
        thread::sleep(Duration::from_millis(3));
        let to = clock.stamp();
        victim.resume();
        injected.push(("SIGSTOP", Gap { from, to }));
        thread::sleep(PAUSE);
    }
    rest(phase);
    go_on(phase);
    let neighbour = thread::spawn(move || be_a_neighbour(cpu, can_be_real_time));
    injected.extend(neighbour.join().unwrap().into_iter().map(|gap| ("busy neighbour", gap)));
    rest(phase);
    go_on(phase);
    let mover = thread::spawn(move || move_it(thread, cpu, can_be_real_time));
    injected.extend(mover.join().unwrap().into_iter().map(|gap| ("move", gap)));
    phase.store(END);
    for (name, Gap { from, to }) in injected {
        victim.send(&format!("{name},{},{}", from.ticks(), to.ticks()));
    }
    victim.send("end");

    let mut wrong = Vec::new();
    let accounts = Matrix::received_from(&mut victim, "accounts");
    accounts.print("as an ordinary user: the accounts of the thread");
    // The accounts are the same in both runs: one of them judges.
    for (injected, _, right) in RIGHT {
        // The accounts of a thread in the normal class do not show most moves as time off its
        // processor: no cause is right too, and another one is wrong.
        let has_none = injected == "move" && !can_be_real_time;
        let judged = right.map(|right| accounts.check(injected, right, has_none));
        wrong.extend(judged.flatten().filter(|_| !loses_events));
    }
    let said = victim.receive();
    let Some(losses) = said.strip_prefix("traced") else {
        skipped(format!("the kernel's events: {said}"));
        return wrong;
    };
    println!("events of the kernel{losses}");
    let traced = Matrix::received_from(&mut victim, "trace");
    traced.print("as root: with the events of the kernel");
    for (injected, right, _) in RIGHT {
        wrong.extend(match loses_events {
            true => traced.check_lost(injected, right),
            false => traced.check(injected, right, false),
        });
    }
    wrong
}

fn rest(phase: &Word) {
    phase.store(REST);
    thread::sleep(Duration::from_millis(100));
}

/// Lets the victim spin, and waits until it does.
fn go_on(phase: &Word) {
    phase.store(QUIET);
    thread::sleep(Duration::from_millis(20));
}

/// Takes the processor of the victim now and then; returns when it had it.
fn be_a_neighbour(cpu: u32, real_time: bool) -> Vec<Gap> {
    let clock = Clock::calibrate_for(Duration::from_millis(2));
    // The class first: as a normal thread it would not run on the victim's processor.
    let _class = real_time.then(|| {
        Placement::apply(&PlacementRequest {
            pin: Pin::Free,
            real_time_priority: Some(20),
            lock_memory: false,
        })
    });
    let _placement = place(cpu, None);
    let mut busy = Vec::new();
    for _ in 0..INJECTIONS {
        let from = clock.stamp_start();
        let mut to = from;
        while clock.nanos_between(from, to) < 500_000 {
            to = clock.stamp();
        }
        busy.push(Gap { from, to });
        thread::sleep(PAUSE);
    }
    busy
}

/// Moves a thread to another processor and back; returns when it did. Nothing without another one.
fn move_it(thread: i32, cpu: u32, real_time: bool) -> Vec<Gap> {
    let clock = Clock::calibrate_for(Duration::from_millis(2));
    let Some(other) = allowed_cpus().into_iter().find(|&other| other != cpu) else {
        skipped("moves: only one processor is allowed");
        return Vec::new();
    };
    let _class = real_time.then(|| {
        Placement::apply(&PlacementRequest {
            pin: Pin::Free,
            real_time_priority: Some(20),
            lock_memory: false,
        })
    });
    let there = |cpu: u32| {
        let mut set = CpuSet::new();
        set.set(cpu as usize);
        let from = clock.stamp_start();
        sched_setaffinity(Pid::from_raw(thread), &set).unwrap();
        Gap { from, to: clock.stamp() }
    };
    let mut moved = Vec::new();
    for cpu in [other, cpu].into_iter().cycle().take(INJECTIONS) {
        moved.push(there(cpu));
        thread::sleep(PAUSE);
    }
    moved
}

/// The process that is interrupted; returns at once in a run of the tests.
#[test]
fn victim() {
    let Some(Task { path, number, detail, .. }) = Task::of_this_process() else { return };
    let cpu = u32::try_from(number).unwrap();
    let clock = Clock::calibrate();
    let words = shared(&path.join("phase"));
    let cpus = allowed_cpus();
    let mut options = TraceOptions::for_processors(cpus.len());
    if detail == LOSES {
        options = TraceOptions { buffer_kib: 8, is_read_meanwhile: false, ..options };
    }
    let trace = KernelTrace::start_with(&clock, &cpus, options);
    let placement = place(cpu, Some(10));
    let class = if placement.refused().is_empty() { "real-time" } else { "normal" };
    say(format!("{class},{}", gettid()));

    let options = WatchOptions { threshold_ns: 300, attribute_ns: 300, most: 1 << 16 };
    let mut watch = Watch::start(&clock, options);
    let injected = be_interrupted(&clock, &mut watch, &|| words.words()[0].load());
    let mut watched = watch.finish();
    placement.release();

    let mut injected: Vec<(String, Gap)> =
        injected.into_iter().map(|(name, gap)| (name.to_owned(), gap)).collect();
    while let line = listen()
        && line != "end"
    {
        let mut parts = line.split(',');
        let name = parts.next().unwrap().to_owned();
        let mut stamp = || Stamp::from_ticks(parts.next().unwrap().parse().unwrap());
        injected.push((name, Gap { from: stamp(), to: stamp() }));
    }
    say_matrix("accounts", &injected, &watched);
    match trace {
        Err(why) => say(why),
        Ok(mut trace) => {
            let events = trace.take().unwrap();
            watched.explain(&events, &clock);
            say(format!("traced: {:?}", events.losses()));
            say_matrix("trace", &injected, &watched);
        }
    }
}

/// Spins through the phases; returns when it injected faults and signals into itself.
fn be_interrupted(
    clock: &Clock,
    watch: &mut Watch,
    phase: &dyn Fn() -> u64,
) -> Vec<(&'static str, Gap)> {
    let mut injected = Vec::new();
    let alarm = Arc::new(AtomicBool::new(false));
    // SIGALRM ends a test that does not end.
    signal_hook::flag::register(signal_hook::consts::SIGUSR1, Arc::clone(&alarm)).unwrap();
    let event = SigEvent::new(SigevNotify::SigevThreadId {
        signal: Signal::SIGUSR1,
        thread_id: gettid().as_raw(),
        si_value: 0,
    });
    let mut timer = Timer::new(ClockId::CLOCK_MONOTONIC, event).unwrap();
    // Pages of four KiB, far enough from each other that no fault maps two of them.
    const STRIDE: usize = 16 << 10;
    let mut pages = vec![0_u8; (INJECTIONS + 2) * STRIDE];
    let mut touched = 0;
    let pause_ns = u64::try_from(PAUSE.as_nanos()).unwrap();
    let mut next = clock.stamp();
    let mut is_timer_on = false;
    watch.restart();
    let mut before = clock.stamp_unfenced();
    let mut late = None;
    loop {
        let now = clock.stamp_unfenced();
        if let Some(from) = late.take() {
            injected.push(("timer signal", Gap { from, to: now }));
        }
        // Before the cause is read: a signal that comes during that is within no interruption.
        let has_signal = alarm.swap(false, Ordering::Relaxed);
        match (watch.turn(now), has_signal) {
            (true, true) => injected.push(("timer signal", Gap { from: before, to: now })),
            // It came after the stamp, so that the interruption ends at the next one.
            (false, true) => late = Some(now),
            (_, false) => {}
        }
        match phase() {
            END => return injected,
            FAULTS if touched < INJECTIONS && clock.nanos_between(next, now) > pause_ns => {
                touched += 1;
                let from = clock.stamp_start();
                pages[touched * STRIDE] = 1;
                std::hint::black_box(&pages);
                injected.push(("page fault", Gap { from, to: clock.stamp() }));
                next = now;
            }
            SIGNALS if !is_timer_on => {
                is_timer_on = true;
                set(&mut timer, PAUSE);
                watch.restart();
            }
            REST => {
                set(&mut timer, Duration::ZERO);
                is_timer_on = false;
                thread::sleep(Duration::from_millis(5));
                watch.restart();
            }
            _ => {}
        }
        before = now;
    }
}

/// Zero stops the timer.
fn set(timer: &mut Timer, every: Duration) {
    timer.set(Expiration::Interval(every.into()), TimerSetTimeFlags::empty()).unwrap();
}

/// Says a line for each pair of causes.
fn say_matrix(name: &str, injected: &[(String, Gap)], watched: &Watched) {
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (cause, gap) in injected {
        let found = match longest_in(gap, &watched.kept) {
            None => NOT_SEEN,
            Some(one) if length(&one.gap) > MOST_TIMES * length(gap) => WITHIN_ANOTHER,
            Some(one) => one.cause.kind(),
        };
        *counts.entry((cause, found)).or_default() += 1;
    }
    for ((injected, found), count) in counts {
        say(format!("{name},{injected},{found},{count}"));
    }
    say("end of the matrix");
}

fn longest_in<'a>(gap: &Gap, kept: &'a [Interruption]) -> Option<&'a Interruption> {
    let within = kept.iter().filter(|one| one.gap.overlaps(gap));
    within.max_by_key(|one| length(&one.gap))
}

fn length(gap: &Gap) -> u64 {
    gap.to.ticks() - gap.from.ticks()
}

/// How often each injected cause was found to be what.
#[derive(Debug)]
struct Matrix(BTreeMap<(String, String), usize>);

impl Matrix {
    fn received_from(victim: &mut Peer, name: &str) -> Self {
        let mut counts = BTreeMap::new();
        loop {
            let line = victim.receive();
            let parts: Vec<&str> = line.split(',').collect();
            let [of, injected, found, count] = parts[..] else { return Self(counts) };
            assert_eq!(of, name);
            counts.insert((injected.to_owned(), found.to_owned()), count.parse().unwrap());
        }
    }

    fn print(&self, title: &str) {
        println!("{title}\n  {:<16} {:<32} {:>5}", "injected", "found", "count");
        for ((injected, found), count) in &self.0 {
            println!("  {injected:<16} {found:<32} {count:>5}");
        }
    }

    /// Of the injections that were seen by themselves; a sentence if too few were, or are right.
    fn check(&self, injected: &str, right: &str, has_none: bool) -> Option<String> {
        let others = [NOT_SEEN, WITHIN_ANOTHER, STOLEN];
        let seen = self
            .0
            .iter()
            .filter(|((of, found), _)| of == injected && !others.contains(&found.as_str()));
        let all: usize = seen.map(|(_, count)| count).sum();
        let count_of = |cause: &str| {
            self.0.get(&(injected.to_owned(), cause.to_owned())).copied().unwrap_or(0)
        };
        let found = count_of(right) + if has_none { count_of(UNEXPLAINED) } else { 0 };
        let share = found as f64 / all as f64;
        let or_none = if has_none { ", or have no cause" } else { "" };
        let sentence = format!("{injected}: {found} of {all} are found to be {right}{or_none}");
        println!("  {sentence}");
        let is_injected = self.0.keys().any(|(of, _)| of == injected);
        let least = if injected == "move" && !has_none { LEAST_MOVED } else { LEAST_RIGHT };
        let is_wrong = all < INJECTIONS / 2 || share < least;
        (is_injected && is_wrong).then_some(sentence)
    }

    /// With events that were lost: what has a definite cause has the right one, and most have none.
    fn check_lost(&self, injected: &str, right: &str) -> Option<String> {
        let of = |is: &dyn Fn(&str) -> bool| -> usize {
            let own = self.0.iter().filter(|((of, found), _)| of == injected && is(found));
            own.map(|(_, count)| count).sum()
        };
        let seen = of(&|found| found != NOT_SEEN && found != WITHIN_ANOTHER);
        let (lost, right) = (of(&|found| found == EVENTS_LOST), of(&|found| found == right));
        let sentence = format!("{injected}: of {seen}, {lost} have lost events, {right} are right");
        println!("  {sentence}");
        let is_wrong = ((lost + right) as f64) < LEAST_RIGHT * seen as f64;
        (is_wrong || (seen > 0 && lost == 0 && injected != "move")).then_some(sentence)
    }
}

fn shared(path: &Path) -> WritableWords {
    let file =
        File::options().read(true).write(true).create(true).truncate(false).open(path).unwrap();
    file.set_len(8).unwrap();
    WritableWords::map(&file, 1).unwrap()
}

fn place(cpu: u32, real_time_priority: Option<u8>) -> Placement {
    Placement::apply(&PlacementRequest {
        pin: Pin::To(cpu),
        real_time_priority,
        lock_memory: false,
    })
}

fn last_cpu() -> u32 {
    let placement = Placement::apply(&PlacementRequest {
        pin: Pin::Last,
        real_time_priority: None,
        lock_memory: false,
    });
    placement.cpu().expect("a processor is allowed")
}
