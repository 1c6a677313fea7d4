//! Random reads of memory by several processes at the same time.
//!
//! Each process has a table of its own, pinned to a processor. In a dependent walk each cell holds
//! the index of the next one, so that a read begins when the one before has ended. Independent
//! reads have computed indices, so that the processor can have several in progress.

mod answers;
mod crew;
mod job;
mod walk;

use std::fs;

use nanotape_console::values::{bytes, bytes_text, counted};
use nanotape_host::available_memory_bytes;

use self::crew::Crew;
pub(crate) use self::job::ReadJob;
use super::{
    Setup, StudyError,
    findings::{Axis, Cell, Findings, Plot, Point, Scale, Series, Unit, cells},
    numbers::Quartiles,
    rounds::Rounds,
};

/// The smallest table: in the first-level cache of every processor.
const SMALLEST: u64 = 16 << 10;

/// The largest one, unless the last cache needs a larger one.
const USUAL_LARGEST: u64 = 256 << 20;

/// The share of the requested time that is spent reading; the rest goes into making tables.
const READING_SHARE: f64 = 0.4;

const CELLS: &[Cell<(Case, Measured)>] = cells! {
    "table" Words = |(case, _)| bytes_text(case.bytes);
    "reads" Words = |(case, _)| case.reads.name();
    "processes" Count = |(case, _)| case.processes;
    "p25" Nanos = |(_, measured)| measured.quartiles().map(|read| read.low);
    "p50" Nanos = |(_, measured)| measured.quartiles().map(|read| read.median);
    "p75" Nanos = |(_, measured)| measured.quartiles().map(|read| read.high);
    "all together" Count = |(_, measured)| measured.together();
};

/// Whether the next index depends on the last read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reads {
    Dependent,
    Independent,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Case {
    bytes: u64,
    reads: Reads,
    processes: usize,
}

/// The measurements of a case.
#[derive(Clone, Debug, Default)]
struct Measured {
    /// The time of a read in each slice of each process, in ns.
    slices: Vec<f64>,
    /// The median of each round.
    by_round: Vec<f64>,
    /// Reads a second of all processes, in each round.
    together: Vec<f64>,
}

/// Everything that the answers are computed from.
#[derive(Debug)]
struct Study {
    /// Processors of the processes.
    processors: usize,
    cases: Vec<(Case, Measured)>,
}

impl Reads {
    fn name(self) -> &'static str {
        match self {
            Self::Dependent => "dependent",
            Self::Independent => "independent",
        }
    }
}

impl Case {
    fn name(&self) -> String {
        let Self { bytes, reads, processes } = self;
        format!("{processes} x {}, {}", bytes_text(*bytes), reads.name())
    }

    fn in_all(&self) -> u64 {
        self.bytes.saturating_mul(self.processes as u64)
    }
}

pub(super) fn study(setup: &Setup<'_>) -> Result<Findings, StudyError> {
    let largest = setup.options.most_bytes.unwrap_or_else(|| largest_for(last_cache()));
    let mut cases = cases(largest, setup.cpus.len());
    let mut not_measured = Vec::new();
    let budget = available_memory_bytes().unwrap_or(u64::MAX) / 2;
    cases.retain(|case| {
        let fits = case.in_all() <= budget;
        if !fits {
            let needs = format!("{}: half of the available memory is less", case.name());
            not_measured.push(needs);
        }
        fits
    });
    let names: Vec<String> = cases.iter().map(Case::name).collect();
    let rounds = Rounds::plan(setup.options.time.mul_f64(READING_SHARE), cases.len());
    let crew = Crew::new(setup)?;
    let mut measured = vec![Measured::default(); cases.len()];
    let mut pages = "unknown".to_owned();
    rounds.run(setup.progress, &names, |index| {
        let case = cases[index];
        let answers = crew.read(case, rounds.turn)?;
        // Small tables need no huge pages, so the largest one decides.
        if let Some(answer) = answers.first().filter(|_| case.bytes == largest) {
            pages.clone_from(&answer.pages);
        }
        measured[index].add(&answers);
        Ok(())
    })?;
    let cases = cases.into_iter().zip(measured).collect();
    let study = Study { processors: setup.cpus.len(), cases };
    Ok(study.findings(&pages, not_measured))
}

/// Every size with every number of processes, and independent reads of the largest size.
fn cases(largest: u64, processors: usize) -> Vec<Case> {
    let sizes = std::iter::successors(Some(SMALLEST.min(largest)), |bytes| Some(bytes * 4));
    let mut sizes: Vec<u64> = sizes.take_while(|bytes| *bytes <= largest).collect();
    if sizes.last() != Some(&largest) {
        sizes.push(largest);
    }
    let dependent = sizes.iter().map(|&bytes| (bytes, Reads::Dependent));
    let kinds = dependent.chain([(largest, Reads::Independent)]);
    let crews = crews(processors);
    let of = |(bytes, reads)| crews.iter().map(move |&processes| Case { bytes, reads, processes });
    kinds.flat_map(of).collect()
}

/// Numbers of processes: one, some, one for each processor, and twice as many.
fn crews(processors: usize) -> Vec<usize> {
    let mut crews: Vec<usize> =
        [1, processors / 4, processors / 2, processors, 2 * processors].into();
    crews.retain(|&processes| processes > 0);
    crews.sort_unstable();
    crews.dedup();
    crews
}

