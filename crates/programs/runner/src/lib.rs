//! For tests: runs the real programs on real files, and locates the real data.
#![forbid(unsafe_code)]

pub mod bench;
pub mod capture;
pub mod exposition;
pub mod live;
pub mod namespace;
pub mod plants;
mod programs;
pub mod running;
pub mod terminal;
pub mod users;

use std::{
    ffi::OsStr,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use nanotape_harness::{BoundedChild as _, Scratch, memory_folder, skipped};

pub use programs::{lab_program, program};

/// The result of a run of the program.
#[derive(Debug)]
pub struct Ran {
    /// The exit status.
    pub status: i32,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

/// Runs `nanotape` with these arguments.
pub fn nanotape<I: AsRef<OsStr>>(arguments: impl IntoIterator<Item = I>) -> Ran {
    nanotape_fed(arguments, b"")
}

/// Runs `nanotape` with these arguments and this standard input.
pub fn nanotape_fed<I: AsRef<OsStr>>(arguments: impl IntoIterator<Item = I>, input: &[u8]) -> Ran {
    let mut command = Command::new(program());
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // A command may stop reading before the end.
    let feeding = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.bounded_wait_with_output(&command);
    feeding.join().unwrap();
    Ran {
        status: output.status.code().expect("ended by itself, not by a signal"),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A folder for one test, removed with the value.
#[derive(Debug)]
pub struct Folder(Scratch);

impl Folder {
    /// An empty folder. The name is that of the test.
    pub fn new(name: &str) -> Self {
        Self(Scratch::folder(name))
    }

    /// The path of a file in it.
    pub fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    /// Writes a file into it, and returns its path.
    pub fn write(&self, name: &str, content: &[u8]) -> String {
        fs::write(self.0.join(name), content).unwrap();
        self.path(name)
    }

    /// A synthetic day made by the program itself.
    pub fn day(&self, messages: u64, symbols: u32) -> String {
        let path = self.path("day.itch50");
        let (messages, symbols) = (messages.to_string(), symbols.to_string());
        let ran = nanotape(["synth", "-o", &path, "--messages", &messages, "--symbols", &symbols]);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
        path
    }

    /// The same day as a capture of another protocol.
    pub fn capture(&self, protocol: &str, messages: u64, symbols: u32) -> String {
        let path = self.path(&format!("{protocol}.pcap"));
        let (messages, symbols) = (messages.to_string(), symbols.to_string());
        let market = ["--messages", &messages, "--symbols", &symbols];
        let ran = nanotape(["synth", "-o", &path, "--protocol", protocol].iter().chain(&market));
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
        path
    }
}

/// Whether `/dev/shm` has room for a benchmark, which has its rings there; a notice if not.
pub fn has_memory_for_benchmarks() -> bool {
    let is_large = memory_folder().starts_with("/dev/shm");
    if !is_large {
        skipped("/dev/shm has less than 1 GiB: benchmarks have their rings there");
    }
    is_large
}

/// A file of real market data beside the repository; `None` with a notice if it is missing.
pub fn real_data(name: &str) -> Option<String> {
    shared("data", "real market data", name)
}

/// A small input of a known fault beside the repository; `None` with a notice if it is missing.
pub fn trial(name: &str) -> Option<String> {
    shared("trials", "inputs of known faults", name)
}

/// The folder `../shared` beside the repository.
pub fn shared_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared")
}

fn shared(folder: &str, what: &str, name: &str) -> Option<String> {
    let path = shared_folder().join(folder).join(name);
    if path.exists() {
        return Some(path.display().to_string());
    }
    skipped(format_args!("no {name} in ../shared/{folder} ({what})"));
    None
}
