//! The rows of `--truth`: delays by window, or pairs with their leads.

use std::io;

use nanotape_synth::{Fate, LeadPair, Truth, TruthRow};
use nanotape_types::Symbol;

use super::KnownArguments;
use crate::{
    output::{Format, Output},
    rows::{Column, Kind, Rows},
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
        let since = "ns since midnight";
        let updates = |name, doc| Column::new(name, Kind::U64, 9, doc).of("updates");
        let columns = vec![
            Column::new("from_ns", Kind::U64, 14, "Beginning of the window.").of(since),
            Column::new("until_ns", Kind::U64, 14, "End of the window.").of(since),
            Column::new("symbol", Kind::Text, 8, "The stock. Absent for all together."),
            Column::new("delay_p05_ns", Kind::I64, 14, "5% quantile of the delays.").of("ns"),
            Column::new("delay_median_ns", Kind::I64, 15, "Median of the delays.").of("ns"),
            Column::new("delay_p95_ns", Kind::I64, 14, "95% quantile of the delays.").of("ns"),
            updates("updates", "Updates of the first feed in the window."),
            updates("shown", "Those that the second feed shows."),
            updates("conflated", "Those that it conflates."),
            updates("lost", "Those that it loses."),
            updates("foreign", "Updates of other venues that follow one that it shows."),
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
        Column::new("leader", Kind::Text, 8, "The stock that is earlier."),
        Column::new("follower", Kind::Text, 8, "The stock that follows it."),
        Column::new("lead_ns", Kind::U64, 14, "How much later the follower is.").of("ns"),
        Column::new("rho", Kind::F64, 6, "Correlation of their increments at that lead."),
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