/// A table that the last cache cannot hold.
fn largest_for(last_cache: u64) -> u64 {
    USUAL_LARGEST.max((last_cache * 4).next_power_of_two())
}

/// The size of the largest cache of the first processor; 0 if it is unknown.
fn last_cache() -> u64 {
    let size = |index: u32| {
        let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/size");
        bytes(fs::read_to_string(path).ok()?.trim()).ok()
    };
    (0..8).filter_map(size).max().map_or(0, |bytes| bytes as u64)
}

impl Measured {
    fn add(&mut self, answers: &[job::ReadAnswer]) {
        let slices: Vec<f64> =
            answers.iter().flat_map(|answer| answer.slices_ns.iter().copied()).collect();
        self.by_round.extend(Quartiles::of(&slices).map(|quartiles| quartiles.median));
        self.slices.extend(slices);
        let rate =
            |answer: &job::ReadAnswer| answer.reads as f64 * 1e9 / answer.nanos.max(1) as f64;
        self.together.push(answers.iter().map(rate).sum());
    }

    fn quartiles(&self) -> Option<Quartiles> {
        Quartiles::of(&self.slices)
    }

    /// Reads a second of all processes: the median over rounds.
    fn together(&self) -> Option<f64> {
        Quartiles::of(&self.together).map(|quartiles| quartiles.median)
    }
}

impl Study {
    fn findings(&self, pages: &str, not_measured: Vec<String>) -> Findings {
        Findings {
            method: format!(
                "Processes that are pinned to {} read tables of their own at the same time. A cell \
                 of a table is a cache line. A dependent read gets its index from the read before, \
                 on one random cycle through the whole table; an independent one computes it. \
                 Quartiles are over slices of a turn; \"all together\" is the number of reads in a \
                 second of all processes, also while one waits for its processor. The largest \
                 tables are in {pages}. The processes make the load that the noise below reports.",
                counted(self.processors as u64, "processor")
            ),
            answers: self.answers(),
            plots: vec![self.size_plot(), self.rate_plot()],
            not_measured,
            ..Findings::of(CELLS, &self.cases)
        }
    }

    /// The time of a dependent read by size, a series for each number of processes.
    fn size_plot(&self) -> Plot {
        let mut crews: Vec<usize> = self.cases.iter().map(|(case, _)| case.processes).collect();
        crews.sort_unstable();
        crews.dedup();
        let series = |processes: usize| {
            let is_of = |case: &Case| case.processes == processes && case.reads == Reads::Dependent;
            let noun = if processes == 1 { "process" } else { "processes" };
            self.series(format!("{processes} {noun}"), is_of, |case, measured| {
                Some(Point::of(case.bytes, measured.quartiles()?))
            })
        };
        Plot {
            title: "Time of a dependent read",
            x: Axis::new("bytes of the table", Unit::Plain, Scale::Log),
            y: Axis::TIME,
            series: crews.into_iter().map(series).collect(),
        }
    }

    /// Reads a second of all processes from the largest table.
    fn rate_plot(&self) -> Plot {
        let largest = self.cases.iter().map(|(case, _)| case.bytes).max();
        let series = |reads: Reads| {
            let is_of = |case: &Case| Some(case.bytes) == largest && case.reads == reads;
            self.series(reads.name(), is_of, |case, measured| {
                Some(Point::of(case.processes.to_string(), Quartiles::of(&measured.together)?))
            })
        };
        Plot {
            title: "Reads a second from the largest table, all processes together",
            x: Axis::words("processes"),
            y: Axis::new("reads a second", Unit::Plain, Scale::Log),
            series: [Reads::Dependent, Reads::Independent].map(series).into(),
        }
    }

    /// The points of some cases.
    fn series(
        &self,
        name: impl Into<String>,
        is_of: impl Fn(&Case) -> bool,
        point: impl Fn(&Case, &Measured) -> Option<Point>,
    ) -> Series {
        let cases = self.cases.iter().filter(|(case, _)| is_of(case));
        Series::new(name, cases.filter_map(|(case, measured)| point(case, measured)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_process_one_for_each_processor_and_twice_as_many() {
        assert_eq!(crews(1), [1, 2]);
        assert_eq!(crews(2), [1, 2, 4]);
        assert_eq!(crews(16), [1, 4, 8, 16, 32]);
    }

    #[test]
    fn sizes_reach_from_the_smallest_to_the_largest() {
        let cases = cases(100 << 10, 1);
        let sizes: Vec<(u64, Reads)> = cases
            .iter()
            .filter(|case| case.processes == 2)
            .map(|case| (case.bytes, case.reads))
            .collect();
        assert_eq!(
            sizes,
            [
                (16 << 10, Reads::Dependent),
                (64 << 10, Reads::Dependent),
                (100 << 10, Reads::Dependent),
                (100 << 10, Reads::Independent),
            ]
        );
        assert_eq!(super::cases(4 << 10, 1).len(), 4);
        assert_eq!(largest_for(32 << 20), 256 << 20);
        assert_eq!(largest_for(100 << 20), 512 << 20);
    }
}
