//! Studies of this machine: a question each, with a method, a table, plots, and the answers.
//!
//! Where: `nanotape lab study` prints them. The record is docs/formats/lab-machine.md.
//!
//! Every number is a median with its quartiles. Cases are measured in several rounds, each round in
//! a random order, so that noise does not favour one of them. An answer is a sentence that is
//! computed from the numbers; a difference within the noise is reported as such.
//!
//! To add a study, write a function from [`Setup`] to [`Findings`] in a file of its own, and add a
//! variant to [`Study`].

mod clock;
mod cold;
mod findings;
mod numbers;
mod pause;
mod random_access;
mod rounds;
mod scheduling;
mod text;

use std::{fmt, time::Duration};

use nanotape_clock::Clock;
use nanotape_console::progress::Progress;
use nanotape_host::{allowed_cpus, usable_cpus};
use nanotape_lab::{NoiseWatch, Pin, Placement, record::RunContext};
use serde_json::Value;

use self::findings::Findings;
pub(crate) use self::random_access::ReadJob;

/// A question about this machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Study {
    /// The cost of a pause, and its effect on a poll loop.
    Pause,
    /// The time that a thread loses in each scheduling class.
    Scheduling,
    /// The cost and the quality of each way to read the time.
    Clock,
    /// The time of a message after an idle time.
    Cold,
    /// The time of a random read, alone and beside other processes.
    RandomAccess,
}

/// How to run a study.
#[derive(Clone, PartialEq, Debug)]
pub struct StudyOptions {
    /// The approximate time of each study.
    pub time: Duration,
    /// The processors, the most important one first; empty: the allowed ones from the last.
    pub cpus: Vec<u32>,
    /// The priority in the real-time class SCHED_FIFO; `None`: the normal class, and priority 40
    /// where a study compares the classes.
    pub real_time_priority: Option<u8>,
    /// The largest table of a process that reads at random; `None`: a multiple of the last cache.
    pub most_bytes: Option<u64>,
}

/// The priority of threads that a study puts into the real-time class.
const USUAL_PRIORITY: u8 = 40;

/// What a study gets.
pub(crate) struct Setup<'a> {
    pub(crate) clock: Clock,
    /// Never empty.
    pub(crate) cpus: Vec<u32>,
    pub(crate) options: &'a StudyOptions,
    pub(crate) progress: &'a Progress,
}

/// The result of a study.
#[derive(Debug)]
pub struct Answered {
    study: Study,
    context: RunContext,
    findings: Findings,
}

/// Why a study has no result.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// The process must not use this processor.
    #[error("processor {cpu} is not among those allowed ({allowed})")]
    Processor {
        /// The requested processor.
        cpu: u32,
        /// The allowed ones.
        allowed: String,
    },
    /// A thread could not be started, or ended early.
    #[error("a measuring thread could not be started, or ended early")]
    Thread,
    /// The interruptions of a processor could not be measured.
    #[error(transparent)]
    Spin(#[from] nanotape_machine::SpinError),
    /// A process failed.
    #[error("a process of the study failed")]
    Process(#[source] Box<dyn core::error::Error + Send + Sync>),
}

/// The name and the question of each study.
const WORDS: [(&str, &str); 5] = [
    ("pause", "What does a pause cost, and what does it do to a poll loop?"),
    (
        "scheduling",
        "How much time does a thread lose in each scheduling class, alone and beside a busy thread?",
    ),
    ("clock", "What does each way to read the time cost, and what can it measure?"),
    ("cold", "How much longer does a message take if the processor was idle before?"),
    (
        "random-access",
        "What does a random read of memory take, alone and while other processes read?",
    ),
];

impl Study {
    /// All studies, in the order of the list.
    pub const ALL: [Self; 5] =
        [Self::Pause, Self::Scheduling, Self::Clock, Self::Cold, Self::RandomAccess];

    /// The name on the command line and in records.
    pub fn name(self) -> &'static str {
        WORDS[self as usize].0
    }

    /// The question.
    pub fn question(self) -> &'static str {
        WORDS[self as usize].1
    }

    /// Answers the question on this machine.
    pub fn run(self, options: &StudyOptions, progress: &Progress) -> Result<Answered, StudyError> {
        let is_chosen = !options.cpus.is_empty();
        let cpus = choose(&options.cpus, &if is_chosen { usable_cpus() } else { allowed_cpus() })?;
        // Only described here: the threads of a study place themselves.
        let placement = Placement::on(Pin::To(cpus[0]), options.real_time_priority);
        let mut context = RunContext::capture(&placement);
        let cpu = placement.cpu().filter(|_| self != Self::RandomAccess);
        placement.release();
        let setup = Setup { clock: context.clock, cpus, options, progress };
        let watch = NoiseWatch::start(context.clock, cpu);
        let findings = match self {
            Self::Pause => pause::study(&setup),
            Self::Scheduling => scheduling::study(&setup),
            Self::Clock => clock::study(&setup),
            Self::Cold => cold::study(&setup, &cold::RATES),
            Self::RandomAccess => random_access::study(&setup),
        }?;
        context.noise = watch.stop();
        Ok(Answered { study: self, context, findings })
    }
}

/// The requested processors, or else the allowed ones from the last: the first ones do most of the
/// machine's own work.
fn choose(requested: &[u32], allowed: &[u32]) -> Result<Vec<u32>, StudyError> {
    if let Some(&cpu) = requested.iter().find(|cpu| !allowed.contains(cpu)) {
        let allowed: Vec<String> = allowed.iter().map(u32::to_string).collect();
        return Err(StudyError::Processor { cpu, allowed: allowed.join(", ") });
    }
    Ok(match (requested, allowed) {
        ([], []) => vec![0],
        ([], allowed) => allowed.iter().rev().copied().collect(),
        (requested, _) => requested.to_vec(),
    })
}

impl Setup<'_> {
    /// Places the calling thread on a processor, in the requested class.
    pub(crate) fn place(&self, cpu: u32) -> Placement {
        Placement::on(Pin::To(cpu), self.options.real_time_priority)
    }

    /// Runs `work` on a thread of its own, placed on the first processor.
    pub(crate) fn on_first<R: Send>(
        &self,
        work: impl FnOnce() -> R + Send,
    ) -> Result<R, StudyError> {
        std::thread::scope(|scope| {
            let body = || {
                let _placement = self.place(self.cpus[0]);
                work()
            };
            let thread = std::thread::Builder::new().spawn_scoped(scope, body);
            thread.map_err(|_| StudyError::Thread)?.join().map_err(|_| StudyError::Thread)
        })
    }

    /// The priority of threads that must be in the real-time class.
    pub(crate) fn priority(&self) -> u8 {
        self.options.real_time_priority.unwrap_or(USUAL_PRIORITY)
    }
}

impl Answered {
    /// The machine of the study.
    pub fn context(&self) -> &RunContext {
        &self.context
    }

    /// A line of the record, of kind `study`.
    pub fn record(&self) -> Value {
        self.context.line("study", self.study.name(), self.findings.fields(self.study.question()))
    }
}

/// The question, the method, the table and the answers.
impl fmt::Display for Answered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}\n", self.study.name(), self.study.question())?;
        text::write(f, &self.findings, &self.context.noise.sentences)
    }
}

#[cfg(test)]
mod tests;
