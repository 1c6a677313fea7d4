//! Price levels in a structure that is chosen by name.

use super::{any_of::any_of, named::named};
use crate::{
    BestFirst, BestLast, BinarySearch, BookSide, BranchFreeSearch, EachSide, Level, LinearSearch,
    NearSearch, PackedLevels, PriceKey, PriceLevels, SortedMap, TickIndexed,
};

/// Makes, from a list of structures, [`LevelStructure`] and [`ChosenLevels`] with every operation.
macro_rules! chosen_levels {
    ($($(#[$meaning:meta])* $Variant:ident = $name:literal: $Levels:ty,)*) => {
        named! {
            /// How price levels are kept. No answer depends on it; time and memory do.
            LevelStructure of "price levels" {
                $($(#[$meaning])* $Variant = $name,)*
            }
        }

        any_of! { $($Variant)* }

        /// Price levels in one of the structures of [`LevelStructure`].
        #[derive(Debug)]
        pub enum ChosenLevels {
            $($(#[$meaning])* $Variant($Levels),)*
        }

        impl ChosenLevels {
            /// Empty books in `structure`, for a day with about `orders` live orders at its peak.
            pub fn new(structure: LevelStructure, orders: usize) -> Self {
                match structure {
                    $(LevelStructure::$Variant => {
                        Self::$Variant(<$Levels as PriceLevels>::with_capacity(orders))
                    })*
                }
            }

            /// The structure in use.
            pub fn structure(&self) -> LevelStructure {
                match self {
                    $(Self::$Variant(_) => LevelStructure::$Variant,)*
                }
            }
        }

        impl PriceLevels for ChosenLevels {
            /// Uses the default structure.
            fn with_capacity(orders: usize) -> Self {
                Self::new(LevelStructure::default(), orders)
            }

            #[inline]
            fn add(&mut self, side: BookSide, key: PriceKey, shares: u32) -> bool {
                match self {
                    $(Self::$Variant(levels) => levels.add(side, key, shares),)*
                }
            }

            #[inline]
            fn reduce(&mut self, side: BookSide, key: PriceKey, shares: u32, leaves: bool) -> bool {
                match self {
                    $(Self::$Variant(levels) => levels.reduce(side, key, shares, leaves),)*
                }
            }

            #[inline]
            fn set(&mut self, side: BookSide, key: PriceKey, shares: u32) -> bool {
                match self {
                    $(Self::$Variant(levels) => levels.set(side, key, shares),)*
                }
            }

            #[inline]
            fn best(&self, side: BookSide) -> Option<Level> {
                match self {
                    $(Self::$Variant(levels) => levels.best(side),)*
                }
            }

            fn at(&self, side: BookSide, key: PriceKey) -> Option<Level> {
                match self {
                    $(Self::$Variant(levels) => levels.at(side, key),)*
                }
            }

            fn best_first(&self, side: BookSide) -> impl Iterator<Item = Level> + '_ {
                match self {
                    $(Self::$Variant(levels) => AnyOf::$Variant(levels.best_first(side)),)*
                }
            }

            fn better_levels(&self, side: BookSide, key: PriceKey) -> usize {
                match self {
                    $(Self::$Variant(levels) => levels.better_levels(side, key),)*
                }
            }

            fn level_count(&self, side: BookSide) -> usize {
                match self {
                    $(Self::$Variant(levels) => levels.level_count(side),)*
                }
            }

            #[inline]
            fn touch_deep(&self, side: BookSide) {
                match self {
                    $(Self::$Variant(levels) => levels.touch_deep(side),)*
                }
            }

            #[inline]
            fn touch(&self, side: BookSide) {
                match self {
                    $(Self::$Variant(levels) => levels.touch(side),)*
                }
            }
        }
    };
}

chosen_levels! {
    /// A sorted map of prices.
    SortedMap = "sorted-map": EachSide<SortedMap>,
    /// A vector, best first, binary search.
    BestFirst = "best-first": EachSide<BestFirst>,
    /// A vector, best last, the standard library's binary search.
    BestLast = "best-last": EachSide<BestLast<BinarySearch>>,
    /// A vector, best last, a binary search without branches.
    BestLastBranchFree = "best-last-branch-free": EachSide<BestLast<BranchFreeSearch>>,
    /// A vector, best last, a walk from the best.
    BestLastLinear = "best-last-linear": EachSide<BestLast<LinearSearch>>,
    /// A vector, best last, a short walk from the best and then halving.
    BestLastNear = "best-last-near": EachSide<BestLast<NearSearch>>,
    /// An array of ticks around the inside, and a sorted map for the rest.
    TickIndexed = "tick-indexed": TickIndexed,
    /// All sides in one table, keys apart, the nearest sixteen compared at once.
    Packed = "packed": PackedLevels,
    // Add further structures here, one line each.
}

impl Default for LevelStructure {
    /// The structure of [`DefaultBooks`](crate::DefaultBooks).
    fn default() -> Self {
        Self::Packed
    }
}
