//! MoldUDP64 1.00: views, encoders and codes.
//!
//! Written by `cargo xtask gen` from `schema/moldudp64.toml`: edit that, not this.
//! Covers version 1.00.

use core::fmt;

use crate::{
    DecodeError,
    codec::{self, Shape},
    render::{Describe, FieldVisitor, Value},
};
use nanotape_types::{Alpha, WireValue};

/// Downstream packet header. The first bytes of every packet from the exchange; the message blocks
/// follow without gaps.
///
/// 20 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct DownstreamHeader<'a>(&'a [u8; 20]);

impl<'a> DownstreamHeader<'a> {
    /// Bytes in all.
    pub const LEN: usize = 20;
    /// Name in the specification.
    pub const NAME: &'static str = "Downstream packet header";

    const SHAPE: Shape =
        Shape { name: Self::NAME, tag: None, length: Self::LEN, tail: None, length_at: None };

    /// Checks the length; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match <&[u8; 20]>::try_from(bytes) {
            Ok(whole) => Ok(Self(whole)),
            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }

    /// Wraps the first bytes of `bytes`; also returns what follows them.
    #[inline]
    pub fn wrap_first(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        match bytes.split_first_chunk::<20>() {
            Some((whole, rest)) => Ok((Self(whole), rest)),
            _ => Err(codec::refuse_first(&Self::SHAPE, bytes)),
        }
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8; 20] {
        self.0
    }

    /// Bytes 0..10. Identifies one sequence of messages. It is opaque: compare all ten bytes,
    /// padding included.
    #[inline]
    pub fn session(self) -> Alpha<10> {
        WireValue::from_be_bytes(*codec::field::<0, 10, _>(self.0))
    }

    /// Bytes 10..18. Number of the first message in the packet, from 1. In a packet without
    /// messages, the number of the next message.
    #[inline]
    pub fn sequence_number(self) -> u64 {
        WireValue::from_be_bytes(*codec::field::<10, 8, _>(self.0))
    }

    /// Bytes 18..20. Message blocks in the packet: 0 is a heartbeat, 65535 ends the session.
    #[inline]
    pub fn message_count(self) -> u16 {
        WireValue::from_be_bytes(*codec::field::<18, 2, _>(self.0))
    }

    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> DownstreamHeaderFields {
        DownstreamHeaderFields {
            session: self.session(),
            sequence_number: self.sequence_number(),
            message_count: self.message_count(),
        }
    }
}

impl fmt::Debug for DownstreamHeader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for DownstreamHeader<'a> {
    fn type_byte(self) -> Option<u8> {
        None
    }

    fn type_name(self) -> &'static str {
        "DownstreamHeader"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        V::field(visitor, "session", Value::Text(codec::field::<0, 10, _>(self.0)))?;
        V::field(visitor, "sequence_number", Value::Integer(self.sequence_number()))?;
        V::field(visitor, "message_count", Value::Integer(self.message_count().into()))
    }
}

/// The fields of [`DownstreamHeader`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DownstreamHeaderFields {
    /// Identifies one sequence of messages. It is opaque: compare all ten bytes, padding included.
    pub session: Alpha<10>,
    /// Number of the first message in the packet, from 1. In a packet without messages, the number
    /// of the next message.
    pub sequence_number: u64,
    /// Message blocks in the packet: 0 is a heartbeat, 65535 ends the session.
    pub message_count: u16,
}

impl DownstreamHeaderFields {
    /// The bytes on the wire.
    #[inline]
    pub fn encode(&self) -> [u8; 20] {
        let mut bytes = [0; 20];
        codec::put::<0, _, _>(&mut bytes, WireValue::to_be_bytes(self.session));
        codec::put::<10, _, _>(&mut bytes, WireValue::to_be_bytes(self.sequence_number));
        codec::put::<18, _, _>(&mut bytes, WireValue::to_be_bytes(self.message_count));
        bytes
    }
}

/// Message block header. Precedes each message of a packet. The number of the message is that of
/// the packet plus its position in the packet.
///
/// 2 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct MessageBlockHeader<'a>(&'a [u8; 2]);

impl<'a> MessageBlockHeader<'a> {
    /// Bytes in all.
    pub const LEN: usize = 2;
    /// Name in the specification.
    pub const NAME: &'static str = "Message block header";

    const SHAPE: Shape =
        Shape { name: Self::NAME, tag: None, length: Self::LEN, tail: None, length_at: None };

