//! Shared parts of the tests of all crates.
//!
//! Where: below everything, in `[dev-dependencies]` only. It depends on no other crate of the
//! workspace, so that each of them can test with it.
//!
//! - [`Scratch`]: a unique path, removed with the value.
//! - [`Random`] and [`mixed`]: numbers from a seed, equal on every machine; [`campaign`]: how many.
//! - [`Mount`]: a small file system that a test fills.
//! - [`Task`] and [`Peer`]: this test program again, as a process with a role.
//! - [`CountingAllocator`] and [`check_without_system_calls`]: checks that code allocates nothing
//!   and makes no system calls.
//! - [`Bounded`], [`BoundedChild`], [`line_of`], [`Patience`] and [`SetAtEnd`]: waits for programs
//!   and threads, each with a bound. Programs that a test starts do not inherit ignored signals
//!   (`signals.rs`).
//! - [`unused_address`]: where a program that a test starts listens.
//! - [`browser`]: a page as a browser draws it.
//! - [`skipped`] and [`eventually`]: for machines that lack a feature, or are slow.

mod address;
pub mod browser;
mod disk;
mod machine;
mod mount;
mod network;
mod process;
mod quiet;
mod random;
mod scratch;
mod signals;
mod wait;

pub use address::unused_address;
pub use machine::skipped;
pub use mount::Mount;
pub use network::{NetworkFault, Way};
pub use process::{Peer, Task, copy_for_all_users, listen, say, survives, until_stopped};
pub use quiet::{
    CountingAllocator, allocations, check_the_counter, check_without_system_calls,
    without_system_calls,
};
pub use random::{Random, bytes_of, campaign, mixed};
pub use rustix::process::Signal;
pub use scratch::{Scratch, memory_folder};
pub use wait::{Bounded, BoundedChild, Patience, SetAtEnd, eventually, line_of, rest_of};
