//! The plain store: the standard hash map with its default, collision-resistant hash.

use std::collections::{HashMap, hash_map::Entry};

use nanotape_types::{OrderReferenceNumber, Shares};

use super::OrderStore;
use crate::Order;

/// Orders in a `std::collections::HashMap`.
#[derive(Default, Debug)]
pub struct HashMapOrders(HashMap<OrderReferenceNumber, Order>);

impl OrderStore for HashMapOrders {
    fn with_capacity(orders: usize) -> Self {
        Self(HashMap::with_capacity(orders))
    }

    fn insert(&mut self, reference: OrderReferenceNumber, order: Order) -> bool {
        match self.0.entry(reference) {
            Entry::Occupied(_) => false,
            Entry::Vacant(vacant) => {
                vacant.insert(order);
                true
            }
        }
    }

    fn take(&mut self, reference: OrderReferenceNumber, shares: u32) -> Option<Order> {
        let Entry::Occupied(mut entry) = self.0.entry(reference) else { return None };
        let before = *entry.get();
        match before.shares.get().saturating_sub(shares) {
            0 => drop(entry.remove()),
            left => entry.get_mut().shares = Shares::new(left),
        }
        Some(before)
    }

    fn get(&self, reference: OrderReferenceNumber) -> Option<Order> {
        self.0.get(&reference).copied()
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn iter(&self) -> impl Iterator<Item = (OrderReferenceNumber, Order)> + '_ {
        self.0.iter().map(|(&reference, &order)| (reference, order))
    }
}
