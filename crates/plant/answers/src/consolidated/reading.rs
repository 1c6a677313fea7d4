//! Merges the changes of several inputs by time into consolidated books.

use std::{collections::VecDeque, ops::ControlFlow};

use nanotape_tap::{Merged, TimeMerge};
use nanotape_types::Symbol;

use super::{ConsolidatedBooks, ConsolidatedInside, VenueChange, VenueInput, venue::Timed};
use crate::{InputError, Session, SymbolFilter};

/// A row: the best prices of a stock at a time.
#[derive(Clone, Copy, Debug)]
pub struct ConsolidatedRow<'a> {
    /// The exchange's time, in ns since midnight.
    pub ts_ns: u64,
    /// The stock.
    pub symbol: Symbol,
    /// Its best prices.
    pub inside: ConsolidatedInside,
    /// For each venue the time of its last event, if it is stale.
    pub stale: &'a [Option<u64>],
}

/// An input after its reading.
#[derive(Debug)]
pub struct VenueSession {
    /// Its books and its report.
    pub session: Session,
    /// The selected stocks.
    pub filter: SymbolFilter,
    /// Changes of stocks without a symbol, which count for no best price.
    pub unnamed: u64,
}

/// Several inputs that are read together.
#[derive(Debug)]
pub struct ConsolidatedReading {
    inputs: Vec<VenueInput>,
    /// How much later than the first input's the midnight of each one is, in ns.
    offsets_ns: Vec<i64>,
    merge: TimeMerge<VenueChange>,
    books: ConsolidatedBooks,
    /// Rows before this time are not given, in ns since midnight.
    from_ns: u64,
    /// Inputs that have ended and are stale from a time on, if others go on until then.
    ended: VecDeque<(u64, usize, u64)>,
}

impl ConsolidatedReading {
    /// Merges inputs, with the midnight of each in ns since the UNIX epoch if it is known. Rows
    /// begin at `from_ns`.
    pub fn new(inputs: Vec<VenueInput>, midnights: &[Option<u64>], from_ns: u64) -> Self {
        let first = midnights.iter().flatten().next().copied().unwrap_or(0);
        let offset =
            |midnight: &Option<u64>| midnight.map_or(0, |ns| ns.wrapping_sub(first) as i64);
        Self {
            offsets_ns: midnights.iter().map(offset).collect(),
            merge: TimeMerge::new(inputs.len(), None),
            books: ConsolidatedBooks::new(inputs.len()),
            inputs,
            from_ns,
            ended: VecDeque::new(),
        }
    }

    /// Reads to the end, and calls `visit` with each row. `Break` ends the reading. Then returns
    /// the inputs.
    pub fn run(
        mut self,
        mut visit: impl FnMut(&ConsolidatedRow<'_>) -> ControlFlow<()>,
    ) -> Vec<Result<VenueSession, InputError>> {
        while !self.merge.is_over() {
            // Without a bound a source that has nothing waiting is the one to wait for.
            if let Some(source) = self.merge.holder() {
                match self.inputs[source].changes.recv() {
                    Ok(batch) => self.push(source, batch),
                    Err(_) => self.merge.end(source),
                }
                continue;
            }
            let Some(merged) = self.merge.pop(0) else { break };
            if self.apply(merged, &mut visit).is_break() {
                break;
            }
        }
        let finish = |input: VenueInput| {
            let (session, filter, unnamed) = input.finish()?;
            Ok(VenueSession { session, filter, unnamed })
        };
        self.inputs.into_iter().map(finish).collect()
    }

    fn push(&mut self, source: usize, batch: Vec<Timed>) {
        let offset_ns = self.offsets_ns[source];
        let of_first = |ns: u64| ns.saturating_add_signed(offset_ns);
        for (ts_ns, mut change) in batch {
            if let VenueChange::Stale { since_ns } | VenueChange::StaleAfterEnd { since_ns } =
                &mut change
            {
                *since_ns = of_first(*since_ns);
            }
            // The insides before a span precede everything.
            let ts_ns = if ts_ns == 0 { 0 } else { of_first(ts_ns) };
            self.merge.push(source, Some(ts_ns), 0, change);
        }
    }

    fn apply(
        &mut self,
        Merged { source, ts_ns, item, .. }: Merged<VenueChange>,
        visit: &mut impl FnMut(&ConsolidatedRow<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if let VenueChange::StaleAfterEnd { since_ns } = item {
            self.ended.push_back((ts_ns, source, since_ns));
            return ControlFlow::Continue(());
        }
        // The time goes on: inputs that have ended are stale by now.
        while let Some((ts_ns, source, since_ns)) = self.ended.pop_front() {
            self.set_stale(source, ts_ns, Some(since_ns), visit)?;
        }
        match item {
            VenueChange::Inside { symbol, inside, is_before } => {
                match self.books.set(source, symbol, inside) {
                    Some(stock) if !is_before => self.row(ts_ns, stock, visit),
                    _ => ControlFlow::Continue(()),
                }
            }
            VenueChange::Stale { since_ns } => self.set_stale(source, ts_ns, Some(since_ns), visit),
            VenueChange::Back => self.set_stale(source, ts_ns, None, visit),
            VenueChange::End | VenueChange::StaleAfterEnd { .. } => ControlFlow::Continue(()),
        }
    }

    /// Gives a row for each stock that has a quote at the venue.
    #[cold]
    fn set_stale(
        &mut self,
        venue: usize,
        ts_ns: u64,
        since_ns: Option<u64>,
        visit: &mut impl FnMut(&ConsolidatedRow<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for stock in self.books.set_stale(venue, since_ns) {
            self.row(ts_ns, stock, visit)?;
        }
        ControlFlow::Continue(())
    }

    #[inline]
    fn row(
        &self,
        ts_ns: u64,
        stock: usize,
        visit: &mut impl FnMut(&ConsolidatedRow<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if ts_ns < self.from_ns {
            return ControlFlow::Continue(());
        }
        let (symbol, inside) = (self.books.symbol(stock), self.books.inside(stock));
        visit(&ConsolidatedRow { ts_ns, symbol, inside, stale: self.books.stale() })
    }
}
