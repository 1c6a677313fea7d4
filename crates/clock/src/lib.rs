//! The clock that measurements read: the only place that reads time, and it states its own cost.
//!
//! Where: layer 0. It knows numbers of ticks and nanoseconds and nothing of what is timed.
//!
//! ```
//! let clock = nanotape_clock::Clock::calibrate();
//! let before = clock.stamp();
//! let after = clock.stamp();
//! println!("{} ns, read by {}", clock.nanos_between(before, after), clock.source());
//! ```

mod clock;
mod tsc;

pub use clock::{Clock, Source, Stamp};
