//! A message of any feed, for dissectors: its type, its fields, and what every feed has of it.

use core::fmt;

use nanotape_types::Symbol;
use nanotape_wire::{
    iex_deep, iex_deep_plus, iex_tops, itch50, pitch,
    render::{Describe, FieldVisitor, TypeNumber},
};

use crate::Feed;

/// Bytes for a [template](AnyMessage::template): longer than every message, with the fields that
/// were appended to it.
pub const TEMPLATE_BYTES: usize = 128;

/// A message of a feed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnyMessage<'a> {
    /// Of Nasdaq TotalView-ITCH.
    Itch(itch50::Message<'a>),
    /// Of IEX DEEP.
    IexDeep(iex_deep::Message<'a>),
    /// Of IEX DEEP+.
    IexDeepPlus(iex_deep_plus::Message<'a>),
    /// Of IEX TOPS.
    IexTops(iex_tops::Message<'a>),
    /// Of Cboe multicast PITCH.
    Pitch(pitch::Message<'a>),
}

/// Calls an expression with the message of whichever feed it is.
macro_rules! of_any {
    ($any:expr, $message:ident => $value:expr) => {
        match $any {
            AnyMessage::Itch($message) => $value,
            AnyMessage::IexDeep($message) => $value,
            AnyMessage::IexDeepPlus($message) => $value,
            AnyMessage::IexTops($message) => $value,
            AnyMessage::Pitch($message) => $value,
        }
    };
}

impl<'a> AnyMessage<'a> {
    /// The message of a feed; `None` for one that is too short for its type.
    #[inline]
    pub fn decode(feed: Feed, bytes: &'a [u8]) -> Option<Self> {
        match feed {
            Feed::Itch => itch50::Message::decode(bytes).map(Self::Itch).ok(),
            Feed::IexDeep => iex_deep::Message::decode(bytes).map(Self::IexDeep).ok(),
            Feed::IexDeepPlus => iex_deep_plus::Message::decode(bytes).map(Self::IexDeepPlus).ok(),
            Feed::IexTops => iex_tops::Message::decode(bytes).map(Self::IexTops).ok(),
            Feed::Pitch => pitch::Message::decode(bytes).map(Self::Pitch).ok(),
        }
    }

    /// A message of this type with all its fields, and no value that stands for an absent one.
    /// `None` if the feed does not have the type.
    pub fn template(feed: Feed, tag: u8, bytes: &'a mut [u8; TEMPLATE_BYTES]) -> Option<Self> {
        if !feed.types().contains(&tag) {
            return None;
        }
        *bytes = [1; TEMPLATE_BYTES];
        let length = match feed {
            Feed::Itch => itch50::length_of(tag).unwrap_or(TEMPLATE_BYTES),
            _ => TEMPLATE_BYTES,
        };
        if feed == Feed::Pitch {
            bytes[0] = TEMPLATE_BYTES as u8;
        }
        bytes[feed.type_offset()] = tag;
        Self::decode(feed, bytes.get(..length)?)
    }

    /// The feed.
    pub fn feed(self) -> Feed {
        match self {
            Self::Itch(_) => Feed::Itch,
            Self::IexDeep(_) => Feed::IexDeep,
            Self::IexDeepPlus(_) => Feed::IexDeepPlus,
            Self::IexTops(_) => Feed::IexTops,
            Self::Pitch(_) => Feed::Pitch,
        }
    }

    /// The type.
    #[inline]
    pub fn tag(self) -> u8 {
        of_any!(self, message => message.tag())
    }

    /// The type as text.
    pub fn type_text(self) -> TypeText {
        self.feed().type_text(self.tag())
    }

    /// The symbol, if the message has it.
    pub fn symbol(self) -> Option<Symbol> {
        match self {
            Self::Itch(message) => message.stock(),
            Self::IexDeep(message) => message.symbol(),
            Self::IexDeepPlus(message) => message.symbol(),
            Self::IexTops(message) => message.symbol(),
            Self::Pitch(message) => match message {
                pitch::Message::AddOrderShort(m) => Some(pitch::symbol_of(m.symbol())),
                pitch::Message::AddOrderLong(m) => Some(pitch::symbol_of(m.symbol())),
                pitch::Message::AddOrderExpanded(m) => Some(m.symbol()),
                pitch::Message::TradeShort(m) => Some(pitch::symbol_of(m.symbol())),
                pitch::Message::TradeLong(m) => Some(pitch::symbol_of(m.symbol())),
                pitch::Message::TradeExpanded(m) => Some(m.symbol()),
                pitch::Message::TradingStatus(m) => Some(m.symbol()),
                pitch::Message::AuctionUpdate(m) => Some(m.symbol()),
                pitch::Message::AuctionSummary(m) => Some(m.symbol()),
                pitch::Message::RetailPriceImprovement(m) => Some(m.symbol()),
                _ => None,
            },
        }
    }
}

impl<'a> Describe<'a> for AnyMessage<'a> {
    fn type_byte(self) -> Option<u8> {
        of_any!(self, message => message.type_byte())
    }

    fn type_number(self) -> Option<TypeNumber> {
        of_any!(self, message => message.type_number())
    }

    fn type_name(self) -> &'static str {
        of_any!(self, message => message.type_name())
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        of_any!(self, message => message.for_each_field(visitor))
    }
}

impl Feed {
    /// A short name of the protocol, for messages.
    pub fn protocol(self) -> &'static str {
        match self {
            Self::Itch => "ITCH 5.0",
            Self::IexDeep => "IEX DEEP 1.0",
            Self::IexDeepPlus => "IEX DEEP+ 1.0",
            Self::IexTops => "IEX TOPS 1.6",
            Self::Pitch => "Cboe PITCH 2",
        }
    }

    /// All types of its messages, in the order of the specification.
    pub fn types(self) -> &'static [u8] {
        match self {
            Self::Itch => itch50::TAGS,
            Self::IexDeep => iex_deep::TAGS,
            Self::IexDeepPlus => iex_deep_plus::TAGS,
            Self::IexTops => iex_tops::TAGS,
            Self::Pitch => pitch::TAGS,
        }
    }

    /// Whether types are numbers, and not letters.
    pub fn has_numbered_types(self) -> bool {
        self == Self::Pitch
    }

    /// A type as text, as the specification writes it: `A`, `0x21`.
    pub fn type_text(self, tag: u8) -> TypeText {
        TypeText { tag, is_number: self.has_numbered_types() }
    }

    fn type_offset(self) -> usize {
        match self {
            Self::Itch => itch50::TAG_OFFSET,
            Self::IexDeep => iex_deep::TAG_OFFSET,
            Self::IexDeepPlus => iex_deep_plus::TAG_OFFSET,
            Self::IexTops => iex_tops::TAG_OFFSET,
            Self::Pitch => pitch::TAG_OFFSET,
        }
    }
}

