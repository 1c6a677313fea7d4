//! The feeds that are read: what recognises each, and its venue. A new feed is a line in each
//! function here, one in [`Decoding`](crate::events), and a protocol.

use nanotape_market::Venue;
use nanotape_wire::{iex_deep, iex_deep_plus, iex_tops};

use crate::{carried::Carried, venues};

/// A feed of an exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Feed {
    /// Nasdaq TotalView-ITCH.
    Itch,
    /// IEX DEEP.
    IexDeep,
    /// IEX DEEP+.
    IexDeepPlus,
    /// IEX TOPS.
    IexTops,
    /// Cboe multicast PITCH.
    Pitch,
}

impl Feed {
    /// The feed of a session; `None` for one that is not read.
    pub fn of(carried: &Carried) -> Option<Self> {
        match carried {
            Carried::MoldUdp64(_) => Some(Self::Itch),
            Carried::IexTp(session) => match session.message_protocol_id {
                iex_deep::MESSAGE_PROTOCOL_ID => Some(Self::IexDeep),
                iex_deep_plus::MESSAGE_PROTOCOL_ID => Some(Self::IexDeepPlus),
                iex_tops::MESSAGE_PROTOCOL_ID => Some(Self::IexTops),
                _ => None,
            },
            Carried::Pitch(_) => Some(Self::Pitch),
            Carried::Other => None,
        }
    }

    /// All feeds.
    pub const ALL: [Self; 5] =
        [Self::Itch, Self::IexDeep, Self::IexDeepPlus, Self::IexTops, Self::Pitch];

    /// The feed of a venue; `None` for one that is not read.
    pub fn of_venue(venue: &Venue) -> Option<Self> {
        Self::ALL.into_iter().find(|feed| feed.venue() == venue)
    }

    /// Whose messages it has.
    pub fn venue(self) -> &'static Venue {
        match self {
            Self::Itch => venues::NASDAQ_ITCH,
            Self::IexDeep => venues::IEX_DEEP,
            Self::IexDeepPlus => venues::IEX_DEEP_PLUS,
            Self::IexTops => venues::IEX_TOPS,
            Self::Pitch => venues::CBOE_PITCH,
        }
    }
}
