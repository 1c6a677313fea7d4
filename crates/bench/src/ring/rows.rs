//! What is measured beside each other: one line for each, in the order of the table.

use super::error::RingBenchError;
use crate::sides::{self, Named};

/// Every row.
pub static ROWS: &[Row] = &[
    stream("stream/latency", Section::OneWay, What::OneWay),
    slots("slots/latency", Section::OneWay, What::OneWay),
    stream("stream/round-trip", Section::RoundTrip, What::RoundTrip),
    slots("slots/round-trip", Section::RoundTrip, What::RoundTrip),
    stream("stream/throughput/lossless-single", THROUGHPUT, LOSSLESS_SINGLE),
    stream("stream/throughput/lossless-batch-read", THROUGHPUT, LOSSLESS_BATCH_READ),
    stream("stream/throughput/single", THROUGHPUT, SINGLE),
    stream("stream/throughput/batch-read", THROUGHPUT, BATCH_READ),
    stream("stream/throughput/batch", THROUGHPUT, BATCH),
    slots("slots/throughput/lossless-single", THROUGHPUT, LOSSLESS_SINGLE),
    slots("slots/throughput/lossless-batch-read", THROUGHPUT, LOSSLESS_BATCH_READ),
    slots("slots/throughput/single", THROUGHPUT, SINGLE),
    slots("slots/throughput/batch-read", THROUGHPUT, BATCH_READ),
    slots("slots/throughput/batch", THROUGHPUT, BATCH),
    stream("stream/throughput/readers-1", Section::Readers, What::Readers(1)),
    stream("stream/throughput/readers-2", Section::Readers, What::Readers(2)),
    stream("stream/throughput/readers-3", Section::Readers, What::Readers(3)),
    stream("stream/throughput/readers-4", Section::Readers, What::Readers(4)),
    slots("slots/throughput/readers-1", Section::Readers, What::Readers(1)),
    slots("slots/throughput/readers-2", Section::Readers, What::Readers(2)),
    slots("slots/throughput/readers-3", Section::Readers, What::Readers(3)),
    slots("slots/throughput/readers-4", Section::Readers, What::Readers(4)),
    limit(LINE, What::Line { pause: false }),
    limit("limit/line-pause", What::Line { pause: true }),
    limit(MEMCPY, What::Copy),
    Row { design: Some(Design::Stream), ..limit("limit/store-stream", What::Store) },
    Row { design: Some(Design::Slots), ..limit("limit/store-slots", What::Store) },
];

/// The row of the line that is bounced: others are held against it.
pub const LINE: &str = "limit/line";

/// The row of the copies: others are held against it.
pub(super) const MEMCPY: &str = "limit/memcpy";

const THROUGHPUT: Section = Section::Throughput;
const SINGLE: What = What::Flow { paced: false, write_batches: false, read_batches: false };
const BATCH_READ: What = What::Flow { paced: false, write_batches: false, read_batches: true };
const BATCH: What = What::Flow { paced: false, write_batches: true, read_batches: true };
const LOSSLESS_SINGLE: What = What::Flow { paced: true, write_batches: false, read_batches: false };
const LOSSLESS_BATCH_READ: What =
    What::Flow { paced: true, write_batches: false, read_batches: true };

/// One row of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// What it is called, everywhere.
    pub name: &'static str,
    /// Where it stands in the table.
    pub section: Section,
    /// Which ring, if it has one.
    pub design: Option<Design>,
    pub(super) what: What,
}

/// A part of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Section {
    /// From one process to another, message by message.
    OneWay,
    /// There and back.
    RoundTrip,
    /// As many as can be.
    Throughput,
    /// The same with more readers.
    Readers,
    /// What the machine can do.
    Limits,
}

/// A ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Design {
    /// The stream ring.
    Stream,
    /// The slot ring.
    Slots,
}

/// What the processes of a row do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    OneWay,
    RoundTrip,
    Flow { paced: bool, write_batches: bool, read_batches: bool },
    Readers(usize),
    Line { pause: bool },
    Copy,
    Store,
}

impl Row {
    /// How many processes read.
    pub fn readers(&self) -> usize {
        match self.what {
            What::Readers(readers) => readers,
            What::Copy | What::Store => 0,
            _ => 1,
        }
    }

    /// Whether readers may lose messages: all others are a finding.
    pub fn may_lose(&self) -> bool {
        match self.what {
            What::Flow { paced, .. } => !paced,
            What::Readers(_) | What::OneWay => true,
            _ => false,
        }
    }

    /// Whether single messages are timed.
    pub fn is_timed(&self) -> bool {
        matches!(self.what, What::OneWay | What::RoundTrip | What::Line { .. })
    }

    /// Whether its times are of a way there and back.
    pub fn is_round_trip(&self) -> bool {
        matches!(self.what, What::RoundTrip | What::Line { .. })
    }
}

impl Section {
    /// As it stands in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::OneWay => "one way",
            Self::RoundTrip => "round trip",
            Self::Throughput => "throughput",
            Self::Readers => "readers",
            Self::Limits => "limits",
        }
    }
}

impl Design {
    /// As it stands in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::Slots => "slots",
        }
    }
}

/// The rows of these names, and those below a name (`stream`, `slots/throughput`), in the order of
/// the table; all of them if there are no names.
pub fn select(names: &[String]) -> Result<Vec<&'static Row>, RingBenchError> {
    sides::select(ROWS, names).map_err(|(name, known)| RingBenchError::Unknown { name, known })
}

impl Named for Row {
    fn name(&self) -> &'static str {
        self.name
    }
}

const fn stream(name: &'static str, section: Section, what: What) -> Row {
    Row { name, section, design: Some(Design::Stream), what }
}

const fn slots(name: &'static str, section: Section, what: What) -> Row {
    Row { name, section, design: Some(Design::Slots), what }
}

const fn limit(name: &'static str, what: What) -> Row {
    Row { name, section: Section::Limits, design: None, what }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_words_and_differ() {
        let names: BTreeSet<&str> = ROWS.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), ROWS.len());
        assert!(names.iter().all(|name| !name.contains([' ', ','])));
        assert!(names.contains(LINE) && names.contains(MEMCPY));
    }

    #[test]
    fn names_select_rows_and_those_below_them() {
        let select = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            super::select(&names)
        };
        assert_eq!(select(&[]).unwrap().len(), ROWS.len());
        let rows = select(&["limit/line", "stream/throughput/lossless-single"]).unwrap();
        let rows: Vec<&str> = rows.iter().map(|row| row.name).collect();
        assert_eq!(rows, ["stream/throughput/lossless-single", "limit/line"]);
        assert_eq!(select(&["slots"]).unwrap().len(), 11);
        let error = select(&["stre"]).unwrap_err().to_string();
        assert!(error.starts_with("no row is named stre, and none begins with it; there are "));
    }
}
