//! The protocols that a command can give to a day, and what their lines need.

use std::net::SocketAddrV4;

use anyhow::bail;
use clap::ValueEnum;
use nanotape_synth::FeedProtocol;

/// The protocols of a day.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum DayProtocol {
    /// Nasdaq ITCH 5.0
    Itch,
    /// IEX DEEP 1.0: price levels
    IexDeep,
    /// IEX DEEP+ 1.0: orders
    IexDeepPlus,
    /// IEX TOPS 1.6: best bids and offers
    IexTops,
    /// Cboe US Equities PITCH 2.x: orders, in matching units
    CboePitch,
}

impl DayProtocol {
    /// The protocol of another exchange; `None` for ITCH.
    pub(crate) fn feed(self) -> Option<FeedProtocol> {
        match self {
            Self::Itch => None,
            Self::IexDeep => Some(FeedProtocol::IexDeep),
            Self::IexDeepPlus => Some(FeedProtocol::IexDeepPlus),
            Self::IexTops => Some(FeedProtocol::IexTops),
            Self::CboePitch => Some(FeedProtocol::CboePitch),
        }
    }
}

/// Refuses ports that do not exist, and lines with ports in common. Each stream has a port.
pub(crate) fn check_lines(lines: &[SocketAddrV4], streams: usize) -> anyhow::Result<()> {
    let further = streams as u16 - 1;
    for line in lines {
        if line.port().checked_add(further).is_none() {
            bail!("{line}: {streams} units need as many ports from this one on");
        }
    }
    for (index, a) in lines.iter().enumerate() {
        for b in &lines[index + 1..] {
            if a.ip() == b.ip() && a.port().abs_diff(b.port()) <= further {
                bail!("{a} and {b}: the lines have ports in common");
            }
        }
    }
    Ok(())
}
