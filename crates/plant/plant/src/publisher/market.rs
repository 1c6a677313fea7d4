//! Messages about no displayed order: stocks, the market, hidden trades and crosses. They might
//! allocate.

use dbn::{Action, Side as DbnSide};
use nanotape_book::{Books, OrderStore, PriceLevels};
use nanotape_engine::BookEngine;
use nanotape_market::{MarketEvent, Trade, What};
use nanotape_ring::Publish;
use nanotape_types::{PriceScale, StockLocate};

use super::{Publisher, Stock};
use crate::records::{
    Common, RecordKind, definition,
    encode::{Change, LAST, mbo, side_of, size_of_shares, trade},
    imbalance, status,
};

impl<W: Publish> Publisher<W> {
    /// Publishes the records of all events that are not about a displayed order.
    #[inline(never)]
    pub(super) fn about_no_order<L: PriceLevels, S: OrderStore>(
        &mut self,
        engine: &BookEngine<Books<L, S>>,
        event: &MarketEvent,
    ) {
        let locate = event.stock_locate;
        let mut common = self.common(locate);
        if locate.get() != 0 {
            // A definition might give a known stock a new name.
            let is_known = !matches!(event.what, What::Definition(_));
            let stock = match self.stocks[locate] {
                Stock::Wanted if is_known => Stock::Wanted,
                _ => self.stock(engine, locate),
            };
            match stock {
                Stock::Unwanted => return,
                stock => common.flags = self.flags_of(stock),
            }
        }
        let scale = engine.books().price_scale();
        match &event.what {
            What::Trade(trade) => self.print(&common, trade, scale),
            What::Definition(entry) if self.kinds.has(RecordKind::Definitions) => {
                let record = definition(&common, event.symbol, entry);
                self.rare_record(RecordKind::Definitions, record.as_ref());
            }
            What::AuctionImbalance(message) if self.kinds.has(RecordKind::Imbalances) => {
                self.rare_record(
                    RecordKind::Imbalances,
                    imbalance(&common, message, scale).as_ref(),
                );
            }
            What::Status(change) if self.kinds.has(RecordKind::Status) => {
                self.rare_record(RecordKind::Status, status(&common, change).as_ref());
            }
            _ => {}
        }
    }

    /// A trade that touches no displayed order. An auction without shares prints nothing.
    fn print(&mut self, common: &Common, trade_event: &Trade, scale: PriceScale) {
        let &Trade { shares, price, aggressor, .. } = trade_event;
        if shares.get() == 0 {
            return;
        }
        let (price, size) = (scale.nanos(price), size_of_shares(shares.get()));
        let side = aggressor.map_or(DbnSide::None, side_of);
        let traded = Change { action: Action::Trade, side, price, size };
        let kinds = self.kinds;
        let mut outbox = self.outbox();
        if kinds.has(RecordKind::Mbo) {
            outbox.push(RecordKind::Mbo, mbo(common, LAST, 0, traded));
        }
        if kinds.has(RecordKind::Trades) {
            outbox.push(RecordKind::Trades, trade(common, LAST, traded));
        }
        outbox.publish();
    }

    /// The state of a stock, determined now if possible.
    pub(super) fn stock<L: PriceLevels, S: OrderStore>(
        &mut self,
        engine: &BookEngine<Books<L, S>>,
        locate: StockLocate,
    ) -> Stock {
        let known = self.stocks[locate];
        let Some(symbol) = engine.directory().symbol(locate) else {
            // A stock without a name is published only if all stocks are.
            return match known {
                Stock::Tainted => Stock::Tainted,
                _ if self.symbols.is_empty() => Stock::Unknown,
                _ => Stock::Unwanted,
            };
        };
        self.board.name(locate, symbol);
        let is_wanted =
            self.symbols.is_empty() || self.symbols.iter().any(|wanted| wanted.selects(symbol));
        let stock = match known {
            Stock::Tainted => Stock::Tainted,
            _ if is_wanted && self.unreliable.is_some() => Stock::Suspect,
            _ if is_wanted => Stock::Wanted,
            _ => Stock::Unwanted,
        };
        self.stocks[locate] = stock;
        stock
    }

    /// The flags of the records of a stock in this state.
    pub(super) fn flags_of(&self, stock: Stock) -> u8 {
        let is_reliable = match stock {
            Stock::Tainted | Stock::Suspect => false,
            Stock::Unknown => self.unreliable.is_none(),
            Stock::Wanted | Stock::Unwanted => true,
        };
        if is_reliable { 0 } else { dbn::flags::MAYBE_BAD_BOOK }
    }
}
