//! The process side of a row: the job, placement, and meeting the other processes.

use std::{
    io::{self, Write as _},
    path::PathBuf,
    thread,
    time::Duration,
};

use anyhow::bail;
use nanotape_clock::{Clock, Source};
use nanotape_host::allowed_cpus;
use nanotape_lab::{NoiseWatch, Pin, Placement, environment::Noise};
use nanotape_shm::SharedRegion;
use rustix::process::{Signal, set_parent_process_death_signal};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Benchmark, Row, Timeout, Wait,
    pace::{Amount, Until},
    process::{GO, READY},
    row::find,
};
use crate::error::Error;

/// Attempts to open a file of another process, and milliseconds between two of them.
const TRIES: u32 = 20_000;

/// The job of one process.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub(crate) struct Job<B: Benchmark> {
    pub(crate) row: String,
    /// 0 for the writer, otherwise the number of a reader.
    pub(crate) process: usize,
    pub(crate) pass: B::Pass,
    /// The processor to run on; None: any.
    pub(crate) cpu: Option<u32>,
    /// Whether it shares that processor with another process of the row.
    pub(crate) shares: bool,
    /// Priority in the real-time class; None: the normal class.
    pub(crate) real_time_priority: Option<u8>,
    /// Whether stamps are from the time stamp counter; else from the kernel's monotonic clock.
    pub(crate) counter: bool,
    /// The folder in which the processes meet.
    pub(crate) folder: PathBuf,
    /// The folder for data.
    pub(crate) data: PathBuf,
    pub(crate) options: B,
}

/// A process of a row, placed on its processor.
#[derive(Debug)]
pub(crate) struct Worker<B: Benchmark> {
    pub(crate) job: Job<B>,
    pub(crate) row: &'static Row<B>,
    pub(crate) clock: Clock,
    /// The allowed processors but its own.
    other_cpus: Vec<u32>,
    watch: Option<NoiseWatch>,
    _placement: Placement,
}

/// Does a job and returns its report.
pub(crate) fn work<B: Benchmark>(job: Value) -> anyhow::Result<Value> {
    let mut worker = Worker::<B>::new(serde_json::from_value(job)?)?;
    let mut report = B::work(&mut worker).map_err(Error::judged)?;
    report.noise = worker.watch.map_or(Noise::default(), NoiseWatch::stop);
    Ok(serde_json::to_value(report)?)
}

/// Makes the kernel kill this process when its parent ends.
pub(crate) fn end_with_parent() -> Result<(), Error> {
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|errno| Error::system("request a signal")(errno.into()))
}

/// Reports that everything is open.
pub(crate) fn report_ready() -> Result<(), Error> {
    let mut output = io::stdout().lock();
    let written = writeln!(output, "{READY}").and_then(|()| output.flush());
    written.map_err(Error::system("report that it is ready"))
}

impl<B: Benchmark> Worker<B> {
    fn new(job: Job<B>) -> anyhow::Result<Self> {
        end_with_parent()?;
        let row = find(&job.row).ok_or_else(|| anyhow::anyhow!("unknown row {}", job.row))?;
        // Read before the placement, which leaves one.
        let mut other_cpus = allowed_cpus();
        other_cpus.retain(|&cpu| Some(cpu) != job.cpu);
        // Memory is not locked: locked tables would be in memory from their reservation, and the
        // peak would show reserved memory and not used memory.
        let placement = Placement::on(job.cpu.map_or(Pin::Free, Pin::To), job.real_time_priority);
        let clock = if job.counter { Clock::calibrate() } else { Clock::monotonic() };
        if job.counter != (clock.source() == Source::TimeStampCounter) {
            bail!("this process uses another clock than the process that started it");
        }
        Ok(Self { job, row, clock, other_cpus, watch: None, _placement: placement })
    }

    /// The processors for threads that must not compete with this process. Empty if its own is the
    /// only one.
    pub(crate) fn other_cpus(&self) -> &[u32] {
        &self.other_cpus
    }

    /// The number of this reader, from 0; None in the writer.
    pub(crate) fn reader(&self) -> Option<usize> {
        self.job.process.checked_sub(1)
    }

    /// A file in the folder of the reading.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.job.folder.join(name)
    }

    /// Opens what another process makes; retries until it exists.
    pub(crate) fn meet<T, E>(&self, open: impl Fn(&Self) -> Result<T, E>) -> Result<T, E> {
        for _ in 1..TRIES {
            if let Ok(opened) = open(self) {
                return Ok(opened);
            }
            thread::sleep(Duration::from_millis(1));
        }
        open(self)
    }

    /// Reports that everything is open and that a reader reads from now on.
    pub(crate) fn ready(&mut self) -> Result<(), Error> {
        report_ready()?;
        self.watch = Some(NoiseWatch::start(self.clock, self.job.cpu));
        Ok(())
    }

    /// Reports that everything is open; waits until all processes are ready and readers read.
    pub(crate) fn begin(&mut self, progress: &[SharedRegion]) -> Result<(), Error> {
        report_ready()?;
        let mut line = String::new();
        io::stdin().read_line(&mut line).map_err(Error::system("wait for the others"))?;
        if line.trim() != GO {
            let source = io::ErrorKind::UnexpectedEof.into();
            return Err(Error::System { what: "begin: the benchmark has exited", source });
        }
        let mut timeout = Timeout::new(self.clock, Wait::Yield);
        for reader in progress {
            while reader.words()[0].load() == 0 {
                timeout.idle(0)?;
            }
        }
        // The work of others on this processor during the wait is not noise.
        self.watch = Some(NoiseWatch::start(self.clock, self.job.cpu));
        Ok(())
    }

    /// The end of a loop that writes `amount`, starting now.
    pub(crate) fn until(&self, amount: Amount) -> Until {
        Until::new(self.clock, amount)
    }

    /// Waits in this way, or yields if the processor is shared.
    pub(crate) fn timeout(&self, alone: Wait) -> Timeout {
        Timeout::new(self.clock, if self.job.shares { Wait::Yield } else { alone })
    }
}
