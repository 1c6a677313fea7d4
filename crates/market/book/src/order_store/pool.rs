//! A recycled pool of order records behind an index of 4-byte slots.
//!
//! ```text
//!  index: one u32 a slot          pool: 24 bytes a record
//!  | 7 | - | 0 | - | - | 3 |      0 | reference | order |
//!    |       +------------------->1 | next free | none  |     shares == 0: the record is free
//!    +--> record 7                ...
//! ```
//!
//! Records never move. Freed ones are used again, last freed first, while they are still in the
//! cache; the free records form a linked list. The index has the probing, the hash and the removal
//! without tombstones of [`CompactOrders`](super::CompactOrders), with slots of a sixth of the
//! size: 16 MiB for two million orders instead of 96.
//!
//! Cost: a lookup is two dependent misses: the slot has the number of the record, and the record
//! has the reference. A removal reads the record of each later entry of its run to find its home.
//! Bounds: 2^32 - 1 live orders of 24 bytes each; one more ends the program. Allocates only when
//! more orders are live than ever before.

use core::hint::black_box;

use nanotape_types::OrderReferenceNumber;

use super::{OrderStore, home::Home, packed_order::PackedOrder};
use crate::Order;

/// Orders in a pool of records, found through an open-addressing index that doubles when half full.
#[derive(Debug)]
pub struct PooledOrders {
    /// Numbers of records, or [`VACANT`]. Its length is a power of two.
    index: Box<[u32]>,
    home: Home,
    records: Vec<Record>,
    /// The free record to use next, or [`VACANT`].
    next_free: u32,
    live: usize,
}

/// Marks a vacant slot; no record has this number.
const VACANT: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Record {
    /// In a free record, the number of the next free one.
    reference: u64,
    order: PackedOrder,
}

const _: () = assert!(size_of::<Record>() == 24);

impl PooledOrders {
    #[inline]
    fn mask(&self) -> usize {
        self.index.len() - 1
    }

    #[inline]
    fn record(&self, number: u32) -> &Record {
        &self.records[number as usize]
    }

