//! Toy protocol: views, encoders and codes.
//!
//! Written by `cargo xtask gen` from `schema/testing/toy.toml`: edit that, not this.
//! Covers version 1.

use core::fmt;

use nanotape_types::{
    Alpha, MatchNumber, Maybe, Mpid, NanosSinceMidnight, OrderReferenceNumber, Price4, Price8,
    SecondsSinceMidnight, Shares, StockLocate, Symbol, TotalShares, TrackingNumber, WireValue,
};
use nanotape_wire::{
    DecodeError, EncodeError,
    codec::{self, Shape, UnknownCode},
    render::{Describe, FieldVisitor, Value},
};

/// Where the type byte of a message stands.
pub const TAG_OFFSET: usize = 0;

/// The type bytes of all messages, in the order of the schema.
pub const TAGS: &[u8] = &[EveryWidth::TAG, HeadOnly::TAG, Note::TAG];

/// Bytes of the longest message of fixed length.
pub const LONGEST: usize = 118;

static LENGTHS: [u16; 256] = {
    let mut lengths = [0; 256];
    lengths[EveryWidth::TAG as usize] = EveryWidth::LEN as u16;
    lengths[HeadOnly::TAG as usize] = HeadOnly::LEN as u16;
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
    /// `w` Every Width.
    EveryWidth(EveryWidth<'a>),
    /// `'` Head Only.
    HeadOnly(HeadOnly<'a>),
    /// `n` Note.
    Note(Note<'a>),
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
            EveryWidth::TAG => EveryWidth::wrap(bytes).map(Self::EveryWidth),
            HeadOnly::TAG => HeadOnly::wrap(bytes).map(Self::HeadOnly),
            Note::TAG => Note::wrap(bytes).map(Self::Note),
            _ => Ok(Self::Unknown(Unknown(bytes))),
        }
    }

    /// Writes the bytes to the front of `buffer` and returns them. They are made from the fields,
    /// except those of an unknown message, which are copied.
    pub fn encode(self, buffer: &mut [u8]) -> Result<&[u8], EncodeError> {
        match self {
            Self::EveryWidth(message) => {
                codec::copy(EveryWidth::NAME, &message.fields().encode(), buffer)
            }
            Self::HeadOnly(message) => {
                codec::copy(HeadOnly::NAME, &message.fields().encode(), buffer)
            }
            Self::Note(message) => message.fields().encode(buffer),
            Self::Unknown(message) => codec::copy("Unknown", message.0, buffer),
        }
    }

    /// Type byte.
    #[inline]
    pub fn tag(self) -> u8 {
        match self {
            Self::EveryWidth(_) => EveryWidth::TAG,
            Self::HeadOnly(_) => HeadOnly::TAG,
            Self::Note(_) => Note::TAG,
            Self::Unknown(message) => message.tag(),
        }
    }

    /// Name in the specification.
    pub fn name(self) -> &'static str {
        match self {
            Self::EveryWidth(_) => EveryWidth::NAME,
            Self::HeadOnly(_) => HeadOnly::NAME,
            Self::Note(_) => Note::NAME,
            Self::Unknown(_) => "Unknown",
        }
    }

    /// The bytes themselves.
    #[inline]
    pub fn as_bytes(self) -> &'a [u8] {
        match self {
            Self::EveryWidth(message) => message.as_bytes(),
            Self::HeadOnly(message) => message.as_bytes(),
            Self::Note(message) => message.as_bytes(),
            Self::Unknown(message) => message.0,
        }
    }

    /// The stock. `None` for an unknown message.
    #[inline]
    pub fn stock_locate(self) -> Option<StockLocate> {
        match self {
            Self::EveryWidth(message) => Some(message.stock_locate()),
            Self::HeadOnly(message) => Some(message.stock_locate()),
            Self::Note(message) => Some(message.stock_locate()),
            Self::Unknown(_) => None,
        }
    }

    /// When. `None` for an unknown message.
    #[inline]
    pub fn timestamp(self) -> Option<NanosSinceMidnight> {
        match self {
            Self::EveryWidth(message) => Some(message.timestamp()),
            Self::HeadOnly(message) => Some(message.timestamp()),
            Self::Note(message) => Some(message.timestamp()),
            Self::Unknown(_) => None,
        }
    }

    /// The field `stock`, of a message that has one.
    #[inline]
    pub fn stock(self) -> Option<Symbol> {
        match self {
            Self::EveryWidth(message) => Some(message.stock()),
            Self::Note(message) => Some(message.stock()),
            _ => None,
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
            Self::EveryWidth(_) => "EveryWidth",
            Self::HeadOnly(_) => "HeadOnly",
            Self::Note(_) => "Note",
            Self::Unknown(_) => "Unknown",
        }
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        match self {
            Self::EveryWidth(message) => message.for_each_field(visitor),
            Self::HeadOnly(message) => message.for_each_field(visitor),
            Self::Note(message) => message.for_each_field(visitor),
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

/// `w` Every Width. All types of fixed width.
///
/// 118 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct EveryWidth<'a>(&'a [u8; 118]);

impl<'a> EveryWidth<'a> {
    /// Type byte.
    pub const TAG: u8 = b'w';
    /// Bytes in all.
    pub const LEN: usize = 118;
    /// Name in the specification.
    pub const NAME: &'static str = "Every Width";

    const SHAPE: Shape = Shape {
        name: Self::NAME,
        tag: Some((0, b'w')),
        length: Self::LEN,
        tail: None,
        length_at: None,
    };

    /// Checks length and type byte; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match <&[u8; 118]>::try_from(bytes) {
            Ok(whole) if whole[0] == Self::TAG => Ok(Self(whole)),
            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8; 118] {
        self.0
    }

    /// Bytes 1..3. The stock.
    #[inline]
    pub fn stock_locate(self) -> StockLocate {
        WireValue::from_be_bytes(*codec::field::<1, 2, _>(self.0))
    }

    /// Bytes 3..9. When.
    #[inline]
    pub fn timestamp(self) -> NanosSinceMidnight {
        WireValue::from_be_bytes(*codec::field::<3, 6, _>(self.0))
    }

    /// Byte 9. One byte.
    #[inline]
    pub fn one(self) -> u8 {
        WireValue::from_be_bytes(*codec::field::<9, 1, _>(self.0))
    }

    /// Bytes 10..12. Two bytes.
    #[inline]
    pub fn two(self) -> u16 {
        WireValue::from_be_bytes(*codec::field::<10, 2, _>(self.0))
    }

    /// Bytes 12..16. Four bytes.
    #[inline]
    pub fn four(self) -> u32 {
        WireValue::from_be_bytes(*codec::field::<12, 4, _>(self.0))
    }

    /// Bytes 16..24. Eight bytes.
    #[inline]
    pub fn eight(self) -> u64 {
        WireValue::from_be_bytes(*codec::field::<16, 8, _>(self.0))
    }

    /// Bytes 24..26. A number.
    #[inline]
    pub fn tracking_number(self) -> TrackingNumber {
        WireValue::from_be_bytes(*codec::field::<24, 2, _>(self.0))
    }

    /// Bytes 26..34. An order.
    #[inline]
    pub fn order_reference_number(self) -> OrderReferenceNumber {
        WireValue::from_be_bytes(*codec::field::<26, 8, _>(self.0))
    }

    /// Bytes 34..42. An order or none.
    #[inline]
    pub fn maybe_order(self) -> Maybe<OrderReferenceNumber> {
        WireValue::from_be_bytes(*codec::field::<34, 8, _>(self.0))
    }

    /// Bytes 42..50. A match.
    #[inline]
    pub fn match_number(self) -> MatchNumber {
        WireValue::from_be_bytes(*codec::field::<42, 8, _>(self.0))
    }

    /// Bytes 50..54. Shares.
    #[inline]
    pub fn shares(self) -> Shares {
        WireValue::from_be_bytes(*codec::field::<50, 4, _>(self.0))
    }

    /// Bytes 54..62. Many shares.
    #[inline]
    pub fn total_shares(self) -> TotalShares {
        WireValue::from_be_bytes(*codec::field::<54, 8, _>(self.0))
    }

    /// Bytes 62..66. A price.
    #[inline]
    pub fn price(self) -> Price4 {
        WireValue::from_be_bytes(*codec::field::<62, 4, _>(self.0))
    }

    /// Bytes 66..70. A price or none.
    #[inline]
    pub fn maybe_price(self) -> Maybe<Price4> {
        WireValue::from_be_bytes(*codec::field::<66, 4, _>(self.0))
    }

    /// Bytes 70..78. A price with eight decimals.
    #[inline]
    pub fn index_level(self) -> Price8 {
        WireValue::from_be_bytes(*codec::field::<70, 8, _>(self.0))
    }

    /// Bytes 78..82. A time.
    #[inline]
    pub fn seconds(self) -> SecondsSinceMidnight {
        WireValue::from_be_bytes(*codec::field::<78, 4, _>(self.0))
    }

    /// Bytes 82..86. A time or none.
    #[inline]
    pub fn maybe_seconds(self) -> Maybe<SecondsSinceMidnight> {
        WireValue::from_be_bytes(*codec::field::<82, 4, _>(self.0))
    }

    /// Bytes 86..94. A symbol.
    #[inline]
    pub fn stock(self) -> Symbol {
        WireValue::from_be_bytes(*codec::field::<86, 8, _>(self.0))
    }

    /// Bytes 94..98. A participant.
    #[inline]
    pub fn mpid(self) -> Mpid {
        WireValue::from_be_bytes(*codec::field::<94, 4, _>(self.0))
    }

    /// Bytes 98..115. Some text.
    #[inline]
    pub fn note(self) -> Alpha<17> {
        WireValue::from_be_bytes(*codec::field::<98, 17, _>(self.0))
    }

    /// Bytes 115..117. A code of two characters. Codes: Mood in the document.
    #[inline]
    pub fn mood(self) -> Alpha<2> {
        WireValue::from_be_bytes(*codec::field::<115, 2, _>(self.0))
    }

    /// Byte 117. A code of one.
    #[inline]
    pub fn colour(self) -> Colour {
        WireValue::from_be_bytes(*codec::field::<117, 1, _>(self.0))
    }

    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> EveryWidthFields {
        EveryWidthFields {
            stock_locate: self.stock_locate(),
            timestamp: self.timestamp(),
            one: self.one(),
            two: self.two(),
            four: self.four(),
            eight: self.eight(),
            tracking_number: self.tracking_number(),
            order_reference_number: self.order_reference_number(),
            maybe_order: self.maybe_order(),
            match_number: self.match_number(),
            shares: self.shares(),
            total_shares: self.total_shares(),
            price: self.price(),
            maybe_price: self.maybe_price(),
            index_level: self.index_level(),
            seconds: self.seconds(),
            maybe_seconds: self.maybe_seconds(),
            stock: self.stock(),
            mpid: self.mpid(),
            note: self.note(),
            mood: self.mood(),
            colour: self.colour(),
        }
    }
}

impl fmt::Debug for EveryWidth<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for EveryWidth<'a> {
    fn type_byte(self) -> Option<u8> {
        Some(Self::TAG)
    }

    fn type_name(self) -> &'static str {
        "EveryWidth"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        V::field(visitor, "stock_locate", Value::Integer(self.stock_locate().get().into()))?;
        V::field(visitor, "timestamp", Value::NanosSinceMidnight(self.timestamp()))?;
        V::field(visitor, "one", Value::Integer(self.one().into()))?;
        V::field(visitor, "two", Value::Integer(self.two().into()))?;
        V::field(visitor, "four", Value::Integer(self.four().into()))?;
        V::field(visitor, "eight", Value::Integer(self.eight()))?;
        V::field(visitor, "tracking_number", Value::Integer(self.tracking_number().get().into()))?;
        V::field(
            visitor,
            "order_reference_number",
            Value::Integer(self.order_reference_number().get()),
        )?;
        V::field(
            visitor,
            "maybe_order",
            self.maybe_order().map(|n| Value::Integer(n.get())).unwrap_or(Value::Absent),
        )?;
        V::field(visitor, "match_number", Value::Integer(self.match_number().get()))?;
        V::field(visitor, "shares", Value::Integer(self.shares().get().into()))?;
        V::field(visitor, "total_shares", Value::Integer(self.total_shares().get()))?;
        V::field(visitor, "price", Value::Price4(self.price()))?;
        V::field(
            visitor,
            "maybe_price",
            self.maybe_price().map(Value::Price4).unwrap_or(Value::Absent),
        )?;
        V::field(visitor, "index_level", Value::Price8(self.index_level()))?;
        V::field(visitor, "seconds", Value::SecondsSinceMidnight(self.seconds()))?;
        V::field(
            visitor,
            "maybe_seconds",
            self.maybe_seconds().map(Value::SecondsSinceMidnight).unwrap_or(Value::Absent),
        )?;
        V::field(visitor, "stock", Value::Text(codec::field::<86, 8, _>(self.0)))?;
        V::field(visitor, "mpid", Value::Text(codec::field::<94, 4, _>(self.0)))?;
        V::field(visitor, "note", Value::Text(codec::field::<98, 17, _>(self.0)))?;
        V::field(visitor, "mood", Value::Text(codec::field::<115, 2, _>(self.0)))?;
        V::field(visitor, "colour", self.colour().value())
    }
}

