//! Figures of a plant, or of another subject, as text for Prometheus and other collectors:
//! OpenMetrics 1.0, or the older format of Prometheus (0.0.4), the only one that node_exporter
//! reads from files.
//!
//! Layout: docs/formats/metrics.md lists the names. The samples of both formats are the same; the
//! older one has fewer types and no units. Values are in base units, seconds and bytes. The
//! collector computes rates: every increasing number is a counter. Histograms have the same bounds
//! in every exposition, powers of two.

use std::fmt::{self, Write as _};

use nanotape_trace::Histogram;

use super::{
    PlantHealth,
    figure::{Figure, FigureValue, Kind, Metric},
};

impl PlantHealth {
    /// A complete exposition as OpenMetrics 1.0; every sample has the name of the ring.
    /// `lists_tainted` adds one sample for each stock whose book is unreliable.
    pub fn to_openmetrics(&self, ring: &str, lists_tainted: bool) -> String {
        exposition(Dialect::OpenMetrics, ("ring", ring), &self.figures(lists_tainted))
    }

    /// The same in the text format 0.0.4 of Prometheus.
    pub fn to_prometheus(&self, ring: &str, lists_tainted: bool) -> String {
        exposition(Dialect::Prometheus, ("ring", ring), &self.figures(lists_tainted))
    }
}

/// A complete exposition of the figures of a subject. Its label and its name are in every sample.
pub fn exposition(dialect: Dialect, subject: (&str, &str), figures: &[Figure]) -> String {
    let mut families = Vec::new();
    collect(figures, &mut families);
    let subject = format!("{}=\"{}\"", subject.0, escaped(subject.1));
    let mut text = Exposition { dialect, text: String::new(), subject };
    families.iter().for_each(|family| text.family(family));
    text.text + if dialect == Dialect::OpenMetrics { "# EOF\n" } else { "" }
}

/// The samples of one family.
struct Family<'f> {
    metric: &'f Metric,
    samples: Vec<(Labels<'f>, &'f FigureValue)>,
}

/// Names and texts.
type Labels<'f> = Vec<(&'f str, String)>;

/// Sorts the known samples of figures, and of the rows in lists, into their families.
fn collect<'f>(figures: &'f [Figure], families: &mut Vec<Family<'f>>) {
    let metrics =
        || figures.iter().filter_map(|figure| Some((figure.metric.as_ref()?, &figure.value)));
    let of_row = metrics().filter(|(metric, _)| metric.kind == Kind::Label);
    let of_row: Labels<'f> =
        of_row.map(|(metric, text)| (&*metric.name, label_text(text))).collect();
    for (metric, value) in metrics().filter(|(metric, _)| metric.kind != Kind::Label) {
        let known = value.as_ref().filter(|value| !matches!(value, FigureValue::Age(0, _)));
        let Some(known) = known else { continue };
        let place = families.iter().position(|family| family.metric.name == metric.name);
        let place = place.unwrap_or_else(|| {
            families.push(Family { metric, samples: Vec::new() });
            families.len() - 1
        });
        let samples = &mut families[place].samples;
        let is_info = metric.kind == Kind::Info;
        let own = metric.label.as_ref().map(|(label, text)| {
            (&**label, if is_info { label_text(value) } else { (*text).to_owned() })
        });
        match samples.last_mut() {
            Some((labels, _)) if is_info && labels.starts_with(&of_row) => labels.extend(own),
            _ => samples.push((of_row.iter().cloned().chain(own).collect(), known)),
        }
    }
    let lists = figures.iter().filter_map(|figure| match &figure.value {
        Some(FigureValue::Rows(rows)) => Some(rows),
        _ => None,
    });
    lists.flatten().for_each(|row| collect(row, families));
}

fn label_text(value: &Option<FigureValue>) -> String {
    match value {
        Some(FigureValue::Whole(number)) => number.to_string(),
        Some(FigureValue::Text(text)) => text.clone(),
        _ => String::new(),
    }
}

/// The format of an exposition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dialect {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// The text format 0.0.4 of Prometheus. It has no types for information and for states, and a
    /// counter has the name of its sample.
    Prometheus,
}

/// The text so far. Every sample names the subject.
struct Exposition {
    dialect: Dialect,
    text: String,
    /// The label of the subject, and its name, escaped.
    subject: String,
}

