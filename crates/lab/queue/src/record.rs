//! The record of docs/formats/lab-queue.md. It has no time and no machine: equal arrivals give
//! equal records everywhere.

use serde_json::{Value, json};

use crate::{
    Burst, Capacity, Core, Link, Outcome, Peak, Question, Receiver, Search, Speed, Window,
};
use nanotape_lab::record::{FORMAT, VERSION};

/// The quantiles of a record, by name.
pub const QUANTILES: [(&str, f64); 5] =
    [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999), ("p99.999", 0.99999)];

/// The source of the arrivals.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The name of the input.
    pub name: &'a str,
    /// The clock of the arrivals: `event` or `received`.
    pub arrivals: &'a str,
}

/// The record of a simulation. `at` is the index of the service time whose windows it has.
pub fn record(
    source: Source<'_>,
    outcome: &Outcome,
    answers: &[(Question, Search)],
    at: usize,
) -> Value {
    let services: Vec<Value> =
        (0..outcome.services.len()).map(|index| service_record(outcome, answers, index)).collect();
    let service_ns = outcome.services.get(at).map(|service| service.service_ns);
    let windows: Vec<Value> = match service_ns {
        Some(service_ns) => {
            outcome.windows.iter().map(|window| window_record(window, at, service_ns)).collect()
        }
        None => Vec::new(),
    };
    json!({
        "format": FORMAT,
        "version": VERSION,
        "kind": "queue",
        "name": source.name,
        "arrivals": source.arrivals,
        "messages": outcome.messages,
        "reversed": outcome.reversed,
        "first_ns": outcome.span_ns.map(|(first_ns, _)| first_ns),
        "last_ns": outcome.span_ns.map(|(_, last_ns)| last_ns),
        "window_ns": outcome.windows.length_ns(),
        "answers": answers
            .iter()
            .map(|(question, search)| answer_record(question, search, service_ns))
            .collect::<Vec<_>>(),
        "services": services,
        "windows_at_ns": service_ns,
        "windows": windows,
    })
}

/// The record of one service time of a simulation, by its index; null without such an index.
pub fn service_record(outcome: &Outcome, answers: &[(Question, Search)], index: usize) -> Value {
    let Some(service) = outcome.services.get(index) else { return Value::Null };
    let (service_ns, delay_ns) = (service.service_ns, service.largest_delay_ns);
    let quantiles: serde_json::Map<String, Value> = QUANTILES
        .iter()
        .map(|&(name, quantile)| (name.to_owned(), json!(service.quantile_ns(quantile))))
        .collect();
    json!({
        "service_ns": service_ns,
        "quantiles": quantiles,
        "largest_delay_ns": delay_ns,
        "largest_queue": service.largest_queue,
        "growth": outcome.growth(index),
        "worst_window_ns": service.worst_window_ns,
        "catch_up_ns": service.catch_up_ns,
        "utilisation": utilisation(outcome, service_ns),
        "overloaded_windows": service.overloaded_windows,
        "ring_speed": ring_search(answers).map(|search| search.speed(service_ns)),
    })
}

/// What is known of the ring, if there is one.
fn ring_search(answers: &[(Question, Search)]) -> Option<&Search> {
    let is_ring = |question: &Question| matches!(question, Question::Ring { .. });
    answers.iter().find(|(question, _)| is_ring(question)).map(|(_, search)| search)
}

/// The record of a ring at several speeds; `good_ns` and `bad_ns` are the two service times
/// between which it begins to drop.
pub fn capacity_record(capacity: &Capacity, good_ns: u64, bad_ns: u64) -> Value {
    let bad = capacity.speeds().iter().find(|speed| speed.service_ns == bad_ns);
    let speed = |speed: &Speed| {
        json!({
            "speed": capacity.factor(speed.service_ns),
            "service_ns": speed.service_ns,
            "dropped": speed.dropped,
            "bursts": speed.bursts,
        })
    };
    json!({
        "ring": capacity.ring(),
        "service_ns": capacity.receiver_ns(),
        "holds": capacity.factor(good_ns),
        "drops": capacity.factor(bad_ns),
        "first": bad.and_then(|bad| bad.first).map(|first| json!({
            "burst_ns": first.burst_ns,
            "dropped_ns": first.dropped_ns,
            "message": first.message,
        })),
        "speeds": capacity.speeds().iter().map(speed).collect::<Vec<_>>(),
    })
}

