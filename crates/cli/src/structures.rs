//! The options for the structures of the books: `--level-structure` and `--order-structure`.

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use nanotape_book::{ChosenBooks, ChosenLevels, ChosenOrders, LevelStructure, OrderStructure};

/// Names of structures. Without any, a command uses `DefaultBooks`, whose types are known when it
/// is compiled.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Advanced (affects time and memory, not results)")]
pub(crate) struct StructureArguments {
    #[arg(
        long,
        value_name = "NAME",
        value_parser = level_structure(),
        help = format!("Structure that stores price levels [default: {}]", LevelStructure::default())
    )]
    level_structure: Option<LevelStructure>,

    #[arg(
        long,
        value_name = "NAME",
        value_parser = order_structure(),
        help = format!("Structure that stores live orders [default: {}]", OrderStructure::default())
    )]
    order_structure: Option<OrderStructure>,
}

impl StructureArguments {
    /// Empty books with memory for `orders` in the chosen structures; None if no structure was
    /// chosen.
    pub(crate) fn chosen(self, orders: usize) -> Option<ChosenBooks> {
        if self.level_structure.is_none() && self.order_structure.is_none() {
            return None;
        }
        let levels = ChosenLevels::new(self.level_structure.unwrap_or_default(), orders);
        let orders = ChosenOrders::new(self.order_structure.unwrap_or_default(), orders);
        Some(ChosenBooks::new(levels, orders))
    }
}

fn level_structure() -> impl TypedValueParser<Value = LevelStructure> {
    PossibleValuesParser::new(LevelStructure::NAMES).try_map(|name| name.parse::<LevelStructure>())
}

fn order_structure() -> impl TypedValueParser<Value = OrderStructure> {
    PossibleValuesParser::new(OrderStructure::NAMES).try_map(|name| name.parse::<OrderStructure>())
}
