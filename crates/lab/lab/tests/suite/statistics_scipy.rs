//! Compares every statistic with scipy's answer on the same numbers, and prints how far they are
//! apart: `cargo test -p nanotape-lab --test suite statistics_scipy:: -- --nocapture`.
//!
//! The answers are in `scipy/golden.json`, which `scipy/make_golden.py` writes. Tolerances follow
//! the less accurate side: scipy's normal tail loses z^2 roundings, and some of its exact tests
//! lose digits by subtraction.

use nanotape_lab::statistics::{
    bootstrap, hodges_lehmann, holm, normal, order, power, sign, signed_rank,
};
use serde_json::Value;

/// One line of the table: the largest differences of one statistic.
struct Line {
    name: &'static str,
    cases: usize,
    absolute: f64,
    relative: f64,
    tolerance: f64,
}

impl Line {
    fn new(name: &'static str, tolerance: f64) -> Self {
        Self { name, cases: 0, absolute: 0.0, relative: 0.0, tolerance }
    }

    /// Compares a pair of numbers. A true 0 has no relative difference; it allows 1e-12.
    fn compare(&mut self, ours: f64, theirs: f64) {
        let absolute = (ours - theirs).abs();
        self.cases += 1;
        if ours == theirs {
            return;
        }
        self.absolute = self.absolute.max(absolute);
        let relative = absolute / theirs.abs();
        assert!(
            relative <= self.tolerance || (theirs == 0.0 && absolute < 1e-12),
            "{}: {ours:e} here, {theirs:e} there",
            self.name
        );
        if theirs != 0.0 {
            self.relative = self.relative.max(relative);
        }
    }
}

fn floats(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(float).collect()
}

fn float(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

fn pairs(value: &Value) -> impl Iterator<Item = (f64, f64)> + '_ {
    value.as_array().expect("a list").iter().map(|pair| (float(&pair[0]), float(&pair[1])))
}

fn golden() -> Value {
    serde_json::from_str(include_str!("../scipy/golden.json")).expect("golden.json is JSON")
}

fn cases<'a>(golden: &'a Value, name: &str) -> &'a Vec<Value> {
    golden[name].as_array().unwrap_or_else(|| panic!("golden.json has {name}"))
}

fn normal_lines(golden: &Value) -> Vec<Line> {
    let line = |name, tolerance, function: fn(f64) -> f64| {
        let mut line = Line::new(name, tolerance);
        pairs(&golden[name]).for_each(|(input, theirs)| line.compare(function(input), theirs));
        line
    };
    vec![
        line("normal_cumulative", 1e-12, normal::cumulative),
        line("normal_survival", 1e-12, normal::survival),
        line("normal_quantile", 1e-13, normal::quantile),
    ]
}

fn order_lines(golden: &Value) -> Vec<Line> {
    let names = ["median", "skewness", "quantiles", "winsorised"];
    let mut lines = names.map(|name| Line::new(name, 1e-11));
    for case in cases(golden, "order") {
        let values = floats(&case["values"]);
        let [median, skewness, quantiles, winsorised] = &mut lines;
        median.compare(order::median(&values).unwrap(), float(&case["median"]));
        skewness.compare(order::skewness(&values).unwrap(), float(&case["skewness"]));
        for (q, theirs) in pairs(&case["quantiles"]) {
            quantiles.compare(order::quantile(&values, q).unwrap(), theirs);
        }
        for (share, theirs) in pairs(&case["winsorised"]) {
            let ours = order::winsorised_standard_deviation(&values, share).unwrap();
            winsorised.compare(ours, theirs);
        }
    }
    lines.into()
}

fn compare_tails(line: &mut Line, ours: [f64; 3], theirs: &Value) {
    for (ours, theirs) in ours.into_iter().zip(floats(theirs)) {
        line.compare(ours, theirs);
    }
}

fn wilcoxon_lines(golden: &Value) -> Vec<Line> {
    let runs = [("wilcoxon_exact", true), ("wilcoxon_approximate", false), ("wilcoxon_tied", true)];
    let mut lines = Vec::new();
    for (name, exact) in runs {
        let mut line = Line::new(name, 1e-11);
        for case in cases(golden, name) {
            let test = signed_rank::test(&floats(&case["values"]), float(&case["shift"]));
            assert_eq!(test.exact, exact, "{name}");
            line.compare(test.statistic, float(&case["statistic"]));
            let ours = [test.p_two_sided, test.p_greater, test.p_less];
            compare_tails(&mut line, ours, &case["p"]);
        }
        lines.push(line);
    }
    lines
}

