//! A process that is one side of one row: this program, started once more.
//!
//! Protocol: an environment variable holds the job and the first argument is the folder to meet in. The
//! process opens everything, writes the line [`READY`], and a writer waits for a line on its standard
//! input before it begins. The answer is one line of JSON and exit status 0. Otherwise the reason is on
//! standard error, and the exit status 1 if there was a wrong answer.
//! Bounds: a process ends when the one that started it does, and when nothing happens for 30 s.

use std::{
    error::Error,
    io::{self, Write as _},
    path::PathBuf,
    process::ExitCode,
    thread,
    time::Duration,
};

use nanotape_clock::{Clock, Source};
use nanotape_lab::{NoiseWatch, Pin, Placement, Wish, environment::Noise, text::in_full};
use nanotape_shm::SharedRegion;
use rustix::process::{Signal, set_parent_process_death_signal};
use serde_json::Value;

use super::{Amount, SideError, Told, pace::Until};
use crate::wait::{Patience, Wait};

/// What a process says when it has opened everything.
pub(super) const READY: &str = "ready";

/// What a writer is told when all processes have said so.
pub(super) const GO: &str = "go";

/// How often, and for how many milliseconds, to try to open what another process is to make.
const TRIES: u32 = 20_000;

/// Where a side runs and meets the others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Seat {
    pub(crate) cpu: u32,
    /// Whether it shares that processor with another process of the row.
    pub(crate) shares: bool,
    pub(crate) real_time_priority: Option<u8>,
    /// Whether stamps are of the time stamp counter; else of the kernel's monotonic clock.
    pub(crate) counter: bool,
    pub(crate) folder: PathBuf,
}

/// Plays the side that the environment gives to this process, if it gives one: `play` gets the job's
/// text and the folder.
pub(crate) fn role<E: Error + 'static>(
    variable: &str,
    play: impl FnOnce(&str, PathBuf) -> Result<Value, E>,
    is_finding: impl FnOnce(&E) -> bool,
) -> Option<ExitCode> {
    let role = std::env::var(variable).ok()?;
    let folder = std::env::args_os().nth(1).map(PathBuf::from).unwrap_or_default();
    Some(match play(&role, folder) {
        Ok(value) => {
            println!("{value}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{}", in_full(&error));
            ExitCode::from(if is_finding(&error) { 1 } else { 2 })
        }
    })
}

/// What a side has before it has what it measures.
#[derive(Debug)]
pub(crate) struct Stage<J> {
    pub(crate) job: J,
    pub(crate) clock: Clock,
    seat: Seat,
    watch: Option<NoiseWatch>,
    _placement: Placement,
}

impl<J> Stage<J> {
    /// Goes to the seat.
    pub(crate) fn new(job: J, seat: Seat) -> Result<Self, SideError> {
        // Nobody is left to wait for the answer.
        set_parent_process_death_signal(Some(Signal::KILL))
            .map_err(io::Error::from)
            .map_err(SideError::system("ask for a signal"))?;
        let placement = Placement::apply(&Wish {
            pin: Pin::To(seat.cpu),
            real_time_priority: seat.real_time_priority,
            lock_memory: false,
        });
        let clock = if seat.counter { Clock::calibrate() } else { Clock::monotonic() };
        if seat.counter != (clock.source() == Source::TimeStampCounter) {
            return Err(SideError::OtherClock);
        }
        Ok(Self { job, clock, seat, watch: None, _placement: placement })
    }

    /// What it answers, with what disturbed it.
    pub(crate) fn answer(self, told: &Told) -> Value {
        told.to_json(&self.watch.map_or(Noise::default(), NoiseWatch::stop))
    }

    /// A file beside what is measured.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.seat.folder.join(name)
    }

    /// Opens what another process makes, as soon as it is there.
    pub(crate) fn meet<T, E>(&self, open: impl Fn(&Self) -> Result<T, E>) -> Result<T, E> {
        for _ in 1..TRIES {
            if let Ok(opened) = open(self) {
                return Ok(opened);
            }
            thread::sleep(Duration::from_millis(1));
        }
        open(self)
    }

    /// Everything is open, and a reader reads from now on.
    pub(crate) fn ready(&mut self) -> Result<(), SideError> {
        say_ready()?;
        self.watch = Some(NoiseWatch::start(self.clock, Some(self.seat.cpu)));
        Ok(())
    }

    /// Everything is open here; waits until that is so everywhere, and all readers read.
    pub(crate) fn begin(&mut self, progress: &[SharedRegion]) -> Result<(), SideError> {
        say_ready()?;
        let mut line = String::new();
        io::stdin().read_line(&mut line).map_err(SideError::system("wait for the others"))?;
        if line.trim() != GO {
            let source = io::ErrorKind::UnexpectedEof.into();
            return Err(SideError::System { what: "begin: nobody waits for it", source });
        }
        let mut patience = Patience::new(self.clock, Wait::Yield);
        for reader in progress {
            while reader.words()[0].load() == 0 {
                patience.idle(0)?;
            }
        }
        // What others did on this processor while it waited is nobody's noise.
        self.watch = Some(NoiseWatch::start(self.clock, Some(self.seat.cpu)));
        Ok(())
    }

    /// Begins now to write so much.
    pub(crate) fn until(&self, amount: Amount) -> Until {
        Until::new(self.clock, amount)
    }

    /// To wait so, or by yielding where the processor is shared.
    pub(crate) fn patience(&self, alone: Wait) -> Patience {
        Patience::new(self.clock, if self.seat.shares { Wait::Yield } else { alone })
    }
}

fn say_ready() -> Result<(), SideError> {
    let mut output = io::stdout().lock();
    let said = writeln!(output, "{READY}").and_then(|()| output.flush());
    said.map_err(SideError::system("say that it is ready"))
}
