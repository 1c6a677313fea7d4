//! The recorder of a plant that is measured: a process of its own, as `nanotape run --journal` has.
//!
//! Protocol: the plant starts it as it starts `nanotape journal record --for-plant`, and waits for
//! it when it is half a ring behind. The threads that prepare segments run on any processor but the
//! plant's, if there is another one. The recorder itself is pinned to the processor of a tap.

use std::path::PathBuf;

use nanotape_console::status::{note, warn};
use nanotape_journal::AppenderOptions;
use nanotape_lab::{Pin, Placement};
use nanotape_plant::{RecorderProcess, Report, Reported};
use nanotape_tap::{Recorder, RecorderEvent, RecorderOptions, open_when_free};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    engine::{Program, WORKER, end_with_parent, run_on},
    error::{Error, failed},
};

/// The job of a recorder.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RecorderJob {
    pub(super) ring: PathBuf,
    pub(super) journal: PathBuf,
    pub(super) segment_bytes: u64,
    /// The processor of the recorder; None: any.
    pub(super) cpu: Option<u32>,
    /// The processors of the threads that prepare segments.
    pub(super) others: Vec<u32>,
}

impl RecorderJob {
    pub(crate) const WORK: &'static str = "replay/recorder";

    /// The process that does this job, for a plant.
    pub(super) fn process(&self) -> Result<RecorderProcess, Error> {
        let described = serde_json::to_value(self);
        let job = described.map_err(|error| Error::system("describe a job")(error.into()))?;
        let program = Program::this(Self::WORK)?;
        // A process inherits the job of its parent. `env` gives it another one.
        let variable = format!("{WORKER}={}", program.variable(&job));
        Ok(RecorderProcess {
            program: "env".into(),
            arguments: vec![variable.into(), program.path.into_os_string()],
            companions: Vec::new(),
            journal: self.journal.clone(),
            waits: true,
            report: Report::new(|line| match line {
                Reported::Note(line) => note(line),
                Reported::Problem(line) => warn(line),
            }),
        })
    }

    /// Records until the plant has ended.
    pub(crate) fn run(self) -> anyhow::Result<Value> {
        self.record().map_err(failed)?;
        Ok(json!({}))
    }

    fn record(&self) -> Result<(), Error> {
        end_with_parent()?;
        // The process inherits the processor of the plant.
        run_on(&self.others);
        let options =
            AppenderOptions { segment_bytes: self.segment_bytes, ..AppenderOptions::default() };
        let opened = open_when_free(&self.ring, &self.journal, &options, |error| warn(error))?;
        let Some(appender) = opened else { return Ok(()) };
        let _placement = Placement::on(self.cpu.map_or(Pin::Free, Pin::To), None);
        let options =
            RecorderOptions { mode: 0o600, must_show: true, ..RecorderOptions::default() };
        let Some(mut recorder) = Recorder::open(&self.ring, appender, &options)? else {
            return Ok(());
        };
        let mut problem = None;
        recorder.run(|event| match event {
            RecorderEvent::Lost(gap) => problem = Some(gap.to_string()),
            RecorderEvent::NoRoom(error) => problem = Some(error.to_string()),
            _ => {}
        })?;
        recorder.close()?;
        problem.map_or(Ok(()), |problem| Err(Error::found(self.journal.display(), problem)))
    }
}
