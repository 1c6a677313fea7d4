//! What programs in C see of writers that are killed, and of files that are removed, replaced or
//! truncated; and what valgrind sees of the programs.

use std::{
    fs::{self, OpenOptions},
    process::Command,
};

use nanotape_harness::{Bounded as _, Peer, Scratch, Task, say, skipped};

use crate::{
    streams::{accounted, publish, ring},
    support::{Running, error_of, example},
};

/// A writer of a ring, as a process.
#[test]
fn writer_process() {
    let Some(task) = Task::of_this_process() else { return };
    let options = nanotape_shm::RegionOptions::default();
    let (mut writer, _) =
        nanotape_ring::stream::Writer::create(&task.path, 1 << 20, &options).unwrap();
    publish(&mut writer, 100);
    say("ready");
    // Without an end, so that it is killed within a message.
    loop {
        publish(&mut writer, 10);
        std::thread::yield_now();
    }
}

#[test]
fn a_writer_that_is_killed_is_an_end_behind_its_last_record() {
    for _ in 0..5 {
        let folder = Scratch::folder("c");
        let path = folder.join("ring");
        let mut writer = Peer::start(Task::new("writer", &path).command("ends::writer_process"));
        assert_eq!(writer.receive(), "ready");
        let mut running = Running::start(example("dump").arg("ring").arg(&path).arg("oldest"));
        let mut text = running.line();
        writer.kill();
        let (rest, status) = running.end();
        text += &rest;
        let text = &text[..];
        // The oldest record need not be the first, and can be overwritten before it is read.
        let mut words = text.split(' ').skip_while(|word| *word == "lost");
        let first: u64 = words.next().unwrap().parse().unwrap();
        let last = match first {
            1 => accounted(text),
            _ => accounted(&format!("lost 1 to {}\n{text}", first - 1)),
        };
        assert!(text.ends_with(&format!("end before {}: killed\n", last + 1)), "{text}");
        assert_eq!(status, Some(1));
        // The ring has nothing behind it.
        let source = nanotape_ring::RingSource::open(&path, nanotape_tape::Start::Newest).unwrap();
        assert_eq!(nanotape_tape::Tape::next_sequence(&source), last + 1);
    }
}

#[test]
fn a_ring_that_is_removed_replaced_or_truncated_is_an_error() {
    type Change = fn(&std::path::Path);
    let changes: [(Change, &str); 3] = [
        (|path| fs::remove_file(path).unwrap(), "removed"),
        (
            |path| {
                fs::write(path.with_extension("new"), b"another file").unwrap();
                fs::rename(path.with_extension("new"), path).unwrap();
            },
            "replaced",
        ),
        (
            |path| OpenOptions::new().write(true).open(path).unwrap().set_len(0).unwrap(),
            "truncated",
        ),
    ];
    for (change, expected) in changes {
        let folder = Scratch::folder("c");
        let (mut writer, path) = ring(&folder);
        publish(&mut writer, 10);
        let mut command = example("dump");
        command.arg("ring").arg(&path).stderr(std::process::Stdio::piped());
        let mut running = Running::start(&mut command);
        let text: String = (0..10).map(|_| running.line()).collect();
        assert_eq!(accounted(&text), 10);
        change(&path);
        let (line, status) = running.end_with_error();
        assert_eq!(status, Some(1), "{line}");
        assert!(line.contains(expected) && line.lines().count() == 1, "{line}");
        // The writer of a truncated ring must not touch it.
        std::mem::forget(writer);
    }
}

#[test]
fn names_that_are_none_are_one_line() {
    let folder = Scratch::folder("c");
    fs::write(folder.join("file"), b"no ring").unwrap();
    let file = folder.join("file").display().to_string();
    let long = "x".repeat(5_000);
    let dotted = format!("{}/../../../../../../../../etc/passwd", folder.path().display());
    for name in ["none-such", "../none", ".", "..", "/", "%s%n", &long, &file, &dotted] {
        for kind in ["ring", "journal", "latest"] {
            error_of(example("dump").args([kind, name]));
        }
    }
}

#[test]
fn valgrind_finds_nothing() {
    if Command::new("valgrind").arg("--version").bounded_output().is_err() {
        return skipped("no valgrind");
    }
    let folder = Scratch::folder("c");
    let (mut writer, path) = ring(&folder);
    publish(&mut writer, 3_000);
    drop(writer);
    let checked = |arguments: &[&str]| {
        let program = example("dump");
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--quiet", "--error-exitcode=99", "--leak-check=full"]);
        valgrind.arg(program.get_program()).args(arguments);
        valgrind.bounded_output().unwrap()
    };
    let ring = checked(&["ring", path.to_str().unwrap()]);
    assert_eq!(ring.status.code(), Some(0), "{}", String::from_utf8_lossy(&ring.stderr));
    assert!(String::from_utf8(ring.stdout).unwrap().ends_with("end before 3001: closed\n"));
    let none = checked(&["journal", "./none"]);
    let line = String::from_utf8(none.stderr).unwrap();
    assert_eq!((none.status.code(), line.lines().count()), (Some(1), 1), "{line}");
}