/// The fields of [`EveryWidth`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EveryWidthFields {
    /// The stock.
    pub stock_locate: StockLocate,
    /// When.
    pub timestamp: NanosSinceMidnight,
    /// One byte.
    pub one: u8,
    /// Two bytes.
    pub two: u16,
    /// Four bytes.
    pub four: u32,
    /// Eight bytes.
    pub eight: u64,
    /// A number.
    pub tracking_number: TrackingNumber,
    /// An order.
    pub order_reference_number: OrderReferenceNumber,
    /// An order or none.
    pub maybe_order: Maybe<OrderReferenceNumber>,
    /// A match.
    pub match_number: MatchNumber,
    /// Shares.
    pub shares: Shares,
    /// Many shares.
    pub total_shares: TotalShares,
    /// A price.
    pub price: Price4,
    /// A price or none.
    pub maybe_price: Maybe<Price4>,
    /// A price with eight decimals.
    pub index_level: Price8,
    /// A time.
    pub seconds: SecondsSinceMidnight,
    /// A time or none.
    pub maybe_seconds: Maybe<SecondsSinceMidnight>,
    /// A symbol.
    pub stock: Symbol,
    /// A participant.
    pub mpid: Mpid,
    /// Some text.
    pub note: Alpha<17>,
    /// A code of two characters. Codes: Mood in the document.
    pub mood: Alpha<2>,
    /// A code of one.
    pub colour: Colour,
}

