//! nanotape as one dependency: each crate is a module here, and [`prelude`] has the names of most
//! programs.
//!
//! Where: above all libraries, for programs outside of this repository. It has re-exports only.
//!
//! | module | content |
//! |---|---|
//! | [`types`] | prices, shares, symbols, sides, times |
//! | [`wire`] | messages and packets of the exchange: views over bytes, encoders |
//! | [`feed`] | day files, captures, live sessions, damage |
//! | [`market`] | events that no exchange owns, symbols by stock locate |
//! | [`book`] | order books: best prices, depth, queue position |
//! | [`engine`] | events through books to an observer; statistics of a day |
//! | [`live`] | a live session: lines, re-requests, snapshots, kept packets |
//! | [`plant`] | a plant, from its configuration to its last record |
//! | [`answers`] | any input by its name: books of a span, records, what is missing of it |
//! | [`tap`] | subscribers of a plant or its journal; recorders, audits, DBN files |
//! | [`board`] | counters, followers and health of a plant, in shared memory |
//! | [`records`] | events as DBN records, and back |
//! | [`ring`], [`journal`], [`tape`] | numbered messages in shared memory and on disk, and what both share |
//! | [`interface`] | calls as messages: traits, writers and dispatchers from schemas |
//! | [`history`] | recorded days: snapshots, digests, books at any moment |
//! | [`shm`], [`clock`], [`trace`] | regions of shared memory, time, histograms |
//! | `logging`, `synth`, `exchange`, `lab`, `queue`, `machine`, `delay` | with the feature of the same name |
//!
//! ```
//! use nanotape::prelude::*;
//!
//! let symbol: Symbol = "AAPL".parse()?;
//! let engine = BookEngine::new(DefaultBooks::with_capacity(1_000));
//! assert_eq!(engine.directory().locate(symbol), None);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod prelude;

pub use nanotape_answers as answers;
pub use nanotape_board as board;
pub use nanotape_book as book;
pub use nanotape_clock as clock;
#[cfg(feature = "delay")]
pub use nanotape_delay as delay;
pub use nanotape_engine as engine;
#[cfg(feature = "exchange")]
pub use nanotape_exchange as exchange;
pub use nanotape_feed as feed;
pub use nanotape_history as history;
pub use nanotape_interface as interface;
pub use nanotape_journal as journal;
#[cfg(feature = "lab")]
pub use nanotape_lab as lab;
pub use nanotape_live as live;
#[cfg(feature = "logging")]
pub use nanotape_logging as logging;
#[cfg(feature = "machine")]
pub use nanotape_machine as machine;
pub use nanotape_market as market;
pub use nanotape_plant as plant;
#[cfg(feature = "queue")]
pub use nanotape_queue as queue;
pub use nanotape_records as records;
pub use nanotape_ring as ring;
pub use nanotape_shm as shm;
#[cfg(feature = "synth")]
pub use nanotape_synth as synth;
pub use nanotape_tap as tap;
pub use nanotape_tape as tape;
pub use nanotape_trace as trace;
pub use nanotape_types as types;
pub use nanotape_wire as wire;
