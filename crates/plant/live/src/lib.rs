//! A live session: the packets of its lines in, events in order out, losses requested and reported.
//!
//! Where: between sockets and a plant. [`LiveSource`] receives; [`KeptSource`] runs a session again
//! from the journal of its packets, with the same result.
#![forbid(unsafe_code)]

mod addresses;
mod channels;
mod config;
mod source;
#[doc(hidden)]
pub mod text;

pub use addresses::{GroupAddress, Interface, ServerAddress, parse_ip};
pub use channels::{ChannelFeed, ChannelSource, ChannelsConfig, SpinServer};
pub use config::{LineAddress, LiveConfig, SettingsError, Timestamps};
pub use source::{Begun, Between, Delivery, KeptSource, LiveError, LiveSource, NewsLine};
