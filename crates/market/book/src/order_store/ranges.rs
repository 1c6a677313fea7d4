//! Orders with large references that grow in a few places: the pages, at other numbers.
//!
//! The exchanges of Cboe and IEX count orders up from large numbers, one for each unit or machine:
//! `1V6HCH000001`, `1V6HCH000007` in base 36. Neighbours share a page and its cache lines there
//! too, if a range of references gets numbers that the pages can index.
//!
//! ```text
//! reference | range 38 bits | place in it 26 bits |
//!                 |                  |
//! in pages  | slot 8 bits   | place in it         |    below 2^34
//! ```
//!
//! Bounds: [`RANGES`] ranges, found with [`PROBES`] comparisons at most. References of further
//! ranges, and any that the pages do not index, are in a hash table.

use nanotape_types::OrderReferenceNumber;

use super::{CompactOrders, OrderStore, PagedOrders, pages::LIMIT};
use crate::Order;

/// Bits of a place in a range.
const PLACE_BITS: u32 = 26;

/// Ranges that the pages have room for.
const RANGES: usize = (LIMIT >> PLACE_BITS) as usize;

/// Slots in which a range can be.
const PROBES: usize = 8;

/// Odd: see [`Home`](super::home::Home).
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

/// Orders by reference, in ranges.
#[derive(Debug)]
pub(super) struct RangedOrders {
    ranges: Ranges,
    /// Made for the first order.
    paged: Option<Box<PagedOrders>>,
    /// Orders to make room for there.
    capacity: usize,
    elsewhere: CompactOrders,
    /// All of them: one load, since a store without any asks at each insertion.
    live: usize,
}

/// The range in each slot, plus one; 0 without one.
#[derive(Debug)]
struct Ranges([u64; RANGES]);

impl Ranges {
    /// The slots in which the range of a reference can be, and the range plus one. `None` for a
    /// reference that the pages index by itself: those that they refuse come here.
    #[inline]
    fn slots_of(reference: u64) -> Option<(impl Iterator<Item = usize>, u64)> {
        if reference < LIMIT {
            return None;
        }
        let range = reference >> PLACE_BITS;
        let home = (range.wrapping_mul(MIX) >> (u64::BITS - RANGES.ilog2())) as usize;
        Some(((home..home + PROBES).map(|slot| slot % RANGES), range + 1))
    }

    #[inline]
    fn in_slot(slot: usize, reference: u64) -> OrderReferenceNumber {
        let place = reference & ((1 << PLACE_BITS) - 1);
        OrderReferenceNumber::new((slot as u64) << PLACE_BITS | place)
    }

    /// The number in the pages; `None` if the range has none.
    #[inline]
    fn find(&self, reference: OrderReferenceNumber) -> Option<OrderReferenceNumber> {
        let (mut slots, range) = Self::slots_of(reference.get())?;
        let slot = slots.find(|&slot| self.0[slot] == range)?;
        Some(Self::in_slot(slot, reference.get()))
    }

    /// The same, with a slot for a range without one if there is a free one.
    #[inline]
    fn make(&mut self, reference: OrderReferenceNumber) -> Option<OrderReferenceNumber> {
        self.find(reference).or_else(|| self.open(reference))
    }

    #[cold]
    fn open(&mut self, reference: OrderReferenceNumber) -> Option<OrderReferenceNumber> {
        let (mut slots, range) = Self::slots_of(reference.get())?;
        let slot = slots.find(|&slot| self.0[slot] == 0)?;
        self.0[slot] = range;
        Some(Self::in_slot(slot, reference.get()))
    }

    /// The reference that has this number in the pages.
    fn reference(&self, paged: OrderReferenceNumber) -> OrderReferenceNumber {
        let slot = (paged.get() >> PLACE_BITS) as usize % RANGES;
        let place = paged.get() & ((1 << PLACE_BITS) - 1);
        OrderReferenceNumber::new((self.0[slot].saturating_sub(1)) << PLACE_BITS | place)
    }
}

impl OrderStore for RangedOrders {
    fn with_capacity(orders: usize) -> Self {
        let elsewhere = CompactOrders::with_capacity(0);
        Self { ranges: Ranges([0; RANGES]), paged: None, capacity: orders, elsewhere, live: 0 }
    }

    #[inline]
    fn insert(&mut self, reference: OrderReferenceNumber, order: Order) -> bool {
        let is_new = self.enter(reference, order);
        self.live += usize::from(is_new);
        is_new
    }

