//! Processing of a message does not allocate once the tables of the plant have their final size.
//!
//! Every allocation of this process goes through a counter of its thread.

mod books;
mod live;
mod mirroring;
mod publishing;
mod reading;

use nanotape_harness::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;
