//! A live plant whose output or standard error is not read, and one that is stopped and ended: what
//! it has received is published all the same.

use std::{
    io::{Read as _, Write as _, pipe},
    process::{Command, Stdio},
    thread,
};

use nanotape_harness::{BoundedChild as _, Signal, eventually};
use rustix::process::{Pid, kill_process};

use crate::{
    live_days::Lines,
    live_parts::{order, packet_of},
    support::{
        nanotape, program,
        running::{Running, json},
    },
};

/// A plant of these lines.
fn plant(lines: &Lines) -> Command {
    let [a, b] = &lines.lines;
    let mut command = Command::new(program());
    command.args(["run", "--live", "--line-a", a, "--line-b", b, "--ring", lines.ring.path()]);
    command.args(["--format", "json", "--capacity", "4MiB", "--live-orders", "4096"]);
    command.stdin(Stdio::null());
    command
}

#[test]
fn a_plant_does_not_wait_for_a_reader_of_its_lines() {
    let lines = Lines::new("run-readers-lines");
    let (reader, mut writer) = pipe().unwrap();
    let command = &mut plant(&lines);
    let process = command.stdout(Stdio::null()).stderr(writer.try_clone().unwrap()).spawn();
    let mut process = process.unwrap();
    // Fills the pipe, and keeps it full.
    let filling = thread::spawn(move || while writer.write_all(&[b'x'; 4_096]).is_ok() {});
    eventually("the plant has its lines", || lines.ring.board().exists());
    for (first, next) in [(1, 501), (511, 1_001)] {
        lines.send("MONDAY", first, next);
        lines.wait_for(next);
    }
    kill_process(Pid::from_child(&process), Signal::TERM).unwrap();
    // The loss, although the line about it could not be printed.
    let status = process.bounded_wait("a plant whose lines are not read");
    assert_eq!((status.code(), lines.ring.stop().messages), (Some(1), 990));
    drop(reader);
    filling.join().unwrap();
}

#[test]
fn a_plant_goes_on_without_a_reader_of_its_results() {
    let lines = Lines::new("run-readers-results");
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    let mut process = plant(&lines).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
    eventually("the plant has its lines", || lines.ring.board().exists());
    lines.send("MONDAY", 1, 501);
    lines.end("MONDAY", 501);
    let status = process.bounded_wait("a plant whose results are not read");
    assert_eq!((status.code(), lines.ring.stop().messages), (Some(0), 500));
}

#[test]
fn a_plant_does_not_wait_for_the_reader_of_its_results() {
    let lines = Lines::new("run-readers-slow");
    let (mut reader, mut writer) = pipe().unwrap();
    let command = &mut plant(&lines);
    let process = command.stdout(writer.try_clone().unwrap()).stderr(Stdio::piped()).spawn();
    let mut process = process.unwrap();
    // Fills the pipe, and keeps it full for a while.
    let filling = thread::spawn(move || (0..64).all(|_| writer.write_all(&[b'x'; 4_096]).is_ok()));
    eventually("the plant has its lines", || lines.ring.board().exists());
    lines.send("MONDAY", 1, 501);
    lines.end("MONDAY", 501);
    eventually("the plant has published its end", || {
        let stat = nanotape(["stat", lines.ring.path(), "--format", "json"]);
        stat.stdout.contains("\"state\":\"stopped\"")
    });
    let mut stdout = String::new();
    command.stdout(Stdio::null());
    reader.read_to_string(&mut stdout).unwrap();
    assert!(filling.join().unwrap());
    assert_eq!(process.bounded_wait("a plant whose results are read late").code(), Some(0));
    let results = stdout.lines().map(|line| line.trim_start_matches('x'));
    let results: Vec<_> = results.filter(|line| !line.is_empty()).map(json).collect();
    assert_eq!((&results[0]["event"], &results[1]["messages"]), (&"start".into(), &500.into()));
}

#[test]
fn an_output_that_cannot_be_written_is_reported_once() {
    let lines = Lines::new("run-readers-full");
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let process = plant(&lines).stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    let output = process.bounded_wait_with_output("a plant whose results cannot be written");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    let reports = stderr.lines().filter(|line| line.contains("cannot write standard output"));
    assert_eq!(reports.count(), 1, "{stderr}");
}

#[test]
fn what_a_socket_has_from_before_a_stop_is_published() {
    let lines = Lines::new("run-readers-stop");
    let mut process = Running::of(plant(&lines));
    assert_eq!(process.read_json()["event"], "start");
    lines.send("MONDAY", 1, 101);
    lines.wait_for(101);
    process.signal(Signal::STOP);
    // A packet has one message: the plant needs several rounds to read them.
    for number in 101..2_101 {
        lines.both(&packet_of("MONDAY", number, &[order(number, 100)]));
    }
    process.signal(Signal::TERM);
    process.signal(Signal::CONT);
    let (status, stdout, stderr) = process.end();
    assert_eq!(status, Some(0), "{stderr}");
    let stop = json(stdout.lines().last().unwrap());
    assert_eq!((&stop["messages"], &stop["reason"]), (&2_100.into(), &"asked to".into()), "{stop}");
    // The session has not: it could go on.
    assert_eq!(stop["session_ended"], false, "{stop}");
}
