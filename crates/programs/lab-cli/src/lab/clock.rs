//! `nanotape lab clock`: the properties of the clock.

use core::fmt::Write as _;
use std::time::Duration;

use clap::Args;
use nanotape_clock::{
    Clock, Drift,
    cross_core::{self, Effort, Offset},
};
use serde_json::{Value, json};

use nanotape_console::{
    records::{Columns, RecordArguments},
    status::{BadData, Status},
    values::seconds_in,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape lab clock                 source, rate, cost of a stamp, offsets between processors
  nanotape lab clock --seconds 60    and its drift over a minute
  nanotape lab clock --format json

Exit status: 0 success; 1 the clock drifts by more than the uncertainty of its rate, or no
constant offset relates two processors: then stamps of different times, or of different
processors, cannot be compared.")]
pub(super) struct ClockCommand {
    /// Measure the drift for SECONDS
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0, value_parser = seconds)]
    seconds: f64,

    #[command(flatten)]
    output: RecordArguments,
}

fn seconds(text: &str) -> Result<f64, String> {
    seconds_in(0.01..=86_400.0)(text)
}

const COLUMNS: Columns = &[
    ("source", "/source"),
    ("ticks_per_second", "/ticks_per_second"),
    ("rate_uncertainty_ppb", "/rate_uncertainty_ppb"),
    ("stamp_ns", "/end_ns"),
    ("empty_ns", "/empty_ns"),
    ("resolution_ns", "/resolution_ns"),
    ("drift_ns", "/drift_ns"),
    ("drift_bound_ns", "/drift_bound_ns"),
    ("drift_elapsed_ns", "/drift_elapsed_ns"),
];

pub(super) fn run(command: &ClockCommand) -> anyhow::Result<Status> {
    let mut output = command.output.records(COLUMNS)?;
    let clock = Clock::calibrate();
    let offsets = cross_core::measure(&clock, Effort::default());
    std::thread::sleep(Duration::from_secs_f64(command.seconds));
    let drift = clock.drift();

    let mut text = format!("{}\ndrift          {drift}\n", clock.report());
    for offset in &offsets {
        let _ = writeln!(text, "offset         {offset}");
    }
    output.result(&text, record(&clock, &drift, &offsets))?;
    output.finish()?;

    if let Some(apart) =
        offsets.iter().find(|offset| offset.ending == cross_core::Ending::Inconsistent)
    {
        return Err(BadData(format!("stamps of two processors cannot be compared: {apart}")).into());
    }
    if !drift.is_explained() {
        return Err(BadData(format!("the clock does not keep its rate: {drift}")).into());
    }
    Ok(Status::Good)
}

fn record(clock: &Clock, drift: &Drift, offsets: &[Offset]) -> Value {
    let report = clock.report();
    // The offset is infinite if no round measured it; JSON has no infinity.
    let known = |nanos: f64| nanos.is_finite().then_some(nanos);
    let offset = |offset: &Offset| {
        json!({
            "cpu": offset.cpu,
            "reference_cpu": offset.reference_cpu,
            "offset_ns": known(offset.offset_nanos),
            "bound_ns": known(offset.bound_nanos),
            "round_trip_ns": known(offset.round_trip_nanos),
            "rounds": offset.rounds,
            "ending": offset.ending.to_string(),
        })
    };
    json!({
        "source": report.source.to_string(),
        "because": report.why.to_string(),
        "kernel_source": report.kernel_source,
        "ticks_per_second": report.rate.ticks_per_second,
        "rate_uncertainty_ppb": report.rate.uncertainty_ppb,
        "start_ns": report.costs.start_nanos,
        "end_ns": report.costs.end_nanos,
        "unfenced_ns": report.costs.unfenced_nanos,
        "empty_ns": report.costs.empty_nanos,
        "resolution_ns": report.resolution_nanos,
        "utc_anchor": report.anchor_utc.to_string(),
        "utc_bound_ns": report.anchor_bound_nanos,
        "drift_elapsed_ns": drift.elapsed_nanos,
        "drift_ns": drift.counter_ahead_nanos,
        "drift_bound_ns": drift.bound_nanos,
        "utc_moved_ns": drift.realtime_moved_nanos,
        "utc_moved_bound_ns": drift.realtime_bound_nanos,
        "offsets": offsets.iter().map(offset).collect::<Vec<_>>(),
    })
}
