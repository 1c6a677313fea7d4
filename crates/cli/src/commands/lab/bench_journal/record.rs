//! A row as an object of the list: docs/formats/lab-bench-journal.md.

use nanotape_bench::{
    Spread,
    journal::{Bound, Goal, Measured, Reading, Times, goals},
};
use nanotape_lab::environment;
use serde_json::{Value, json};

use super::{super::bench_ring::clock, Results};

impl Results {
    /// Everything that is known of one row.
    pub(super) fn record(&self, measured: &Measured) -> Value {
        let (settings, row) = (&self.settings, measured.row);
        let ratio = measured.ratio(&self.measured);
        let (written, read) = (measured.written_per_second(), measured.read_per_second());
        let noise = measured.noise();
        let folder = if row.is_on_disk() { &settings.disk } else { &settings.folder };
        let of_journal = |bytes: u64| row.is_of_journal().then_some(bytes);
        let goals: Vec<Value> = goals(measured, &self.measured).iter().map(goal).collect();
        json!({
            "name": row.name,
            "section": row.section.name(),
            "rounds": self.rounds,
            "amount": settings.amount(row),
            "rate_per_second": row.rate_per_second(),
            "message_bytes": row.message_bytes(),
            "folder": folder.to_string_lossy(),
            "segment_bytes": of_journal(settings.segment_bytes),
            "ahead_bytes": of_journal(settings.ahead_bytes),
            "large_pages": row.is_of_journal().then_some(settings.large_pages),
            "cpus": {
                "writer": settings.cpus.writer,
                "reader": row.is_read().then_some(settings.cpus.readers[0]),
            },
            "unit": if row.is_timed() { "ns" } else { "messages/s" },
            "by_round": measured.by_round(),
            "written_per_second": median(written),
            "written_per_second_low": written.map(|spread| spread.lowest),
            "written_per_second_high": written.map(|spread| spread.highest),
            "read_per_second": median(read),
            "read_per_second_low": read.map(|spread| spread.lowest),
            "read_per_second_high": read.map(|spread| spread.highest),
            "answer": answer(measured),
            "latency": latency(measured, |reading| reading.times.as_ref()),
            "calls": latency(measured, |reading| reading.calls.as_ref()),
            "rolls": latency(measured, |reading| reading.rolls.as_ref()),
            "ratio": ratio.map(|ratio| ratio.value),
            "ratio_to": ratio.map(|ratio| ratio.to),
            "ratio_to_half": ratio.map(|ratio| ratio.is_to_half),
            "goals": goals,
            "clock": clock(&self.circumstances, &self.offset, &settings.cpus),
            "environment": environment::to_json(&self.circumstances.environment, &noise),
            "noise": noise.sentences,
            "notes": self.notes,
        })
    }
}

fn median(spread: Option<Spread>) -> Option<f64> {
    spread.map(|spread| spread.median)
}

fn goal(goal: &Goal) -> Value {
    let bound = match goal.bound {
        Bound::AtLeast(_) => "at least",
        Bound::AtMost(_) => "at most",
    };
    json!({
        "of": goal.of.name(),
        "bound": bound,
        "wanted": goal.bound.number(),
        "value": goal.value,
        "met": goal.is_met(),
        "distance": goal.distance(),
    })
}

/// Of all rounds together: what became of the messages.
fn answer(measured: &Measured) -> Value {
    let readings = &measured.readings;
    let taken = || readings.iter().flat_map(|reading| &reading.taken);
    let is_read = measured.row.is_read();
    json!({
        "written": readings.iter().map(|reading| reading.written.messages).sum::<u64>(),
        "read": is_read.then(|| taken().map(|taken| taken.messages).sum::<u64>()),
    })
}

/// Null where there are no such times.
fn latency(measured: &Measured, which: impl Fn(&Reading) -> Option<&Times> + Copy) -> Value {
    let times: Vec<_> = measured.readings.iter().filter_map(which).collect();
    if times.is_empty() {
        return Value::Null;
    }
    let of = |time: fn(&Times) -> Option<u64>| median(measured.time_ns_of(which, time));
    json!({
        "count": times.iter().map(|times| times.count).sum::<u64>(),
        "p50_ns": of(|times| Some(times.p50_ns)),
        "p90_ns": of(|times| Some(times.p90_ns)),
        "p99_ns": of(|times| Some(times.p99_ns)),
        "p99.9_ns": of(|times| Some(times.p999_ns)),
        "p99.99_ns": of(|times| Some(times.p9999_ns)),
        "max_ns": times.iter().map(|times| times.max_ns).max(),
        "over_100us": times.iter().map(|times| times.over_100us).sum::<u64>(),
        "reversed": times.iter().map(|times| times.reversed).sum::<u64>(),
        "from_due_p50_ns": of(|times| times.due_p50_ns),
        "from_due_p99_ns": of(|times| times.due_p99_ns),
        "clock_ns": times.iter().map(|times| times.clock_ns).reduce(f64::max),
    })
}
