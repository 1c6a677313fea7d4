//! A live feed of channels as a source of events: Cboe PITCH, whose matching units number their
//! messages each for itself, and IEX DEEP and DEEP+, which have one channel.
//!
//! ```text
//! lines, gap answers --> packets --> ChannelSet: a Receiver for each channel --> EventHandler
//!                                       |   ^           one FeedDecoder for all
//!                             requests  |   |  answers, refusals
//!                                       v   |
//!                          gap request proxy (TCP)
//!                             fetches   |   |  images
//!                                       v   |
//!                          spin server of the unit (TCP)
//! ```
//!
//! [`set`] decides what to deliver and what to do, without a socket; [`links`] has the connections
//! to the servers, and [`source`] the sockets of the lines and the clock.
//! Messages of all channels are numbered together, in the order in which they are delivered.

mod config;
mod delivery;
mod links;
mod restart;
mod set;
mod source;
#[cfg(test)]
mod tests;

pub use config::{ChannelFeed, ChannelsConfig, SpinServer};
pub use source::ChannelSource;
