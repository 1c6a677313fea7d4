//! `nanotape trace collect` and what reads its recordings: compared with the rings, damaged, lossy.

use std::{fs, path::Path};

use nanotape_clock::Clock;
use nanotape_harness::{Scratch, SetAtEnd, eventually};
use nanotape_journal::{Appender, AppenderOptions, Start, Tail, Tailer};
use nanotape_trace::{
    recording::{LOST, SPANS, START, THREAD},
    spans::{Rate, Site, SiteName, Sites, Tracer, TracerOptions},
};
use rustix::process::Signal;
use serde_json::Value;

use crate::{
    support::{
        Folder, nanotape,
        plants::{DATE, Ring},
        running::{Running, json, objects},
    },
    trace::trace,
};

fn dump(target: &str) -> Vec<Value> {
    objects(&trace(&["dump", target]))
}

/// Rows without their first member, the time of a report.
fn stat(target: &str) -> Vec<Value> {
    let mut rows = objects(&trace(&["stat", target]));
    rows.iter_mut().for_each(|row| _ = row.as_object_mut().unwrap().remove("time"));
    rows
}

#[test]
fn a_recording_of_a_killed_plant_has_what_its_rings_have() {
    let (folder, ring) = (Folder::new("collected"), Ring::new("collected"));
    let day = folder.day(100_000, 20);
    // Some thousand messages in a second, so that nothing is lost.
    let run = ["run", "--input", &day, "--date", DATE, "--ring", ring.path(), "--pace", "200x"];
    let pace = ["--pace-from", "09:30", "--format", "json"];
    let mut plant = Running::start(&[&run[..], &pace].concat());
    assert_eq!(plant.read_json()["event"], "start");
    let recording = folder.path("spans");
    trace(&["on", ring.path()]);
    let collect = ["trace", "collect", ring.path(), "-o", &recording, "--segment", "64KiB"];
    let mut collector = Running::start(&[&collect[..], &["--format", "json"]].concat());
    eventually("spans of several segments", || {
        let list = objects(&trace(&["list", ring.path()]));
        list[0]["spans"].as_u64().unwrap() > 6_000
    });
    plant.signal(Signal::KILL);
    plant.end();
    let (status, said, complained) = collector.end();
    assert_eq!(status, Some(0), "{complained}");

    let rows = dump(ring.path());
    assert_eq!(dump(&recording), rows);
    let summary = json(&said);
    assert_eq!(summary["spans"].as_u64(), Some(rows.len() as u64));
    assert_eq!((&summary["lost"], &summary["damaged"]), (&0.into(), &0.into()));
    let times = stat(ring.path());
    // The plant queries the kernel after slow messages: a time, and counts without one.
    let is_count = |row: &Value| row["site"].as_str().unwrap().starts_with("kernel.");
    assert_eq!(times.iter().filter(|row| !is_count(row)).count(), 5);
    assert!(times.iter().all(|row| !is_count(row) || row["site"] == "kernel.ask"), "{times:?}");
    assert_eq!(stat(&recording), times);
    check_times(&times, &rows);

    // What is there is not recorded twice.
    assert_eq!(nanotape(collect).status, 0);
    assert_eq!(dump(&recording), rows);
    let file = folder.path("spans.json");
    let exported = nanotape(["trace", "export", &recording, "-o", &file]);
    assert_eq!(exported.status, 0, "{}", exported.stderr);
    let slices = json(&fs::read_to_string(file).unwrap());
    let slices = slices["traceEvents"].as_array().unwrap().iter();
    let slices = slices.filter(|event| event["ph"] == "X");
    let named = |name: &Value, number: &Value| (name.clone(), number.clone());
    let slices: Vec<_> =
        slices.map(|slice| named(&slice["name"], &slice["args"]["number"])).collect();
    let spans: Vec<_> = rows.iter().map(|row| named(&row["site"], &row["message"])).collect();
    assert_eq!(slices, spans);

    // Each segment has the names: the first one is not needed.
    fs::remove_file(format!("{recording}/0000000001.segment")).unwrap();
    let rest = dump(&recording);
    assert!(!rest.is_empty() && rows.ends_with(&rest), "{} {}", rest.len(), rows.len());
}

/// The quantiles of the rows of spans, up to the precision of 0.1%.
fn check_times(times: &[Value], rows: &[Value]) {
    for time in times {
        let of_site = rows.iter().filter(|row| row["site"] == time["site"]);
        let mut sorted: Vec<u64> = of_site.map(|row| row["ns"].as_u64().unwrap()).collect();
        sorted.sort_unstable();
        assert_eq!(time["spans"].as_u64(), Some(sorted.len() as u64));
        assert_eq!(time["max"].as_u64(), sorted.last().copied());
        for (name, share) in [("p50", 0.5), ("p99", 0.99), ("p99_9", 0.999)] {
            let exact = sorted[((share * sorted.len() as f64).ceil() as usize).max(1) - 1];
            let found = time[name].as_u64().unwrap();
            assert!((exact..=exact + exact / 1000 + 1).contains(&found), "{name}: {time} {exact}");
        }
    }
}

