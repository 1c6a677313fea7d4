//! `nanotape explain` beside a real plant: stopped, preempted, made to fault, and fed a burst. The
//! cause that it finds for each is the confusion matrix; run with `--nocapture` to see it.

use std::{
    collections::BTreeMap,
    fs,
    process::{Command, Stdio},
    sync::{Mutex, PoisonError},
    thread,
    time::Duration,
};

use nanotape_clock::{Clock, UtcNanos};
use nanotape_harness::{Bounded as _, copy_for_all_users, eventually, skipped};
use nanotape_host::allowed_cpus;
use nanotape_lab::{Pin, Placement, PlacementRequest};
use nanotape_machine::KernelTrace;
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{
    Folder, nanotape,
    plants::{DATE, Ring},
    program,
    running::{Running, objects},
};

/// Injections of each cause, and the time between two of them.
const INJECTIONS: usize = 12;
const PAUSE: Duration = Duration::from_millis(35);

/// The kinds of causes that are right: those that the counts of the thread show.
const RIGHT: Right =
    [("stop", &["blocked or stopped"]), ("neighbour", &["preempted"]), ("page fault", FAULTS)];

/// Those that the events of the kernel show.
const RIGHT_WITH_EVENTS: Right =
    [("stop", &["stopped"]), ("neighbour", &["preempted by a thread"]), ("page fault", FAULTS)];

const FAULTS: &[&str] = &["page fault", "page read from disk"];

