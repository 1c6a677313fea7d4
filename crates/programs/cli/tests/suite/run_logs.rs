//! What a plant reports to a manager of services: lines on standard error with time and level, and
//! the notifications of systemd.

use std::{
    fs::File,
    os::unix::{fs::MetadataExt as _, net::UnixDatagram},
    process::Command,
    time::Duration,
};

use nanotape_clock::UtcNanos;
use nanotape_harness::{Bounded as _, Patience, Signal, skipped};

use crate::{
    live_parts::{end_of_session, order, packet, send},
    support::{
        Folder,
        live::{Plant, addresses},
        plants::Ring,
        program,
        running::{Running, json},
    },
};

/// Standard error of a plant that loses a message.
fn lines_of_a_loss(options: &[&str]) -> Vec<String> {
    let mut plant = Plant::start("run-logs", options);
    send(&plant, &packet(1, &[order(1, 100)]));
    send(&plant, &packet(3, &[order(3, 300)]));
    send(&plant, &end_of_session(4));
    let (status, _, stderr) = plant.end();
    assert_eq!(status, Some(1), "{stderr}");
    stderr.lines().map(str::to_owned).collect()
}

#[test]
fn each_line_has_time_and_level_in_the_form_that_is_chosen() {
    let plain = lines_of_a_loss(&[]);
    assert!(
        plain.len() > 4 && plain.iter().all(|line| line.starts_with("nanotape: ")),
        "{plain:?}"
    );
    let has = |levels: &[&str], level| levels.contains(&level);

    let text = lines_of_a_loss(&["--log-format", "text"]);
    let parts: Vec<_> = text.iter().map(|line| line.splitn(3, ' ').collect::<Vec<_>>()).collect();
    let levels: Vec<&str> = parts.iter().map(|parts| parts[1]).collect();
    assert!(parts.iter().all(|parts| parts[0].parse::<UtcNanos>().is_ok()), "{text:?}");
    assert!(has(&levels, "warning") && has(&levels, "info"), "{text:?}");
    assert!(parts.iter().any(|parts| parts[2].contains("joined at message 1")), "{text:?}");

    let text = lines_of_a_loss(&["--log-format", "json"]);
    let rows: Vec<_> = text.iter().map(|line| json(line)).collect();
    assert!(rows.iter().all(|row| row["time"].as_str().unwrap().parse::<UtcNanos>().is_ok()));
    for (level, message) in [
        ("info", "session MONDAY: joined at message 1"),
        ("warning", "message 2 missing, seen by line A"),
        ("info", "end of session at message 4"),
    ] {
        let is_reported =
            |row: &serde_json::Value| row["level"] == level && row["message"] == message;
        assert!(rows.iter().any(is_reported), "{level} {message}: {rows:?}");
    }
}

#[test]
fn a_line_for_journald_has_its_priority() {
    let folder = Folder::new("run-journald");
    let path = folder.write("journal", b"");
    let run = |change: u64| {
        let file = File::create(&path).unwrap();
        let stream = file.metadata().unwrap();
        let mut command = Command::new(program());
        command.args(["run", "--live", "--ring", "run-journald"]).stderr(file);
        command.env("JOURNAL_STREAM", format!("{}:{}", stream.dev(), stream.ino() + change));
        assert_eq!(command.bounded_status().unwrap().code(), Some(2));
        std::fs::read_to_string(&path).unwrap()
    };
    let line = run(0);
    assert!(line.starts_with("<3>nanotape: no line given"), "{line}");
    let line = run(1);
    assert!(line.starts_with("nanotape: no line given"), "standard error is another file: {line}");
}

#[test]
fn systemd_is_notified_of_the_start_of_work_and_of_the_end() {
    let folder = Folder::new("run-systemd");
    let (path, ring, [line]) = (folder.path("notify"), Ring::new("run-systemd"), addresses());
    let manager = UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(Duration::from_secs(300))).unwrap();
    let next = || {
        let mut buffer = [0; 4_096];
        let length = manager.recv(&mut buffer).expect("a notification");
        String::from_utf8(buffer[..length].to_vec()).unwrap()
    };
    let mut command = Command::new(program());
    command.args(["run", "--live", "--line-a", &line, "--ring", ring.path(), "--format", "json"]);
    command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "400000").env_remove("WATCHDOG_PID");
    let mut plant = Running::of(command);
    assert_eq!(next(), "READY=1");
    assert_eq!(plant.read_json()["event"], "start");
    // The plant works although no packet comes.
    for _ in 0..3 {
        let reported = next();
        assert!(reported.starts_with("WATCHDOG=1\nSTATUS=0 messages, "), "{reported}");
        assert!(reported.ends_with("; next message 0, 0 gaps open"), "{reported}");
    }
    plant.signal(Signal::INT);
    let patience = Patience::new("the end");
    while next() != "STOPPING=1" {
        patience.check();
    }
    assert_eq!(plant.end().0, Some(0));
}

#[test]
fn the_unit_of_systemd_is_valid() {
    let unit = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../contrib/systemd/nanotape@.service");
    let text = std::fs::read_to_string(unit).unwrap();
    let folder = Folder::new("run-unit");
    let text = text.replace("/usr/local/bin/nanotape", program());
    let copy = folder.write("nanotape@equities.service", text.as_bytes());
    let Ok(verified) = Command::new("systemd-analyze").args(["verify", &copy]).bounded_output()
    else {
        return skipped("systemd-analyze (Debian: systemd) is not installed");
    };
    let reported = String::from_utf8_lossy(&verified.stderr);
    // Of other units, the machine may lack some.
    assert!(!reported.contains("nanotape@equities"), "{reported}");
    assert!(text.contains("Type=notify") && text.contains(" run --config /etc/nanotape/%i.toml"));
}
