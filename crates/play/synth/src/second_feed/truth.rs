//! What is true about the delay of a second feed, by windows of the first feed's time.

use std::collections::BTreeMap;

use super::Fate;

/// The facts of one window, of one stock or of all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TruthRow {
    /// The first nanosecond of the window, since midnight.
    pub from_ns: u64,
    /// The nanosecond after the last one.
    pub until_ns: u64,
    /// The stock, by its index; `None` for all of them.
    pub stock: Option<u16>,
    /// Updates of the first feed in the window.
    pub updates: u64,
    /// Those that the second feed shows.
    pub shown: u64,
    /// Those that it conflates.
    pub conflated: u64,
    /// Those that it loses.
    pub lost: u64,
    /// Updates of other venues that follow one that it shows.
    pub foreign: u64,
    /// The delays of the updates that it shows; `None` if there are none.
    pub delays: Option<Delays>,
}

/// Quantiles of delays: of `n` delays in order, that with the number `ceil(share * n)` from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delays {
    /// Five in a hundred are at most this, in nanoseconds.
    pub p05_ns: i64,
    /// The median.
    pub median_ns: i64,
    /// Five in a hundred are larger.
    pub p95_ns: i64,
}

impl Delays {
    /// The quantiles of delays in any order, which are sorted; `None` if there are none.
    pub fn of(delays_ns: &mut [i64]) -> Option<Self> {
        delays_ns.sort_unstable();
        let at = |percent: usize| {
            let number = (percent * delays_ns.len()).div_ceil(100);
            delays_ns.get(number.saturating_sub(1)).copied()
        };
        Some(Self { p05_ns: at(5)?, median_ns: at(50)?, p95_ns: at(95)? })
    }
}

/// Collects the fates of updates into windows that begin at whole multiples of their length.
///
/// The delay of an update is the time at which the second feed shows it less the time of the first:
/// what waits behind an update before it counts, because that is what an observer of both feeds
/// sees. Bounds: one window is in memory at a time.
#[derive(Debug)]
pub struct Truth {
    window_ns: u64,
    by_stock: bool,
    /// Number of the window.
    window: u64,
    stocks: BTreeMap<u16, Facts>,
}

#[derive(Clone, Default, Debug)]
struct Facts {
    delays_ns: Vec<i64>,
    conflated: u64,
    lost: u64,
    foreign: u64,
}

impl Truth {
    /// Windows of a length in nanoseconds, at least 1; with rows for each stock if they are wanted.
    pub fn new(window_ns: u64, by_stock: bool) -> Self {
        Self { window_ns: window_ns.max(1), by_stock, window: 0, stocks: BTreeMap::new() }
    }

    /// Adds the fate of an update at a time of the first feed, and appends the rows of the window
    /// before, if the update is the first of another: that of all stocks, then each stock's.
    pub fn add(&mut self, time_ns: u64, stock: u16, fate: Fate, rows: &mut Vec<TruthRow>) {
        let window = time_ns / self.window_ns;
        if window != self.window {
            self.finish(rows);
            self.window = window;
        }
        let facts = self.stocks.entry(stock).or_default();
        match fate {
            Fate::Shown { delay_ns, foreign_follows } => {
                facts.delays_ns.push(delay_ns);
                facts.foreign += u64::from(foreign_follows);
            }
            Fate::Conflated => facts.conflated += 1,
            Fate::Lost => facts.lost += 1,
        }
    }

    /// Appends the rows of the last window.
    pub fn finish(&mut self, rows: &mut Vec<TruthRow>) {
        let stocks = core::mem::take(&mut self.stocks);
        if stocks.is_empty() {
            return;
        }
        let mut all = Facts::default();
        for facts in stocks.values() {
            all.delays_ns.extend_from_slice(&facts.delays_ns);
            all.conflated += facts.conflated;
            all.lost += facts.lost;
            all.foreign += facts.foreign;
        }
        rows.push(self.row(None, all));
        if self.by_stock {
            rows.extend(stocks.into_iter().map(|(stock, facts)| self.row(Some(stock), facts)));
        }
    }

    fn row(&self, stock: Option<u16>, mut facts: Facts) -> TruthRow {
        let shown = facts.delays_ns.len() as u64;
        let from_ns = self.window * self.window_ns;
        TruthRow {
            from_ns,
            until_ns: from_ns.saturating_add(self.window_ns),
            stock,
            updates: shown + facts.conflated + facts.lost,
            shown,
            conflated: facts.conflated,
            lost: facts.lost,
            foreign: facts.foreign,
            delays: Delays::of(&mut facts.delays_ns),
        }
    }
}
