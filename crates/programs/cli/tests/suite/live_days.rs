//! A live plant over several days: each session is kept in a folder of its own, and a schedule
//! decides when sessions are joined.

use std::{
    collections::BTreeMap,
    io::ErrorKind,
    net::{Ipv4Addr, UdpSocket},
    os::unix::net::UnixDatagram,
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use nanotape_clock::UtcNanos;
use nanotape_harness::{Mount, Patience, Signal, eventually};
use nanotape_plant::records::{Notice, StopReason, TradeDate};
use serde_json::Value;

use crate::{
    live_parts::{end_of, order, packet_of},
    support::{Folder, live::addresses, nanotape, plants::Ring, program, running::Running},
};

const DAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// The lines and the ring of plants that follow sessions.
pub(crate) struct Lines {
    pub(crate) lines: [String; 2],
    pub(crate) ring: Ring,
    socket: UdpSocket,
}

impl Lines {
    pub(crate) fn new(name: &str) -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        Self { lines: addresses(), ring: Ring::new(name), socket }
    }

    fn arguments<'a>(&'a self, options: &[&'a str]) -> Vec<&'a str> {
        let [a, b] = &self.lines;
        let mut arguments = vec!["run", "--live", "--line-a", a, "--line-b", b, "--format", "json"];
        if !options.contains(&"--live-orders") {
            arguments.extend(["--live-orders", "65536"]);
        }
        arguments.extend(["--follow", "--ring", self.ring.path(), "--capacity", "64MiB"]);
        arguments.extend(options);
        arguments
    }

    fn start(&self, options: &[&str]) -> Running {
        Running::start(&self.arguments(options))
    }

    /// Sends messages of a session to both lines, ten in a packet.
    pub(crate) fn send(&self, session: &str, first: u64, next: u64) {
        for from in (first..next).step_by(10) {
            let messages: Vec<_> = (from..from + 10).map(|number| order(number, 100)).collect();
            self.both(&packet_of(session, from, &messages));
        }
    }

    pub(crate) fn end(&self, session: &str, next: u64) {
        (0..2).for_each(|_| self.both(&end_of(session, next)));
    }

    pub(crate) fn both(&self, packet: &[u8]) {
        for line in &self.lines {
            self.socket.send_to(packet, line).unwrap();
        }
    }

    /// Waits until a plant has delivered all messages before this one.
    pub(crate) fn wait_for(&self, next: u64) {
        eventually("the plant has the messages", || {
            let stat = nanotape(["stat", self.ring.path(), "--format", "json"]);
            let stat: Value = serde_json::from_str(&stat.stdout).unwrap_or_default();
            stat["session_next_message"] == next
        });
    }
}

/// Reads standard error up to a line with this text.
pub(crate) fn read_stderr_to(plant: &mut Running, text: &str) -> String {
    let patience = Patience::new("a line on standard error");
    loop {
        patience.check();
        let line = plant.read_stderr_line();
        assert!(!line.is_empty(), "the plant ended without {text:?}");
        if line.contains(text) {
            return line;
        }
    }
}

/// The day of the week and the time of day, so many seconds after now, in UTC.
fn in_seconds(seconds: i64) -> (usize, String) {
    let now = UtcNanos::now().unix_ns() as i64 / 1_000_000_000 + seconds;
    let (day, time) = (now.div_euclid(86_400), now.rem_euclid(86_400));
    let (hour, minute) = (time / 3_600, time / 60 % 60);
    // The first day of 1970 was a Thursday.
    ((day + 3).rem_euclid(7) as usize, format!("{hour:02}:{minute:02}:{:02}", time % 60))
}

#[test]
fn each_session_is_kept_in_its_folder_and_a_killed_plant_goes_on_with_the_one_that_is_running() {
    let folder = Folder::new("live-folders");
    let (lines, kept) = (Lines::new("live-folders"), folder.path("days/kept"));
    let options = ["--keep", &kept];
    let mut plant = lines.start(&options);
    read_stderr_to(&mut plant, "waiting for the next session");
    lines.send("MONDAY", 1, 1_001);
    lines.end("MONDAY", 1_001);
    assert_eq!(plant.read_json()["event"], "start");
    let mut stops = vec![plant.read_json()];
    lines.send("TUESDAY", 1, 501);
    assert_eq!(plant.read_json()["event"], "start");
    lines.wait_for(501);
    plant.signal(Signal::KILL);
    plant.end();

    let mut plant = lines.start(&options);
    read_stderr_to(&mut plant, "waiting for the next session");
    lines.send("TUESDAY", 501, 1_001);
    assert_eq!(plant.read_json()["event"], "start");
    read_stderr_to(&mut plant, "500 messages of a plant before; next message 501");
    lines.end("TUESDAY", 1_001);
    stops.push(plant.read_json());
    // Its packets after its end are of a session that is kept to its end.
    lines.send("../WED", 1, 1_001);
    assert_eq!(plant.read_json()["event"], "start");
    lines.end("../WED", 1_001);
    stops.push(plant.read_json());
    plant.signal(Signal::TERM);
    let (status, _, stderr) = plant.end();
    assert_eq!(status, Some(0), "{stderr}");
    for stop in &stops {
        assert_eq!((&stop["event"], &stop["reason"]), (&"stop".into(), &"end of session".into()));
        assert_eq!((&stop["messages"], &stop["gaps"]), (&1_000.into(), &0.into()), "{stop}");
    }

    let digests = lines.ring.notices().into_iter().filter_map(|notice| match notice {
        Notice::Stop(stop) => Some(stop.digest),
        _ => None,
    });
    let digests: Vec<_> = digests.collect();
    let folders: BTreeMap<String, _> = std::fs::read_dir(&kept)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.path()))
        .collect();
    assert_eq!((digests.len(), folders.len()), (3, 3), "{folders:?}");
    for (session, digest) in ["-MONDAY", "-TUESDAY", "-%2E%2E%2FWED"].iter().zip(digests) {
        let (name, path) = folders.iter().find(|(name, _)| name.ends_with(session)).unwrap();
        let ring = Ring::new("live-folders-again");
        let path = path.to_str().unwrap();
        let again = nanotape(["run", "--input", path, "--ring", ring.path()]);
        assert_eq!((again.status, ring.stop().digest), (0, digest), "{name} {again:?}");
    }

    // A session that has ended is not begun again, and its folder stays as it is.
    let mut plant = lines.start(&options);
    read_stderr_to(&mut plant, "waiting for the next session");
    lines.send("MONDAY", 1, 101);
    read_stderr_to(&mut plant, "is kept to its end: not joined");
    plant.signal(Signal::TERM);
    let (status, stdout, _) = plant.end();
    assert_eq!((status, stdout.as_str()), (Some(0), ""));
}

