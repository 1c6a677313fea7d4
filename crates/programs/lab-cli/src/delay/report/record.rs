//! The parts of the record: docs/formats/lab-delay.md.

use nanotape_delay::{Combined, Shift, Window};
use serde_json::{Value, json};

use super::{
    super::{
        FeedClock,
        feed::{Doubt, Stocks},
        windows::{Outcome, Row},
    },
    totals::Span,
};

pub(super) fn row_record(window: Window, row: &Row, stocks: &Stocks) -> Value {
    let is_of_a_stock = row.attribute.is_of_a_stock();
    let mut record = json!({
        "from_ns": window.from_ns,
        "until_ns": window.until_ns,
        "symbol": is_of_a_stock.then(|| stocks.name(row.stock)),
        "attribute": is_of_a_stock.then(|| row.attribute.name()),
        "delay_ns": null,
        "low_ns": null,
        "high_ns": null,
        "support": null,
        "quality": null,
        "refused": null,
        "left_out": null,
    });
    match row.outcome {
        Outcome::Estimate(estimate) => {
            record["delay_ns"] = estimate.delay_ns.into();
            record["low_ns"] = estimate.low_ns.into();
            record["high_ns"] = estimate.high_ns.into();
            record["support"] = estimate.support.into();
            record["quality"] = estimate.quality.into();
        }
        Outcome::Refused(refused) => record["refused"] = refused.to_string().into(),
        Outcome::LeftOut(doubt) => record["left_out"] = doubt_name(doubt).into(),
    }
    record
}

pub(super) fn span_record(span: &Span) -> Value {
    let mut record = json!({
        "from_ns": span.window.from_ns,
        "until_ns": span.window.until_ns,
        "estimates": 0,
        "refused": span.refused,
        "left_out": span.left_out,
    });
    put_combined(&mut record, span.combined);
    record
}

/// Adds the members of a combined delay, null without one; how many estimates there are without one
/// is known by the caller.
pub(super) fn put_combined(record: &mut Value, combined: Option<Combined>) {
    record["delay_ns"] = combined.map(|at| at.delay_ns).into();
    record["low_ns"] = combined.map(|at| at.low_ns).into();
    record["high_ns"] = combined.map(|at| at.high_ns).into();
    record["p05_ns"] = combined.map(|at| at.p05_ns).into();
    record["p95_ns"] = combined.map(|at| at.p95_ns).into();
    if let Some(combined) = combined {
        record["estimates"] = combined.estimates.into();
    }
}

pub(super) fn shift_record(shift: &Shift) -> Value {
    json!({
        "from_ns": shift.from_ns,
        "before_ns": shift.before_ns,
        "after_ns": shift.after_ns,
    })
}

pub(in crate::delay) fn clock_name(clock: FeedClock) -> &'static str {
    match clock {
        FeedClock::Event => "event",
        FeedClock::Receive => "receive",
    }
}

pub(super) fn doubt_name(doubt: Doubt) -> &'static str {
    match doubt {
        Doubt::Gap => "gap",
        Doubt::Taint => "taint",
    }
}
