//! A strict reader of OpenMetrics 1.0 and of the text format 0.0.4 of Prometheus, to check the
//! output of `nanotape stat`. It panics with the line at anything that the format forbids.
//!
//! It was written from the specifications, not from the writer. `scripts/day-proof` checks the same
//! output with the reference parser, promtool and node_exporter.

use std::collections::{BTreeMap, HashMap, HashSet};

/// Units that a family can have here. A name that ends with one of them must declare it.
const UNITS: [&str; 3] = ["seconds", "bytes", "ratio"];

/// Units that are not base units: no name ends with one.
const NOT_BASE: [&str; 6] = ["ns", "nanoseconds", "milliseconds", "percent", "kib", "mib"];

/// The format of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Dialect {
    #[default]
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// The text format 0.0.4.
    Prometheus,
}

/// Names and texts in order.
type Labels = Vec<(String, String)>;

/// The parsed text: every sample with its labels, in order.
#[derive(Debug, Default)]
pub struct Exposition {
    samples: Vec<Sample>,
}

#[derive(Debug)]
struct Sample {
    name: String,
    labels: Labels,
    value: f64,
}

#[derive(Debug, Default)]
struct Family {
    dialect: Dialect,
    name: String,
    kind: String,
    unit: String,
    has_help: bool,
}

impl Exposition {
    /// Parses a text, and panics at what the format forbids.
    pub fn parse(text: &str, dialect: Dialect) -> Self {
        let text = match dialect {
            Dialect::OpenMetrics => text.strip_suffix("# EOF\n").expect("the last line is # EOF"),
            Dialect::Prometheus => text,
        };
        assert!(text.ends_with('\n'), "every line ends: {text}");
        let mut found = Self::default();
        let (mut families, mut seen) = (HashSet::new(), HashSet::new());
        let mut family = Family::default();
        for line in text.split_terminator('\n') {
            if let Some(comment) = line.strip_prefix("# ") {
                let (keyword, rest) = comment.split_once(' ').expect(line);
                let (name, value) = rest.split_once(' ').expect(line);
                if name != family.name {
                    assert!(families.insert(name.to_owned()), "a family twice: {line}");
                    assert!(family.name.is_empty() || family.has_help, "{family:?}");
                    family = Family { dialect, name: name.to_owned(), ..Family::default() };
                }
                family.describe(keyword, value, line);
            } else {
                let sample = sample(line);
                family.check(&sample, line);
                let place = (sample.name.clone(), sample.labels.clone());
                assert!(seen.insert(place), "a sample twice: {line}");
                found.samples.push(sample);
            }
        }
        found.check_histograms();
        found
    }

    /// Every sample as `name{label="text",...}`, with its value.
    pub fn samples(&self) -> BTreeMap<String, f64> {
        let samples = self.samples.iter();
        samples.map(|one| (format!("{}{:?}", one.name, one.labels), one.value)).collect()
    }

    /// The value of the only sample of that name with these labels.
    pub fn value(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let fits = |sample: &&Sample| {
            let has = |&(key, value): &(&str, &str)| sample.label(key) == Some(value);
            sample.name == name && labels.iter().all(has)
        };
        let found: Vec<_> = self.samples.iter().filter(fits).collect();
        assert_eq!(found.len(), 1, "{name} {labels:?}");
        found[0].value
    }

    /// A label of the only sample of that name.
    pub fn label(&self, name: &str, label: &str) -> &str {
        let sample = self.samples.iter().find(|sample| sample.name == name).unwrap();
        sample.label(label).unwrap()
    }

    /// The current state of the plant.
    pub fn state(&self) -> &str {
        let name = "nanotape_plant_state";
        let states = self.samples.iter().filter(|sample| sample.name == name);
        let mut states = states.filter(|sample| sample.value == 1.0);
        let state = states.next().and_then(|sample| sample.label(name)).unwrap();
        assert!(states.next().is_none(), "one state at a time");
        state
    }

    fn check_histograms(&self) {
        let mut last: HashMap<(String, Labels), (f64, f64)> = HashMap::new();
        for sample in self.samples.iter().filter(|sample| sample.name.ends_with("_bucket")) {
            let bound = match sample.label("le").unwrap() {
                "+Inf" => f64::INFINITY,
                bound => bound.parse().unwrap(),
            };
            let mut labels = sample.labels.clone();
            labels.retain(|(key, _)| key != "le");
            let base = sample.name.strip_suffix("_bucket").unwrap().to_owned();
            let (bound_before, count_before) =
                last.insert((base, labels), (bound, sample.value)).unwrap_or((f64::MIN, 0.0));
            assert!(bound > bound_before && sample.value >= count_before, "{sample:?}");
        }
        let is_of_plant = self.samples.iter().any(|sample| sample.label("ring").is_some());
        assert!(!last.is_empty() || !is_of_plant, "there are histograms");
        for ((base, labels), (bound, count)) in last {
            assert_eq!(bound, f64::INFINITY, "{base} ends with +Inf");
            let labels: Vec<_> = labels.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
            assert_eq!(self.value(&format!("{base}_count"), &labels), count);
            assert!(self.value(&format!("{base}_sum"), &labels) >= 0.0);
        }
    }
}

