//! The figures of one stock, or of all stocks.

use core::slice::from_ref;

use nanotape_book::Condition;
use nanotape_shm::prefetch;
use nanotape_trace::Histogram;
use nanotape_types::{Side, StockLocate};

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

/// A message, for the figures of its stock and of all stocks. There are two in a cache line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub(super) nanos: u64,
    pub(super) processing_nanos: u64,
    /// [`NONE`] for a message without.
    pub(super) depth_ticks: u32,
    /// Price levels of each side after a message about the book, [`NONE`] after others.
    pub(super) levels: [u32; 2],
    /// The stock, 0 for none.
    pub(super) locate: StockLocate,
    /// The condition of the book after a message that changed the inside.
    pub(super) inside: Option<Condition>,
}

/// More than any depth and any number of price levels.
pub(super) const NONE: u32 = u32::MAX;

const _: () = assert!(size_of::<Message>() == 32);

impl Message {
    /// Takes a later event of the same message in.
    pub(super) fn join(&mut self, later: Self) {
        self.processing_nanos += later.processing_nanos;
        self.depth_ticks = self.depth_ticks.min(later.depth_ticks);
        if later.levels != [NONE; 2] {
            self.levels = later.levels;
        }
        self.inside = later.inside.or(self.inside);
    }

    const EMPTY: Self = Self {
        nanos: 0,
        processing_nanos: 0,
        depth_ticks: NONE,
        levels: [NONE; 2],
        locate: StockLocate::new(0),
        inside: None,
    };
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

    /// Counts messages, without their depths and levels.
    #[inline]
    pub(super) fn activity(&mut self, messages: &[Message]) {
        for message in messages {
            self.messages.message(message.nanos);
            // In one of them only: `close` adds those of the inside changes to those of all
            // messages.
            let processing = match message.inside {
                Some(_) => &mut self.inside_changes.processing_nanos,
                None => &mut self.messages.processing_nanos,
            };
            processing.record(message.processing_nanos);
        }
        for message in messages.iter().filter(|message| message.inside.is_some()) {
            self.inside_changes.message(message.nanos);
        }
    }

    /// Counts messages.
    #[inline]
    fn messages(&mut self, messages: &[Message]) {
        self.activity(messages);
        for message in messages {
            if message.depth_ticks != NONE {
                self.event_depth_ticks.record(message.depth_ticks.into());
            }
            if message.levels[0] != NONE {
                self.levels.message(message.levels);
            }
        }
    }

    /// Begins to load what every message changes, but not its counters.
    fn prefetch(&self) {
        self.messages.prefetch();
        self.inside_changes.prefetch();
        prefetch(from_ref(&self.event_depth_ticks), 0);
        Side::BOTH.iter().for_each(|&side| prefetch(from_ref(self.levels.of(side)), 0));
    }

    /// Begins to load the counters of these messages.
    fn prefetch_counters(&self, messages: &[Message]) {
        let load = |histogram: &Histogram, value| {
            let (counters, index) = histogram.counter_of(value);
            prefetch(counters, index);
        };
        let mut last_nanos = self.messages.last_nanos();
        let mut last_change_nanos = self.inside_changes.last_nanos();
        for message in messages {
            self.messages.prefetch_gap(last_nanos, message.nanos);
            self.inside_changes.prefetch_gap(last_change_nanos, message.nanos);
            load(self.messages.processing_nanos(), message.processing_nanos);
            load(&self.event_depth_ticks, message.depth_ticks.into());
            last_nanos = message.nanos;
            if message.inside.is_some() {
                last_change_nanos = message.nanos;
            }
        }
        if let Some(last) = messages.last() {
            load(self.inside_changes.processing_nanos(), last.processing_nanos);
            Side::BOTH.iter().for_each(|&side| {
                load(self.levels.of(side), last.levels[side as usize].into());
            });
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
    }
}

/// Messages that are counted together.
pub(super) const BATCH: usize = 32;

/// Messages that a stock can keep: more, because they are loaded before they are counted.
const ROOM: usize = 2 * BATCH;

/// The latest messages of a stock, which are not counted yet.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Kept([Message; ROOM]);

/// The figures of a stock while they are collected.
///
/// The next message is about another stock, and the histograms of thousands of stocks do not fit in
/// a cache. Messages are therefore kept, in a few lines that do, and counted when there are some.
/// Their lines are loaded in two steps before: the figures, and then the counters.
#[derive(Clone, Debug)]
pub(super) struct Stock {
    kept: Kept,
    figures: StockStatistics,
    condition: Condition,
    condition_since: u64,
}

impl Default for Stock {
    fn default() -> Self {
        Self {
            kept: Kept([Message::EMPTY; ROOM]),
            figures: StockStatistics::new(),
            condition: Condition::Empty,
            condition_since: 0,
        }
    }
}

impl Stock {
    /// Keeps a message. `kept`: how many there are, which the caller has for all stocks together,
    /// so that it is in a cache.
    #[inline]
    pub(super) fn keep(&mut self, kept: &mut u8, message: &Message) {
        if usize::from(*kept) == ROOM {
            self.count(kept);
        }
        self.kept.0[usize::from(*kept) % ROOM] = *message;
        *kept += 1;
    }

    /// Begins to load the figures.
    pub(super) fn prefetch(&self) {
        self.figures.prefetch();
        self.kept.0.iter().step_by(2).take(BATCH / 2).for_each(|pair| prefetch(from_ref(pair), 0));
    }

    /// Begins to load the counters of the kept messages.
    pub(super) fn prefetch_counters(&self, kept: u8) {
        self.figures.prefetch_counters(&self.kept.0[..usize::from(kept)]);
    }

    /// Counts the kept messages.
    #[inline(never)]
    pub(super) fn count(&mut self, kept: &mut u8) {
        let messages = usize::from(core::mem::take(kept));
        self.figures.messages(&self.kept.0[..messages]);
        for index in 0..messages {
            let Message { inside, nanos, .. } = self.kept.0[index];
            if let Some(condition) = inside {
                self.condition(condition, nanos);
            }
        }
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
    pub(super) fn close(&mut self, kept: &mut u8, end_nanos: u64) {
        self.count(kept);
        self.condition(Condition::Empty, end_nanos);
        self.figures.close();
    }

    pub(super) fn figures(&self) -> &StockStatistics {
        &self.figures
    }
}
