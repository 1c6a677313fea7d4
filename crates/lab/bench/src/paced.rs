//! Messages of a day through a whole plant, each not before it is due, with the moment at which
//! each is done.
//!
//! Where: `nanotape lab queue --validate` compares these moments with its predictions. The plant is
//! that of `nanotape run`: decoder, books, records, a ring and a board in shared memory.
//!
//! Flow: an [`Excerpt`] has the messages that are timed. A replay reads the day with look-ahead and
//! without a pause up to the first of them, so that the books are those of that moment. It then
//! waits for each message of the excerpt by reading the clock, as a paced plant does, and hands it
//! to the plant alone, as a live feed does.
//!
//! Interruptions: two readings of the clock in a wait that are far apart, and messages that take
//! long. The accounts of the thread are read for their cause, which takes a microsecond, while
//! the thread has time.

mod excerpt;
mod interruptions;
mod run;

pub use self::{
    excerpt::{ArrivalClock, Excerpt, MAX_EXCERPT_BYTES},
    run::{Paced, Schedule},
};