    #[inline]
    fn take(&mut self, reference: OrderReferenceNumber, shares: u32) -> Option<Order> {
        let before = self.reduce(reference, shares)?;
        self.live -= usize::from(before.shares.get() <= shares);
        Some(before)
    }

    #[inline]
    fn get(&self, reference: OrderReferenceNumber) -> Option<Order> {
        let paged = self.ranges.find(reference).zip(self.paged.as_ref());
        let found = paged.and_then(|(number, paged)| paged.get(number));
        found.or_else(|| self.elsewhere.get(reference))
    }

    #[inline]
    fn prefetch(&self, reference: OrderReferenceNumber) {
        if let (Some(number), Some(paged)) = (self.ranges.find(reference), &self.paged) {
            paged.prefetch(number);
        }
    }

    #[inline]
    fn len(&self) -> usize {
        self.live
    }

    fn iter(&self) -> impl Iterator<Item = (OrderReferenceNumber, Order)> + '_ {
        // Boxed: the orders of the pages can be in a store like this one.
        let paged: Box<dyn Iterator<Item = _>> = match &self.paged {
            Some(paged) => Box::new(paged.iter()),
            None => Box::new(core::iter::empty()),
        };
        let paged = paged.map(|(number, order)| (self.ranges.reference(number), order));
        paged.chain(self.elsewhere.iter())
    }
}

impl RangedOrders {
    #[inline]
    fn enter(&mut self, reference: OrderReferenceNumber, order: Order) -> bool {
        // A range that has a slot now might have had none before.
        if self.elsewhere.len() > 0 && self.elsewhere.get(reference).is_some() {
            return false;
        }
        let Some(number) = self.ranges.make(reference) else {
            return self.elsewhere.insert(reference, order);
        };
        let capacity = self.capacity;
        let paged =
            self.paged.get_or_insert_with(|| Box::new(PagedOrders::with_capacity(capacity)));
        paged.insert(number, order)
    }

    #[inline]
    fn reduce(&mut self, reference: OrderReferenceNumber, shares: u32) -> Option<Order> {
        if let (Some(number), Some(paged)) = (self.ranges.find(reference), &mut self.paged)
            && let Some(before) = paged.take(number, shares)
        {
            return Some(before);
        }
        self.elsewhere.take(reference, shares)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use nanotape_types::{Price, Shares, Side, StockLocate};

    use super::*;

    fn order(arrival: u32) -> Order {
        let (stock_locate, price) = (StockLocate::new(7), Price::new(10_000));
        Order { stock_locate, side: Side::Buy, price, shares: Shares::new(5), arrival }
    }

    /// As Cboe and IEX count, with references of no range between them.
    fn references() -> impl Iterator<Item = OrderReferenceNumber> {
        let counted = (0..3_000_u64).flat_map(|count| {
            let units = (1..5).map(move |unit| unit * 131_621_703_842_267_136 + 65_077_248 + count);
            let machines = (0x60..0x66).map(move |machine| machine << 48 | count);
            let any = [count.wrapping_mul(MIX) | 1 << 63, u64::MAX - count, LIMIT - 1 - count];
            units.chain(machines).chain(any)
        });
        counted.map(OrderReferenceNumber::new)
    }

    #[test]
    fn every_reference_keeps_its_order_and_most_are_in_pages() {
        let (mut orders, mut expected) = (RangedOrders::with_capacity(100), BTreeMap::new());
        for (arrival, reference) in (0..).zip(references()) {
            let is_new = expected.insert(reference, order(arrival)).is_none();
            assert_eq!(orders.insert(reference, order(arrival)), is_new, "{reference}");
            assert!(!orders.insert(reference, order(arrival)), "{reference}");
        }
        assert_eq!(orders.len(), expected.len());
        assert_eq!(orders.iter().collect::<BTreeMap<_, _>>(), expected);
        let in_pages = orders.paged.as_ref().unwrap().len();
        assert!(in_pages > 11 * 3_000 && orders.elsewhere.len() > 3_000, "{in_pages}");
        for (place, (reference, order)) in expected.iter().enumerate() {
            assert_eq!(orders.get(*reference), Some(*order));
            let shares = if place % 2 == 0 { 5 } else { 2 };
            assert_eq!(orders.take(*reference, shares), Some(*order));
            let left = orders.get(*reference).map(|order| order.shares.get());
            assert_eq!(left, (shares == 2).then_some(3), "{reference}");
        }
        assert_eq!(orders.len(), expected.len() / 2);
    }
}
