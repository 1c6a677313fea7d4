//! The pages of jitter, of studies, of queues, of slow messages and of delays: their samples, and
//! what a browser draws of them.

use nanotape_harness::browser::{Browser, count, errors, on_threads};
use nanotape_report::{delay, explain, jitter, queue, study};
use serde_json::{Value, json};

use crate::{
    BUILT, HOSTILE, PRESS,
    delays::delays,
    samples::{Numbers, each_null, environment, quantiles_of},
    with_script,
};

/// A `jitter` record of this variant, of about `ns` a round trip.
fn run(name: &str, ns: f64, seed: u64) -> Value {
    let mut numbers = Numbers::new(seed);
    let mut trips: Vec<f64> = (0..4_000)
        .map(|index| {
            let slow = if index % 400 == 0 { 60.0 } else { 1.0 };
            (ns * slow * (1.0 + 0.08 * numbers.bell().abs())).round()
        })
        .collect();
    let (low, high): (Vec<f64>, Vec<f64>) = trips
        .chunks(20)
        .map(|slice| (slice[0].min(slice[1]), slice.iter().copied().fold(0.0, f64::max)))
        .unzip();
    trips.sort_by(f64::total_cmp);
    let mut distribution: Vec<(f64, u64)> = Vec::new();
    for &trip in &trips {
        match distribution.last_mut() {
            Some((highest, count)) if *highest == trip => *count += 1,
            _ => distribution.push((trip, 1)),
        }
    }
    let quantiles = quantiles_of(&trips);
    let cause = |cause: &str, side: &str, count: u64| {
        json!({"cause": cause, "side": side, "count": count, "ns": count * 18_000,
               "p50_ns": 17_500, "max_ns": 44_000})
    };
    json!({
        "format": "nanotape-lab", "version": 1, "kind": "jitter", "name": name,
        "time": "2026-11-24T10:00:00Z", "environment": environment("alder", 0), "noise": [],
        "clock": {"source": "tsc", "stamp_ns": 9.4, "resolution_ns": 0.38},
        "variant": {"ring": "cells", "wait": "spin", "cpus": [2, 3], "class": "normal",
                    "priority": null, "huge_pages": false},
        "round_trips": {"unit": "ns a round trip", "count": 4_000, "quantiles": quantiles,
                        "intervals": {"p50": [ns, ns * 1.02]}, "distribution": distribution},
        "turns": [],
        "series": {"slice_ns": 4_000_000, "low": low, "p50": low, "high": high},
        "longest": [{"at_ns": 12_000_000, "ns": ns * 60.0, "side": "ponger",
                     "cause": "preempted by kworker vmstat_update"}],
        "slow": {"pinger": 3, "ponger": 4, "both": 2, "neither": 1},
        "interruptions": {
            "threshold_ns": 1_000,
            "sides": [{"side": "pinger", "cpu": 2, "watched_ns": 800_000_000, "count": 320,
                       "lost_ns": 5_760_000}],
            "causes": [cause("timer interrupt", "pinger", 300), cause("unexplained", "ponger", 20)],
        },
        "kernel_events": {"read": 9_000, "lost": 12, "overrun": 12, "dropped": 0, "missing": 12,
                          "not_kept": 0},
        "refused": ["real-time scheduling was refused: Operation not permitted"],
        "counters": {"bad_speculation": 0.034}, "counters_absent": null,
        "rungs": [{"rung": "page faults", "used": true, "why": null},
                  {"rung": "events of the kernel", "used": false, "why": "it needs root"}],
    })
}

/// A `gaps` record of this processor.
fn processor(cpu: u32) -> Value {
    let longest: Vec<Value> = (0..60)
        .map(|index| {
            let cause = if index % 3 == 0 { "unexplained" } else { "timer interrupt" };
            json!([index * 4_000_000, 15_000 + 100 * (index % 7), cause])
        })
        .collect();
    json!({
        "format": "nanotape-lab", "version": 1, "kind": "gaps", "name": format!("processor {cpu}"),
        "time": "2026-11-24T10:00:00Z", "environment": environment("alder", 0), "noise": [],
        "clock": {"source": "tsc", "stamp_ns": 9.4, "resolution_ns": 0.38},
        "cpu": cpu, "class": "fifo", "priority": 40, "watched_ns": 1_000_000_000_u64,
        "turns": 90_000_000, "threshold_ns": 300, "count": 60, "not_kept": 0, "lost_ns": 900_000,
        "quantiles": {"p0": 15_000, "p50": 15_300, "p99": 15_600, "p100": 15_600},
        "distribution": [[15_100, 20], [15_400, 30], [15_600, 10]],
        "longest": longest,
        "causes": [{"cause": "timer interrupt", "count": 40, "ns": 600_000, "p50_ns": 15_300,
                    "max_ns": 15_600}],
        "interrupts": [{"name": "Local timer interrupts", "count": 250}],
        "unmatched": 0,
        "periods": [{"period_ns": 10_000_000.0, "strength": 0.92, "count": 20, "is_found": true}],
        "speed": {"turn_ns": 10.9, "low_ns": 10.8, "high_ns": 11.2, "steps": 2},
        "refused": [], "rungs": [],
    })
}

