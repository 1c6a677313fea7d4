//! The page of a day: a sample, and what a browser draws of it.

use nanotape_harness::browser::{Browser, count, errors, on_threads};
use nanotape_report::day;
use serde_json::{Value, json};

use crate::{
    BUILT, HOSTILE, PRESS,
    samples::{Numbers, each_null},
    with_script,
};

const SECOND: u64 = 1_000_000_000;
const NOON: u64 = 43_200 * SECOND;

/// Counts around a mean, with one that is larger than all others.
fn counts(bins: usize, mean: f64, seed: u64) -> Vec<u64> {
    let mut numbers = Numbers::new(seed);
    let mut all: Vec<u64> =
        (0..bins).map(|_| (mean * (1.0 + 0.3 * numbers.bell())).max(0.0) as u64).collect();
    all[bins / 2] = (mean * 40.0) as u64;
    all
}

fn sample() -> Value {
    let stocks = 60_u64;
    let messages = |rank: u64| 900_000 / rank;
    let activity = (1..=25).map(|rank| {
        let all = messages(rank);
        let events =
            [all * 45 / 100, all * 3 / 100, all * 44 / 100, all * 7 / 100, 0, all / 100, 9];
        json!({"symbol": format!("STOCK{rank}"), "messages": all, "events": events})
    });
    let mut cumulative = 0;
    let concentration = (1..=stocks).map(|rank| {
        cumulative += messages(rank);
        json!({"rank": rank, "messages": messages(rank), "cumulative": cumulative})
    });
    let rates = (1..=stocks).map(|rank| {
        let all = messages(rank);
        json!([format!("STOCK{rank}"), all, all / 300 + 1, all / 3_000 + 1])
    });
    let depths = (0..=100_u64).map(|level| {
        let all = 1_000_000 / (level + 1).pow(2);
        [all, if level == 0 { 9_000 } else { 0 }, all * 9 / 10, all / 8, 0, 0, 0]
    });
    let bins = |first: u64, mean: u64| -> Vec<[u64; 3]> {
        let bin = |power: u64| [1 << power, 2 << power, mean + 100 * power];
        [[0, 1, first]].into_iter().chain((0..36).map(bin)).collect()
    };
    json!({
        "format": "nanotape-stats", "version": 1, "kind": "day", "name": "20191230.itch50",
        "lead": "5,900,000 messages of 60 stocks.", "date": "2019-12-30", "nanotape": "0.1.0",
        "input": "day file or capture",
        "selection": {"symbols": ["STOCK*"], "from_ns": 30_600 * SECOND, "until_ns": null},
        "damage": [], "notes": ["20191230.itch50: a note"],
        "has_orders": true, "messages": 5_900_000, "untimed": 3, "stocks": stocks,
        "inside_changes": 2_000_000, "anomalies": 0,
        "kinds": ["add", "execution", "cancel", "replace", "level", "trade", "other"],
        "activity": activity.collect::<Vec<_>>(),
        "concentration": concentration.collect::<Vec<_>>(),
        "rates": rates.collect::<Vec<_>>(),
        "depths": depths.collect::<Vec<_>>(),
        "arrivals": {
            "day": {"begins_ns": NOON, "bin_ns": 60 * SECOND, "counts": counts(60, 9_000.0, 1),
                    "largest_second": counts(60, 700.0, 1)},
            "minute": {"begins_ns": NOON, "bin_ns": SECOND / 10, "counts": counts(60, 80.0, 2)},
            "second": {"begins_ns": NOON, "bin_ns": SECOND / 1_000, "counts": counts(100, 9.0, 3)},
            "finest": {"begins_ns": NOON, "bin_ns": 10_000, "counts": counts(100, 3.0, 4)},
            "late": 7,
        },
        "inside": {
            "rate": {"begins_ns": NOON, "bin_ns": 60 * SECOND, "counts": counts(60, 3_000.0, 5),
                     "largest_second": counts(60, 200.0, 5)},
            "gaps": {"stock": bins(40, 900), "any": bins(7_000, 400)},
        },
    })
}

fn hostile() -> Value {
    let mut record = sample();
    for place in [
        "/name",
        "/lead",
        "/date",
        "/nanotape",
        "/input",
        "/damage/0",
        "/notes/0",
        "/selection/symbols/0",
        "/activity/0/symbol",
        "/rates/0/0",
        "/kinds/0",
    ] {
        if place == "/damage/0" {
            record["damage"] = json!([HOSTILE]);
            continue;
        }
        *record.pointer_mut(place).expect(place) = json!(HOSTILE);
    }
    record
}

