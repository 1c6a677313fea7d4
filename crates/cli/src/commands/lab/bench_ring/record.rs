//! A row as an object of the list: docs/formats/lab-bench-ring.md.

use nanotape_bench::{
    Spread,
    ring::{Amount, Cpus, Measured},
};
use nanotape_clock::cross_core::Offset;
use nanotape_lab::{environment, record::Circumstances};
use serde_json::{Value, json};

use super::Results;

impl Results {
    /// Everything that is known of one row.
    pub(super) fn record(&self, measured: &Measured) -> Value {
        let (settings, row) = (&self.settings, measured.row);
        let (seconds, messages) = match settings.amount {
            Amount::Seconds(seconds) => (Some(seconds), None),
            Amount::Messages(messages) => (None, Some(messages)),
        };
        let readers = row.readers();
        let ratio = measured.ratio(&self.measured);
        let (written, read) = (measured.written_per_second(), measured.read_per_second());
        let noise = measured.noise();
        let is_one_way = row.is_timed() && !row.is_round_trip();
        json!({
            "name": row.name,
            "section": row.section.name(),
            "design": row.design.map(|design| design.name()),
            "rounds": self.rounds,
            "seconds": seconds,
            "messages": messages,
            "rate_per_second": is_one_way.then_some(settings.rate),
            "message_bytes": settings.length,
            "capacity_bytes": settings.capacity_bytes,
            "cpus": {
                "writer": settings.cpus.writer,
                "readers": (0..readers)
                    .map(|index| settings.cpus.reader(index, readers).0)
                    .collect::<Vec<_>>(),
            },
            "readers": readers,
            "readers_share_processors": settings.cpus.are_short_for(readers),
            "unit": if row.is_timed() { "ns" } else { "messages/s" },
            "by_round": measured.by_round(),
            "written_per_second": median(written),
            "written_per_second_low": written.map(|spread| spread.lowest),
            "written_per_second_high": written.map(|spread| spread.highest),
            "read_per_second": median(read),
            "read_per_second_low": read.map(|spread| spread.lowest),
            "read_per_second_high": read.map(|spread| spread.highest),
            "answer": answer(measured),
            "lost_share": median(measured.lost_share()),
            "batch_p50": measured.batch_p50(),
            "latency": latency(measured),
            "ratio": ratio.map(|ratio| ratio.value),
            "ratio_to": ratio.map(|ratio| ratio.to),
            "ratio_to_half": ratio.map(|ratio| ratio.is_to_half),
            "clock": clock(&self.circumstances, &self.offset, &settings.cpus),
            "environment": environment::to_json(&self.circumstances.environment, &noise),
            "noise": noise.sentences,
            "notes": self.notes,
        })
    }
}

/// What the stamps of both sides are of.
pub(in super::super) fn clock(
    circumstances: &Circumstances,
    offset: &Option<Offset>,
    cpus: &Cpus,
) -> Value {
    json!({
        "source": circumstances.clock.source().to_string(),
        "offset_ns": offset.map(|offset| {
            // Measured against the processor with the smaller number.
            let is_of_reader = offset.cpu == cpus.readers[0] as usize;
            if is_of_reader { offset.offset_nanos } else { -offset.offset_nanos }
        }),
        "offset_bound_ns": offset.map(|offset| offset.bound_nanos),
    })
}

fn median(spread: Option<Spread>) -> Option<f64> {
    spread.map(|spread| spread.median)
}

/// Of all rounds and readers together: what became of the messages.
fn answer(measured: &Measured) -> Value {
    let readings = &measured.readings;
    let taken = || readings.iter().flat_map(|reading| &reading.taken);
    let has_readers = measured.row.readers() > 0;
    json!({
        "published": readings.iter().map(|reading| reading.written.messages).sum::<u64>(),
        "read": has_readers.then(|| taken().map(|taken| taken.messages).sum::<u64>()),
        "lost": has_readers.then(|| taken().map(|taken| taken.lost).sum::<u64>()),
        "accounted": has_readers.then(|| taken().map(|taken| taken.accounted()).sum::<u64>()),
    })
}

/// Null for rows whose messages are not timed one by one.
fn latency(measured: &Measured) -> Value {
    let times: Vec<_> = measured.readings.iter().filter_map(|reading| reading.times).collect();
    if times.is_empty() {
        return Value::Null;
    }
    let p50 = median(measured.time_ns(|times| Some(times.p50_ns)));
    json!({
        "count": times.iter().map(|times| times.count).sum::<u64>(),
        "p50_ns": p50,
        "p90_ns": median(measured.time_ns(|times| Some(times.p90_ns))),
        "p99_ns": median(measured.time_ns(|times| Some(times.p99_ns))),
        "p99.9_ns": median(measured.time_ns(|times| Some(times.p999_ns))),
        "max_ns": times.iter().map(|times| times.max_ns).max(),
        "over_100us": times.iter().map(|times| times.over_100us).sum::<u64>(),
        "reversed": times.iter().map(|times| times.reversed).sum::<u64>(),
        "half_p50_ns": p50.filter(|_| measured.row.is_round_trip()).map(|nanos| nanos / 2.0),
        "from_due_p50_ns": median(measured.time_ns(|times| times.due_p50_ns)),
        "from_due_p99_ns": median(measured.time_ns(|times| times.due_p99_ns)),
        "clock_ns": times.iter().map(|times| times.clock_ns).reduce(f64::max),
    })
}
