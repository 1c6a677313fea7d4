//! Price levels of exchanges that show no orders: a record of each level, and the inside at the
//! end of a change. These functions take no event: see [`attend`](Publisher::attend).

use dbn::Action;
use nanotape_book::{Books, OrderStore, Outcome, PriceLevels};
use nanotape_engine::BookEngine;
use nanotape_market::LevelChange;
use nanotape_ring::Publish;
use nanotape_types::StockLocate;

use super::Publisher;
use crate::records::{
    Common, RecordKind,
    encode::{BestLevels, Change, LAST, level_flag, mbo, mbp1_of_levels, side_of, size_of_shares},
};

impl<W: Publish> Publisher<W> {
    /// Keeps what a level has before it changes.
    #[cold]
    #[inline(never)]
    pub(super) fn before_level<L: PriceLevels, S: OrderStore>(
        &mut self,
        engine: &BookEngine<Books<L, S>>,
        stock_locate: StockLocate,
        change: LevelChange,
    ) {
        let level = engine.books().book(stock_locate).level(change.side, change.price);
        self.level_before = level.map_or(0, |level| level.shares.get());
    }

    /// A level has other shares. It closes with the shares that it had; one that was not there is a
    /// record without an action, which can end a change.
    #[inline(never)]
    pub(super) fn level<L: PriceLevels, S: OrderStore>(
        &mut self,
        engine: &BookEngine<Books<L, S>>,
        (change, is_last): (LevelChange, bool),
        outcome: Outcome,
    ) {
        let Some(flags) = self.order_flags(engine, outcome) else { return };
        let LevelChange { side, price, shares, is_only } = change;
        let (action, size) = match (self.level_before, shares.get()) {
            (0, 0) => (Action::None, 0),
            (0, size) => (Action::Add, size),
            (had, 0) => (Action::Cancel, size_of_shares(had)),
            (_, size) => (Action::Modify, size),
        };
        let common = Common { flags, ..self.common(outcome.stock_locate) };
        let of_level = Common { flags: flags | level_flag(is_only), ..common };
        let price = engine.books().price_scale().nanos(price);
        let change = Change { action, side: side_of(side), price, size };
        let last = if is_last { LAST } else { 0 };
        let kinds = self.kinds;
        let mut outbox = self.outbox();
        if kinds.has(RecordKind::Mbo) {
            outbox.push(RecordKind::Mbo, mbo(&of_level, last, 0, change));
        }
        if outcome.inside_changed && kinds.has(RecordKind::Bbo) {
            let book = engine.books().book(outcome.stock_locate);
            let best = BestLevels::of(&book);
            outbox.push(RecordKind::Bbo, mbp1_of_levels(&common, LAST, change, best));
        }
        outbox.publish();
    }
}
