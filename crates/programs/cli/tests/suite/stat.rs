//! `nanotape stat` as a user runs it: plants that run, have ended, were killed, or start again.

use std::fs;

use nanotape_harness::eventually;
use nanotape_plant::records::RecordKind;
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{
    Folder,
    exposition::{Dialect, Exposition},
    nanotape, nanotape_fed,
    plants::{DATE, Ring},
    running::{Running, json, objects, whole},
};

/// One reading, as JSON.
fn stat_of(ring: &Ring) -> Value {
    let ran = nanotape(["stat", ring.path(), "--interval", "0", "--format", "json"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    json(&ran.stdout)
}

/// One exposition, which has the same samples in both formats.
fn metrics(ring: &Ring, options: &[&str]) -> Exposition {
    let [older, newer] =
        [("prometheus", Dialect::Prometheus), ("openmetrics", Dialect::OpenMetrics)].map(
            |(format, dialect)| {
                let arguments = [&["stat", ring.path(), "--format", format], options].concat();
                let ran = nanotape(arguments);
                assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
                Exposition::parse(&ran.stdout, dialect)
            },
        );
    if ["stopped", "died"].contains(&newer.state()) {
        let [older, newer] = [&older, &newer].map(|found| {
            let mut samples = found.samples();
            // Other processes write to the disk.
            samples.retain(|name, _| !name.contains("_journal_free_bytes"));
            samples
        });
        assert_eq!(older, newer);
    } else {
        assert!(older.samples().keys().eq(newer.samples().keys()));
    }
    newer
}

/// Runs a plant to its end; returns its last output.
fn ended(day: &str, ring: &Ring) -> Value {
    let arguments =
        ["run", "--input", day, "--date", DATE, "--ring", ring.path(), "--format", "json"];
    let ran = nanotape(arguments);
    objects(&ran.stdout).pop().unwrap()
}

/// Missing messages are not "0 bytes lost".
#[test]
fn messages_that_no_line_brought_are_counted() {
    let folder = Folder::new("stat-lost");
    let (day, ring) = (folder.day(20_000, 20), Ring::new("stat-lost"));
    let capture = folder.path("day.pcap");
    let faults = ["--faults-both", "burst=0.02%x20", "--seed", "7", "--date", DATE];
    let lines = ["--line-a", "239.1.1.1:5001", "--line-b", "239.1.1.2:5001"];
    let ran = nanotape([&["replay", &day, "-o", &capture], &lines[..], &faults[..]].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    ended(&capture, &ring);
    let listed = nanotape(["inside", &capture, "-o", "/dev/null", "--format", "csv"]).stderr;
    let missing = listed
        .lines()
        .filter_map(|line| line.strip_suffix(" missing")?.rsplit(' ').next()?.parse::<u64>().ok());
    let lost: u64 = missing.sum();
    assert!((20..1_000).contains(&lost) && !listed.contains(" more damaged places"), "{listed}");
    let seen = stat_of(&ring);
    assert_eq!((&seen["lost_messages"], &seen["lost_bytes"]), (&lost.into(), &0.into()));
    let places = &seen["damage_lost"];
    let text = nanotape(["stat", ring.path(), "--interval", "0"]).stdout;
    let line = format!("\ndamage          lost {places}; {lost} messages lost\n");
    assert!(text.contains(&line), "{text}");
    let exposition = nanotape(["stat", ring.path(), "--format", "openmetrics"]).stdout;
    assert!(exposition.contains("\nnanotape_plant_lost_messages_total{"), "{exposition}");
}

#[test]
fn a_plant_is_running_until_it_is_killed() {
    let folder = Folder::new("stat-running");
    let (day, ring) = (folder.day(20_000, 20), Ring::new("stat-running"));
    let (mut plant, _) = Running::plant(&day, &ring, &["--records", "mbo,trades"]);
    let pid = plant.process.id();
    let seen = stat_of(&ring);
    assert_eq!((&seen["state"], &seen["plant_pid"]), (&"running".into(), &pid.into()));
    assert_eq!((&seen["path"], &seen["stop_reason"]), (&ring.path().into(), &Value::Null));
    assert_eq!((&seen["trade_date"], &seen["pace"]), (&DATE.into(), &"1x".into()));
    assert_eq!((&seen["kinds"], &seen["ring_writer_pid"]), (&"mbo,trades".into(), &pid.into()));
    assert_eq!(seen["input_total_bytes"], fs::metadata(&day).unwrap().len());
    assert_eq!((&seen["messages_per_second"], &seen["bbo_records"]), (&Value::Null, &0.into()));
    assert!(whole(&seen["started_ns"]).unwrap() > 1_500_000_000_000_000_000);

    let ran = nanotape(["stat", ring.path(), "--interval", "0.05"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let line = format!("\nplant           running; process {pid}, started 20");
    assert!(ran.stdout.starts_with(ring.path()) && ran.stdout.contains(&line), "{}", ran.stdout);
    assert!(ran.stdout.contains("pace 1x"), "{}", ran.stdout);
    assert_eq!(metrics(&ring, &[]).state(), "running");
    let arguments = ["stat", ring.path(), "--count", "3", "--interval", "0.05", "--format", "json"];
    let rows = objects(&nanotape(arguments).stdout);
    assert!(rows.len() == 3 && rows.iter().all(|row| row["messages_per_second"].is_f64()));

    plant.signal(Signal::KILL);
    assert_eq!(plant.end().0, None, "a signal ended it");
    assert_eq!(stat_of(&ring)["state"], "died");
    assert_eq!(metrics(&ring, &[]).state(), "died");
    let text = nanotape(["stat", ring.path(), "--interval", "0"]).stdout;
    assert!(text.contains("died: exited without a stop notice"), "{text}");
}

#[test]
fn what_a_plant_that_has_ended_shows_is_what_it_said() {
    let folder = Folder::new("stat-ended");
    let (day, ring) = (folder.day(60_000, 30), Ring::new("stat-ended"));
    let stop = ended(&day, &ring);
    let seen = stat_of(&ring);
    assert_eq!((&seen["state"], &seen["stop_reason"]), (&"stopped".into(), &stop["reason"]));
    assert_eq!((&seen["messages"], &seen["records"]), (&stop["messages"], &stop["records"]));
    for kind in RecordKind::ALL {
        let name = format!("{kind}_records");
        assert_eq!(seen[&name], stop[&name], "{kind}");
    }
    let next = stop["records"].as_u64().unwrap() + 1;
    assert_eq!((&seen["notices"], &seen["ring_next_sequence"]), (&2.into(), &next.into()));
    assert_eq!(
        (&seen["ring_oldest_sequence"], &seen["ring_messages_held"]),
        (&1.into(), &(next - 1).into())
    );
    let bytes = fs::metadata(&day).unwrap().len();
    assert_eq!((&seen["input_done_bytes"], &seen["input_percent"]), (&bytes.into(), &100.0.into()));
    assert_eq!(seen["time_of_day"], "20:05:00.000000000");
    let span = seen["ring_span_ns"].as_u64().unwrap();
    assert!(span > 0 && span < seen["ring_last_message_age_ns"].as_u64().unwrap() + span);
    let fill = seen["ring_fill_percent"].as_f64().unwrap();
    assert!(fill > 20.0 && fill < 50.0, "{fill}: 90,000 records of 80 bytes or so in 32 MiB");
    for stage in ["read", "apply", "publish"] {
        let of = |what: &str| seen[format!("{stage}_{what}")].as_u64().unwrap();
        assert!(of("samples") > 100, "one message in 255 is timed");
        assert!(of("ns_p50") <= of("ns_p99") && of("ns_p99") <= of("ns_max") && of("ns_p50") > 0);
    }

    let text = nanotape(["stat", ring.path(), "--interval", "0"]).stdout;
    for line in ["stopped: end of input; process", "\nmessages        60000, ", "percent full"] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let found = metrics(&ring, &[]);
    assert_eq!(found.state(), "stopped");
    assert_eq!(found.value("nanotape_plant_messages_total", &[]), 60_000.0);
    let mbo = found.value("nanotape_plant_records_total", &[("kind", "mbo")]);
    assert_eq!(stop["mbo_records"], mbo as u64);
    let sum = found.value("nanotape_plant_stage_seconds_sum", &[("stage", "apply")]);
    assert!(sum > 0.0 && sum < 60.0, "{sum}: seconds");
    let samples = found.value("nanotape_plant_stage_seconds_count", &[("stage", "apply")]);
    assert_eq!(seen["apply_samples"], samples as u64);
    assert_eq!(found.label("nanotape_plant_info", "trade_date"), DATE);
    assert_eq!(found.label("nanotape_plant_info", "ring"), ring.path());
}

#[test]
fn a_ring_that_is_full_says_how_far_a_tap_may_be_behind() {
    let folder = Folder::new("stat-full");
    let (day, ring) = (folder.day(20_000, 20), Ring::new("stat-full"));
    let arguments = ["run", "--input", &day, "--date", DATE, "--ring", ring.path()];
    assert_eq!(nanotape(arguments.iter().chain(&["--capacity", "64KiB"])).status, 0);
    let seen = stat_of(&ring);
    assert_eq!(
        (&seen["ring_fill_percent"], &seen["ring_capacity_bytes"]),
        (&100.0.into(), &65_536.into())
    );
    assert!(seen["ring_oldest_sequence"].as_u64().unwrap() > 20_000);
    assert!(seen["ring_span_ns"].as_u64().unwrap() > 0);
    let text = nanotape(["stat", ring.path(), "--interval", "0"]).stdout;
    assert!(text.contains("64 KiB, full, the oldest messages are overwritten"), "{text}");
    assert!(text.contains(": a tap can be this far behind without a loss"), "{text}");
    assert_eq!(metrics(&ring, &[]).value("nanotape_ring_fill_ratio", &[]), 1.0);
}

#[test]
fn damage_and_stocks_that_cannot_be_trusted_are_counted() {
    let folder = Folder::new("stat-tainted");
    let (day, ring) = (folder.day(20_000, 20), Ring::new("stat-tainted"));
    let mut bytes = fs::read(&day).unwrap();
    let listed = nanotape(["inspect", &day, "--format", "csv"]).stdout;
    let adds = listed.lines().filter(|row| row.split(',').nth(2) == Some("A"));
    // An order without an add: later messages about it do not fit its book.
    for add in adds.skip(500).step_by(50).take(40) {
        let offset: usize = add.split(',').nth(1).unwrap().parse().unwrap();
        bytes[offset + 2] = b'I';
    }
    let damaged = folder.write("damaged.itch50", &bytes);
    let stop = ended(&damaged, &ring);
    let ran = nanotape(["stat", ring.path(), "--interval", "0", "--format", "json", "--tainted"]);
    let seen = json(&ran.stdout);
    let sum = |prefix: &str| -> u64 {
        let named = seen.as_object().unwrap().iter().filter(|(name, _)| name.starts_with(prefix));
        named.map(|(_, value)| value.as_u64().unwrap()).sum()
    };
    assert!(sum("damage_") > 30, "{seen}");
    assert_eq!(
        (sum("damage_"), sum("anomaly_")),
        (stop["damaged"].as_u64().unwrap(), stop["anomalies"].as_u64().unwrap())
    );
    let stocks = seen["tainted"].as_array().unwrap();
    assert_eq!(
        (&seen["tainted_stocks"], &stop["tainted_stocks"]),
        (&stocks.len().into(), &stocks.len().into())
    );
    assert!(!stocks.is_empty());
    let of_stocks: u64 = stocks.iter().map(|stock| stock["messages"].as_u64().unwrap()).sum();
    assert_eq!(of_stocks, sum("anomaly_"));

    let symbol = stocks[0]["symbol"].as_str().unwrap();
    let found = metrics(&ring, &["--tainted"]);
    let count = found.value("nanotape_plant_tainted_messages_total", &[("symbol", symbol)]);
    assert_eq!(stocks[0]["messages"], count as u64);
    let text = nanotape(["stat", ring.path(), "--interval", "0", "--tainted"]).stdout;
    assert!(text.contains(&format!("\n  {symbol:<14}{count} messages\n")), "{text}");
    assert!(text.contains("bytes lost\nanomalies       unknown_reference"), "{text}");
}

#[test]
fn a_recorder_is_shown_with_its_journal_its_lag_and_its_end() {
    let folder = Folder::new("stat-recorder");
    let (day, ring) = (folder.day(20_000, 20), Ring::new("stat-recorder"));
    let journal = folder.path("journal");
    let (mut plant, _) = Running::plant(&day, &ring, &["--pace-from", "10:00"]);
    assert_eq!(stat_of(&ring)["recorder_state"], Value::Null);
    let mut recorder = Running::start(&["journal", "record", ring.path(), &journal]);
    let until = |state: &str, lag: bool| {
        let mut seen = Value::Null;
        eventually(&format!("a recorder that is {state}"), || {
            seen = stat_of(&ring);
            let is_behind = seen["recorder_lag_messages"].as_u64().is_some_and(|lag| lag > 0);
            seen["recorder_state"] == state && is_behind == lag
        });
        seen
    };
    let seen = until("recording", false);
    assert_eq!((&seen["recorder_journal"], &seen["recorder_lost"]), (&journal.into(), &0.into()));
    assert_eq!(seen["recorder_pid"], recorder.process.id());
    assert_eq!(seen["recorder_next_sequence"], seen["ring_next_sequence"]);
    let recorded = seen["ring_next_sequence"].as_u64().unwrap() - 1;
    assert_eq!(
        (&seen["recorder_recorded"], &seen["recorder_lag_ns"]),
        (&recorded.into(), &0.into())
    );

    // Another recorder of the ring records, and is not shown.
    let other = folder.path("other");
    let mut second = Running::start(&["journal", "record", ring.path(), &other]);
    let excerpts = || nanotape(["journal", "stat", &other, "--format", "json"]).stdout;
    eventually("the second recorder records", || {
        excerpts().contains(&format!("\"next_sequence\":{}", recorded + 1))
    });
    assert_eq!(stat_of(&ring)["recorder_pid"], recorder.process.id());
    second.signal(Signal::INT);
    let (status, _, complained) = second.end();
    assert_eq!((status, complained.lines().count()), (Some(0), 1), "{complained}");
    let expected = format!("its owner is alive: process {}", recorder.process.id());
    assert!(complained.contains(&expected), "{complained}");
    assert!(complained.contains("does not show its progress"), "{complained}");

    recorder.signal(Signal::KILL);
    recorder.end();
    // While the plant lives, its recorder may be started again: another one is not shown.
    let mut third = Running::start(&["journal", "record", ring.path(), &folder.path("third")]);
    let stat = ["journal", "stat", &folder.path("third"), "--format", "json"];
    eventually("the third recorder records", || {
        nanotape(stat).stdout.contains(&format!("\"next_sequence\":{}", recorded + 1))
    });
    third.signal(Signal::INT);
    let complained = third.end().2;
    assert!(complained.contains("died, and its plant may start it again"), "{complained}");
    assert_eq!(stat_of(&ring)["recorder_journal"], folder.path("journal"));
    plant.signal(Signal::TERM);
    assert_eq!(plant.end().0, Some(0));
    let seen = until("dead", true);
    assert_eq!(seen["recorder_lag_messages"], 1, "the stop of the plant");
    let text = nanotape(["stat", ring.path(), "--interval", "0"]).stdout;
    assert!(text.contains("\nrecorder        dead: exited without an end"), "{text}");
    assert!(text.contains(&format!("\n  journal       {}\n", folder.path("journal"))), "{text}");
    assert!(text.contains("\n  lag           1 messages, "), "{text}");
    let found = metrics(&ring, &[]);
    assert_eq!(found.value("nanotape_recorder_lag_messages", &[]), 1.0);
    assert_eq!(found.value("nanotape_recorder_recorded_total", &[]), recorded as f64);
    assert_eq!(found.label("nanotape_recorder_info", "journal"), folder.path("journal"));
    let is_dead = [("nanotape_recorder_state", "dead")];
    assert_eq!(found.value("nanotape_recorder_state", &is_dead), 1.0);

    let again = nanotape(["journal", "record", ring.path(), &folder.path("journal")]);
    assert_eq!(again.status, 0, "{}", again.stderr);
    let seen = until("gone", false);
    assert_eq!(seen["recorder_recorded"], recorded + 1);
    let text = nanotape(["stat", ring.path(), "--interval", "0"]).stdout;
    assert!(text.contains("\n  lag           none, every message is recorded\n"), "{text}");
    let removed = nanotape(["ring", "remove", ring.path()]);
    let line = format!("removed {}: its recorder's progress\n", ring.recorder().display());
    assert!(removed.stdout.contains(&line) && !ring.recorder().exists(), "{}", removed.stdout);
}

#[test]
fn stat_changes_nothing() {
    let folder = Folder::new("stat-same");
    let (day, ring) = (folder.day(5_000, 10), Ring::new("stat-same"));
    ended(&day, &ring);
    let state = || (fs::read(&ring.0).unwrap(), fs::read(ring.board()).unwrap());
    let before = state();
    for format in ["text", "json", "prometheus", "openmetrics"] {
        let arguments =
            ["stat", ring.path(), "--count", "2", "--interval", "0.01", "--format", format];
        assert_eq!(nanotape(arguments).status, 0, "{format}");
    }
    assert!(state() == before, "stat has written");
}

#[test]
fn watching_goes_on_with_the_next_plant() {
    let folder = Folder::new("stat-watch");
    let (day, ring) = (folder.day(20_000, 20), Ring::new("stat-watch"));
    let (first, _) = Running::plant(&day, &ring, &[]);
    let watch = ["stat", ring.path(), "--watch", "--interval", "0.02", "--format", "json"];
    let mut watch = Running::start(&watch);
    let until = |watch: &mut Running, state: &str, pid: u32| loop {
        let row = watch.read_json();
        if row["state"] == state && row["plant_pid"] == pid {
            break;
        }
    };
    until(&mut watch, "running", first.process.id());
    first.signal(Signal::KILL);
    until(&mut watch, "died", first.process.id());
    // First the same ring, then a new one at its path.
    for options in [&[][..], &["--replace"]] {
        let (mut next, _) = Running::plant(&day, &ring, options);
        until(&mut watch, "running", next.process.id());
        next.signal(Signal::TERM);
        assert_eq!(next.end().0, Some(0));
        until(&mut watch, "stopped", next.process.id());
    }
    watch.signal(Signal::INT);
    let (status, _, complained) = watch.end();
    assert_eq!((status, complained.as_str()), (Some(0), ""));
}

#[test]
fn metrics_in_a_file_are_replaced_with_each_sample() {
    let folder = Folder::new("stat-file");
    let (day, ring) = (folder.day(2_000, 5), Ring::new("stat-file"));
    ended(&day, &ring);
    for (name, dialect) in [("plant.prom", Dialect::Prometheus), ("plant.om", Dialect::OpenMetrics)]
    {
        let file = folder.path(name);
        let arguments = ["stat", ring.path(), "-o", &file, "--count", "3", "--interval", "0.01"];
        assert_eq!(nanotape(arguments).status, 0);
        let found = Exposition::parse(&fs::read_to_string(&file).unwrap(), dialect);
        assert_eq!(found.value("nanotape_plant_messages_total", &[]), 2_000.0);
        let again = nanotape(arguments);
        assert_eq!((again.status, again.stderr.lines().count()), (2, 1));
        assert!(again.stderr.contains("exists; use --force to overwrite it"), "{}", again.stderr);
    }
}

#[test]
fn tools_of_rings_know_a_plants_ring_and_its_board() {
    let folder = Folder::new("stat-ring");
    let (day, ring) = (folder.day(2_000, 5), Ring::new("stat-ring"));
    let (mut plant, _) = Running::plant(&day, &ring, &[]);
    let seen = nanotape(["ring", "stat", ring.path(), "--interval", "0", "--format", "json"]);
    let seen = json(&seen.stdout);
    assert_eq!((&seen["writer_state"], &seen["kind"]), (&"alive".into(), &"stream".into()));
    assert_eq!(seen["writer_pid"], plant.process.id());
    assert!(seen["last_message_age_ns"].as_i64().is_some(), "{seen}");
    assert_eq!(nanotape(["ring", "remove", ring.path()]).status, 2, "its plant lives");
    if let Some(name) = ring.path().strip_prefix("/dev/shm/nanotape-") {
        let listed = objects(&nanotape(["ring", "list", "--format", "json"]).stdout);
        let kind = |name: &str| {
            let row = listed.iter().find(|row| row["name"] == name).unwrap();
            (row["kind"].as_str().unwrap(), row["pid"].as_u64().unwrap(), row["remark"].is_null())
        };
        let pid = u64::from(plant.process.id());
        assert_eq!(kind(name), ("stream", pid, true));
        assert_eq!(kind(&format!("{name}.board")), ("BOARD", pid, true));
    }
    plant.signal(Signal::KILL);
    plant.end();
    let removed = nanotape(["ring", "remove", ring.path()]);
    assert_eq!((removed.status, removed.stderr.as_str()), (0, ""));
    let line = format!("removed {}: its plant's board\n", ring.board().display());
    assert!(removed.stdout.contains(&line), "{}", removed.stdout);
    assert!(!ring.0.exists() && !ring.board().exists());
}

#[test]
fn wrong_usage_is_one_line_and_status_2() {
    let ring = Ring::new("stat-usage");
    let absent = nanotape(["stat", ring.path()]);
    assert_eq!((absent.status, absent.stderr.lines().count()), (2, 1));
    assert!(absent.stderr.contains("does not exist; its writer"), "{}", absent.stderr);
    assert_eq!(nanotape_fed(["ring", "publish", ring.path()], b"x\n").status, 0);
    let without = nanotape(["stat", ring.path()]);
    assert_eq!((without.status, without.stderr.lines().count()), (2, 1));
    assert!(without.stderr.contains("no plant writes to this ring"), "{}", without.stderr);
    fs::write(ring.board(), "the only copy of something else").unwrap();
    let other = nanotape(["stat", ring.path()]);
    assert_eq!((other.status, other.stderr.lines().count()), (2, 1));
    assert!(other.stderr.contains("is not a region"), "{}", other.stderr);
    // A file that is not a board is not removed.
    let removed = nanotape(["ring", "remove", ring.path()]);
    assert_eq!(removed.status, 1);
    assert!(removed.stderr.contains("board not removed: "), "{}", removed.stderr);
    assert!(ring.board().exists() && !ring.0.exists());
    let help = nanotape(["stat", "--help"]).stdout;
    assert!(help.contains("Examples:\n  nanotape stat "), "{help}");
}
