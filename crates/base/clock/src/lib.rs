//! The clock that measurements read: the only place that reads time, and it states its own cost.
//!
//! Where: base. It converts ticks to nanoseconds, and does not depend on what is timed.
//!
//! A [`Clock`] reads the processor's time stamp counter if it passes all checks, else the operating
//! system's clock; [`Clock::why`] returns the deciding check. A [`Stamp`] is a bare count of ticks.
//! The clock turns two stamps into nanoseconds, and one into UTC.
//!
//! # Which stamp
//!
//! A processor works on many instructions at once. It may read the counter before earlier work is
//! done, or begin later work before the counter is read. Fences restrict that:
//!
//! | stamp | fences | for |
//! |---|---|---|
//! | [`Clock::stamp_start`] | `lfence; rdtsc; lfence` | the beginning of a timed part: earlier work is not timed with it, later work does not begin early |
//! | [`Clock::stamp`] | `lfence; rdtsc` | the end of a timed part, an arrival: everything before it is done |
//! | [`Clock::stamp_unfenced`] | `rdtsc` | a rough time of day, gaps between consecutive stamps; ordered only by a [`Timeline`] |
//!
//! A pair of unfenced stamps around a load that misses the caches reads about 11 ns, because
//! nothing makes the second stamp wait for the load: the figure is the cost of reading the counter.
//! The example `fences` shows it. The compiler may move work too: it keeps loads and stores on
//! their side of a stamp, but arithmetic only after `core::hint::black_box`.
//!
//! # Stamps that cross threads
//!
//! A stamp that is taken with a lock held, or after a message was read, is later than the stamp of
//! the last holder or of the sender only if it is fenced. An unfenced stamp may be read before the
//! lock is held or the message has arrived. On an EPYC, a lock moved from core to core: 12,000 of
//! 190,000 unfenced stamps were older than the one before, the worst by 600 ns; no fenced stamp
//! was. [`Timeline`] orders UTC times without a fence, also over new calibrations and a clock that
//! is set.
//!
//! # Bounds
//!
//! Every accuracy is a bound, not an estimate: two readings of one clock enclose a reading of the
//! other. [`Rate`], [`Drift`] and [`cross_core::Offset`] contain their bounds. Nanoseconds are
//! those of `CLOCK_MONOTONIC_RAW`, which is never adjusted. [`Drift`] has the movement of the
//! kernel's UTC relative to it.
//!
//! ```
//! let clock = nanotape_clock::Clock::calibrate();
//! let before = clock.stamp_start();
//! let after = clock.stamp();
//! println!("{} ns, of which {:.0} are the stamps'", clock.nanos_between(before, after),
//!     clock.costs().empty_nanos);
//! println!("at {}, read by {} because {}", clock.utc(after), clock.source(), clock.why());
//! ```

mod bracket;
mod calibration;
mod choice;
mod clock;
mod costs;
pub mod cross_core;
mod drift;
mod kernel;
mod report;
mod scale;
mod source;
mod timeline;
mod tsc;
mod utc;

pub use calibration::Rate;
pub use choice::Reason;
pub use clock::{Clock, Stamp};
pub use costs::Costs;
pub use drift::{Drift, DriftWatch};
pub use report::Report;
pub use source::Source;
pub use timeline::{SET_BACK_NS, Timeline};
pub use utc::{ParseUtcError, UtcNanos};
