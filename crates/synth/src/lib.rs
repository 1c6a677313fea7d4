//! A synthetic market: a whole day of Nasdaq ITCH 5.0, made from a seed.
//!
//! Where: beside the flow. `nanotape synth` writes such days to files, `nanotape demo` reads one
//! from memory, and tests drive every decoder and book with them.
//!
//! ```text
//! MarketConfig -> universe        who trades, and how much
//!              -> session_events  what is announced when
//!              -> arrivals        when orders arrive          --> order_flow --> tape --> bytes
//! ```
//!
//! A day has exactly as many messages as asked for, is valid by every rule that a feed gives, ends
//! with all books empty, and has the statistics of a real day: its mix of messages, distances from
//! the inside, bursts, lifetimes. [`Measurement`] reads the bytes back and checks that, from the
//! bytes alone.
//!
//! The same configuration gives the same bytes on every machine: one generator with our own
//! sampling, integers and IEEE arithmetic only, and no order of iteration left to chance.
//!
//! Bounds: memory follows the live orders, about 4 % of the messages at some 50 bytes each, plus a
//! fixed programme of some entries a stock. Time is constant a message.
//!
//! ```
//! use nanotape_synth::{Market, MarketConfig};
//!
//! let config = MarketConfig { messages: 10_000, symbols: 50, ..MarketConfig::default() };
//! let mut bytes = Vec::new();
//! Market::new(config)?.write_to(&mut bytes)?;
//! // Two bytes of length, then the first message: the event `O`, start of messages.
//! assert_eq!((&bytes[..3], bytes[13]), (b"\x00\x0cS".as_slice(), b'O'));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod announcements;
mod arrivals;
mod calendar;
mod census;
mod config;
mod market;
mod measure;
mod order_flow;
mod placement;
mod rng;
mod session_events;
mod stock_book;
mod tape;
mod universe;

pub use config::{MarketConfig, MarketError, ParseDateError, TradeDate};
pub use market::Market;
pub use measure::{Figure, MeasureError, Measurement};