type Right = [(&'static str, &'static [&'static str]); 3];

/// At least this share of the injections that delayed a message must be found right, in one of so
/// many attempts: a busy machine adds causes of its own.
const LEAST_RIGHT: f64 = 0.8;
const ATTEMPTS: usize = 3;

/// Messages of a burst, and messages between two bursts. All of a burst have one time.
const BURST: u64 = 400;
const BETWEEN: u64 = 6_000;

/// A process that removes a program's pages from memory: it reads the path and the process.
const PAGE_OUT: &str = "
import ctypes, os, sys
class Range(ctypes.Structure): _fields_ = [('base', ctypes.c_void_p), ('length', ctypes.c_size_t)]
call = ctypes.CDLL(None, use_errno=True).syscall
path, pid = sys.argv[1], int(sys.argv[2])
process = os.pidfd_open(pid)
ranges = []
for line in open(f'/proc/{pid}/maps'):
    words = line.split()
    if words[-1] == path and 'x' in words[1]:
        base, end = (int(word, 16) for word in words[0].split('-'))
        ranges.append(Range(base, end - base))
for line in sys.stdin:
    done = [call(440, process, ctypes.byref(r), ctypes.c_size_t(1), 21, 0) for r in ranges]
    print('out' if ranges and min(done) > 0 else f'refused {ctypes.get_errno()}', flush=True)
";

/// A moment in which a cause was there, in ns since the UNIX epoch.
struct Injected {
    name: &'static str,
    from_ns: u64,
    to_ns: u64,
}

#[test]
fn injected_causes_are_found_and_rows_add_up() {
    find_injected(&[], &RIGHT);
}

#[test]
fn injected_causes_have_their_names_with_the_events_of_the_kernel() {
    if let Err(why) = KernelTrace::start(&Clock::calibrate(), &allowed_cpus()) {
        return skipped(format_args!("the kernel's events: {why}"));
    }
    find_injected(&["--kernel"], &RIGHT_WITH_EVENTS);
}

/// In turns: what one plant is injected would be in the rows of the other.
fn find_injected(options: &[&str], right: &Right) {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut wrong = Vec::new();
    for _ in 0..ATTEMPTS {
        wrong = inject(options, right);
        if wrong.is_empty() {
            break;
        }
    }
    assert_eq!(wrong, [""; 0], "in {ATTEMPTS} attempts");
}

/// Runs a plant through all injections; returns what was not found.
fn inject(options: &[&str], right: &Right) -> Vec<String> {
    let folder = Folder::new("explained");
    let ring = Ring::new("explained");
    let day = folder.day(120_000, 20);
    let bursts = add_bursts(&day);
    let cpu = *allowed_cpus().last().unwrap();
    let program = copy_for_all_users(program().as_ref());
    let plant = plant_on(cpu, program.text(), &day, &ring);
    let pid = plant.process.id();
    eventually("the plant has a ring", || nanotape(["trace", "on", ring.path()]).status == 0);
    // The first messages make the usual times, and touch what is touched once.
    thread::sleep(Duration::from_millis(700));
    let rows = folder.path("rows.json");
    let explained =
        ["explain", ring.path(), "--above", "20us", "--rows", "1000000", "-o", rows.as_str()];
    let mut explain = Running::start(&[&explained[..], options].concat());
    thread::sleep(Duration::from_millis(300));
    let injected = inject_into(&plant, cpu, program.text(), pid);
    thread::sleep(Duration::from_millis(200));
    plant.signal(Signal::INT);
    let (status, _, complained) = explain.end();
    assert_eq!((status, complained.as_str()), (Some(0), ""));

    let mut rows = objects(&fs::read_to_string(rows).unwrap());
    let end = rows.pop().unwrap();
    check_sums(&rows, &end);
    if let Some(events) = end["kernel_events"].as_object() {
        println!("events of the kernel: {events:?}");
    }
    let mut wrong = check_causes(&rows, &injected, right);
    wrong.extend(check_bursts(&rows, &bursts));
    wrong
}

/// A plant at 300 times the recorded pace on a processor of its own; in the real-time class if that
/// is allowed, so that other work of the machine is not in the way.
fn plant_on(cpu: u32, program: &str, day: &str, ring: &Ring) -> Running {
    let place =
        PlacementRequest { pin: Pin::Free, real_time_priority: Some(10), lock_memory: false };
    let placement = Placement::apply(&place);
    // The class is inherited.
    let plant = Running::start_program(
        program,
        &[
            "run",
            "--input",
            day,
            "--date",
            DATE,
            "--ring",
            ring.path(),
            "--pace",
            "400x",
            "--pace-from",
            "09:30",
            "--cpu",
            &cpu.to_string(),
            "--trace-ask-above",
            "2us",
            "--trace-spans",
            "1048576",
            "--format",
            "json",
        ],
    );
    placement.release();
    plant
}

/// Gives successive messages the time of the first one, now and then; returns the numbers of the
/// first and last message of each burst.
fn add_bursts(day: &str) -> Vec<(u64, u64)> {
    let mut bytes = fs::read(day).unwrap();
    let (mut at, mut number, mut time) = (0, 0_u64, [0_u8; 6]);
    let mut bursts = Vec::new();
    while at + 13 <= bytes.len() {
        let length = usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
        number += 1;
        let stamp = at + 2 + 5..at + 2 + 11;
        match number % BETWEEN {
            0 => {
                time.copy_from_slice(&bytes[stamp]);
                bursts.push((number, number + BURST - 1));
            }
            place if place < BURST && number > BETWEEN => bytes[stamp].copy_from_slice(&time),
            _ => {}
        }
        at += 2 + length;
    }
    fs::write(day, bytes).unwrap();
    bursts
}

fn now_ns() -> u64 {
    u64::try_from(UtcNanos::now().get()).unwrap()
}

fn inject_into(plant: &Running, cpu: u32, program: &str, pid: u32) -> Vec<Injected> {
    let mut pager = Command::new("python3").arg("--version").bounded_output().is_ok().then(|| {
        let mut command = Command::new("python3");
        command.args(["-c", PAGE_OUT, program, &pid.to_string()]).stdin(Stdio::piped());
        Running::of(command)
    });
    let mut injected = Vec::new();
    let mut note = |name, from_ns| injected.push(Injected { name, from_ns, to_ns: now_ns() });
    for _ in 0..INJECTIONS {
        let from_ns = now_ns();
        plant.signal(Signal::STOP);
        thread::sleep(Duration::from_millis(5));
        plant.signal(Signal::CONT);
        note("stop", from_ns);
        thread::sleep(PAUSE);

        let from_ns = thread::spawn(move || be_a_neighbour(cpu)).join().unwrap();
        note("neighbour", from_ns);
        thread::sleep(PAUSE);

        if let Some(pages) = &mut pager {
            let from_ns = now_ns();
            pages.say("now");
            let said = pages.read_line();
            match said.trim() {
                "out" => note("page fault", from_ns),
                refused => {
                    skipped(format_args!("page faults: process_madvise: {refused}"));
                    pager = None;
                }
            }
            thread::sleep(PAUSE);
        }
    }
    if pager.is_none() {
        skipped("page faults are not injected: no python3, or no permission");
    }
    injected
}

/// Takes the processor of the plant for 3 ms; returns when it began.
fn be_a_neighbour(cpu: u32) -> u64 {
    let place = |pin, real_time_priority| {
        Placement::apply(&PlacementRequest { pin, real_time_priority, lock_memory: false })
    };
    // The class first: as a normal thread it would not run on the plant's processor.
    let class = place(Pin::Free, Some(20));
    let pin = place(Pin::To(cpu), None);
    let from_ns = now_ns();
    while now_ns() < from_ns + 3_000_000 {
        core::hint::spin_loop();
    }
    pin.release();
    class.release();
    from_ns
}

fn number(row: &Value, field: &str) -> i64 {
    row[field].as_i64().unwrap_or_else(|| panic!("{field} in {row}"))
}

/// The parts of each row are its total, and the report says how far they are not.
fn check_sums(rows: &[Value], end: &Value) {
    assert!(!rows.is_empty());
    let mut largest = 0;
    for row in rows {
        let interrupted: i64 = interruptions(row).map(|one| number(one, "ns")).sum();
        let parts = ["waited_ns", "usual_ns", "unexplained_ns", "not_traced_ns"];
        let sum: i64 = parts.iter().map(|part| number(row, part)).sum::<i64>() + interrupted;
        assert_eq!(number(row, "total_ns") - sum, number(row, "residual_ns"), "{row}");
        largest = largest.max(number(row, "residual_ns").abs());
    }
    assert_eq!(number(end, "largest_residual_ns"), largest);
    // Each part is rounded.
    assert!(largest < 50, "{largest}");
    assert_eq!((number(end, "slow"), number(end, "lost_spans")), (rows.len() as i64, 0));
}

fn interruptions(row: &Value) -> impl Iterator<Item = &Value> {
    row["interruptions"].as_array().unwrap().iter()
}

/// The kind of a cause, and whether a thread has its name in it.
fn kind(interruption: &Value) -> &str {
    let cause = interruption["cause"].as_str().unwrap();
    match interruption["kind"].as_str().unwrap() {
        "preempted" if cause.starts_with("preempted by ") => "preempted by a thread",
        kind => kind,
    }
}

/// The cause that was found for each injection, and those that are wrong too often.
fn check_causes(rows: &[Value], injected: &[Injected], right: &Right) -> Vec<String> {
    let mut matrix = BTreeMap::<(&str, &str), usize>::new();
    for one in injected {
        let (from, to) = (one.from_ns as i64 - 50_000, one.to_ns as i64 + 1_000_000);
        let is_meanwhile = |row: &&Value| {
            let arrival = number(row, "arrival_ns");
            arrival < to && arrival + number(row, "total_ns") > from
        };
        // Of the messages that were interrupted themselves, the one that was longest.
        let own = rows.iter().filter(is_meanwhile).flat_map(|row| {
            let of_it = number(row, "message");
            interruptions(row).filter(move |one| number(one, "message") == of_it)
        });
        let longest = own.max_by_key(|one| number(one, "ns"));
        let found = longest.filter(|one| number(one, "ns") > 0);
        *matrix.entry((one.name, found.map_or("no message was due", kind))).or_default() += 1;
    }
    for ((name, found), count) in &matrix {
        println!("{name:<12} {found:<24} {count:>4}");
    }
    let mut wrong = Vec::new();
    for (name, right) in right {
        let of = |is: &dyn Fn(&str) -> bool| -> usize {
            let own = matrix.iter().filter(|((injected, found), _)| injected == name && is(found));
            own.map(|(_, count)| count).sum()
        };
        let seen = of(&|found| found != "no message was due");
        let found = of(&|found| right.contains(&found));
        let is_injected = injected.iter().any(|one| one.name == *name);
        if is_injected && (seen < INJECTIONS / 2 || (found as f64) < LEAST_RIGHT * seen as f64) {
            wrong.push(format!("{name}: {found} of {seen} are right"));
        }
    }
    wrong
}

/// The messages of the bursts wait for those before them.
fn check_bursts(rows: &[Value], bursts: &[(u64, u64)]) -> Option<String> {
    let is_in_burst = |row: &&Value| {
        let number = row["message"].as_u64().unwrap();
        bursts.iter().any(|&(first, last)| (first..=last).contains(&number))
    };
    let mains: Vec<&str> =
        rows.iter().filter(is_in_burst).map(|row| row["main"].as_str().unwrap()).collect();
    let waited = mains.iter().filter(|main| **main == "earlier messages (burst)").count();
    println!("{:<12} {:<24} {waited:>4} of {}", "burst", "earlier messages", mains.len());
    let is_right = mains.len() > 100 && waited as f64 >= LEAST_RIGHT * mains.len() as f64;
    (!is_right).then(|| format!("burst: {waited} of {} are right", mains.len()))
}

#[test]
fn slow_messages_are_reported_in_every_format_and_wrong_use_in_one_line() {
    let folder = Folder::new("explain-formats");
    let ring = Ring::new("explain-formats");
    let day = folder.day(100_000, 20);
    let explain = |arguments: &[&str]| nanotape([&["explain", ring.path()], arguments].concat());
    let none = explain(&[]);
    assert_eq!((none.status, none.stdout.as_str()), (2, ""));
    assert!(none.stderr.contains("no thread of this ring is traced"), "{}", none.stderr);

    let (mut plant, _) = Running::plant(&day, &ring, &["--pace-from", "09:30"]);
    let off = explain(&[]);
    assert_eq!(off.status, 2, "{}", off.stderr);
    assert!(off.stderr.ends_with(": all sites are off: use nanotape trace on\n"), "{}", off.stderr);
    assert_eq!(nanotape(["trace", "on", ring.path()]).status, 0);
    eventually("messages have spans", || {
        explain(&["--above", "1ns", "--for", "0.1", "--format", "csv"]).stdout.lines().count() > 20
    });
    plant.signal(Signal::KILL);
    plant.end();

    // The spans of a killed plant are explained, and each time in the same way.
    let text = explain(&["--above", "1ns", "--rows", "5", "--worst", "2"]);
    assert_eq!((text.status, text.stderr.as_str()), (0, ""));
    let lines: Vec<&str> = text.stdout.lines().collect();
    assert!(lines[0].contains("messages that took more than 1 ns"), "{}", lines[0]);
    assert!(lines[7].starts_with("... and ") && lines[7].ends_with(" (--rows)"), "{}", lines[7]);
    assert_eq!(lines.iter().filter(|line| line.starts_with("message ")).count(), 2);
    assert_eq!(explain(&["--above", "1ns", "--rows", "5", "--worst", "2"]).stdout, text.stdout);
    let rows = objects(&explain(&["--above", "1ns", "--format", "json"]).stdout);
    let end = rows.last().unwrap();
    assert_eq!(
        (end["kind"].as_str(), rows[0]["kind"].as_str()),
        (Some("explain"), Some("slow-message"))
    );
    assert_eq!(end["worst"].as_array().unwrap().len(), 10);
    assert!(end["worst"][0]["spans"].as_array().unwrap().len() >= 3);
    check_sums(&rows[..rows.len() - 1], end);
    let csv = explain(&["--above", "1ns", "--format", "csv"]).stdout;
    assert!(csv.starts_with("message,arrival_ns,total_ns,waited_ns,usual_ns,"));
    assert_eq!(csv.lines().count(), rows.len());
    let page = folder.path("slow.html");
    assert_eq!(explain(&["--above", "1ns", "-o", &page]).status, 0);
    assert!(fs::read_to_string(&page).unwrap().contains("<title>Slow messages</title>"));
    let again = explain(&["-o", &page]);
    assert!(again.stderr.ends_with("use --force to overwrite it\n") && again.status == 2);
    let wrong = explain(&["--thread", "tap"]);
    assert!(wrong.stderr.contains("no spans of a thread tap: use --thread"), "{}", wrong.stderr);

    // A recording has the same rows.
    let recording = folder.path("spans");
    assert_eq!(nanotape(["trace", "collect", ring.path(), "-o", &recording]).status, 0);
    let live = explain(&["--above", "1ns", "--format", "json"]).stdout;
    let recorded = nanotape(["explain", &recording, "--above", "1ns", "--format", "json"]);
    assert_eq!((recorded.status, recorded.stdout), (0, live));
}
