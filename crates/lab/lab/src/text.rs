//! Results as human-readable lines of text.

use core::fmt::{self, Write as _};

use crate::{
    compare::{
        judge::{self, Contrast},
        session::Compared,
    },
    counters::Counters,
    latency::QUANTILES,
    measure::Measured,
    record::RunContext,
};

/// The lines before the results: the machine, the clock, and their problems.
pub fn context(context: &RunContext) -> String {
    let mut text = String::new();
    let environment = &context.environment;
    let unknown = "unknown processor";
    let cpu = environment.cpu.as_deref().unwrap_or(unknown);
    let hypervisor = match &environment.hypervisor {
        Some(name) => format!(", virtual ({name})"),
        None => String::new(),
    };
    let clock = &context.clock;
    let _ = writeln!(text, "{cpu}{hypervisor}");
    let _ = writeln!(
        text,
        "clock: {}, {:.1} ns a stamp, an empty timed part reads {:.1} ns, steps of {:.1} ns",
        clock.source(),
        clock.cost_nanos(),
        clock.costs().empty_nanos,
        clock.resolution_nanos()
    );
    let _ = writeln!(
        text,
        "scheduling: {}\nmemory locked: {}",
        environment.scheduling, environment.memory_locked
    );
    if let Err(reason) = hardware_counters() {
        let _ = writeln!(text, "hardware counters: not available, {reason}");
    }
    if cfg!(debug_assertions) {
        text.push_str("NOT A RELEASE BUILD: these numbers are of unoptimised or checked code\n");
    }
    text
}

/// Whether this machine has hardware counters; the error is the reason.
fn hardware_counters() -> Result<(), String> {
    let counters = Counters::open().map_err(|reason| in_full(&reason))?;
    counters.hardware().map_err(|reason| in_full(reason))
}

/// The lines of one benchmark.
pub fn measured(measured: &Measured) -> String {
    let mut text = String::new();
    let name = &measured.name;
    match measured.cost_ns {
        Some(cost) => {
            let _ = writeln!(
                text,
                "{name:<24} {} an operation   [{}, {}] at {:.0}%, within this process",
                nanos(cost.value),
                nanos(cost.interval.low),
                nanos(cost.interval.high),
                cost.interval.confidence * 100.0
            );
        }
        None => {
            let _ = writeln!(text, "{name:<24} no complete epoch");
        }
    }
    let _ = writeln!(
        text,
        "  median of {} epochs of {} samples of {} {} of {} {}",
        measured.epoch_ns.len(),
        measured.cut.samples_per_epoch,
        measured.cut.runs_per_sample,
        plural(measured.cut.runs_per_sample.into(), "run"),
        measured.operations_per_run,
        plural(measured.operations_per_run, "operation"),
    );
    if let Some(latency) = &measured.latency {
        let how = match latency.arrivals_per_second {
            None => "single runs, one after the other".to_owned(),
            Some(rate) => format!("runs due {rate} times a second, lateness included"),
        };
        let _ = writeln!(
            text,
            "  {} {how}, the clock's own reading in each:",
            latency.histogram.count()
        );
        let _ = write!(text, "   ");
        for (name, _) in QUANTILES {
            let label = match name {
                "p0" => "min",
                "p100" => "max",
                name => name,
            };
            let value = latency.quantile_ns(name).unwrap_or(f64::NAN);
            let _ = write!(text, " {label} {}", nanos(value));
        }
        text.push('\n');
    }
    if let Some(instructions) = measured.instructions {
        let _ = writeln!(text, "  {instructions:.1} instructions an operation, by valgrind");
    }
    if let Some(counters) = measured.counters.as_ref().and_then(|counters| counters.as_object()) {
        let counted = counters.iter().filter_map(|(name, value)| {
            let value = value.as_f64().filter(|&value| value >= 0.0005)?;
            // The counted share is only printed if it is not the whole time.
            let whole = name == "counted_share" && value > 0.999;
            (!whole).then(|| format!("{} {value:.3}", name.replace('_', " ")))
        });
        let counted: Vec<String> = counted.collect();
        if !counted.is_empty() {
            let _ = writeln!(text, "  counters, for one operation: {}", counted.join(", "));
        }
    }
    let unknown = &measured.context.noise.unknown;
    if !unknown.is_empty() {
        // The reasons are long, and the same for every short run.
        let what: Vec<&str> =
            unknown.iter().filter_map(|sentence| sentence.split(':').next()).collect();
        let _ = writeln!(text, "  noise: {}, the run is too short to measure it", what.join("; "));
    }
    for note in measured.notes.iter().chain(&measured.context.noise.sentences) {
        let _ = writeln!(text, "  note: {note}");
    }
    if let Some(perf) = &measured.perf {
        let _ = writeln!(text, "{perf}");
    }
    text
}

