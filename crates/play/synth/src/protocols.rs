//! The synthetic day in the protocols of other exchanges.
//!
//! Where: beside the days of ITCH. `nanotape synth --protocol` gives the records of a day to
//! [`ProtocolDay`], whose packets it writes as a capture.
//!
//! ```text
//! records --> changes --> iex_deep, iex_deep_plus, iex_tops, pitch --> packets --> FeedPacket
//! of ITCH     (orders, levels, numbers)     (bytes)                   (windows, heartbeats, lines)
//! ```
//!
//! The event times are those of the ITCH messages, so a book at the end of an event is the same
//! book in each protocol. docs/synthetic-market.md has the table of messages.

mod changes;
mod iex;
mod iex_deep;
mod iex_deep_plus;
mod iex_tops;
mod numbers;
mod packets;
mod pitch;
mod pitch_orders;
mod stock;

use std::{fmt, io};

use changes::{DayHappening, DayState};
use iex_tops::TopsWriter;
use nanotape_wire::{
    framing::{binary_file::Records, iextp::IexSession},
    iex_deep as deep, iex_deep_plus as deep_plus, iex_tops as tops,
    itch50::Message,
};
use numbers::NumberStyle;
pub use packets::FeedPacket;
use packets::{FeedFraming, PacketWindow};
use pitch::PitchWriter;

use crate::{config::MarketConfig, rng::Rng};

/// A protocol of another exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FeedProtocol {
    /// IEX DEEP 1.0: price levels.
    IexDeep,
    /// IEX DEEP+ 1.0: orders.
    IexDeepPlus,
    /// IEX TOPS 1.6: best bids and offers.
    IexTops,
    /// Cboe US Equities PITCH 2.x: orders, in matching units.
    CboePitch,
}

impl FeedProtocol {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::IexDeep, Self::IexDeepPlus, Self::IexTops, Self::CboePitch];

    /// The name, as on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::IexDeep => "iex-deep",
            Self::IexDeepPlus => "iex-deep-plus",
            Self::IexTops => "iex-tops",
            Self::CboePitch => "cboe-pitch",
        }
    }
}

impl fmt::Display for FeedProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How a day is translated. Equal configurations and days give equal packets on every machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProtocolConfig {
    /// The protocol.
    pub protocol: FeedProtocol,
    /// Midnight of the day at the exchange, in nanoseconds since the UNIX epoch.
    pub midnight_ns: u64,
    /// Matching units of PITCH, at least 1; the feeds of IEX have one stream.
    pub units: u8,
    /// Whether line B repeats every packet of line A.
    pub has_line_b: bool,
}

impl ProtocolConfig {
    /// Streams of the feed.
    pub fn streams(&self) -> usize {
        match self.protocol {
            FeedProtocol::CboePitch => usize::from(self.units.max(1)),
            _ => 1,
        }
    }
}

/// A day in progress: takes records of ITCH, and gives packets to a closure.
///
/// ```
/// use nanotape_synth::{FeedProtocol, Market, MarketConfig, ProtocolConfig, ProtocolDay};
///
/// let market = MarketConfig { messages: 10_000, symbols: 50, ..MarketConfig::default() };
/// let config = ProtocolConfig {
///     protocol: FeedProtocol::IexDeep,
///     midnight_ns: 1_577_682_000_000_000_000, // 2019-12-30 in New York
///     units: 1,
///     has_line_b: false,
/// };
/// let mut day = ProtocolDay::new(&market, config);
/// let (mut records, mut packets) = (Vec::new(), 0);
/// let mut source = Market::new(market)?;
/// while source.fill(&mut records) {
///     day.add(&records, &mut |_| Ok(packets += 1))?;
///     records.clear();
/// }
/// day.finish(&mut |_| Ok(packets += 1))?;
/// assert!(packets > 1_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ProtocolDay {
    state: DayState,
    writer: ProtocolWriter,
    window: PacketWindow,
}

#[derive(Debug)]
enum ProtocolWriter {
    Deep,
    DeepPlus,
    Tops(TopsWriter),
    Pitch(PitchWriter),
}

impl ProtocolDay {
    /// Begins the day of a market.
    pub fn new(market: &MarketConfig, config: ProtocolConfig) -> Self {
        let iex = |message_protocol_id| {
            let session_id = session_id(market);
            FeedFraming::Segments(IexSession { message_protocol_id, channel_id: 1, session_id })
        };
        let (streams, partitions) = (config.streams(), NumberStyle::Partitions);
        let (writer, framing, style) = match config.protocol {
            FeedProtocol::IexDeep => {
                (ProtocolWriter::Deep, iex(deep::MESSAGE_PROTOCOL_ID), partitions)
            }
            FeedProtocol::IexDeepPlus => {
                (ProtocolWriter::DeepPlus, iex(deep_plus::MESSAGE_PROTOCOL_ID), partitions)
            }
            FeedProtocol::IexTops => {
                let writer = ProtocolWriter::Tops(TopsWriter::default());
                (writer, iex(tops::MESSAGE_PROTOCOL_ID), partitions)
            }
            FeedProtocol::CboePitch => {
                let writer = ProtocolWriter::Pitch(PitchWriter::new(streams));
                (writer, FeedFraming::Units, NumberStyle::Base36)
            }
        };
        let ProtocolConfig { midnight_ns, has_line_b, .. } = config;
        let window = PacketWindow::new(framing, midnight_ns, streams, has_line_b);
        let state = DayState::new(style, Rng::new(market.seed, 7));
        Self { state, writer, window }
    }

    /// Takes the next whole records of the day, and gives the packets that are complete to `taker`.
    /// A record that is no message of ITCH has no effect.
    ///
    /// # Errors
    ///
    /// Errors of `taker`.
    pub fn add(
        &mut self,
        records: &[u8],
        taker: &mut dyn FnMut(FeedPacket<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        for record in Records::new(records, 0) {
            let Ok(message) = Message::decode(record.bytes) else { continue };
            if let Some(happening) = self.state.apply(&message) {
                self.window.advance(happening.time, taker)?;
                self.write(&happening);
            }
        }
        Ok(())
    }

    /// Ends the day, and gives its last packets to `taker`.
    ///
    /// # Errors
    ///
    /// Errors of `taker`.
    pub fn finish(self, taker: &mut dyn FnMut(FeedPacket<'_>) -> io::Result<()>) -> io::Result<()> {
        self.window.finish(taker)
    }

    fn write(&mut self, happening: &DayHappening<'_>) {
        let Self { state, writer, window } = self;
        match writer {
            ProtocolWriter::Deep => iex_deep::write(happening, state, window),
            ProtocolWriter::DeepPlus => iex_deep_plus::write(happening, state, window),
            ProtocolWriter::Tops(writer) => writer.write(happening, state, window),
            ProtocolWriter::Pitch(writer) => writer.write(happening, state, window),
        }
    }
}

/// The session of a day, which differs from day to day and from seed to seed.
fn session_id(market: &MarketConfig) -> u32 {
    let number = market.date.number() ^ market.seed.rotate_left(32);
    // As the real ones, above a thousand million.
    1 << 30 | (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 34) as u32
}
