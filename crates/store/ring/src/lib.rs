//! A broadcast ring in shared memory: one writer that never waits, any number of readers in other
//! processes, which cannot affect it or each other. A reader that falls behind gets the exact range
//! of the messages that it missed.
//!
//! Where: PLANT publishes changes; subscribers, JOURNAL and LATEST read. A ring carries bytes, a
//! type id and a sequence number, independent of any record.
//!
//! Two designs behind one interface, [`Publish`] and [`Subscribe`]:
//!
//! | | [`stream`] | [`slots`] |
//! |---|---|---|
//! | messages | of any length up to a quarter of the ring | up to the size of a slot |
//! | memory of a message | its length and 16 bytes | a slot |
//! | marks a published message | a commit word before it | a version before it |
//! | marks an overwritten message | one count for the ring, which changes rarely | the version |
//!
//! ```no_run
//! use nanotape_ring::{Publish, Read, Start, Subscribe, stream};
//!
//! // In one process. The file remains after the writer ends, and the next writer takes it over.
//! let path = nanotape_shm::named("quotes")?;
//! let (mut writer, _) = stream::Writer::create(&path, 8 << 20, &Default::default())?;
//! writer.publish(1, b"bid 100.25")?;
//!
//! // In any number of other processes.
//! let mut reader = stream::Reader::open(&path, Start::Oldest)?;
//! let mut buffer = [0; 4096];
//! match reader.try_read(&mut buffer)? {
//!     Read::Message(message) => println!("{:?}", &buffer[..message.length as usize]),
//!     Read::Empty => println!("nothing yet"),
//!     Read::Lapped(gap) => println!("{gap}"),
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Bounds: the ring's size is fixed when it is created. Each call of a writer or a reader does a
//! bounded amount of work, except joining, which follows the frames of one block.
//! Failure: loss is a result ([`Read::Lapped`]), damage is an error ([`ReadError`]), and neither
//! ends a process. If the file is truncated while it is mapped, the kernel sends SIGBUS;
//! [`nanotape_shm::guard_against_truncation`] turns that into an error too.
//! Cost: publishing and reading allocate nothing, lock nothing and make no system call.
#![forbid(unsafe_code)]

#[cfg(not(nanotape_loom))]
mod any;
pub mod edges;
mod error;
mod message;
mod publish;
mod read;
pub mod slots;
#[cfg(not(nanotape_loom))]
mod source;
mod start;
#[cfg(not(nanotape_loom))]
mod stat;
pub mod stream;
mod subscribe;
mod verify;
mod waiting;

#[cfg(not(nanotape_loom))]
pub use any::AnyReader;
pub use error::{PublishError, RingError};
pub use message::Message;
pub use nanotape_tape::{Gap, Start};
pub use publish::{Batched, Claimed, Publish};
pub use read::{Corruption, Read, ReadError, Received};
#[cfg(not(nanotape_loom))]
pub use source::{RingSource, writer_state};
pub use start::{Rejoin, StartError};
#[cfg(not(nanotape_loom))]
pub use stat::{Capacity, RingMonitor, Stat};
pub use subscribe::Subscribe;
pub use verify::Verified;