#[test]
fn a_killed_plant_goes_on_with_its_session_if_the_lines_have_only_its_heartbeats() {
    let folder = Folder::new("live-heartbeats");
    let (lines, kept) = (Lines::new("live-heartbeats"), folder.path("kept"));
    let options = ["--keep", &kept];
    let mut plant = lines.start(&options);
    read_stderr_to(&mut plant, "waiting for the next session");
    lines.send("MONDAY", 1, 501);
    assert_eq!(plant.read_json()["event"], "start");
    lines.wait_for(501);
    plant.signal(Signal::KILL);
    plant.end();

    let mut plant = lines.start(&options);
    read_stderr_to(&mut plant, "waiting for the next session");
    // Nothing is kept of this one: it is joined with its first message, which never comes.
    lines.both(&packet_of("STRAY", 1, &[]));
    lines.both(&packet_of("MONDAY", 601, &[]));
    assert_eq!(plant.read_json()["event"], "start");
    lines.end("MONDAY", 601);
    let stop = plant.read_json();
    assert_eq!((&stop["messages"], &stop["gap_messages_lost"]), (&500.into(), &100.into()));
    assert_eq!(stop["reason"], "end of session", "{stop}");
    plant.signal(Signal::TERM);
    assert_eq!(plant.end().0, Some(1));
}

