//! The processes of one row, started together.

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
    Reading, SideError,
    stage::{GO, READY},
};

/// The most bytes that move a process's stack: names alone would move it by different amounts, and
/// no row shall have a favourable place in every round.
pub(super) const MOST_PADDING: usize = 4096;

/// Longer than any process waits for another.
const GRACE: Duration = Duration::from_secs(90);

/// What the processes of a row are started with.
#[derive(Debug)]
pub(crate) struct Cast<'cast> {
    pub(crate) program: &'cast Path,
    /// The name of the row.
    pub(crate) row: &'static str,
    /// The environment variable that makes a process a side.
    pub(crate) variable: &'static str,
    /// What each is told there, the writer first.
    pub(crate) jobs: Vec<String>,
    /// The arguments of all: the folder to meet in first.
    pub(crate) arguments: Vec<&'cast Path>,
    /// Bytes that move their stacks.
    pub(crate) padding: usize,
    /// How long the work itself may take.
    pub(crate) work: Duration,
}

/// Takes one reading of a row: starts its processes, waits for them, adds up what they say. `on_open` is
/// called when all have opened everything, before anything is measured.
pub(crate) fn run(cast: &Cast<'_>, on_open: impl FnOnce()) -> Result<Reading, SideError> {
    let row = cast.row;
    let mut on_open = Some(on_open);
    let (sender, said) = mpsc::channel();
    let mut processes = Processes { row, children: Vec::new() };
    let mut go = None;
    for job in &cast.jobs {
        let stdin = processes.start(cast, job, &sender)?;
        go.get_or_insert(stdin);
    }
    drop(sender);
    let limit = GRACE + cast.work;
    let mut ready = 0;
    let mut told = vec![Value::Null; cast.jobs.len()];
    for _ in 0..2 * cast.jobs.len() {
        let Ok((index, said)) = said.recv_timeout(limit) else {
            return Err(worker_error(row, "no answer", "nothing in time"));
        };
        match said {
            Said::Ready => ready += 1,
            Said::End { output, errors } => told[index] = processes.end(index, &output, &errors)?,
        }
        if ready == cast.jobs.len()
            && let Some(mut go) = go.take()
        {
            if let Some(on_open) = on_open.take() {
                on_open();
            }
            // One that cannot read it any more says so by itself.
            let _ = writeln!(go, "{GO}");
        }
    }
    Reading::of_json(&told)
        .ok_or_else(|| worker_error(row, "answers that are none", &Value::from(told).to_string()))
}

fn worker_error(row: &'static str, status: &str, said: &str) -> SideError {
    SideError::Worker { row, status: status.to_owned(), said: said.to_owned() }
}

/// What comes from a process.
enum Said {
    Ready,
    End { output: String, errors: String },
}

/// Running processes; ended when this is dropped, whatever happened.
struct Processes {
    row: &'static str,
    children: Vec<Child>,
}

impl Processes {
    fn start(
        &mut self,
        cast: &Cast<'_>,
        job: &str,
        sender: &Sender<(usize, Said)>,
    ) -> Result<ChildStdin, SideError> {
        let failed = |source| SideError::System { what: "start a process", source };
        let mut child = Command::new(cast.program)
            .env(cast.variable, job)
            .env("NANOTAPE_PADDING", "x".repeat(cast.padding))
            .args(&cast.arguments)
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
    fn end(&mut self, index: usize, output: &str, errors: &str) -> Result<Value, SideError> {
        let status = self.children[index]
            .wait()
            .map_err(|source| SideError::System { what: "wait for a process", source })?;
        let said = errors.trim().replace('\n', " ");
        match status.code() {
            Some(0) => serde_json::from_str(output)
                .map_err(|_| worker_error(self.row, &status.to_string(), output.trim())),
            Some(1) => Err(SideError::Found { row: self.row, said }),
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