/// The lines of one comparison.
pub fn compared(compared: &Compared) -> String {
    let mut text = String::new();
    let rules = &compared.rules;
    let _ = writeln!(text, "{:<24} {}", compared.pair.name, compared.verdict);
    for (subject, values) in [
        (&compared.pair.base, &compared.base_ns),
        (&compared.pair.candidate, &compared.candidate_ns),
    ] {
        let median = crate::statistics::order::median(values).unwrap_or(f64::NAN);
        let _ = writeln!(text, "  {:<40} {} an operation", subject.label, nanos(median));
    }
    if let Some(contrast) = &compared.contrast {
        let _ = writeln!(
            text,
            "  change  {}   p {} (Wilcoxon), {} (sign test)",
            interval(contrast),
            probability(contrast.p_wilcoxon),
            probability(contrast.p_sign),
        );
    }
    if let Some(control) = &compared.control {
        let outcome = if judge::rejects(control, rules) { "FAILED" } else { "passed" };
        let _ =
            writeln!(text, "  control {}   the base against itself: {outcome}", interval(control));
    }
    for ratio in &compared.quantiles {
        let _ = writeln!(
            text,
            "  {:<7} {} to {}: {} [{}, {}] at 95%, not judged",
            ratio.name,
            nanos(ratio.base_ns),
            nanos(ratio.candidate_ns),
            judge::percent(ratio.ratio.value),
            judge::percent(ratio.ratio.interval.low),
            judge::percent(ratio.ratio.interval.high),
        );
    }
    if let Some(reason) = &compared.reason {
        let _ = writeln!(text, "  {reason}");
    }
    let _ = writeln!(
        text,
        "  {} replicates, {} {}; smallest effect of interest {:.1}%, alpha {} over {} looks",
        compared.base_ns.len(),
        compared.looks,
        plural(compared.looks.into(), "look"),
        rules.smallest_effect * 100.0,
        rules.alpha,
        rules.looks,
    );
    if let Some(contrast) = &compared.contrast {
        let _ = writeln!(
            text,
            "  this run could have detected a change of {:.1}% with {:.0}% power",
            contrast.detectable * 100.0,
            rules.power * 100.0
        );
    }
    text
}

fn interval(contrast: &Contrast) -> String {
    let estimate = contrast.ln_ratio;
    format!(
        "{} [{}, {}] at {:.2}%",
        judge::percent(estimate.value.exp()),
        judge::percent(estimate.interval.low.exp()),
        judge::percent(estimate.interval.high.exp()),
        estimate.interval.confidence * 100.0
    )
}

fn probability(p: f64) -> String {
    if p < 1e-4 { format!("{p:.0e}") } else { format!("{p:.4}") }
}

fn plural(count: u64, noun: &str) -> String {
    if count == 1 { noun.to_owned() } else { format!("{noun}s") }
}

/// An error with all its sources, in one line.
pub fn in_full(error: &dyn core::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let _ = write!(text, ": {error}");
        source = error.source();
    }
    text
}

/// A time with a suitable unit and three significant digits.
pub fn nanos(nanos: f64) -> Nanos {
    Nanos(nanos)
}

/// See [`nanos`].
#[derive(Clone, Copy, Debug)]
pub struct Nanos(f64);

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match (self.0, self.0.abs()) {
            (nanos, size) if size < 1e3 || nanos.is_nan() => (nanos, "ns"),
            (nanos, size) if size < 1e6 => (nanos / 1e3, "us"),
            (nanos, size) if size < 1e9 => (nanos / 1e6, "ms"),
            (nanos, _) => (nanos / 1e9, "s"),
        };
        let size = value.abs();
        let decimals = if size < 10.0 { 2 } else { usize::from(size < 100.0) };
        write!(f, "{value:.decimals$} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit_that_fits() {
        let cases = [
            (0.314, "0.31 ns"),
            (12.34, "12.3 ns"),
            (999.4, "999 ns"),
            (1_500.0, "1.50 us"),
            (2.5e7, "25.0 ms"),
            (3e9, "3.00 s"),
            (-0.314, "-0.31 ns"),
            (-1_500.0, "-1.50 us"),
        ];
        for (value, text) in cases {
            assert_eq!(nanos(value).to_string(), text);
        }
    }
}
