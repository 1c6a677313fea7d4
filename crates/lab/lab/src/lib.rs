//! Benchmarks: a harness, statistics, and comparisons with a known power.
//!
//! Where: lab. It works on numbers and closures and does not depend on the measured code.
//!
//! A benchmark is a [`Fixture`]; a [`Suite`] gives it a name and builds a program from it:
//!
//! ```no_run
//! // benches/sums.rs, with `harness = false` for it in Cargo.toml
//! use nanotape_lab::{Fixture, Suite};
//!
//! struct Sum(Vec<u64>);
//!
//! impl Fixture for Sum {
//!     type Answer = u64;
//!     fn run(&mut self) -> u64 {
//!         self.0.iter().sum()
//!     }
//!     fn expected(&self) -> u64 {
//!         499_500
//!     }
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     Suite::new("sums").add("sum/1000", || Sum((0..1_000).collect())).main()
//! }
//! ```
//!
//! Flow: [`sampler`](Cut) cuts time into samples and epochs; [`measure()`] returns a cost and a
//! distribution; [`compare`] runs two programs in turns and judges them; [`record`] stores lines
//! and [`pages`] draws them. All use [`statistics`], and [`prove`] tests the whole.
#![forbid(unsafe_code)]

mod arguments;
pub mod baseline;
pub mod callgrind;
pub mod compare;
pub mod counters;
pub mod environment;
mod fixture;
mod latency;
mod measure;
pub mod perf_program;
pub mod placement;
mod program;
pub mod prove;
pub mod record;
pub mod rng;
mod sampler;
pub mod statistics;
mod suite;
pub mod text;
pub mod truth;
mod worker;

pub use arguments::{BenchArguments, PerfMode, PlaceArguments, select};
pub use environment::NoiseWatch;
pub use fixture::{Fixture, Prepared, WrongAnswer};
pub use latency::Latency;
pub use measure::{CountError, Measured, Options, count_instructions, measure};
pub use nanotape_report as pages;
pub use placement::{Pin, Placement, PlacementRequest};
pub use rng::Rng;
pub use sampler::Cut;
pub use suite::{BenchError, Suite};
