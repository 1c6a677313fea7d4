//! `nanotape delay`: days, captures, rings and lines whose delay is known.
//!
//! Bounds of shares are those of a binomial count, 3.3 standard deviations from its mean: one draw
//! of a thousand is beyond. Seeds are fixed.

mod faulty;
mod leads;
mod live;
mod usage;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use nanotape_harness::{Signal, eventually};
use serde_json::Value;

use crate::support::{
    Folder, Ran, nanotape, real_data,
    running::{Running, json, whole},
};

/// Midnight in New York on the date of the days.
const MIDNIGHT_NS: i64 = 1_577_682_000_000_000_000;

/// A day that is busy after 09:30.
const MARKET: [&str; 6] = ["--messages", "200k", "--stocks", "20", "--seed", "3"];
const MINUTES: [&str; 4] = ["--from", "09:30", "--until", "09:40"];

/// Two days and the quantiles of their delay, by the first moment of a window.
struct Days {
    folder: Folder,
    first: String,
    second: String,
    truth: BTreeMap<i64, [f64; 3]>,
}

impl Days {
    fn new(name: &str, spec: &str, options: &[&str]) -> Self {
        let folder = Folder::new(name);
        let path = |name| folder.path(name);
        let (first, second) = (path("a_20191230.itch50"), path("b_20191230.itch50"));
        let truth = path("truth.csv");
        let files = ["-o", &first, "--second-output", &second, "--truth", &truth];
        let ran = nanotape([&["synth", "--second-feed", spec], &files[..], options].concat());
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
        let rows = fs::read_to_string(&truth).unwrap();
        let cells = rows.lines().skip(1).filter_map(|row| {
            let cells: Vec<f64> = row.split(',').filter_map(|cell| cell.parse().ok()).collect();
            // Windows without a delay have empty cells.
            let &[from_ns, _, p05, median, p95, ..] = &cells[..] else { return None };
            (cells.len() == 10).then_some((MIDNIGHT_NS + from_ns as i64, [p05, median, p95]))
        });
        let truth = cells.collect();
        Self { folder, first, second, truth }
    }

    fn delay(&self, options: &[&str]) -> Ran {
        nanotape([&["delay", &self.first, &self.second], options].concat())
    }

    fn record(&self, options: &[&str]) -> Value {
        let ran = self.delay(&[options, &["--format", "json"]].concat());
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{options:?}");
        json(&ran.stdout)
    }

    /// All spans have a delay that the truth has too, and the intervals cover its median.
    fn check(&self, record: &Value) {
        let spans = list(record, "over_time");
        let mut covered = 0;
        for span in spans {
            let truth = self.truth[&(whole(&span["from_ns"]).unwrap() as i64)];
            // Both are medians of delays of one window, most of them the same ones.
            let [p05, median, p95] = truth;
            let delay = number(span, "delay_ns");
            assert!((p05..=p95).contains(&delay), "{span} {truth:?}");
            covered += usize::from(number(span, "low_ns") <= median);
            covered -= usize::from(number(span, "high_ns") < median);
        }
        let least = likely_least(spans.len(), 0.95);
        assert!(covered >= least, "{covered} of {}, expected {least}", spans.len());
    }
}

/// The least count of `trials` that is likely if each has a probability.
fn likely_least(trials: usize, probability: f64) -> usize {
    (trials as f64 * probability - 3.3 * deviation(trials, probability)).max(0.0).floor() as usize
}

/// The largest one.
fn likely_most(trials: usize, probability: f64) -> usize {
    (trials as f64 * probability + 3.3 * deviation(trials, probability)).ceil() as usize
}

fn deviation(trials: usize, probability: f64) -> f64 {
    (trials as f64 * probability * (1.0 - probability)).sqrt()
}

fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value[name].as_array().unwrap_or_else(|| panic!("{name} is a list in {value}"))
}

fn number(value: &Value, name: &str) -> f64 {
    let value_of = |value: &Value| value.as_f64().or_else(|| value.as_str()?.parse().ok());
    value_of(&value[name]).unwrap_or_else(|| panic!("{name} is a number in {value}"))
}

fn count(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_else(|| panic!("{name} is a count in {value}"))
}

