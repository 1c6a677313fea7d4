//! The processor of a plant, or of a recorder.

use nanotape_lab::{Pin, Placement, PlacementRequest};

use crate::status::tell;

/// Keeps this thread on one processor while the value lives; reports a failure once.
pub(crate) fn pin(cpu: u32) -> Placement {
    let request =
        PlacementRequest { pin: Pin::To(cpu), real_time_priority: None, lock_memory: false };
    let placement = Placement::apply(&request);
    for refused in placement.refused() {
        tell(format_args!("{refused}"));
    }
    placement
}