    /// The slot of `reference` and its record's number (`Ok`), or the vacant slot where it would go
    /// (`Err`).
    #[inline]
    fn find(&self, reference: u64) -> Result<(usize, u32), usize> {
        let mask = self.mask();
        let mut slot = self.home.of(reference) & mask;
        // Terminates: at least half of the slots are vacant.
        loop {
            let number = self.index[slot];
            if number == VACANT {
                return Err(slot);
            }
            if self.record(number).reference == reference {
                return Ok((slot, number));
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Puts `record` into a free record and returns the number of it.
    #[inline]
    fn occupy(&mut self, record: Record) -> u32 {
        if self.next_free == VACANT {
            return self.append(record);
        }
        let number = self.next_free;
        let free = &mut self.records[number as usize];
        // A free record has a `u32` number here.
        self.next_free = free.reference as u32;
        *free = record;
        number
    }

    #[cold]
    fn append(&mut self, record: Record) -> u32 {
        let number = match u32::try_from(self.records.len()) {
            Ok(number) if number != VACANT => number,
            _ => panic!("more than 2^32 - 1 orders are live"),
        };
        self.records.push(record);
        number
    }

    /// Frees the record and closes the gap that its slot leaves in the run.
    #[inline]
    fn free(&mut self, mut hole: usize, number: u32) {
        let next = u64::from(self.next_free);
        self.records[number as usize] = Record { reference: next, order: PackedOrder::NONE };
        self.next_free = number;
        self.live -= 1;

        let mask = self.mask();
        let mut slot = hole;
        loop {
            slot = (slot + 1) & mask;
            let number = self.index[slot];
            if number == VACANT {
                break;
            }
            // The entry can move into the hole unless its home is between the hole and its slot.
            let home = self.home.of(self.record(number).reference);
            let distance_from_home = slot.wrapping_sub(home) & mask;
            let distance_from_hole = slot.wrapping_sub(hole) & mask;
            if distance_from_home >= distance_from_hole {
                self.index[hole] = number;
                hole = slot;
            }
        }
        self.index[hole] = VACANT;
    }

    /// Doubles the index; the records do not move.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let slots = self.index.len() * 2;
        self.index = vec![VACANT; slots].into_boxed_slice();
        self.home = Home::of_slots(slots);
        for (number, record) in (0u32..).zip(&self.records) {
            if record.order.is_none() {
                continue;
            }
            let mut slot = self.home.of(record.reference);
            while self.index[slot & (slots - 1)] != VACANT {
                slot += 1;
            }
            self.index[slot & (slots - 1)] = number;
        }
    }
}

impl OrderStore for PooledOrders {
    fn with_capacity(orders: usize) -> Self {
        let slots = (orders.max(1) * 2).next_power_of_two();
        Self {
            index: vec![VACANT; slots].into_boxed_slice(),
            home: Home::of_slots(slots),
            records: Vec::with_capacity(orders),
            next_free: VACANT,
            live: 0,
        }
    }

    #[inline]
    fn insert(&mut self, reference: OrderReferenceNumber, order: Order) -> bool {
        let reference = reference.get();
        let Err(mut vacant) = self.find(reference) else { return false };
        if (self.live + 1) * 2 > self.index.len() {
            self.grow();
            match self.find(reference) {
                Err(slot) => vacant = slot,
                Ok(_) => return false,
            }
        }
        self.index[vacant] = self.occupy(Record { reference, order: PackedOrder::new(order) });
        self.live += 1;
        true
    }

    #[inline]
    fn take(&mut self, reference: OrderReferenceNumber, shares: u32) -> Option<Order> {
        let (slot, number) = self.find(reference.get()).ok()?;
        let record = &mut self.records[number as usize];
        let before = record.order.order();
        match before.shares.get().saturating_sub(shares) {
            0 => self.free(slot, number),
            left => record.order.shares = left,
        }
        Some(before)
    }

    #[inline]
    fn get(&self, reference: OrderReferenceNumber) -> Option<Order> {
        let (_, number) = self.find(reference.get()).ok()?;
        Some(self.record(number).order.order())
    }

    /// Ordinary loads whose values are not used: the processor does not wait for them.
    #[inline]
    fn touch(&self, reference: OrderReferenceNumber, _: usize) -> usize {
        let number = self.index[self.home.of(reference.get()) & self.mask()];
        if let Some(record) = self.records.get(number as usize) {
            black_box(record.reference);
        }
        0
    }

    fn len(&self) -> usize {
        self.live
    }

    fn iter(&self) -> impl Iterator<Item = (OrderReferenceNumber, Order)> + '_ {
        let live = self.records.iter().filter(|record| !record.order.is_none());
        live.map(|record| (OrderReferenceNumber::new(record.reference), record.order.order()))
    }
}

#[cfg(test)]
mod tests {
    use nanotape_types::{Price, Shares, Side, StockLocate};

    use super::*;

    /// There are as many records as orders were live at once, whatever enters and leaves.
    #[test]
    fn records_are_used_again() {
        let order = Order {
            stock_locate: StockLocate::new(1),
            side: Side::Sell,
            price: Price::new(7),
            shares: Shares::new(3),
            arrival: 0,
        };
        let mut store = PooledOrders::with_capacity(1);
        for round in 0..10u64 {
            let references = (round * 70..round * 70 + 100).map(OrderReferenceNumber::new);
            for reference in references.clone() {
                assert!(store.insert(reference, order));
            }
            for reference in references {
                assert_eq!(store.take(reference, 2), Some(order));
                assert!(store.take(reference, 1).is_some_and(|left| left.shares.get() == 1));
            }
        }
        assert_eq!((store.records.len(), store.len(), store.iter().count()), (100, 0, 0));
        assert!(store.index.iter().all(|&number| number == VACANT));
    }
}