/// A `study` record with a plot of numbers and one of words.
fn answer(name: &str) -> Value {
    json!({
        "format": "nanotape-lab", "version": 1, "kind": "study", "name": name,
        "time": "2026-11-24T10:00:00Z", "environment": environment("alder", 0), "noise": [],
        "clock": {"source": "tsc", "stamp_ns": 9.4, "resolution_ns": 0.38},
        "question": "What does a message cost after a pause?",
        "method": "Messages are applied to books at seven rates.",
        "answers": ["A message takes 2.9 times as long at 1 a second."],
        "columns": [{"name": "rate", "unit": "count"}, {"name": "median", "unit": "ns"},
                    {"name": "against the fastest", "unit": "x"}, {"name": "wait", "unit": null}],
        "rows": [[1, 812.0, 2.9, "sleep"], [1_000_000, 280.0, 1.0, "spin"]],
        "plots": [
            {"title": "Time of a message", "x": {"label": "messages a second", "unit": null,
             "scale": "log"}, "y": {"label": "one message", "unit": "ns", "scale": "log"},
             "series": [{"name": "sleep", "points": [[1, 812.0], [1_000_000, 280.0]],
                         "low": [700.0, 270.0], "high": [990.0, 300.0]}]},
            {"title": "By wait", "x": {"label": "wait", "unit": null, "scale": "words"},
             "y": {"label": "one message", "unit": "ns", "scale": "linear"},
             "series": [{"name": "median", "points": [["spin", 280.0], ["sleep", 812.0]],
                         "low": null, "high": null},
                        {"name": "longest", "points": [["spin", 300.0], ["sleep", 990.0]],
                         "low": null, "high": null}]},
        ],
        "not_measured": ["a second thread on the same core: this machine shows none"],
    })
}

/// A `queue` record with two service times.
fn queues(name: &str) -> Value {
    let service = |service_ns: u64, delay_ns: u64, growth: Option<f64>| {
        json!({"service_ns": service_ns, "largest_delay_ns": delay_ns, "growth": growth,
               "quantiles": {"p50": service_ns, "p99.99": delay_ns / 2},
               "largest_queue": delay_ns / service_ns, "worst_window_ns": 34_200_000_000_000_u64,
               "catch_up_ns": 2 * delay_ns, "utilisation": 0.031, "overloaded_windows": 0})
    };
    let window = |start_ns: u64, messages: u64, delay_ns: u64| {
        json!({"start_ns": start_ns, "messages": messages, "largest_delay_ns": delay_ns,
               "largest_queue": delay_ns / 112})
    };
    let delays = |name: &str, ns: u64| {
        json!({"name": name, "p50": ns, "p99": 2 * ns, "p99.9": 3 * ns, "largest_ns": 9 * ns,
               "curve": [[2, ns], [100, 2 * ns], [1_000, 3 * ns]]})
    };
    let compared = json!({
        "messages": 1_006_000, "measured": delays("measured", 200), "rounds": [[190, 210]],
        "predicted": [delays("constant", 184), delays("by type and idle time", 206)],
    });
    json!({
        "format": "nanotape-lab", "version": 1, "kind": "queue", "name": name,
        "arrivals": "event", "messages": 5_000_000, "reversed": 0,
        "first_ns": 25_200_000_000_000_u64, "last_ns": 72_000_000_000_000_u64,
        "window_ns": 10_000_000_000_u64,
        "answers": [{"quantile": 0.9999, "limit_ns": 10_000, "ring": null, "speed": null,
                     "longest_good_ns": 412, "shortest_bad_ns": 413},
                    {"quantile": null, "limit_ns": null, "ring": 64, "speed": 2.5,
                     "longest_good_ns": 280, "shortest_bad_ns": 281}],
        "services": [service(100, 8_100, None), service(112, 9_900, Some(1.77))],
        "windows_at_ns": 112,
        "receiver": {"messages": 4_999_000, "dropped": 1_000, "largest_delay_ns": 9_000,
                     "quantiles": {"p50": 130},
                     "cores": [{"messages": 4_999_000, "dropped": 1_000, "largest_queue": 64,
                                "largest_delay_ns": 9_000, "busy_ns": 560_000_000}]},
        "windows": [window(34_200_000_000_000, 61_000, 9_900), window(57_600_000_000_000, 900, 224)],
        "bursts": [{"first_ns": 34_200_000_000_000_u64, "last_ns": 34_200_000_090_000_u64,
                    "messages": 65, "largest_delay_ns": 9_900, "ring_speed": 1.6}],
        "validation": {"speed": 1.0, "parts": [{
            "name": "busiest second", "first_ns": 57_600_000_000_000_u64,
            "last_ns": 57_600_999_000_000_u64, "messages": 335_849, "replays": 3,
            "idle_share": 0.93, "interrupted_share": 0.021, "quiet": compared, "all": compared,
            "causes": [{"cause": "unexplained", "count": 1_222, "ns": 18_400_000}],
        }]},
    })
}

