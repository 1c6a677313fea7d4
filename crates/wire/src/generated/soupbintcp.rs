//! SoupBinTCP 3.00 to 4.10, with GLIMPSE 5.0: views, encoders and codes.
//!
//! Written by `cargo xtask gen` from `schema/soupbintcp.toml`: edit that, not this.
//! Covers version 3.00, 4.00 (unsequenced data from the server), 4.10 (heartbeat timeout in the
//! login); GLIMPSE 5.0 for ITCH 5.0.

use core::fmt;

use crate::{
    DecodeError, EncodeError,
    codec::{self, Shape, UnknownCode},
    render::{Describe, FieldVisitor, Value},
};
use nanotape_types::{Alpha, WireValue};

/// Where the type byte of a message stands.
pub const TAG_OFFSET: usize = 2;

/// The type bytes of all messages, in the order of the schema.
pub const TAGS: &[u8] = &[
    DebugText::TAG,
    LoginAccepted::TAG,
    LoginRejected::TAG,
    SequencedData::TAG,
    UnsequencedData::TAG,
    ServerHeartbeat::TAG,
    EndOfSession::TAG,
    LoginRequest::TAG,
    ClientHeartbeat::TAG,
    LogoutRequest::TAG,
];

/// Bytes of the longest message of fixed length.
pub const LONGEST: usize = 33;

static LENGTHS: [u16; 256] = {
    let mut lengths = [0; 256];
    lengths[LoginAccepted::TAG as usize] = LoginAccepted::LEN as u16;
    lengths[LoginRejected::TAG as usize] = LoginRejected::LEN as u16;
    lengths[ServerHeartbeat::TAG as usize] = ServerHeartbeat::LEN as u16;
    lengths[EndOfSession::TAG as usize] = EndOfSession::LEN as u16;
    lengths[ClientHeartbeat::TAG as usize] = ClientHeartbeat::LEN as u16;
    lengths[LogoutRequest::TAG as usize] = LogoutRequest::LEN as u16;
    lengths
};

/// The one length that a message of type `tag` may have, or `None` if the type is unknown or its
/// length varies.
#[inline]
pub const fn length_of(tag: u8) -> Option<usize> {
    match LENGTHS[tag as usize] {
        0 => None,
        length => Some(length as usize),
    }
}

