//! For any bytes, decoding and encoding lose nothing, and both renderings stay readable.

use nanotape_testkit::{
    generated::{parcels, toy},
    strategies::{any_bytes, any_message},
};
use nanotape_types::WireValue;
use nanotape_wire::{
    codec::Layout,
    iex_common, iex_deep, iex_deep_plus, iex_tops, iextp, itch50, moldudp64, pitch, pitch_tcp,
    render::{Describe, FieldVisitor, Value},
    soupbintcp,
};
use proptest::prelude::*;

struct Names(Vec<&'static str>);

impl FieldVisitor<'_> for Names {
    type Error = ();

    fn field(&mut self, name: &'static str, _: Value<'_>) -> Result<(), ()> {
        self.0.push(name);
        Ok(())
    }
}

/// Text is one line of printable ASCII; JSON is an object with type, name and every field.
fn renders<'a>(described: impl Describe<'a>) {
    let mut text = String::new();
    described.write_text(&mut text).unwrap();
    assert!(text.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{text:?}");

    let mut json = String::new();
    described.write_json(&mut json).unwrap();
    let object: serde_json::Value = serde_json::from_str(&json).expect(&json);
    let object = object.as_object().expect("an object");
    let mut names = Names(vec!["name"]);
    let has_type = described.type_byte().is_some() || described.type_number().is_some();
    names.0.extend(has_type.then_some("type"));
    described.for_each_field(&mut names).unwrap();
    assert_eq!(object.len(), names.0.len(), "{json}");
    assert!(names.0.iter().all(|name| object.contains_key(*name)), "{json}");
}

macro_rules! messages_survive {
    ($test:ident, $module:path) => {
        #[test]
        fn $test() {
            use $module as module;
            let drawn: Vec<u8> = module::LAYOUTS.iter().map(|l| l.shape.tag.unwrap().1).collect();
            assert_eq!(drawn, module::TAGS);
            proptest!(|(bytes in any_message(module::LAYOUTS, module::TAG_OFFSET))| {
                let message = module::Message::decode(&bytes).expect("it is valid");
                prop_assert_eq!(message.as_bytes(), &*bytes);
                let mut buffer = vec![0; bytes.len()];
                prop_assert_eq!(message.encode(&mut buffer), Ok(&*bytes));
                let mut too_small = vec![0; bytes.len() - 1];
                prop_assert!(message.encode(&mut too_small).is_err());
                let is_listed = module::TAGS.contains(&message.tag());
                let is_unknown = matches!(message, module::Message::Unknown(_));
                prop_assert_eq!(is_listed, !is_unknown);
                renders(message);
            });
        }
    };
}

/// What was encoded once is encoded to the same bytes again; so is a message without unknown bytes.
macro_rules! growing_messages_survive {
    ($test:ident, $module:path, $layouts:expr) => {
        #[test]
        fn $test() {
            use $module as module;
            proptest!(|(bytes in any_message($layouts, module::TAG_OFFSET))| {
                let message = module::Message::decode(&bytes).expect("it is valid");
                prop_assert_eq!(message.as_bytes(), &*bytes);
                let mut buffer = vec![0; bytes.len()];
                let encoded = message.encode(&mut buffer).expect("room");
                let again = module::Message::decode(encoded).expect("it was encoded");
                let mut second = vec![0; encoded.len()];
                prop_assert_eq!(again.encode(&mut second), Ok(encoded));
                if encoded.len() == bytes.len() {
                    prop_assert_eq!(encoded, &*bytes);
                }
                let mut too_small = vec![0; encoded.len() - 1];
                prop_assert!(message.encode(&mut too_small).is_err());
                let is_listed = module::TAGS.contains(&message.tag());
                let is_unknown = matches!(message, module::Message::Unknown(_));
                prop_assert_eq!(is_listed, !is_unknown);
                renders(message);
                renders(again);
            });
        }
    };
}

/// The messages without groups.
static PARCELS: [Layout; 2] = [parcels::LAYOUTS[0], parcels::LAYOUTS[2]];

growing_messages_survive!(parcels_messages_survive, parcels, &PARCELS);
growing_messages_survive!(iex_common_messages_survive, iex_common, iex_common::LAYOUTS);
growing_messages_survive!(iex_deep_messages_survive, iex_deep, iex_deep::LAYOUTS);
growing_messages_survive!(iex_deep_plus_messages_survive, iex_deep_plus, iex_deep_plus::LAYOUTS);
growing_messages_survive!(iex_tops_messages_survive, iex_tops, iex_tops::LAYOUTS);
growing_messages_survive!(pitch_messages_survive, pitch, pitch::LAYOUTS);
growing_messages_survive!(pitch_tcp_messages_survive, pitch_tcp, pitch_tcp::LAYOUTS);
messages_survive!(itch50_messages_survive, itch50);
messages_survive!(soupbintcp_messages_survive, soupbintcp);
messages_survive!(toy_messages_survive, toy);

proptest! {
    #[test]
    fn structures_survive(
        header in any_bytes::<moldudp64::DownstreamHeader<'_>>(),
        request in any_bytes::<moldudp64::RequestPacket<'_>>(),
        block in any_bytes::<moldudp64::MessageBlockHeader<'_>>(),
        segment in any_bytes::<iextp::SegmentHeader<'_>>(),
        end in any_bytes::<soupbintcp::GlimpseEndOfSnapshot<'_>>(),
        envelope in any_bytes::<toy::Envelope<'_>>(),
        unit in any_bytes::<pitch::SequencedUnitHeader<'_>>(),
    ) {
        macro_rules! check {
            ($($value:expr => $View:path),*) => {$({
                use $View as View;
                let fields = View::wrap(&$value).expect("it has the layout").fields();
                let bytes = fields.encode();
                prop_assert_eq!(&bytes[..], &$value);
                let view = View::wrap(&bytes).expect("it was encoded");
                prop_assert_eq!(view.fields(), fields);
                renders(view);
            })*};
        }
        check!(
            header => moldudp64::DownstreamHeader,
            request => moldudp64::RequestPacket,
            block => moldudp64::MessageBlockHeader,
            block => iextp::MessageBlockHeader,
            segment => iextp::SegmentHeader,
            end => soupbintcp::GlimpseEndOfSnapshot,
            envelope => toy::Envelope,
            unit => pitch::SequencedUnitHeader
        );
    }

    #[test]
    fn fields_survive(drawn in any_bytes::<itch50::AddOrderMpid<'_>>()) {
        let fields = itch50::AddOrderMpid::wrap(&drawn).unwrap().fields();
        let bytes = fields.encode();
        prop_assert_eq!(&bytes[..], &drawn);
        let view = itch50::AddOrderMpid::wrap(&bytes).unwrap();
        prop_assert_eq!(view.fields(), fields);
        prop_assert_eq!(view.buy_sell_indicator(), fields.buy_sell_indicator);
    }

    #[test]
    fn any_bytes_decode_or_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        for_each_protocol(&bytes);
    }

    #[test]
    fn a_listed_type_has_one_length(tag in any::<u8>(), length in 1usize..60) {
        let mut bytes = vec![b'x'; length];
        bytes[0] = tag;
        let fits = itch50::length_of(tag).is_none_or(|only| only == length);
        prop_assert_eq!(itch50::Message::decode(&bytes).is_ok(), fits);
    }
}