#[test]
fn a_noisy_second_day_is_behind_by_the_delay_of_the_truth() {
    let spec = "delay=-19.5ms,drift=1us/s,jitter=20us,conflate=10%,foreign=20%,lost=1%";
    let days = Days::new("delay-noisy", spec, &[&MARKET[..], &["--truth-window", "10s"]].concat());
    let record = days.record(&[&["--window", "10s", "--pool"], &MINUTES[..]].concat());
    assert_eq!(list(&record, "over_time").len(), 60);
    assert_eq!((&record["clock"], &record["method"]), (&"event".into(), &"match-value".into()));
    days.check(&record);
    // A millisecond a thousand seconds.
    let trend = &record["trend"];
    let (low, high) = (number(trend, "low_ns_per_s"), number(trend, "high_ns_per_s"));
    assert!(low <= 1_000.0 && 1_000.0 <= high && high - low < 50.0, "{trend}");
    // By stock, with a delay between the first and the last one.
    let by_stock = days.record(&[&["--window", "60s"], &MINUTES[..]].concat());
    let rows = list(&by_stock, "rows");
    let estimates: u64 = rows.iter().map(|row| count(row, "estimates")).sum();
    assert!(rows.len() > 40 && estimates > 100, "{} rows, {estimates} estimates", rows.len());
    for row in rows.iter().filter(|row| count(row, "estimates") > 0) {
        assert!((250_000.0..950_000.0).contains(&number(row, "delay_ns")), "{row}");
    }
    let counted: u64 = rows.iter().map(|row| count(row, "windows")).sum();
    let listed = list(&by_stock, "windows").len() as u64;
    assert_eq!(listed + count(&by_stock, "windows_left_out"), counted);
    assert!(listed > 200, "{listed} of {counted} windows");
}

#[test]
fn correlations_find_the_delay_of_a_wave() {
    let wave = ["--wave", "square:2ms,stocks=2", "--hours", "10:00-10:00:02"];
    let days = Days::new("delay-wave", "delay=350us,jitter=20us", &wave);
    let options = ["--method", "xcorr", "--grid", "4us", "--window", "64ms"];
    // Half of the period: a wave is the same a period later.
    let record = days.record(&[&options[..], &["--max-lag", "900us"]].concat());
    // The truth has windows of a second.
    let [p05, median, p95] = days.truth[&(MIDNIGHT_NS + 36_000_000_000_000)];
    let spans = list(&record, "over_time").iter().filter(|span| !span["delay_ns"].is_null());
    let delays: Vec<f64> = spans.map(|span| number(span, "delay_ns")).collect();
    assert!(delays.len() >= 30, "{}", delays.len());
    assert!(delays.iter().all(|delay| (p05..=p95).contains(delay)), "{delays:?}");
    // The total is a median of some hundred intervals of a few us.
    let total = number(&record["total"], "delay_ns");
    assert!((total - median).abs() < 5_000.0, "{total}, expected {median}");
    let curve = &list(&record, "correlations")[0];
    assert_eq!(list(curve, "lags_ns").len(), list(curve, "values").len());
    // With larger lags there are other periods.
    let ran = days.delay(&["--method", "xcorr"]);
    assert!(ran.status == 1 && ran.stdout.contains("another lag fits nearly as well"), "{ran:?}");
}

