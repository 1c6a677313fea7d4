//! What a study found: the fields of a record of kind `study`.

use serde_json::{Value, json};

use super::numbers::Quartiles;

/// A study's result, without the machine.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// How it was measured.
    pub(crate) method: String,
    /// What this machine answers, a sentence each.
    pub(crate) answers: Vec<String>,
    /// Names and units.
    pub(crate) columns: Vec<(&'static str, Unit)>,
    /// Each as long as the columns.
    pub(crate) rows: Vec<Vec<Value>>,
    pub(crate) plots: Vec<Plot>,
    /// What this machine does not allow, with the reason.
    pub(crate) not_measured: Vec<String>,
}

/// A column of a table whose rows are made from `R`, and its cell.
pub(super) type Cell<R> = (&'static str, Unit, fn(&R) -> Value);

/// Declares the columns of a table: a name, a unit and the cell of a row.
macro_rules! cells {
    ($($name:literal $unit:ident = |$row:pat_param| $cell:expr;)*) => {
        &[$(($name, $crate::study::findings::Unit::$unit, |$row| ::serde_json::json!($cell))),*]
    };
}
pub(super) use cells;

/// The unit of a column or of an axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unit {
    Nanos,
    Ratio,
    Percent,
    Count,
    /// The label of an axis states what is counted.
    Plain,
    Words,
}

/// A plot of some series.
#[derive(Debug)]
pub(crate) struct Plot {
    pub(crate) title: &'static str,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) series: Vec<Series>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    pub(crate) label: &'static str,
    pub(crate) unit: Unit,
    pub(crate) scale: Scale,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Scale {
    Linear,
    Log,
    Words,
}

/// Points with their quartiles or intervals.
#[derive(Debug)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<Point>,
}

#[derive(Debug)]
pub(crate) struct Point {
    pub(crate) x: Value,
    pub(crate) y: f64,
    /// The lower and the upper end; in all points of a series or in none.
    pub(crate) range: Option<(f64, f64)>,
}

impl Axis {
    pub(crate) const fn new(label: &'static str, unit: Unit, scale: Scale) -> Self {
        Self { label, unit, scale }
    }

    /// The times of a plot.
    pub(crate) const TIME: Self = Self::new("time", Unit::Nanos, Scale::Log);

    pub(crate) const fn words(label: &'static str) -> Self {
        Self::new(label, Unit::Words, Scale::Words)
    }

    fn json(self) -> Value {
        let scale = match self.scale {
            Scale::Linear => "linear",
            Scale::Log => "log",
            Scale::Words => "words",
        };
        json!({ "label": self.label, "unit": self.unit.name(), "scale": scale })
    }
}

impl Unit {
    fn name(self) -> Option<&'static str> {
        match self {
            Self::Nanos => Some("ns"),
            Self::Ratio => Some("x"),
            Self::Percent => Some("%"),
            Self::Count => Some("count"),
            Self::Plain | Self::Words => None,
        }
    }
}

impl Point {
    /// A median between its quartiles.
    pub(crate) fn of(x: impl Into<Value>, quartiles: Quartiles) -> Self {
        Self { x: x.into(), y: quartiles.median, range: Some(quartiles.range()) }
    }
}

impl Series {
    pub(crate) fn new(name: impl Into<String>, points: impl IntoIterator<Item = Point>) -> Self {
        Self { name: name.into(), points: points.into_iter().collect() }
    }

    fn json(&self) -> Value {
        let points: Vec<Value> =
            self.points.iter().map(|point| json!([point.x, point.y])).collect();
        let ranges: Option<Vec<_>> = self.points.iter().map(|point| point.range).collect();
        let low = ranges.as_ref().map(|ranges| ranges.iter().map(|one| one.0).collect::<Vec<_>>());
        let high = ranges.map(|ranges| ranges.iter().map(|one| one.1).collect::<Vec<_>>());
        json!({ "name": self.name, "points": points, "low": low, "high": high })
    }
}

impl Findings {
    /// Findings with a table.
    pub(super) fn of<R>(cells: &[Cell<R>], rows: &[R]) -> Self {
        Self {
            columns: cells.iter().map(|&(name, unit, _)| (name, unit)).collect(),
            rows: rows
                .iter()
                .map(|row| cells.iter().map(|(.., cell)| cell(row)).collect())
                .collect(),
            ..Self::default()
        }
    }

    /// The fields of the record.
    pub(crate) fn fields(&self, question: &str) -> Value {
        debug_assert!(self.rows.iter().all(|row| row.len() == self.columns.len()));
        let column = |(name, unit): &(&str, Unit)| json!({ "name": name, "unit": unit.name() });
        let plot = |plot: &Plot| {
            json!({
                "title": plot.title,
                "x": plot.x.json(),
                "y": plot.y.json(),
                "series": plot.series.iter().map(Series::json).collect::<Vec<_>>(),
            })
        };
        json!({
            "question": question,
            "method": self.method,
            "answers": self.answers,
            "columns": self.columns.iter().map(column).collect::<Vec<_>>(),
            "rows": self.rows,
            "plots": self.plots.iter().map(plot).collect::<Vec<_>>(),
            "not_measured": self.not_measured,
        })
    }
}
