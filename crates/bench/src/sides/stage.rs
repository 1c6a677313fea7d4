//! A process that is one side of one row: this program, started once more.
//!
//! Protocol: the environment variable [`ROLE`] holds the job and the only argument is the folder of
//! the ring. The process opens everything, writes the line [`READY`], and a writer waits for a line
//! on its standard input before it begins; the folder is gone by then. The answer is one line of
//! JSON and exit status 0. Otherwise the reason is on standard error, and the exit status 1 if the
//! ring gave a wrong answer.
//! Bounds: a process ends when the one that started it does, and when nothing happens for 30 s.

use std::{
    io::{self, Write as _},
    path::PathBuf,
    process::ExitCode,
    thread,
    time::Duration,
};

use nanotape_clock::{Clock, Source};
use nanotape_lab::{NoiseWatch, environment::Noise, text::in_full};
use nanotape_shm::SharedRegion;
use rustix::process::{Signal, set_parent_process_death_signal};
use serde_json::Value;

use super::{error::RingBenchError, job::Job, parts};
use crate::wait::{Patience, Wait};

/// The environment variable that makes a process a side of a ring.
pub(super) const ROLE: &str = "NANOTAPE_RING_ROLE";

/// What a process says when it has opened everything.
pub(super) const READY: &str = "ready";

/// What a writer is told when all processes have said so.
pub(super) const GO: &str = "go";

/// How often, and for how many milliseconds, to try to open what another process is to make.
const TRIES: u32 = 20_000;

/// Plays the side that the environment gives to this process, if it gives one. A program that
/// measures rings calls this before it looks at its command line.
pub fn role() -> Option<ExitCode> {
    let role = std::env::var(ROLE).ok()?;
    let folder = std::env::args_os().nth(1).map(PathBuf::from).unwrap_or_default();
    Some(match Job::parse(&role, folder).and_then(play) {
        Ok(value) => {
            println!("{value}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{}", in_full(&error));
            ExitCode::from(if error.is_finding() { 1 } else { 2 })
        }
    })
}

fn play(job: Job) -> Result<Value, RingBenchError> {
    // Nobody is left to wait for the answer.
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|errno| {
        RingBenchError::System { what: "ask for a signal", source: errno.into() }
    })?;
    let _placement = job.place();
    let clock = if job.counter { Clock::calibrate() } else { Clock::monotonic() };
    if job.counter != (clock.source() == Source::TimeStampCounter) {
        return Err(RingBenchError::OtherClock);
    }
    let mut stage = Stage { job, clock, watch: None };
    let told = parts::play(&mut stage)?;
    let noise = stage.watch.map_or(Noise::default(), NoiseWatch::stop);
    Ok(told.to_json(&noise))
}

/// What a side has before it has a ring.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) job: Job,
    pub(super) clock: Clock,
    watch: Option<NoiseWatch>,
}

impl Stage {
    /// A file beside the ring.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.job.folder.join(name)
    }

    /// Opens what another process makes, as soon as it is there.
    pub(super) fn meet<T, E>(
        &self,
        open: impl Fn(&Self) -> Result<T, E>,
    ) -> Result<T, RingBenchError>
    where
        RingBenchError: From<E>,
    {
        for _ in 1..TRIES {
            if let Ok(opened) = open(self) {
                return Ok(opened);
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(open(self)?)
    }

    /// Everything is open, and a reader reads from now on.
    pub(super) fn ready(&mut self) -> Result<(), RingBenchError> {
        say_ready()?;
        self.watch = Some(NoiseWatch::start(self.clock, Some(self.job.cpu)));
        Ok(())
    }

    /// Everything is open here; waits until that is so everywhere, and all readers read.
    pub(super) fn begin(&mut self, progress: &[SharedRegion]) -> Result<(), RingBenchError> {
        say_ready()?;
        let mut line = String::new();
        io::stdin()
            .read_line(&mut line)
            .map_err(|source| RingBenchError::System { what: "wait for the others", source })?;
        if line.trim() != GO {
            let source = io::ErrorKind::UnexpectedEof.into();
            return Err(RingBenchError::System { what: "begin: nobody waits for it", source });
        }
        let mut patience = Patience::new(self.clock, Wait::Yield);
        for reader in progress {
            while reader.words()[0].load() == 0 {
                patience.idle(0)?;
            }
        }
        // What others did on this processor while it waited is nobody's noise.
        self.watch = Some(NoiseWatch::start(self.clock, Some(self.job.cpu)));
        Ok(())
    }
}

fn say_ready() -> Result<(), RingBenchError> {
    let mut output = io::stdout().lock();
    let said = writeln!(output, "{READY}").and_then(|()| output.flush());
    said.map_err(|source| RingBenchError::System { what: "say that it is ready", source })
}