impl EveryWidthFields {
    /// The bytes on the wire.
    #[inline]
    pub fn encode(&self) -> [u8; 118] {
        let mut bytes = [0; 118];
        bytes[0] = EveryWidth::TAG;
        codec::put::<1, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock_locate));
        codec::put::<3, _, _>(&mut bytes, WireValue::to_be_bytes(self.timestamp));
        codec::put::<9, _, _>(&mut bytes, WireValue::to_be_bytes(self.one));
        codec::put::<10, _, _>(&mut bytes, WireValue::to_be_bytes(self.two));
        codec::put::<12, _, _>(&mut bytes, WireValue::to_be_bytes(self.four));
        codec::put::<16, _, _>(&mut bytes, WireValue::to_be_bytes(self.eight));
        codec::put::<24, _, _>(&mut bytes, WireValue::to_be_bytes(self.tracking_number));
        codec::put::<26, _, _>(&mut bytes, WireValue::to_be_bytes(self.order_reference_number));
        codec::put::<34, _, _>(&mut bytes, WireValue::to_be_bytes(self.maybe_order));
        codec::put::<42, _, _>(&mut bytes, WireValue::to_be_bytes(self.match_number));
        codec::put::<50, _, _>(&mut bytes, WireValue::to_be_bytes(self.shares));
        codec::put::<54, _, _>(&mut bytes, WireValue::to_be_bytes(self.total_shares));
        codec::put::<62, _, _>(&mut bytes, WireValue::to_be_bytes(self.price));
        codec::put::<66, _, _>(&mut bytes, WireValue::to_be_bytes(self.maybe_price));
        codec::put::<70, _, _>(&mut bytes, WireValue::to_be_bytes(self.index_level));
        codec::put::<78, _, _>(&mut bytes, WireValue::to_be_bytes(self.seconds));
        codec::put::<82, _, _>(&mut bytes, WireValue::to_be_bytes(self.maybe_seconds));
        codec::put::<86, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock));
        codec::put::<94, _, _>(&mut bytes, WireValue::to_be_bytes(self.mpid));
        codec::put::<98, _, _>(&mut bytes, WireValue::to_be_bytes(self.note));
        codec::put::<115, _, _>(&mut bytes, WireValue::to_be_bytes(self.mood));
        codec::put::<117, _, _>(&mut bytes, WireValue::to_be_bytes(self.colour));
        bytes
    }
}

