//! nanotape's own benchmarks: the hot path, stage by stage, and tables that compare variants.
//!
//! Where: lab, above PLANT, below the command line. [`hot`] has fixtures only; `nanotape-lab`
//! measures their time. [`run`] is `nanotape lab bench`: whole days from files, the rings between
//! processes, the journal and the map, each reading in processes of its own. [`Study`] is
//! `nanotape lab study`: questions about the machine.
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
mod latest;
pub mod paced;
mod prove;
mod publish;
mod replicate;
mod ring;
mod study;
#[cfg(test)]
mod tests;

use nanotape_lab::{Suite, truth};

use crate::{
    book::{BookDay, BookOneByOne},
    day::Day,
    day_file::{Book, Feed, Plant, Replay, Trace},
    decode::Decode,
    delay::Delay,
    engine::figure::{page, page_of},
    gaps::Gaps,
    journal::Journal,
    latest::Latest,
    publish::PublishDay,
    replicate::Replicate,
    ring::Ring,
};
pub use crate::{
    command::{BenchCommand, run, worker},
    prove::{JournalProveCommand, LatestProveCommand, RingProveCommand},
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

/// The tables of the pages `lab-bench-NAME.md` in docs/formats, by NAME. They follow from the
/// declarations of the figures.
pub fn format_pages() -> Vec<(&'static str, String)> {
    vec![
        page_of::<Book>(),
        page_of::<Plant>(),
        page_of::<Replay>(),
        page_of::<Feed>(),
        page_of::<Trace>(),
        page_of::<Ring>(),
        page_of::<Gaps>(),
        page_of::<Delay>(),
        page_of::<Journal>(),
        page_of::<Latest>(),
        page_of::<Replicate>(),
        ("gpu", page(gpu::FIGURES, &[])),
    ]
}

/// Every benchmark that a process of this program can run.
pub fn suite() -> Suite {
    hot().and(truth::suite())
}