impl Family {
    fn describe(&mut self, keyword: &str, value: &str, line: &str) {
        match keyword {
            "TYPE" => {
                let known: &[&str] = match self.dialect {
                    Dialect::OpenMetrics => &["counter", "gauge", "histogram", "info", "stateset"],
                    Dialect::Prometheus => &["counter", "gauge", "histogram", "untyped"],
                };
                assert!(self.kind.is_empty() && known.contains(&value), "{line}");
                value.clone_into(&mut self.kind);
            }
            "UNIT" if self.dialect == Dialect::OpenMetrics => {
                assert!(self.unit.is_empty() && UNITS.contains(&value), "{line}");
                assert!(self.name.ends_with(&format!("_{value}")), "{line}");
                value.clone_into(&mut self.unit);
            }
            "HELP" => {
                assert!(!self.has_help && value.ends_with('.'), "{line}");
                self.has_help = true;
            }
            _ => panic!("{line}"),
        }
    }

    fn check(&self, sample: &Sample, line: &str) {
        assert!(self.has_help && !self.kind.is_empty(), "not declared: {line}");
        let ends_with = |unit: &&&str| self.name.ends_with(&format!("_{unit}"));
        assert!(!NOT_BASE.iter().any(|unit| ends_with(&unit)), "not a base unit: {line}");
        let named_unit = UNITS.iter().find(ends_with);
        if self.dialect == Dialect::OpenMetrics {
            assert_eq!(*named_unit.unwrap_or(&""), self.unit, "the unit is declared: {line}");
        }
        let suffix = sample.name.strip_prefix(&self.name).expect(line);
        let allowed: &[&str] = match self.kind.as_str() {
            "counter" if self.dialect == Dialect::OpenMetrics => &["_total"],
            "histogram" => &["_bucket", "_sum", "_count"],
            "info" => &["_info"],
            _ => &[""],
        };
        assert!(allowed.contains(&suffix), "a sample of another family: {line}");
        assert_eq!(sample.label("le").is_some(), suffix == "_bucket", "{line}");
        let subject = sample.labels.first().map(|(label, _)| label.as_str());
        assert!(matches!(subject, Some("ring" | "journal")), "{line}");
        if ["info", "stateset"].contains(&self.kind.as_str()) {
            assert!([0.0, 1.0].contains(&sample.value), "{line}");
        }
        assert_eq!(sample.name.ends_with("_total"), self.kind == "counter", "{line}");
        if self.kind == "counter" {
            assert!(sample.value >= 0.0, "{line}");
        }
    }
}

impl Sample {
    fn label(&self, key: &str) -> Option<&str> {
        self.labels.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }
}

/// `name{label="text",...} value`, and nothing else.
fn sample(line: &str) -> Sample {
    let (name, rest) = line.split_once('{').expect(line);
    assert!(is_name(name), "{line}");
    let mut labels = Vec::new();
    let mut rest = rest;
    loop {
        let (key, quoted) = rest.split_once("=\"").expect(line);
        assert!(is_name(key), "{line}");
        let (value, after) = unquoted(quoted, line);
        assert!(labels.iter().all(|(known, _)| known != key), "a label twice: {line}");
        labels.push((key.to_owned(), value));
        rest = match after.strip_prefix(',') {
            Some(more) => more,
            None => break rest_value(name, labels, after, line),
        };
    }
}

fn rest_value(name: &str, labels: Labels, after: &str, line: &str) -> Sample {
    let number = after.strip_prefix("} ").expect(line);
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    assert!(digits(whole) && digits(fraction), "{line}");
    Sample { name: name.to_owned(), labels, value: number.parse().unwrap() }
}

/// A label's text up to its closing quote, and what follows.
fn unquoted<'a>(text: &'a str, line: &str) -> (String, &'a str) {
    let (mut value, mut is_escaped) = (String::new(), false);
    for (at, character) in text.char_indices() {
        match (is_escaped, character) {
            (false, '"') => return (value, &text[at + 1..]),
            (false, '\\') => {}
            (true, 'n') => value.push('\n'),
            (true, '\\' | '"') | (false, _) => value.push(character),
            (true, _) => panic!("no such escape: {line}"),
        }
        is_escaped = !is_escaped && character == '\\';
    }
    panic!("a quote is not closed: {line}")
}

fn is_name(text: &str) -> bool {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.bytes().all(good) && text.bytes().next().is_some_and(|byte| !byte.is_ascii_digit())
}