/// `'` Head Only. Nothing but the head, and a tag that must be escaped in source text.
///
/// 9 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct HeadOnly<'a>(&'a [u8; 9]);

impl<'a> HeadOnly<'a> {
    /// Type byte.
    pub const TAG: u8 = b'\'';
    /// Bytes in all.
    pub const LEN: usize = 9;
    /// Name in the specification.
    pub const NAME: &'static str = "Head Only";

    const SHAPE: Shape = Shape {
        name: Self::NAME,
        tag: Some((0, b'\'')),
        length: Self::LEN,
        tail: None,
        length_at: None,
    };

    /// Checks length and type byte; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match <&[u8; 9]>::try_from(bytes) {
            Ok(whole) if whole[0] == Self::TAG => Ok(Self(whole)),
            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8; 9] {
        self.0
    }

    /// Bytes 1..3. The stock.
    #[inline]
    pub fn stock_locate(self) -> StockLocate {
        WireValue::from_be_bytes(*codec::field::<1, 2, _>(self.0))
    }

    /// Bytes 3..9. When.
    #[inline]
    pub fn timestamp(self) -> NanosSinceMidnight {
        WireValue::from_be_bytes(*codec::field::<3, 6, _>(self.0))
    }

    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> HeadOnlyFields {
        HeadOnlyFields { stock_locate: self.stock_locate(), timestamp: self.timestamp() }
    }
}

