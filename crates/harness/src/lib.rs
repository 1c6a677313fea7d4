//! What the tests of all crates share.
//!
//! Where: below everything, in `[dev-dependencies]` only. It knows no other crate of the workspace,
//! so that each of them can test with it.
//!
//! - [`Scratch`]: a path that no other test has, removed with the value.
//! - [`Random`] and [`mixed`]: numbers that follow from a seed, the same on every machine.
//! - [`Mount`]: a small file system that a test fills.
//! - [`Task`] and [`Peer`]: this test program once more, as a process with a role.
//! - [`CountingAllocator`] and [`check_without_system_calls`]: code that allocates nothing, and
//!   calls the kernel for nothing.
//! - [`skipped`] and [`eventually`]: what a test does on a machine that lacks something, or is
//!   slow.

mod disk;
mod machine;
mod mount;
mod process;
mod quiet;
mod random;
mod scratch;

pub use machine::{eventually, skipped};
pub use mount::Mount;
pub use process::{Peer, Task, copy_for_all_users, listen, say, survives};
pub use quiet::{
    CountingAllocator, allocations, check_the_counter, check_without_system_calls,
    without_system_calls,
};
pub use random::{Random, bytes_of, mixed};
pub use rustix::process::Signal;
pub use scratch::Scratch;
