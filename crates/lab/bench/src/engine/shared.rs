//! The figures that several tables have.

use nanotape_lab::environment;

use super::{Benchmark, Figure, Goal, Measured, Run, figures, table};

impl<B: Benchmark> Figure<Measured<B>, Run<B>> {
    /// Those of every table.
    pub(crate) const COMMON: &'static [Self] = figures! {
        /// The row
        "name": "text" = |row, _| row.row.name;
        /// Readings of each row
        "rounds": "number" = |_, run| run.rounds;
        /// The machine, as in [lab-record.md](lab-record.md). In tables of a writer and readers
        /// `stolen` and `foreign` are for the processors of this row: the worst process of each
        /// round, the median over rounds; `involuntary_switches` is the sum over all processes and
        /// rounds
        "environment": "object" = |row, run| {
            environment::to_json(&run.context.environment, &row.noise_in(run))
        };
        /// Sources of noise; empty if there were none
        "noise": "list of text" = |row, run| row.noise_in(run).sentences;
        /// Further information: the file, the clock, refused requests to the system
        "notes": "list of text" = |_, run| run.notes;
    };

    /// The section of a row, and the number by which it is judged.
    pub(crate) const SECTION: &'static [Self] = figures! {
        /// The part of the table
        "section": "text" = |row, _| row.row.section.name;
        /// The main number of the row, round by round
        "by_round": "list of numbers" = |row, _| row.by_round();
    };

    /// Those of a row of a writer and readers.
    pub(crate) const PAIR: &'static [Self] = figures! {
        /// The unit of `by_round`: `ns` or `messages/s`
        "unit": "text" = |row, _| if row.row.section.is_timed { "ns" } else { "messages/s" };
        /// Messages written a second; null if messages are timed
        "written_per_second": spread ["writer" 8 millions] = |row, _| row.written_per_second();
        /// Messages that the slowest reader read a second, from its first to its last
        "read_per_second": spread ["reader" 8 millions] = |row, _| row.read_per_second();
        /// The main number divided by that of `ratio_to`: the median over rounds of the quotient of
        /// two readings of one round; null if there is no row to compare with, or it was not
        /// measured
        "ratio": "number or null" = |row, run| row.ratio(run).map(|ratio| ratio.value);
        /// The name of that row
        "ratio_to": "text or null" = |row, run| row.ratio(run).map(|ratio| ratio.to.row);
        /// Whether it is compared with half of that row's time: one way with half a round trip
        "ratio_to_half": "true, false or null" = |row, run| {
            row.ratio(run).map(|ratio| ratio.to.is_half)
        };
        /// `source` (text) of the stamps; `offset_ns`, `offset_bound_ns`: the offset of the
        /// reader's clock from the writer's, and its maximum error; null if unknown. Nothing is
        /// subtracted
        "clock": "object" = |_, run| run.clock();
        "others": text ["others" 7 whole_percent] = |row, _| {
            row.noise().foreign.filter(|_| B::readers(row.row) < 2)
        };
        "ratio_text": text [" ratio" 0 words] = |row, run| {
            format!(" {}", table::ratio_text(row.ratio(run)))
        };
    };

    /// Times of single messages: the first tenth of each reading is not counted.
    pub(crate) const LATENCY: &'static [Self] = figures! {
        /// Times of single messages; null if they are not timed. The first tenth of each reading is
        /// not counted, every later sample is. Quantiles have a precision of 0.8%
        "latency": "object or null" = |row, _| {
            table::latency(row, |reading| reading.times.as_ref())
        };
        /// Samples of all rounds
        "latency/count": "number";
        /// Quantiles; the median over rounds of each
        "latency/p50_ns": "number or null" ["p50" 9 whole];
        /// As `p50_ns`
        "latency/p90_ns": "number or null" ["p90" 9 whole];
        /// As `p50_ns`
        "latency/p99_ns": "number or null" ["p99" 9 whole];
        /// As `p50_ns`
        "latency/p99.9_ns": "number or null" ["p99.9" 9 whole];
        /// The longest time of all rounds
        "latency/max_ns": "number" ["max" 9 longest];
        /// Samples above 100 us in all rounds: a process lost its processor
        "latency/over_100us": "number" [">100us" 9 count];
        /// The time of an empty pair of stamps, which is in every time of one process
        "latency/clock_ns": "number";
    };

    /// A further quantile.
    pub(crate) const P9999: &'static [Self] = figures! {
        /// As `p50_ns`
        "latency/p99.99_ns": "number or null" ["p99.99" 9 whole];
    };

    /// For messages between two processors.
    pub(crate) const REVERSED: &'static [Self] = figures! {
        /// Samples whose end is before their start, because the clocks of two processors differ;
        /// they count as 0 ns
        "latency/reversed": "number";
    };

    /// For messages with a schedule.
    pub(crate) const DUE: &'static [Self] = figures! {
        /// Quantiles from the time at which a message was due, or a packet arrived; null in other
        /// rows
        "latency/from_due_p50_ns": "number or null" ["due p50" 9 whole];
        /// As `from_due_p50_ns`
        "latency/from_due_p99_ns": "number or null" ["due p99" 9 whole];
    };

    /// The processors of both sides.
    pub(crate) const CPUS: &'static [Self] = figures! {
        /// The processors of both sides; a row of one process uses the first
        "cpus": "list of numbers" = |_, run| [run.cpus.writer, run.cpus.readers[0]];
    };

    /// The goals of a row.
    pub(crate) const GOALS: &'static [Self] = figures! {
        /// The goals of the row; empty if it has none, or its number was not measured. They do not
        /// change the exit status. Each is an object: `of` (text, the number), `bound` (`at least`
        /// or `at most`), `wanted` and `value` (numbers), `met` (true or false), `distance` (the
        /// difference as a share of the goal)
        "goals": "list of objects" = |row, run| {
            B::goals(row, run).iter().map(Goal::to_json).collect::<Vec<_>>()
        };
    };

    /// Those of a table of a day file.
    pub(crate) const DAY: &'static [Self] = figures! {
        /// `path` (text, as in the command), `bytes` (of all messages and their lengths,
        /// decompressed; of a capture without lengths that are in no message), `messages`
        "file": "object" = |row, run| run.options.day_of(row.row).map(|day| day.to_json());
    };

    /// The capacity of its books.
    pub(crate) const ORDERS: &'static [Self] = figures! {
        /// Initial capacity for live orders
        "orders": "number" = |row, run| run.options.day_of(row.row).map(|day| day.orders());
    };
}

/// Columns of the text that sections list together.
pub(crate) const QUANTILES: &[&str] =
    &["latency/p50_ns", "latency/p90_ns", "latency/p99_ns", "latency/p99.9_ns"];
pub(crate) const LONGEST: &[&str] = &["latency/max_ns", "latency/over_100us"];
pub(crate) const DUE: &[&str] = &["latency/from_due_p50_ns", "latency/from_due_p99_ns"];
pub(crate) const WRITER: &[&str] = &["written_per_second*"];
pub(crate) const READER: &[&str] = &["read_per_second*"];
pub(crate) const END: &[&str] = &["others", "ratio_text"];
