//! `--partition symbol`: a file for each stock of a day, `TABLE/date=.../symbol=AAPL/NAME.parquet`.
//!
//! The files lack the column `symbol`: readers take it from the folder, as Hive's do.

use std::{collections::HashMap, ops::ControlFlow};

use nanotape_answers::{Breaks, Table};
use nanotape_tables::{Fields, Lanes, ParquetOptions};
use nanotape_types::rows::{Cell, Column, Sink, StockName};

use crate::{
    metadata,
    open_files::OpenFiles,
    outputs::{Outputs, TableFile, TableSink},
    paths::NO_STOCK,
};

/// The most stocks of a day: each has a file that is open, and rows that wait for it.
pub(crate) const MOST_STOCKS: usize = 1_024;

/// Rows of a batch. A column of a stock has as many in memory.
const BATCH_ROWS: usize = 1 << 13;

/// Where the rows of a table go.
#[expect(clippy::large_enum_variant, reason = "there is one for each table")]
pub(crate) enum Files<'o> {
    Whole(TableSink),
    Parts(Parts<'o>),
}

/// The files of a table, a stock each.
pub(crate) struct Parts<'o> {
    outputs: &'o Outputs,
    open_files: &'o OpenFiles,
    table: Table,
    /// Without the symbol.
    columns: Vec<Column>,
    /// The place of the symbol.
    symbol: usize,
    fields: Fields,
    parquet: ParquetOptions,
    lanes: &'o Lanes,
    /// By the name of the stock, which the path of the file has: several stocks can have one name.
    sinks: Vec<(String, TableSink)>,
    /// The place of each stock's file.
    places: HashMap<Option<StockName>, usize>,
    /// What stopped the rows.
    error: Option<anyhow::Error>,
}

impl<'o> Parts<'o> {
    pub(crate) fn new(
        (outputs, open_files): (&'o Outputs, &'o OpenFiles),
        table: Table,
        mut columns: Vec<Column>,
        (fields, parquet): (Fields, ParquetOptions),
        lanes: &'o Lanes,
    ) -> Self {
        let symbol = columns.iter().position(|column| column.name == "symbol").unwrap_or(0);
        columns.remove(symbol);
        Self {
            outputs,
            open_files,
            table,
            columns,
            symbol,
            fields,
            parquet,
            lanes,
            sinks: Vec::new(),
            places: HashMap::new(),
            error: None,
        }
    }

    fn open(&self, name: &str) -> anyhow::Result<TableSink> {
        anyhow::ensure!(
            self.sinks.len() < MOST_STOCKS,
            "--partition symbol: more than {MOST_STOCKS} stocks: choose fewer with --symbols"
        );
        self.open_files.open()?;
        let path = self.outputs.part(self.table, name);
        let parquet = (self.parquet, BATCH_ROWS);
        self.outputs.sink_at(path, &self.columns, self.fields, parquet, self.lanes)
    }

    /// The place of the file of a stock that had no row before.
    #[cold]
    fn begin(&mut self, stock: Option<StockName>) -> Option<usize> {
        let name = stock.map_or(NO_STOCK.to_owned(), |stock| stock.to_string());
        let place = match self.sinks.iter().position(|(other, _)| *other == name) {
            Some(place) => place,
            None => match self.open(&name) {
                Ok(sink) => {
                    self.sinks.push((name, sink));
                    self.sinks.len() - 1
                }
                Err(error) => {
                    self.error = Some(error);
                    return None;
                }
            },
        };
        self.places.insert(stock, place);
        Some(place)
    }
}

impl Sink for Files<'_> {
    fn row(&mut self, cells: &[Cell<'_>]) -> ControlFlow<()> {
        let parts = match self {
            Self::Whole(sink) => return sink.row(cells),
            Self::Parts(parts) => parts,
        };
        let stock = match cells[parts.symbol] {
            Cell::Stock(stock) => Some(stock),
            _ => None,
        };
        let place = parts.places.get(&stock).copied();
        let Some(place) = place.or_else(|| parts.begin(stock)) else {
            return ControlFlow::Break(());
        };
        let mut rest = Vec::with_capacity(cells.len());
        rest.extend_from_slice(&cells[..parts.symbol]);
        rest.extend_from_slice(&cells[parts.symbol + 1..]);
        parts.sinks[place].1.row(&rest)
    }
}

impl Files<'_> {
    /// Returns the error that stopped the rows, if there is one.
    pub(crate) fn require_written(&mut self) -> anyhow::Result<()> {
        match self {
            Self::Whole(sink) => sink.require_written(),
            Self::Parts(parts) => {
                parts.error.take().map_or(Ok(()), Err)?;
                parts.sinks.iter_mut().try_for_each(|(_, sink)| sink.require_written())
            }
        }
    }

    /// The stocks that have files of their own.
    pub(crate) fn stocks(&self) -> Vec<String> {
        match self {
            Self::Whole(_) => Vec::new(),
            Self::Parts(parts) => parts.sinks.iter().map(|(name, _)| name.clone()).collect(),
        }
    }

    /// Writes everything, and not yet the names; see [`TableSink::finish`].
    pub(crate) fn finish(
        self,
        metadata: &[(String, String)],
        broken: Option<&Breaks>,
        lanes: &Lanes,
    ) -> anyhow::Result<Vec<TableFile>> {
        match self {
            Self::Whole(sink) => Ok(vec![sink.finish(metadata, broken, lanes)?]),
            Self::Parts(parts) => {
                let sinks = parts.sinks.into_iter();
                let finish = |(stock, sink): (String, TableSink)| {
                    let of_part = (metadata::name_of(metadata::PART), stock);
                    sink.finish(&[metadata, &[of_part]].concat(), broken, lanes)
                };
                sinks.map(finish).collect()
            }
        }
    }
}
