//! A naive book of PITCH: every order in a list of its level.

use std::collections::BTreeMap;

use nanotape_wire::pitch::{Message, symbol_of};

/// Symbol, side and price of a level.
type Level = (String, u8, u64);

/// Orders of each level in their priority, with their shares.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct NaiveBooks {
    pub(super) levels: BTreeMap<Level, Vec<(u64, u32)>>,
    /// The trading status of each symbol.
    pub(super) statuses: BTreeMap<String, Vec<u8>>,
}

impl NaiveBooks {
    pub(super) fn of<'a>(messages: impl IntoIterator<Item = &'a Vec<u8>>) -> Self {
        let mut books = Self::default();
        messages.into_iter().for_each(|message| books.apply(message));
        books
    }

    pub(super) fn orders(&self) -> usize {
        self.levels.values().map(Vec::len).sum()
    }

    pub(super) fn apply(&mut self, bytes: &[u8]) {
        match Message::decode(bytes).unwrap() {
            Message::UnitClear(_) => *self = Self::default(),
            Message::AddOrderShort(m) => {
                let level = (
                    symbol_of(m.symbol()).to_string(),
                    m.side_indicator().code(),
                    u64::from(m.price().get()) * 100,
                );
                self.add(level, m.order_reference_number().get(), m.shares().into());
            }
            Message::AddOrderLong(m) => {
                let level =
                    (symbol_of(m.symbol()).to_string(), m.side_indicator().code(), m.price().get());
                self.add(level, m.order_reference_number().get(), m.shares().get());
            }
            Message::AddOrderExpanded(m) => {
                let level = (m.symbol().to_string(), m.side_indicator().code(), m.price().get());
                self.add(level, m.order_reference_number().get(), m.shares().get());
            }
            Message::OrderExecuted(m) => {
                self.reduce(m.order_reference_number().get(), m.executed_shares().get());
            }
            Message::OrderExecutedAtPriceSize(m) => {
                let (id, remaining) = (m.order_reference_number().get(), m.remaining_shares());
                let (level, index) = self.find(id);
                let shares = self.levels[&level][index].1;
                self.reduce(id, shares - remaining.get());
            }
            Message::ReduceSizeLong(m) => {
                self.reduce(m.order_reference_number().get(), m.cancelled_shares().get());
            }
            Message::ReduceSizeShort(m) => {
                self.reduce(m.order_reference_number().get(), m.cancelled_shares().into());
            }
            Message::ModifyOrderLong(m) => {
                let kept = m.modify_flags().is_priority_kept();
                self.modify(
                    m.order_reference_number().get(),
                    m.shares().get(),
                    m.price().get(),
                    kept,
                );
            }
            Message::ModifyOrderShort(m) => {
                let kept = m.modify_flags().is_priority_kept();
                let price = u64::from(m.price().get()) * 100;
                self.modify(m.order_reference_number().get(), m.shares().into(), price, kept);
            }
            Message::DeleteOrder(m) => {
                let (level, index) = self.find(m.order_reference_number().get());
                self.remove(level, index);
            }
            Message::TradingStatus(m) => {
                // Without the nanoseconds.
                self.statuses.insert(m.symbol().to_string(), m.as_bytes()[6..].to_vec());
            }
            _ => {}
        }
    }

    fn add(&mut self, level: Level, id: u64, shares: u32) {
        self.levels.entry(level).or_default().push((id, shares));
    }

    fn find(&self, id: u64) -> (Level, usize) {
        let found = self.levels.iter().find_map(|(level, orders)| {
            let index = orders.iter().position(|order| order.0 == id)?;
            Some((level.clone(), index))
        });
        found.unwrap_or_else(|| panic!("order {id} is open"))
    }

    fn remove(&mut self, level: Level, index: usize) {
        let orders = self.levels.get_mut(&level).unwrap();
        orders.remove(index);
        if orders.is_empty() {
            self.levels.remove(&level);
        }
    }

    fn reduce(&mut self, id: u64, by: u32) {
        let (level, index) = self.find(id);
        let shares = &mut self.levels.get_mut(&level).unwrap()[index].1;
        *shares -= by;
        if *shares == 0 {
            self.remove(level, index);
        }
    }

    fn modify(&mut self, id: u64, shares: u32, price: u64, is_kept: bool) {
        let (level, index) = self.find(id);
        if is_kept && level.2 == price {
            self.levels.get_mut(&level).unwrap()[index].1 = shares;
            return;
        }
        self.remove(level.clone(), index);
        self.add((level.0, level.1, price), id, shares);
    }
}
