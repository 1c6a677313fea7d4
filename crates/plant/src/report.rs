//! How a run over a day went: the end, the damage and the unreliable books.

use nanotape_feed::{Damage, DayEnd, DaySummary};

/// Damage met on the way: how much, and the first of it.
#[derive(Clone, Debug, Default)]
pub struct DamageLog {
    first: Vec<Damage>,
    total: u64,
}

impl DamageLog {
    /// How many are kept; the rest is counted.
    pub const KEPT: usize = 64;

    /// Counts one more.
    pub fn record(&mut self, damage: Damage) {
        self.total += 1;
        if self.first.len() < Self::KEPT {
            self.first.push(damage);
        }
    }

    /// The first [`DamageLog::KEPT`].
    pub fn first(&self) -> &[Damage] {
        &self.first
    }

    /// How many there were.
    pub fn total(&self) -> u64 {
        self.total
    }
}

/// How a run went.
#[derive(Debug)]
pub struct RunReport<S> {
    /// How the source ended.
    pub summary: S,
    /// The parts of the source that could not be read.
    pub damage: DamageLog,
}

/// How a run over a day file went.
pub type DayReport = RunReport<DaySummary>;

impl DayReport {
    /// Whether every byte up to the end read as the format says.
    pub fn is_good(&self) -> bool {
        let cut = matches!(self.summary.end, DayEnd::Cut { .. });
        !cut && self.summary.fault.is_none() && self.damage.total() == 0
    }
}
