//! Samples of `delay` records: a day with a gap, a quiet hour and a shift, and one without an
//! estimate.

use serde_json::{Value, json};

use crate::samples::Numbers;

const SECOND: i64 = 1_000_000_000;
const OPEN: i64 = 34_200 * SECOND;
const SPAN: i64 = 60 * SECOND;
const SPANS: i64 = 60;

/// The true delay of a span: larger in the last third.
fn truth(span: i64) -> f64 {
    350_000.0 + 400.0 * span as f64 + if span >= 40 { 60_000.0 } else { 0.0 }
}

/// What is left out and refused in a span.
fn absence(span: i64) -> Option<(&'static str, &'static str)> {
    match span {
        20..23 => Some(("left_out", "gap")),
        30..34 => Some(("refused", "3 changes of the first feed, 0 of the second, 10 needed")),
        _ => None,
    }
}

fn window(span: i64, symbol: &str, attribute: &str, numbers: &mut Numbers) -> Value {
    let mut window = json!({"from_ns": OPEN + span * SPAN, "until_ns": OPEN + (span + 1) * SPAN,
        "symbol": symbol, "attribute": attribute, "delay_ns": null, "low_ns": null,
        "high_ns": null, "support": null, "quality": null, "refused": null, "left_out": null});
    if let Some((field, reason)) = absence(span) {
        window[field] = json!(reason);
    } else {
        let delay_ns = truth(span) + 6_000.0 * numbers.bell();
        window["delay_ns"] = json!(delay_ns);
        window["low_ns"] = json!(delay_ns - 9_000.0);
        window["high_ns"] = json!(delay_ns + 12_000.0);
        window["support"] = json!(84);
        window["quality"] = json!(0.72);
    }
    window
}

fn span(span: i64) -> Value {
    let (delay_ns, absence) = (truth(span), absence(span));
    let of = |by: f64| if absence.is_none() { json!(delay_ns + by) } else { Value::Null };
    let out = i64::from(absence.is_some_and(|(field, _)| field == "left_out"));
    let refused = i64::from(absence.is_some_and(|(field, _)| field == "refused"));
    json!({"from_ns": OPEN + span * SPAN, "until_ns": OPEN + (span + 1) * SPAN,
           "delay_ns": of(0.0), "low_ns": of(-4_000.0), "high_ns": of(5_000.0),
           "p05_ns": of(-20_000.0), "p95_ns": of(30_000.0),
           "estimates": 4 * (1 - out - refused), "refused": 4 * refused, "left_out": 4 * out})
}

fn correlation(symbol: &str) -> Value {
    let lags_ns: Vec<i64> = (-200..=200).map(|lag| lag * 10_000).collect();
    let tent = |lag: i64| (1.0 - (lag - 350_000).abs() as f64 / 120_000.0).max(0.0);
    let mut numbers = Numbers::new(5);
    let values: Vec<f64> =
        lags_ns.iter().map(|&lag| 0.8 * tent(lag) + 0.03 * numbers.bell()).collect();
    json!({"symbol": symbol, "attribute": "bid size", "from_ns": OPEN, "until_ns": OPEN + SPAN,
           "lags_ns": lags_ns, "values": values, "peak_ns": 351_000.0, "low_ns": 320_000.0,
           "high_ns": 390_000.0, "refused": null})
}

fn pair(first: &str, second: &str, lead_ns: Option<f64>) -> Value {
    let of = |by: f64| lead_ns.map(|lead_ns| lead_ns + by);
    let (p, q) = if lead_ns.is_some() { (0.0004, 0.003) } else { (0.41, 0.67) };
    json!({"first": first, "second": second, "lead_ns": of(0.0), "low_ns": of(-4e6),
           "high_ns": of(5e6), "contrast": if lead_ns.is_some() { 0.62 } else { 0.03 },
           "lead_lag_ratio": lead_ns.map_or(1.02, |lead_ns| if lead_ns > 0.0 { 2.4 } else { 0.4 }),
           "p": p, "q": q, "is_found": lead_ns.is_some(),
           "refused": lead_ns.is_none().then_some("the largest correlation is 0.03, 0.08 needed")})
}

/// Two records: a whole one, and one whose windows are all refused.
pub(crate) fn delays() -> Vec<Value> {
    let mut numbers = Numbers::new(3);
    let keys = [("AAPL", "bid size"), ("AAPL", "offer price"), ("MSFT", "bid size")];
    let windows: Vec<Value> = (0..SPANS)
        .flat_map(|span| keys.map(|(symbol, attribute)| (span, symbol, attribute)))
        .map(|(span, symbol, attribute)| window(span, symbol, attribute, &mut numbers))
        .collect();
    let rows = keys.map(|(symbol, attribute)| {
        json!({"symbol": symbol, "attribute": attribute, "windows": 60, "estimates": 53,
               "refused": 4, "left_out": 3, "delay_ns": 366_100.5, "low_ns": 363_000.0,
               "high_ns": 369_000.25, "p05_ns": 349_000.0, "p95_ns": 430_000.0, "ns_per_s": 6.7})
    });
    let names = ["ES", "NQ", "SPY", "AAPL"];
    let pairs: Vec<Value> = (0..4)
        .flat_map(|first| (first + 1..4).map(move |second| (first, second)))
        .map(|(first, second)| {
            let lead_ns = match (first, second) {
                (0, 2) => Some(12.5e6),
                (1, 2) => Some(-8e6),
                (0, 1) => Some(0.5e6),
                _ => None,
            };
            pair(names[first], names[second], lead_ns)
        })
        .collect();
    let whole = json!({
        "format": "nanotape-lab", "version": 1, "kind": "delay", "name": "direct.pcap, slow.pcap",
        "clock": "receive", "first": "direct.pcap", "second": "slow.pcap",
        "method": "match-value", "settings": {"max-lag": "2 ms", "bin": "20 us"},
        "window_ns": SPAN,
        "total": {"delay_ns": 366_100.5, "low_ns": 364_000.0, "high_ns": 368_000.0,
                  "p05_ns": 349_000.0, "p95_ns": 430_000.0, "estimates": 159},
        "trend": {"ns_per_s": 6.7, "low_ns_per_s": 5.9, "high_ns_per_s": 7.6},
        "shifts": [{"from_ns": OPEN + 40 * SPAN, "before_ns": 364_000.0, "after_ns": 427_000.0}],
        "over_time": (0..SPANS).map(span).collect::<Vec<_>>(),
        "rows": rows, "windows": windows, "windows_left_out": 12,
        "correlations": [correlation("AAPL"), correlation("MSFT")],
        "matrix": {"false_discovery_rate": 0.05, "from_ns": OPEN, "until_ns": OPEN + 60 * SPAN,
                   "max_lag_ns": SECOND, "pairs": pairs},
    });
    let mut without = whole.clone();
    for field in ["total", "trend", "matrix"] {
        without[field] = Value::Null;
    }
    for field in ["shifts", "correlations", "over_time", "windows", "rows"] {
        without[field] = json!([]);
    }
    without["windows_left_out"] = json!(0);
    without["name"] = json!("quiet.pcap, slow.pcap");
    let mut quiet = span(31);
    quiet["from_ns"] = json!(OPEN);
    without["over_time"] = json!([quiet]);
    without["windows"] = json!([window(31, "AAPL", "bid size", &mut numbers)]);
    vec![whole, without]
}
