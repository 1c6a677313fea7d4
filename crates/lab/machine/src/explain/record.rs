//! The records of `docs/formats/lab-explain.md`.

use std::collections::BTreeMap;

use nanotape_trace::spans::Timescale;
use serde_json::{Map, Value, json};

use super::{
    Seen,
    row::{Row, Share},
    totals::{Found, Total, largest_first},
};
use crate::{gaps::Gap, kernel_trace::Losses};

const FORMAT: &str = "nanotape-lab";
const VERSION: u64 = 1;

/// Most spans of one of the slowest messages: the first and the last half of them.
const MOST_SPANS: usize = 400;

/// What a record of a thread has beside its rows.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The thread: `equities plant`.
    pub name: &'a str,
    /// Messages that take longer have a row, in nanoseconds.
    pub above_ns: u64,
    /// The clock of the thread.
    pub timescale: Timescale,
}

impl Context<'_> {
    /// The record of a slow message.
    pub fn row(&self, row: &Row) -> Value {
        let fields = [
            ("format", json!(FORMAT)),
            ("version", json!(VERSION)),
            ("kind", json!("slow-message")),
            ("name", json!(self.name)),
        ];
        let mut record: Map<String, Value> =
            fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        record.append(&mut self.parts(row));
        Value::Object(record)
    }

    /// The record of a thread. `events`: those of the kernel, if they were traced.
    pub fn found<'m>(
        &self,
        found: &Found,
        seen: Seen,
        events: Option<Losses>,
        medians: impl Iterator<Item = (&'m str, u64)>,
    ) -> Value {
        let worst: Vec<Value> = found.worst().into_iter().map(|row| self.worst(row)).collect();
        json!({
            "format": FORMAT,
            "version": VERSION,
            "kind": "explain",
            "name": self.name,
            "above_ns": self.above_ns,
            "messages": seen.messages,
            "asked": seen.queried,
            "lost_spans": seen.lost_spans,
            "damaged_spans": seen.damaged,
            "kernel_events": events.map(|events| events.to_json()),
            "slow": found.rows,
            "total_ns": found.total_ns,
            "largest_residual_ns": found.largest_residual_ns,
            "by_main": totals(&found.by_main),
            "by_part": totals(&found.by_part),
            "usual_ns": medians.map(|(site, nanos)| (site.to_owned(), json!(nanos)))
                .collect::<Map<String, Value>>(),
            "worst": worst,
        })
    }

    fn parts(&self, row: &Row) -> Map<String, Value> {
        let stages = row.stages.iter().map(
            |stage| json!({ "site": stage.site, "ns": stage.nanos, "usual_ns": stage.usual_ns }),
        );
        let parts = json!({
            "message": row.number,
            "arrival_ns": self.timescale.utc_ns(row.gap.from),
            "total_ns": row.total_ns,
            "waited_ns": row.waited_ns,
            "usual_ns": row.usual_ns,
            "interruptions": row.interruptions.iter().map(share).collect::<Vec<_>>(),
            "unexplained_ns": row.unexplained_ns,
            "not_traced_ns": row.not_traced_ns,
            "residual_ns": row.residual_ns,
            "main": row.main().text(),
            "stages": stages.collect::<Vec<_>>(),
        });
        match parts {
            Value::Object(parts) => parts,
            _ => Map::new(),
        }
    }

    fn worst(&self, row: &Row) -> Value {
        let mut record = self.parts(row);
        let all = row.spans.len();
        let half = MOST_SPANS / 2;
        let is_shown = |at: usize| all <= MOST_SPANS || at < half || at >= all - half;
        let spans = row.spans.iter().enumerate().filter(|(at, _)| is_shown(*at));
        let spans = spans.map(|(_, span)| {
            let Gap { from, to } = self.since_arrival(row, &span.gap);
            json!({ "site": span.site, "message": span.number, "from_ns": from.ticks(),
                "to_ns": to.ticks() })
        });
        record.insert("spans".to_owned(), spans.collect());
        record.insert("spans_left_out".to_owned(), json!(all.saturating_sub(MOST_SPANS)));
        Value::Object(record)
    }

    /// Nanoseconds since the arrival of a message, not below 0.
    fn since_arrival(&self, row: &Row, gap: &Gap) -> Gap {
        let arrival = row.gap.from.ticks();
        let length = row.gap.to.ticks().saturating_sub(arrival).max(1);
        let nanos = |ticks: u64| {
            let ticks = ticks.saturating_sub(arrival).min(length);
            (ticks as f64 / length as f64 * row.total_ns as f64).round() as u64
        };
        let [from, to] = [gap.from, gap.to].map(|stamp| nanos(stamp.ticks()));
        super::gap(from, to)
    }
}

fn share(share: &Share) -> Value {
    json!({
        "cause": share.cause.to_string(),
        "kind": share.cause.kind(),
        "ns": share.nanos,
        "message": share.number,
        "cpu": share.place.map(|(_, cpu)| cpu),
    })
}

fn totals(totals: &BTreeMap<String, Total>) -> Value {
    let total = |(name, total): (&str, Total)| json!({ "what": name, "messages": total.rows, "ns": total.nanos });
    largest_first(totals).into_iter().map(total).collect()
}
