//! What is measured beside each other: one line for each, in the order of the table.
//!
//! Every structure of levels runs with the default's store of orders, and every store with the
//! default's levels, so that a row differs from `default` in one thing. The row of what the default
//! itself is made of differs in nothing: it says how far apart equal programs are here.

use nanotape_book::{
    BestFirst, BestLast, BinarySearch, Books, BranchFreeSearch, BucketOrders, CompactOrders,
    DefaultBooks, EachSide, HashMapOrders, LinearSearch, NearSearch, OrderStore, PackedLevels,
    PagedOrders, PooledOrders, PriceLevels, SortedMap, TickIndexed,
};
use nanotape_feed::{DaySource, SourceError};
use serde_json::Value;

use super::{
    books,
    error::DayFileError,
    job::{Job, Role},
    limits::{self, Tally},
    loads,
    plant_variants::Shape,
    profile,
};

/// The variant that others are compared with.
pub const DEFAULT: &str = "default";

/// Every variant.
pub static VARIANTS: &[Variant] = &[
    the_default::<DefaultLevels, DefaultOrders>(DEFAULT),
    levels::<PackedLevels>("levels/packed"),
    levels::<EachSide<SortedMap>>("levels/sorted-map"),
    levels::<EachSide<BestFirst>>("levels/best-first"),
    levels::<EachSide<BestLast<BinarySearch>>>("levels/best-last"),
    levels::<EachSide<BestLast<BranchFreeSearch>>>("levels/best-last-branch-free"),
    levels::<EachSide<BestLast<LinearSearch>>>("levels/best-last-linear"),
    levels::<EachSide<BestLast<NearSearch>>>("levels/best-last-near"),
    levels::<TickIndexed>("levels/tick-indexed"),
    orders::<PagedOrders>("orders/pages"),
    orders::<HashMapOrders>("orders/hash-map"),
    orders::<CompactOrders>("orders/open-addressing"),
    orders::<BucketOrders>("orders/buckets"),
    orders::<PooledOrders>("orders/pool"),
    limit::<limits::Bytes>("bytes"),
    limit::<limits::Framing>("framing"),
    limit::<limits::Touch>("touch"),
    limit::<limits::Decode>("decode"),
    load::<1>("load/dependent"),
    load::<8>("load/8"),
    load::<16>("load/16"),
];

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// What it is called, everywhere.
    pub name: &'static str,
    /// What kind of thing it is.
    pub kind: Kind,
    /// What a plant publishes and where to, where it is one.
    pub shape: Option<Shape>,
    /// Takes a reading, in a process of its own.
    pub(super) take: fn(&Job) -> Result<Value, DayFileError>,
}

/// What a variant measures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Books of some structures.
    Books,
    /// The default's books, and what becomes of them published on a ring.
    Plant,
    /// Less than books: what reading and decoding cost by themselves.
    Limit,
    /// Memory without any file: its readings are for one access.
    Memory,
}

impl Kind {
    /// As it stands in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Books => "books",
            Self::Plant => "plant",
            Self::Limit => "limit",
            Self::Memory => "memory",
        }
    }
}

/// The variants of these names, in the order of the table; all of them if there are no names.
pub fn select(names: &[String]) -> Result<Vec<&'static Variant>, DayFileError> {
    select_of(VARIANTS, names)
}

/// The same of any table.
pub(super) fn select_of(
    table: &'static [Variant],
    names: &[String],
) -> Result<Vec<&'static Variant>, DayFileError> {
    let known = |name: &String| table.iter().any(|variant| variant.name == name);
    if let Some(name) = names.iter().find(|name| !known(name)) {
        let known = table.iter().map(|variant| variant.name).collect::<Vec<_>>().join(", ");
        return Err(DayFileError::Unknown { name: name.clone(), known });
    }
    let wanted = |variant: &&Variant| names.is_empty() || names.iter().any(|n| n == variant.name);
    Ok(table.iter().filter(wanted).collect())
}