fn for_each_protocol(bytes: &[u8]) {
    macro_rules! check {
        ($($module:ident),*) => {$(
            if let Ok(message) = $module::Message::decode(bytes) {
                renders(message);
            }
        )*};
    }
    check!(itch50, soupbintcp, toy, parcels, iex_deep, iex_deep_plus, iex_tops, pitch, pitch_tcp);
}

/// For all 256 bytes: the byte is preserved, and it is unknown exactly if it is not listed.
macro_rules! every_code_is_carried {
    ($($Enumeration:ident),*) => {
        #[test]
        fn every_code_is_carried() {
            $({
                use itch50::$Enumeration as Code;
                let mut unknown = 0;
                for byte in 0..=u8::MAX {
                    let code = Code::from_be_bytes([byte]);
                    assert_eq!(code.code(), byte);
                    assert_eq!(code.to_be_bytes(), [byte]);
                    assert_eq!(Code::KNOWN.contains(&code), !matches!(code, Code::Unknown(_)));
                    unknown += usize::from(code.name() == "Unknown");
                }
                assert_eq!(unknown, 256 - Code::KNOWN.len());
            })*
        }
    };
}

every_code_is_carried!(
    YesNo,
    EventCode,
    MarketCategory,
    FinancialStatus,
    IssueClassification,
    Authenticity,
    IpoFlag,
    LuldTier,
    TradingState,
    RegShoAction,
    MarketMakerMode,
    ParticipantState,
    BreachedLevel,
    ReleaseQualifier,
    MarketCode,
    HaltAction,
    BuySellIndicator,
    CrossType,
    ImbalanceDirection,
    PriceVariation,
    InterestFlag
);

proptest! {
    #[test]
    fn what_is_coming_is_what_every_message_that_changes_a_book_is_about(
        message in any_message(itch50::LAYOUTS, itch50::TAG_OFFSET)
    ) {
        use itch50::Message;
        let Ok(decoded) = Message::decode(&message) else { return Ok(()) };
        let (order, side) = match decoded {
            Message::AddOrder(m) => (m.order_reference_number(), Some(m.buy_sell_indicator())),
            Message::AddOrderMpid(m) => (m.order_reference_number(), Some(m.buy_sell_indicator())),
            Message::OrderExecuted(m) => (m.order_reference_number(), None),
            Message::OrderExecutedWithPrice(m) => (m.order_reference_number(), None),
            Message::OrderCancel(m) => (m.order_reference_number(), None),
            Message::OrderDelete(m) => (m.order_reference_number(), None),
            Message::OrderReplace(m) => (m.original_order_reference_number(), None),
            _ => return Ok(()),
        };
        let locate = decoded.stock_locate().unwrap();
        let coming = itch50::coming(&message).unwrap();
        prop_assert_eq!((coming.stock_locate, coming.reference), (locate, order));
        prop_assert_eq!(coming.is_new, side.is_some());
        if let Some(side) = side.and_then(|side| side.side()) {
            prop_assert_eq!(coming.side_if_new, side);
        }
    }
}
