//! The result of a run over a day: the end, the damage and the unreliable books.

use nanotape_feed::{Damage, DayEnd, DaySummary};

/// Damage of a source: the total number, and the first ones.
#[derive(Clone, Debug, Default)]
pub struct DamageLog {
    first: Vec<Damage>,
    total: u64,
}

impl DamageLog {
    /// Number of kept entries; later ones are only counted.
    pub const KEPT: usize = 64;

    /// Adds one.
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

    /// The total number.
    pub fn total(&self) -> u64 {
        self.total
    }
}

/// The result of a run.
#[derive(Debug)]
pub struct RunReport<S> {
    /// The end of the source.
    pub summary: S,
    /// The parts of the source that are unreadable.
    pub damage: DamageLog,
}

/// The result of a run over a day file.
pub type DayReport = RunReport<DaySummary>;

impl DayReport {
    /// Whether every byte up to the end matched the format.
    pub fn is_good(&self) -> bool {
        let cut = matches!(self.summary.end, DayEnd::Cut { .. });
        !cut && self.summary.fault.is_none() && self.damage.total() == 0
    }
}
