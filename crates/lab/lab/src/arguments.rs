//! The arguments of a measurement, the same for benchmark programs and for `nanotape lab bench`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::{
    compare::Design,
    measure::{Measured, Options},
    perf_program,
    placement::{Pin, PlacementRequest},
    suite::{BenchError, Suite},
};

/// What to measure and how.
#[derive(Args, Clone, Debug)]
pub struct BenchArguments {
    /// Only benchmarks whose name contains one of these
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,

    /// Print the names and measure nothing
    #[arg(long)]
    pub list: bool,

    /// Number of epochs of about a millisecond; their medians give the cost
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(8..=1_000_000))]
    pub epochs: u32,

    /// Time single runs on a schedule of RATE runs a second; a late start counts as latency
    #[arg(long, value_name = "PER_SECOND", value_parser = rate)]
    pub rate: Option<f64>,

    /// Where to measure.
    #[command(flatten)]
    pub place: PlaceArguments,

    /// Also count instructions, in a second process under valgrind
    #[arg(long)]
    pub instructions: bool,

    /// Run perf during the timed part
    #[arg(long, value_enum, value_name = "MODE")]
    pub perf: Option<PerfMode>,

    /// Append the results to the record of this host in DIRECTORY
    #[arg(long, value_name = "DIRECTORY", num_args = 0..=1, default_missing_value = "bench/record")]
    pub record: Option<PathBuf>,

    /// Reject results if the machine was not quiet: exit status 2
    #[arg(long)]
    pub refuse_noise: bool,
}

/// Where and how the measuring threads are to run.
#[derive(Args, Clone, Copy, Debug)]
pub struct PlaceArguments {
    /// Run on this processor [default: the last allowed one]
    #[arg(long, value_name = "CPU")]
    pub cpu: Option<u32>,

    /// Use the real-time class SCHED_FIFO with this priority
    #[arg(long, value_name = "PRIORITY", value_parser = clap::value_parser!(u8).range(1..=49))]
    pub realtime: Option<u8>,

    /// Do not lock all memory
    #[arg(long)]
    pub no_lock: bool,
}

impl PlaceArguments {
    /// The placement to request from the system.
    pub fn request(&self) -> PlacementRequest {
        PlacementRequest {
            pin: self.cpu.map_or(Pin::Last, Pin::To),
            real_time_priority: self.realtime,
            lock_memory: !self.no_lock,
        }
    }

    /// The design of comparisons whose processes run on the `given` processor.
    pub fn design(&self, given: Option<u32>) -> Design {
        Design {
            cpu: given,
            real_time_priority: self.realtime,
            lock_memory: !self.no_lock,
            ..Design::default()
        }
    }
}

/// How perf observes the worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum PerfMode {
    /// Counts, printed with the result
    Stat,
    /// Samples, in perf-NAME.data in the current folder
    Record,
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if (0.1..=1e9).contains(&rate) => Ok(rate),
        _ => Err("expected a number of runs a second from 0.1 to 1,000,000,000".to_owned()),
    }
}

impl BenchArguments {
    /// The selected benchmarks, in the suite's order; an error if a filter matches none.
    pub fn select<'a>(&self, suite: &'a Suite) -> Result<Vec<&'a str>, BenchError> {
        select(suite, &self.names)
    }

    /// The options of the measurement of `name`.
    pub fn options(&self, name: &str) -> Options {
        let perf = self.perf.map(|mode| match mode {
            PerfMode::Stat => perf_program::Mode::Stat,
            PerfMode::Record => {
                let output = PathBuf::from(format!("perf-{}.data", name.replace('/', "-")));
                perf_program::Mode::Record { output }
            }
        });
        Options {
            epochs: self.epochs as usize,
            arrivals_per_second: self.rate,
            instructions: self.instructions,
            perf,
            ..Options::default()
        }
    }

    /// The reason to reject a result, if noise must be rejected and there was some.
    pub fn admit(&self, measured: &Measured) -> Result<(), String> {
        let sentences = &measured.context.noise.sentences;
        if self.refuse_noise && !sentences.is_empty() { Err(sentences.join("; ")) } else { Ok(()) }
    }
}

/// The benchmarks of `suite` whose name contains one of `filters`; all of them without filters.
pub fn select<'a>(suite: &'a Suite, filters: &[String]) -> Result<Vec<&'a str>, BenchError> {
    let none = filters.iter().find(|filter| !suite.names().any(|name| name.contains(*filter)));
    if let Some(filter) = none {
        let known = suite.names().collect::<Vec<_>>().join(", ");
        return Err(BenchError::Unknown { name: filter.clone(), known });
    }
    let wanted = |name: &&str| filters.is_empty() || filters.iter().any(|part| name.contains(part));
    Ok(suite.names().filter(wanted).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_that_mean_nothing_are_refused() {
        assert_eq!(rate("2.5e6"), Ok(2.5e6));
        for text in ["0", "-1", "nan", "inf", "1e10", "many"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }
}
