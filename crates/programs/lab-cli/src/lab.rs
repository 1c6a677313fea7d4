//! `nanotape lab`: measurements, and checks of their reliability.

mod clock;
mod compare;
mod count;
mod delay;
mod doctor;
mod jitter;
mod prove;
mod queue;
mod study;
mod subjects;
mod trend;

use clap::{Args, Subcommand};

use nanotape_console::status::Status;

#[derive(Args, Debug)]
pub(crate) struct LabArguments {
    #[command(subcommand)]
    command: LabCommand,
}

#[derive(Subcommand, Debug)]
enum LabCommand {
    /// Measure nanotape's own hot path, stage by stage
    Bench(nanotape_bench::BenchCommand),
    /// Compare two benchmarks, programs or revisions, with a verdict
    Compare(compare::CompareCommand),
    /// Count instructions, and compare them with accepted counts
    Count(count::CountCommand),
    /// Plot recorded results over time
    Trend(trend::TrendCommand),
    /// Test on known differences whether comparisons on this machine are reliable
    Prove(prove::ProveCommand),
    /// Compare estimators of delay with delays that are known
    Delay(delay::DelayCommand),
    /// Measure round trips between two processors, and trace each interruption to its cause
    Jitter(Box<jitter::JitterCommand>),
    /// Check the settings of this machine, and try fixes
    Doctor(Box<doctor::DoctorCommand>),
    /// Compute the queue and the delays of an input for service times from 100 ns to 100 us
    Queue(queue::QueueCommand),
    /// Answer questions about this machine: pauses, scheduling, clocks, cold caches, memory
    Study(study::StudyCommand),
    /// Report the clock of all measurements: source, rate, cost, drift, offsets
    Clock(clock::ClockCommand),
}

pub(crate) fn run(arguments: &LabArguments) -> anyhow::Result<Status> {
    match &arguments.command {
        LabCommand::Bench(command) => nanotape_bench::run(command),
        LabCommand::Compare(command) => compare::run(command),
        LabCommand::Count(command) => count::run(command),
        LabCommand::Trend(command) => trend::run(command),
        LabCommand::Prove(command) => prove::run(command),
        LabCommand::Delay(command) => delay::run(command),
        LabCommand::Jitter(command) => jitter::run(command),
        LabCommand::Doctor(command) => doctor::run(command),
        LabCommand::Queue(command) => queue::run(command),
        LabCommand::Study(command) => study::run(command),
        LabCommand::Clock(command) => clock::run(command),
    }
}