impl fmt::Debug for HeadOnly<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for HeadOnly<'a> {
    fn type_byte(self) -> Option<u8> {
        Some(Self::TAG)
    }

    fn type_name(self) -> &'static str {
        "HeadOnly"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        V::field(visitor, "stock_locate", Value::Integer(self.stock_locate().get().into()))?;
        V::field(visitor, "timestamp", Value::NanosSinceMidnight(self.timestamp()))
    }
}

/// The fields of [`HeadOnly`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeadOnlyFields {
    /// The stock.
    pub stock_locate: StockLocate,
    /// When.
    pub timestamp: NanosSinceMidnight,
}

impl HeadOnlyFields {
    /// The bytes on the wire.
    #[inline]
    pub fn encode(&self) -> [u8; 9] {
        let mut bytes = [0; 9];
        bytes[0] = HeadOnly::TAG;
        codec::put::<1, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock_locate));
        codec::put::<3, _, _>(&mut bytes, WireValue::to_be_bytes(self.timestamp));
        bytes
    }
}

/// `n` Note. Text of any length up to a limit, for one stock.
///
/// 19 bytes or more.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Note<'a> {
    fixed: &'a [u8; 19],
    whole: &'a [u8],
}

impl<'a> Note<'a> {
    /// Type byte.
    pub const TAG: u8 = b'n';
    /// Bytes before the variable-length last field.
    pub const LEN: usize = 19;
    /// Name in the specification.
    pub const NAME: &'static str = "Note";