/// A day of which nothing is known, as one without messages has it.
fn empty() -> Value {
    json!({"format": "nanotape-stats", "version": 1, "kind": "day", "name": "empty.itch50",
           "damage": ["empty.itch50: no message"], "messages": 0, "stocks": 0,
           "arrivals": {"day": null, "minute": null, "second": null, "finest": null, "late": 0},
           "inside": {"rate": null, "gaps": {"stock": [], "any": []}},
           "kinds": ["add"], "activity": [], "concentration": [], "rates": [], "depths": []})
}

#[test]
fn a_day_says_what_is_damaged_without_a_script() {
    let mut record = sample();
    record["damage"] = json!(["20191230.itch50: cut off in the record at offset <7>"]);
    let page = day(&record);
    assert!(page.contains("<li>20191230.itch50: cut off in the record at offset &lt;7&gt;</li>"));
    assert!(page.contains("<h1>20191230.itch50, 2019-12-30</h1>"));
    assert_eq!(count(&day(&sample()), "id=\"damage\""), 0);
    for other in [json!(null), json!({"format": "nanotape-stats", "version": 2, "kind": "day"})] {
        assert!(day(&other).contains("<li>not a day of format nanotape-stats, version 1</li>"));
    }
}

#[test]
fn a_day_is_text_and_fetches_nothing() {
    let (plain, page) = (day(&sample()), day(&hostile()));
    for tag in ["<script", "</script", "<img", "<!--", "-->"] {
        assert_eq!(count(&page, tag), count(&plain, tag), "{tag}");
    }
    for forbidden in [" src=", "<link", "@import", "url(", "fetch(", "xmlhttprequest"] {
        assert!(!plain.to_ascii_lowercase().contains(forbidden), "{forbidden}");
    }
    assert!(plain.is_ascii() && plain == day(&sample()));
}

#[test]
fn a_day_draws_in_a_browser_and_every_switch_can_be_pressed() {
    let Some(browser) = Browser::find(BUILT, "a_day_draws") else { return };
    let page = browser.document("day.html", &with_script(&day(&sample()), PRESS));
    assert_eq!(errors(&page), "");
    let expected = [
        // Concentration; two of rates; depth; four scales; the rate of changes and their times.
        ("data-drawn=\"yes\"", 1 + 2 + 1 + 4 + 2),
        ("data-shown=\"true\"", 10),
        ("class=\"shape activity\"", 1),
        ("<rect", 25 * 6 + 6),
        ("3 messages have no time of the day", 1),
        ("7 came more than a second after a later one", 1),
        ("08:30:00.000000000 to the end", 1),
        ("could not be drawn", 0),
    ];
    for (what, times) in expected {
        assert_eq!(count(&page, what), times, "{what}");
    }
}

#[test]
fn a_day_of_other_values_draws_what_there_is() {
    let Some(browser) = Browser::find(BUILT, "a_day_of_other_values") else { return };
    let mut of_levels = sample();
    of_levels["has_orders"] = json!(false);
    let pages = [
        ("hostile", vec![hostile()], 10, ""),
        ("empty", vec![empty()], 0, "No message has a time."),
        ("levels", vec![of_levels], 10, "This exchange shows price levels and no orders"),
        ("broken", each_null(&sample()), 100, ""),
    ];
    on_threads(&pages, |(name, records, drawn, words)| {
        // Several records in one page: a browser takes seconds for each page.
        let (start, end) = ("id=\"records\">", "</script>");
        let page = day(&records[0]);
        let (before, rest) = page.split_once(start).expect("the page has records");
        let (_, after) = rest.split_once(end).expect("they end");
        let data = Value::from(records.clone()).to_string().replace('<', "\\u003c");
        let page = with_script(&[before, start, &data, end, after].concat(), "Lab.unfoldAll()");
        let page = browser.document(&format!("{name}.html"), &page);
        assert_eq!(errors(&page), "", "{name}");
        assert_eq!(count(&page, "could not be drawn"), 0, "{name}");
        assert_eq!(count(&page, "<img"), 0, "{name}");
        let has = count(&page, "data-drawn=\"yes\"");
        let is_right = if records.len() == 1 { has == *drawn } else { has > *drawn };
        assert!(is_right, "{name}: {has} plots");
        assert!(page.contains(words), "{name}: {words}");
    });
}
