//! Orders in a structure that is chosen by name.

use nanotape_types::{OrderReferenceNumber, Side, StockLocate};

use super::{any_of::any_of, named::named};
use crate::{
    BucketOrders, ClearingOrders, CompactOrders, HashMapOrders, Order, OrderStore, PagedOrders,
    PooledOrders,
};

/// Makes, from a list of structures, [`OrderStructure`] and [`ChosenOrders`] with every operation.
macro_rules! chosen_orders {
    ($($(#[$meaning:meta])* $Variant:ident = $name:literal: $Orders:ty,)*) => {
        named! {
            /// How live orders are kept. No answer depends on it; time and memory do.
            OrderStructure of "orders" {
                $($(#[$meaning])* $Variant = $name,)*
            }
        }

        any_of! { $($Variant)* }

        /// Live orders in one of the structures of [`OrderStructure`].
        #[derive(Debug)]
        #[expect(clippy::large_enum_variant, reason = "there is one for all books of a process")]
        pub enum ChosenOrders {
            $($(#[$meaning])* $Variant($Orders),)*
        }

        impl ChosenOrders {
            /// A store in `structure`, with room for `orders` before it has to grow.
            pub fn new(structure: OrderStructure, orders: usize) -> Self {
                match structure {
                    $(OrderStructure::$Variant => {
                        Self::$Variant(<$Orders as OrderStore>::with_capacity(orders))
                    })*
                }
            }

            /// The structure in use.
            pub fn structure(&self) -> OrderStructure {
                match self {
                    $(Self::$Variant(_) => OrderStructure::$Variant,)*
                }
            }
        }

        impl OrderStore for ChosenOrders {
            /// Uses the default structure.
            fn with_capacity(orders: usize) -> Self {
                Self::new(OrderStructure::default(), orders)
            }

            #[inline]
            fn insert(&mut self, reference: OrderReferenceNumber, order: Order) -> bool {
                match self {
                    $(Self::$Variant(orders) => orders.insert(reference, order),)*
                }
            }

            #[inline]
            fn take(&mut self, reference: OrderReferenceNumber, shares: u32) -> Option<Order> {
                match self {
                    $(Self::$Variant(orders) => orders.take(reference, shares),)*
                }
            }

            #[inline]
            fn get(&self, reference: OrderReferenceNumber) -> Option<Order> {
                match self {
                    $(Self::$Variant(orders) => orders.get(reference),)*
                }
            }

            #[inline]
            fn prefetch_index(&self, reference: OrderReferenceNumber) -> usize {
                match self {
                    $(Self::$Variant(orders) => orders.prefetch_index(reference),)*
                }
            }

            #[inline]
            fn touch(&self, reference: OrderReferenceNumber, foreseen: usize) -> usize {
                match self {
                    $(Self::$Variant(orders) => orders.touch(reference, foreseen),)*
                }
            }

            #[inline]
            fn side_hint(&self, touched: usize) -> Option<Side> {
                match self {
                    $(Self::$Variant(orders) => orders.side_hint(touched),)*
                }
            }

            fn clear(&mut self, stock_locate: StockLocate, count: usize, arrivals: u32) {
                match self {
                    $(Self::$Variant(orders) => orders.clear(stock_locate, count, arrivals),)*
                }
            }

            fn len(&self) -> usize {
                match self {
                    $(Self::$Variant(orders) => orders.len(),)*
                }
            }

            fn iter(&self) -> impl Iterator<Item = (OrderReferenceNumber, Order)> + '_ {
                match self {
                    $(Self::$Variant(orders) => AnyOf::$Variant(orders.iter()),)*
                }
            }
        }
    };
}

chosen_orders! {
    /// The standard library's hash map.
    HashMap = "hash-map": HashMapOrders,
    /// Open addressing over one flat table.
    OpenAddressing = "open-addressing": CompactOrders,
    /// A recycled pool of records behind an index.
    Pool = "pool": PooledOrders,
    /// A direct index by reference number, in pages.
    Pages = "pages": PagedOrders,
    /// Buckets of one cache line, four orders in each, found by a hash.
    Buckets = "buckets": BucketOrders,
    /// Open addressing, and the orders of one stock leave at once.
    Clearing = "clearing": ClearingOrders<CompactOrders>,
    // Add further structures here, one line each.
}

impl Default for OrderStructure {
    /// The structure of [`DefaultBooks`](crate::DefaultBooks).
    fn default() -> Self {
        Self::Pages
    }
}