    const SHAPE: Shape = Shape {
        name: Self::NAME,
        tag: Some((0, b'n')),
        length: Self::LEN,
        tail: Some(12),
        length_at: Some(17),
    };

    /// Checks lengths and type byte; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match bytes.first_chunk::<19>() {
            Some(fixed)
                if fixed[0] == Self::TAG
                    && bytes.len() <= Self::LEN + 12
                    && codec::counts_rest(17, bytes) =>
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

    /// Bytes 1..3. The stock.
    #[inline]
    pub fn stock_locate(self) -> StockLocate {
        WireValue::from_be_bytes(*codec::field::<1, 2, _>(self.fixed))
    }

    /// Bytes 3..9. When.
    #[inline]
    pub fn timestamp(self) -> NanosSinceMidnight {
        WireValue::from_be_bytes(*codec::field::<3, 6, _>(self.fixed))
    }

    /// Bytes 9..17. A symbol.
    #[inline]
    pub fn stock(self) -> Symbol {
        WireValue::from_be_bytes(*codec::field::<9, 8, _>(self.fixed))
    }

    /// Bytes 17..19. Bytes of the text.
    #[inline]
    pub fn text_length(self) -> u16 {
        WireValue::from_be_bytes(*codec::field::<17, 2, _>(self.fixed))
    }

    /// From byte 19. The text.
    #[inline]
    pub fn text(self) -> &'a [u8] {
        self.whole.get(Self::LEN..).unwrap_or_default()
    }

    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> NoteFields<'a> {
        NoteFields {
            stock_locate: self.stock_locate(),
            timestamp: self.timestamp(),
            stock: self.stock(),
            text: self.text(),
        }
    }
}

impl fmt::Debug for Note<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for Note<'a> {
    fn type_byte(self) -> Option<u8> {
        Some(Self::TAG)
    }

    fn type_name(self) -> &'static str {
        "Note"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        V::field(visitor, "stock_locate", Value::Integer(self.stock_locate().get().into()))?;
        V::field(visitor, "timestamp", Value::NanosSinceMidnight(self.timestamp()))?;
        V::field(visitor, "stock", Value::Text(codec::field::<9, 8, _>(self.fixed)))?;
        V::field(visitor, "text_length", Value::Integer(self.text_length().into()))?;
        V::field(visitor, "text", Value::Text(self.text()))
    }
}

/// The fields of [`Note`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoteFields<'a> {
    /// The stock.
    pub stock_locate: StockLocate,
    /// When.
    pub timestamp: NanosSinceMidnight,
    /// A symbol.
    pub stock: Symbol,
    /// The text.
    pub text: &'a [u8],
}

impl NoteFields<'_> {
    /// Writes the bytes to the front of `buffer` and returns them.
    pub fn encode<'b>(&self, buffer: &'b mut [u8]) -> Result<&'b [u8], EncodeError> {
        let mut bytes = [0; 19];
        bytes[0] = Note::TAG;
        codec::put::<1, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock_locate));
        codec::put::<3, _, _>(&mut bytes, WireValue::to_be_bytes(self.timestamp));
        codec::put::<9, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock));
        codec::join(&Note::SHAPE, &bytes, self.text, buffer)
    }
}