const SITES: Sites = Sites::new(&["work.parse", "work.store"]);
const STORE: Site = SITES.site("work.store");

/// A traced thread of this process, with a ring of 64 spans.
fn tracer(scratch: &Scratch) -> Tracer {
    let options = TracerOptions { spans: 64, ..TracerOptions::default() };
    let tracer = Tracer::create(scratch.path(), SITES, Clock::calibrate(), &options).unwrap();
    tracer.switches().set(&[Rate::ALL; 2]);
    tracer
}

fn write(tracer: &mut Tracer, spans: u64) {
    for number in 0..spans {
        tracer.begin(STORE, number);
        tracer.end(STORE, number, 0);
    }
}

#[test]
fn lost_spans_are_in_the_recording_and_counted() {
    let (scratch, folder) = (Scratch::new("lossy"), Folder::new("lossy"));
    let mut tracer = tracer(&scratch);
    write(&mut tracer, 1);
    let (target, recording) = (scratch.path().to_str().unwrap(), folder.path("spans"));
    let collect = ["trace", "collect", target, "-o", &recording, "--format", "json"];
    let mut collector = Running::start(&collect);
    eventually("the first span is recorded", || {
        fs::exists(&recording).unwrap()
            && nanotape(["trace", "dump", &recording]).stdout.lines().count() > 1
    });
    write(&mut tracer, 1_000_000);
    drop(tracer);
    let (status, said, complained) = collector.end();
    assert_eq!(status, Some(0), "{complained}");
    let summary = json(&said);
    let (read, lost) = (summary["spans"].as_u64().unwrap(), summary["lost"].as_u64().unwrap());
    assert_eq!(read + lost, 1_000_001);
    assert!(lost > 0, "the check can fail");
    let rows = dump(&recording);
    let of_rows: u64 = rows.iter().filter_map(|row| row["lost"].as_u64()).sum();
    let spans = rows.iter().filter(|row| row["message"].is_u64()).count();
    assert_eq!((spans as u64, of_rows), (read, lost));
    let times = stat(&recording);
    assert_eq!((&times[0]["spans"], &times[1]["lost"]), (&read.into(), &lost.into()));
}

#[test]
fn sites_that_appear_later_are_switched_and_have_names_in_a_recording() {
    let (scratch, folder) = (Scratch::new("open"), Folder::new("open"));
    let options = TracerOptions { spans: 64, ..TracerOptions::default() };
    let mut tracer = Tracer::create_open(scratch.path(), Clock::calibrate(), &options).unwrap();
    let target = scratch.path().to_str().unwrap();
    let rates = || -> Vec<(Value, Value)> {
        let rows = objects(&trace(&["list", target])).into_iter();
        rows.map(|row| (row["site"].clone(), row["rate"].clone())).collect()
    };
    assert_eq!(rates(), [(Value::Null, Value::Null)]);
    let mut answers = tracer.answers().unwrap();
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _end = SetAtEnd(&is_over);
        scope.spawn(|| {
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                answers.poll();
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        });
        trace(&["on", target]);
        let mut name = |name| tracer.add_site(&SiteName::like(name).unwrap()).unwrap();
        let sites = [name("one"), name("two")];
        let on = |name: &str, rate: &str| (name.into(), rate.into());
        assert_eq!(rates(), [on("one", "all"), on("two", "all")]);
        trace(&["off", target, "--sites", "one"]);
        let three = name("three");
        assert_eq!(rates(), [on("one", "off"), on("two", "all"), on("three", "all")]);
        let recording = folder.path("spans");
        let collect = ["trace", "collect", target, "-o", &recording, "--format", "json"];
        let mut collector = Running::start(&collect);
        let stamp = Clock::monotonic().stamp();
        for site in sites {
            tracer.span(site, 7, 8, stamp..stamp);
        }
        eventually("the first span is recorded", || {
            // The folder is there before the recording can be read.
            let ran = nanotape(["trace", "dump", &recording, "--format", "json"]);
            ran.status == 0 && objects(&ran.stdout).len() == 1
        });
        let four = tracer.add_site(&SiteName::like("four").unwrap()).unwrap();
        tracer.span(three, 7, 8, stamp..stamp);
        tracer.span(four, 7, 8, stamp..stamp);
        eventually("all spans are recorded", || dump(&recording).len() == 3);
        let names: Vec<_> = dump(&recording).iter().map(|row| row["site"].clone()).collect();
        assert_eq!(names, ["two", "three", "four"]);
        collector.signal(Signal::INT);
        assert_eq!(collector.end().0, Some(0));
    });
}

/// Types and payloads of excerpts.
type Excerpts = Vec<(u16, Vec<u8>)>;

/// The excerpts of a recording.
fn excerpts(journal: &str) -> Excerpts {
    let mut tailer = Tailer::open(Path::new(journal), Start::Oldest).unwrap();
    let mut all = Vec::new();
    while let Tail::Excerpt(excerpt) = tailer.next().unwrap() {
        all.push((excerpt.type_id(), excerpt.to_vec()));
    }
    all
}

