//! The figures of one stock, or of all stocks.

use nanotape_book::Condition;
use nanotape_trace::Histogram;

use super::{Activity, LevelCounts, PRECISION_BITS};

/// Figures of one stock, or of all stocks.
#[derive(Clone, Debug)]
pub struct StockStatistics {
    /// All messages of the stock.
    pub messages: Activity,
    /// The messages that changed the inside.
    pub inside_changes: Activity,
    /// Trades by the volume rule, minus broken trades.
    pub trades: i64,
    /// Shares by the volume rule, minus broken trades.
    pub volume_shares: i64,
    /// Ticks from the inside.
    pub event_depth_ticks: Histogram,
    /// Price levels of both sides.
    pub levels: LevelCounts,
    /// Nanoseconds with the best bid above the best offer.
    pub crossed_nanos: u64,
    /// Nanoseconds with the best bid equal to the best offer.
    pub locked_nanos: u64,
}

/// A message, for the figures of its stock and of all stocks.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Message {
    pub(super) nanos: u64,
    pub(super) processing_nanos: u64,
    pub(super) depth_ticks: Option<u32>,
    /// Price levels of each side after a message about the book.
    pub(super) levels: Option<[u32; 2]>,
    pub(super) inside_changed: bool,
}

impl StockStatistics {
    pub(super) fn new() -> Self {
        Self {
            messages: Activity::new(),
            inside_changes: Activity::new(),
            trades: 0,
            volume_shares: 0,
            event_depth_ticks: Histogram::growing(PRECISION_BITS),
            levels: LevelCounts::new(),
            crossed_nanos: 0,
            locked_nanos: 0,
        }
    }

    /// Counts a message, without its depth and levels.
    #[inline]
    pub(super) fn activity(&mut self, message: &Message) {
        self.messages.message(message.nanos);
        // In one of them only: `close` adds those of the inside changes to those of all messages.
        let processing = if message.inside_changed {
            self.inside_changes.message(message.nanos);
            &mut self.inside_changes.processing_nanos
        } else {
            &mut self.messages.processing_nanos
        };
        processing.record(message.processing_nanos);
    }

    #[inline]
    fn message(&mut self, message: &Message) {
        self.activity(message);
        if let Some(ticks) = message.depth_ticks {
            self.event_depth_ticks.record(ticks.into());
        }
        if let Some(levels) = message.levels {
            self.levels.message(levels);
        }
    }

    /// Adds the figures of a stock, but not its activity. Both are closed.
    pub(super) fn add(&mut self, stock: &Self) {
        self.trades += stock.trades;
        self.volume_shares = self.volume_shares.saturating_add(stock.volume_shares);
        self.event_depth_ticks.merge(&stock.event_depth_ticks);
        self.levels.merge(&stock.levels);
        self.crossed_nanos += stock.crossed_nanos;
        self.locked_nanos += stock.locked_nanos;
    }

    /// Counts what is open. Call once, after the last message.
    pub(super) fn close(&mut self) {
        self.messages.close();
        self.inside_changes.close();
        self.messages.processing_nanos.merge(&self.inside_changes.processing_nanos);
        self.levels.close();
    }
}

/// Messages that are counted together.
const BATCH: usize = 16;

/// The figures of a stock while they are collected.
///
/// The next message is about another stock, and the histograms of thousands of stocks do not fit in
/// a cache. Messages are therefore kept, in a few lines that do, and counted when there are some:
/// the processor then waits for the lines of all of their histograms at once.
#[derive(Clone, Debug)]
pub(super) struct Stock {
    kept: [Message; BATCH],
    kept_count: usize,
    condition: Condition,
    condition_since: u64,
    figures: StockStatistics,
}

impl Default for Stock {
    fn default() -> Self {
        Self {
            kept: [Message::default(); BATCH],
            kept_count: 0,
            condition: Condition::Empty,
            condition_since: 0,
            figures: StockStatistics::new(),
        }
    }
}

impl Stock {
    #[inline]
    pub(super) fn message(&mut self, message: &Message) {
        self.kept[self.kept_count] = *message;
        self.kept_count += 1;
        if self.kept_count == BATCH {
            self.count();
        }
    }

    /// Counts the kept messages.
    #[inline(never)]
    fn count(&mut self) {
        for message in &self.kept[..self.kept_count] {
            self.figures.message(message);
        }
        self.kept_count = 0;
    }

    pub(super) fn trade(&mut self, trades: i64, shares: i64) {
        self.figures.trades += trades;
        self.figures.volume_shares = self.figures.volume_shares.saturating_add(shares);
    }

    /// Sets the book's condition from `nanos` on.
    #[inline]
    pub(super) fn condition(&mut self, condition: Condition, nanos: u64) {
        let lasted = nanos.saturating_sub(self.condition_since);
        match self.condition {
            Condition::Crossed => self.figures.crossed_nanos += lasted,
            Condition::Locked => self.figures.locked_nanos += lasted,
            _ => {}
        }
        (self.condition, self.condition_since) = (condition, nanos);
    }

    /// Counts everything that is kept or open, at the end of the day.
    pub(super) fn close(&mut self, end_nanos: u64) {
        self.condition(Condition::Empty, end_nanos);
        self.count();
        self.figures.close();
    }

    pub(super) fn figures(&self) -> &StockStatistics {
        &self.figures
    }
}