/// Every text that a record holds, as a name that tries to leave its place.
fn hostile(record: &Value) -> Value {
    fn replace(value: &mut Value, at: &str) {
        match value {
            Value::String(text) if !["format", "kind"].contains(&at) => *text = HOSTILE.to_owned(),
            Value::Array(entries) => entries.iter_mut().for_each(|entry| replace(entry, at)),
            Value::Object(fields) => {
                fields.iter_mut().for_each(|(name, field)| replace(field, name))
            }
            _ => {}
        }
    }
    let mut record = record.clone();
    replace(&mut record, "");
    record
}

/// An `explain` record with one slow message, and a record of that message alone.
fn slow_messages(name: &str) -> Vec<Value> {
    let message = json!({
        "message": 1_234_567, "arrival_ns": 1_764_000_000_000_000_000_u64, "total_ns": 5_012_345,
        "waited_ns": 4_000, "usual_ns": 150, "unexplained_ns": -12, "not_traced_ns": 0,
        "residual_ns": 1, "main": "behind: preempted by kworker",
        "interruptions": [{"cause": "preempted by kworker", "kind": "preempted", "ns": 5_008_206,
                           "message": 1_234_566, "cpu": 3}],
        "stages": [{"site": "plant.book", "ns": 120, "usual_ns": 100}],
        "spans": [
            {"site": "plant.book", "message": 1_234_566, "from_ns": 0, "to_ns": 5_010_000},
            {"site": "plant.ring", "message": 1_234_567, "from_ns": 5_010_000, "to_ns": 5_012_345},
        ],
        "spans_left_out": 77,
    });
    let total = |what: &str| json!([{"what": what, "messages": 3, "ns": 5_012_345}]);
    let mut alone = message.clone();
    for (field, value) in
        [("format", json!("nanotape-lab")), ("version", json!(1)), ("kind", json!("slow-message"))]
    {
        alone[field] = value;
    }
    alone["name"] = json!(name);
    vec![
        alone,
        json!({
            "format": "nanotape-lab", "version": 1, "kind": "explain", "name": name,
            "above_ns": 20_000, "messages": 4_000_000, "asked": 12, "lost_spans": 5,
            "damaged_spans": 0, "slow": 3, "total_ns": 5_012_345, "largest_residual_ns": 2,
            "by_main": total("behind: preempted by kworker"), "by_part": total("preempted by kworker"),
            "usual_ns": {"plant.book": 100}, "worst": [message],
        }),
    ]
}

fn runs() -> Vec<Value> {
    vec![
        run("cells, spin, pinned, normal", 410.0, 1),
        run("stream, spin, pinned, normal", 590.0, 2),
        processor(0),
    ]
}