impl Exposition {
    fn family(&mut self, Family { metric, samples }: &Family<'_>) {
        let Metric { kind, name, help, .. } = metric;
        let name = format!("nanotape_{name}");
        let (of_type, of_older, suffix) = match kind {
            Kind::Counter => ("counter", "counter", "_total"),
            Kind::Histogram => ("histogram", "histogram", ""),
            Kind::Info => ("info", "gauge", "_info"),
            Kind::StateSet => ("stateset", "gauge", ""),
            Kind::Gauge | Kind::Label => ("gauge", "gauge", ""),
        };
        // Writing to a string cannot fail.
        if self.dialect == Dialect::Prometheus {
            let _ = writeln!(self.text, "# HELP {name}{suffix} {}", escaped_help(help));
            let _ = writeln!(self.text, "# TYPE {name}{suffix} {of_older}");
        } else {
            let _ = writeln!(self.text, "# TYPE {name} {of_type}");
            if let Some((_, unit)) = name.rsplit_once('_').filter(|(_, unit)| UNITS.contains(unit))
            {
                let _ = writeln!(self.text, "# UNIT {name} {unit}");
            }
            let _ = writeln!(self.text, "# HELP {name} {}", escaped(help));
        }
        let sample = format!("{name}{suffix}");
        for (labels, value) in samples {
            match value {
                FigureValue::State(current, states) => states.iter().for_each(|state| {
                    self.sample(&sample, labels, Some((&name, state)), u8::from(state == current));
                }),
                FigureValue::Times(times) => self.histogram(&name, labels, times),
                _ if *kind == Kind::Info => self.sample(&sample, labels, None, 1),
                FigureValue::Whole(number) => self.sample(&sample, labels, None, number),
                FigureValue::Nanos(nanos)
                | FigureValue::Time(nanos)
                | FigureValue::Age(nanos, _) => {
                    self.sample(&sample, labels, None, Seconds(*nanos));
                }
                FigureValue::Real(percent) => {
                    self.sample(&sample, labels, None, format_args!("{:.4}", percent / 100.0));
                }
                FigureValue::Flag(is_set) => self.sample(&sample, labels, None, u8::from(*is_set)),
                FigureValue::Text(_) | FigureValue::Rows(_) => {}
            }
        }
    }

    fn sample(
        &mut self,
        name: &str,
        labels: &[(&str, String)],
        own: Option<(&str, &str)>,
        value: impl fmt::Display,
    ) {
        let _ = write!(self.text, "{name}{{{}", self.subject);
        let labels = labels.iter().map(|(label, text)| (*label, &**text));
        for (label, text) in labels.chain(own) {
            let _ = write!(self.text, ",{label}=\"{}\"", escaped(text));
        }
        let _ = writeln!(self.text, "}} {value}");
    }

    /// Adds cumulative buckets. The board's own bounds are finer, and include each of these.
    fn histogram(&mut self, name: &str, labels: &[(&str, String)], times: &Histogram) {
        let counts: Vec<_> = times.buckets().collect();
        let bucket = format!("{name}_bucket");
        for power in FIRST_POWER..=LAST_POWER {
            let bound = (1_u64 << power) - 1;
            let within = counts.iter().filter(|&&(highest, _)| highest <= bound);
            let within = within.fold(0, |sum: u64, &(_, count)| sum.saturating_add(count));
            self.sample(&bucket, labels, Some(("le", &Seconds(bound).to_string())), within);
        }
        self.sample(&bucket, labels, Some(("le", "+Inf")), times.count());
        let weighed = counts.iter().map(|&(highest, count)| highest.saturating_mul(count));
        let sum = weighed.fold(0, u64::saturating_add);
        self.sample(&format!("{name}_sum"), labels, None, Seconds(sum));
        self.sample(&format!("{name}_count"), labels, None, times.count());
    }
}

/// The base units that the name of a family can end with.
const UNITS: [&str; 3] = ["seconds", "bytes", "ratio"];

/// Bounds of histograms: from 15 ns to 2^31 - 1, two seconds.
const FIRST_POWER: u32 = 4;
const LAST_POWER: u32 = 31;

/// Nanoseconds as seconds, all digits.
struct Seconds(u64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

/// Escapes text after `# HELP` in the format of Prometheus, where quotes stay.
fn escaped_help(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n")
}

/// Escapes text inside quotes, and after `# HELP` in OpenMetrics.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::{
        super::figure::{about, text, whole},
        *,
    };

    #[test]
    fn labels_cannot_break_out_of_their_quotes() {
        let row = |name: &str| {
            let size = whole("bytes", 7).gauge("One \"two\"\nlines.");
            about("x", vec![text("name", Some(name)).label(), size])
        };
        let rows = FigureValue::Rows(vec![row("a\"b"), row("c\\")]);
        let figures = [Figure::new("rows", Some(rows))];
        let written = |dialect| exposition(dialect, ("ring", "a\"b\\c\nd"), &figures);
        let sample = "nanotape_x_bytes{ring=\"a\\\"b\\\\c\\nd\",name=";
        let samples = format!("{sample}\"a\\\"b\"}} 7\n{sample}\"c\\\\\"}} 7\n");
        let expected = "# TYPE nanotape_x_bytes gauge\n# UNIT nanotape_x_bytes bytes\n\
                        # HELP nanotape_x_bytes One \\\"two\\\"\\nlines.\n";
        assert_eq!(written(Dialect::OpenMetrics), format!("{expected}{samples}# EOF\n"));
        let expected = "# HELP nanotape_x_bytes One \"two\"\\nlines.\n\
                        # TYPE nanotape_x_bytes gauge\n";
        assert_eq!(written(Dialect::Prometheus), format!("{expected}{samples}"));
        assert_eq!(Seconds(1_500_000_001).to_string(), "1.500000001");
    }
}
