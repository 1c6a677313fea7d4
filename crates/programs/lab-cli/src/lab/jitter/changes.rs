//! `nanotape lab jitter --compare`: what changed, in words.

use core::fmt::Write as _;
use std::path::Path;

use anyhow::ensure;
use nanotape_console::{
    records::{Columns, RecordArguments},
    status::Status,
    values::nanos_text,
};
use nanotape_lab::record::read;
use nanotape_machine::changes::{Change, Verdict, changes};
use serde_json::{Value, json};

const COLUMNS: Columns = &[
    ("name", "/name"),
    ("what", "/what"),
    ("before", "/before"),
    ("after", "/after"),
    ("ratio_low", "/ratio_low"),
    ("ratio_high", "/ratio_high"),
    ("verdict", "/verdict"),
];

pub(super) fn run(before: &Path, after: &Path, output: &RecordArguments) -> anyhow::Result<Status> {
    let (old, new) = (read(before)?, read(after)?);
    let changes = changes(&old, &new);
    ensure!(
        !changes.is_empty(),
        "{} and {} have no variant of round trips in common; both are made by `nanotape lab jitter \
         -o FILE.json`",
        before.display(),
        after.display()
    );
    let mut output = output.records(COLUMNS)?;
    let mut variant = "";
    for change in &changes {
        if change.name != variant {
            variant = &change.name;
            output.heading(&heading(&changes, variant))?;
        }
        output.result(&line(change), record(change))?;
    }
    output.finish()?;
    Ok(Status::Good)
}

/// The variant, and the changes that are proved.
fn heading(changes: &[Change], variant: &str) -> String {
    let own = || changes.iter().filter(|change| change.name == variant && change.ratio.is_some());
    let proved = |verdict: Verdict| {
        let all = own().filter(|change| change.verdict == verdict).map(|change| &*change.what);
        all.collect::<Vec<_>>().join(", ")
    };
    let (better, worse) = (proved(Verdict::Better), proved(Verdict::Worse));
    let mut text = format!("{variant}\n  ");
    let _ = match (&*better, &*worse) {
        ("", "") if own().next().is_none() => {
            writeln!(text, "too few turns for an interval: use --turns 7 or more in both runs")
        }
        ("", "") => writeln!(text, "no quantile is proved to have changed"),
        (better, "") => writeln!(text, "faster: {better}"),
        ("", worse) => writeln!(text, "slower: {worse}"),
        (better, worse) => writeln!(text, "faster: {better}; slower: {worse}"),
    };
    text
}

fn line(change: &Change) -> String {
    let Change { what, before, after, ratio, verdict, .. } = change;
    let verdict = verdict.name();
    if what.ends_with("a second") {
        return format!("  {what:<52} {before:>10.1} -> {after:>10.1}   {verdict}\n");
    }
    let nanos = |nanos: &f64| nanos_text(*nanos as u64);
    let interval = match ratio {
        Some((low, high)) => format!("{:.3} x [{low:.3}, {high:.3}]", after / before),
        None => format!("{:.3} x, no interval", after / before),
    };
    let (before, after) = (nanos(before), nanos(after));
    format!("  {what:<9} {before:>10} -> {after:>10}   {interval:<28} {verdict}\n")
}

fn record(change: &Change) -> Value {
    json!({
        "kind": "jitter change",
        "name": change.name,
        "what": change.what,
        "before": change.before,
        "after": change.after,
        "ratio_low": change.ratio.map(|(low, _)| low),
        "ratio_high": change.ratio.map(|(_, high)| high),
        "verdict": change.verdict.name(),
    })
}
