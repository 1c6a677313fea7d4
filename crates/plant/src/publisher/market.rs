//! Messages about no displayed order: stocks, the market, hidden trades and crosses. They may allocate.

use dbn::{Action, Side as DbnSide};
use nanotape_book::{Books, OrderStore, PriceLevels};
use nanotape_ring::Publish;
use nanotape_types::StockLocate;
use nanotape_wire::itch50::Message;

use super::{Publisher, Stock, outbox::Outbox};
use crate::{
    Plant,
    records::{
        Common, RecordKind, definition,
        encode::{Change, LAST, mbo, price_of, size_of_shares, trade},
        imbalance, status,
    },
};

impl<W: Publish> Publisher<W> {
    /// Everything that is not about a displayed order.
    #[inline(never)]
    pub(super) fn about_no_order<L: PriceLevels, S: OrderStore>(
        &mut self,
        plant: &Plant<Books<L, S>>,
        message: &Message<'_>,
    ) {
        let locate = message.stock_locate().unwrap_or_default();
        let mut common = self.common(locate);
        if locate.get() != 0 {
            // What names a stock may name it anew.
            let is_known = !matches!(message, Message::StockDirectory(_));
            let stock = match self.stocks[locate.index()] {
                Stock::Wanted if is_known => Stock::Wanted,
                _ => self.stock(plant, locate),
            };
            match stock {
                Stock::Unwanted => return,
                Stock::Tainted => common.flags = dbn::flags::MAYBE_BAD_BOOK,
                Stock::Unknown | Stock::Wanted => {}
            }
        }
        match message {
            // Whose side the aggressor was is not told.
            Message::Trade(trade) => {
                self.print(&common, price_of(trade.price()), trade.shares().get());
            }
            Message::CrossTrade(cross) => {
                let shares = size_of_shares(cross.shares().get());
                self.print(&common, price_of(cross.cross_price()), shares);
            }
            Message::StockDirectory(entry) if self.kinds.has(RecordKind::Definitions) => {
                self.record(RecordKind::Definitions, definition(&common, *entry).as_ref());
            }
            Message::NetOrderImbalance(message) if self.kinds.has(RecordKind::Imbalances) => {
                self.record(RecordKind::Imbalances, imbalance(&common, *message).as_ref());
            }
            other if self.kinds.has(RecordKind::Status) => {
                if let Some(status) = status(&common, other) {
                    self.record(RecordKind::Status, status.as_ref());
                }
            }
            _ => {}
        }
    }

    /// A trade that touches no displayed order. A cross of no shares is none.
    fn print(&mut self, common: &Common, price: i64, size: u32) {
        if size == 0 {
            return;
        }
        let traded = Change { action: Action::Trade, side: DbnSide::None, price, size };
        let mut outbox = Outbox::new(&mut self.writer, &mut self.counts, &mut self.refused);
        if self.kinds.has(RecordKind::Mbo) {
            outbox.push(RecordKind::Mbo, mbo(common, LAST, 0, traded));
        }
        if self.kinds.has(RecordKind::Trades) {
            outbox.push(RecordKind::Trades, trade(common, LAST, traded));
        }
        outbox.publish();
    }

    /// What is known of a stock, and learnt now if it can be.
    pub(super) fn stock<L: PriceLevels, S: OrderStore>(
        &mut self,
        plant: &Plant<Books<L, S>>,
        locate: StockLocate,
    ) -> Stock {
        let known = self.stocks[locate.index()];
        let Some(symbol) = plant.directory().symbol(locate) else {
            // Without a name, only who wants everything wants it.
            return match known {
                Stock::Tainted => Stock::Tainted,
                _ if self.symbols.is_empty() => Stock::Unknown,
                _ => Stock::Unwanted,
            };
        };
        self.board.name(locate, symbol);
        let stock = match known {
            Stock::Tainted => Stock::Tainted,
            _ if self.symbols.is_empty() || self.symbols.contains(&symbol) => Stock::Wanted,
            _ => Stock::Unwanted,
        };
        self.stocks[locate.index()] = stock;
        stock
    }
}
