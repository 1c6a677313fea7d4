//! Memory from the kernel: windows of files, and tables in huge pages.
//!
//! Where: layer 0. It knows bytes, files and pages, and nothing of what is stored in them. It maps
//! windows of files for FEED to read, and has the tables of BOOK; regions shared between processes
//! come with the ring.
//!
//! ```no_run
//! let file = nanotape_shm::MappableFile::open("12302019.NASDAQ_ITCH50".as_ref())?;
//! let window = file.map(0, 1 << 20)?;
//! println!("{} of {} bytes", window.bytes().len(), file.len());
//! # Ok::<(), nanotape_shm::MapError>(())
//! ```

mod file_window;
mod table;

pub use file_window::{FileWindow, MapError, MappableFile};
pub use table::{HugePages, Table, prefetch};