/// Envelope. Stands before the messages of a packet.
///
/// 3 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Envelope<'a>(&'a [u8; 3]);

impl<'a> Envelope<'a> {
    /// Bytes in all.
    pub const LEN: usize = 3;
    /// Name in the specification.
    pub const NAME: &'static str = "Envelope";

    const SHAPE: Shape =
        Shape { name: Self::NAME, tag: None, length: Self::LEN, tail: None, length_at: None };

    /// Checks the length; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match <&[u8; 3]>::try_from(bytes) {
            Ok(whole) => Ok(Self(whole)),
            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }

    /// Wraps the first bytes of `bytes`; also returns what follows them.
    #[inline]
    pub fn wrap_first(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        match bytes.split_first_chunk::<3>() {
            Some((whole, rest)) => Ok((Self(whole), rest)),
            _ => Err(codec::refuse_first(&Self::SHAPE, bytes)),
        }
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8; 3] {
        self.0
    }

    /// Bytes 0..2. Messages.
    #[inline]
    pub fn count(self) -> u16 {
        WireValue::from_be_bytes(*codec::field::<0, 2, _>(self.0))
    }

    /// Byte 2. Colour of the envelope.
    #[inline]
    pub fn colour(self) -> Colour {
        WireValue::from_be_bytes(*codec::field::<2, 1, _>(self.0))
    }

    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> EnvelopeFields {
        EnvelopeFields { count: self.count(), colour: self.colour() }
    }
}

impl fmt::Debug for Envelope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for Envelope<'a> {
    fn type_byte(self) -> Option<u8> {
        None
    }

    fn type_name(self) -> &'static str {
        "Envelope"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        V::field(visitor, "count", Value::Integer(self.count().into()))?;
        V::field(visitor, "colour", self.colour().value())
    }
}

/// The fields of [`Envelope`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EnvelopeFields {
    /// Messages.
    pub count: u16,
    /// Colour of the envelope.
    pub colour: Colour,
}

impl EnvelopeFields {
    /// The bytes on the wire.
    #[inline]
    pub fn encode(&self) -> [u8; 3] {
        let mut bytes = [0; 3];
        codec::put::<0, _, _>(&mut bytes, WireValue::to_be_bytes(self.count));
        codec::put::<2, _, _>(&mut bytes, WireValue::to_be_bytes(self.colour));
        bytes
    }
}

/// Colour of the light.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Colour {
    /// `R`: Stop.
    Red,
    /// `G`: Go.
    Green,
    /// ` `: No light.
    Off,
    /// An unlisted code, passed on unchanged.
    Unknown(UnknownCode),
}

impl Colour {
    /// The listed codes.
    pub const KNOWN: [Self; 3] = [Self::Red, Self::Green, Self::Off];

    /// The byte on the wire.
    #[inline]
    pub const fn code(self) -> u8 {
        match self {
            Self::Red => b'R',
            Self::Green => b'G',
            Self::Off => b' ',
            Self::Unknown(code) => code.get(),
        }
    }

    /// Name of the variant.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Red => "Red",
            Self::Green => "Green",
            Self::Off => "Off",
            Self::Unknown(_) => "Unknown",
        }
    }

    fn value(self) -> Value<'static> {
        Value::Code(self.code(), self.name())
    }
}

impl WireValue<1> for Colour {
    #[inline]
    fn from_be_bytes([code]: [u8; 1]) -> Self {
        match code {
            b'R' => Self::Red,
            b'G' => Self::Green,
            b' ' => Self::Off,
            _ => Self::Unknown(codec::unknown_code(code)),
        }
    }

    #[inline]
    fn to_be_bytes(self) -> [u8; 1] {
        [self.code()]
    }
}