fn sign_lines(golden: &Value) -> Vec<Line> {
    let mut tests = Line::new("binomtest", 1e-11);
    for case in cases(golden, "sign") {
        let (above, below) = (float(&case["above"]), float(&case["below"]));
        let differences = [vec![1.0; above as usize], vec![-1.0; below as usize]].concat();
        let test = sign::test(&differences, 0.0);
        let ours = [test.p_two_sided, test.p_greater, test.p_less];
        compare_tails(&mut tests, ours, &case["p"]);
    }
    let mut intervals = Line::new("quantile_test interval", 1e-15);
    for case in cases(golden, "median_interval") {
        let confidence = float(&case["confidence"]);
        let interval = sign::median_interval(&floats(&case["values"]), confidence).unwrap();
        assert!(interval.confidence >= confidence);
        let theirs = floats(&case["interval"]);
        intervals.compare(interval.low, theirs[0]);
        intervals.compare(interval.high, theirs[1]);
    }
    vec![tests, intervals]
}

fn hodges_lehmann_line(golden: &Value) -> Line {
    let mut line = Line::new("Walsh averages, brute force", 1e-11);
    for case in cases(golden, "hodges_lehmann") {
        let ours = hodges_lehmann::one_sample(&floats(&case["values"]), float(&case["confidence"]));
        let expected = &case["expected"];
        assert_eq!(ours.is_none(), expected.is_null());
        let Some(ours) = ours else { continue };
        line.compare(ours.value, float(&expected["value"]));
        line.compare(ours.interval.low, float(&expected["interval"][0]));
        line.compare(ours.interval.high, float(&expected["interval"][1]));
        line.compare(ours.interval.confidence, float(&expected["reached"]));
    }
    line
}

fn planning_lines(golden: &Value) -> Vec<Line> {
    let mut adjusted = Line::new("holm", 1e-15);
    for case in cases(golden, "holm") {
        let ours = holm::adjust(&floats(&case["p"]));
        for (ours, theirs) in ours.into_iter().zip(floats(&case["adjusted"])) {
            adjusted.compare(ours, theirs);
        }
    }
    let mut planned = Line::new("power", 1e-12);
    for case in cases(golden, "power") {
        let [sd, effect, alpha, share] =
            ["sd", "effect", "alpha", "power"].map(|name| float(&case[name]));
        let pairs = power::pairs_needed(sd, effect, alpha, share);
        planned.compare(pairs as f64, float(&case["pairs"]));
        let beyond = power::detectable_beyond(sd / 5.0, 0.01, alpha, share);
        planned.compare(beyond, float(&case["beyond"]));
    }
    vec![adjusted, planned]
}

/// Both sides draw different random numbers: the ends can differ by a part of the standard error of
/// the median.
fn bootstrap_line(golden: &Value) -> Line {
    let mut line = Line::new("bootstrap (in standard errors)", f64::INFINITY);
    for case in cases(golden, "bootstrap") {
        let values = floats(&case["values"]);
        let clusters: Vec<&[f64]> = values.chunks(1).collect();
        let found = bootstrap::block_quantile_intervals(&clusters, &[0.5], 20_000, 0.95, 11);
        let interval = found.unwrap()[0].interval;
        for (ours, end) in [(interval.low, 0), (interval.high, 1)] {
            let theirs = float(&case["interval"][end]);
            let errors = (ours - theirs).abs() / float(&case["error"]);
            assert!(errors < 0.25, "{ours} here, {theirs} there");
            line.cases += 1;
            line.absolute = line.absolute.max(errors);
            line.relative = line.relative.max((ours - theirs).abs() / theirs.abs());
        }
    }
    line
}

#[test]
fn every_statistic_agrees_with_scipy() {
    let golden = golden();
    println!("against scipy {}, numpy {}", golden["scipy"], golden["numpy"]);
    let lines = [
        normal_lines(&golden),
        order_lines(&golden),
        wilcoxon_lines(&golden),
        sign_lines(&golden),
        vec![hodges_lehmann_line(&golden)],
        planning_lines(&golden),
        vec![bootstrap_line(&golden)],
    ];
    println!("{:<32} {:>6} {:>10} {:>10} {:>10}", "statistic", "cases", "abs", "rel", "allowed");
    for Line { name, cases, absolute, relative, tolerance } in lines.into_iter().flatten() {
        println!("{name:<32} {cases:>6} {absolute:>10.1e} {relative:>10.1e} {tolerance:>10.0e}");
        assert!(cases > 0, "{name} has cases");
    }
}
