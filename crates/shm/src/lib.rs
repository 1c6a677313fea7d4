//! Mapped memory: the only crate that asks the kernel for it.
//!
//! Where: layer 0. It knows bytes, files and pages, and nothing of what is stored in them. Today it
//! maps windows of files for reading; regions shared between processes come with the ring.
//!
//! ```no_run
//! let file = nanotape_shm::MappableFile::open("12302019.NASDAQ_ITCH50".as_ref())?;
//! let window = file.map(0, 1 << 20)?;
//! println!("{} of {} bytes", window.bytes().len(), file.len());
//! # Ok::<(), nanotape_shm::MapError>(())
//! ```

mod file_window;

pub use file_window::{FileWindow, MapError, MappableFile};
