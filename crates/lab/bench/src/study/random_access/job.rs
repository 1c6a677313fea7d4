//! The work of one reading process.

use std::{io, time::Duration};

use nanotape_clock::Clock;
use nanotape_lab::{Pin, Placement};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Reads,
    walk::{CELL_BYTES, Walk},
};
use crate::{
    engine::{end_with_parent, report_ready},
    error::Error,
};

/// Slices of a turn.
const SLICES: u64 = 64;

/// The share of a turn before the first slice: it fills caches, and gives the number of reads of a
/// slice.
const WARM_UP: f64 = 0.2;

/// Reads between two checks of the clock before that number is known.
const CHUNK: u64 = 256;

/// The job of a process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ReadJob {
    pub(super) cpu: u32,
    pub(super) real_time_priority: Option<u8>,
    pub(super) bytes: u64,
    pub(super) reads: Reads,
    pub(super) turn_ns: u64,
}

/// The answer of a process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ReadAnswer {
    /// The time of a read in each slice, in ns.
    pub(super) slices_ns: Vec<f64>,
    /// Reads in all slices.
    pub(super) reads: u64,
    /// The time of all slices.
    pub(super) nanos: u64,
    /// The pages of the table.
    pub(super) pages: String,
}

impl ReadJob {
    /// The name of the work.
    pub(crate) const WORK: &'static str = "study/random-access";

    /// Makes the table, waits for a line on standard input, and reads.
    pub(crate) fn run(self) -> anyhow::Result<Value> {
        end_with_parent()?;
        let _placement = Placement::on(Pin::To(self.cpu), self.real_time_priority);
        // No calibration, which takes longer than a turn; a slice is long for this clock.
        let clock = Clock::monotonic();
        let mut walk = Walk::new(self.bytes);
        report_ready()?;
        let mut line = String::new();
        io::stdin().read_line(&mut line).map_err(Error::system("wait for the others"))?;
        Ok(serde_json::to_value(self.measure(&clock, &mut walk))?)
    }

    fn measure(&self, clock: &Clock, walk: &mut Walk) -> ReadAnswer {
        let turn = Duration::from_nanos(self.turn_ns);
        let per_slice = self.warm_up(clock, walk, turn.mul_f64(WARM_UP));
        let mut slices_ns = Vec::new();
        let begin = clock.stamp_start();
        let mut from = begin;
        loop {
            walk.read(self.reads, per_slice);
            let to = clock.stamp();
            slices_ns.push(clock.nanos_between(from, to) as f64 / per_slice as f64);
            from = to;
            let nanos = clock.nanos_between(begin, to);
            if nanos >= self.turn_ns {
                let reads = per_slice * slices_ns.len() as u64;
                return ReadAnswer { slices_ns, reads, nanos, pages: walk.pages().to_string() };
            }
        }
    }

    /// Reads at least the whole of a small table; returns the number of reads of a slice.
    fn warm_up(&self, clock: &Clock, walk: &mut Walk, time: Duration) -> u64 {
        let whole = (self.bytes / CELL_BYTES).min(1 << 14);
        let begin = clock.stamp_start();
        let mut reads = 0;
        let mut nanos = 0;
        while u128::from(nanos) < time.as_nanos() || reads < whole {
            walk.read(self.reads, CHUNK);
            reads += CHUNK;
            nanos = clock.nanos_between(begin, clock.stamp());
        }
        (u128::from(reads) * u128::from(self.turn_ns) / u128::from(nanos.max(1) * SLICES))
            .try_into()
            .unwrap_or(CHUNK)
            .max(CHUNK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_reads_for_its_turn_and_accounts_for_every_slice() {
        for reads in [Reads::Dependent, Reads::Independent] {
            let job = ReadJob {
                cpu: 0,
                real_time_priority: None,
                bytes: 4096,
                reads,
                turn_ns: 2_000_000,
            };
            let answer = job.measure(&Clock::monotonic(), &mut Walk::new(job.bytes));
            assert!(answer.nanos >= job.turn_ns);
            assert!(answer.slices_ns.iter().all(|nanos| nanos.is_finite() && *nanos > 0.0));
            assert_eq!(answer.reads % answer.slices_ns.len() as u64, 0);
            assert!(answer.pages.starts_with("small pages"), "{}", answer.pages);
        }
    }
}
