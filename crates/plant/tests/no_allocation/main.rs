//! What the plant does for each message allocates nothing once its tables have grown to the day's
//! size.
//!
//! Counted, not assumed: every allocation of this process goes through a counter of its thread.

mod books;
mod publishing;

use nanotape_harness::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;
