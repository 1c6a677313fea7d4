//! The spans of the thread of a plant.

use std::path::Path;

use nanotape_board::{PLANT_THREAD, trace_path};
use nanotape_clock::Clock;
use nanotape_shm::RegionOptions;
use nanotape_trace::spans::{TraceError, Tracer, TracerOptions, build_of_this_program};

use crate::{config::TraceConfig, publisher::SITES};

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
