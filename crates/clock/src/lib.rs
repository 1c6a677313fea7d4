//! The clock that measurements read: the only place that reads time, and it states its own cost.
//!
//! Where: layer 0. It knows numbers of ticks and nanoseconds and nothing of what is timed.
//!
//! A [`Clock`] reads the processor's time stamp counter if all questions about it are answered
//! well, else the operating system's clock, and [`Clock::why`] says which answer decided. A
//! [`Stamp`] is a bare count of ticks; the clock turns two of them into nanoseconds and one of them
//! into UTC.
//!
//! # Which stamp
//!
//! A processor works on many instructions at once and may read the counter before the work in front
//! of it is done, or begin the work behind it before the counter is read. Fences say what must not
//! happen:
//!
//! | stamp | fences | for |
//! |---|---|---|
//! | [`Clock::stamp_start`] | `lfence; rdtsc; lfence` | the beginning of a timed part: nothing before it is timed with it, nothing behind it begins early |
//! | [`Clock::stamp`] | `lfence; rdtsc` | the end of a timed part, an arrival: everything before it is done |
//! | [`Clock::stamp_unfenced`] | `rdtsc` | a rough time of day, gaps between many stamps in a row; in an order only behind a [`Timeline`] |
//!
//! A pair of unfenced stamps around a load that misses the caches says about 11 ns, because nothing
//! makes the second stamp wait for the load: the figure is the cost of reading the counter. The
//! example `fences` shows it. The compiler is a second hand that may move work: it keeps loads and
//! stores on their side of a stamp, but arithmetic only behind `core::hint::black_box`.
//!
//! # Stamps that cross threads
//!
//! A stamp that is taken with a lock held, or after a message was read, is later than the stamp of
//! the last holder or of the sender only if it is fenced: an unfenced one may be read before the
//! lock or the message has come. On an EPYC, 12,000 of 190,000 unfenced stamps behind a lock that
//! went from core to core were older than the one before, the worst by 600 ns; of the fenced ones
//! none was. [`Timeline`] orders UTC times without a fence, also over new calibrations and a clock
//! that is set.
//!
//! # Bounds
//!
//! What is said of exactness is a bound and not a habit: two readings of one clock enclose a
//! reading of the other, and the truth lies between. [`Rate`], [`Drift`] and [`cross_core::Offset`]
//! carry theirs. Nanoseconds are those of `CLOCK_MONOTONIC_RAW`, which nobody adjusts; how far the
//! kernel's UTC has been moved against them since is in [`Drift`].
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
