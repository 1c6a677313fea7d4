//! Structures that are chosen by name when the program runs.
//!
//! ```text
//!  "tick-indexed" --> LevelStructure --> ChosenLevels --+
//!                                                       +--> ChosenBooks
//!  "pool"         --> OrderStructure --> ChosenOrders --+
//! ```
//!
//! One type of books serves every combination: each operation matches on the structure and calls
//! that structure's own code. The branch always goes the same way. To measure a structure without
//! it, name its type instead, as [`DefaultBooks`](crate::DefaultBooks) does.

mod any_of;
mod levels;
mod named;
mod orders;

pub use levels::{ChosenLevels, LevelStructure};
pub use named::UnknownStructure;
pub use orders::{ChosenOrders, OrderStructure};

use crate::Books;

/// Books of structures that were chosen by name.
pub type ChosenBooks = Books<ChosenLevels, ChosenOrders>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_structure_is_found_by_its_name_and_made() {
        for &structure in LevelStructure::ALL {
            assert_eq!(structure.to_string().parse(), Ok(structure));
            assert_eq!(ChosenLevels::new(structure, 1).structure(), structure);
        }
        for &structure in OrderStructure::ALL {
            assert_eq!(structure.to_string().parse(), Ok(structure));
            assert_eq!(ChosenOrders::new(structure, 1).structure(), structure);
        }
    }

    #[test]
    fn a_name_that_none_has_lists_those_there_are() {
        let error = "Pool".parse::<OrderStructure>().unwrap_err();
        assert!(
            error.to_string().starts_with(
                "unknown structure of orders: use one of hash-map, open-addressing, pool, "
            ),
            "{error}"
        );
        assert!("".parse::<LevelStructure>().is_err());
    }
}