/// The type of a message for people.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TypeText {
    tag: u8,
    is_number: bool,
}

impl fmt::Display for TypeText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_number {
            return TypeNumber { value: self.tag.into(), width: 1 }.fmt(f);
        }
        self.tag.escape_ascii().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use core::convert::Infallible;

    use nanotape_wire::render::Value;

    use super::*;

    #[derive(Default)]
    struct Fields(Vec<(&'static str, bool)>);

    impl FieldVisitor<'_> for Fields {
        type Error = Infallible;

        fn field(&mut self, name: &'static str, value: Value<'_>) -> Result<(), Infallible> {
            self.0.push((name, value == Value::Absent));
            Ok(())
        }
    }

    #[test]
    fn each_type_has_a_template_with_all_its_fields() {
        for feed in Feed::ALL {
            assert!(feed.types().len() > 10);
            for &tag in feed.types() {
                let mut bytes = [0; TEMPLATE_BYTES];
                let message = AnyMessage::template(feed, tag, &mut bytes).unwrap();
                assert_eq!((message.feed(), message.tag()), (feed, tag));
                let mut fields = Fields::default();
                let Ok(()) = message.for_each_field(&mut fields);
                let absent: Vec<_> = fields.0.iter().filter(|(_, absent)| *absent).collect();
                assert!(absent.is_empty(), "{feed:?} {}: {absent:?}", message.type_text());
                let has_symbol =
                    fields.0.iter().any(|(name, _)| matches!(*name, "symbol" | "stock"));
                assert_eq!(message.symbol().is_some(), has_symbol, "{feed:?} {tag:#x}");
            }
            let unknown = AnyMessage::template(feed, b'z', &mut [0; TEMPLATE_BYTES]).is_some();
            assert!(!unknown);
        }
    }

    #[test]
    fn a_message_of_any_feed_prints_as_that_of_its_protocol() {
        let time = [6, 0x20, 0xfc, 0x85, 0, 0];
        let message = AnyMessage::decode(Feed::Pitch, &time).unwrap();
        let mut text = String::new();
        message.write_text(&mut text).unwrap();
        assert_eq!(text, "0x20 Time length=6 time=09:31:40 epoch_time=-");
        assert_eq!((message.type_text().to_string(), message.symbol()), ("0x20".to_owned(), None));
        let start = b"SO\x36\x58\xde\xb7\x45\xfa\x17\x00";
        let message = AnyMessage::decode(Feed::IexDeepPlus, start).unwrap();
        let mut json = String::new();
        message.write_json(&mut json).unwrap();
        assert!(
            json.starts_with(r#"{"type":"S","name":"SystemEvent","system_event":"O""#),
            "{json}"
        );
        assert_eq!(Feed::IexDeep.type_text(b'8').to_string(), "8");
        assert_eq!(AnyMessage::decode(Feed::IexDeepPlus, b"SO").map(AnyMessage::tag), None);
        assert_eq!(AnyMessage::decode(Feed::Pitch, &[]).map(AnyMessage::tag), None);
    }
}