/// Any message. Unlisted types are passed on and never refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Message<'a> {
    /// `+` Debug.
    DebugText(DebugText<'a>),
    /// `A` Login Accepted.
    LoginAccepted(LoginAccepted<'a>),
    /// `J` Login Rejected.
    LoginRejected(LoginRejected<'a>),
    /// `S` Sequenced Data.
    SequencedData(SequencedData<'a>),
    /// `U` Unsequenced Data.
    UnsequencedData(UnsequencedData<'a>),
    /// `H` Server Heartbeat.
    ServerHeartbeat(ServerHeartbeat<'a>),
    /// `Z` End of Session.
    EndOfSession(EndOfSession<'a>),
    /// `L` Login Request.
    LoginRequest(LoginRequest<'a>),
    /// `R` Client Heartbeat.
    ClientHeartbeat(ClientHeartbeat<'a>),
    /// `O` Logout Request.
    LogoutRequest(LogoutRequest<'a>),
    /// A message of another type.
    Unknown(Unknown<'a>),
}

impl<'a> Message<'a> {
    /// Looks at the type byte and checks what `wrap` of that type checks.
    #[inline(always)]
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let Some(&tag) = bytes.get(TAG_OFFSET) else {
            return Err(codec::no_tag(TAG_OFFSET, bytes));
        };
        match tag {
            DebugText::TAG => DebugText::wrap(bytes).map(Self::DebugText),
            LoginAccepted::TAG => LoginAccepted::wrap(bytes).map(Self::LoginAccepted),
            LoginRejected::TAG => LoginRejected::wrap(bytes).map(Self::LoginRejected),
            SequencedData::TAG => SequencedData::wrap(bytes).map(Self::SequencedData),
            UnsequencedData::TAG => UnsequencedData::wrap(bytes).map(Self::UnsequencedData),
            ServerHeartbeat::TAG => ServerHeartbeat::wrap(bytes).map(Self::ServerHeartbeat),
            EndOfSession::TAG => EndOfSession::wrap(bytes).map(Self::EndOfSession),
            LoginRequest::TAG => LoginRequest::wrap(bytes).map(Self::LoginRequest),
            ClientHeartbeat::TAG => ClientHeartbeat::wrap(bytes).map(Self::ClientHeartbeat),
            LogoutRequest::TAG => LogoutRequest::wrap(bytes).map(Self::LogoutRequest),
            _ => Ok(Self::Unknown(Unknown(bytes))),
        }
    }

    /// Writes the bytes to the front of `buffer` and returns them. They are made from the fields,
    /// except those of an unknown message, which are copied.
    pub fn encode(self, buffer: &mut [u8]) -> Result<&[u8], EncodeError> {
        match self {
            Self::DebugText(message) => message.fields().encode(buffer),
            Self::LoginAccepted(message) => {
                codec::copy(LoginAccepted::NAME, &message.fields().encode(), buffer)
            }
            Self::LoginRejected(message) => {
                codec::copy(LoginRejected::NAME, &message.fields().encode(), buffer)
            }
            Self::SequencedData(message) => message.fields().encode(buffer),
            Self::UnsequencedData(message) => message.fields().encode(buffer),
            Self::ServerHeartbeat(message) => {
                codec::copy(ServerHeartbeat::NAME, &message.fields().encode(), buffer)
            }
            Self::EndOfSession(message) => {
                codec::copy(EndOfSession::NAME, &message.fields().encode(), buffer)
            }
            Self::LoginRequest(message) => message.fields().encode(buffer),
            Self::ClientHeartbeat(message) => {
                codec::copy(ClientHeartbeat::NAME, &message.fields().encode(), buffer)
            }
            Self::LogoutRequest(message) => {
                codec::copy(LogoutRequest::NAME, &message.fields().encode(), buffer)
            }
            Self::Unknown(message) => codec::copy("Unknown", message.0, buffer),
        }
    }

    /// Type byte.
    #[inline]
    pub fn tag(self) -> u8 {
        match self {
            Self::DebugText(_) => DebugText::TAG,
            Self::LoginAccepted(_) => LoginAccepted::TAG,
            Self::LoginRejected(_) => LoginRejected::TAG,
            Self::SequencedData(_) => SequencedData::TAG,
            Self::UnsequencedData(_) => UnsequencedData::TAG,
            Self::ServerHeartbeat(_) => ServerHeartbeat::TAG,
            Self::EndOfSession(_) => EndOfSession::TAG,
            Self::LoginRequest(_) => LoginRequest::TAG,
            Self::ClientHeartbeat(_) => ClientHeartbeat::TAG,
            Self::LogoutRequest(_) => LogoutRequest::TAG,
            Self::Unknown(message) => message.tag(),
        }
    }

    /// Name in the specification.
    pub fn name(self) -> &'static str {
        match self {
            Self::DebugText(_) => DebugText::NAME,
            Self::LoginAccepted(_) => LoginAccepted::NAME,
            Self::LoginRejected(_) => LoginRejected::NAME,
            Self::SequencedData(_) => SequencedData::NAME,
            Self::UnsequencedData(_) => UnsequencedData::NAME,
            Self::ServerHeartbeat(_) => ServerHeartbeat::NAME,
            Self::EndOfSession(_) => EndOfSession::NAME,
            Self::LoginRequest(_) => LoginRequest::NAME,
            Self::ClientHeartbeat(_) => ClientHeartbeat::NAME,
            Self::LogoutRequest(_) => LogoutRequest::NAME,
            Self::Unknown(_) => "Unknown",
        }
    }

    /// The bytes themselves.
    #[inline]
    pub fn as_bytes(self) -> &'a [u8] {
        match self {
            Self::DebugText(message) => message.as_bytes(),
            Self::LoginAccepted(message) => message.as_bytes(),
            Self::LoginRejected(message) => message.as_bytes(),
            Self::SequencedData(message) => message.as_bytes(),
            Self::UnsequencedData(message) => message.as_bytes(),
            Self::ServerHeartbeat(message) => message.as_bytes(),
            Self::EndOfSession(message) => message.as_bytes(),
            Self::LoginRequest(message) => message.as_bytes(),
            Self::ClientHeartbeat(message) => message.as_bytes(),
            Self::LogoutRequest(message) => message.as_bytes(),
            Self::Unknown(message) => message.0,
        }
    }

    /// Bytes that follow these two, the type byte included; at least 1. `None` for an unknown
    /// message.
    #[inline]
    pub fn packet_length(self) -> Option<u16> {
        match self {
            Self::DebugText(message) => Some(message.packet_length()),
            Self::LoginAccepted(message) => Some(message.packet_length()),
            Self::LoginRejected(message) => Some(message.packet_length()),
            Self::SequencedData(message) => Some(message.packet_length()),
            Self::UnsequencedData(message) => Some(message.packet_length()),
            Self::ServerHeartbeat(message) => Some(message.packet_length()),
            Self::EndOfSession(message) => Some(message.packet_length()),
            Self::LoginRequest(message) => Some(message.packet_length()),
            Self::ClientHeartbeat(message) => Some(message.packet_length()),
            Self::LogoutRequest(message) => Some(message.packet_length()),
            Self::Unknown(_) => None,
        }
    }

    /// Writes one line of text, without an end of line.
    pub fn write_text(self, out: &mut impl fmt::Write) -> fmt::Result {
        Describe::write_text(self, out)
    }

    /// Writes one JSON object.
    pub fn write_json(self, out: &mut impl fmt::Write) -> fmt::Result {
        Describe::write_json(self, out)
    }
}

impl<'a> Describe<'a> for Message<'a> {
    fn type_byte(self) -> Option<u8> {
        Some(self.tag())
    }

    fn type_name(self) -> &'static str {
        match self {
            Self::DebugText(_) => "DebugText",
            Self::LoginAccepted(_) => "LoginAccepted",
            Self::LoginRejected(_) => "LoginRejected",
            Self::SequencedData(_) => "SequencedData",
            Self::UnsequencedData(_) => "UnsequencedData",
            Self::ServerHeartbeat(_) => "ServerHeartbeat",
            Self::EndOfSession(_) => "EndOfSession",
            Self::LoginRequest(_) => "LoginRequest",
            Self::ClientHeartbeat(_) => "ClientHeartbeat",
            Self::LogoutRequest(_) => "LogoutRequest",
            Self::Unknown(_) => "Unknown",
        }
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        match self {
            Self::DebugText(message) => message.for_each_field(visitor),
            Self::LoginAccepted(message) => message.for_each_field(visitor),
            Self::LoginRejected(message) => message.for_each_field(visitor),
            Self::SequencedData(message) => message.for_each_field(visitor),
            Self::UnsequencedData(message) => message.for_each_field(visitor),
            Self::ServerHeartbeat(message) => message.for_each_field(visitor),
            Self::EndOfSession(message) => message.for_each_field(visitor),
            Self::LoginRequest(message) => message.for_each_field(visitor),
            Self::ClientHeartbeat(message) => message.for_each_field(visitor),
            Self::LogoutRequest(message) => message.for_each_field(visitor),
            Self::Unknown(message) => visitor.field("bytes", Value::Bytes(message.0)),
        }
    }
}

/// A message whose type byte is not listed, with all its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unknown<'a>(&'a [u8]);

impl<'a> Unknown<'a> {
    /// Type byte.
    #[inline]
    pub fn tag(self) -> u8 {
        self.0.get(TAG_OFFSET).copied().unwrap_or_default()
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8] {
        self.0
    }
}

/// `+` Debug. Text for users. Either side may send it, and neither side acts on it.
///
/// 3 bytes or more.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct DebugText<'a> {
    fixed: &'a [u8; 3],
    whole: &'a [u8],
}

impl<'a> DebugText<'a> {
    /// Type byte.
    pub const TAG: u8 = b'+';
    /// Bytes before the variable-length last field.
    pub const LEN: usize = 3;
    /// Name in the specification.
    pub const NAME: &'static str = "Debug";

    const SHAPE: Shape = Shape {
        name: Self::NAME,
        tag: Some((2, b'+')),
        length: Self::LEN,
        tail: Some(usize::MAX),
        length_at: Some(0),
    };

    /// Checks lengths and type byte; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match bytes.first_chunk::<3>() {
            Some(fixed) if fixed[2] == Self::TAG && codec::counts_rest(0, bytes) => {
                Ok(Self { fixed, whole: bytes })
            }
            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8] {
        self.whole
    }

    /// Bytes 0..2. Bytes that follow these two, the type byte included; at least 1.
    #[inline]
    pub fn packet_length(self) -> u16 {
        WireValue::from_be_bytes(*codec::field::<0, 2, _>(self.fixed))
    }

    /// From byte 3. The text.
    #[inline]
    pub fn text(self) -> &'a [u8] {
        self.whole.get(Self::LEN..).unwrap_or_default()
    }

    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> DebugTextFields<'a> {
        DebugTextFields { text: self.text() }
    }
}

impl fmt::Debug for DebugText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for DebugText<'a> {
    fn type_byte(self) -> Option<u8> {
        Some(Self::TAG)
    }

    fn type_name(self) -> &'static str {
        "DebugText"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        V::field(visitor, "packet_length", Value::Integer(self.packet_length().into()))?;
        V::field(visitor, "text", Value::Text(self.text()))
    }
}

