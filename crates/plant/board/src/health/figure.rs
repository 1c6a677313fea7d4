//! A figure of a plant's health, or of another subject: its name, its value with a unit, and what a
//! collector receives. JSON, the sentences of a page and metrics are loops over them, so each
//! figure is declared once.

use std::borrow::Cow;

use nanotape_trace::Histogram;

/// A figure of a plant's health.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Figure {
    /// Its name in JSON, which contains the unit.
    pub name: Cow<'static, str>,
    /// `None` if it is not known.
    pub value: Option<FigureValue>,
    /// Whether a comparison of two readings has its increase per second.
    pub has_rate: bool,
    /// Whether JSON has it.
    pub is_in_json: bool,
    /// What a collector receives; `None`: nothing.
    pub metric: Option<Metric>,
}

/// The value of a figure.
#[derive(Clone, PartialEq, Debug)]
pub enum FigureValue {
    /// A whole number, of bytes if the name says so.
    Whole(u64),
    /// A time span in ns.
    Nanos(u64),
    /// A point in time, ns since the UNIX epoch.
    Time(u64),
    /// A point in time, and the ns since then at the query: negative if it is ahead of the clock,
    /// `None` if the point in time is not known.
    Age(u64, Option<i64>),
    /// Percent, or an increase per second.
    Real(f64),
    /// A name or a list of names.
    Text(String),
    /// Yes or no.
    Flag(bool),
    /// A state, and all states.
    State(&'static str, &'static [&'static str]),
    /// Time spans in ns.
    Times(Histogram),
    /// A list, with the same figures in each row.
    Rows(Vec<Vec<Figure>>),
}

/// A sample for a collector, and the family to which it belongs.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Metric {
    /// What the samples of the family are.
    pub kind: Kind,
    /// The name of the family after `nanotape_`, which ends with its base unit.
    pub name: Cow<'static, str>,
    /// What the samples count or measure.
    pub help: &'static str,
    /// The label that distinguishes this sample in the family, and its text.
    pub label: Option<(Cow<'static, str>, &'static str)>,
}

/// What the samples of a family are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Numbers that only increase.
    Counter,
    /// Numbers.
    Gauge,
    /// Counts of values by magnitude.
    Histogram,
    /// One for each state: 1 for the current state, 0 for the others.
    StateSet,
    /// Always 1; the value of the figure is the text of one of the labels.
    Info,
    /// None: the figure is a label of all samples of its row.
    Label,
}

/// A whole number, of bytes if the name says so.
pub fn whole(name: impl Into<Cow<'static, str>>, value: impl Into<Option<u64>>) -> Figure {
    Figure::new(name, value.into().map(FigureValue::Whole))
}

/// A time span in ns.
pub fn nanos(name: impl Into<Cow<'static, str>>, value: impl Into<Option<u64>>) -> Figure {
    Figure::new(name, value.into().map(FigureValue::Nanos))
}

/// A point in time, ns since the UNIX epoch; 0: not known.
pub fn time(name: &'static str, utc_ns: u64) -> Figure {
    Figure::new(name, (utc_ns != 0).then_some(FigureValue::Time(utc_ns)))
}

/// Percent, or an increase per second.
pub fn real(name: impl Into<Cow<'static, str>>, value: Option<f64>) -> Figure {
    Figure::new(name, value.map(FigureValue::Real))
}

/// A name or a list of names.
pub fn text(name: &'static str, value: Option<impl ToString>) -> Figure {
    Figure::new(name, value.map(|value| FigureValue::Text(value.to_string())))
}

/// Yes or no.
pub fn flag(name: &'static str, value: bool) -> Figure {
    Figure::new(name, Some(FigureValue::Flag(value)))
}

impl Figure {
    /// A figure of JSON that a collector does not receive.
    pub fn new(name: impl Into<Cow<'static, str>>, value: Option<FigureValue>) -> Self {
        Self { name: name.into(), value, has_rate: false, is_in_json: true, metric: None }
    }

    /// The same with its increase per second in a comparison of two readings.
    pub fn with_rate(self) -> Self {
        Self { has_rate: true, ..self }
    }

    /// The same, but JSON does not have it.
    pub fn outside_json(self) -> Self {
        Self { is_in_json: false, ..self }
    }

    /// A number that only increases.
    pub fn counter(self, help: &'static str) -> Self {
        self.metric(Kind::Counter, help)
    }

    /// A number.
    pub fn gauge(self, help: &'static str) -> Self {
        self.metric(Kind::Gauge, help)
    }

    /// A label of all samples of its row.
    pub fn label(self) -> Self {
        self.metric(Kind::Label, "")
    }

    /// [`about`] names the family, if [`named`](Self::named) does not.
    pub fn metric(self, kind: Kind, help: &'static str) -> Self {
        Self { metric: Some(Metric { kind, name: "".into(), help, label: None }), ..self }
    }

    /// Names the family.
    pub fn named(mut self, family: &'static str) -> Self {
        self.metric.iter_mut().for_each(|metric| metric.name = family.into());
        self
    }

    /// The sample of its family with this label.
    pub fn of(mut self, label: &'static str, text: &'static str) -> Self {
        self.metric.iter_mut().for_each(|metric| metric.label = Some((label.into(), text)));
        self
    }
}

/// Names the families of figures after their subject and their names in JSON, with base units.
pub fn about(subject: &'static str, mut figures: Vec<Figure>) -> Vec<Figure> {
    for Figure { name, value, metric, .. } in &mut figures {
        let Some(metric) = metric.as_mut().filter(|metric| metric.name.is_empty()) else {
            continue;
        };
        let own = name.strip_prefix(subject).unwrap_or(name).trim_start_matches('_');
        let is_time = matches!(value, Some(FigureValue::Time(_) | FigureValue::Age(..)));
        let (base, unit) = match own.trim_end_matches("_ns").trim_end_matches("_age") {
            time if is_time => (time, "_timestamp_seconds"),
            span if own.ends_with("_ns") => (span, "_seconds"),
            _ => own.strip_suffix("_percent").map_or((own, ""), |share| (share, "_ratio")),
        };
        (metric.name, metric.label) = match metric.kind {
            Kind::Info => (subject.into(), Some((own.to_owned().into(), ""))),
            Kind::Label => (name.clone(), None),
            _ => (format!("{subject}_{base}{unit}").into(), metric.label.take()),
        };
    }
    figures
}
