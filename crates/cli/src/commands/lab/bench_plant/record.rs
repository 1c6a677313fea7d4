//! A row as an object of the list: docs/formats/lab-bench-plant.md.

use nanotape_bench::{
    Spread,
    day_file::{Goal, Measured, PLANT},
};
use nanotape_lab::environment;
use serde_json::{Value, json};

use super::Results;

impl Results {
    /// Everything that is known of one row.
    pub(super) fn record(&self, measured: &Measured) -> Value {
        let (time, wall) = (measured.processor_ns(), measured.wall_ns());
        let adds = self.backbone().and_then(|backbone| measured.added_ns(backbone));
        let ratio = self.backbone().and_then(|backbone| measured.ratio_to(backbone));
        let shape = measured.variant.shape;
        let (taps, taps_share_processors) = self.taps(measured);
        let is_plant = measured.variant.name == PLANT;
        json!({
            "name": measured.variant.name,
            "rounds": self.rounds,
            "file": {
                "path": self.survey.path.display().to_string(),
                "bytes": self.survey.bytes,
                "messages": self.survey.messages,
            },
            "orders": self.settings.orders,
            "records": shape.map(|shape| shape.kinds.to_string()),
            "capacity_bytes": shape.map(|shape| shape.capacity_bytes),
            "taps": taps,
            "taps_share_processors": taps_share_processors,
            "tap_symbol": self.settings.taps.symbol.filter(|_| taps > 0).map(|one| one.to_string()),
            "cpus": {
                "plant": self.settings.cpu,
                "taps": (0..taps).map(|tap| self.cpus.reader(tap, taps).0).collect::<Vec<_>>(),
            },
            "ns_per_message": median(time),
            "ns_per_message_low": time.map(|spread| spread.lowest),
            "ns_per_message_high": time.map(|spread| spread.highest),
            "ns_by_round": measured.processor_ns_by_round(),
            "wall_ns_per_message": median(wall),
            "adds_ns": median(adds),
            "adds_ns_low": adds.map(|spread| spread.lowest),
            "adds_ns_high": adds.map(|spread| spread.highest),
            "ratio_to_backbone": ratio,
            "messages_per_second": median(measured.messages_per_second()),
            "records_per_second": median(measured.records_per_second()),
            "startup_ms": median(measured.startup_ms()),
            "peak_memory_bytes": measured.peak_memory_bytes(),
            "answer": answer(measured),
            "published": published(measured),
            "lost_share": lost_share(measured),
            "latency": measured.latency.as_ref().map(|latency| latency.to_json()),
            "goals": is_plant.then(|| self.goals.iter().map(goal).collect::<Vec<_>>()),
            "environment":
                environment::to_json(&self.circumstances.environment, &self.circumstances.noise),
            "noise": self.circumstances.noise.sentences,
            "notes": self.notes,
        })
    }
}

fn median(spread: Option<Spread>) -> Option<f64> {
    spread.map(|spread| spread.median)
}

fn answer(measured: &Measured) -> Value {
    let answer = measured.answer();
    json!({
        "messages": answer.messages,
        "inside_changes": answer.inside_changes,
        "orders_left": answer.orders_left,
        "anomalies": answer.anomalies,
        "order_records": answer.order_records,
    })
}

/// Of all rounds together.
fn published(measured: &Measured) -> Value {
    measured.published().map_or(Value::Null, |published| {
        json!({
            "records": published.records,
            "read": published.read,
            "lost": published.lost,
            "wanted": published.wanted,
        })
    })
}

/// What taps lost of what was published to them, from 0 to 1; None without taps.
pub(super) fn lost_share(measured: &Measured) -> Option<f64> {
    let published = measured.published().filter(|published| published.taps > 0)?;
    Some(published.lost as f64 / (published.read + published.lost).max(1) as f64)
}

fn goal(goal: &Goal) -> Value {
    json!({
        "name": goal.name,
        "at_most_ns": goal.at_most_ns,
        "ns": goal.ns,
        "met": goal.is_met(),
    })
}
