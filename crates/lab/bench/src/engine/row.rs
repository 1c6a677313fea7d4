//! The rows of a table, and their selection.

use anyhow::bail;

use super::{Benchmark, Run};

/// One thing that is measured.
#[derive(Debug)]
pub(crate) struct Row<B: Benchmark> {
    /// Its name, in options, tables and results.
    pub(crate) name: &'static str,
    pub(crate) section: &'static Section<B>,
    /// The work of its processes.
    pub(crate) work: B::Work,
}

/// A part of a table: rows with the same columns.
#[derive(Debug)]
pub(crate) struct Section<B: Benchmark> {
    /// Name of the section in results.
    pub(crate) name: &'static str,
    /// Whether the section measures times and not rates.
    pub(crate) is_timed: bool,
    /// The line above its rows.
    pub(crate) title: fn(&Run<B>) -> String,
    /// The figures that the text shows, in groups: see [`figure`](super::figure).
    pub(crate) columns: &'static [&'static [&'static str]],
}

/// Declares the sections of a table: the name in results, whether times or rates are measured, the
/// groups of figures that the text shows, and the line above the rows.
///
/// ```text
/// APPEND = "append" rates [WRITER, READER, END] |_| "Append: million messages a second";
/// ```
macro_rules! sections {
    ($table:ty: $($(#[$doc:meta])* $section:ident = $name:literal $kind:ident
        [$($columns:expr),* $(,)?] |$run:pat_param| $title:expr;)*) => {
        $($(#[$doc])*
        const $section: $crate::engine::Section<$table> = $crate::engine::Section {
            name: $name,
            is_timed: $crate::engine::sections!(@ $kind),
            title: |$run| String::from($title),
            columns: &[$($columns),*],
        };)*
    };
    (@ times) => { true };
    (@ rates) => { false };
}
pub(crate) use sections;

impl<B: Benchmark> Row<B> {
    pub(crate) const fn new(
        name: &'static str,
        section: &'static Section<B>,
        work: B::Work,
    ) -> Self {
        Self { name, section, work }
    }
}

/// The row that another row is compared with.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Base {
    pub(crate) row: &'static str,
    /// Whether to compare with half of that row's time: one way instead of a round trip.
    pub(crate) is_half: bool,
}

impl Base {
    pub(crate) const fn whole(row: &'static str) -> Self {
        Self { row, is_half: false }
    }

    pub(crate) const fn half(row: &'static str) -> Self {
        Self { row, is_half: true }
    }
}

/// The rows with these names, in the order of the table; all rows if there are no names.
pub(crate) fn select<B: Benchmark>(names: &[String]) -> anyhow::Result<Vec<&'static Row<B>>> {
    let is_meant = |row: &Row<B>, name: &str| {
        row.name
            .strip_prefix(name)
            .is_some_and(|rest| rest.is_empty() || (B::SELECTS_BELOW && rest.starts_with('/')))
    };
    if let Some(name) = names.iter().find(|name| !B::ROWS.iter().any(|row| is_meant(row, name))) {
        let known = B::ROWS.iter().map(|row| row.name).collect::<Vec<_>>().join(", ");
        let hint = if B::SELECTS_BELOW { " or starts with it" } else { "" };
        bail!("no {} is named {name}{hint}; use one of {known}", B::NOUN);
    }
    let is_wanted =
        |row: &&Row<B>| names.is_empty() || names.iter().any(|name| is_meant(row, name));
    Ok(B::ROWS.iter().filter(is_wanted).collect())
}

/// The row with this name.
pub(crate) fn find<B: Benchmark>(name: &str) -> Option<&'static Row<B>> {
    B::ROWS.iter().find(|row| row.name == name)
}
