//! The rows of `nanotape lab bench journal`, one line each, in the order of the table.

use serde_json::json;

use super::Journal;
use crate::engine::{
    Figure, Figures, Measured, Row, Section, figures,
    message::{LARGER_BYTES, USUAL_BYTES},
    sections,
    shared::{DUE, END, LONGEST, QUANTILES, READER, WRITER},
    table::latency,
};

/// Every row.
pub(super) const ROWS: &[Row<Journal>] = &[
    usual("append/73/throughput", &APPEND, FLAT_OUT),
    usual("append/73/throughput-tailed", &APPEND, FLAT_OUT_TAILED),
    usual("append/73/pruned", &APPEND, PRUNED),
    usual("append/73/burst", &APPEND, What::Burst),
    larger("append/256/throughput", &APPEND, FLAT_OUT),
    larger("append/256/throughput-tailed", &APPEND, FLAT_OUT_TAILED),
    larger("append/256/pruned", &APPEND, PRUNED),
    larger("append/256/burst", &APPEND, What::Burst),
    usual("append/73/call", &CALL, TIMED),
    usual("append/73/call-tailed", &CALL, TIMED_TAILED),
    usual("append/73/call-pruned", &CALL, TIMED_PRUNED),
    larger("append/256/call", &CALL, TIMED),
    larger("append/256/call-tailed", &CALL, TIMED_TAILED),
    larger("append/256/call-pruned", &CALL, TIMED_PRUNED),
    usual("tail/73/100000", &WRITE_TO_READ, What::Tail { rate: 100_000 }),
    usual("tail/73/1000000", &WRITE_TO_READ, What::Tail { rate: 1_000_000 }),
    larger("tail/256/100000", &WRITE_TO_READ, What::Tail { rate: 100_000 }),
    larger("tail/256/1000000", &WRITE_TO_READ, What::Tail { rate: 1_000_000 }),
    usual("sync/73/each", &SYNC, What::Sync { batch: 1 }),
    usual("sync/73/batch-32", &SYNC, What::Sync { batch: 32 }),
    usual("limit/73/mapped", &LIMITS, copy(Target::Mapped)),
    usual("limit/73/untouched", &LIMITS, copy(Target::Untouched)),
    usual("limit/73/memory", &LIMITS, copy(Target::Memory)),
    larger("limit/256/mapped", &LIMITS, copy(Target::Mapped)),
    larger("limit/256/untouched", &LIMITS, copy(Target::Untouched)),
    larger("limit/256/memory", &LIMITS, copy(Target::Memory)),
    usual("limit/73/mapped-call", &LIMIT_TIMES, timed_copy(Target::Mapped)),
    usual("limit/73/untouched-call", &LIMIT_TIMES, timed_copy(Target::Untouched)),
    larger("limit/256/mapped-call", &LIMIT_TIMES, timed_copy(Target::Mapped)),
    larger("limit/256/untouched-call", &LIMIT_TIMES, timed_copy(Target::Untouched)),
    usual(LINE, &LIMIT_TIMES, What::Line),
    usual(FDATASYNC, &LIMIT_TIMES, What::Fdatasync { batch: 1 }),
    usual(FDATASYNC_32, &LIMIT_TIMES, What::Fdatasync { batch: 32 }),
];

/// The row of the bounced line: half of its time is one way.
pub(super) const LINE: &str = "limit/line";

/// The row of plain writes that are synced.
pub(super) const FDATASYNC: &str = "limit/fdatasync";

/// The same, with the bytes of a batch.
pub(super) const FDATASYNC_32: &str = "limit/fdatasync-32";

const FLAT_OUT: What = What::Append { timed: false, tailed: false };
const FLAT_OUT_TAILED: What = What::Append { timed: false, tailed: true };
const TIMED: What = What::Append { timed: true, tailed: false };
const TIMED_TAILED: What = What::Append { timed: true, tailed: true };
const PRUNED: What = What::Pruned { timed: false };
const TIMED_PRUNED: What = What::Pruned { timed: true };

