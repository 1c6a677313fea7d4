//! Snapshots: the live orders of all stocks after one record of a journal, in files beside its
//! segments.
//!
//! Where: `nanotape journal snapshot` writes them. Time travel and readers that join late start
//! from the last one before their moment, and read only what followed.
//! Layout: `docs/formats/snapshot.md`. The name of a file has its sequence number and its exchange
//! time, so the folder is an index by both.
//! Protocol: a file is complete before it has its name. It belongs to a journal if the excerpt of
//! its sequence number is the one whose time and checksum it stores. After a loss of power a
//! journal may give numbers to other excerpts; snapshots of the earlier ones are not used then.
//! Cost: the orders of one stock are one read of the file.

mod content;
mod encode;
mod file;
mod layout;
mod pack;
mod records;
mod store;

use std::{io, path::PathBuf};

pub use encode::Written;
pub(crate) use encode::encoded;
pub use file::{SnapshotFile, SnapshotOrder, StockEntry};
pub(crate) use layout::ORDER_BYTES;
pub use layout::{ENTRY_FIELDS, HEADER_FIELDS, LAYOUT, MAGIC, ORDER_FIELDS};
pub use pack::PackedSnapshot;
pub use records::SnapshotRecords;
pub use store::{Listed, Snapshots};

/// The excerpt after which a snapshot was taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ExcerptMark {
    /// The journal's time of the excerpt, ns since the UNIX epoch.
    pub ts_ns: u64,
    /// Its type.
    pub type_id: u16,
    /// CRC-32C of its payload.
    pub check: u32,
}

/// Why a snapshot cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// A system call failed.
    #[error("cannot {operation} {}: {error}", path.display())]
    System {
        /// The operation.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// The file is not a valid snapshot.
    #[error("{}: offset {offset}: {what}; remove the file, it can be made again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The offset of the damage.
        offset: u64,
        /// The damage.
        what: &'static str,
    },
}

impl SnapshotError {
    /// Whether the content is bad, rather than a name, a permission or the disk.
    pub fn is_bad_data(&self) -> bool {
        matches!(self, Self::Damaged { .. })
    }

    pub(crate) fn system(
        operation: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |error| Self::System { operation, path, error }
    }
}

impl ExcerptMark {
    /// The mark of an excerpt.
    pub fn of(ts_ns: u64, type_id: u16, payload: &[u8]) -> Self {
        Self { ts_ns, type_id, check: nanotape_journal::checksum_bytes(0, payload) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = include_str!("../../../../docs/formats/snapshot.md");

    /// Offsets and names in the table after a heading.
    fn table(heading: &str) -> Vec<(usize, &'static str)> {
        let (_, rest) = DOCUMENT.split_once(heading).unwrap();
        let rows = rest.split("\n## ").next().unwrap().split("\n### ").next().unwrap().lines();
        let row = |line: &'static str| {
            let mut cells = line.strip_prefix('|')?.split('|').map(str::trim);
            Some((cells.next()?.parse().ok()?, cells.next()?.trim_matches('`')))
        };
        rows.filter_map(row).collect()
    }

    #[test]
    fn the_tables_of_the_document_are_the_constants_of_the_code() {
        assert_eq!(table("### Header"), HEADER_FIELDS);
        assert_eq!(table("### Directory"), ENTRY_FIELDS);
        assert_eq!(table("### Orders"), ORDER_FIELDS);
        let layout = String::from_utf8(LAYOUT.to_be_bytes().to_vec()).unwrap();
        assert!(DOCUMENT.contains(&format!("layout `{layout}`")));
    }
}
