//! The rows of `nanotape lab bench book`, one line each, in the order of the table.
//!
//! Every structure of levels runs with the default's store of orders, and every store with the
//! default's levels, so that a row differs from `default` in one thing. The row with the default's
//! own parts is identical to it: it shows the difference between equal programs on this machine.

use nanotape_book::{
    BestFirst, BestLast, BinarySearch, Books, BranchFreeSearch, BucketOrders, CompactOrders,
    DefaultBooks, EachSide, HashMapOrders, LinearSearch, NearSearch, OrderStore, PackedLevels,
    PagedOrders, PooledOrders, PriceLevels, SortedMap, TickIndexed,
};
use nanotape_clock::Clock;
use nanotape_engine::Observer;

use super::{
    Book, Day, Pass, beside,
    book::is_load,
    books,
    limits::{Tally, measure},
    loads,
    profile::{self, Profile},
};
use crate::{
    engine::{
        Benchmark as _, Figure, Figures, Measured, Reading, Row, Spread, figures, sections, table,
    },
    error::Error,
};

/// The variant that others are compared with.
pub(super) const DEFAULT: &str = "default";

/// Every row.
pub(super) const ROWS: &[Row<Book>] = &[
    Row::new(DEFAULT, &BOOKS, take_default),
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
    Row::new("bytes", &LIMIT, |day, clock, _| measure(day, clock, Tally::bytes)),
    Row::new("framing", &LIMIT, |day, clock, _| measure(day, clock, Tally::framing)),
    Row::new("touch", &LIMIT, |day, clock, _| measure(day, clock, Tally::touch)),
    Row::new("decode", &LIMIT, |day, clock, _| measure(day, clock, Tally::decode)),
    Row::new("beside/default", &SECOND, take_default_books),
    Row::new("beside/framing", &SECOND, |day, clock, _| measure(day, clock, Tally::framing)),
    Row::new("beside/decode", &SECOND, |day, clock, _| measure(day, clock, Tally::decode)),
    load::<1>("load/dependent"),
    load::<8>("load/8"),
    load::<16>("load/16"),
];

/// Takes a reading of a day in a process of its own.
pub(super) type Take = fn(&Day, Clock, Pass) -> Result<Reading, Error>;

sections! {
    Book:
    BOOKS = "books" times [NANOS, MEMORY] |_| "Books: processor time for a message, in ns";
    LIMIT = "limit" times [NANOS] |_| "Limits: the same file without books, ns a message";
    SECOND = "beside" times [BESIDE_NANOS, MEMORY] |run| beside::title(run);
    LOADS = "memory" times [&["ns_per_access*"]] |run|
        format!(
            "Limits of memory: random loads from a table of {:.0} MB, ns a load",
            loads::table_bytes(run.options.day.orders()) as f64 / 1e6
        );
}

const BESIDE_NANOS: &[&str] =
    &["ns_per_message*", "ns_per_byte", "file_to_beside", "file_to_beside_per_byte"];
const NANOS: &[&str] = &["ns_per_message*", "wall_ns_per_message", "ratio_to_default"];
const MEMORY: &[&str] = &["peak_memory_bytes", "peak_anonymous_bytes", "startup_ms"];

