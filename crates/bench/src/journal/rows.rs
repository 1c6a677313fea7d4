//! What is measured beside each other: one line for each, in the order of the table.

use super::error::JournalBenchError;
use crate::sides::{
    self, Named,
    message::{LARGER_BYTES, USUAL_BYTES},
};

/// Every row.
pub static ROWS: &[Row] = &[
    usual("append/73/throughput", Section::Append, FLAT_OUT),
    usual("append/73/throughput-tailed", Section::Append, FLAT_OUT_TAILED),
    usual("append/73/burst", Section::Append, What::Burst),
    larger("append/256/throughput", Section::Append, FLAT_OUT),
    larger("append/256/throughput-tailed", Section::Append, FLAT_OUT_TAILED),
    larger("append/256/burst", Section::Append, What::Burst),
    usual("append/73/call", Section::Call, TIMED),
    usual("append/73/call-tailed", Section::Call, TIMED_TAILED),
    larger("append/256/call", Section::Call, TIMED),
    larger("append/256/call-tailed", Section::Call, TIMED_TAILED),
    usual("tail/73/100000", Section::WriteToRead, What::Tail { rate: 100_000 }),
    usual("tail/73/1000000", Section::WriteToRead, What::Tail { rate: 1_000_000 }),
    larger("tail/256/100000", Section::WriteToRead, What::Tail { rate: 100_000 }),
    larger("tail/256/1000000", Section::WriteToRead, What::Tail { rate: 1_000_000 }),
    usual("sync/73/each", Section::Sync, What::Sync { batch: 1 }),
    usual("sync/73/batch-32", Section::Sync, What::Sync { batch: 32 }),
    usual("limit/73/mapped", Section::Limits, copy(Target::Mapped)),
    usual("limit/73/untouched", Section::Limits, copy(Target::Untouched)),
    usual("limit/73/memory", Section::Limits, copy(Target::Memory)),
    larger("limit/256/mapped", Section::Limits, copy(Target::Mapped)),
    larger("limit/256/untouched", Section::Limits, copy(Target::Untouched)),
    larger("limit/256/memory", Section::Limits, copy(Target::Memory)),
    usual("limit/73/mapped-call", Section::LimitTimes, timed_copy(Target::Mapped)),
    usual("limit/73/untouched-call", Section::LimitTimes, timed_copy(Target::Untouched)),
    larger("limit/256/mapped-call", Section::LimitTimes, timed_copy(Target::Mapped)),
    larger("limit/256/untouched-call", Section::LimitTimes, timed_copy(Target::Untouched)),
    usual(LINE, Section::LimitTimes, What::Line),
    usual(FDATASYNC, Section::LimitTimes, What::Fdatasync { batch: 1 }),
    usual(FDATASYNC_32, Section::LimitTimes, What::Fdatasync { batch: 32 }),
];

/// The row of the line that is bounced: half of it is one way.
pub const LINE: &str = "limit/line";

/// The row of bare writes that are synced.
pub(super) const FDATASYNC: &str = "limit/fdatasync";

/// The same with as many bytes as a batch takes.
pub(super) const FDATASYNC_32: &str = "limit/fdatasync-32";

const FLAT_OUT: What = What::Append { timed: false, tailed: false };
const FLAT_OUT_TAILED: What = What::Append { timed: false, tailed: true };
const TIMED: What = What::Append { timed: true, tailed: false };
const TIMED_TAILED: What = What::Append { timed: true, tailed: true };

/// One row of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// What it is called, everywhere.
    pub name: &'static str,
    /// Where it stands in the table.
    pub section: Section,
    pub(super) length: usize,
    pub(super) what: What,
}

/// A part of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Section {
    /// As many as can be.
    Append,
    /// Each call timed.
    Call,
    /// From the appender to a tailer in another process.
    WriteToRead,
    /// To the disk before a call returns.
    Sync,
    /// What the machine can do, as many as can be.
    Limits,
    /// What the machine can do, each timed.
    LimitTimes,
}

/// What the processes of a row do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    Append {
        timed: bool,
        tailed: bool,
    },
    /// Into segments that are there, with all of their pages in memory before it begins.
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

/// Where a limit copies to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Target {
    /// A file, word by word as the journal does it, all of whose pages are in memory.
    Mapped,
    /// The same, but each page is brought in by the first store to it.
    Untouched,
    /// Memory of the process, as the compiler copies.
    Memory,
}

impl Row {
    /// Bytes of a message; None where there are no messages.
    pub fn message_bytes(&self) -> Option<usize> {
        (self.what != What::Line).then_some(self.length)
    }

    /// Whether another process reads.
    pub fn is_read(&self) -> bool {
        matches!(self.what, What::Append { tailed: true, .. } | What::Tail { .. } | What::Line)
    }

    /// Whether it is a journal that is measured.
    pub fn is_of_journal(&self) -> bool {
        matches!(
            self.what,
            What::Append { .. } | What::Burst | What::Tail { .. } | What::Sync { .. }
        )
    }

    /// Whether single messages or calls are timed.
    pub fn is_timed(&self) -> bool {
        !matches!(self.section, Section::Append | Section::Limits)
    }

    /// Messages a second that are due, where there is a schedule.
    pub fn rate_per_second(&self) -> Option<u32> {
        match self.what {
            What::Tail { rate } => Some(rate),
            _ => None,
        }
    }

    /// Whether what it writes must reach the disk.
    pub fn is_on_disk(&self) -> bool {
        matches!(self.what, What::Sync { .. } | What::Fdatasync { .. })
    }
}

impl Section {
    /// As it stands in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Append => "append",
            Self::Call => "append call",
            Self::WriteToRead => "write to read",
            Self::Sync => "sync",
            Self::Limits => "limits",
            Self::LimitTimes => "limits, timed",
        }
    }
}

impl Named for Row {
    fn name(&self) -> &'static str {
        self.name
    }
}

/// The rows of these names, and those below a name (`append`, `limit/73`), in the order of the table; all
/// of them if there are no names.
pub fn select(names: &[String]) -> Result<Vec<&'static Row>, JournalBenchError> {
    sides::select(ROWS, names).map_err(|(name, known)| JournalBenchError::Unknown { name, known })
}

const fn usual(name: &'static str, section: Section, what: What) -> Row {
    Row { name, section, length: USUAL_BYTES, what }
}

const fn larger(name: &'static str, section: Section, what: What) -> Row {
    Row { name, section, length: LARGER_BYTES, what }
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

    #[test]
    fn names_are_words_that_say_the_length_and_differ() {
        let names: BTreeSet<&str> = ROWS.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), ROWS.len());
        for row in ROWS {
            assert!(!row.name.contains([' ', ',']), "{}", row.name);
            let says = row.name.split('/').nth(1).and_then(|word| word.parse().ok());
            assert!(says.is_none_or(|said: usize| said == row.length), "{}", row.name);
        }
        assert!([LINE, FDATASYNC, FDATASYNC_32].iter().all(|name| names.contains(name)));
    }

    #[test]
    fn a_part_of_a_name_means_everything_below_it() {
        let all = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            Ok::<_, JournalBenchError>(
                select(&names)?.iter().map(|row| row.name).collect::<Vec<_>>(),
            )
        };
        assert_eq!(all(&[]).unwrap().len(), ROWS.len());
        assert_eq!(all(&["sync", LINE]).unwrap(), ["sync/73/each", "sync/73/batch-32", LINE]);
        let error = all(&["append/74"]).unwrap_err().to_string();
        assert!(error.starts_with("no row is named append/74, and none begins with it"), "{error}");
    }
}
