//! Open addressing over one flat table of 24-byte slots.
//!
//! ```text
//!  0        8       12       16       20   22  23  24
//!  | reference | price | shares | arrival | locate |side| - |     shares == 0: the slot is free
//! ```
//!
//! Linear probing from a multiplicative hash. A removal moves later entries of the run into the
//! hole instead of leaving a tombstone, so the table stays fast after 100 million orders. At most
//! half of the slots are used: a lookup then reads 1.5 slots on average, nearly always one cache
//! line.

use core::hint::black_box;

use nanotape_types::OrderReferenceNumber;

use super::{OrderStore, home::Home, packed_order::PackedOrder};
use crate::Order;

/// Orders in a flat open-addressing table that doubles when half full.
#[derive(Debug)]
pub struct CompactOrders {
    /// Its length is a power of two.
    slots: Box<[Slot]>,
    home: Home,
    live: usize,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    reference: u64,
    order: PackedOrder,
}

const _: () = assert!(size_of::<Slot>() == 24);

const FREE: Slot = Slot { reference: 0, order: PackedOrder::NONE };

impl CompactOrders {
    fn with_slots(slots: usize) -> Self {
        let home = Home::of_slots(slots);
        Self { slots: vec![FREE; slots].into_boxed_slice(), home, live: 0 }
    }

    #[inline]
    fn mask(&self) -> usize {
        self.slots.len() - 1
    }

    /// The slot of `reference` (`Ok`), or the free slot where it would go (`Err`).
    #[inline]
    fn find(&self, reference: u64) -> Result<usize, usize> {
        let mask = self.mask();
        let mut index = self.home.of(reference);
        // Terminates: at least half of the slots are free.
        loop {
            let slot = &self.slots[index & mask];
            if slot.order.is_none() {
                return Err(index & mask);
            }
            if slot.reference == reference {
                return Ok(index & mask);
            }
            index += 1;
        }
    }

    /// Frees the slot and closes the gap in its run.
    #[inline]
    fn free(&mut self, mut hole: usize) {
        let mask = self.mask();
        let mut index = hole;
        loop {
            index = (index + 1) & mask;
            let slot = self.slots[index];
            if slot.order.is_none() {
                break;
            }
            // The entry can move into the hole unless its home is between the hole and its slot.
            let distance_from_home = index.wrapping_sub(self.home.of(slot.reference)) & mask;
            let distance_from_hole = index.wrapping_sub(hole) & mask;
            if distance_from_home >= distance_from_hole {
                self.slots[hole] = slot;
                hole = index;
            }
        }
        self.slots[hole] = FREE;
        self.live -= 1;
    }

    /// Doubles the table. Only this allocates after construction.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let mut larger = Self::with_slots(self.slots.len() * 2);
        for slot in self.slots.iter().filter(|slot| !slot.order.is_none()) {
            if let Err(free) = larger.find(slot.reference) {
                larger.slots[free] = *slot;
            }
        }
        larger.live = self.live;
        *self = larger;
    }
}

impl OrderStore for CompactOrders {
    fn with_capacity(orders: usize) -> Self {
        Self::with_slots((orders.max(1) * 2).next_power_of_two())
    }

    #[inline]
    fn insert(&mut self, reference: OrderReferenceNumber, order: Order) -> bool {
        let Err(mut free) = self.find(reference.get()) else { return false };
        if (self.live + 1) * 2 > self.slots.len() {
            self.grow();
            match self.find(reference.get()) {
                Err(index) => free = index,
                Ok(_) => return false,
            }
        }
        self.slots[free] = Slot { reference: reference.get(), order: PackedOrder::new(order) };
        self.live += 1;
        true
    }

    #[inline]
    fn take(&mut self, reference: OrderReferenceNumber, shares: u32) -> Option<Order> {
        let index = self.find(reference.get()).ok()?;
        let before = self.slots[index].order.order();
        match before.shares.get().saturating_sub(shares) {
            0 => self.free(index),
            left => self.slots[index].order.shares = left,
        }
        Some(before)
    }

    #[inline]
    fn get(&self, reference: OrderReferenceNumber) -> Option<Order> {
        self.find(reference.get()).ok().map(|index| self.slots[index].order.order())
    }

    #[inline]
    fn touch(&self, reference: OrderReferenceNumber, _: usize) -> usize {
        // An ordinary load whose value is not used: the processor does not wait for it.
        black_box(self.slots[self.home.of(reference.get()) & self.mask()].order.shares);
        0
    }

    fn len(&self) -> usize {
        self.live
    }

    fn iter(&self) -> impl Iterator<Item = (OrderReferenceNumber, Order)> + '_ {
        let live = self.slots.iter().filter(|slot| !slot.order.is_none());
        live.map(|slot| (OrderReferenceNumber::new(slot.reference), slot.order.order()))
    }
}
