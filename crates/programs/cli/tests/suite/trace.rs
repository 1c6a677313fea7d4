//! `nanotape trace` with real plants: switched while they run, killed, of another build or user.

use std::fs;

use nanotape_board::{PLANT_THREAD, trace_path};
use nanotape_clock::Clock;
use nanotape_harness::{Bounded as _, Scratch, eventually, skipped};
use nanotape_trace::spans::{Rate, Sites, Tracer, TracerOptions, spans_path};
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{
    Folder, nanotape,
    plants::{DATE, Ring},
    running::{Running, json, objects},
};

const SITES: [&str; 18] = [
    "plant.receive",
    "plant.arbitrate",
    "plant.queue",
    "plant.decode",
    "plant.wait",
    "plant.book",
    "plant.records",
    "plant.ring",
    "kernel.ask",
    "kernel.elapsed",
    "kernel.ran",
    "kernel.queued",
    "kernel.minor-faults",
    "kernel.major-faults",
    "kernel.slept",
    "kernel.preempted",
    "kernel.throttled",
    "kernel.moved",
];

/// The rates of the sites, in their order.
fn rates(rows: &str) -> Vec<String> {
    let rows = objects(rows);
    let sites: Vec<&str> = rows.iter().filter_map(|row| row["site"].as_str()).collect();
    assert_eq!(sites, SITES);
    rows.iter().map(|row| row["rate"].as_str().unwrap().to_owned()).collect()
}

pub(crate) fn trace(arguments: &[&str]) -> String {
    let ran = nanotape([&["trace"], arguments, &["--format", "json"]].concat());
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{arguments:?}");
    ran.stdout
}

fn spans(ring: &Ring) -> Vec<Value> {
    objects(&trace(&["dump", ring.path()]))
}

/// A plant at the recorded pace.
fn plant(name: &str) -> (Folder, Ring, Running, u64) {
    let folder = Folder::new(name);
    let ring = Ring::new(name);
    let day = folder.day(100_000, 20);
    let (plant, begun) = Running::plant(&day, &ring, &["--pace-from", "09:30"]);
    assert_eq!(begun["event"], "start");
    let stat =
        || json(&nanotape(["stat", ring.path(), "--interval", "0", "--format", "json"]).stdout);
    let pid = stat()["plant_pid"].as_u64().unwrap();
    (folder, ring, plant, pid)
}

#[test]
fn the_sites_of_a_running_plant_are_switched_and_outlive_it() {
    let (_folder, ring, mut plant, pid) = plant("traced");
    assert_eq!(rates(&trace(&["list", ring.path()])), ["off"; SITES.len()]);
    assert_eq!(spans(&ring), Vec::<Value>::new());

    let some = ["on", ring.path(), "--sites", "plant.b*,plant.records", "--one-in", "3"];
    let rates_of = |rows: &str| rates(rows)[3..8].to_vec();
    assert_eq!(rates_of(&trace(&some)), ["off", "off", "1/4", "1/4", "off"]);
    assert_eq!(rates(&trace(&["on", ring.path()])), ["all"; SITES.len()]);
    eventually("a message has all of its spans", || spans(&ring).len() > 50);
    // The threads of a process are searched for in /dev/shm.
    let is_found = ring.0.starts_with("/dev/shm");
    let of_process = if is_found { pid.to_string() } else { ring.path().to_owned() };
    let off = trace(&["off", &of_process, "--sites", "plant.wait"]);
    assert_eq!(rates_of(&off), ["all", "off", "all", "all", "all"]);

    plant.signal(Signal::KILL);
    plant.end();
    let error = nanotape(["trace", "on", ring.path()]);
    let path = trace_path(&ring.0, PLANT_THREAD);
    let expected = format!(
        "nanotape: {}: process {pid} has ended, so its sites cannot be switched\n",
        path.display()
    );
    assert_eq!((error.status, error.stderr), (2, expected));

    // The last spans of the killed plant are there, and those of a message follow each other.
    let left = spans(&ring);
    let last = left.last().unwrap()["message"].as_u64().unwrap();
    let of_last_but_one: Vec<&str> = left
        .iter()
        .filter(|span| span["message"].as_u64() == Some(last - 1))
        .map(|span| span["site"].as_str().unwrap())
        .filter(|site| !site.starts_with("kernel."))
        .collect();
    assert!(of_last_but_one.ends_with(&["plant.records", "plant.ring"]), "{of_last_but_one:?}");
    let state = objects(&trace(&["list", ring.path()]));
    assert!(state.iter().all(|row| row["state"] == "dead" && row["pid"].as_u64() == Some(pid)));

    let removed = nanotape(["ring", "remove", ring.path(), "--format", "json"]);
    let traces = json(&removed.stdout)["traces"].clone();
    assert_eq!(traces.as_array().map(Vec::len), Some(2), "{traces}");
    assert!(!path.exists() && !spans_path(&path).exists());
}

