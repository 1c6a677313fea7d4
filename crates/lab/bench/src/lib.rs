//! nanotape's own benchmarks: the hot path, stage by stage, and tables that compare variants.
//!
//! Where: lab, above PLANT, below the command line. [`hot`] has fixtures only; `nanotape-lab`
//! measures their time. [`run`] is `nanotape lab bench`: whole days from files, the rings between
//! processes and the journal, each reading in processes of its own. [`Study`] is `nanotape lab
//! study`: questions about the machine.
#![forbid(unsafe_code)]

mod book;
mod command;
mod day;
mod day_file;
mod decode;
mod delay;
pub mod delay_accuracy;
mod engine;
mod error;
mod gaps;
mod gpu;
mod journal;
pub mod paced;
mod prove;
mod publish;
mod ring;
mod study;
#[cfg(test)]
mod tests;

use nanotape_lab::{Suite, truth};

use crate::{
    book::{BookDay, BookOneByOne},
    day::Day,
    decode::Decode,
    publish::PublishDay,
};
pub use crate::{
    command::{BenchCommand, run, worker},
    prove::{JournalProveCommand, RingProveCommand},
    study::{Answered, Study, StudyError, StudyOptions},
};

/// The hot path, which `cargo xtask gate` compares.
pub fn hot() -> Suite {
    Suite::new("hot")
        .add("decode/hot", || Decode::new(&Day::small()))
        .add("book/hot", || BookDay::new(&Day::small()))
        .add("book/day", || BookDay::new(&Day::wide()))
        .add("book/one", || BookOneByOne::new(&Day::small()))
        .add("plant/hot", || PublishDay::new(&Day::small()))
}

/// Every benchmark that a process of this program can run.
pub fn suite() -> Suite {
    hot().and(truth::suite())
}
