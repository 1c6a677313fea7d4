//! A synthetic market: a whole day of Nasdaq ITCH 5.0, made from a seed.
//!
//! Where: outside of the flow. `nanotape synth` writes such days to files, `nanotape demo` reads
//! one from memory, and tests feed them to every decoder and book.
//!
//! ```text
//! MarketConfig -> universe        stocks, and how much each trades
//!              -> session_events  times of announcements
//!              -> arrivals        arrival times of orders     --> order_flow --> tape --> bytes
//!
//! QuoteStream, WaveStream, LeadStream --> QuoteUpdate --> SecondFeed --> ShownUpdate, and Truth
//!                                             |                              |
//!                                             +--> QuoteDay --> bytes <------+
//!
//! bytes --> ProtocolDay --> FeedPacket     the same day in a protocol of another exchange
//! ```
//!
//! A day has exactly the configured number of messages, follows every rule of a feed, and ends with
//! all books empty. It has the statistics of a real day: mix of messages, distances from the
//! inside, bursts, lifetimes. [`Measurement`] checks that from the bytes alone.
//!
//! The second row makes inputs of known truth for estimators of delays and leads: quotes with
//! clustered arrivals, waves, and pairs of prices; a second feed of them, with the delay of each
//! update; and days whose books show them.
//!
//! The third row shows any of these days as IEX DEEP, DEEP+ or TOPS, or as Cboe PITCH: packets
//! whose books are those of the ITCH day after each event.
//!
//! The same configuration gives the same bytes on every machine: one generator with our own
//! sampling, integers, IEEE arithmetic and two functions in pure Rust, and no random order of
//! iteration.
//!
//! Bounds: memory follows the live orders, about 4 % of the messages at about 50 bytes each, plus a
//! fixed programme of a few entries per stock. Time per message is constant. [`ProtocolDay`] also
//! keeps the trades of the day, about 3 % of the messages.
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
mod leads;
mod market;
mod measure;
mod order_flow;
mod placement;
mod protocols;
mod quote_day;
mod quotes;
mod rng;
mod second_feed;
mod session_events;
mod spec;
mod stock_book;
mod tape;
mod universe;
mod waves;

pub use config::{MarketConfig, MarketError, ParseDateError, TradeDate};
pub use leads::{LeadPair, LeadSpec, LeadStream};
pub use market::Market;
pub use measure::{Figure, MeasureError, Measurement};
pub use protocols::{FeedPacket, FeedProtocol, ProtocolConfig, ProtocolDay};
pub use quote_day::{QuoteDay, UnknownSymbolError};
pub use quotes::{Quote, QuoteConfig, QuoteStream, QuoteUpdate};
pub use second_feed::{
    Delays, Fate, FeedShape, Noise, SecondFeed, SecondFeedSpec, ShownUpdate, Truth, TruthRow,
};
pub use spec::{Share, SpecError};
pub use waves::{WaveShape, WaveSpec, WaveStream};