#[test]
fn the_record_has_the_documented_fields_and_no_others() {
    let format = include_str!("../../../../../docs/formats/lab-delay.md");
    let documented = |title: &str| -> BTreeSet<String> {
        let section = format.split_once(title).unwrap().1.split("\n## ").next().unwrap();
        let section = section.split("Live lines add these").next().unwrap();
        let rows = section.lines().filter(|line| line.starts_with("| `"));
        let names = rows.flat_map(|row| {
            let cell = row.trim_start_matches('|').split('|').next().unwrap();
            cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()
        });
        names.collect()
    };
    let fields = |object: &Value| -> BTreeSet<String> {
        object.as_object().unwrap_or_else(|| panic!("{object}")).keys().cloned().collect()
    };
    let days = Days::new("delay-fields", "delay=350us,drift=1ms/h,jitter=20us", &MARKET);
    let options = ["--window", "10s", "--shift", "1ns", "--max-lag", "20ms"];
    let record = days.record(&[&options[..], &MINUTES[..]].concat());
    assert_eq!(fields(&record), documented("## `kind: delay`"));
    assert_eq!(fields(&record["total"]), documented("## A combined delay"));
    let mut span = documented("## A combined delay");
    span.extend(documented("## A span of `over_time`"));
    for value in list(&record, "over_time") {
        assert_eq!(fields(value), span);
    }
    for value in list(&record, "rows") {
        assert_eq!(fields(value), documented("## A row"));
    }
    for value in list(&record, "windows") {
        assert_eq!(fields(value), documented("## A window"));
    }
    assert_eq!(fields(&list(&record, "correlations")[0]), documented("## A correlation"));
    let named = |object: &Value| fields(object).iter().all(|name| format.contains(&**name));
    assert!(named(&record["trend"]) && named(&list(&record, "shifts")[0]));
    let matrix = days.record(&["--matrix", "--from", "09:30", "--until", "09:35"]);
    assert_eq!(fields(&matrix), documented("## `kind: delay`"));
    assert_eq!(fields(&list(&matrix["matrix"], "pairs")[0]).len(), 11);
    assert!(fields(&list(&matrix["matrix"], "pairs")[0]).is_subset(&documented("## The matrix")));
    assert!(fields(&matrix["matrix"]).is_subset(&documented("## The matrix")));
    let ran = nanotape(["lab", "delay", "--windows", "3", "--format", "json"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    for row in ran.stdout.lines().map(json) {
        assert_eq!(fields(&row), documented("## `kind: delay-accuracy`"));
    }
}

#[test]
fn the_table_of_accuracy_covers_the_truth_and_accepts_nothing_of_another_stock() {
    const WINDOWS: usize = 60;
    let scenarios = ["--scenarios", "noisy,unrelated", "--format", "json"];
    let ran = nanotape([&["lab", "delay", "--windows", "60"], &scenarios[..]].concat());
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let rows: Vec<Value> = ran.stdout.lines().map(json).collect();
    let row = |scenario: &str, method: &str| -> &Value {
        let is_it = |row: &&Value| row["scenario"] == scenario && row["method"] == method;
        rows.iter().find(is_it).unwrap_or_else(|| panic!("{scenario} {method}"))
    };
    for method in ["match-sequence", "match-value"] {
        let row = row("noisy", method);
        let (estimates, covered) = (count(row, "estimates"), count(row, "covered"));
        assert!(estimates >= 15 && count(row, "windows") >= WINDOWS as u64 * 4 / 5, "{row}");
        assert!(covered as usize >= likely_least(estimates as usize, 0.95), "{row}");
        assert_eq!(count(row, "close"), estimates, "{row}");
    }
    for method in ["xcorr", "xcorr of levels", "lead-lag"] {
        assert!(count(row("noisy", method), "windows") > 0, "{method}");
    }
    // Chance gives a peak that is accepted in one of a thousand windows.
    let accepted = count(row("unrelated", "match-value"), "estimates") as usize;
    assert!(accepted <= likely_most(WINDOWS, 1e-3), "{accepted}");
}

/// A synthetic flow with bursts of all lengths, and two real ones where they are: each burst has
/// its own jitter. The intervals of all defaults contained the delay in 47 of 100 windows of such
/// flow.
#[test]
fn the_jitter_of_bursts_is_covered_by_the_intervals_of_every_method() {
    let few = ["match-sequence", "match-value", "xcorr"];
    let files = ["aapl_20190130_open10k.itch50", "aapl_20191230_0935_midsession.itch50.gz"];
    let files: Vec<String> = files.into_iter().filter_map(real_data).collect();
    let flow = files.join(",");
    let mut options = vec!["lab", "delay", "--windows", "400", "--format", "json", "--scenarios"];
    let mut scenarios = "bursts-lognormal,bursts-exponential".to_owned();
    for file in &files {
        let name = file.rsplit('/').next().unwrap().split('.').next().unwrap();
        scenarios.push_str(&format!(",{name}-lognormal,{name}-exponential"));
    }
    options.push(&scenarios);
    if !files.is_empty() {
        options.extend(["--flow", &flow]);
    }
    let methods = few.join(",");
    options.extend(["--methods", &methods]);
    // Those that are not for lines of one market cost a hundred times as much.
    let others = "lab delay --windows 40 --format json --scenarios bursts-lognormal --methods";
    let others = others.split(' ').chain(["xcorr of levels,lead-lag"]);
    let mut rows: Vec<Value> = Vec::new();
    for options in [options, others.collect()] {
        let ran = nanotape(options);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
        rows.extend(ran.stdout.lines().map(json));
    }
    assert_eq!(rows.len(), few.len() * (2 + 2 * files.len()) + 2);
    for row in &rows {
        let (estimates, covered) =
            (count(row, "estimates") as usize, count(row, "covered") as usize);
        // Windows of one draw share its bursts: four series are hardly more than one.
        let least = estimates as f64 * 0.95 - 2.0 * 3.3 * deviation(estimates, 0.95);
        assert!(covered as f64 >= least, "{row}");
    }
    let matched = rows.iter().filter(|row| row["method"] == "match-value");
    for row in matched {
        let share = count(row, "estimates") as f64 / count(row, "windows") as f64;
        assert!(share > 0.3, "{row}");
    }
}

/// Two seconds have two million windows, and both days are read before the first one: an interrupt
/// ends the command after the window in progress, with its totals.
#[test]
fn an_interrupt_ends_the_command_after_a_window() {
    let wave = ["--wave", "square:2ms,stocks=2", "--hours", "10:00-10:00:02"];
    let days = Days::new("delay-interrupt", "delay=350us,jitter=20us", &wave);
    let options = ["--window", "1s", "--every", "1us", "--max-lag", "900us"];
    let inputs = ["delay", &days.first, &days.second];
    let mut running = Running::start(&[&inputs[..], &options].concat());
    while !running.read_line().contains(" us to ") {}
    running.signal(Signal::INT);
    eventually("the command ends", || !running.is_running());
    let (status, stdout, stderr) = running.end();
    assert_eq!(status, Some(0));
    assert_eq!(stderr, "nanotape: interrupted: the windows after this one are missing\n");
    assert!(stdout.contains("\nshifts: "), "{stdout}");
}

/// The delay grows by 20 ms an hour from 04:00 on: it is within reach for half a minute of an hour.
#[test]
fn a_total_of_hardly_any_window_is_refused() {
    let days = Days::new("delay-beyond", "delay=350us,drift=20ms/h,jitter=20us", &MARKET);
    let options = ["--window", "10s", "--from", "09:30", "--until", "10:30", "--max-lag"];
    let few = [&options[..], &["110500us"]].concat();
    let ran = days.delay(&[&few[..], &["--format", "json"]].concat());
    let record = json(&ran.stdout);
    let estimates: u64 = list(&record, "rows").iter().map(|row| count(row, "estimates")).sum();
    assert!(ran.status == 1 && record["total"].is_null(), "{record}");
    let reason = record["total_refused"].as_str().unwrap();
    assert!(reason.contains(&format!(": {estimates} of ")) && estimates > 4, "{reason}");
    assert!(reason.contains("--max-lag"), "{reason}");
    for format in ["text", "csv"] {
        let ran = days.delay(&[&few[..], &["--format", format]].concat());
        assert!(ran.status == 1 && ran.stderr.contains(reason), "{format}: {}", ran.stderr);
        assert!(format == "csv" || ran.stdout.contains(reason), "{}", ran.stdout);
    }
    let record = days.record(&[&options[..], &["140ms"]].concat());
    assert!(record["total_refused"].is_null() && !record["total"].is_null());
    // Without the delay within reach there is no estimate at all: chance gives none.
    let ran = days.delay(&[&options[..], &["100ms", "--format", "json"]].concat());
    let record = json(&ran.stdout);
    assert!(ran.status == 1 && record["total_refused"].is_null(), "{record}");
    assert!(list(&record, "rows").iter().all(|row| count(row, "estimates") == 0), "{record}");
}

#[test]
fn a_shift_is_an_alarm_and_on_request_a_status() {
    let window = [&["--window", "10s", "--pool", "--fail-on-shift"], &MINUTES[..]].concat();
    let steady = Days::new("delay-steady", "delay=350us,jitter=20us", &MARKET);
    let record = steady.record(&window);
    assert!(list(&record, "shifts").is_empty(), "{record}");
    let moving = Days::new("delay-moving", "delay=350us,jitter=20us,swing=2ms/1200s", &MARKET);
    let ran = moving.delay(&window);
    assert!(ran.status == 1 && ran.stdout.contains("\nSHIFT from "), "{}", ran.stdout);
    assert_eq!(ran.stderr, "");
    let without: Vec<&str> = window.iter().copied().filter(|it| *it != "--fail-on-shift").collect();
    let record = moving.record(&without);
    // The delay changes by 33 us from window to window, and a shift takes some of them.
    let shifts = list(&record, "shifts");
    assert!((5..=30).contains(&shifts.len()), "{shifts:?}");
    for pair in shifts.windows(2) {
        assert!(number(&pair[0], "from_ns") < number(&pair[1], "from_ns"));
        assert_eq!(pair[0]["after_ns"], pair[1]["before_ns"]);
    }
}
