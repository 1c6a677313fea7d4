//! The page of a day of a market: its stocks, rates, event depth, arrivals and inside changes.
//!
//! Reads a record of docs/formats/stats-page.md. What the record says about missing and damaged
//! parts is at the head of the page, also without scripts.

use serde_json::Value;

use crate::{
    measurements::SHARED_SCRIPTS,
    page::{Notice, Page, Script},
};

/// The supported format and version.
const FORMAT: &str = "nanotape-stats";
const VERSION: u64 = 1;

const DAY: Script = Script { name: "day.js", text: include_str!("assets/day.js") };

/// The page of a day: activity by stock, peak rates, event depth, messages in time at four scales,
/// and changes of the inside.
///
/// ```
/// let record = serde_json::json!({"format": "nanotape-stats", "version": 1, "kind": "day",
///     "name": "day.itch50", "damage": ["day.itch50: cut in a message"]});
/// assert!(nanotape_report::day(&record).contains("<li>day.itch50: cut in a message</li>"));
/// ```
#[must_use]
pub fn day(record: &Value) -> String {
    let is_known = record["format"] == FORMAT
        && record["version"].as_u64() == Some(VERSION)
        && record["kind"] == "day";
    let refused = (!is_known).then(|| format!("not a day of format {FORMAT}, version {VERSION}"));
    let refused = Vec::from_iter(refused);
    let records: &[&Value] = if is_known { &[record] } else { &[] };
    let (damage, notes) = (lines(&record["damage"]), lines(&record["notes"]));
    let notices = [
        Notice { id: "skipped", heading: "Not drawn", lines: &refused },
        Notice { id: "damage", heading: "Missing, damaged or in doubt", lines: &damage },
        Notice { id: "notes", heading: "Notes", lines: &notes },
    ];
    let path = record["name"].as_str().unwrap_or("(no name)");
    let name = path.rsplit('/').find(|part| !part.is_empty()).unwrap_or(path);
    let title = match record["date"].as_str() {
        Some(date) => format!("{name}, {date}"),
        None => name.to_owned(),
    };
    let scripts: Vec<Script> = SHARED_SCRIPTS.into_iter().chain([DAY]).collect();
    let lead = record["lead"].as_str().unwrap_or_default();
    Page { title: &title, lead, notices: &notices, records, scripts: &scripts }.to_html()
}

fn lines(value: &Value) -> Vec<String> {
    let lines = value.as_array().into_iter().flatten().filter_map(Value::as_str);
    lines.map(str::to_owned).collect()
}