#[test]
fn the_first_packets_of_a_session_are_not_lost_with_a_plant_that_had_another_one() {
    let folder = Folder::new("live-overlap");
    let (lines, kept) = (Lines::new("live-overlap"), folder.path("kept"));
    let options = ["--keep", &kept];
    let mut plant = lines.start(&options);
    read_stderr_to(&mut plant, "waiting for the next session");
    lines.send("MONDAY", 1, 501);
    assert_eq!(plant.read_json()["event"], "start");
    lines.wait_for(501);
    lines.send("TUESDAY", 1, 101);
    eventually("both lines have brought the other session", || {
        let stat = nanotape(["stat", lines.ring.path(), "--format", "json"]);
        stat.stdout.matches("\"other_session\":10,").count() == 2
    });
    plant.signal(Signal::KILL);
    plant.end();

    let mut plant = lines.start(&options);
    read_stderr_to(&mut plant, "waiting for the next session");
    lines.send("TUESDAY", 101, 501);
    lines.end("TUESDAY", 501);
    assert_eq!(plant.read_json()["event"], "start");
    let stop = plant.read_json();
    let counts = ["messages", "session_missing", "gaps"].map(|key| stop[key].as_u64());
    assert_eq!(counts, [Some(500), Some(0), Some(0)], "{stop}");
    plant.signal(Signal::TERM);
    let (status, _, stderr) = plant.end();
    assert_eq!(status, Some(0), "{stderr}");
    assert!(stderr.contains("20 packets are kept with the session before"), "{stderr}");
}

#[test]
fn a_session_that_cannot_be_kept_is_published_from_its_first_packet() {
    let folder = Folder::new("live-unkept");
    let (lines, kept) = (Lines::new("live-unkept"), folder.path("kept"));
    let mut plant = lines.start(&["--keep", &kept]);
    read_stderr_to(&mut plant, "waiting for the next session");
    // A file stands where the folder of the session would be.
    let date = TradeDate::of_time(UtcNanos::now().unix_ns()).unwrap();
    std::fs::write(format!("{kept}/{date}-MONDAY"), "").unwrap();
    lines.send("MONDAY", 1, 501);
    lines.end("MONDAY", 501);
    assert_eq!(plant.read_json()["event"], "start");
    let stop = plant.read_json();
    assert_eq!((&stop["messages"], &stop["session_missing"]), (&500.into(), &0.into()), "{stop}");
    read_stderr_to(&mut plant, "the packets of session MONDAY are not kept");
    plant.signal(Signal::TERM);
    let (status, _, stderr) = plant.end();
    assert_eq!(status, Some(1), "{stderr}");
}

#[test]
fn a_session_that_begins_with_a_full_disk_is_published_and_the_next_ones_too() {
    let Some(mounted) = Mount::new("tmpfs", "size=300m") else { return };
    let lines = Lines::new("live-full");
    let kept = mounted.path().join("kept");
    let mut plant = lines.start(&["--keep", kept.to_str().unwrap()]);
    read_stderr_to(&mut plant, "waiting for the next session");
    for (session, is_kept) in [("MONDAY", true), ("TUESDAY", false), ("WEDNESDAY", false)] {
        if !is_kept {
            let full = std::fs::write(mounted.path().join("filler"), vec![1; 301 << 20]);
            assert_eq!(full.unwrap_err().kind(), ErrorKind::StorageFull);
        }
        lines.send(session, 1, 501);
        lines.end(session, 501);
        assert_eq!(plant.read_json()["event"], "start", "{session}");
        let stop = plant.read_json();
        let counts = ["messages", "session_missing", "gaps"].map(|key| stop[key].as_u64());
        assert_eq!(counts, [Some(500), Some(0), Some(0)], "{session}: {stop}");
        if !is_kept {
            let unkept = format!("the packets of session {session} are not kept");
            let line = read_stderr_to(&mut plant, &unkept);
            assert!(line.contains("no space"), "{line}");
        }
    }
    plant.signal(Signal::TERM);
    let (status, _, stderr) = plant.end();
    assert_eq!(status, Some(1), "{stderr}");
    let folders: Vec<_> = std::fs::read_dir(&kept).unwrap().map(|entry| entry.unwrap()).collect();
    let names = folders.iter().map(|folder| folder.file_name().into_string().unwrap());
    let whole: Vec<_> = names.filter(|name| name.ends_with("-MONDAY")).collect();
    assert_eq!(whole.len(), 1, "{folders:?}");
}