/// The fields of [`DebugText`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DebugTextFields<'a> {
    /// The text.
    pub text: &'a [u8],
}

impl DebugTextFields<'_> {
    /// Writes the bytes to the front of `buffer` and returns them.
    pub fn encode<'b>(&self, buffer: &'b mut [u8]) -> Result<&'b [u8], EncodeError> {
        let mut bytes = [0; 3];
        bytes[2] = DebugText::TAG;
        codec::join(&DebugText::SHAPE, &bytes, self.text, buffer)
    }
}

/// `A` Login Accepted. The server accepted the login; sequenced data begins.
///
/// 33 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct LoginAccepted<'a>(&'a [u8; 33]);

impl<'a> LoginAccepted<'a> {
    /// Type byte.
    pub const TAG: u8 = b'A';
    /// Bytes in all.
    pub const LEN: usize = 33;
    /// Name in the specification.
    pub const NAME: &'static str = "Login Accepted";

    const SHAPE: Shape = Shape {
        name: Self::NAME,
        tag: Some((2, b'A')),
        length: Self::LEN,
        tail: None,
        length_at: Some(0),
    };

    /// Checks lengths and type byte; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match <&[u8; 33]>::try_from(bytes) {
            Ok(whole) if whole[2] == Self::TAG && codec::counts_rest(0, whole) => Ok(Self(whole)),
            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8; 33] {
        self.0
    }

    /// Bytes 0..2. Bytes that follow these two, the type byte included; at least 1.
    #[inline]
    pub fn packet_length(self) -> u16 {
        WireValue::from_be_bytes(*codec::field::<0, 2, _>(self.0))
    }

    /// Bytes 3..13. Session that was joined; compare without padding.
    #[inline]
    pub fn session(self) -> Alpha<10> {
        WireValue::from_be_bytes(*codec::field::<3, 10, _>(self.0))
    }

    /// Bytes 13..33. Decimal number of the next sequenced data packet, padded on the left.
    #[inline]
    pub fn sequence_number(self) -> Alpha<20> {
        WireValue::from_be_bytes(*codec::field::<13, 20, _>(self.0))
    }

    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> LoginAcceptedFields {
        LoginAcceptedFields { session: self.session(), sequence_number: self.sequence_number() }
    }
}

