//! The result of a run over a day: the end, the damage and the unreliable books.

use std::fmt;

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
#[must_use = "a run of a damaged source is no error: the report has the damage"]
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

/// `the file is whole`, or what is wrong with it:
/// `2 damaged parts, the first: offset 251702: ...; cut off: ...`.
impl fmt::Display for DayReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_good() {
            return f.write_str("the file is whole");
        }
        let mut separator = "";
        if let Some(first) = self.damage.first().first() {
            let total = self.damage.total();
            let parts = if total == 1 { "part" } else { "parts" };
            write!(f, "{total} damaged {parts}, the first: {first}")?;
            separator = "; ";
        }
        if let Some(fault) = &self.summary.fault {
            return write!(f, "{separator}{fault}");
        }
        match self.summary.end {
            DayEnd::Cut { .. } => write!(f, "{separator}{}", self.summary.end),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use nanotape_book::DefaultBooks;
    use nanotape_feed::DaySource;

    use crate::BookEngine;

    fn report(bytes: Vec<u8>) -> String {
        let mut day = DaySource::memory("day", Arc::new(bytes));
        let mut engine = BookEngine::new(DefaultBooks::with_capacity(64));
        engine.run(&mut day, &mut (), |_| ()).unwrap().to_string()
    }

    #[test]
    fn a_report_shows_what_is_wrong_with_a_day() {
        let record = [&[0, 12, b'S'][..], &[0; 10], b"O"].concat();
        let whole = record.repeat(20);
        assert_eq!(report(whole.clone()), "the file is whole");
        let cut = report(whole[..whole.len() - 3].to_vec());
        assert!(cut.contains("266") && !cut.contains("damaged"), "{cut}");
        let mut damaged = whole;
        damaged[28..60].fill(0xFF);
        let damaged = report(damaged);
        assert!(damaged.starts_with("1 damaged part, the first: offset 28: "), "{damaged}");
    }
}