/// What books are made of, so that the default is named in one place only: in the book crate.
trait Parts {
    type Levels: PriceLevels;
    type Orders: OrderStore;
}

impl<L: PriceLevels, S: OrderStore> Parts for Books<L, S> {
    type Levels = L;
    type Orders = S;
}

type DefaultLevels = <DefaultBooks as Parts>::Levels;
type DefaultOrders = <DefaultBooks as Parts>::Orders;

/// These levels, with the default's store.
const fn levels<L: PriceLevels>(name: &'static str) -> Variant {
    books::<L, DefaultOrders>(name)
}

/// This store, with the default's levels.
const fn orders<S: OrderStore>(name: &'static str) -> Variant {
    books::<DefaultLevels, S>(name)
}

/// The default's, under another name.
pub(super) const fn default_books(name: &'static str) -> Variant {
    books::<DefaultLevels, DefaultOrders>(name)
}

const fn books<L: PriceLevels, S: OrderStore>(name: &'static str) -> Variant {
    Variant { name, kind: Kind::Books, shape: None, take: take_books::<L, S> }
}

/// The one that is profiled as well.
const fn the_default<L: PriceLevels, S: OrderStore>(name: &'static str) -> Variant {
    Variant { name, kind: Kind::Books, shape: None, take: take_default::<L, S> }
}

const fn limit<T: Tally>(name: &'static str) -> Variant {
    Variant { name, kind: Kind::Limit, shape: None, take: take_limit::<T> }
}

const fn load<const CHAINS: usize>(name: &'static str) -> Variant {
    Variant { name, kind: Kind::Memory, shape: None, take: take_load::<CHAINS> }
}

fn take_books<L: PriceLevels, S: OrderStore>(job: &Job) -> Result<Value, DayFileError> {
    match job.role {
        Role::Measure => books::measure::<L, S>(job),
        Role::Latency => books::latency::<L, S>(job),
        Role::Types | Role::Counters | Role::Count { .. } | Role::Tap { .. } => refuse(job),
    }
}

fn take_default<L: PriceLevels, S: OrderStore>(job: &Job) -> Result<Value, DayFileError> {
    match job.role {
        Role::Measure | Role::Latency => take_books::<L, S>(job),
        Role::Types => profile::types::<L, S>(job),
        Role::Counters => profile::counters::<L, S>(job),
        Role::Count { messages } => profile::count::<L, S>(job, messages),
        Role::Tap { .. } => refuse(job),
    }
}

fn take_limit<T: Tally>(job: &Job) -> Result<Value, DayFileError> {
    if job.role != Role::Measure {
        return refuse(job);
    }
    limits::measure::<T>(job)
}

fn take_load<const CHAINS: usize>(job: &Job) -> Result<Value, DayFileError> {
    if job.role != Role::Measure {
        return refuse(job);
    }
    Ok(loads::measure::<CHAINS>(job))
}

pub(super) fn refuse(job: &Job) -> Result<Value, DayFileError> {
    Err(DayFileError::Role { role: job.to_text() })
}

/// Opens the day of a job once more.
pub(super) fn open(job: &Job) -> Result<DaySource, SourceError> {
    DaySource::open(&job.settings.path)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_words_and_differ() {
        let names: BTreeSet<&str> = VARIANTS.iter().map(|variant| variant.name).collect();
        assert_eq!(names.len(), VARIANTS.len());
        assert!(names.iter().all(|name| !name.contains([' ', ',']) && !name.is_empty()));
        assert!(names.contains("decode"));
        // The profile takes the first.
        assert_eq!(VARIANTS[0].name, DEFAULT);
    }

    #[test]
    fn names_select_in_the_order_of_the_table() {
        let chosen = select(&["decode".to_owned(), "default".to_owned()]).unwrap();
        let chosen: Vec<&str> = chosen.iter().map(|variant| variant.name).collect();
        assert_eq!(chosen, ["default", "decode"]);
        let error = select(&["levels/none".to_owned()]).unwrap_err().to_string();
        assert!(error.starts_with("no variant is named levels/none; there are default, "));
    }
}
