//! Child processes with a role, and how a test talks to them.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    os::unix::process::ExitStatusExt as _,
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
};

use rustix::process::{Pid, Signal, kill_process, set_parent_process_death_signal};

use crate::processes::{
    eventually, frozen, killed_at_every_store, permissions,
    rings::{Ring, Slots, Stream},
    traffic,
};

const ROLE: &str = "NANOTAPE_TEST_ROLE";
const RING: &str = "NANOTAPE_TEST_RING";
const PATH: &str = "NANOTAPE_TEST_PATH";
const NUMBER: &str = "NANOTAPE_TEST_NUMBER";
const DETAIL: &str = "NANOTAPE_TEST_DETAIL";

/// In front of what a child says; the test harness has its own lines on the same output.
const SAYS: &str = "child says ";

/// This program, to be started as a child that does one thing to a ring.
pub(crate) fn command<R: Ring>(role: &str, path: &Path) -> Command {
    command_of::<R>(&std::env::current_exe().unwrap(), role, path)
}

/// The same for a copy of this program.
pub(crate) fn command_of<R: Ring>(program: &Path, role: &str, path: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(["--exact", "processes::children::child", "--nocapture", "--test-threads=1"]);
    command.env(ROLE, role).env(RING, R::NAME).env(PATH, path).env(NUMBER, "0").env(DETAIL, "");
    command
}

/// Adds what the role needs to know.
pub(crate) fn with(mut command: Command, number: u64, detail: &str) -> Command {
    command.env(NUMBER, number.to_string()).env(DETAIL, detail);
    command
}

/// Runs a child to its end; whether it came there, and was not killed.
pub(crate) fn survives(mut command: Command) -> bool {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status().unwrap();
    if status.success() {
        return true;
    }
    assert_eq!(status.signal(), Some(9), "{status}: {command:?}");
    false
}

/// A child that says something now and then.
pub(crate) struct Helper {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Helper {
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().unwrap());
        Self { process, input, output }
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

    /// Lets it go on; see [`listen`].
    pub(crate) fn tell(&mut self, word: &str) {
        writeln!(self.input.as_mut().unwrap(), "{word}").unwrap();
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.pid().cast_signed()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Stops it, and returns when it stands still.
    pub(crate) fn stop(&self) {
        self.signal(Signal::STOP);
        let stat = format!("/proc/{}/stat", self.pid());
        eventually("the child is stopped", || {
            std::fs::read_to_string(&stat).unwrap().rsplit_once(") ").unwrap().1.starts_with('T')
        });
    }

    pub(crate) fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    /// Waits for its end.
    pub(crate) fn end(&mut self) -> ExitStatus {
        self.input = None;
        self.process.wait().unwrap()
    }

    pub(crate) fn kill(&mut self) {
        self.signal(Signal::KILL);
        assert_eq!(self.end().signal(), Some(9));
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub(crate) fn say(what: impl std::fmt::Display) {
    println!("{SAYS}{what}");
    std::io::stdout().flush().unwrap();
}

/// Waits for the next word of the test; empty when it let go of us.
pub(crate) fn listen() -> String {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

/// What a child is to do.
pub(crate) struct Task<'a> {
    pub(crate) role: &'a str,
    pub(crate) path: &'a Path,
    pub(crate) number: u64,
    pub(crate) detail: &'a str,
}

/// What a child does; nothing in a run of the tests.
#[test]
fn child() {
    let Ok(role) = std::env::var(ROLE) else { return };
    // Some children never end by themselves: not even when the test is killed may they stay.
    set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
    let text = |name| std::env::var(name).unwrap();
    let (ring, path, detail) = (text(RING), text(PATH), text(DETAIL));
    let number = text(NUMBER).parse().unwrap();
    let task = Task { role: &role, path: Path::new(&path), number, detail: &detail };
    match ring.as_str() {
        Stream::NAME => act::<Stream>(&task),
        Slots::NAME => act::<Slots>(&task),
        other => panic!("no ring {other}"),
    }
}

fn act<R: Ring>(task: &Task<'_>) {
    match task.role {
        "operate and die" => killed_at_every_store::operate_and_die::<R>(task),
        "create and die" => killed_at_every_store::create_and_die::<R>(task),
        "take over" => killed_at_every_store::take_over::<R>(task),
        "report" => frozen::report::<R>(task),
        "write" => traffic::write::<R>(task),
        "follow" => traffic::follow::<R>(task),
        "try" => permissions::try_everything::<R>(task),
        other => panic!("no role {other}"),
    }
}