#[test]
fn a_flight_recorder_copies_slow_messages_and_the_last_spans_of_a_killed_plant() {
    let (folder, ring, mut plant, _) = plant("recorded-flight");
    trace(&["on", ring.path()]);
    let file = |name: &str| folder.path(name);
    let record =
        |arguments: &[&str]| nanotape([&["trace", "record", ring.path()], arguments].concat());
    let slow = record(&["--site", "plant.book=1ns", "--copies", "2", "-o", &file("slow.json")]);
    assert_eq!(slow.status, 0, "{}", slow.stderr);
    assert!(slow.stderr.contains("plant.book above 1 ns: "), "{}", slow.stderr);
    for name in ["slow.json", "slow-2.json"] {
        let copy = json(&fs::read_to_string(file(name)).unwrap());
        let events = copy["traceEvents"].as_array().unwrap();
        let is_slow = |event: &Value| event["ph"] == "X" && event["name"] == "plant.book";
        assert!(events.iter().any(is_slow), "{name}");
    }
    assert!(!fs::exists(file("slow-3.json")).unwrap());
    let again = record(&["--now", "-o", &file("slow.json")]);
    assert!(again.stderr.ends_with("slow.json exists; use --force to overwrite it\n"));
    assert_eq!(again.status, 2);
    let idle = record(&["--above", "60m", "-o", &file("none.json"), "--cpu-limit", "0.000001"]);
    assert_eq!(idle.status, 1, "{}", idle.stderr);
    assert!(idle.stderr.contains("the recorder turned itself off after"), "{}", idle.stderr);

    plant.signal(Signal::KILL);
    plant.end();
    let left = spans(&ring);
    let last = record(&["--now", "-o", &file("last.json"), "--spans", "65536"]);
    assert_eq!(last.status, 0, "{}", last.stderr);
    let copy = json(&fs::read_to_string(file("last.json")).unwrap());
    let copied: Vec<(&str, u64)> = copy["traceEvents"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["ph"] == "X")
        .map(|event| (event["name"].as_str().unwrap(), event["args"]["number"].as_u64().unwrap()))
        .collect();
    let of_span = |span: &Value| {
        (span["site"].as_str().unwrap().to_owned(), span["message"].as_u64().unwrap())
    };
    let left: Vec<(String, u64)> = left.iter().map(of_span).collect();
    assert!(copied.iter().map(|(name, number)| ((*name).to_owned(), *number)).eq(left));
    assert_eq!(record(&["--now", "-o", &file("last.pftrace")]).status, 0);
    let site: &[u8] = b"plant.decode";
    let copy = fs::read(file("last.pftrace")).unwrap();
    assert!(copy.windows(site.len()).any(|bytes| bytes == site));
    for (wrong, expected) in [
        (&["-o", "x.pftrace"][..], "nothing to wait for: use --above TIME"),
        (&["--now", "--on-signal", "-o", "x.pftrace"], "cannot be used with"),
        (&["--now"], "no file for the copies: use -o FILE"),
        (&["--now", "-o", "x.csv"], "unknown suffix"),
        (&["--now", "-o", "x.fxt"], "unknown suffix"),
        (&["--site", "plant.bok=1us", "-o", "x.json"], "no thread has a site plant.bok"),
    ] {
        let ran = record(wrong);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{wrong:?}");
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    }
}

#[test]
fn a_signal_is_a_trigger() {
    let (folder, ring, _plant, _) = plant("recorded-signal");
    trace(&["on", ring.path()]);
    let file = |name: &str| folder.path(name);
    eventually("a message has all of its spans", || spans(&ring).len() > 50);
    let path = file("requested.json");
    let options = ["--on-signal", "--copies", "2", "-o", &path];
    let mut recorder = Running::start(&[&["trace", "record", ring.path()], &options[..]].concat());
    let begun = recorder.read_stderr_line();
    let expected = format!("kill -USR1 {}\n", recorder.process.id());
    assert!(begun.ends_with(&expected), "{begun}");
    for name in ["requested.json", "requested-2.json"] {
        recorder.signal(Signal::USR1);
        eventually("a copy", || fs::exists(file(name)).unwrap());
        let copy = json(&fs::read_to_string(file(name)).unwrap());
        let events = copy["traceEvents"].as_array().unwrap();
        assert!(events.iter().any(|event| event["name"] == "plant.book"), "{name}");
        assert!(events.iter().any(|event| event["name"] == "trigger: request"), "{name}");
    }
    let (status, _, stderr) = recorder.end();
    assert_eq!(status, Some(0), "{stderr}");
    assert!(
        stderr.contains("requests: 2 triggers, 2 copied, 0 in the copy of another"),
        "{stderr}"
    );
    assert!(stderr.contains("; SIGUSR1"), "{stderr}");
}

