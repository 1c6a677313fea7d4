//! How faithful the sending was to its schedule.

use nanotape_trace::Histogram;

/// A packet that leaves later than this is counted.
const LATE_NS: u64 = 1_000_000;

/// How late packets left, and how far the schedule drifted.
#[derive(Clone, Debug)]
pub struct Faithfulness {
    late_ns: Histogram,
    late_packets: u64,
    first_late_ns: Option<u64>,
    last_late_ns: u64,
}

impl Default for Faithfulness {
    fn default() -> Self {
        Self { late_ns: Histogram::fine(), late_packets: 0, first_late_ns: None, last_late_ns: 0 }
    }
}

impl Faithfulness {
    /// Records how late a packet left.
    pub fn record(&mut self, late_ns: u64) {
        self.late_ns.record(late_ns);
        self.late_packets += u64::from(late_ns > LATE_NS);
        self.first_late_ns.get_or_insert(late_ns);
        self.last_late_ns = late_ns;
    }

    /// Packets that had a due time.
    pub fn packets(&self) -> u64 {
        self.late_ns.count()
    }

    /// Packets that left more than a millisecond late.
    pub fn late_packets(&self) -> u64 {
        self.late_packets
    }

    /// How late packets left, in nanoseconds, at a quantile; `None` without packets.
    pub fn late_ns(&self, quantile: f64) -> Option<u64> {
        self.late_ns.quantile(quantile)
    }

    /// How late the latest packet left.
    pub fn late_ns_max(&self) -> Option<u64> {
        self.late_ns.max()
    }

    /// How much longer the sending took than the schedule, from the first packet to the last.
    /// Negative if the first one was later than the last one.
    pub fn drift_ns(&self) -> Option<i64> {
        let first = self.first_late_ns?;
        Some(self.last_late_ns.cast_signed().saturating_sub(first.cast_signed()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_and_drift_are_those_of_the_packets() {
        let mut faithfulness = Faithfulness::default();
        assert_eq!((faithfulness.drift_ns(), faithfulness.late_ns(0.5)), (None, None));
        for late_ns in [500, 100, 100, 9_000, 200] {
            faithfulness.record(late_ns);
        }
        assert_eq!((faithfulness.packets(), faithfulness.late_packets()), (5, 0));
        assert_eq!(
            (faithfulness.late_ns(0.5), faithfulness.late_ns_max()),
            (Some(200), Some(9_000))
        );
        assert_eq!(faithfulness.drift_ns(), Some(-300));
        faithfulness.record(1_000_000);
        faithfulness.record(1_000_001);
        assert_eq!(faithfulness.late_packets(), 1);
    }
}
