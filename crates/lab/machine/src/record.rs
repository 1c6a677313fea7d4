//! The records of docs/formats/lab-machine.md: round trips and interruptions.

use nanotape_clock::Clock;
use nanotape_lab::record::RunContext;
use nanotape_trace::Histogram;
use serde_json::{Map, Value, json};

use crate::{
    attribution::Rung,
    jitter::{
        Variant,
        summary::{QUANTILES, Summary, Where},
    },
    periods::{Period, fold},
    spin::ProcessorGaps,
    tally::Tally,
};

/// Most interruptions of a processor in a record: those that a plot can show.
const MOST_LONGEST: usize = 2_000;

/// Quantiles of the lengths of interruptions.
const GAP_QUANTILES: [(&str, f64); 6] =
    [("p0", 0.0), ("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("p100", 1.0)];

/// The record of a variant's round trips. `rungs`: those of the kernel's events and of the machine.
pub fn jitter(context: &RunContext, summary: &Summary, threshold_ns: u64, rungs: &[Rung]) -> Value {
    let rungs: Vec<Value> = summary.rungs.iter().chain(rungs).map(rung).collect();
    let (counters, counters_absent) = match &summary.counters {
        None => (Value::Null, Some("not requested".to_owned())),
        Some(Ok(rates)) => (rates.to_json(), None),
        Some(Err(reason)) => (Value::Null, Some(reason.clone())),
    };
    context.line(
        "jitter",
        &summary.variant.to_string(),
        json!({
            "variant": variant(&summary.variant),
            "round_trips": round_trips(summary),
            "turns": summary.turns.iter().map(|turn| {
                let quantiles = QUANTILES.iter().zip(turn.quantiles_ns);
                let mut object: Map<String, Value> =
                    quantiles.map(|((name, _), nanos)| ((*name).to_owned(), json!(nanos))).collect();
                object.insert("count".to_owned(), json!(turn.count));
                Value::Object(object)
            }).collect::<Vec<_>>(),
            "series": series(summary),
            "longest": summary.slowest.iter().map(|slow| json!({
                "at_ns": slow.at_ns,
                "ns": slow.nanos,
                "side": slow.where_.name(),
                "cause": slow.cause.as_ref().map(ToString::to_string),
            })).collect::<Vec<_>>(),
            "slow": Where::ALL.iter().zip(summary.slow_by_side)
                .map(|((_, name), count)| ((*name).to_owned(), json!(count)))
                .collect::<Map<String, Value>>(),
            "interruptions": interruptions(summary, threshold_ns),
            "kernel_events": summary.events.map(|events| events.to_json()),
            "refused": summary.refused,
            "counters": counters,
            "counters_absent": counters_absent,
            "rungs": rungs,
        }),
    )
}

fn variant(variant: &Variant) -> Value {
    json!({
        "ring": variant.ring.to_string(),
        "wait": variant.wait.to_string(),
        "cpus": variant.cpus.map(|(pinger, ponger)| [pinger, ponger]),
        "class": class(variant.real_time_priority),
        "priority": variant.real_time_priority,
        "huge_pages": variant.huge_pages,
    })
}

fn class(priority: Option<u8>) -> &'static str {
    if priority.is_some() { "fifo" } else { "normal" }
}

fn round_trips(summary: &Summary) -> Value {
    let quantiles = QUANTILES
        .iter()
        .map(|(name, _)| ((*name).to_owned(), json!(summary.quantile_ns(name))))
        .collect::<Map<String, Value>>();
    let intervals = QUANTILES
        .iter()
        .filter_map(|(name, _)| {
            let (low, high) = summary.interval_ns(name)?;
            Some(((*name).to_owned(), json!([low, high])))
        })
        .collect::<Map<String, Value>>();
    json!({
        "unit": "ns a round trip",
        "count": summary.count(),
        "quantiles": quantiles,
        "intervals": intervals,
        "distribution": distribution(&summary.histogram),
    })
}

fn distribution(histogram: &Histogram) -> Vec<Value> {
    histogram.buckets().map(|(highest, count)| json!([highest, count])).collect()
}

fn series(summary: &Summary) -> Value {
    let list = |of: fn((u64, u64, u64)) -> u64| -> Vec<Option<u64>> {
        summary.slices.iter().map(|slice| slice.range_ns.map(of)).collect()
    };
    json!({
        "slice_ns": u64::try_from(summary.slice.as_nanos()).ok(),
        "low": list(|(low, ..)| low),
        "p50": list(|(_, middle, _)| middle),
        "high": list(|(.., high)| high),
    })
}

fn interruptions(summary: &Summary, threshold_ns: u64) -> Value {
    let names = ["pinger", "ponger"];
    let sides = names.iter().zip(&summary.sides).map(|(name, side)| {
        json!({
            "side": name,
            "cpu": side.cpu,
            "watched_ns": side.watched_ns,
            "count": side.count,
            "lost_ns": side.lost_ns,
        })
    });
    let causes = names.iter().zip(&summary.sides).flat_map(|(name, side)| {
        side.tally.totals().into_iter().map(move |total| {
            let mut object = total.to_json();
            object["side"] = json!(name);
            object
        })
    });
    json!({
        "threshold_ns": threshold_ns,
        "sides": sides.collect::<Vec<_>>(),
        "causes": causes.collect::<Vec<_>>(),
    })
}

/// The record of a processor's interruptions.
pub fn gaps(
    context: &RunContext,
    processor: &ProcessorGaps,
    (threshold_ns, priority): (u64, Option<u8>),
    rungs: &[Rung],
) -> Value {
    let clock = &context.clock;
    let sorted = processor.sorted_ns(clock);
    let mut histogram = Histogram::fine();
    sorted.iter().for_each(|&nanos| histogram.record(nanos));
    let quantiles = GAP_QUANTILES
        .iter()
        .map(|(name, quantile)| ((*name).to_owned(), json!(quantile_of(&sorted, *quantile))))
        .collect::<Map<String, Value>>();
    let mut tally = Tally::default();
    for one in processor.kept() {
        tally.add(&one.cause, one.gap.nanos(clock));
    }
    let speed = &processor.speed;
    context.line(
        "gaps",
        &format!("processor {}", processor.cpu),
        json!({
            "cpu": processor.cpu,
            "class": class(priority),
            "priority": priority,
            "watched_ns": processor.watched_ns(clock),
            "turns": processor.turns,
            "threshold_ns": threshold_ns,
            "count": processor.kept().len(),
            "not_kept": processor.watched.not_kept,
            "lost_ns": processor.lost_ns(clock),
            "quantiles": quantiles,
            "distribution": distribution(&histogram),
            "longest": longest(clock, processor),
            "causes": tally.totals().iter().map(|total| total.to_json()).collect::<Vec<_>>(),
            "interrupts": processor.interrupts.as_ref().map(|interrupts| interrupts.iter()
                .map(|(name, count)| json!({ "name": name, "count": count }))
                .collect::<Vec<_>>()),
            "system_management_interrupts": processor.system_management,
            "unmatched": processor.unmatched(),
            "periods": periods(&fold(&processor.unexplained_at_ns(clock))),
            "speed": {
                "turn_ns": speed.turn_ns,
                "low_ns": speed.range_ns.map(|(low, _)| low),
                "high_ns": speed.range_ns.map(|(_, high)| high),
                "steps": speed.steps.len(),
                "periods": periods(&speed.periods),
                "interruptions": processor.speed_changes.len(),
            },
            "kernel_events": processor.events.map(|events| events.to_json()),
            "refused": processor.refused,
            "rungs": processor.rungs().iter().chain(rungs).map(rung).collect::<Vec<_>>(),
        }),
    )
}

fn periods(periods: &[Period]) -> Vec<Value> {
    let record = |Period { period_ns, strength, count, is_found }: &Period| {
        json!({
            "period_ns": period_ns,
            "strength": strength,
            "count": count,
            "is_found": is_found,
        })
    };
    periods.iter().map(record).collect()
}

fn quantile_of(sorted: &[u64], quantile: f64) -> Option<u64> {
    let rank = (quantile * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied()
}

/// The longest ones, in the order of time.
fn longest(clock: &Clock, processor: &ProcessorGaps) -> Vec<Value> {
    let mut kept: Vec<_> = processor.kept().iter().collect();
    kept.sort_by_key(|one| core::cmp::Reverse(one.gap.nanos(clock)));
    kept.truncate(MOST_LONGEST);
    kept.sort_by_key(|one| one.gap.from);
    kept.iter()
        .map(|one| {
            let at_ns = clock.nanos_between(processor.whole.from, one.gap.from);
            json!([at_ns, one.gap.nanos(clock), one.cause.to_string()])
        })
        .collect()
}

fn rung(rung: &Rung) -> Value {
    json!({ "rung": rung.name, "used": rung.unused.is_none(), "why": rung.unused })
}
