//! The traced threads of a ring: that of its plant, and others.
//!
//! Where: [`PlantRun`](crate::PlantRun) traces its thread, and answers requests to switch its
//! sites.
//! Files: the [region](nanotape_trace::spans) of a thread is `RING.trace.NAME`.

mod reading;

use std::path::{Path, PathBuf};

use nanotape_clock::Clock;
use nanotape_shm::{RegionOptions, beside};
use nanotape_trace::spans::{TraceError, Tracer, TracerOptions, build_of_this_program};

use crate::{beside::names_beside, config::TraceConfig, publisher::SITES};
pub(crate) use reading::{RECORDER, ReaderTrace, RunNumbers, TAP};

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

/// The tracer of a plant; `None` if it is not to have one.
pub(crate) fn trace_plant(
    config: &TraceConfig,
    ring: &Path,
    clock: Clock,
    region: &RegionOptions,
) -> Result<Option<Tracer>, TraceError> {
    if config.spans == 0 {
        return Ok(None);
    }
    let options = TracerOptions {
        spans: config.spans,
        build: build_of_this_program(),
        region: region.clone(),
    };
    Tracer::create(&trace_path(ring, PLANT_THREAD), SITES, clock, &options).map(Some)
}