impl fmt::Debug for LoginAccepted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for LoginAccepted<'a> {
    fn type_byte(self) -> Option<u8> {
        Some(Self::TAG)
    }

    fn type_name(self) -> &'static str {
        "LoginAccepted"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        V::field(visitor, "packet_length", Value::Integer(self.packet_length().into()))?;
        V::field(visitor, "session", Value::Text(codec::field::<3, 10, _>(self.0)))?;
        V::field(visitor, "sequence_number", Value::Text(codec::field::<13, 20, _>(self.0)))
    }
}

/// The fields of [`LoginAccepted`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoginAcceptedFields {
    /// Session that was joined; compare without padding.
    pub session: Alpha<10>,
    /// Decimal number of the next sequenced data packet, padded on the left.
    pub sequence_number: Alpha<20>,
}

impl LoginAcceptedFields {
    /// The bytes on the wire.
    #[inline]
    pub fn encode(&self) -> [u8; 33] {
        let mut bytes = [0; 33];
        bytes[2] = LoginAccepted::TAG;
        codec::put::<0, _, _>(&mut bytes, WireValue::to_be_bytes(31_u16));
        codec::put::<3, _, _>(&mut bytes, WireValue::to_be_bytes(self.session));
        codec::put::<13, _, _>(&mut bytes, WireValue::to_be_bytes(self.sequence_number));
        bytes
    }
}

/// `J` Login Rejected. The server refused the login and closes the connection.
///
/// 4 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct LoginRejected<'a>(&'a [u8; 4]);

impl<'a> LoginRejected<'a> {
    /// Type byte.
    pub const TAG: u8 = b'J';
    /// Bytes in all.
    pub const LEN: usize = 4;
    /// Name in the specification.
    pub const NAME: &'static str = "Login Rejected";

    const SHAPE: Shape = Shape {
        name: Self::NAME,
        tag: Some((2, b'J')),
        length: Self::LEN,
        tail: None,
        length_at: Some(0),
    };

    /// Checks lengths and type byte; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match <&[u8; 4]>::try_from(bytes) {
            Ok(whole) if whole[2] == Self::TAG && codec::counts_rest(0, whole) => Ok(Self(whole)),
            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8; 4] {
        self.0
    }

    /// Bytes 0..2. Bytes that follow these two, the type byte included; at least 1.
    #[inline]
    pub fn packet_length(self) -> u16 {
        WireValue::from_be_bytes(*codec::field::<0, 2, _>(self.0))
    }

    /// Byte 3. Reason.
    #[inline]
    pub fn reject_reason(self) -> RejectReason {
        WireValue::from_be_bytes(*codec::field::<3, 1, _>(self.0))
    }

    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> LoginRejectedFields {
        LoginRejectedFields { reject_reason: self.reject_reason() }
    }
}

impl fmt::Debug for LoginRejected<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for LoginRejected<'a> {
    fn type_byte(self) -> Option<u8> {
        Some(Self::TAG)
    }

    fn type_name(self) -> &'static str {
        "LoginRejected"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        V::field(visitor, "packet_length", Value::Integer(self.packet_length().into()))?;
        V::field(visitor, "reject_reason", self.reject_reason().value())
    }
}

/// The fields of [`LoginRejected`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoginRejectedFields {
    /// Reason.
    pub reject_reason: RejectReason,
}

impl LoginRejectedFields {
    /// The bytes on the wire.
    #[inline]
    pub fn encode(&self) -> [u8; 4] {
        let mut bytes = [0; 4];
        bytes[2] = LoginRejected::TAG;
        codec::put::<0, _, _>(&mut bytes, WireValue::to_be_bytes(2_u16));
        codec::put::<3, _, _>(&mut bytes, WireValue::to_be_bytes(self.reject_reason));
        bytes
    }
}

/// `S` Sequenced Data. One message of the session. It does not contain its number, which is one
/// more than that of the previous packet of this type.
///
/// 3 bytes or more.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SequencedData<'a> {
    fixed: &'a [u8; 3],
    whole: &'a [u8],
}

impl<'a> SequencedData<'a> {
    /// Type byte.
    pub const TAG: u8 = b'S';
    /// Bytes before the variable-length last field.
    pub const LEN: usize = 3;
    /// Name in the specification.
    pub const NAME: &'static str = "Sequenced Data";

    const SHAPE: Shape = Shape {
        name: Self::NAME,
        tag: Some((2, b'S')),
        length: Self::LEN,
        tail: Some(usize::MAX),
        length_at: Some(0),
    };

    /// Checks lengths and type byte; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match bytes.first_chunk::<3>() {
            Some(fixed) if fixed[2] == Self::TAG && codec::counts_rest(0, bytes) => {
                Ok(Self { fixed, whole: bytes })
            }
            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8] {
        self.whole
    }

    /// Bytes 0..2. Bytes that follow these two, the type byte included; at least 1.
    #[inline]
    pub fn packet_length(self) -> u16 {
        WireValue::from_be_bytes(*codec::field::<0, 2, _>(self.fixed))
    }

    /// From byte 3. The message.
    #[inline]
    pub fn message(self) -> &'a [u8] {
        self.whole.get(Self::LEN..).unwrap_or_default()
    }

    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> SequencedDataFields<'a> {
        SequencedDataFields { message: self.message() }
    }
}