#[test]
fn a_plant_of_another_build_or_user_is_refused_in_one_line() {
    let (_folder, ring, _plant, pid) = plant("refused");
    let path = trace_path(&ring.0, PLANT_THREAD);
    // The same program with a byte behind its end is another build.
    let scratch = Scratch::new("other-build");
    // In another process: a file that this one writes is busy in every child that it starts.
    let copied = std::process::Command::new("sh")
        .args(["-c", "cp \"$0\" \"$1\" && printf x >>\"$1\"", env!("CARGO_BIN_EXE_nanotape")])
        .arg(scratch.path())
        .bounded_status();
    assert!(copied.unwrap().success());
    let other = std::process::Command::new(scratch.path())
        .args(["trace", "on", ring.path()])
        .bounded_output()
        .unwrap();
    assert_eq!(other.status.code(), Some(2));
    let said = String::from_utf8(other.stderr).unwrap();
    let expected = format!(
        "nanotape: {}: process {pid} runs another build of this program: use the program that it \
         runs, /proc/{pid}/exe\n",
        path.display()
    );
    assert_eq!(said, expected);

    // A file of user 65534 is that user's own in its tests.
    let is_root = rustix::process::geteuid().is_root();
    if is_root && std::os::unix::fs::chown(&path, Some(65_534), None).is_ok() {
        let refused = nanotape(["trace", "on", ring.path()]);
        let expected = format!(
            "nanotape: {}: process {pid} belongs to user 65534, and answers only that user: run \
             this command as that user\n",
            path.display()
        );
        assert_eq!((refused.status, refused.stderr), (2, expected));
    } else {
        skipped("only root can give a file to another user");
    }
    assert_eq!(rates(&trace(&["list", ring.path()])), ["off"; SITES.len()]);
}

/// Symptom: a dump of a thread that was writing showed half of the spans that its ring kept: the
/// thread overwrote them while the command printed.
#[test]
fn a_dump_of_a_thread_that_writes_shows_what_was_kept() {
    const SPANS: u64 = 1 << 14;
    let scratch = Scratch::new("dump-live");
    let clock = Clock::monotonic();
    let options = TracerOptions { spans: SPANS as usize, ..TracerOptions::default() };
    let sites = Sites::new(&["work"]);
    let mut tracer = Tracer::create(scratch.path(), sites, clock, &options).unwrap();
    tracer.switches().set(&[Rate::ALL]);
    let mut write = |numbers: std::ops::Range<u64>| {
        for number in numbers {
            let stamp = clock.stamp();
            tracer.span(sites.site("work"), number, 0, stamp..stamp);
        }
    };
    write(0..2 * SPANS);
    let mut dump = Running::start(&["trace", "dump", scratch.text(), "--format", "csv"]);
    let header = dump.read_line();
    // It waits for the pipe, which has room for few of the rows.
    write(2 * SPANS..4 * SPANS);
    let (status, rows, complained) = dump.end();
    assert_eq!((status, complained.as_str()), (Some(0), ""));
    let place = header.trim().split(',').position(|column| column == "message").unwrap();
    let message = |row: &str| row.split(',').nth(place).unwrap().parse().ok();
    let numbers: Vec<Option<u64>> = rows.lines().map(message).collect();
    // The slot of the next span is left out: the thread may be writing it.
    let kept = (SPANS + 1..2 * SPANS).map(Some);
    assert!(numbers.iter().copied().eq(kept), "{} rows, {:?}", numbers.len(), numbers.first());
}

#[test]
fn what_is_not_traced_is_reported_in_one_line() {
    let (ring, other) = (Ring::new("no-trace"), Ring::new("some-trace"));
    let folder = Folder::new("no-trace");
    let day = folder.day(1_000, 5);
    let run = |ring: &Ring, options: &[&str]| {
        let usual = ["run", "--input", &day, "--date", DATE, "--ring", ring.path()];
        nanotape([&usual, options].concat())
    };
    for ran in [run(&ring, &["--trace-spans", "0"]), run(&other, &[])] {
        assert_eq!(ran.status, 0, "{}", ran.stderr);
    }
    let trace = |arguments: &[&str]| nanotape([&["trace"], arguments].concat());
    for (ran, expected) in [
        (trace(&["list", ring.path()]), "no thread of this ring is traced"),
        (trace(&["on", "1"]), "process 1 has no traced thread in /dev/shm"),
        (trace(&["dump", "no-such-ring"]), "no thread of this ring is traced"),
        (
            trace(&["on", other.path(), "--sites", "plant.bok"]),
            "no site matches plant.bok; use one of plant.receive, ",
        ),
        (run(&other, &["--trace-spans", "7"]), "use a power of two"),
    ] {
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
        assert!(ran.stderr.contains(expected) && ran.stderr.lines().count() == 1, "{}", ran.stderr);
    }
}
