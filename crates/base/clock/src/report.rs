//! A full description of a clock, for a page or a record that holds measurements.

use core::fmt;

use crate::{Costs, Rate, Reason, Source, UtcNanos};

/// The clock's source and reason, rate, costs, and the age of its UTC.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    /// The source.
    pub source: Source,
    /// The reason for it.
    pub why: Reason,
    /// The clock source of the kernel, against which the rate was measured; `None` if unknown.
    pub kernel_source: Option<String>,
    /// The rate of the source.
    pub rate: Rate,
    /// Costs of stamps.
    pub costs: Costs,
    /// The smallest step between consecutive stamps.
    pub resolution_nanos: f64,
    /// When UTC was last taken from the kernel.
    pub anchor_utc: UtcNanos,
    /// Maximum error of that UTC against the kernel's.
    pub anchor_bound_nanos: u64,
    /// How long ago that was.
    pub anchor_age_nanos: u64,
}

/// A few lines, each a name and a value.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kernel = self.kernel_source.as_deref().unwrap_or("unknown");
        let age = self.anchor_age_nanos as f64 / 1e9;
        writeln!(f, "source         {}", self.source)?;
        writeln!(f, "because        {}", self.why)?;
        writeln!(f, "kernel's own   {kernel}")?;
        writeln!(f, "rate           {}", self.rate)?;
        writeln!(f, "cost           {}", self.costs)?;
        writeln!(f, "smallest step  {:.1} ns", self.resolution_nanos)?;
        write!(
            f,
            "UTC            taken at {}, within {} ns, {age:.3} s ago",
            self.anchor_utc, self.anchor_bound_nanos
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Clock;

    #[test]
    fn a_report_says_each_fact_on_a_line() {
        let report = Report {
            source: Source::Monotonic,
            why: Reason::NotInvariant,
            kernel_source: Some("hpet".to_owned()),
            rate: Rate { ticks_per_second: 1e9, uncertainty_ppb: 0.0, interval_nanos: 0 },
            costs: Costs {
                start_nanos: 25.0,
                end_nanos: 25.0,
                unfenced_nanos: 25.0,
                empty_nanos: 26.25,
            },
            resolution_nanos: 21.0,
            anchor_utc: UtcNanos::new(1_234_567_890_000_000_001),
            anchor_bound_nanos: 30,
            anchor_age_nanos: 1_500_000_000,
        };
        let expected = "\
source         operating system's monotonic clock
because        the processor's counter is not invariant
kernel's own   hpet
rate           1000.000000 MHz by definition
cost           start 25.0 ns, end 25.0 ns, unfenced 25.0 ns, an empty timed part reads 26.2 ns
smallest step  21.0 ns
UTC            taken at 2009-02-13T23:31:30.000000001Z, within 30 ns, 1.500 s ago";
        assert_eq!(report.to_string(), expected);
        let silent = Report { kernel_source: None, ..report };
        assert!(silent.to_string().contains("kernel's own   unknown\n"));
    }

    #[test]
    fn a_report_is_of_its_clock() {
        let clock = Clock::calibrate();
        let report = clock.report();
        assert_eq!(report.source, clock.source());
        assert_eq!(report.why, clock.why());
        assert_eq!(report.rate, clock.rate());
        assert_eq!(report.costs.end_nanos, clock.cost_nanos());
        assert!(clock.report().anchor_age_nanos >= report.anchor_age_nanos);
    }
}
