//! The queue in front of a receiver that takes a constant time a message, for many times at once.
//!
//! Where: `nanotape lab queue` feeds it the arrivals of an input. It works on numbers and depends
//! on no message, file or clock.
//!
//! Definitions:
//!
//! 1. Messages are processed strictly one after another, in the order of [`Simulation::arrive`].
//! 2. The delay of a message is the time from its arrival to the end of its processing: its wait,
//!    and its own service time. Without a wait it equals the service time.
//! 3. The queue is the number of messages in the system just after an arrival: the new one, those
//!    that wait, and the one in service. A message whose processing ends at the moment of an
//!    arrival has left. With a constant service time the queue is the delay divided by it, rounded
//!    up, so that the largest delay gives the largest queue.
//! 4. Messages with one timestamp arrive together: each waits for those before it.
//! 5. A timestamp below an earlier one counts as equal to the latest, and is counted in `reversed`.
//! 6. The receiver is behind from the arrival that finds it idle to the next moment at which it
//!    is idle again. The longest of these times is how long it takes to catch up.
//!
//! Lindley's recursion gives the delay of message n: `max(delay - gap, 0) + service`, with `gap`
//! the time between two arrivals.
//!
//! Bounds: [`LANES`] service times of at most [`MAX_SERVICE_NS`], [`MAX_LIMITS`] limits and
//! [`MAX_WINDOWS`] windows. If the arrivals need more windows, pairs are joined into windows of
//! twice the length. Delays are exact up to 2^53 ns, which needs 900 billion arrivals within one
//! moment.
//! Cost: no allocation for an arrival, except one for each window. Times are `f64` with whole
//! numbers, because the vector instructions of every x86-64 processor have a maximum of those, and
//! the bucket of a log-linear histogram is a shift of their bits.
#![forbid(unsafe_code)]

mod bounds;
mod bursts;
mod capacity;
mod costs;
mod links;
mod models;
mod receiver;
mod record;
pub mod replay;
mod search;
mod simulation;
#[cfg(test)]
mod tests;
pub mod validation;
mod windows;

pub use bounds::{
    LANES, MAX_CORES, MAX_LIMITS, MAX_RING, MAX_SERVICE_NS, MAX_STEPS, MAX_WINDOWS, QueueError,
};
pub use bursts::{Burst, Bursts, MAX_BURST_MESSAGES};
pub use capacity::{Capacity, FirstDrop, MAX_SPEEDS, Speed};
pub use costs::{Costs, Steps};
pub use links::{Link, LinkOptions, MAX_BACKLOG, MAX_BITS_PER_SECOND, MAX_LINKS, Peak};
pub use models::{Model, ServiceTimes, delays};
pub use receiver::{Batch, Core, Receiver};
pub use record::{
    QUANTILES, Source, burst_records, capacity_record, link_record, receiver_record, record,
    service_record,
};
pub use replay::{Interruption, Replay, Step};
pub use search::{Question, Search};
pub use simulation::{Outcome, ServiceResult, Simulation, default_services};
pub use validation::Validation;
pub use windows::{Window, Windows};
