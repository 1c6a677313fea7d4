//! Child processes with a role, and how a test talks to them.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    os::unix::process::ExitStatusExt as _,
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
};

use nanotape_shm::{ReadableWords, WritableWords};
use rustix::process::{Signal, set_parent_process_death_signal};

use crate::processes::{killed_at_every_store, killed_at_random};

const ROLE: &str = "NANOTAPE_TEST_ROLE";
const PATH: &str = "NANOTAPE_TEST_PATH";
const NUMBER: &str = "NANOTAPE_TEST_NUMBER";
const DETAIL: &str = "NANOTAPE_TEST_DETAIL";

/// In front of what a child says; the test harness has its own lines on the same output.
const SAYS: &str = "child says ";

/// This program, to be started as a child that does one thing to a journal.
pub(crate) fn command(role: &str, path: &Path, number: u64, detail: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "processes::children::child", "--nocapture", "--test-threads=1"]);
    command.env(ROLE, role).env(PATH, path).env(NUMBER, number.to_string()).env(DETAIL, detail);
    command.stdin(Stdio::null());
    command
}

/// Runs a child to its end; whether it came there, and was not killed.
pub(crate) fn survives(mut command: Command) -> bool {
    let status = command.stdout(Stdio::null()).status().unwrap();
    if status.success() {
        return true;
    }
    assert_eq!(status.signal(), Some(9), "{status}: {command:?}");
    false
}

/// A child that says something now and then.
pub(crate) struct Peer {
    process: Child,
    output: BufReader<ChildStdout>,
}

impl Peer {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        Self { process, output }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Waits for the next thing that it says.
    pub(crate) fn hear(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "the child ended");
            if let Some((_, said)) = line.split_once(SAYS) {
                return said.trim_end().to_owned();
            }
        }
    }

    pub(crate) fn lives(&mut self) -> bool {
        self.process.try_wait().unwrap().is_none()
    }

    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        assert_eq!(self.process.wait().unwrap().signal(), Some(9), "it ended before it was killed");
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub(crate) fn say(what: impl std::fmt::Display) {
    println!("{SAYS}{what}");
    std::io::stdout().flush().unwrap();
}

/// One number that a child stores and that outlives it.
pub(crate) fn make_word(path: &Path) {
    std::fs::write(path, [0; 8]).unwrap();
}

pub(crate) fn word_to_write(path: &Path) -> WritableWords {
    let file = std::fs::File::options().read(true).write(true).open(path).unwrap();
    WritableWords::map(&file, 1).unwrap()
}

pub(crate) fn read_word(path: &Path) -> u64 {
    let file = std::fs::File::open(path).unwrap();
    ReadableWords::map(&file, 1).unwrap().words()[0].load()
}

/// What a child does; nothing in a run of the tests.
#[test]
fn child() {
    let Ok(role) = std::env::var(ROLE) else { return };
    // Some children never end by themselves: not even when the test is killed may they stay.
    set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
    let text = |name| std::env::var(name).unwrap();
    let (path, detail) = (text(PATH), text(DETAIL));
    let (path, number) = (Path::new(&path), text(NUMBER).parse().unwrap());
    match role.as_str() {
        "append" => killed_at_random::append(path, number),
        "follow" => killed_at_random::follow(path, &detail),
        "operate and die" => killed_at_every_store::operate_and_die(path, number, &detail),
        "take over" => killed_at_every_store::take_over(path, number),
        other => panic!("no role {other}"),
    }
}
