//! Starts the processes of a case, and collects what they measured.

use std::time::Duration;

use super::{
    super::{Setup, StudyError},
    Case,
    job::{ReadAnswer, ReadJob},
};
use crate::{
    engine::{Launch, Program, Workers},
    error::Error,
};

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
        let jobs = (0..case.processes).map(|process| {
            let job = serde_json::to_value(self.job(case, process, turn));
            job.map_err(|error| failed(Error::system("describe a job")(error.into())))
        });
        let jobs = jobs.collect::<Result<Vec<_>, _>>()?;
        let launch = |job| Launch { program: &self.program, job, padding: 0, is_detached: false };
        let launches: Vec<_> = jobs.iter().map(launch).collect();
        Workers::answers("random-access", &launches, turn, || ()).map_err(failed)
    }

    fn job(&self, case: Case, process: usize, turn: Duration) -> ReadJob {
        let cpus = &self.setup.cpus;
        ReadJob {
            cpu: cpus[process % cpus.len()],
            // Two real-time processes would not share a processor: the first would end first.
            real_time_priority: self
                .setup
                .options
                .real_time_priority
                .filter(|_| case.processes <= cpus.len()),
            bytes: case.bytes,
            reads: case.reads,
            turn_ns: u64::try_from(turn.as_nanos()).unwrap_or(u64::MAX),
        }
    }
}

fn failed(error: Error) -> StudyError {
    StudyError::Process(Box::new(error))
}
