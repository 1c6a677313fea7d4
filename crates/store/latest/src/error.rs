//! Why a map cannot be opened or changed.

use std::time::Duration;

use nanotape_shm::RegionError;

use crate::spec::{LatestSpec, MOST_WORDS, MOST_WRITERS, ValueLayout};

/// An error of a map.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LatestError {
    /// The region.
    #[error(transparent)]
    Region(#[from] RegionError),
    /// A map like this cannot exist.
    #[error(
        "a map of {} entries, keys of {} words, values of {} and {} writers cannot exist: expected 1 to \
         2^40 entries, keys of 1 to {MOST_WORDS} words, values of up to {MOST_WORDS}, 1 to \
         {MOST_WRITERS} writers, in an address space, and a layout of values that is 0 or has a version",
        spec.entries, spec.key_words, spec.value_words, spec.writers
    )]
    Spec {
        /// What was requested.
        spec: LatestSpec,
    },
    /// Something is at the path of a new map.
    #[error("exists already: choose another path, or remove it")]
    Exists,
    /// The header of the region describes no map.
    #[error("the parameters of the region are not those of a map")]
    NoMap,
    /// The values are not those that this program reads and writes.
    #[error(
        "its values are {found}, expected {expected}{}",
        if *is_earlier {
            "; nanotape latest upgrade NAME --schema FILE makes a map of this version from one of an \
             earlier version"
        } else {
            ""
        }
    )]
    Values {
        /// The layout of the map.
        found: ValueLayout,
        /// The requested layout.
        expected: ValueLayout,
        /// Whether the map can be of an earlier version of the requested value.
        is_earlier: bool,
    },
    /// As many writers have the map as it has numbers for.
    #[error("all {most} writers of the map are alive: end one, or make a map for more")]
    Writers {
        /// The limit.
        most: u32,
    },
    /// Writers have a map that another one is to replace.
    #[error(
        "{writers} {} alive: end {} first (nanotape latest stat has the numbers)",
        if *writers == 1 { "writer is" } else { "writers are" },
        if *writers == 1 { "it" } else { "them" }
    )]
    Alive {
        /// How many.
        writers: usize,
    },
    /// A copy does not have as many entries as the map counts.
    #[error(
        "damaged: {copied} entries were copied, but {counted} are counted; nanotape latest verify \
         reports the damage"
    )]
    Count {
        /// Entries that were found.
        copied: u64,
        /// Entries by the accounts of writers.
        counted: u64,
    },
    /// The map has as many entries as it was made for.
    #[error("full: the map has {entries} entries, as many as it was made for")]
    Full {
        /// The capacity.
        entries: u64,
    },
    /// A writer that is alive keeps an entry.
    #[error("busy: {}, for {waited:?} already", match owner {
        0 => format!(
            "other writers change entries of group {group} at each attempt, or its counts are damaged"
        ),
        _ => format!("writer {owner} has not finished a change of group {group}: it is stopped or slow"),
    })]
    Busy {
        /// The group of the entry, or the first one that is concerned.
        group: u64,
        /// The number of the writer; 0 if different ones took turns.
        owner: u32,
        /// How long this call has waited.
        waited: Duration,
    },
    /// A word that no writer stores.
    #[error("damaged: word {word} of the map has {found:#x}, which no writer stores")]
    Damaged {
        /// The number of the word, after the header of the region.
        word: u64,
        /// Its value.
        found: u64,
    },
}

impl LatestError {
    /// Whether the map is damaged; all others are obstacles.
    pub fn is_bad_data(&self) -> bool {
        match self {
            Self::Region(error) => error.is_bad_data(),
            Self::NoMap | Self::Damaged { .. } | Self::Count { .. } => true,
            _ => false,
        }
    }
}
