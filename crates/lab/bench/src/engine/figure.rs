//! The figures of a table, each declared once: its member in JSON, its column in CSV and in text,
//! and its line on the page of the format follow from the declaration.
//!
//! A figure has a path: `ratio`, or `latency/p50_ns` for a member of the object `latency`. A
//! section lists the paths that its rows show; `head=path` shows a figure under another head,
//! and `path*` a spread with its range.

use serde_json::{Map, Value};

use super::{Benchmark, Measured, Run, Spread};

/// A figure of a row `R` of a run `C`.
pub(crate) struct Figure<R, C> {
    pub(crate) path: &'static str,
    /// What it is in JSON: `number or null`. Empty: it is in the text only.
    pub(crate) kind: &'static str,
    /// What it means.
    pub(crate) help: &'static str,
    pub(crate) cell: Option<Cell>,
    pub(crate) take: Take<R, C>,
}

/// How a figure is shown in the text. A last column without a width is printed only if it has
/// content.
#[derive(Clone, Copy)]
pub(crate) struct Cell {
    pub(crate) head: &'static str,
    pub(crate) width: usize,
    pub(crate) print: fn(&Value) -> String,
}

/// How a figure is taken from what was measured.
pub(crate) enum Take<R, C> {
    Value(fn(&R, &C) -> Value),
    /// Three members: the median over rounds, and with `_low` and `_high` the range of rounds.
    Spread(fn(&R, &C) -> Option<Spread>),
    /// With the object that it is a member of.
    Part,
}

/// The figures of a benchmark, in groups.
pub(crate) type Figures<B> = &'static [&'static [Figure<Measured<B>, Run<B>>]];

