//! Child processes with a role, and how a test talks to them.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    os::unix::process::ExitStatusExt as _,
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
};

use nanotape_shm::{Origin, OwnedRegion, RegionOptions, SharedRegion, kill_points};

use crate::{KIND, create, fill, spec};

const ROLE: &str = "NANOTAPE_TEST_ROLE";
const PATH: &str = "NANOTAPE_TEST_PATH";
const NUMBER: &str = "NANOTAPE_TEST_NUMBER";

/// In front of what a child says; the test harness has its own lines on the same output.
const SAYS: &str = "child says ";

pub(crate) struct Peer {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Peer {
    pub(crate) fn start(role: &str, path: &Path, number: u64) -> Self {
        Self::run(Command::new(std::env::current_exe().unwrap()), role, path, number)
    }

    /// A copy of this program, started in another way.
    pub(crate) fn start_as(
        program: &Path,
        role: &str,
        path: &Path,
        how: impl FnOnce(&mut Command),
    ) -> Self {
        let mut command = Command::new(program);
        how(&mut command);
        Self::run(command, role, path, 0)
    }

    fn run(mut command: Command, role: &str, path: &Path, number: u64) -> Self {
        command.args(["--exact", "children::child", "--nocapture", "--test-threads=1"]);
        command.env(ROLE, role).env(PATH, path).env(NUMBER, number.to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().unwrap());
        Self { process, input, output }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Waits for the next thing that it says; nothing when it ended.
    pub(crate) fn hear(&mut self) -> Option<String> {
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            if let Some((_, said)) = line.split_once(SAYS) {
                return Some(said.trim_end().to_owned());
            }
        }
    }

    pub(crate) fn tell(&mut self, word: &str) {
        writeln!(self.input.as_mut().unwrap(), "{word}").unwrap();
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(self.pid() as i32).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Waits for its end.
    pub(crate) fn end(&mut self) -> ExitStatus {
        self.input = None;
        self.process.wait().unwrap()
    }

    pub(crate) fn kill(&mut self) {
        self.signal(rustix::process::Signal::KILL);
        assert_eq!(self.end().signal(), Some(9));
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn say(what: impl std::fmt::Display) {
    println!("{SAYS}{what}");
    std::io::stdout().flush().unwrap();
}

/// The next word of the test, empty when it let go of us.
fn listen() -> String {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

/// What a child does; nothing in a run of the tests.
#[test]
fn child() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let path = std::env::var(PATH).unwrap();
    let path = Path::new(&path);
    let number: u64 = std::env::var(NUMBER).unwrap().parse().unwrap();
    match role.as_str() {
        "own" => own(path),
        "race" => {
            say("waiting");
            listen();
            own(path);
        }
        "half" => {
            let options = RegionOptions::default();
            let _ = OwnedRegion::create(path, spec(), &options, |_| {
                say("creating");
                listen();
            });
        }
        "create and die" => {
            kill_points::arm(number);
            let outcome = create(path);
            say(format!("survived {} stores", kill_points::disarm()));
            std::mem::forget(outcome);
        }
        "take over and die" => {
            kill_points::arm(number);
            let options = RegionOptions::default();
            let outcome = OwnedRegion::take_over(path, KIND, spec().layout, &options);
            say(format!("survived {} stores", kill_points::disarm()));
            std::mem::forget(outcome);
        }
        "close and die" => {
            let (region, _) = create(path).unwrap();
            kill_points::arm(number);
            region.close();
            say(format!("survived {} stores", kill_points::disarm()));
        }
        "panic" => {
            let (_region, _) = create(path).unwrap();
            panic!("as a bug in a writer would");
        }
        "try" => try_everything(path),
        "guarded" => crate::bus_guard::read_what_was_cut(path, true, say),
        "unguarded" => crate::bus_guard::read_what_was_cut(path, false, say),
        other => panic!("no role {other}"),
    }
}

/// Creates, says how it went, and does what it is told.
fn own(path: &Path) {
    match create(path) {
        Ok((region, origin)) => {
            say(match origin {
                Origin::Created => "created",
                Origin::TakenOver { .. } => "took over",
            });
            match listen().as_str() {
                "close" => region.close(),
                _ => std::mem::forget(region),
            }
        }
        Err(error) => say(format!("refused {error}")),
    }
}

/// As another user: what it may, and with what words it is kept out.
fn try_everything(path: &Path) {
    fn outcome<T>(result: Result<T, nanotape_shm::RegionError>) -> String {
        result.map_or_else(|error| error.to_string(), |_| "fine".to_owned())
    }
    say(outcome(SharedRegion::open(path, KIND)));
    say(outcome(create(path)));
    say(outcome(nanotape_shm::inspect(path)));
    say(outcome(nanotape_shm::remove(path)));
    let none = rustix::process::Rlimit { current: Some(4096), maximum: Some(4096) };
    rustix::process::setrlimit(rustix::process::Resource::Memlock, none).unwrap();
    let own = path.with_extension("own");
    let options = RegionOptions { lock: true, ..RegionOptions::default() };
    match OwnedRegion::create(&own, spec(), &options, fill) {
        Ok((region, _)) => say(region.residency()),
        Err(error) => say(error),
    }
    say(outcome(nanotape_shm::remove(&own)));
    rustix::process::setrlimit(rustix::process::Resource::Fsize, none).unwrap();
    say(outcome(create(&own)).replace(own.to_str().unwrap(), "own"));
}
