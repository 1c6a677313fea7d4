//! The state machines of both sides with batches in memory; with the feature `aeron`, over Aeron.

mod batches;
mod fan_out;
#[cfg(feature = "aeron")]
mod media;
mod pipe;
mod streams;
