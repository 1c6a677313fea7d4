//! Recordings of spans: the entries of a journal that hold the spans of threads.
//!
//! Where: a [`Collector`] drains the rings of the threads of a program, and a command appends its
//! entries to a journal. A reader passes the excerpts of the journal to a [`Decoder`], which
//! returns what a [`SpanReader`] of the ring would have returned.
//! Layout: `docs/formats/spans-journal.md`. This crate knows the bytes of an entry, but not the
//! journal.
//! Bounds: an entry has at most [`MAX_SPANS`] spans, a decoder keeps at most [`MAX_THREADS`]
//! threads.
//! Failure: lost spans are an entry. A decoder trusts no byte: it reports what is damaged, and
//! returns the spans around it.

mod collect;
mod decode;
mod encode;
mod layout;

pub use collect::{Collected, Collector};
pub use decode::{Damage, Decoder, Entries, Entry};
pub use encode::start_entry;
pub use layout::{
    FIRST_TYPE_ID, LAST_TYPE_ID, LOST, LOST_FIELDS, MAX_NAME_BYTES, MAX_SPANS, MAX_THREADS,
    SPAN_FIELDS, SPAN_ITEM_BYTES, SPANS, SPANS_FIELDS, START, START_FIELDS, THREAD, THREAD_FIELDS,
};

use crate::spans::{SiteName, SpanReader, Timescale};

/// What a recording says of a thread beside its spans: what the thread's region says.
#[derive(Clone, PartialEq, Debug)]
pub struct ThreadInfo {
    /// Its name, such as `equities plant`.
    pub name: String,
    /// The process of the thread.
    pub pid: u32,
    /// The build of its program.
    pub build: u64,
    /// When its region was created, in ns since the UNIX epoch: another one of the same name is
    /// another thread.
    pub created_ns: u64,
    /// Its clock.
    pub timescale: Timescale,
    /// The names of its sites in the order of their numbers; `None`: without a name.
    pub sites: Vec<Option<SiteName>>,
}

impl ThreadInfo {
    /// The thread of a reader, under this name.
    pub fn of(name: &str, reader: &SpanReader) -> Self {
        Self {
            name: name.to_owned(),
            pid: reader.owner().pid,
            build: reader.build(),
            created_ns: reader.region().created_ns(),
            timescale: reader.timescale(),
            sites: reader.sites().iter().map(|site| site.name).collect(),
        }
    }

    /// Whether both are of the same thread: only names of sites may differ, which appear later.
    pub(crate) fn is_same_thread(&self, other: &Self) -> bool {
        self.created_ns == other.created_ns
            && self.pid == other.pid
            && self.build == other.build
            && self.name == other.name
    }
}

#[cfg(test)]
mod tests;