/// While it is written packets would wait in the sockets, and a kill would take them.
#[test]
fn the_memory_of_the_books_is_written_before_a_session_begins() {
    let folder = Folder::new("live-prepared");
    let (lines, kept) = (Lines::new("live-prepared"), folder.path("kept"));
    let mut plant = lines.start(&["--keep", &kept, "--live-orders", "1048576"]);
    let process = plant.process.id();
    let written = || {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        nanotape_host::bytes(&status, "RssAnon").unwrap()
    };
    let least = 64 << 20;
    for session in ["MONDAY", "TUESDAY"] {
        read_stderr_to(&mut plant, "waiting for the next session");
        eventually("the books of the next session are there", || written() > least);
        let before = written();
        lines.send(session, 1, 501);
        assert_eq!(plant.read_json()["event"], "start");
        let added = written().saturating_sub(before);
        assert!(added < least / 2, "{session}: {added} bytes after {before}");
        lines.end(session, 501);
        assert_eq!(plant.read_json()["messages"], 500);
    }
    plant.signal(Signal::TERM);
    let (status, _, stderr) = plant.end();
    assert_eq!(status, Some(0), "{stderr}");
}

#[test]
fn the_folder_of_one_session_is_none_for_several() {
    let folder = Folder::new("live-one-folder");
    let (lines, kept) = (Lines::new("live-one-folder"), folder.path("kept"));
    let mut arguments = lines.arguments(&["--keep", &kept]);
    arguments.retain(|argument| *argument != "--follow");
    let mut plant = Running::start(&arguments);
    assert_eq!(plant.read_json()["event"], "start");
    plant.signal(Signal::TERM);
    assert_eq!(plant.end().0, Some(0));
    let refused = nanotape(lines.arguments(&["--keep", &kept]));
    assert_eq!(refused.status, 2, "{refused:?}");
    assert!(refused.stderr.contains("has packets of one session"), "{refused:?}");
}

#[test]
fn no_session_is_joined_while_the_schedule_is_shut() {
    let folder = Folder::new("live-shut");
    let (lines, path) = (Lines::new("live-shut"), folder.path("notify"));
    let manager = UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(Duration::from_secs(300))).unwrap();
    let next = || {
        let mut buffer = [0; 4_096];
        let length = manager.recv(&mut buffer).expect("a notification");
        String::from_utf8(buffer[..length].to_vec()).unwrap()
    };
    let (today, _) = in_seconds(0);
    let day = DAYS[(today + 3) % 7];
    let schedule = format!("{} 03:55-20:05 UTC", day.to_lowercase());
    let mut command = Command::new(program());
    command.args(lines.arguments(&["--schedule", &schedule])).env("NOTIFY_SOCKET", &path);
    command.env("WATCHDOG_USEC", "400000").env_remove("WATCHDOG_PID");
    let mut plant = Running::of(command);
    assert_eq!(next(), "READY=1");
    let waiting = format!("waiting for {day} 03:55 UTC");
    assert_eq!(next(), format!("WATCHDOG=1\nSTATUS={waiting}"));
    lines.send("MONDAY", 1, 1_001);
    (0..3).for_each(|_| assert_eq!(next(), format!("WATCHDOG=1\nSTATUS={waiting}")));
    plant.signal(Signal::TERM);
    let (status, stdout, stderr) = plant.end();
    assert_eq!((status, stdout.as_str()), (Some(0), ""), "{stderr}");
    assert_eq!(stderr.matches(&waiting).count(), 1, "{stderr}");
}

#[test]
fn a_session_is_joined_when_the_schedule_opens_and_left_when_it_ends() {
    // A busy machine may take longer than it should.
    let is_good = |&seconds: &i64| join_and_leave(seconds);
    assert!([2, 10, 40].iter().any(is_good), "no plant was started and had its messages in time");
}

