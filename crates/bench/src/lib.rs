//! nanotape's own benchmarks: the hot path, stage by stage.
//!
//! Where: above PLANT, beside the command line. [`hot`] has fixtures only; how their time is measured
//! is `nanotape-lab`'s business. [`day_file`] measures whole days from files, and [`ring`] the rings
//! between processes and [`journal`] the journal, each in processes of their own.
#![forbid(unsafe_code)]

mod book;
mod day;
pub mod day_file;
mod decode;
mod folder;
pub mod journal;
mod lot;
pub mod ring;
mod sides;
mod spread;
mod wait;

use nanotape_lab::Suite;

use crate::{
    book::{BookDay, BookOneByOne},
    day::Day,
    decode::Decode,
};
pub use crate::{
    sides::{Measured, Named},
    spread::Spread,
    wait::Silence,
};

/// The hot path: what `cargo xtask gate` watches.
pub fn hot() -> Suite {
    Suite::new("hot")
        .add("decode/hot", || Decode::new(&Day::small()))
        .add("book/hot", || BookDay::new(&Day::small()))
        .add("book/day", || BookDay::new(&Day::wide()))
        .add("book/one", || BookOneByOne::new(&Day::small()))
}
