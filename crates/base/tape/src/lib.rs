//! The numbered stream: the common interface of a ring and a journal, and a follower for both.
//!
//! Where: base, below RING and JOURNAL, which implement [`Source`] and [`Sink`]. It stores
//! nothing and is independent of any record.
//!
//! A writer numbers its messages from 1 without gaps. A reader starts at a [`Start`], visits
//! [`Item`]s in the order of their numbers, and gets each range of numbers that it cannot have: a
//! [`Gap`] is an item, not an error. Numbers identify a message in every copy of the stream, so a
//! reader can continue in a journal where it stopped in a ring.
//!
//! | | what it is |
//! |---|---|
//! | [`Source`] | the reader's side: poll, seek |
//! | [`Sink`] | the writer's side: append |
//! | [`InPlaceSink`] | the writer's side: reserve room, write in place, commit |
//! | [`Follow`] | reads to the end of a stream that is still being written: waits, checks the writer, drains |
//! | [`Waiter`] | what to do between two polls: spin, yield, sleep |
//! | [`Deadline`] | how long to wait for a stream that does not exist yet |
//! | [`Pacer`], [`LongWaits`] | when something of a recorded time is due, and which waits for it are reported |
//! | [`ShutdownFlag`] | a request to end, from a signal handler or another thread |
//!
//! Rings and journals also have their own readers, which show messages in place and cost less.
//! `Source` copies each payload once: tools, recorders and subscribers use it.
#![forbid(unsafe_code)]

#[cfg(feature = "conformance")]
pub mod conformance;
mod deadline;
mod follow;
mod in_place;
mod item;
mod pacer;
mod shutdown;
mod source;
mod start;
mod wait;

pub use deadline::Deadline;
pub use follow::{Follow, Step};
pub use in_place::{InPlaceSink, MessageRoom};
pub use item::{Gap, Item, Message, Reused};
pub use pacer::{LongWaits, Pacer};
pub use shutdown::ShutdownFlag;
pub use source::{Progress, Sink, Source, Tape, Writer, WriterState};
pub use start::{ParseStartError, Start};
pub use wait::{WaitStrategy, Waiter};
