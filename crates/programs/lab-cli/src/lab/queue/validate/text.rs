//! The tables of predicted and measured delays, and what explains their difference.

use std::fmt::Write as _;

use nanotape_console::values::{counted, grouped, nanos_text};
use nanotape_queue::validation::{COMPARED, Comparison, Delays, GOAL, Validation};

use super::Validated;
use crate::lab::queue::text::time;

impl Validated {
    /// The tables of all parts.
    pub(in crate::lab::queue) fn text(&self) -> String {
        let environment = &self.context.environment;
        let speed = match self.speed {
            1.0 => "its recorded schedule".to_owned(),
            speed => format!("{speed} times its recorded speed"),
        };
        let mut text = format!(
            "\npredicted against measured: a plant on {}, {speed}\n",
            environment.scheduling
        );
        for line in &self.context.noise.sentences {
            let _ = writeln!(text, "note: {line}");
        }
        self.parts.iter().for_each(|part| Self::part(&mut text, part));
        text
    }

    fn part(text: &mut String, part: &Validation) {
        let (first_ns, last_ns) = part.case.span_ns;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "\n{}: {} messages from {} to {}, replayed {}",
            part.case.name,
            grouped(part.case.messages.len() as u64),
            time(first_ns),
            time(last_ns),
            counted(part.replays as u64, "time"),
        );
        let [busy_ns, idle_ns] = part.mean_ns.map(nanos_text);
        let _ = writeln!(
            text,
            "{} of the messages find the plant idle; a message takes {busy_ns} without an idle \
             time before it and {idle_ns} after a long one (means)",
            percent(part.idle_share),
        );
        interruptions(text, part);
        match &part.quiet {
            Some(quiet) => {
                table(text, "quiet messages", quiet);
                verdict(text, quiet);
            }
            None => text.push_str("quiet messages: none, so that no prediction can be judged\n"),
        }
        table(text, "all messages", &part.all);
        explanation(text, part);
    }
}

fn percent(share: f64) -> String {
    format!("{:.2}%", 100.0 * share)
}

fn interruptions(text: &mut String, part: &Validation) {
    let causes: Vec<String> = part
        .causes
        .iter()
        .map(|(cause, (count, ns))| format!("{} {cause} ({})", grouped(*count), nanos_text(*ns)))
        .collect();
    let _ = write!(text, "interrupted: {} of the messages", percent(part.interrupted_share()));
    let _ = match causes.is_empty() {
        true => writeln!(text),
        false => writeln!(text, ", by {}", causes.join(", ")),
    };
    if part.not_kept > 0 {
        let _ = writeln!(text, "{} were not kept", counted(part.not_kept, "interruption"));
    }
}

fn table(text: &mut String, what: &str, comparison: &Comparison) {
    let title = format!("{what}: {}", grouped(comparison.messages));
    let _ = write!(text, "{title:<28}");
    for (name, _) in COMPARED {
        let _ = write!(text, " {name:>18}");
    }
    let _ = writeln!(text, " {:>18}", "largest");
    line(text, &comparison.measured, None);
    let _ = write!(text, "  {:<26}", "  in single replays");
    for (low, high) in comparison.rounds {
        let _ = write!(text, " {:>18}", format!("{} to {}", nanos_text(low), nanos_text(high)));
    }
    let _ = writeln!(text);
    comparison.predicted.iter().for_each(|one| line(text, one, Some(comparison)));
}

/// A row of delays; with the errors of a prediction.
fn line(text: &mut String, delays: &Delays, against: Option<&Comparison>) {
    let _ = write!(text, "  {:<26}", delays.name);
    let measured = against.map(|comparison| &comparison.measured);
    let values = delays.quantiles.into_iter().chain([delays.largest_ns]);
    for (at, ns) in values.enumerate() {
        let cell = match measured {
            None => nanos_text(ns),
            Some(measured) => {
                let is = measured.quantiles.get(at).copied().unwrap_or(measured.largest_ns);
                let error = 100.0 * (ns as f64 / is.max(1) as f64 - 1.0);
                format!("{} ({error:+.1}%)", nanos_text(ns))
            }
        };
        let _ = write!(text, " {cell:>18}");
    }
    let _ = writeln!(text);
}

/// Whether the model that is judged is as near as it should be.
fn verdict(text: &mut String, quiet: &Comparison) {
    let Some(judged) = quiet.judged() else { return };
    let errors = quiet.errors(judged);
    let missed: Vec<String> = COMPARED
        .iter()
        .zip(errors)
        .filter(|(_, error)| error.abs() > GOAL)
        .map(|((name, _), error)| format!("{name} by {:+.1}%", 100.0 * error))
        .collect();
    let goal = 100.0 * GOAL;
    let _ = match missed.is_empty() {
        true => writeln!(text, "within {goal}% on quiet messages, {}: met", judged.name),
        false => writeln!(
            text,
            "within {goal}% on quiet messages, {}: missed at {}",
            judged.name,
            missed.join(", ")
        ),
    };
}

/// What each refinement of the model adds, up to what was measured.
fn explanation(text: &mut String, part: &Validation) {
    const STEPS: [&str; 5] = [
        "types differ",
        "after an idle time",
        "each has its own time",
        "interruptions",
        "not explained",
    ];
    let predicted = &part.all.predicted;
    let rows = predicted.iter().chain([&part.all.measured]);
    let rows: Vec<[u64; 4]> = rows.map(four).collect();
    let _ = writeln!(text, "{:<28}", "what explains it, all messages");
    if let Some(first) = rows.first() {
        let _ = write!(text, "  {:<26}", "constant");
        first.iter().for_each(|ns| _ = write!(text, " {:>18}", nanos_text(*ns)));
        let _ = writeln!(text);
    }
    for (pair, name) in rows.windows(2).zip(STEPS) {
        let _ = write!(text, "  {name:<26}");
        for (before, after) in pair[0].iter().zip(pair[1]) {
            let sign = if after < *before { '-' } else { '+' };
            let _ =
                write!(text, " {:>18}", format!("{sign}{}", nanos_text(after.abs_diff(*before))));
        }
        let _ = writeln!(text);
    }
    let _ = write!(text, "  {:<26}", "measured");
    four(&part.all.measured).iter().for_each(|ns| _ = write!(text, " {:>18}", nanos_text(*ns)));
    let _ = writeln!(text);
}

fn four(delays: &Delays) -> [u64; 4] {
    let [p50, p99, p999] = delays.quantiles;
    [p50, p99, p999, delays.largest_ns]
}
