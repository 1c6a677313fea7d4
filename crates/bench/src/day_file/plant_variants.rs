//! Plants that are measured beside each other, and the books that they are held against: one line for
//! each, in the order of the table.

use nanotape_plant::{
    config::DEFAULT_CAPACITY_BYTES,
    records::{RecordKind, RecordKinds},
};

use super::{
    error::DayFileError,
    plant,
    variants::{Kind, Variant, default_books, select_of},
};

/// The books without records and without a ring, which others are held against.
pub const BACKBONE: &str = "backbone";

/// The plant that goals are for.
pub const PLANT: &str = "plant";

/// Every variant. Taps stand last, fewest first.
pub static PLANT_VARIANTS: &[Variant] = &[
    default_books(BACKBONE),
    // Differs in nothing: it says how far apart equal programs are here.
    default_books("backbone/again"),
    plant(PLANT, USUAL),
    plant("plant/all", Shape { kinds: RecordKinds::USUAL, ..USUAL }),
    plant("plant/small-ring", Shape { capacity_bytes: SMALL_RING_BYTES, ..USUAL }),
    taps("plant/1-tap", 1),
    taps("plant/2-taps", 2),
    taps("plant/3-taps", 3),
    taps("plant/4-taps", 4),
    taps("plant/5-taps", 5),
    taps("plant/6-taps", 6),
    taps("plant/7-taps", 7),
    taps("plant/8-taps", 8),
];

/// What stays in a second-level cache: records by themselves, without the way to memory.
const SMALL_RING_BYTES: usize = 256 << 10;

const USUAL: Shape = Shape {
    kinds: RecordKinds::NONE.with(RecordKind::Mbo).with(RecordKind::Bbo),
    capacity_bytes: DEFAULT_CAPACITY_BYTES,
    taps: 0,
};

/// What a plant publishes, where to, and to whom.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Which records.
    pub kinds: RecordKinds,
    /// Size of its ring.
    pub capacity_bytes: usize,
    /// Processes that read it.
    pub taps: usize,
}

/// The variants of these names, in the order of the table. If there are no names: all, but of those
/// with taps only what so many processors beside the plant's can do, and one tap more.
pub fn select_plants(
    names: &[String],
    processors: usize,
) -> Result<Vec<&'static Variant>, DayFileError> {
    let mut variants = select_of(PLANT_VARIANTS, names)?;
    if names.is_empty() {
        let taps = |variant: &&Variant| variant.shape.map_or(0, |shape| shape.taps);
        variants.retain(|variant| taps(variant) <= processors + 1);
    }
    Ok(variants)
}

const fn plant(name: &'static str, shape: Shape) -> Variant {
    Variant { name, kind: Kind::Plant, shape: Some(shape), take: plant::take }
}

const fn taps(name: &'static str, taps: usize) -> Variant {
    plant(name, Shape { taps, ..USUAL })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::day_file::VARIANTS;

    #[test]
    fn names_are_words_and_differ_from_all_others() {
        let all: Vec<&str> = VARIANTS.iter().chain(PLANT_VARIANTS).map(|one| one.name).collect();
        for (place, name) in all.iter().enumerate() {
            assert!(!name.is_empty() && !name.contains([' ', ',']) && !all[..place].contains(name));
        }
        assert_eq!((PLANT_VARIANTS[0].name, PLANT_VARIANTS[2].name), (BACKBONE, PLANT));
    }

    #[test]
    fn taps_are_as_many_as_processors_and_one_more_unless_they_are_named() {
        let last = |names: &[String], processors| {
            select_plants(names, processors).unwrap().last().map(|variant| variant.name)
        };
        assert_eq!(last(&[], 0), Some("plant/1-tap"));
        assert_eq!(last(&[], 1), Some("plant/2-taps"));
        assert_eq!(last(&[], 63), Some("plant/8-taps"));
        assert_eq!(last(&["plant/4-taps".to_owned()], 1), Some("plant/4-taps"));
        let error = select_plants(&["default".to_owned()], 1).unwrap_err().to_string();
        assert!(error.starts_with("no variant is named default; there are backbone, "), "{error}");
    }
}
