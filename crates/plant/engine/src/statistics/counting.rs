//! Counts the messages of a day, for their stocks and for all stocks.

use nanotape_book::Condition;
use nanotape_trace::Histogram;
use nanotape_types::{LocateTable, StockLocate};

use super::{
    StockStatistics,
    stock::{BATCH, Message, NONE, Stock},
};

/// The figures of a day while they are collected.
#[derive(Debug)]
pub(super) struct Counting {
    pub(super) total: StockStatistics,
    stocks: LocateTable<Option<Box<Stock>>>,
    /// How many messages each stock keeps: a few kilobytes for the stocks of a day.
    kept: LocateTable<u8>,
    /// The stocks whose figures are being loaded, and whose counters are.
    loading: [StockLocate; 2],
}

impl Counting {
    pub(super) fn new() -> Self {
        let mut total = StockStatistics::new();
        // As precise as those of a benchmark.
        total.messages.processing_nanos = Histogram::fine();
        total.inside_changes.processing_nanos = Histogram::fine();
        Self {
            total,
            stocks: LocateTable::filled(None),
            kept: LocateTable::filled(0),
            loading: [StockLocate::new(0); 2],
        }
    }

    /// Counts messages, in the order of the day.
    pub(super) fn messages(&mut self, messages: &[Message]) {
        self.total.activity(messages);
        for message in messages {
            let locate = message.locate;
            if locate.get() == 0 && message.levels[0] == NONE {
                // About no stock.
                continue;
            }
            let (stock, kept) = (&mut self.stocks[locate], &mut self.kept[locate]);
            stock.get_or_insert_default().keep(kept, message);
            if usize::from(*kept) == BATCH {
                self.load(locate);
            }
        }
    }

    /// Begins to load the figures of a stock, and counts the messages of one whose figures are
    /// loaded by now.
    #[inline(never)]
    fn load(&mut self, locate: StockLocate) {
        let [figures, counters] = self.loading;
        self.loading = [locate, figures];
        if let Some(stock) = &self.stocks[locate] {
            stock.prefetch();
        }
        if let Some(stock) = &self.stocks[figures] {
            stock.prefetch_counters(self.kept[figures]);
        }
        if let Some(stock) = &mut self.stocks[counters] {
            stock.count(&mut self.kept[counters]);
        }
    }

    /// Counts a message without a time.
    pub(super) fn message_without_time(&mut self) {
        self.total.messages.message_without_time();
    }

    /// Sets the condition of a stock's book from `nanos` on.
    pub(super) fn condition(&mut self, locate: StockLocate, condition: Condition, nanos: u64) {
        self.stocks[locate].get_or_insert_default().condition(condition, nanos);
    }

    /// Counts everything that is kept or open. Call once, at the end of the day. `traded`: trades
    /// and their shares.
    pub(super) fn finish(&mut self, traded: &LocateTable<Option<(i64, i64)>>) {
        let end = self.total.messages.last_nanos();
        self.total.close();
        for (locate, &traded) in traded.iter() {
            if let Some((trades, shares)) = traded {
                self.stocks[locate].get_or_insert_default().trade(trades, shares);
            }
            let Some(stock) = &mut self.stocks[locate] else { continue };
            stock.close(&mut self.kept[locate], end);
            self.total.add(stock.figures());
        }
    }

    /// The figures of the stocks that had messages.
    pub(super) fn stocks(&self) -> impl Iterator<Item = (StockLocate, &StockStatistics)> {
        self.stocks.iter().filter_map(|(locate, stock)| Some((locate, stock.as_ref()?.figures())))
    }
}