impl fmt::Debug for SequencedData<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for SequencedData<'a> {
    fn type_byte(self) -> Option<u8> {
        Some(Self::TAG)
    }

    fn type_name(self) -> &'static str {
        "SequencedData"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        V::field(visitor, "packet_length", Value::Integer(self.packet_length().into()))?;
        V::field(visitor, "message", Value::Bytes(self.message()))
    }
}

/// The fields of [`SequencedData`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SequencedDataFields<'a> {
    /// The message.
    pub message: &'a [u8],
}

impl SequencedDataFields<'_> {
    /// Writes the bytes to the front of `buffer` and returns them.
    pub fn encode<'b>(&self, buffer: &'b mut [u8]) -> Result<&'b [u8], EncodeError> {
        let mut bytes = [0; 3];
        bytes[2] = SequencedData::TAG;
        codec::join(&SequencedData::SHAPE, &bytes, self.message, buffer)
    }
}

/// `U` Unsequenced Data. One message without a number, lost if the connection breaks. The client
/// sends it, and since 4.00 also the server.
///
/// 3 bytes or more.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct UnsequencedData<'a> {
    fixed: &'a [u8; 3],
    whole: &'a [u8],
}

impl<'a> UnsequencedData<'a> {
    /// Type byte.
    pub const TAG: u8 = b'U';
    /// Bytes before the variable-length last field.
    pub const LEN: usize = 3;
    /// Name in the specification.
    pub const NAME: &'static str = "Unsequenced Data";

    const SHAPE: Shape = Shape {
        name: Self::NAME,
        tag: Some((2, b'U')),
        length: Self::LEN,
        tail: Some(usize::MAX),
        length_at: Some(0),
    };

    /// Checks lengths and type byte; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match bytes.first_chunk::<3>() {
            Some(fixed) if fixed[2] == Self::TAG && codec::counts_rest(0, bytes) => {
                Ok(Self { fixed, whole: bytes })
            }
            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8] {
        self.whole
    }

    /// Bytes 0..2. Bytes that follow these two, the type byte included; at least 1.
    #[inline]
    pub fn packet_length(self) -> u16 {
        WireValue::from_be_bytes(*codec::field::<0, 2, _>(self.fixed))
    }

    /// From byte 3. The message.
    #[inline]
    pub fn message(self) -> &'a [u8] {
        self.whole.get(Self::LEN..).unwrap_or_default()
    }

    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> UnsequencedDataFields<'a> {
        UnsequencedDataFields { message: self.message() }
    }
}

impl fmt::Debug for UnsequencedData<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for UnsequencedData<'a> {
    fn type_byte(self) -> Option<u8> {
        Some(Self::TAG)
    }

    fn type_name(self) -> &'static str {
        "UnsequencedData"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        V::field(visitor, "packet_length", Value::Integer(self.packet_length().into()))?;
        V::field(visitor, "message", Value::Bytes(self.message()))
    }
}

/// The fields of [`UnsequencedData`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnsequencedDataFields<'a> {
    /// The message.
    pub message: &'a [u8],
}

impl UnsequencedDataFields<'_> {
    /// Writes the bytes to the front of `buffer` and returns them.
    pub fn encode<'b>(&self, buffer: &'b mut [u8]) -> Result<&'b [u8], EncodeError> {
        let mut bytes = [0; 3];
        bytes[2] = UnsequencedData::TAG;
        codec::join(&UnsequencedData::SHAPE, &bytes, self.message, buffer)
    }
}

/// `H` Server Heartbeat. The server had nothing to send for a second.
///
/// 3 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ServerHeartbeat<'a>(&'a [u8; 3]);

impl<'a> ServerHeartbeat<'a> {
    /// Type byte.
    pub const TAG: u8 = b'H';
    /// Bytes in all.
    pub const LEN: usize = 3;
    /// Name in the specification.
    pub const NAME: &'static str = "Server Heartbeat";

    const SHAPE: Shape = Shape {
        name: Self::NAME,
        tag: Some((2, b'H')),
        length: Self::LEN,
        tail: None,
        length_at: Some(0),
    };

    /// Checks lengths and type byte; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match <&[u8; 3]>::try_from(bytes) {
            Ok(whole) if whole[2] == Self::TAG && codec::counts_rest(0, whole) => Ok(Self(whole)),
            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8; 3] {
        self.0
    }

    /// Bytes 0..2. Bytes that follow these two, the type byte included; at least 1.
    #[inline]
    pub fn packet_length(self) -> u16 {
        WireValue::from_be_bytes(*codec::field::<0, 2, _>(self.0))
    }

    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> ServerHeartbeatFields {
        ServerHeartbeatFields {}
    }
}

impl fmt::Debug for ServerHeartbeat<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for ServerHeartbeat<'a> {
    fn type_byte(self) -> Option<u8> {
        Some(Self::TAG)
    }

    fn type_name(self) -> &'static str {
        "ServerHeartbeat"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        V::field(visitor, "packet_length", Value::Integer(self.packet_length().into()))
    }
}

