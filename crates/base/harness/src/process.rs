//! This test program again, as a process with a role that can be stopped and killed.
//!
//! ```text
//! the test                          the process
//! Task::new(role, path) --start-->  the test named in `command` runs alone, finds its
//!   Peer::receive  <------------- Task::of_this_process, and runs its role
//!      Peer::send  -------------->  listen
//! ```

use std::{
    fs::Permissions,
    io::{BufReader, Write as _},
    os::unix::{fs::PermissionsExt as _, process::ExitStatusExt as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
};

use rustix::process::{Pid, Signal, kill_process, set_parent_process_death_signal};

use crate::{Bounded as _, BoundedChild as _, Scratch, eventually, line_of};

const ROLE: &str = "NANOTAPE_TEST_ROLE";
const PATH: &str = "NANOTAPE_TEST_PATH";
const NUMBER: &str = "NANOTAPE_TEST_NUMBER";
const DETAIL: &str = "NANOTAPE_TEST_DETAIL";

/// Prefix of a process's messages. The test harness prints other lines to the same output.
const SAYS: &str = "child says ";

/// The task of a process.
#[derive(Clone, Default, Debug)]
pub struct Task {
    /// The role, as its test names it.
    pub role: String,
    /// The path to work on.
    pub path: PathBuf,
    /// A count or an index.
    pub number: u64,
    /// Any other argument.
    pub detail: String,
}

impl Task {
    /// A task with a role and the path that it works on.
    pub fn new(role: &str, path: &Path) -> Self {
        Self { role: role.to_owned(), path: path.to_owned(), ..Self::default() }
    }

    /// Sets the number.
    #[must_use]
    pub fn number(self, number: u64) -> Self {
        Self { number, ..self }
    }

    /// Sets the detail.
    #[must_use]
    pub fn detail(self, detail: &str) -> Self {
        Self { detail: detail.to_owned(), ..self }
    }

    /// The task of this process; `None` in a run of the tests.
    ///
    /// Some processes never end by themselves, so this call makes the process end with its parent.
    pub fn of_this_process() -> Option<Self> {
        let role = std::env::var(ROLE).ok()?;
        set_parent_process_death_signal(Some(Signal::KILL)).expect("the kernel takes the signal");
        let text = |name| std::env::var(name).unwrap_or_default();
        let number = text(NUMBER).parse().expect("the number of a task is one");
        Some(Self { role, path: text(PATH).into(), number, detail: text(DETAIL) })
    }

    /// A command that runs only the test of this full name in this program, with the task.
    pub fn command(&self, test: &str) -> Command {
        self.command_of(&std::env::current_exe().expect("a test program has a path"), test)
    }

    /// [`Task::command`] for a copy of this program.
    pub fn command_of(&self, program: &Path, test: &str) -> Command {
        let mut command = Command::new(program);
        self.add_to(&mut command, test);
        command
    }

    /// Passes the task to `command`, which runs a copy of this program.
    pub fn add_to(&self, command: &mut Command, test: &str) {
        command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
        command.env(ROLE, &self.role).env(PATH, &self.path);
        command.env(NUMBER, self.number.to_string()).env(DETAIL, &self.detail);
    }
}

/// A copy of the program that other users of the machine can run, since its folder may be closed to
/// them.
///
/// Another process makes the copy: the kernel refuses to run a file that is open for writing, and a
/// process that another thread starts meanwhile would inherit the open file.
pub fn copy_for_all_users(program: &Path) -> Scratch {
    let copy = Scratch::new("program").open_to_all_users();
    let copied = Command::new("cp").arg(program).arg(copy.path()).bounded_status();
    assert!(copied.expect("cp can be started").success());
    // The umask may be strict.
    let all = Permissions::from_mode(0o755);
    std::fs::set_permissions(copy.path(), all).expect("the copy is this user's");
    copy
}

/// Runs a process to its end. False if SIGKILL ended it; any other failure panics.
pub fn survives(mut command: Command) -> bool {
    let status = command.stdout(Stdio::null()).bounded_status();
    let status = status.expect("the process can be started");
    if status.success() {
        return true;
    }
    assert_eq!(status.signal(), Some(9), "{status}: {command:?}");
    false
}

/// A process that exchanges messages with the test. Dropping the value kills it.
#[derive(Debug)]
pub struct Peer {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Peer {
    /// Starts the process.
    pub fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("the process can be started");
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().expect("its output is piped"));
        Self { process, input, output }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Waits for its next message.
    pub fn receive(&mut self) -> String {
        self.receive_or_end().expect("the process goes on")
    }

    /// Waits for its next message; `None` if it ended.
    pub fn receive_or_end(&mut self) -> Option<String> {
        loop {
            let what = "the next message of a process";
            let line = line_of(&mut self.output, what).expect("its output is text");
            if line.is_empty() {
                return None;
            }
            if let Some((_, said)) = line.split_once(SAYS) {
                return Some(said.trim_end().to_owned());
            }
        }
    }

    /// Sends it a line; see [`listen`].
    pub fn send(&mut self, word: &str) {
        let input = self.input.as_mut().expect("it is not at its end");
        writeln!(input, "{word}").expect("it listens");
    }

    /// Whether it is still running.
    pub fn is_alive(&mut self) -> bool {
        self.process.try_wait().expect("it is a child of this process").is_none()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).expect("it has not ended");
    }

    /// Stops it, and returns when it has stopped.
    pub fn stop(&self) {
        self.signal(Signal::STOP);
        until_stopped(self.pid());
    }

    /// Continues it after [`stop`](Self::stop).
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    /// Closes its input and waits for its end.
    pub fn end(&mut self) -> ExitStatus {
        self.input = None;
        self.process.bounded_wait("a process with a role")
    }

    /// Kills it at any point of its work.
    pub fn kill(&mut self) {
        self.signal(Signal::KILL);
        assert_eq!(self.end().signal(), Some(9), "it ended before it was killed");
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns when a process has stopped: a `SIGCONT` that comes earlier has no effect.
pub fn until_stopped(process: u32) {
    let stat = format!("/proc/{process}/stat");
    eventually("the process is stopped", || {
        let text = std::fs::read_to_string(&stat).expect("it has not ended");
        text.rsplit_once(") ").is_some_and(|(_, state)| state.starts_with('T'))
    });
}

/// In the process: sends a message to the test.
pub fn say(what: impl std::fmt::Display) {
    println!("{SAYS}{what}");
    std::io::stdout().flush().expect("the test listens");
}

/// In the process: waits for the next line of the test. Empty if the test closed the input.
pub fn listen() -> String {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).expect("the words of a test are text");
    line.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_does_its_task_talks_stops_and_is_killed() {
        let task = Task::new("count", Path::new("/nowhere")).number(41).detail("by one");
        let mut peer = Peer::start(task.command("process::tests::child"));
        assert_eq!(peer.receive(), "count /nowhere 41 by one");
        peer.stop();
        peer.resume();
        peer.send("again");
        assert_eq!(peer.receive(), "again, 42");
        assert!(peer.is_alive());
        peer.kill();
        assert_eq!(peer.receive_or_end(), None);

        let mut peer = Peer::start(task.command("process::tests::child"));
        peer.receive();
        assert!(peer.end().success());
        assert!(survives(task.command("process::tests::child")));
        assert!(!survives(Task::new("die", Path::new("")).command("process::tests::child")));
    }

    /// The processes of the test above; returns at once in a run of the tests.
    #[test]
    fn child() {
        let Some(Task { role, path, number, detail }) = Task::of_this_process() else { return };
        if role == "die" {
            kill_process(rustix::process::getpid(), Signal::KILL).unwrap();
        }
        say(format!("{role} {} {number} {detail}", path.display()));
        while let word = listen()
            && !word.is_empty()
        {
            say(format!("{word}, {}", number + 1));
        }
    }
}