fn journal_of(path: &str, excerpts: &[(u16, Vec<u8>)]) {
    let mut appender = Appender::open(Path::new(path), &AppenderOptions::default()).unwrap();
    for (type_id, payload) in excerpts {
        appender.append(*type_id, 1, payload).unwrap();
    }
    appender.close().unwrap();
}

#[test]
fn damaged_entries_are_reported_with_their_position_and_hide_no_other() {
    let (scratch, folder) = (Scratch::new("hostile"), Folder::new("hostile"));
    let mut tracer = tracer(&scratch);
    write(&mut tracer, 3);
    let good = folder.path("good");
    let target = scratch.path().to_str().unwrap();
    let ran = nanotape(["trace", "collect", target, "-o", &good, "--for", "1ms"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let all = excerpts(&good);
    let types: Vec<u16> = all.iter().map(|excerpt| excerpt.0).collect();
    assert_eq!(types, [START, THREAD, SPANS]);
    let rows = dump(&good);
    assert_eq!(rows.len(), 3);

    let damaged = |name: &str, change: &dyn Fn(&mut Excerpts)| {
        let (path, mut excerpts) = (folder.path(name), all.clone());
        change(&mut excerpts);
        journal_of(&path, &excerpts);
        let ran = nanotape(["trace", "dump", &path, "--format", "json"]);
        let line = ran.stderr.strip_prefix(&format!("nanotape: {path}: segment 1, offset "));
        let line = line.unwrap_or_else(|| panic!("{name}: {}", ran.stderr)).to_owned();
        assert_eq!((ran.status, line.lines().count()), (1, 1), "{line}");
        (objects(&ran.stdout), line)
    };
    // The second span ends before it begins.
    let (left, line) = damaged("span", &|all| all[2].1[16 + 40 + 8..][..8].fill(0xff));
    assert_eq!(left, [rows[0].clone(), rows[2].clone()]);
    assert!(line.ends_with(": span 2 of thread 1 is damaged\n"), "{line}");
    let (left, line) = damaged("cut", &|all| {
        let mut cut = all[2].clone();
        cut.1.pop();
        all.insert(2, cut);
    });
    assert_eq!(left, rows);
    assert!(
        line.ends_with(": an entry of type 0xff12 with 135 bytes: it cannot have this length\n")
    );
    let (left, line) = damaged("unknown", &|all| all.insert(1, (LOST, vec![9; 24])));
    assert_eq!(left, rows);
    assert!(line.contains(": reason is "), "{line}");
    let (left, line) = damaged("number", &|all| all[2].1[0] = 2);
    assert_eq!(left, Vec::<Value>::new());
    assert!(line.ends_with(": an entry of thread 2, which is not announced before it\n"), "{line}");
    // Other excerpts are no damage.
    let mixed = folder.path("mixed");
    let mut with_others = all.clone();
    with_others.insert(2, (0x00a0, vec![1; 56]));
    journal_of(&mixed, &with_others);
    assert_eq!(dump(&mixed), rows);
}

#[test]
fn an_interval_log_has_each_site_as_a_tag() {
    let (scratch, folder) = (Scratch::new("hlog"), Folder::new("hlog"));
    let mut tracer = tracer(&scratch);
    write(&mut tracer, 3);
    let file = folder.path("spans.hlog");
    let target = scratch.path().to_str().unwrap();
    let ran = nanotape(["trace", "stat", target, "-o", &file, "--interval", "60"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
    let log = fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines[0], "#[Histogram log format version 1.3]");
    let is_interval =
        |line: &&str| line.starts_with("Tag=work.store,") && line.contains(",60.000,");
    // The spans can be at the end of a minute.
    assert!((4..=5).contains(&lines.len()) && lines[3..].iter().all(is_interval), "{log}");
    assert_eq!(nanotape(["trace", "stat", target, "-o", &file]).status, 2, "it exists");
}

#[test]
fn what_cannot_be_collected_is_reported_in_one_line() {
    let (scratch, folder) = (Scratch::new("refused"), Folder::new("refused"));
    let _tracer = tracer(&scratch);
    let target = scratch.path().to_str().unwrap();
    let other = folder.path("records");
    journal_of(&other, &[(7, vec![0; 8])]);
    let plain = folder.path("plain");
    fs::create_dir(&plain).unwrap();
    fs::write(format!("{plain}/x"), "x").unwrap();
    for (arguments, expected) in [
        (&["collect", target, "-o", &other][..], "this journal is not a recording of spans"),
        (&["collect", target, "-o", &plain], "the folder has files but no journal"),
        (&["collect", "no-such-ring", "-o", &folder.path("new")], "no thread of this ring"),
        (&["dump", &plain], "no journal"),
        (&["stat", target, "--interval", "0"], "--interval 0: use a time above 0"),
        (&["stat", target, "-o", "x.prom"], "unknown suffix; use .hlog, .csv, .json or .txt"),
        (&["export", target], "no file for the spans: use -o FILE"),
    ] {
        let ran = nanotape([&["trace"], arguments].concat());
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected) && ran.stderr.lines().count() == 1, "{}", ran.stderr);
    }
    assert!(!fs::exists(folder.path("new")).unwrap());
}