/// The fields of [`ServerHeartbeat`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ServerHeartbeatFields {}

impl ServerHeartbeatFields {
    /// The bytes on the wire.
    #[inline]
    pub fn encode(&self) -> [u8; 3] {
        let mut bytes = [0; 3];
        bytes[2] = ServerHeartbeat::TAG;
        codec::put::<0, _, _>(&mut bytes, WireValue::to_be_bytes(1_u16));
        bytes
    }
}

/// `Z` End of Session. The session has no more messages; the server closes the connection. A
/// connection that ends without it is broken.
///
/// 3 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct EndOfSession<'a>(&'a [u8; 3]);

impl<'a> EndOfSession<'a> {
    /// Type byte.
    pub const TAG: u8 = b'Z';
    /// Bytes in all.
    pub const LEN: usize = 3;
    /// Name in the specification.
    pub const NAME: &'static str = "End of Session";

    const SHAPE: Shape = Shape {
        name: Self::NAME,
        tag: Some((2, b'Z')),
        length: Self::LEN,
        tail: None,
        length_at: Some(0),
    };

    /// Checks lengths and type byte; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match <&[u8; 3]>::try_from(bytes) {
            Ok(whole) if whole[2] == Self::TAG && codec::counts_rest(0, whole) => Ok(Self(whole)),
            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8; 3] {
        self.0
    }

    /// Bytes 0..2. Bytes that follow these two, the type byte included; at least 1.
    #[inline]
    pub fn packet_length(self) -> u16 {
        WireValue::from_be_bytes(*codec::field::<0, 2, _>(self.0))
    }

    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> EndOfSessionFields {
        EndOfSessionFields {}
    }
}

impl fmt::Debug for EndOfSession<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for EndOfSession<'a> {
    fn type_byte(self) -> Option<u8> {
        Some(Self::TAG)
    }

    fn type_name(self) -> &'static str {
        "EndOfSession"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        V::field(visitor, "packet_length", Value::Integer(self.packet_length().into()))
    }
}

/// The fields of [`EndOfSession`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EndOfSessionFields {}

impl EndOfSessionFields {
    /// The bytes on the wire.
    #[inline]
    pub fn encode(&self) -> [u8; 3] {
        let mut bytes = [0; 3];
        bytes[2] = EndOfSession::TAG;
        codec::put::<0, _, _>(&mut bytes, WireValue::to_be_bytes(1_u16));
        bytes
    }
}

/// `L` Login Request. First packet of the client, within about 30 seconds after it connects.
///
/// 49 bytes or more.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct LoginRequest<'a> {
    fixed: &'a [u8; 49],
    whole: &'a [u8],
}

impl<'a> LoginRequest<'a> {
    /// Type byte.
    pub const TAG: u8 = b'L';
    /// Bytes before the variable-length last field.
    pub const LEN: usize = 49;
    /// Name in the specification.
    pub const NAME: &'static str = "Login Request";

    const SHAPE: Shape = Shape {
        name: Self::NAME,
        tag: Some((2, b'L')),
        length: Self::LEN,
        tail: Some(5),
        length_at: Some(0),
    };

    /// Checks lengths and type byte; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match bytes.first_chunk::<49>() {
            Some(fixed)
                if fixed[2] == Self::TAG
                    && bytes.len() <= Self::LEN + 5
                    && codec::counts_rest(0, bytes) =>
            {
                Ok(Self { fixed, whole: bytes })
            }
            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8] {
        self.whole
    }

    /// Bytes 0..2. Bytes that follow these two, the type byte included; at least 1.
    #[inline]
    pub fn packet_length(self) -> u16 {
        WireValue::from_be_bytes(*codec::field::<0, 2, _>(self.fixed))
    }

    /// Bytes 3..9. Username, padded on the right; case does not matter.
    #[inline]
    pub fn username(self) -> Alpha<6> {
        WireValue::from_be_bytes(*codec::field::<3, 6, _>(self.fixed))
    }

    /// Bytes 9..19. Password, padded on the right; case does not matter.
    #[inline]
    pub fn password(self) -> Alpha<10> {
        WireValue::from_be_bytes(*codec::field::<9, 10, _>(self.fixed))
    }

    /// Bytes 19..29. Session to join; blank is the current one.
    #[inline]
    pub fn requested_session(self) -> Alpha<10> {
        WireValue::from_be_bytes(*codec::field::<19, 10, _>(self.fixed))
    }

    /// Bytes 29..49. Decimal number of the next requested message, padded on the left: 1 starts at
    /// the beginning, 0 at the newest.
    #[inline]
    pub fn requested_sequence_number(self) -> Alpha<20> {
        WireValue::from_be_bytes(*codec::field::<29, 20, _>(self.fixed))
    }

    /// From byte 49. Decimal milliseconds, padded on the left; only in 4.10.
    #[inline]
    pub fn heartbeat_timeout(self) -> &'a [u8] {
        self.whole.get(Self::LEN..).unwrap_or_default()
    }

    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> LoginRequestFields<'a> {
        LoginRequestFields {
            username: self.username(),
            password: self.password(),
            requested_session: self.requested_session(),
            requested_sequence_number: self.requested_sequence_number(),
            heartbeat_timeout: self.heartbeat_timeout(),
        }
    }
}