/// Declares figures: their help, path, kind, the cell of the text, and what is taken.
///
/// ```text
/// /// The share of lost messages
/// "lost_share": "number or null" ["lost" 8 percent] = |row, run| lost_share(row);
/// ```
///
/// Instead of a kind, `spread` takes a spread over rounds. `text` and `text_spread` are in the text
/// only.
macro_rules! figures {
    ($($(#[doc = $help:literal])* $path:literal: $kind:tt
        $([$head:literal $width:literal $print:ident])?
        $(= |$row:pat_param, $run:pat_param| $body:expr)?;)*) => {
        &[$($crate::engine::Figure {
            path: $path,
            kind: $crate::engine::figures!(@kind $kind),
            help: concat!($($help),*),
            cell: $crate::engine::figures!(@cell $($head $width $print)?),
            take: $crate::engine::figures!(@take $kind $(|$row, $run| $body)?),
        }),*]
    };
    (@kind text) => { "" };
    (@kind text_spread) => { "" };
    (@kind spread) => { "number or null" };
    (@kind $kind:literal) => { $kind };
    (@cell) => { None };
    (@cell $head:literal $width:literal $print:ident) => {
        Some($crate::engine::Cell {
            head: $head,
            width: $width,
            print: $crate::engine::form::$print,
        })
    };
    (@take spread |$row:pat_param, $run:pat_param| $body:expr) => {
        $crate::engine::figures!(@take text_spread |$row, $run| $body)
    };
    (@take text_spread |$row:pat_param, $run:pat_param| $body:expr) => {
        $crate::engine::Take::Spread(|$row, $run| $body)
    };
    (@take $kind:tt |$row:pat_param, $run:pat_param| $body:expr) => {
        $crate::engine::Take::Value(|$row, $run| ::serde_json::json!($body))
    };
    (@take $kind:literal) => { $crate::engine::Take::Part };
}
pub(crate) use figures;

/// The columns of CSV: the name of each is its path, unless another one is given.
macro_rules! columns {
    ($($name:literal $(= $path:literal)?),* $(,)?) => {
        &[$(($name, $crate::engine::columns!(@ $name $($path)?))),*]
    };
    (@ $name:literal) => { concat!("/", $name) };
    (@ $name:literal $path:literal) => { concat!("/", $path) };
}
pub(crate) use columns;

impl<R, C> Figure<R, C> {
    /// The names of its members in JSON.
    pub(crate) fn names(&self) -> Vec<String> {
        let suffixes: &[&str] =
            if matches!(self.take, Take::Spread(_)) { &["", "_low", "_high"] } else { &[""] };
        suffixes.iter().map(|suffix| format!("{}{suffix}", self.path)).collect()
    }

    /// Adds its members to those of a row.
    fn add(&self, row: &R, run: &C, members: &mut Map<String, Value>) {
        let values = match self.take {
            Take::Value(take) => vec![take(row, run)],
            Take::Spread(take) => {
                let spread = take(row, run);
                let of = |number: fn(Spread) -> f64| spread.map(number).into();
                vec![of(|one| one.median), of(|one| one.lowest), of(|one| one.highest)]
            }
            Take::Part => return,
        };
        members.extend(self.names().into_iter().zip(values));
    }
}

/// The JSON object of a row.
pub(crate) fn record<R, C>(figures: &[&[Figure<R, C>]], row: &R, run: &C) -> Value {
    let mut members = Map::new();
    for figure in figures.iter().copied().flatten().filter(|figure| !figure.kind.is_empty()) {
        figure.add(row, run, &mut members);
    }
    members.into()
}

/// One number of a row.
pub(crate) fn number<B: Benchmark>(row: &Measured<B>, run: &Run<B>, path: &str) -> Option<f64> {
    let mut members = Map::new();
    let object = path.split('/').next();
    let figure = B::FIGURES.iter().copied().flatten().find(|one| Some(one.path) == object)?;
    figure.add(row, run, &mut members);
    Value::from(members).pointer(&format!("/{path}"))?.as_f64()
}

/// A column of the text.
pub(crate) struct Shown<B: Benchmark> {
    pub(crate) head: &'static str,
    pub(crate) width: usize,
    path: String,
    cell: Cell,
    figure: &'static Figure<Measured<B>, Run<B>>,
}

impl<B: Benchmark> Shown<B> {
    /// The columns that a section calls `path`, `head=path` or `path*`; empty if no figure declares
    /// them.
    pub(crate) fn of(column: &'static str) -> Vec<Self> {
        let (head, path) =
            column.split_once('=').map_or((None, column), |(head, path)| (Some(head), path));
        let path = path.strip_suffix('*').unwrap_or(path);
        let mut figures = B::FIGURES.iter().copied().flatten();
        let Some(figure) = figures.find(|figure| figure.path == path) else { return Vec::new() };
        let Some(cell) = figure.cell else { return Vec::new() };
        let heads = [head.unwrap_or(cell.head), "lowest", "highest"];
        let all = figure.names().into_iter().zip(heads);
        let shown = all.map(|(path, head)| Self { head, width: cell.width, path, cell, figure });
        shown.take(if column.ends_with('*') { 3 } else { 1 }).collect()
    }

    /// The cell of a row with these members.
    pub(crate) fn cell(&self, row: &Measured<B>, run: &Run<B>, members: &Value) -> String {
        let found = if self.figure.kind.is_empty() {
            let mut own = Map::new();
            self.figure.add(row, run, &mut own);
            own.remove(&self.path)
        } else {
            members.pointer(&format!("/{}", self.path)).cloned()
        };
        (self.cell.print)(&found.unwrap_or_default())
    }
}

/// The tables of a page in docs/formats: the members of every row, and those of each object.
pub(crate) fn page<R, C>(figures: &[&[Figure<R, C>]], lists: &[(&str, String)]) -> String {
    const HEAD: &str = "| field | type | meaning |\n|---|---|---|\n";
    let all = || {
        let all = figures.iter().copied().flatten();
        all.filter(|figure| !figure.kind.is_empty() && !figure.help.is_empty())
    };
    let mut page = format!("## Every row\n\n{HEAD}");
    page.extend(all().filter(|one| !one.path.contains('/')).map(|one| one.line(0, lists)));
    for object in all() {
        let within = format!("{}/", object.path);
        let mut parts = all().filter(|figure| figure.path.starts_with(&within)).peekable();
        if parts.peek().is_some() {
            page += &format!("\n## `{}`\n\n{HEAD}", object.path);
            page.extend(parts.map(|figure| figure.line(within.len(), lists)));
        }
    }
    page
}

/// The same for a benchmark, with the names of its rows and sections.
pub(crate) fn page_of<B: Benchmark>() -> (&'static str, String) {
    let mut names: Vec<String> = Vec::new();
    let mut sections: Vec<String> = Vec::new();
    for row in B::ROWS {
        names.push(format!("`{}`", row.name));
        let section = format!("`{}`", row.section.name);
        if !sections.contains(&section) {
            sections.push(section);
        }
    }
    let lists = [("name", names.join(", ")), ("section", sections.join(", "))];
    (B::NAME, page(B::FIGURES, &lists))
}

impl<R, C> Figure<R, C> {
    /// Its line on a page, with the names that follow the first `within` bytes of its path.
    fn line(&self, within: usize, lists: &[(&str, String)]) -> String {
        let names: Vec<String> =
            self.names().iter().map(|name| format!("`{}`", &name[within..])).collect();
        let mut help = self.help.trim().to_owned();
        if matches!(self.take, Take::Spread(_)) {
            help += ". The median over rounds, and the lowest and the highest round";
        }
        if let Some((_, list)) = lists.iter().find(|(path, _)| *path == self.path) {
            help += &format!(": {list}");
        }
        format!("| {} | {} | {help} |\n", names.join(", "), self.kind)
    }
}
