//! The lines of windows, and the tables.

use std::fmt::Write as _;

use nanotape_clock::UtcNanos;
use nanotape_console::values::grouped;
use nanotape_delay::{Combined, Shift};
use nanotape_lab::text::nanos as time_text;

use super::{
    super::{DelayArguments, FeedClock},
    totals::{Span, Total},
};

pub(super) fn heading(arguments: &DelayArguments, method: &str, clock: FeedClock) -> String {
    let first = arguments.first.as_deref().unwrap_or("line A");
    let second = arguments.second.as_deref().unwrap_or("line B");
    format!(
        "{} behind {}: {method}, windows of {}, delays up to {}, by {}\n{:<30}{:>6}{:>9}{:>9}{:>12}  {:<26}{:>10}{:>10}\n",
        second,
        first,
        time_text(arguments.window_ns() as f64),
        time_text(arguments.method.max_lag_ns() as f64),
        match clock {
            FeedClock::Event => "the exchange's time (ts_event)",
            FeedClock::Receive => "receive time (ts_recv)",
        },
        "window",
        "used",
        "refused",
        "left out",
        "delay",
        "interval",
        "p05",
        "p95",
    )
}

pub(super) fn window_text(span: &Span, combined: &Combined) -> String {
    format!(
        "{:<30}{:>6}{:>9}{:>9}{:>12}  {:<26}{:>10}{:>10}\n",
        UtcNanos::of_unix_ns(span.window.from_ns.max(0) as u64).to_string(),
        combined.estimates,
        span.refused,
        span.left_out,
        time_text(combined.delay_ns).to_string(),
        interval_text(combined.low_ns, combined.high_ns),
        time_text(combined.p05_ns).to_string(),
        time_text(combined.p95_ns).to_string(),
    )
}

pub(super) fn interval_text(low_ns: f64, high_ns: f64) -> String {
    format!("{} to {}", time_text(low_ns), time_text(high_ns))
}

pub(super) fn shift_text(shift: &Shift) -> String {
    format!(
        "SHIFT from {} to {} since {}\n",
        time_text(shift.before_ns),
        time_text(shift.after_ns),
        UtcNanos::of_unix_ns(shift.from_ns.max(0) as u64),
    )
}

pub(super) fn table<'t>(
    text: &mut String,
    what: &str,
    rows: impl Iterator<Item = (String, &'t Total)>,
) {
    let _ = writeln!(
        text,
        "\n{what:<14}{:>10}{:>10}{:>9}{:>9}{:>12}{:>12}{:>12}  interval of one, median",
        "windows", "estimates", "refused", "left out", "delay", "p05", "p95",
    );
    for (name, total) in rows {
        let _ = write!(
            text,
            "{name:<14}{:>10}{:>10}{:>9}{:>9}",
            grouped(total.windows()),
            grouped(total.estimates),
            grouped(total.refused),
            grouped(total.left_out.iter().sum()),
        );
        if let Some(at) = total.combined() {
            let _ = write!(
                text,
                "{:>12}{:>12}{:>12}  {}",
                time_text(at.delay_ns).to_string(),
                time_text(at.p05_ns).to_string(),
                time_text(at.p95_ns).to_string(),
                time_text(total.width()),
            );
        }
        text.push('\n');
    }
}