/// The property that differs between rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Work {
    /// Length of a message in bytes.
    pub(super) length: usize,
    pub(super) what: What,
}

/// The work of the processes of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    Append {
        timed: bool,
        tailed: bool,
    },
    /// Appends while the oldest segments are removed, so that the journal keeps its size.
    Pruned {
        timed: bool,
    },
    /// Appends into existing segments, with all of their pages in memory before the start.
    Burst,
    Tail {
        rate: u32,
    },
    Sync {
        batch: u32,
    },
    Copy {
        target: Target,
        timed: bool,
    },
    Line,
    Fdatasync {
        batch: u32,
    },
}

/// The target of a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    /// A file with all pages in memory, copied word by word as in the journal.
    Mapped,
    /// The same, but the first store to each page brings it into memory.
    Untouched,
    /// Memory of the process, copied as the compiler does.
    Memory,
}

impl Work {
    /// Length of a message in bytes; None if the row has no messages.
    pub(super) fn message_bytes(self) -> Option<usize> {
        (self.what != What::Line).then_some(self.length)
    }

    /// Whether another process reads.
    pub(super) fn is_read(self) -> bool {
        matches!(self.what, What::Append { tailed: true, .. } | What::Tail { .. } | What::Line)
    }

    /// Whether the row measures a journal.
    pub(super) fn is_of_journal(self) -> bool {
        matches!(
            self.what,
            What::Append { .. }
                | What::Pruned { .. }
                | What::Burst
                | What::Tail { .. }
                | What::Sync { .. }
        )
    }

    /// Messages per second of the schedule, if there is one.
    pub(super) fn rate_per_second(self) -> Option<u32> {
        match self.what {
            What::Tail { rate } => Some(rate),
            _ => None,
        }
    }

    /// Whether its writes must reach the disk.
    pub(super) fn is_on_disk(self) -> bool {
        matches!(self.what, What::Sync { .. } | What::Fdatasync { .. })
    }
}

sections! {
    Journal:
    APPEND = "append" rates [WRITER, READER, END] |_|
        "Append: million messages a second, by appender and tailer";
    CALL = "append call" times [QUANTILES, P9999, LONGEST, ROLLS, END] |_|
        "Append call: ns of each, and of those that rolled";
    WRITE_TO_READ = "write to read" times [QUANTILES, P9999, LONGEST, DUE, CALLS, ROLLS, END] |_|
        format!(
            "Write to read: ns from the stamp before the append to the end of the copy; due: from \
            the due time; call: of the append; line: half a round trip of {LINE}"
        );
    SYNC = "sync" times [QUANTILES, P9999, LONGEST, END] |run|
        format!(
            "Sync: ns of an append, or a batch, until it is on the disk of {}",
            run.options.disk().display()
        );
    LIMITS = "limits" rates [WRITER, END] |run|
        format!(
            "Limits: million messages a second, copied into a file of {} or into memory by one \
            processor",
            run.options.folder.display()
        );
    LIMIT_TIMES = "limits, timed" times [QUANTILES, P9999, LONGEST, END] |run|
        format!(
            "Limits: ns of a copy, of a cache line there and back, of a write and fdatasync on the \
            disk of {}",
            run.options.disk().display()
        );
}

const P9999: &[&str] = &["latency/p99.99_ns"];
const CALLS: &[&str] = &["calls/p50_ns", "calls/p99_ns"];
const ROLLS: &[&str] = &["rolls/count", "rolls/p50_ns", "rolls/max_ns"];