/// Format: docs/formats/lab-bench-book.md.
pub(super) const FIGURES: Figures<Book> = &[
    Figure::COMMON,
    figures! {
        /// `books`: books in given structures. `limit`: the same file with less work than books.
        /// `memory`: loads from memory, without a file. `beside`: a second file
        "kind": "text" = |row, _| row.row.section.name;
        /// The number of passes of the file through the same books in each reading
        "repeat": "number" = |_, run| run.options.day.repeat;
        /// Processor time of one message, in user mode and in the kernel, from the first byte to
        /// the last message. For `memory` that of one load, without a range
        "ns_per_message": spread ["median" 8 nanos] = |row, _| per_message(row);
        /// The same as elapsed time; the median over rounds. null for `memory`
        "wall_ns_per_message": "number or null" ["wall" 8 nanos] = |row, _| {
            row.wall_ns().filter(|_| !is_load(row.row))
        };
        /// The time divided by that of `default`: the median over rounds of the quotient of two
        /// readings of one round. null if `default` was not measured, and for `memory` and `beside`
        "ratio_to_default": "number or null" ["ratio" 8 ratio] = |row, run| {
            row.ratio(run).map(|ratio| ratio.value)
        };
        /// The time for a byte of the messages; the median over rounds. null for `memory`
        "ns_per_byte": "number or null" ["a byte" 8 ratio] = |row, run| {
            let bytes = run.options.day_of(row.row).and_then(Day::message_bytes);
            let time = table::median(table::number(row)).filter(|_| !is_load(row.row));
            time.zip(bytes).map(|(time, bytes)| time / bytes)
        };
        /// For `beside`: the time of the first file for a message in the row of the same name,
        /// divided by this one: the median over rounds
        "file_to_beside": "number or null" ["file/this" 9 ratio] = |row, run| {
            beside::file_to_beside(row, run)
        };
        /// The same for a byte of the messages
        "file_to_beside_per_byte": "number or null" ["by byte" 8 ratio] = |row, run| {
            beside::file_to_beside_per_byte(row, run)
        };
        /// For `memory`: processor time of one load
        "ns_per_access": spread ["median" 8 nanos] = |row, _| {
            table::number(row).filter(|_| is_load(row.row))
        };
        /// For `memory`: the size of the table
        "table_bytes": "number or null" = |row, run| {
            is_load(row.row).then(|| loads::table_bytes(run.options.day.orders()))
        };
        /// The highest observed memory without a file (`RssAnon`), sampled every 32 MB of the file
        /// and at the end; a short peak can be missed
        "peak_anonymous_bytes": "number or null" ["anonymous" 10 megabytes] = |row, _| {
            row.most(|day| day.peak_anonymous_bytes)
        };
        /// The results of the row, see below
        "answer": "object" = |row, _| row.answer().to_json();
        /// For `default` with `--profile`, see below
        "profile": "object or null" = |row, run| {
            let profile = run.options.profiled.as_ref().filter(|_| row.row.name == DEFAULT);
            profile.map(Profile::to_json)
        };
    },
    Figure::OF_DAYS,
    Figure::DAY,
    Figure::ORDERS,
    Figure::ONE_BY_ONE,
];

/// The time of a message; of a message that makes one load and nothing else the median only.
fn per_message(row: &Measured<Book>) -> Option<Spread> {
    let time = table::number(row);
    match is_load(row.row) {
        true => time.map(|time| Spread { lowest: f64::NAN, highest: f64::NAN, ..time }),
        false => time,
    }
}

/// The parts of a type of books. With it only the book crate names the default.
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

/// A row with these levels and the default's store.
const fn levels<L: PriceLevels>(name: &'static str) -> Row<Book> {
    Row::new(name, &BOOKS, take_books::<L, DefaultOrders>)
}

/// A row with this store and the default's levels.
const fn orders<S: OrderStore>(name: &'static str) -> Row<Book> {
    Row::new(name, &BOOKS, take_books::<DefaultLevels, S>)
}

const fn load<const CHAINS: usize>(name: &'static str) -> Row<Book> {
    Row::new(name, &LOADS, |day, clock, _| Ok(loads::measure::<CHAINS>(day, clock)))
}

fn take_books<L: PriceLevels, S: OrderStore>(
    day: &Day,
    clock: Clock,
    pass: Pass,
) -> Result<Reading, Error> {
    match pass {
        Pass::Single => books::single::<L, S>(day, clock),
        _ => books::measure::<L, S>(day, clock),
    }
}

/// Counts the instructions of the default for its first messages.
pub(super) fn count_default(
    day: &Day,
    messages: u64,
    observer: &mut impl Observer<DefaultBooks>,
) -> Result<(), Error> {
    profile::count_messages::<DefaultLevels, DefaultOrders>(day, messages, observer)
}

/// Takes a reading of the default's books.
pub(super) fn take_default_books(day: &Day, clock: Clock, pass: Pass) -> Result<Reading, Error> {
    take_books::<DefaultLevels, DefaultOrders>(day, clock, pass)
}

/// The variant that is also profiled.
fn take_default(day: &Day, clock: Clock, pass: Pass) -> Result<Reading, Error> {
    match pass {
        Pass::Measure | Pass::Single => take_default_books(day, clock, pass),
        Pass::Types => profile::types::<DefaultLevels, DefaultOrders>(day, clock),
        Pass::Counters => profile::counters::<DefaultLevels, DefaultOrders>(day),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::engine::row::select;

    #[test]
    fn names_are_words_and_differ() {
        let names: BTreeSet<&str> = ROWS.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), ROWS.len());
        assert!(names.iter().all(|name| !name.contains([' ', ',']) && !name.is_empty()));
        assert!(names.contains("decode"));
        // The profile uses the first row.
        assert_eq!(ROWS[0].name, DEFAULT);
    }

    #[test]
    fn names_select_in_the_order_of_the_table() {
        let chosen = select::<Book>(&["decode".to_owned(), "default".to_owned()]).unwrap();
        let chosen: Vec<&str> = chosen.iter().map(|row| row.name).collect();
        assert_eq!(chosen, ["default", "decode"]);
        let error = select::<Book>(&["levels/none".to_owned()]).unwrap_err().to_string();
        assert!(error.starts_with("no variant is named levels/none; use one of default, "));
    }
}
