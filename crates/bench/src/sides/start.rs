//! The processes of one row, started together, and the folder in memory where they meet.

use std::{
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{self, Sender},
    thread,
    time::Duration,
};

use serde_json::Value;

use super::{
    error::RingBenchError,
    job::{Amount, Job, Settings},
    reading::Reading,
    rows::Row,
    worker::{GO, READY, ROLE},
};
use crate::folder::Folder;

/// The most bytes that move a process's stack: names alone would move it by different amounts, and
/// no row shall have a favourable place in every round.
pub(super) const MOST_PADDING: usize = 4096;

/// Longer than any process waits for another.
const GRACE: Duration = Duration::from_secs(90);

/// Takes one reading of a row: starts its processes, waits for them, adds up what they say.
pub(super) fn read(
    program: &Path,
    row: &'static Row,
    settings: &Settings,
    padding: usize,
) -> Result<Reading, RingBenchError> {
    let folder = Folder::new("ring")
        .map_err(|source| RingBenchError::System { what: "make a folder in memory", source })?;
    let jobs = Job::all(row, settings, folder.path().to_owned());
    let (sender, said) = mpsc::channel();
    let mut processes = Processes { row, children: Vec::new() };
    let mut go = None;
    for job in &jobs {
        let stdin = processes.start(program, job, padding, &sender)?;
        go.get_or_insert(stdin);
    }
    drop(sender);
    let limit = GRACE
        + match settings.amount {
            Amount::Seconds(seconds) => Duration::from_secs(seconds.into()),
            // At the slowest pace there is.
            Amount::Messages(messages) => Duration::from_micros(100 * messages.min(1 << 40)),
        };
    let mut ready = 0;
    let mut told = vec![Value::Null; jobs.len()];
    for _ in 0..2 * jobs.len() {
        let Ok((index, said)) = said.recv_timeout(limit) else {
            return Err(worker_error(row, "no answer", "nothing in time"));
        };
        match said {
            Said::Ready => ready += 1,
            Said::End { output, errors } => told[index] = processes.end(index, &output, &errors)?,
        }
        if ready == jobs.len()
            && let Some(mut go) = go.take()
        {
            // They have it all open: whatever becomes of this process, no file is left.
            folder.remove();
            // One that cannot read it any more says so by itself.
            let _ = writeln!(go, "{GO}");
        }
    }
    Reading::of_json(&told)
        .ok_or_else(|| worker_error(row, "answers that are none", &Value::from(told).to_string()))
}

fn worker_error(row: &'static Row, status: &str, said: &str) -> RingBenchError {
    RingBenchError::Worker { row: row.name, status: status.to_owned(), said: said.to_owned() }
}

/// What comes from a process.
enum Said {
    Ready,
    End { output: String, errors: String },
}

/// Running processes; ended when this is dropped, whatever happened.
struct Processes {
    row: &'static Row,
    children: Vec<Child>,
}

impl Processes {
    fn start(
        &mut self,
        program: &Path,
        job: &Job,
        padding: usize,
        sender: &Sender<(usize, Said)>,
    ) -> Result<ChildStdin, RingBenchError> {
        let failed = |source| RingBenchError::System { what: "start a process", source };
        let mut child = Command::new(program)
            .env(ROLE, job.to_text())
            .env("NANOTAPE_RING_PADDING", "x".repeat(padding))
            .arg(&job.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let index = self.children.len();
        self.children.push(child);
        let (Some(stdin), Some(stdout), Some(mut stderr)) = pipes else {
            return Err(failed(io::ErrorKind::BrokenPipe.into()));
        };
        let sender = sender.clone();
        // Blocked in a read, it takes no processor from what is measured.
        let listen = move || {
            let mut stdout = BufReader::new(stdout);
            let (mut output, mut errors) = (String::new(), String::new());
            // Nobody listens if another process failed; what cannot be read is no answer.
            let _ = stdout.read_line(&mut output);
            if output.trim() == READY {
                output.clear();
                let _ = sender.send((index, Said::Ready));
            } else {
                // It never will be: two words from every process.
                let _ = stderr.read_to_string(&mut errors);
            }
            let _ = stdout.read_to_string(&mut output);
            let _ = stderr.read_to_string(&mut errors);
            let _ = sender.send((index, Said::End { output, errors }));
        };
        thread::Builder::new().spawn(listen).map_err(failed)?;
        Ok(stdin)
    }

    /// What a process that closed its output said.
    fn end(&mut self, index: usize, output: &str, errors: &str) -> Result<Value, RingBenchError> {
        let status = self.children[index]
            .wait()
            .map_err(|source| RingBenchError::System { what: "wait for a process", source })?;
        let said = errors.trim().replace('\n', " ");
        match status.code() {
            Some(0) => serde_json::from_str(output)
                .map_err(|_| worker_error(self.row, &status.to_string(), output.trim())),
            Some(1) => Err(RingBenchError::Found { row: self.row.name, said }),
            _ => Err(worker_error(self.row, &status.to_string(), &said)),
        }
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for child in &mut self.children {
            // Those that ended by themselves refuse, and that is fine.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
