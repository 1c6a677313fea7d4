//! A packet of any framing that a capture can have.

use nanotape_types::Alpha;
use nanotape_wire::framing::{
    iextp::{IexSession, IexTp},
    moldudp64::MoldUdp64,
    numbered::{MalformedKind, NumberedPacket, PacketFraming},
    pitch::{Pitch, PitchUnit},
};

use crate::carried::Carried;

/// A framing that captures are read of.
pub(crate) trait Captured: PacketFraming {
    /// Whether a session can begin again at number 1 under its name.
    const RESTARTS: bool;

    /// What the messages of a session belong to.
    fn carried(session: Self::Session) -> Carried;

    /// The packet as one of any framing.
    fn any<'p, 'a>(packet: &'p NumberedPacket<'a, Self>) -> AnyPacket<'p, 'a>;
}

/// A packet of any framing that captures are read of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AnyPacket<'p, 'a> {
    MoldUdp64(&'p NumberedPacket<'a, MoldUdp64>),
    IexTp(&'p NumberedPacket<'a, IexTp>),
    Pitch(&'p NumberedPacket<'a, Pitch>),
}

impl Captured for MoldUdp64 {
    const RESTARTS: bool = false;

    fn carried(session: Alpha<10>) -> Carried {
        Carried::MoldUdp64(session)
    }

    #[inline]
    fn any<'p, 'a>(packet: &'p NumberedPacket<'a, Self>) -> AnyPacket<'p, 'a> {
        AnyPacket::MoldUdp64(packet)
    }
}

impl Captured for IexTp {
    const RESTARTS: bool = true;

    fn carried(session: IexSession) -> Carried {
        Carried::IexTp(session)
    }

    #[inline]
    fn any<'p, 'a>(packet: &'p NumberedPacket<'a, Self>) -> AnyPacket<'p, 'a> {
        AnyPacket::IexTp(packet)
    }
}

impl Captured for Pitch {
    const RESTARTS: bool = true;

    fn carried(unit: PitchUnit) -> Carried {
        Carried::Pitch(unit)
    }

    #[inline]
    fn any<'p, 'a>(packet: &'p NumberedPacket<'a, Self>) -> AnyPacket<'p, 'a> {
        AnyPacket::Pitch(packet)
    }
}

/// A datagram as a packet of the framing that it follows to its last byte.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Decoded<'a> {
    MoldUdp64(NumberedPacket<'a, MoldUdp64>),
    IexTp(NumberedPacket<'a, IexTp>),
    Pitch(NumberedPacket<'a, Pitch>),
}

impl<'a> Decoded<'a> {
    /// The packet, or the error that makes it an invalid packet of MoldUDP64.
    #[inline]
    pub(super) fn of(payload: &'a [u8]) -> Result<Self, Option<MalformedKind>> {
        if let Ok(segment) = IexTp::decode(payload) {
            return Ok(Self::IexTp(segment));
        }
        let malformed = match MoldUdp64::decode(payload) {
            Ok(packet) if is_session_name(&packet.session) => return Ok(Self::MoldUdp64(packet)),
            Ok(_) => None,
            Err(malformed) => Some(malformed.kind()),
        };
        Pitch::decode(payload).map(Self::Pitch).map_err(|_| malformed)
    }

    /// What its messages belong to.
    #[inline]
    pub(super) fn carried(&self) -> Carried {
        match self {
            Self::MoldUdp64(packet) => Carried::MoldUdp64(packet.session),
            Self::IexTp(packet) => Carried::IexTp(packet.session),
            Self::Pitch(packet) => Carried::Pitch(packet.session),
        }
    }

    /// Whether it has a message with a number.
    #[inline]
    pub(super) fn has_messages(&self) -> bool {
        let count = match self {
            Self::MoldUdp64(packet) => packet.count,
            Self::IexTp(packet) => packet.count,
            Self::Pitch(packet) => packet.count,
        };
        count > 0
    }
}

/// The session of a datagram, if it is a packet of a feed.
pub(super) fn carried_by(payload: &[u8]) -> Option<Carried> {
    Decoded::of(payload).ok().map(|packet| packet.carried())
}

/// Whether a session is text, as names of MoldUDP64 are: other datagrams can follow its format by
/// chance.
fn is_session_name(session: &Alpha<10>) -> bool {
    let [first, ..] = session.as_bytes();
    let is_text = |byte: &u8| matches!(byte, b' '..=b'~' | 0);
    *first != 0 && session.as_bytes().iter().all(is_text)
}
