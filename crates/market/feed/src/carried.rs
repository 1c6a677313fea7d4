//! What the messages of a datagram belong to.

use core::fmt;

use nanotape_types::Alpha;
use nanotape_wire::framing::{
    iextp::{IexSession, IexTp},
    moldudp64::MoldUdp64,
    numbered::PacketFraming as _,
    pitch::{Pitch, PitchUnit},
};

/// The protocol of a datagram, and its sequence of numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Carried {
    /// A session of MoldUDP64.
    MoldUdp64(Alpha<10>),
    /// A session of IEX-TP.
    IexTp(IexSession),
    /// A matching unit of Cboe PITCH.
    Pitch(PitchUnit),
    /// Datagrams of another protocol.
    Other,
}

impl Carried {
    /// The name of the protocol.
    pub fn protocol(&self) -> &'static str {
        match self {
            Self::MoldUdp64(_) => MoldUdp64::NAME,
            Self::IexTp(_) => IexTp::NAME,
            Self::Pitch(_) => Pitch::NAME,
            Self::Other => "other UDP",
        }
    }

    /// The session, as text; `None` for another protocol.
    pub fn session(&self) -> Option<String> {
        (*self != Self::Other).then(|| self.to_string())
    }

    /// Whether both are channels of one feed of one day: their messages are read together.
    pub(crate) fn is_of_one_feed(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::IexTp(one), Self::IexTp(two)) => {
                let of = |session: &IexSession| (session.message_protocol_id, session.session_id);
                of(one) == of(two)
            }
            (Self::Pitch(_), Self::Pitch(_)) => true,
            (one, two) => one == two && *one != Self::Other,
        }
    }
}

impl fmt::Display for Carried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MoldUdp64(session) => session.fmt(f),
            Self::IexTp(session) => session.fmt(f),
            Self::Pitch(unit) => unit.fmt(f),
            Self::Other => f.write_str("none"),
        }
    }
}