/// Format: docs/formats/lab-bench-journal.md.
pub(super) const FIGURES: Figures<Journal> = &[
    Figure::COMMON,
    Figure::SECTION,
    figures! {
        /// Messages of a reading; for rows that wait for the disk, the number of waits
        "amount": "number" = |row, run| run.options.amount(row.row);
        /// Due messages a second; only for `write to read`
        "rate_per_second": "number or null" = |row, _| row.row.work.rate_per_second();
        /// Payload of a message; null for `limit/line`
        "message_bytes": "number or null" = |row, _| row.row.work.message_bytes();
        /// The folder of the reading
        "folder": "text" = |row, run| run.options.folder_of(row.row).to_string_lossy();
        /// The option of the appender; null for limits
        "segment_bytes": "number or null" = |row, run| of_journal(row, run.options.segment_bytes);
        /// The option of the appender; null for limits
        "ahead_bytes": "number or null" = |row, run| of_journal(row, run.options.ahead_bytes());
        /// Whether large pages were requested for segments in memory; null for limits
        "large_pages": "true, false or null" = |row, run| {
            of_journal(row, !run.options.small_pages)
        };
        /// `writer` (number), `reader` (number or null): processors
        "cpus": "object" = |row, run| json!({
            "writer": run.cpus.writer,
            "reader": row.row.work.is_read().then_some(run.cpus.readers[0]),
        });
        /// Sums over all rounds: `written`, and `read`, which is null without a reader. For a
        /// journal they must be equal; otherwise the command ends with status 1 and writes no list
        "answer": "object" = |row, _| json!({
            "written": row.written(),
            "read": row.row.work.is_read().then(|| row.taken(|taken| taken.messages)),
        });
        /// Times of the append calls in `write to read`, with the members of `latency`
        "calls": "object or null" = |row, _| latency(row, |reading| reading.calls.as_ref());
        "calls/p50_ns": "number or null" ["call p50" 9 whole];
        "calls/p99_ns": "number or null" ["call p99" 9 whole];
        /// Times of the calls that rolled to a new segment, in `append call`, `write to read` and
        /// `sync/BYTES/each`, with the members of `latency`. They are also in the other times.
        /// Without a roll `count` is 0 and the quantiles are null
        "rolls": "object or null" = |row, _| latency(row, |reading| reading.rolls.as_ref());
        "rolls/count": "number" ["rolls" 7 count];
        "rolls/p50_ns": "number or null" ["roll p50" 10 whole];
        "rolls/max_ns": "number" ["roll max" 10 longest];
    },
    Figure::LATENCY,
    Figure::P9999,
    Figure::REVERSED,
    Figure::DUE,
    Figure::PAIR,
    Figure::GOALS,
];

/// A value that only rows of journals have.
fn of_journal<T>(row: &Measured<Journal>, value: T) -> Option<T> {
    row.row.work.is_of_journal().then_some(value)
}

const fn usual(name: &'static str, section: &'static Section<Journal>, what: What) -> Row<Journal> {
    Row { name, section, work: Work { length: USUAL_BYTES, what } }
}

const fn larger(
    name: &'static str,
    section: &'static Section<Journal>,
    what: What,
) -> Row<Journal> {
    Row { name, section, work: Work { length: LARGER_BYTES, what } }
}

const fn copy(target: Target) -> What {
    What::Copy { target, timed: false }
}

const fn timed_copy(target: Target) -> What {
    What::Copy { target, timed: true }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::engine::row::select;

    #[test]
    fn names_are_words_that_say_the_length_and_differ() {
        let names: BTreeSet<&str> = ROWS.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), ROWS.len());
        for row in ROWS {
            assert!(!row.name.contains([' ', ',']), "{}", row.name);
            let says = row.name.split('/').nth(1).and_then(|word| word.parse().ok());
            assert!(says.is_none_or(|said: usize| said == row.work.length), "{}", row.name);
        }
        assert!([LINE, FDATASYNC, FDATASYNC_32].iter().all(|name| names.contains(name)));
    }

    #[test]
    fn a_part_of_a_name_means_everything_below_it() {
        let all = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            select::<Journal>(&names)
                .map(|rows| rows.iter().map(|row| row.name).collect::<Vec<_>>())
        };
        assert_eq!(all(&[]).unwrap().len(), ROWS.len());
        assert_eq!(all(&["sync", LINE]).unwrap(), ["sync/73/each", "sync/73/batch-32", LINE]);
        let error = all(&["append/74"]).unwrap_err().to_string();
        assert!(error.starts_with("no row is named append/74 or starts with it"), "{error}");
    }
}