    /// Checks the length; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match <&[u8; 2]>::try_from(bytes) {
            Ok(whole) => Ok(Self(whole)),
            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }

    /// Wraps the first bytes of `bytes`; also returns what follows them.
    #[inline]
    pub fn wrap_first(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        match bytes.split_first_chunk::<2>() {
            Some((whole, rest)) => Ok((Self(whole), rest)),
            _ => Err(codec::refuse_first(&Self::SHAPE, bytes)),
        }
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8; 2] {
        self.0
    }

    /// Bytes 0..2. Bytes of the message that follows, without these two; may be 0.
    #[inline]
    pub fn message_length(self) -> u16 {
        WireValue::from_be_bytes(*codec::field::<0, 2, _>(self.0))
    }

    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> MessageBlockHeaderFields {
        MessageBlockHeaderFields { message_length: self.message_length() }
    }
}

impl fmt::Debug for MessageBlockHeader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for MessageBlockHeader<'a> {
    fn type_byte(self) -> Option<u8> {
        None
    }

    fn type_name(self) -> &'static str {
        "MessageBlockHeader"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        V::field(visitor, "message_length", Value::Integer(self.message_length().into()))
    }
}

/// The fields of [`MessageBlockHeader`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MessageBlockHeaderFields {
    /// Bytes of the message that follows, without these two; may be 0.
    pub message_length: u16,
}

impl MessageBlockHeaderFields {
    /// The bytes on the wire.
    #[inline]
    pub fn encode(&self) -> [u8; 2] {
        let mut bytes = [0; 2];
        codec::put::<0, _, _>(&mut bytes, WireValue::to_be_bytes(self.message_length));
        bytes
    }
}

/// Request packet. Requests messages again from a re-request server. It has the layout of a
/// heartbeat; only port and direction distinguish them. The server does not answer a request that
/// it cannot satisfy.
///
/// 20 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RequestPacket<'a>(&'a [u8; 20]);

impl<'a> RequestPacket<'a> {
    /// Bytes in all.
    pub const LEN: usize = 20;
    /// Name in the specification.
    pub const NAME: &'static str = "Request packet";

    const SHAPE: Shape =
        Shape { name: Self::NAME, tag: None, length: Self::LEN, tail: None, length_at: None };

    /// Checks the length; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match <&[u8; 20]>::try_from(bytes) {
            Ok(whole) => Ok(Self(whole)),
            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }

    /// Wraps the first bytes of `bytes`; also returns what follows them.
    #[inline]
    pub fn wrap_first(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        match bytes.split_first_chunk::<20>() {
            Some((whole, rest)) => Ok((Self(whole), rest)),
            _ => Err(codec::refuse_first(&Self::SHAPE, bytes)),
        }
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8; 20] {
        self.0
    }

    /// Bytes 0..10. The session from the packets.
    #[inline]
    pub fn session(self) -> Alpha<10> {
        WireValue::from_be_bytes(*codec::field::<0, 10, _>(self.0))
    }

    /// Bytes 10..18. Number of the first requested message.
    #[inline]
    pub fn sequence_number(self) -> u64 {
        WireValue::from_be_bytes(*codec::field::<10, 8, _>(self.0))
    }

    /// Bytes 18..20. Number of requested messages, 1 to 65534; the reply has as many as fit in one
    /// packet.
    #[inline]
    pub fn requested_message_count(self) -> u16 {
        WireValue::from_be_bytes(*codec::field::<18, 2, _>(self.0))
    }

    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> RequestPacketFields {
        RequestPacketFields {
            session: self.session(),
            sequence_number: self.sequence_number(),
            requested_message_count: self.requested_message_count(),
        }
    }
}

impl fmt::Debug for RequestPacket<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for RequestPacket<'a> {
    fn type_byte(self) -> Option<u8> {
        None
    }

    fn type_name(self) -> &'static str {
        "RequestPacket"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        V::field(visitor, "session", Value::Text(codec::field::<0, 10, _>(self.0)))?;
        V::field(visitor, "sequence_number", Value::Integer(self.sequence_number()))?;
        V::field(
            visitor,
            "requested_message_count",
            Value::Integer(self.requested_message_count().into()),
        )
    }
}

/// The fields of [`RequestPacket`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestPacketFields {
    /// The session from the packets.
    pub session: Alpha<10>,
    /// Number of the first requested message.
    pub sequence_number: u64,
    /// Number of requested messages, 1 to 65534; the reply has as many as fit in one packet.
    pub requested_message_count: u16,
}

impl RequestPacketFields {
    /// The bytes on the wire.
    #[inline]
    pub fn encode(&self) -> [u8; 20] {
        let mut bytes = [0; 20];
        codec::put::<0, _, _>(&mut bytes, WireValue::to_be_bytes(self.session));
        codec::put::<10, _, _>(&mut bytes, WireValue::to_be_bytes(self.sequence_number));
        codec::put::<18, _, _>(&mut bytes, WireValue::to_be_bytes(self.requested_message_count));
        bytes
    }
}