impl fmt::Debug for LoginRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for LoginRequest<'a> {
    fn type_byte(self) -> Option<u8> {
        Some(Self::TAG)
    }

    fn type_name(self) -> &'static str {
        "LoginRequest"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        V::field(visitor, "packet_length", Value::Integer(self.packet_length().into()))?;
        V::field(visitor, "username", Value::Text(codec::field::<3, 6, _>(self.fixed)))?;
        V::field(visitor, "password", Value::Text(codec::field::<9, 10, _>(self.fixed)))?;
        V::field(visitor, "requested_session", Value::Text(codec::field::<19, 10, _>(self.fixed)))?;
        V::field(
            visitor,
            "requested_sequence_number",
            Value::Text(codec::field::<29, 20, _>(self.fixed)),
        )?;
        V::field(visitor, "heartbeat_timeout", Value::Text(self.heartbeat_timeout()))
    }
}

/// The fields of [`LoginRequest`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoginRequestFields<'a> {
    /// Username, padded on the right; case does not matter.
    pub username: Alpha<6>,
    /// Password, padded on the right; case does not matter.
    pub password: Alpha<10>,
    /// Session to join; blank is the current one.
    pub requested_session: Alpha<10>,
    /// Decimal number of the next requested message, padded on the left: 1 starts at the beginning,
    /// 0 at the newest.
    pub requested_sequence_number: Alpha<20>,
    /// Decimal milliseconds, padded on the left; only in 4.10.
    pub heartbeat_timeout: &'a [u8],
}

impl LoginRequestFields<'_> {
    /// Writes the bytes to the front of `buffer` and returns them.
    pub fn encode<'b>(&self, buffer: &'b mut [u8]) -> Result<&'b [u8], EncodeError> {
        let mut bytes = [0; 49];
        bytes[2] = LoginRequest::TAG;
        codec::put::<3, _, _>(&mut bytes, WireValue::to_be_bytes(self.username));
        codec::put::<9, _, _>(&mut bytes, WireValue::to_be_bytes(self.password));
        codec::put::<19, _, _>(&mut bytes, WireValue::to_be_bytes(self.requested_session));
        codec::put::<29, _, _>(&mut bytes, WireValue::to_be_bytes(self.requested_sequence_number));
        codec::join(&LoginRequest::SHAPE, &bytes, self.heartbeat_timeout, buffer)
    }
}

/// `R` Client Heartbeat. The client had nothing to send for a second.
///
/// 3 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ClientHeartbeat<'a>(&'a [u8; 3]);

impl<'a> ClientHeartbeat<'a> {
    /// Type byte.
    pub const TAG: u8 = b'R';
    /// Bytes in all.
    pub const LEN: usize = 3;
    /// Name in the specification.
    pub const NAME: &'static str = "Client Heartbeat";

    const SHAPE: Shape = Shape {
        name: Self::NAME,
        tag: Some((2, b'R')),
        length: Self::LEN,
        tail: None,
        length_at: Some(0),
    };

    /// Checks lengths and type byte; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match <&[u8; 3]>::try_from(bytes) {
            Ok(whole) if whole[2] == Self::TAG && codec::counts_rest(0, whole) => Ok(Self(whole)),
            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8; 3] {
        self.0
    }

    /// Bytes 0..2. Bytes that follow these two, the type byte included; at least 1.
    #[inline]
    pub fn packet_length(self) -> u16 {
        WireValue::from_be_bytes(*codec::field::<0, 2, _>(self.0))
    }

    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> ClientHeartbeatFields {
        ClientHeartbeatFields {}
    }
}

impl fmt::Debug for ClientHeartbeat<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for ClientHeartbeat<'a> {
    fn type_byte(self) -> Option<u8> {
        Some(Self::TAG)
    }

    fn type_name(self) -> &'static str {
        "ClientHeartbeat"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        V::field(visitor, "packet_length", Value::Integer(self.packet_length().into()))
    }
}

/// The fields of [`ClientHeartbeat`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClientHeartbeatFields {}

impl ClientHeartbeatFields {
    /// The bytes on the wire.
    #[inline]
    pub fn encode(&self) -> [u8; 3] {
        let mut bytes = [0; 3];
        bytes[2] = ClientHeartbeat::TAG;
        codec::put::<0, _, _>(&mut bytes, WireValue::to_be_bytes(1_u16));
        bytes
    }
}

/// `O` Logout Request. The client has finished; the server closes the connection.
///
/// 3 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct LogoutRequest<'a>(&'a [u8; 3]);

impl<'a> LogoutRequest<'a> {
    /// Type byte.
    pub const TAG: u8 = b'O';
    /// Bytes in all.
    pub const LEN: usize = 3;
    /// Name in the specification.
    pub const NAME: &'static str = "Logout Request";

    const SHAPE: Shape = Shape {
        name: Self::NAME,
        tag: Some((2, b'O')),
        length: Self::LEN,
        tail: None,
        length_at: Some(0),
    };

