//! The processors of the two sides.

use anyhow::bail;
use clap::Args;
use nanotape_clock::{
    Clock,
    cross_core::{self, Effort, Offset},
};
use nanotape_host::{allowed_cpus, usable_cpus};
use serde::{Deserialize, Serialize};

use super::Amount;

/// The requested processors and priority.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Requested {
    pub(crate) cpus: RequestedCpus,
    pub(crate) real_time_priority: Option<u8>,
}

/// The options of a table whose readings have a duration and two processors.
#[derive(Args, Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Timed {
    /// Seconds of each reading
    #[arg(long, value_name = "SECONDS", default_value_t = 1, value_parser = nanotape_console::values::whole::<u32>(1_000_000_000, 1..=3_600))]
    pub(crate) seconds: u32,

    /// Run on these processors [default: the last two allowed ones]
    #[arg(long, value_name = "FIRST,SECOND", value_parser = nanotape_console::values::two_cpus)]
    cpus: Option<(u32, u32)>,

    /// Use the real-time class SCHED_FIFO with this priority
    #[arg(long, value_name = "PRIORITY", value_parser = clap::value_parser!(u8).range(1..=49))]
    realtime: Option<u8>,
}

impl Timed {
    pub(crate) fn requested(&self) -> Requested {
        Requested { cpus: RequestedCpus::Two(self.cpus), real_time_priority: self.realtime }
    }

    pub(crate) fn amount(&self) -> Amount {
        Amount::Seconds(self.seconds)
    }
}

/// The requested processors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RequestedCpus {
    /// One processor, for a benchmark without readers.
    One(Option<u32>),
    /// The processors of the writer and the first reader.
    Two(Option<(u32, u32)>),
}

/// The processors of the writer and of the readers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Cpus {
    /// Processor of the writer.
    pub(crate) writer: u32,
    /// Processors of the readers, starting with the first one. Never empty; contains the writer's
    /// processor only if there is no other.
    pub(crate) readers: Vec<u32>,
}

impl Cpus {
    /// The requested processors, or else the last allowed ones: the first ones do most of the
    /// machine's own work. If only one is allowed, both sides share it.
    pub(crate) fn choose(requested: RequestedCpus) -> anyhow::Result<Self> {
        let allowed = allowed_cpus();
        match requested {
            RequestedCpus::Two(requested) => Self::choose_of(&allowed, &usable_cpus(), requested),
            RequestedCpus::One(requested) => {
                let writer = requested.or(allowed.last().copied()).unwrap_or(0);
                Ok(Self { writer, readers: vec![writer] })
            }
        }
    }

    /// `allowed`: the processors of this thread. `usable`: those that it may request.
    fn choose_of(
        allowed: &[u32],
        usable: &[u32],
        requested: Option<(u32, u32)>,
    ) -> anyhow::Result<Self> {
        let (writer, reader) = match (requested, allowed) {
            (Some(requested), _) => requested,
            (None, [.., writer, reader]) => (*writer, *reader),
            (None, [only]) => (*only, *only),
            (None, []) => (0, 0),
        };
        for cpu in [writer, reader] {
            if requested.is_some() && !usable.contains(&cpu) {
                let usable: Vec<String> = usable.iter().map(u32::to_string).collect();
                bail!("processor {cpu} is not among those allowed ({})", usable.join(", "));
            }
        }
        let others = allowed.iter().copied().filter(|&cpu| cpu != writer && cpu != reader);
        Ok(Self { writer, readers: std::iter::once(reader).chain(others).collect() })
    }

    /// The processor of the reader `index` of `readers`, and whether it is shared.
    pub(crate) fn reader(&self, index: usize, readers: usize) -> (u32, bool) {
        let place = index % self.readers.len();
        let same = (0..readers).filter(|other| other % self.readers.len() == place).count();
        let cpu = self.readers[place];
        (cpu, same > 1 || cpu == self.writer)
    }

    /// The processors of N readers.
    pub(crate) fn of_readers(&self, readers: usize) -> Vec<u32> {
        (0..readers).map(|index| self.reader(index, readers).0).collect()
    }

    /// Whether any of `readers` shares its processor.
    pub(crate) fn are_short_for(&self, readers: usize) -> bool {
        (0..readers).any(|index| self.reader(index, readers).1)
    }

    /// Whether the writer and the first reader have different processors.
    pub(crate) fn are_two(&self) -> bool {
        self.writer != self.readers[0]
    }
}

/// Keeps this thread, and threads that it starts, on these processors, if there are any.
pub(crate) fn run_on(cpus: &[u32]) {
    if !cpus.is_empty() {
        // If the kernel refuses, the thread keeps its processors.
        let _ = nanotape_host::run_on(cpus);
    }
}

/// Offset between the clocks of two processors; None for the same one, or if it is unknown.
pub(crate) fn offset_between(clock: &Clock, cpus: &Cpus) -> Option<Offset> {
    // Runs on a thread of its own, which is limited to these two processors.
    let compare = || {
        nanotape_host::run_on(&[cpus.writer, cpus.readers[0]]).ok()?;
        cross_core::measure(clock, Effort::default()).into_iter().next()
    };
    std::thread::scope(|scope| {
        std::thread::Builder::new().spawn_scoped(scope, compare).ok()?.join().ok()?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_two_are_taken_and_the_others_left_for_more_readers() {
        let cpus = Cpus::choose_of(&[0, 1, 2, 3], &[0, 1, 2, 3], None).unwrap();
        assert_eq!(cpus, Cpus { writer: 2, readers: vec![3, 0, 1] });
        assert_eq!(
            [0, 1, 2].map(|index| cpus.reader(index, 3)),
            [(3, false), (0, false), (1, false)]
        );
        assert_eq!(
            [0, 1, 3].map(|index| cpus.reader(index, 4)),
            [(3, true), (0, false), (3, true)]
        );
        assert!(cpus.are_two() && !cpus.are_short_for(3) && cpus.are_short_for(4));
    }

    #[test]
    fn what_is_not_allowed_is_refused_and_one_is_shared() {
        let error = Cpus::choose_of(&[0], &[0, 1], Some((0, 7))).unwrap_err().to_string();
        assert_eq!(error, "processor 7 is not among those allowed (0, 1)");
        let isolated = Cpus::choose_of(&[0], &[0, 1, 2], Some((1, 2))).unwrap();
        assert_eq!(isolated, Cpus { writer: 1, readers: vec![2, 0] });
        let cpus = Cpus::choose_of(&[5], &[5, 6], None).unwrap();
        assert_eq!((cpus.reader(0, 1), cpus.are_two()), ((5, true), false));
    }
}
