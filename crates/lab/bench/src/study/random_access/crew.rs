//! Starts the processes of a case, and collects what they measured.

use std::time::Duration;

use serde_json::Value;

use super::{
    super::{Setup, StudyError},
    Case,
    job::{ReadAnswer, ReadJob},
};
use crate::{
    engine::{GO, Launch, Program, Workers},
    error::Error,
};

/// Longer than a process takes to make its table.
const GRACE: Duration = Duration::from_secs(90);

/// What all processes of a study share.
pub(super) struct Crew<'a> {
    setup: &'a Setup<'a>,
    program: Program,
}

impl<'a> Crew<'a> {
    pub(super) fn new(setup: &'a Setup<'a>) -> Result<Self, StudyError> {
        let program = Program::this(ReadJob::WORK).map_err(failed)?;
        Ok(Self { setup, program })
    }

    /// Runs a turn of a case: all processes read at the same time.
    pub(super) fn read(&self, case: Case, turn: Duration) -> Result<Vec<ReadAnswer>, StudyError> {
        let mut workers = Workers::new();
        for process in 0..case.processes {
            let job = serde_json::to_value(self.job(case, process, turn));
            let job = job.map_err(|error| failed(Error::system("describe a job")(error.into())))?;
            let launch =
                Launch { program: &self.program, job: &job, padding: 0, is_detached: false };
            workers.start(&launch).map_err(failed)?;
        }
        for process in 0..case.processes {
            workers.wait_until_ready(process).map_err(failed)?;
        }
        for process in 0..case.processes {
            workers.tell(process, GO);
        }
        let mut left = case.processes;
        while left > 0 {
            // A process that is not ready has ended, so each has one more event.
            if workers.next(GRACE + turn).map_err(failed)?.is_none() {
                return Err(failed(lost("nothing in time".to_owned())));
            }
            left = (0..case.processes).filter(|&process| workers.end(process).is_none()).count();
        }
        (0..case.processes).map(|process| answer(&workers, process)).collect()
    }

    fn job(&self, case: Case, process: usize, turn: Duration) -> ReadJob {
        let cpus = &self.setup.cpus;
        ReadJob {
            cpu: cpus[process % cpus.len()],
            // Two real-time processes would not share a processor: the first would end first.
            real_time_priority: self
                .setup
                .real_time_priority
                .filter(|_| case.processes <= cpus.len()),
            bytes: case.bytes,
            reads: case.reads,
            turn_ns: u64::try_from(turn.as_nanos()).unwrap_or(u64::MAX),
        }
    }
}

fn answer(workers: &Workers, process: usize) -> Result<ReadAnswer, StudyError> {
    let end = workers.end(process);
    let answer: Option<Value> = end.and_then(|end| end.answer());
    let answer = answer.and_then(|answer| serde_json::from_value(answer).ok());
    let errors = end.map_or(String::new(), |end| end.errors.trim().to_owned());
    answer.ok_or_else(|| failed(lost(errors)))
}

fn lost(output: String) -> Error {
    Error::Worker { row: "random-access", status: "no answer".to_owned(), output }
}

fn failed(error: Error) -> StudyError {
    StudyError::Process(Box::new(error))
}