/// Runs a plant whose schedule opens after so many seconds. `false` if the test was too slow for
/// it.
fn join_and_leave(seconds: i64) -> bool {
    let lines = Lines::new("live-opens");
    let ((day, start), (_, end)) = (in_seconds(seconds), in_seconds(3 * seconds));
    let schedule = format!("mon-sun {start}-{end} UTC");
    let mut plant = lines.start(&["--schedule", &schedule]);
    let line = read_stderr_to(&mut plant, "waiting for ");
    if !line.contains(DAYS[day]) || line.contains("next session") {
        return false;
    }
    lines.send("MONDAY", 1, 101);
    let is_joined = AtomicBool::new(false);
    let next = std::thread::scope(|scope| {
        scope.spawn(|| {
            // A session that has nothing else to send.
            while !is_joined.load(Ordering::Relaxed) {
                lines.both(&packet_of("MONDAY", 101, &[]));
                std::thread::sleep(Duration::from_millis(100));
            }
        });
        read_stderr_to(&mut plant, "waiting for the next session, until");
        let next = plant.read_stderr_line();
        is_joined.store(true, Ordering::Relaxed);
        next
    });
    if next.contains("waiting for ") {
        return false;
    }
    let begun = plant.read_json();
    assert_eq!(begun["event"], "start", "{begun}");
    lines.send("MONDAY", 101, 1_001);
    let stop = plant.read_json();
    if stop["messages"] != 1_000 {
        return false;
    }
    assert_eq!((&stop["reason"], &stop["gaps"]), (&"end of schedule".into(), &0.into()), "{stop}");
    if !next.contains(" packets came outside of the schedule") {
        read_stderr_to(&mut plant, " packets came outside of the schedule");
    }
    read_stderr_to(&mut plant, "session MONDAY: left at message 1001: the schedule ends");
    read_stderr_to(&mut plant, "waiting for ");
    lines.send("MONDAY", 1_001, 1_101);
    plant.signal(Signal::TERM);
    let (status, stdout, stderr) = plant.end();
    assert_eq!((status, stdout.as_str()), (Some(0), ""), "{stderr}");
    assert_eq!(lines.ring.stop().reason, StopReason::ScheduleEnd);
    true
}

#[test]
fn a_schedule_that_cannot_be_kept_is_refused() {
    let folder = Folder::new("live-schedules");
    let lines = Lines::new("live-schedules");
    let holidays = folder.write("holidays", b"2026-12-25\nEaster\n");
    let config = folder.write("plant.toml", b"[schedule]\nstart = \"09:30\"\nend = \"09:30\"\n");
    let always = "mon-sun 00:00-24:00 UTC";
    for (options, what) in [
        (
            vec!["--schedule", "mon-fri 03:55-03:55 UTC"],
            "start and end of the schedule are the same",
        ),
        (vec!["--schedule", "mon-fri 03:55-20:05 Mars/Port"], "unknown time zone \"Mars/Port\""),
        (vec!["--schedule", "mon-fry 03:55-20:05 UTC"], "unknown day \"fry\""),
        (vec!["--schedule", always, "--holidays", "absent"], "cannot read absent"),
        (vec!["--schedule", always, "--holidays", &holidays], "holidays, line 2: expected a date"),
        (vec!["--schedule", always, "--config", &config], "plant.toml, line 1: start and end"),
        (vec!["--holidays", &holidays], "no effect without --schedule"),
    ] {
        let refused = nanotape(lines.arguments(&options));
        assert_eq!(refused.status, 2, "{options:?}: {refused:?}");
        assert!(refused.stderr.contains(what), "{options:?}: {refused:?}");
    }
    let mut arguments = lines.arguments(&["--schedule", always]);
    arguments.retain(|argument| *argument != "--follow");
    let refused = nanotape(&arguments);
    assert_eq!(refused.status, 2, "{refused:?}");
    assert!(refused.stderr.contains("for a live plant that follows sessions"), "{refused:?}");
}
