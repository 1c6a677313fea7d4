//! The options for the structures of the books.
//!
//! Every command that builds books has `--levels NAME` and `--orders NAME`. In `book` and `depth`,
//! `--levels` takes a number of levels to show, the name of a structure, or one of each. In `book`,
//! `--orders` lists orders, and `--order-structure NAME` selects the structure.

use std::ffi::OsStr;

use anyhow::bail;
use clap::{
    Arg, Args, Command,
    builder::{PossibleValuesParser, RangedI64ValueParser, TypedValueParser},
};
use nanotape_book::{ChosenBooks, ChosenLevels, ChosenOrders, LevelStructure, OrderStructure};

/// Heading of the options in the help of every command.
pub(crate) const HEADING: &str = "Structures (they affect time and memory, not results)";

/// Names of structures. Without any, a command uses `DefaultBooks`, whose types are known when it
/// is compiled.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = HEADING)]
pub(crate) struct StructureArguments {
    #[arg(
        long,
        visible_alias = "level-structure",
        value_name = "NAME",
        value_parser = level_structure(),
        help = format!("Structure that stores price levels [default: {}]", LevelStructure::default())
    )]
    levels: Option<LevelStructure>,

    #[arg(
        long,
        visible_alias = "order-structure",
        value_name = "NAME",
        value_parser = order_structure(),
        help = order_help()
    )]
    orders: Option<OrderStructure>,
}

impl StructureArguments {
    /// Empty books with memory for `orders` in the chosen structures; None if no structure was
    /// chosen.
    pub(crate) fn chosen(self, orders: usize) -> Option<ChosenBooks> {
        chosen(self.levels, self.orders, orders)
    }
}

/// Empty books with room for `room` orders in these structures; None if none was named.
pub(crate) fn chosen(
    levels: Option<LevelStructure>,
    orders: Option<OrderStructure>,
    room: usize,
) -> Option<ChosenBooks> {
    if levels.is_none() && orders.is_none() {
        return None;
    }
    let levels = ChosenLevels::new(levels.unwrap_or_default(), room);
    let orders = ChosenOrders::new(orders.unwrap_or_default(), room);
    Some(ChosenBooks::new(levels, orders))
}

/// A value of `--levels` in commands that show levels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Levels {
    /// Show this number on each side.
    Shown(u32),
    /// Keep all levels in this structure.
    KeptIn(LevelStructure),
}

/// The number of levels to show and the structure to keep them in, from all values of the option.
pub(crate) fn shown_and_kept(
    levels: &[Levels],
    level_structure: Option<LevelStructure>,
) -> anyhow::Result<(Option<u32>, Option<LevelStructure>)> {
    let (mut shown, mut kept_in) = (None, level_structure);
    for &levels in levels {
        match levels {
            Levels::Shown(number) => {
                if let Some(other) = shown.replace(number) {
                    bail!("--levels {other} and --levels {number}: give only one number");
                }
            }
            Levels::KeptIn(structure) => {
                if let Some(other) = kept_in.replace(structure) {
                    bail!("level structures {other} and {structure}: give only one");
                }
            }
        }
    }
    Ok((shown, kept_in))
}

/// Parses a number of levels, or the name of a structure.
#[derive(Clone, Debug)]
pub(crate) struct LevelsParser {
    numbers: RangedI64ValueParser<u32>,
}

impl LevelsParser {
    /// Accepts numbers from 1 to `most`.
    pub(crate) fn up_to(most: u32) -> Self {
        Self { numbers: RangedI64ValueParser::new().range(1..=i64::from(most)) }
    }
}

impl TypedValueParser for LevelsParser {
    type Value = Levels;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Levels, clap::Error> {
        // No name of a structure begins like a number.
        let is_number = value
            .as_encoded_bytes()
            .first()
            .is_some_and(|first| first.is_ascii_digit() || matches!(first, b'-' | b'+'));
        if is_number {
            self.numbers.parse_ref(command, argument, value).map(Levels::Shown)
        } else {
            level_structure().parse_ref(command, argument, value).map(Levels::KeptIn)
        }
    }
}

pub(crate) fn level_structure() -> impl TypedValueParser<Value = LevelStructure> {
    PossibleValuesParser::new(LevelStructure::NAMES).try_map(|name| name.parse::<LevelStructure>())
}

pub(crate) fn order_structure() -> impl TypedValueParser<Value = OrderStructure> {
    PossibleValuesParser::new(OrderStructure::NAMES).try_map(|name| name.parse::<OrderStructure>())
}

pub(crate) fn order_help() -> String {
    format!("Structure that stores live orders [default: {}]", OrderStructure::default())
}

/// The help of `--level-structure` in commands in which `--levels` has two meanings.
pub(crate) fn level_help() -> String {
    format!("The same as --levels NAME [default: {}]", LevelStructure::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_number_and_one_name_in_any_order() {
        let (five, map) = (Levels::Shown(5), Levels::KeptIn(LevelStructure::SortedMap));
        let both = (Some(5), Some(LevelStructure::SortedMap));
        for given in [[five, map], [map, five]] {
            assert_eq!(shown_and_kept(&given, None).unwrap(), both);
        }
        let named = shown_and_kept(&[five], Some(LevelStructure::SortedMap)).unwrap();
        assert_eq!(named, both);
        assert_eq!(shown_and_kept(&[], None).unwrap(), (None, None));
        assert!(shown_and_kept(&[five, five], None).is_err());
        assert!(shown_and_kept(&[map, map], None).is_err());
        assert!(shown_and_kept(&[map], Some(LevelStructure::Packed)).is_err());
    }

    #[test]
    fn no_name_of_a_structure_can_be_read_as_a_number() {
        for name in LevelStructure::NAMES {
            assert!(name.starts_with(|first: char| first.is_ascii_lowercase()), "{name}");
        }
    }
}