type Page = (&'static str, fn(&[Value]) -> String, fn() -> Vec<Value>);
const PAGES: [Page; 5] = [
    ("jitter", jitter, runs),
    ("study", study, || vec![answer("cold"), answer("pause")]),
    ("queue", queue, || vec![queues("monday.gz"), queues("tuesday.gz")]),
    ("explain", explain, || slow_messages("equities plant")),
    ("delay", delay, delays),
];

#[test]
fn pages_of_the_machine_draw_in_a_browser_and_every_switch_can_be_pressed() {
    let Some(browser) = Browser::find(BUILT, "pages_of_the_machine") else { return };
    let expected: [&[(&str, usize)]; 5] = [
        &[
            // Two histograms and two series; two for the processor.
            ("data-drawn=\"yes\"", 4 + 2),
            ("class=\"card run\"", 2),
            ("class=\"card alone\"", 1),
            ("class=\"causes\"", 2 + 1),
            ("class=\"longest narrow\"", 2),
            (">unexplained<", 2 + 1),
            ("events of the kernel: it needs root", 2),
            ("the unexplained ones recur every", 1),
            ("data-shown=\"true\"", 6),
        ],
        &[
            ("data-drawn=\"yes\"", 2 * 2),
            ("class=\"card study\"", 2),
            ("class=\"study\"", 2),
            ("A message takes 2.9 times as long", 2),
            ("this machine shows none", 2),
            ("data-shown=\"true\"", 4),
        ],
        &[
            ("data-drawn=\"yes\"", 2 * 4),
            ("class=\"card study\"", 2),
            ("class=\"study\"", 2),
            ("class=\"receiver\"", 2),
            ("class=\"validated\"", 2 * 2),
            ("class=\"bursts\"", 2),
            ("1.6 times", 2),
            ("(+3%)", 2 * 2 * 4),
            ("1,222 unexplained (", 2),
            ("4,999,000 processed, 1,000 dropped", 2),
            ("needs at most 412 ns a message", 2),
            ("no drop in a ring of 64 needs at most 280 ns a message", 2),
            (">09:30:00.000</td>", 2 * 3),
            ("data-shown=\"true\"", 8),
        ],
        &[
            ("class=\"card explain\"", 1),
            ("class=\"causes\"", 2),
            ("class=\"timeline\"", 1),
            ("<rect", 2),
            ("class=\"interruptions\"", 1),
            ("3 of 4,000,000 messages took more than", 1),
            ("77 stages in the middle are not shown", 1),
        ],
        &[
            // Over time, single windows and a correlation; the quiet record has no correlation.
            ("data-drawn=\"yes\"", 3 + 2),
            // A refused window has no quality to point at.
            ("data-shown=\"true\"", 3 + 1),
            ("class=\"card delay\"", 2),
            ("class=\"delays\"", 1),
            ("class=\"pairs\"", 1),
            ("class=\"cell\"", 4 * 4),
            // Both directions of a found pair.
            ("class=\"ahead\"", 2 * 3),
            ("The second input is 366.1&nbsp;\u{b5}s later", 1),
            ("No window has an estimate", 1),
            ("Alarm: from 10:10:00.000 on the delay is", 1),
            ("24.12&nbsp;\u{b5}s an hour", 1),
            ("3 of 6 pairs found", 1),
            ("ES, SPY</th><td class=\"\">ES</td>", 1),
            ("NQ, SPY</th><td class=\"\">SPY</td>", 1),
            ("ES, NQ</th><td class=\"\">not clear</td>", 1),
            ("12 windows are not here, most of them with too few changes", 1),
        ],
    ];
    let pages: Vec<_> = PAGES.into_iter().zip(expected).collect();
    on_threads(&pages, |((name, draw, records), expected)| {
        let page = with_script(&draw(&records()), PRESS);
        let page = browser.document(&format!("{name}.html"), &page);
        assert_eq!(errors(&page), "", "{name}");
        for (what, times) in *expected {
            assert_eq!(count(&page, what), *times, "{name}: {what}");
        }
        assert_eq!(count(&page, "could not be drawn"), 0, "{name}");
    });
}

#[test]
fn pages_of_the_machine_draw_hostile_and_broken_records() {
    let Some(browser) = Browser::find(BUILT, "pages_of_the_machine_broken") else { return };
    on_threads(&PAGES, |(name, draw, records)| {
        let mut odd: Vec<Value> = records().iter().map(hostile).collect();
        for record in records().iter().rev().take(2) {
            odd.extend(each_null(record));
        }
        odd.extend([json!(null), json!({"format": "nanotape-lab", "version": 1, "kind": "bench"})]);
        let page = with_script(&draw(&odd), "Lab.unfoldAll()");
        let page = browser.document(&format!("{name}.html"), &page);
        assert_eq!(errors(&page), "", "{name}");
        assert_eq!(count(&page, "could not be drawn"), 0, "{name}");
        assert_eq!(count(&page, "<img"), 0, "{name}");
        assert!(page.contains("Skipped, not drawn: 2"), "{name}");
        // The page of slow messages has a timeline and no plots.
        let drawn = count(&page, "data-drawn") + count(&page, "class=\"timeline\"");
        assert!(drawn > 0, "{name}");
    });
}

#[test]
fn pages_of_the_machine_escape_their_records_and_fetch_nothing() {
    for (name, draw, records) in PAGES {
        let plain = draw(&records());
        let page = draw(&records().iter().map(hostile).collect::<Vec<_>>());
        for tag in ["<script", "</script", "<img", "<!--", "-->"] {
            assert_eq!(count(&page, tag), count(&plain, tag), "{name}: {tag}");
        }
        assert!(page.contains("\\u003c/script\\u003e\\u003cimg src=x"), "{name}: the data");
        assert!(draw(&[]).is_ascii(), "{name}");
        assert!(draw(&[]).contains("There are no records to draw."), "{name}");
        assert!(!plain.contains(" src=") && !plain.contains("fetch("), "{name}");
    }
}
