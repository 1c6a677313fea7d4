//! A command that runs on while a test talks to it.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// A process of the real program; killed at the end if it has not ended by itself.
pub struct Running {
    pub process: Child,
    pub input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Running {
    /// With nothing on its standard input.
    pub fn start(arguments: &[&str]) -> Self {
        Self::start_with(arguments, Stdio::null())
    }

    /// With a standard input that lines can be [said](Self::say) to, until it is waited for.
    pub fn start_fed(arguments: &[&str]) -> Self {
        Self::start_with(arguments, Stdio::piped())
    }

    fn start_with(arguments: &[&str], input: Stdio) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_nanotape"))
            .args(arguments)
            .stdin(input)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().unwrap());
        Self { process, input, output }
    }

    pub fn say(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    pub fn hear(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    pub fn hear_json(&mut self) -> Value {
        let line = self.hear();
        serde_json::from_str(&line).unwrap_or_else(|error| {
            let mut complained = String::new();
            let _ = self.process.stderr.take().unwrap().read_to_string(&mut complained);
            panic!("{error}: {line:?} {complained}")
        })
    }

    /// The next row about such a record.
    pub fn hear_up_to(&mut self, record: &str) -> Value {
        loop {
            let row = self.hear_json();
            if row["record"] == record {
                return row;
            }
        }
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).unwrap();
    }

    pub fn is_running(&mut self) -> bool {
        self.process.try_wait().unwrap().is_none()
    }

    /// Ends its input and waits: exit status, the rest of what it said, and its complaints.
    pub fn end(&mut self) -> (Option<i32>, String, String) {
        self.input = None;
        let (mut said, mut complained) = (String::new(), String::new());
        self.output.read_to_string(&mut said).unwrap();
        self.process.stderr.take().unwrap().read_to_string(&mut complained).unwrap();
        (self.process.wait().unwrap().code(), said, complained)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text:?}"))
}

/// Rows of JSON.
pub fn objects(text: &str) -> Vec<Value> {
    text.lines().map(json).collect()
}
