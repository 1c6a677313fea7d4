//! The traced threads of a ring: that of its plant, and others.
//!
//! Files: the [region](nanotape_trace::spans) of a thread is `RING.trace.NAME`.

use std::path::{Path, PathBuf};

use nanotape_shm::beside;

use crate::beside::names_beside;

/// What the file name of a region has between that of its ring and the name of the thread.
const MARK: &str = ".trace.";

/// The name of the thread of a plant.
pub const PLANT_THREAD: &str = "plant";

/// The path of the region of a traced thread of a ring: beside the ring.
pub fn trace_path(ring: &Path, name: &str) -> PathBuf {
    beside(ring, &format!("{MARK}{name}"))
}

/// The names of all traced threads of a ring, also of those that ended, sorted.
pub fn trace_names(ring: &Path) -> Vec<String> {
    // The other files of a thread have a dot.
    names_beside(ring, MARK, |name| !name.is_empty() && !name.contains('.'))
}
