//! Processors: the option that names them, and pinning a thread to one.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::Failure;

/// The processors of a run.
#[derive(Clone, PartialEq, Eq, Debug, clap::Args)]
pub struct Cpus {
    /// The writer's processor, then those that the readers share [default: the first two]
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = allowed_cpu)]
    #[arg(default_values_t = allowed().into_iter().take(2), hide_default_value = true)]
    pub cpus: Vec<usize>,
}

impl Cpus {
    /// Pins the calling thread to the writer's processor.
    pub fn pin_writer(&self) -> Result<(), Failure> {
        pin(self.cpus[0])
    }

    /// Pins the calling thread to the processor of a reader.
    pub fn pin_reader(&self, number: usize) -> Result<(), Failure> {
        pin(self.reader(number))
    }

    /// The readers take turns on the processors that the writer does not use.
    fn reader(&self, number: usize) -> usize {
        match self.cpus.len() {
            1 => self.cpus[0],
            count => self.cpus[1 + number % (count - 1)],
        }
    }
}

/// Processors that this process may use, in ascending order.
fn allowed() -> Vec<usize> {
    match sched_getaffinity(None) {
        Ok(set) => (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect(),
        Err(_) => vec![0],
    }
}

fn allowed_cpu(word: &str) -> Result<usize, String> {
    let allowed = allowed();
    let cpu = word.parse().ok().filter(|cpu| allowed.contains(cpu));
    cpu.ok_or_else(|| format!("needs numbers of {allowed:?}, separated by commas"))
}

fn pin(cpu: usize) -> Result<(), Failure> {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).map_err(|error| format!("pinning to CPU {cpu}: {error}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_share_the_processors_that_the_writer_does_not_use() {
        let cpus = Cpus { cpus: vec![3, 1, 2] };
        assert_eq!([0, 1, 2].map(|number| cpus.reader(number)), [1, 2, 1]);
        assert_eq!(Cpus { cpus: vec![3] }.reader(0), 3);
    }
}
