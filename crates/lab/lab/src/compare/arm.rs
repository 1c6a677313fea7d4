//! One arm of a comparison: a program, a benchmark in it, and a running process of it.

use std::{
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use crate::{
    compare::replicate::Design,
    sampler::Cut,
    worker::{GREETING, ROLE, WORKER},
};

/// A benchmark of a program, to be compared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Subject {
    /// The name for users: a path, a revision, a benchmark.
    pub label: String,
    /// The revision it was built from, if it is known.
    pub revision: Option<String>,
    /// The program: one made with [`crate::Suite`].
    pub program: PathBuf,
    /// Arguments that the program needs before it lists its benchmarks; usually empty.
    pub arguments: Vec<String>,
    /// The name of the benchmark in it.
    pub benchmark: String,
}

/// More than the samples of any turn, less than the output of a program that writes without end.
const LONGEST_ANSWER: u64 = 256 << 20;

/// The reason why a process of an arm could not measure.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArmError {
    /// The operating system could not start it, or not transfer a message.
    #[error("cannot {what} {program}")]
    Process {
        /// The operation.
        what: &'static str,
        /// The program.
        program: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Its answers are not those of a worker.
    #[error(
        "{program} is not a benchmark program of this version: answered {said:?}, expected \
         {expected:?}"
    )]
    Protocol {
        /// The program.
        program: String,
        /// Its answer, shortened.
        said: String,
        /// The expected answer.
        expected: String,
    },
    /// It refused a command.
    #[error("{program}: {reason}")]
    Refused {
        /// The program.
        program: String,
        /// Its reason.
        reason: String,
    },
}

/// A running process of an arm. Dropping it ends the process.
#[derive(Debug)]
pub(crate) struct Arm {
    program: String,
    child: Child,
    commands: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    names: Vec<String>,
}

impl Arm {
    /// Starts `program` as a worker. `padding` bytes in its environment move its stack, so that no
    /// comparison depends on one lucky layout.
    pub(crate) fn start(
        program: &Path,
        arguments: &[String],
        padding: usize,
    ) -> Result<Self, ArmError> {
        let name = program.display().to_string();
        let failed = |source| ArmError::Process { what: "start", program: name.clone(), source };
        let mut child = Command::new(program)
            .args(arguments)
            .env(ROLE, WORKER)
            .env("NANOTAPE_LAB_PADDING", "x".repeat(padding))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let commands = child.stdin.take();
        let Some(stdout) = child.stdout.take() else {
            return Err(failed(io::Error::other("no standard output")));
        };
        let answers = BufReader::new(stdout);
        let mut arm = Self { program: name, child, commands, answers, names: Vec::new() };
        // Sent before the greeting, to detect a program that only repeats its input.
        let sent = arm.send("names");
        let greeting = arm.line()?;
        if greeting != GREETING {
            return Err(arm.not(&greeting, GREETING));
        }
        // Checked only now: if a program has ended already, its answer explains more.
        sent?;
        let names = arm.answer("names")?;
        arm.names = names.split_whitespace().map(str::to_owned).collect();
        Ok(arm)
    }

    /// The benchmarks of the program.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Creates the fixture; returns the number of operations of one run.
    pub(crate) fn open(&mut self, design: &Design, benchmark: &str) -> Result<u64, ArmError> {
        let cpu = design.cpu.map_or("-".to_owned(), |cpu| cpu.to_string());
        let priority = design.real_time_priority.map_or("-".to_owned(), |level| level.to_string());
        let lock = if design.lock_memory { "lock" } else { "-" };
        let words = self.request(&format!("open {cpu} {priority} {lock} {benchmark}"), "opened")?;
        words
            .parse()
            .ok()
            .filter(|&operations| operations > 0)
            .ok_or_else(|| self.not(&words, "a number of operations"))
    }

    /// Warms up and returns a proposed cut.
    pub(crate) fn calibrate(&mut self, warm_up_nanos: u64) -> Result<Cut, ArmError> {
        let words = self.request(&format!("calibrate {warm_up_nanos}"), "cut")?;
        let numbers: Vec<u32> = words.split(' ').flat_map(str::parse).collect();
        match numbers.as_slice() {
            &[runs_per_sample, samples_per_epoch] if runs_per_sample.min(samples_per_epoch) > 0 => {
                Ok(Cut { runs_per_sample, samples_per_epoch })
            }
            _ => Err(self.not(&words, "two numbers")),
        }
    }

    /// Measures `epochs` epochs; returns the nanoseconds of their samples.
    pub(crate) fn turn(&mut self, epochs: usize, cut: Cut) -> Result<Vec<u64>, ArmError> {
        let Cut { runs_per_sample, samples_per_epoch } = cut;
        let command = format!("turn {epochs} {runs_per_sample} {samples_per_epoch}");
        let words = self.request(&command, "samples")?;
        let nanos: Vec<u64> = words.split(' ').flat_map(str::parse).collect();
        let expected = epochs * samples_per_epoch as usize;
        if nanos.len() == expected {
            Ok(nanos)
        } else {
            Err(self.not(&words, &format!("{expected} numbers")))
        }
    }

    /// Sends a command; returns the answer after `expected`.
    fn request(&mut self, command: &str, expected: &str) -> Result<String, ArmError> {
        self.send(command)?;
        self.answer(expected)
    }

    fn send(&mut self, command: &str) -> Result<(), ArmError> {
        match &mut self.commands {
            Some(pipe) => writeln!(pipe, "{command}").and_then(|()| pipe.flush()),
            None => Ok(()),
        }
        .map_err(|source| self.failed("write to", source))
    }

    fn answer(&mut self, expected: &str) -> Result<String, ArmError> {
        let line = self.line()?;
        let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
        match word {
            "refused" => {
                Err(ArmError::Refused { program: self.program.clone(), reason: rest.to_owned() })
            }
            word if word == expected => Ok(rest.to_owned()),
            _ => Err(self.not(&line, expected)),
        }
    }

    fn line(&mut self) -> Result<String, ArmError> {
        let mut line = String::new();
        match (&mut self.answers).take(LONGEST_ANSWER).read_line(&mut line) {
            Ok(0) => {
                let ended = io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "ended without an answer; build it with this version of nanotape-lab",
                );
                Err(self.failed("read from", ended))
            }
            Ok(_) => Ok(line.trim_end().to_owned()),
            Err(source) => Err(self.failed("read from", source)),
        }
    }

    fn failed(&self, what: &'static str, source: io::Error) -> ArmError {
        ArmError::Process { what, program: self.program.clone(), source }
    }

    fn not(&self, said: &str, expected: &str) -> ArmError {
        let said = said.chars().take(80).collect();
        ArmError::Protocol { program: self.program.clone(), said, expected: expected.to_owned() }
    }
}

impl Drop for Arm {
    fn drop(&mut self) {
        // A worker ends when its standard input ends; other programs are not waited for.
        self.commands = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
