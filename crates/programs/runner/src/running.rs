//! A command that keeps running while a test interacts with it.

use std::{
    io::{BufReader, Write as _},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio},
    thread,
};

use nanotape_harness::{BoundedChild as _, Patience, line_of, rest_of};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// A process of the real program; killed at the end if it has not ended by itself.
#[derive(Debug)]
pub struct Running {
    /// The process.
    pub process: Child,
    /// Its standard input, if it is open.
    pub input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// Standard error, once it was read.
    complaints: Option<BufReader<ChildStderr>>,
}

impl Running {
    /// Starts a command with an empty standard input.
    pub fn start(arguments: &[&str]) -> Self {
        Self::start_with(arguments, Stdio::null())
    }

    /// Starts a command with an open standard input for [`say`](Self::say).
    pub fn start_fed(arguments: &[&str]) -> Self {
        Self::start_with(arguments, Stdio::piped())
    }

    fn start_with(arguments: &[&str], input: Stdio) -> Self {
        let mut command = Command::new(crate::program());
        command.args(arguments).stdin(input);
        Self::of(command)
    }

    /// Starts a copy of the program.
    pub fn start_program(program: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null());
        Self::of(command)
    }

    /// Starts any command, with its standard input as it is set.
    pub fn of(mut command: Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().unwrap());
        Self { process, input, output, complaints: None }
    }

    /// Writes a line to its standard input.
    pub fn say(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    /// The next line of its output.
    pub fn read_line(&mut self) -> String {
        line_of(&mut self.output, "a line of the command").unwrap()
    }

    /// The next line on standard error.
    pub fn read_stderr_line(&mut self) -> String {
        line_of(self.complaints(), "a line on standard error").unwrap()
    }

    fn complaints(&mut self) -> &mut BufReader<ChildStderr> {
        let Self { process, complaints, .. } = self;
        complaints.get_or_insert_with(|| BufReader::new(process.stderr.take().unwrap()))
    }

    /// The next line of its output, which is JSON.
    pub fn read_json(&mut self) -> Value {
        let line = self.read_line();
        serde_json::from_str(&line).unwrap_or_else(|error| {
            let complained = rest_of(self.complaints(), "the end after a line that is not JSON");
            panic!("{error}: {line:?} {complained:?}")
        })
    }

    /// The next row about this kind of record.
    pub fn read_up_to(&mut self, record: &str) -> Value {
        let patience = Patience::new("a row of this kind");
        loop {
            patience.check();
            let row = self.read_json();
            if row["record"] == record {
                return row;
            }
        }
    }

    /// Sends a signal to the process.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).unwrap();
    }

    /// Whether it has not ended.
    pub fn is_running(&mut self) -> bool {
        self.process.try_wait().unwrap().is_none()
    }

    /// Closes its input and waits; returns exit status, rest of the output, and standard error.
    pub fn end(&mut self) -> (Option<i32>, String, String) {
        self.input = None;
        self.complaints();
        let Self { output, complaints, .. } = self;
        // Both at once: the process waits while one of the two pipes is full.
        let (said, complained) = thread::scope(|scope| {
            let stderr = complaints.as_mut().unwrap();
            let complained = scope.spawn(|| rest_of(stderr, "the end of standard error").unwrap());
            (rest_of(output, "the end of the output").unwrap(), complained.join().unwrap())
        });
        (self.process.bounded_wait("a command at its end").code(), said, complained)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A whole number of JSON output, which is a string above 2^53.
pub fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// A value from JSON.
pub fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text:?}"))
}

/// Rows of JSON.
pub fn objects(text: &str) -> Vec<Value> {
    text.lines().map(json).collect()
}
