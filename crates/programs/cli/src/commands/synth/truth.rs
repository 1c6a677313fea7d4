//! The rows of `--truth`: delays by window, or pairs with their leads.

use std::io;

use nanotape_synth::{Fate, LeadPair, Truth, TruthRow};
use nanotape_types::Symbol;

use super::KnownArguments;
use crate::{
    output::{Format, Output},
    rows::{Column, Rows},
    values::nanos,
};

/// The open file of the truth.
pub(super) struct TruthFile {
    pub(super) output: Output,
    pub(super) format: Format,
    /// Symbols by index of the stock.
    pub(super) symbols: Vec<Symbol>,
}

/// What is true about the delays of a second day.
pub(super) struct TruthRows {
    truth: Truth,
    rows: Rows,
    symbols: Vec<Symbol>,
    /// Reused.
    finished: Vec<TruthRow>,
}

impl TruthRows {
    pub(super) fn new(file: TruthFile, known: &KnownArguments) -> Self {
        let columns = vec![
            Column::number("from_ns", 14),
            Column::number("until_ns", 14),
            Column::word("symbol", 8),
            Column::number("delay_p05_ns", 14),
            Column::number("delay_median_ns", 15),
            Column::number("delay_p95_ns", 14),
            Column::number("updates", 9),
            Column::number("shown", 9),
            Column::number("conflated", 9),
            Column::number("lost", 9),
            Column::number("foreign", 9),
        ];
        let TruthFile { output, format, symbols } = file;
        let truth = Truth::new(nanos(known.truth_window), known.truth_by_stock);
        let rows = Rows::new(output, format, columns);
        Self { truth, rows, symbols, finished: Vec::new() }
    }

    /// Adds what became of an update of the first day.
    pub(super) fn add(&mut self, time_ns: u64, stock: u16, fate: Fate) -> io::Result<()> {
        self.truth.add(time_ns, stock, fate, &mut self.finished);
        self.write()
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        self.truth.finish(&mut self.finished);
        self.write()?;
        self.rows.finish()
    }

    fn write(&mut self) -> io::Result<()> {
        let Self { rows, symbols, finished, .. } = self;
        for row in finished.drain(..) {
            rows.integer(row.from_ns);
            rows.integer(row.until_ns);
            match row.stock.and_then(|stock| symbols.get(usize::from(stock))) {
                Some(symbol) => rows.text(symbol),
                None => rows.absent(),
            }
            match row.delays {
                Some(delays) => [delays.p05_ns, delays.median_ns, delays.p95_ns]
                    .into_iter()
                    .for_each(|delay| rows.signed(delay)),
                None => (0..3).for_each(|_| rows.absent()),
            }
            for count in [row.updates, row.shown, row.conflated, row.lost, row.foreign] {
                rows.integer(count);
            }
            rows.end_row()?;
        }
        Ok(())
    }
}

/// Writes the pairs of a day with leads.
pub(super) fn write_pairs(file: TruthFile, pairs: &[LeadPair]) -> io::Result<()> {
    let TruthFile { output, format, symbols } = file;
    let columns = vec![
        Column::word("leader", 8),
        Column::word("follower", 8),
        Column::number("lead_ns", 14),
        Column::number("rho", 6),
    ];
    let mut rows = Rows::new(output, format, columns);
    for pair in pairs {
        rows.text(symbols[usize::from(pair.leader)]);
        rows.text(symbols[usize::from(pair.follower)]);
        rows.integer(pair.lead_ns);
        rows.digits(pair.rho.to_string().as_bytes());
        rows.end_row()?;
    }
    rows.finish()
}
