//! Memory from the kernel: tables in huge pages, and regions that processes share.
//!
//! Where: base. It handles bytes, files and pages, independent of their contents. It provides the
//! tables of BOOK, and the regions for RING and JOURNAL: files with a header, one owner at a time
//! and any number of readers. A [`JoinedRegion`] has many writers instead, each with a number.
//!
//! One process owns a region, and others read it:
//!
//! ```
//! use nanotape_shm::{OwnedRegion, OwnerState, RegionOptions, RegionSpec, SharedRegion};
//!
//! let path = std::env::temp_dir().join(format!("nanotape-doc-{}", std::process::id()));
//! let spec = RegionSpec { kind: *b"EXAMPLE ", layout: 1, parameters: [0; 4], words: 2 };
//! let options = RegionOptions::default();
//! let (owned, _) = OwnedRegion::create(&path, spec, &options, |words| words[0].store(7))?;
//!
//! let shared = SharedRegion::open(&path, *b"EXAMPLE ")?; // in any process
//! owned.words()[1].store(8);
//! assert_eq!((shared.words()[0].load(), shared.words()[1].load()), (7, 8));
//! assert_eq!(shared.owner().state, OwnerState::Alive);
//! owned.close();
//! assert_eq!(shared.owner().state, OwnerState::Closed);
//! nanotape_shm::remove(&path)?;
//! # Ok::<(), nanotape_shm::RegionError>(())
//! ```

#[cfg(not(nanotape_loom))]
mod bus_guard;
mod checksum;
mod compare;
#[cfg(not(nanotape_loom))]
mod file_words;
#[cfg(feature = "kill-points")]
pub mod kill_points;
#[cfg(not(nanotape_loom))]
mod large_pages;
#[cfg(not(nanotape_loom))]
mod lone_file;
#[cfg(nanotape_loom)]
pub mod models;
#[cfg(not(nanotape_loom))]
mod owner_lock;
mod processor;
mod region;
mod table;
mod word;

#[cfg(not(nanotape_loom))]
pub use bus_guard::{MOST_MAPPINGS, guard_against_truncation};
pub use checksum::{checksum, checksum_bytes, checksum_filled, checksum_words};
pub use compare::{COMPARED, first_greater};
#[cfg(not(nanotape_loom))]
pub use file_words::{
    ReadableWords, WritableWords, forget, free_bytes, reserve, reserve_in_large_pages, shrink,
    store_in_file, write_zeros,
};
#[cfg(not(nanotape_loom))]
pub use large_pages::{LargePages, is_in_memory};
#[cfg(not(nanotape_loom))]
pub use lone_file::is_open_once;
pub use processor::is_amd;
pub use region::{
    BYTE_ORDER_MARK, FIELDS, FORMAT_VERSION, HEADER_BYTES, Header, JoinedRegion, MAGIC,
    OwnedRegion, Owner, OwnerState, PageLock, Refusal, RegionError, RegionNode, RegionPages,
    RegionSpec, Residency, SharedRegion, Shortage, Started, WriterSlot, field,
};
#[cfg(not(nanotape_loom))]
pub use region::{
    Origin, RegionInfo, RegionOptions, Removed, StillRegion, beside, inspect, named, remove,
};
pub use table::{HugePages, Table, prefetch, reserve_in_huge_pages};
pub use word::{
    Edge, ReadWord, WORD_BYTES, Word, as_read_only, copy_into, copy_out, copy_out_many, last_word,
    prefetch_for_writing,
};
