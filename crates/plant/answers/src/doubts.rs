//! Why a row of a book may be wrong, at the time of the row.

use std::ops::ControlFlow;

use nanotape_book::Outcome;
use nanotape_market::Doubt;
use nanotape_types::{
    LocateTable, StockLocate,
    rows::{Cell, Column, Kind, Sink},
};

/// Why a row may be wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// A part of the input before the row is missing or damaged: the book may lack messages.
    Gap,
    /// A message before the row, or that of the row, did not fit the book of its stock.
    Taint,
}

impl Reason {
    /// The word in a row.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gap => "gap",
            Self::Taint => "taint",
        }
    }

    pub(crate) fn of_name(name: &str) -> Option<Self> {
        [Self::Gap, Self::Taint].into_iter().find(|reason| reason.name() == name)
    }

    /// The column of reasons.
    pub fn column() -> Column {
        let doc = "Why the row may be wrong: taint (a message did not fit the book of the stock) or \
                   gap (a part of the input before it is missing or damaged). Absent for a good row.";
        Column::new("reason", Kind::Text, 6, doc)
    }

    /// Its cell.
    pub fn cell(reason: Option<Self>) -> Cell<'static> {
        reason.map_or(Cell::Absent, |reason| Cell::Text(reason.name()))
    }
}

/// Gives a row whose third cell is the time of receipt to a sink, with it or without.
#[inline]
pub(crate) fn give<const N: usize>(
    sink: &mut impl Sink,
    has_receipt: bool,
    mut cells: [Cell<'_>; N],
    end: usize,
) -> ControlFlow<()> {
    if has_receipt {
        return sink.row(&cells[..end]);
    }
    cells.copy_within(..2, 1);
    sink.row(&cells[1..end])
}

/// The methods of an [`Observer`](nanotape_engine::Observer) that keep its member `doubts`.
macro_rules! keep_doubts {
    () => {
        #[inline]
        fn received(&mut self, ts_recv_ns: u64) {
            self.doubts.ts_recv_ns = Some(ts_recv_ns).filter(|&nanos| nanos > 0);
        }

        fn damage(&mut self, damage: nanotape_market::Damage) {
            let doubt = nanotape_market::Doubt::of_damage(damage);
            doubt.into_iter().for_each(|doubt| self.doubts.take(doubt));
        }

        fn session(&mut self, change: &nanotape_market::SessionChange) {
            let doubt = nanotape_market::Doubt::of_session(change);
            doubt.into_iter().for_each(|doubt| self.doubts.take(doubt));
        }

        fn doubt(&mut self, doubt: nanotape_market::Doubt) {
            self.doubts.take(doubt);
        }
    };
}

pub(crate) use keep_doubts;

/// The doubts about the books of a reading so far, and when its last message was received.
#[derive(Debug, Default)]
pub struct Doubts {
    /// In ns since the UNIX epoch; `None` if it is unknown.
    pub ts_recv_ns: Option<u64>,
    /// Whether any book may lack messages.
    of_all: bool,
    /// Books that a message did not fit; `None` as long as there is none.
    tainted: Option<Box<LocateTable<bool>>>,
}

impl Doubts {
    /// Takes a doubt of the source, or its end.
    pub fn take(&mut self, doubt: Doubt) {
        match doubt {
            Doubt::OfAll => self.of_all = true,
            Doubt::OfStock(locate) => self.taint(locate),
            Doubt::SettledOf(locate) => self.settle(locate),
            Doubt::Complete => self.of_all = false,
            Doubt::Settled => (self.of_all, self.tainted) = (false, None),
        }
    }

    /// Takes the outcome of a message.
    #[inline]
    pub fn outcome(&mut self, outcome: Option<Outcome>) {
        if let Some(Outcome { stock_locate, anomaly: Some(_), .. }) = outcome {
            self.taint(stock_locate);
        }
    }

    /// The reason for rows of this stock.
    #[inline]
    pub fn reason(&self, locate: StockLocate) -> Option<Reason> {
        match &self.tainted {
            Some(tainted) if tainted[locate] => Some(Reason::Taint),
            _ if self.of_all => Some(Reason::Gap),
            _ => None,
        }
    }

    /// The cell of the time of receipt.
    #[inline]
    pub fn receipt(&self) -> Cell<'static> {
        self.ts_recv_ns.map_or(Cell::Absent, Cell::UnixTime)
    }

    #[cold]
    fn taint(&mut self, locate: StockLocate) {
        self.tainted.get_or_insert_with(|| Box::new(LocateTable::filled(false)))[locate] = true;
    }

    #[cold]
    fn settle(&mut self, locate: StockLocate) {
        self.tainted.iter_mut().for_each(|tainted| tainted[locate] = false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taint_outlives_a_gap_that_is_filled_and_ends_with_a_snapshot() {
        let [one, two] = [1, 2].map(StockLocate::new);
        let mut doubts = Doubts::default();
        let reasons = |doubts: &Doubts| [one, two].map(|locate| doubts.reason(locate));
        for (doubt, expected) in [
            (Doubt::Complete, [None, None]),
            (Doubt::OfStock(one), [Some(Reason::Taint), None]),
            (Doubt::OfAll, [Some(Reason::Taint), Some(Reason::Gap)]),
            (Doubt::Complete, [Some(Reason::Taint), None]),
            (Doubt::SettledOf(one), [None, None]),
            (Doubt::OfStock(two), [None, Some(Reason::Taint)]),
            (Doubt::OfAll, [Some(Reason::Gap), Some(Reason::Taint)]),
            (Doubt::Settled, [None, None]),
        ] {
            doubts.take(doubt);
            assert_eq!(reasons(&doubts), expected, "after {doubt:?}");
        }
    }
}