/// The records of bursts at a service time, worst first. `ring`: the messages of a ring for which
/// each has the speed at which it drops.
pub fn burst_records(bursts: &[Burst], service_ns: u64, ring: Option<u64>) -> Vec<Value> {
    let record = |burst: &Burst| {
        json!({
            "first_ns": burst.first_ns,
            "last_ns": burst.last_ns,
            "messages": burst.messages,
            "largest_delay_ns": burst.largest_delay_ns,
            "ring_speed": ring
                .and_then(|ring| burst.longest_service_ns(ring))
                .map(|good_ns| (good_ns + 1) as f64 / service_ns as f64),
        })
    };
    bursts.iter().map(record).collect()
}

/// The record of a receiver.
pub fn receiver_record(receiver: &Receiver) -> Value {
    let delays = receiver.delays();
    let quantiles: serde_json::Map<String, Value> = QUANTILES
        .iter()
        .map(|&(name, quantile)| (name.to_owned(), json!(delays.quantile(quantile))))
        .collect();
    json!({
        "messages": delays.count(),
        "dropped": receiver.dropped(),
        "quantiles": quantiles,
        "largest_delay_ns": delays.max(),
        "batch": receiver.batch().messages,
        "batch_ns": receiver.batch().fixed_ns,
        "bottleneck": receiver.bottleneck(),
        "links": receiver.links().iter().map(link_record).collect::<Vec<_>>(),
        "cores": receiver.cores().iter().map(core_record).collect::<Vec<_>>(),
    })
}

/// The record of one link.
pub fn link_record(link: &Link) -> Value {
    let peak = |peak: Peak| json!({ "value": peak.value, "at_ns": peak.at_ns });
    json!({
        "name": link.name(),
        "messages": link.messages,
        "dropped": link.dropped,
        "bytes": link.bytes,
        "largest_delay_ns": peak(link.largest_delay_ns),
        "largest_bytes": peak(link.largest_bytes),
        "largest_messages": peak(link.largest_messages),
        "busy_ns": link.busy_ns(),
    })
}

fn core_record(core: &Core) -> Value {
    json!({
        "messages": core.messages,
        "batches": core.batches,
        "dropped": core.dropped,
        "largest_delay_ns": core.largest_delay_ns,
        "largest_queue": core.largest_queue,
        "busy_ns": core.busy_ns,
    })
}

fn answer_record(question: &Question, search: &Search, service_ns: Option<u64>) -> Value {
    let (quantile, limit_ns, ring) = match *question {
        Question::Delay { quantile, limit_ns, .. } => (Some(quantile), Some(limit_ns), None),
        Question::Ring { messages } => (None, None, Some(messages)),
    };
    json!({
        "quantile": quantile,
        "limit_ns": limit_ns,
        "ring": ring,
        "longest_good_ns": search.good_ns,
        "shortest_bad_ns": search.bad_ns,
        "speed": ring.and(service_ns).map(|service_ns| search.speed(service_ns)),
    })
}

fn window_record(window: &Window, at: usize, service_ns: u64) -> Value {
    let delay_ns = window.delays_ns.get(at).copied().unwrap_or(0);
    json!({
        "start_ns": window.start_ns,
        "messages": window.messages,
        "largest_delay_ns": delay_ns,
        "largest_queue": delay_ns.div_ceil(service_ns),
    })
}

impl Outcome {
    /// The exponent with which the largest delay grows from the service time before that of
    /// `index`: 1 if both grow by the same factor. Rounded, so that it is the same everywhere.
    pub fn growth(&self, index: usize) -> Option<f64> {
        let shorter = self.services.get(index.checked_sub(1)?)?;
        let longer = self.services.get(index)?;
        let factor = |one: u64, two: u64| libm::log(two as f64 / one as f64);
        let delay = factor(shorter.largest_delay_ns, longer.largest_delay_ns);
        let exponent = delay / factor(shorter.service_ns, longer.service_ns);
        exponent.is_finite().then(|| (exponent * 1e3).round() / 1e3)
    }
}

/// The share of the time from the first to the last arrival that processing needs.
fn utilisation(outcome: &Outcome, service_ns: u64) -> Option<f64> {
    let (first_ns, last_ns) = outcome.span_ns?;
    let share = outcome.messages as f64 * service_ns as f64 / (last_ns - first_ns) as f64;
    share.is_finite().then_some(share)
}
