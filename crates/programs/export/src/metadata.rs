//! What a file says of itself: the input with its digest, the table, the options, the version.

use anyhow::Context as _;
use nanotape_answers::{Given, Opening, Session, Table, TableOptions};
use nanotape_tables::{Fields, Prices};

/// The entry that has the options which decide rows and columns.
pub(crate) const OPTIONS: &str = "options";

/// The entries about the input.
pub(crate) const INPUT: &str = "input";
pub(crate) const INPUT_SHA256: &str = "input_sha256";
pub(crate) const INPUT_CTIME: &str = "input_ctime_ns";
pub(crate) const IS_WHOLE: &str = "is_whole";

/// The entry of what was written with `--strict`.
pub(crate) const IS_STRICT: &str = "is_strict";

/// The entry that has the name of the table.
pub(crate) const TABLE: &str = "table";

/// The entry of the file of a stock, whose column is in the path.
pub(crate) const PART: &str = "part";

/// The name of an entry in a file.
pub(crate) fn name_of(entry: &str) -> String {
    format!("nanotape.{entry}")
}

/// The exchange's midnight, for what needs the trade date.
pub(crate) fn require_date(opening: &Opening, name: &Given, what: &str) -> anyhow::Result<u64> {
    opening.midnight_ns.with_context(|| {
        format!(
            "{name}: {what} the trade date, which the file name lacks: give it, as in --date \
             2019-12-30"
        )
    })
}

/// The entries that all tables of an export have.
#[derive(Debug)]
pub(crate) struct Metadata(Vec<(String, String)>);

impl Metadata {
    pub(crate) fn of(
        session: &Session,
        options: &TableOptions,
        fields: Fields,
        (digest, ctime_ns): (Option<String>, Option<i128>),
        is_strict: bool,
    ) -> Self {
        let symbols: Vec<_> = options.symbols.iter().map(ToString::to_string).collect();
        let prices = match fields.prices {
            Prices::Fixed => "int64 in units of 1e-9",
            Prices::Decimal => "decimal128(18, 9)",
            Prices::Float => "float64",
        };
        let entries = [
            ("version", Some(env!("NANOTAPE_VERSION").to_owned())),
            (INPUT, Some(session.name.clone())),
            (INPUT_SHA256, digest),
            (INPUT_CTIME, ctime_ns.map(|nanos| nanos.to_string())),
            (IS_WHOLE, Some(session.report.is_whole().to_string())),
            (IS_STRICT, Some(is_strict.to_string())),
            ("midnight_ns", Some(fields.midnight_ns.to_string())),
            ("prices", Some(prices.to_owned())),
            ("symbols", (!symbols.is_empty()).then(|| symbols.join(","))),
            ("every_ns", options.every_ns.map(|nanos| nanos.to_string())),
        ];
        let entries = entries.into_iter();
        let named = |(key, value): (&str, Option<String>)| Some((name_of(key), value?));
        Self(entries.filter_map(named).collect())
    }

    /// With the name of a table.
    pub(crate) fn of_table(&self, table: Table, options: String) -> Vec<(String, String)> {
        let mut entries = self.0.clone();
        entries.push((name_of(OPTIONS), options));
        entries.push((name_of(TABLE), table.to_string()));
        entries
    }
}