    /// Checks lengths and type byte; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match <&[u8; 3]>::try_from(bytes) {
            Ok(whole) if whole[2] == Self::TAG && codec::counts_rest(0, whole) => Ok(Self(whole)),
            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8; 3] {
        self.0
    }

    /// Bytes 0..2. Bytes that follow these two, the type byte included; at least 1.
    #[inline]
    pub fn packet_length(self) -> u16 {
        WireValue::from_be_bytes(*codec::field::<0, 2, _>(self.0))
    }

    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> LogoutRequestFields {
        LogoutRequestFields {}
    }
}

impl fmt::Debug for LogoutRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for LogoutRequest<'a> {
    fn type_byte(self) -> Option<u8> {
        Some(Self::TAG)
    }

    fn type_name(self) -> &'static str {
        "LogoutRequest"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        V::field(visitor, "packet_length", Value::Integer(self.packet_length().into()))
    }
}

/// The fields of [`LogoutRequest`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogoutRequestFields {}

impl LogoutRequestFields {
    /// The bytes on the wire.
    #[inline]
    pub fn encode(&self) -> [u8; 3] {
        let mut bytes = [0; 3];
        bytes[2] = LogoutRequest::TAG;
        codec::put::<0, _, _>(&mut bytes, WireValue::to_be_bytes(1_u16));
        bytes
    }
}

/// `G` GLIMPSE End of Snapshot. Last message of a snapshot, in a sequenced data packet among
/// messages of ITCH, but without their head.
///
/// 21 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct GlimpseEndOfSnapshot<'a>(&'a [u8; 21]);

impl<'a> GlimpseEndOfSnapshot<'a> {
    /// Type byte.
    pub const TAG: u8 = b'G';
    /// Bytes in all.
    pub const LEN: usize = 21;
    /// Name in the specification.
    pub const NAME: &'static str = "GLIMPSE End of Snapshot";

    const SHAPE: Shape = Shape {
        name: Self::NAME,
        tag: Some((0, b'G')),
        length: Self::LEN,
        tail: None,
        length_at: None,
    };

    /// Checks length and type byte; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match <&[u8; 21]>::try_from(bytes) {
            Ok(whole) if whole[0] == Self::TAG => Ok(Self(whole)),
            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }

    /// Wraps the first bytes of `bytes`; also returns what follows them.
    #[inline]
    pub fn wrap_first(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        match bytes.split_first_chunk::<21>() {
            Some((whole, rest)) if whole[0] == Self::TAG => Ok((Self(whole), rest)),
            _ => Err(codec::refuse_first(&Self::SHAPE, bytes)),
        }
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8; 21] {
        self.0
    }

    /// Bytes 1..21. Decimal number of the first ITCH message to apply after the snapshot.
    #[inline]
    pub fn sequence_number(self) -> Alpha<20> {
        WireValue::from_be_bytes(*codec::field::<1, 20, _>(self.0))
    }

    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> GlimpseEndOfSnapshotFields {
        GlimpseEndOfSnapshotFields { sequence_number: self.sequence_number() }
    }
}

impl fmt::Debug for GlimpseEndOfSnapshot<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for GlimpseEndOfSnapshot<'a> {
    fn type_byte(self) -> Option<u8> {
        Some(Self::TAG)
    }

    fn type_name(self) -> &'static str {
        "GlimpseEndOfSnapshot"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        V::field(visitor, "sequence_number", Value::Text(codec::field::<1, 20, _>(self.0)))
    }
}

/// The fields of [`GlimpseEndOfSnapshot`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GlimpseEndOfSnapshotFields {
    /// Decimal number of the first ITCH message to apply after the snapshot.
    pub sequence_number: Alpha<20>,
}

impl GlimpseEndOfSnapshotFields {
    /// The bytes on the wire.
    #[inline]
    pub fn encode(&self) -> [u8; 21] {
        let mut bytes = [0; 21];
        bytes[0] = GlimpseEndOfSnapshot::TAG;
        codec::put::<1, _, _>(&mut bytes, WireValue::to_be_bytes(self.sequence_number));
        bytes
    }
}

/// Reason why the server refused a login; the server then closes the connection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RejectReason {
    /// `A`: Username or password is not accepted.
    NotAuthorised,
    /// `S`: The requested session is not available.
    SessionNotAvailable,
    /// An unlisted code, passed on unchanged.
    Unknown(UnknownCode),
}

impl RejectReason {
    /// The listed codes.
    pub const KNOWN: [Self; 2] = [Self::NotAuthorised, Self::SessionNotAvailable];

    /// The byte on the wire.
    #[inline]
    pub const fn code(self) -> u8 {
        match self {
            Self::NotAuthorised => b'A',
            Self::SessionNotAvailable => b'S',
            Self::Unknown(code) => code.get(),
        }
    }

    /// Name of the variant.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotAuthorised => "NotAuthorised",
            Self::SessionNotAvailable => "SessionNotAvailable",
            Self::Unknown(_) => "Unknown",
        }
    }

    fn value(self) -> Value<'static> {
        Value::Code(self.code(), self.name())
    }
}

impl WireValue<1> for RejectReason {
    #[inline]
    fn from_be_bytes([code]: [u8; 1]) -> Self {
        match code {
            b'A' => Self::NotAuthorised,
            b'S' => Self::SessionNotAvailable,
            _ => Self::Unknown(codec::unknown_code(code)),
        }
    }

    #[inline]
    fn to_be_bytes(self) -> [u8; 1] {
        [self.code()]
    }
}
