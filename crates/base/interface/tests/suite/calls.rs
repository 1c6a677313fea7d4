//! Calls as values, for both versions: drawn at random, made, recorded, and encoded naively.

use nanotape_interface::{
    Encoded, Message, UtcNanos,
    types::{
        Alpha, MatchNumber, Maybe, Mpid, NanosSinceMidnight, OrderReferenceNumber, Price4, Price8,
        SecondsSinceMidnight, Shares, StockLocate, Symbol, TotalShares, TrackingNumber,
    },
};
use proptest::{collection::vec, prelude::*};

use crate::{
    generated::{greetings_1, greetings_2},
    naive::Bytes,
};

/// A call of version 2, which has more of each than version 1.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Call {
    Met { locate: u16, price: u32, count: u64, shares: u32, place: [u8; 13], balance: i16 },
    Said { who: [u8; 6], loudness: i32, time: u64, reply_to: u16, text: Vec<u8> },
    Left,
    Everything(Box<Everything>),
    Unknown { type_id: u16, payload: Vec<u8> },
}

/// The arguments of the method with every type of field.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Everything {
    pub(crate) numbers: [u64; 8],
    pub(crate) signed: i64,
    pub(crate) stock: [u8; 8],
    pub(crate) note: [u8; 34],
    pub(crate) rest: Vec<u8>,
}

impl Call {
    /// A random call. Texts have no blanks at their ends, as `Alpha` shows them.
    pub(crate) fn any() -> impl Strategy<Value = Self> {
        let met = any::<(u16, u32, u64, u32, [u8; 13], i16)>();
        let met = met.prop_map(|(locate, price, count, shares, place, balance)| Self::Met {
            locate,
            price,
            count,
            shares,
            place,
            balance,
        });
        let said = (
            any::<[u8; 6]>(),
            any::<i32>(),
            0..1_u64 << 48,
            any::<u16>(),
            vec(any::<u8>(), 0..=40),
        );
        let said = said.prop_map(|(who, loudness, time, reply_to, text)| Self::Said {
            who,
            loudness,
            time,
            reply_to,
            text,
        });
        let note = (any::<[u8; 17]>(), any::<[u8; 17]>());
        let all =
            (any::<[u64; 8]>(), any::<i64>(), any::<[u8; 8]>(), note, vec(any::<u8>(), 0..200));
        let all = all.prop_map(|(numbers, signed, stock, (first, second), rest)| {
            let mut note = [0; 34];
            note[..17].copy_from_slice(&first);
            note[17..].copy_from_slice(&second);
            Self::Everything(Box::new(Everything { numbers, signed, stock, note, rest }))
        });
        let unknown = (0x200_u16.., vec(any::<u8>(), 0..60));
        let unknown = unknown.prop_map(|(type_id, payload)| Self::Unknown { type_id, payload });
        prop_oneof![met, said, Just(Self::Left), all, unknown]
    }

    /// Makes the call of version 2.
    pub(crate) fn make<H: greetings_2::Greetings>(&self, to: &mut H) -> H::Output {
        match self {
            Self::Met { locate, price, count, shares, place, balance } => to.met(
                StockLocate::new(*locate),
                Price4::new(*price),
                *count,
                Shares::new(*shares),
                Alpha::new(*place),
                *balance,
            ),
            Self::Said { who, loudness, time, reply_to, text } => {
                let time = NanosSinceMidnight::new(*time).expect("it has 48 bits");
                to.said(Alpha::new(*who), *loudness, time, *reply_to, text)
            }
            Self::Left => to.left(),
            Self::Everything(all) => {
                let Everything { numbers, signed, stock, note, rest } = &**all;
                let [a, b, c, d, e, f, g, h] = *numbers;
                to.everything(
                    a as u8,
                    b as u16,
                    c as u32,
                    d,
                    *signed as i8,
                    *signed as i16,
                    *signed as i32,
                    *signed,
                    TrackingNumber::new(e as u16),
                    OrderReferenceNumber::new(f),
                    Maybe::of(OrderReferenceNumber::new(g)),
                    MatchNumber::new(h),
                    TotalShares::new(a),
                    Maybe::of(Price4::new(b as u32)),
                    Price8::new(c),
                    SecondsSinceMidnight::new(d as u32),
                    Symbol::new(*stock),
                    Mpid::new(*stock.first_chunk().expect("it has eight bytes")),
                    Alpha::new(*note),
                    rest,
                )
            }
            Self::Unknown { type_id, payload } => to.unknown(&message(*type_id, payload)),
        }
    }

    /// Makes the call of version 1, without the fields of version 2.
    pub(crate) fn make_first<H: greetings_1::Greetings>(&self, to: &mut H) -> Option<H::Output> {
        match self {
            Self::Met { locate, price, count, .. } => {
                Some(to.met(StockLocate::new(*locate), Price4::new(*price), *count))
            }
            Self::Said { who, loudness, text, .. } => {
                Some(to.said(Alpha::new(*who), *loudness, text))
            }
            _ => None,
        }
    }

    /// The type and the bytes of the message, as the schema of version 2 says.
    pub(crate) fn bytes(&self) -> (u16, Vec<u8>) {
        let bytes = Bytes::default();
        match self {
            Self::Met { locate, price, count, shares, place, balance } => {
                let bytes = bytes.at(0, locate.to_le_bytes()).at(2, price.to_le_bytes());
                let bytes = bytes.at(6, count.to_le_bytes()).at(14, shares.to_le_bytes());
                let bytes = bytes.at(18, place).at(31, balance.to_le_bytes()).text(33, 3, "abc");
                (0x101, bytes.0)
            }
            Self::Said { who, loudness, time, reply_to, text } => {
                let bytes = bytes.at(0, who).at(6, 24_u16.to_le_bytes());
                let bytes = bytes.at(8, loudness.to_le_bytes()).at(12, [0; 4]);
                let bytes = bytes.at(16, &time.to_le_bytes()[..6]).at(22, reply_to.to_le_bytes());
                (0x102, bytes.at(24, text).0)
            }
            Self::Left => (0x103, bytes.0),
            Self::Everything(all) => {
                let Everything { numbers, signed, stock, note, rest } = &**all;
                let [a, b, c, d, e, f, g, h] = numbers.map(u64::to_le_bytes);
                let signed = signed.to_le_bytes();
                let bytes = bytes.at(0, &a[..1]).at(1, &b[..2]).at(3, &c[..4]).at(7, d);
                let bytes = bytes.at(15, &signed[..1]).at(16, &signed[..2]).at(18, &signed[..4]);
                let bytes = bytes.at(22, signed).at(30, &e[..2]).at(32, f).at(40, g).at(48, h);
                let bytes = bytes.at(56, a).at(64, &b[..4]).at(68, c).at(76, &d[..4]);
                let bytes = bytes.at(80, stock).at(88, &stock[..4]).at(92, note);
                (0x104, bytes.at(126, 128_u16.to_le_bytes()).at(128, rest).0)
            }
            Self::Unknown { type_id, payload } => (*type_id, payload.clone()),
        }
    }

    /// The same of version 1.
    pub(crate) fn first_bytes(&self) -> Option<(u16, Vec<u8>)> {
        let bytes = Bytes::default();
        match self {
            Self::Met { locate, price, count, .. } => {
                let bytes = bytes.at(0, locate.to_le_bytes()).at(2, price.to_le_bytes());
                Some((0x101, bytes.at(6, count.to_le_bytes()).0))
            }
            Self::Said { who, loudness, text, .. } => {
                let bytes = bytes.at(0, who).at(6, 16_u16.to_le_bytes());
                Some((0x102, bytes.at(8, loudness.to_le_bytes()).at(12, [0; 4]).at(16, text).0))
            }
            _ => None,
        }
    }
}

/// A message without a stream.
pub(crate) fn message(type_id: u16, payload: &[u8]) -> Message<'_> {
    Message { sequence: 9, type_id, ts: None, payload }
}

/// The message that `call` writes.
pub(crate) fn encoded(call: impl FnOnce(&mut Encoded<'_>)) -> (u16, Vec<u8>) {
    let mut buffer = [[0xEE; 8]; 64];
    let mut encoded = Encoded::new(&mut buffer);
    call(&mut encoded);
    (encoded.type_id(), encoded.payload().to_vec())
}

/// The message of version 2 of a call.
pub(crate) fn written(call: &Call) -> (u16, Vec<u8>) {
    encoded(|sink| {
        let mut writer = greetings_2::GreetingsWriter::new(sink, UtcNanos::new(0));
        assert_eq!(call.make(&mut writer), Ok(0));
    })
}

/// Records the calls of version 2.
pub(crate) struct Recorded;

impl greetings_2::Greetings for Recorded {
    type Output = Call;

    fn met(
        &mut self,
        stock_locate: StockLocate,
        price: Price4,
        count: u64,
        shares: Shares,
        place: Alpha<13>,
        balance: i16,
    ) -> Call {
        let (locate, price) = (stock_locate.get(), price.get());
        let (shares, place) = (shares.get(), *place.as_bytes());
        Call::Met { locate, price, count, shares, place, balance }
    }

    fn said(
        &mut self,
        who: Alpha<6>,
        loudness: i32,
        time: NanosSinceMidnight,
        reply_to: u16,
        text: &[u8],
    ) -> Call {
        let who = *who.as_bytes();
        Call::Said { who, loudness, time: time.get(), reply_to, text: text.to_vec() }
    }

    fn left(&mut self) -> Call {
        Call::Left
    }

    fn everything(
        &mut self,
        one: u8,
        two: u16,
        four: u32,
        eight: u64,
        signed_one: i8,
        signed_two: i16,
        signed_four: i32,
        signed_eight: i64,
        tracking_number: TrackingNumber,
        order: OrderReferenceNumber,
        maybe_order: Maybe<OrderReferenceNumber>,
        match_number: MatchNumber,
        total_shares: TotalShares,
        maybe_price: Maybe<Price4>,
        index_level: Price8,
        seconds: SecondsSinceMidnight,
        stock: Symbol,
        mpid: Mpid,
        note: Alpha<34>,
        rest: &[u8],
    ) -> Call {
        assert_eq!(one, total_shares.get() as u8);
        assert_eq!(signed_one, signed_two as i8);
        assert_eq!(signed_two, signed_four as i16);
        assert_eq!(signed_four, signed_eight as i32);
        assert_eq!(two, maybe_price.get().map_or(0, Price4::get) as u16);
        assert_eq!(four, index_level.get() as u32);
        assert_eq!(seconds.get(), eight as u32);
        assert_eq!(*mpid.as_bytes(), stock.as_bytes()[..4]);
        let numbers = [
            total_shares.get(),
            two.into(),
            index_level.get(),
            eight,
            tracking_number.get().into(),
            order.get(),
            maybe_order.get().map_or(0, OrderReferenceNumber::get),
            match_number.get(),
        ];
        let (stock, note) = (stock.as_bytes(), *note.as_bytes());
        let rest = rest.to_vec();
        Call::Everything(Box::new(Everything { numbers, signed: signed_eight, stock, note, rest }))
    }

    fn unknown(&mut self, message: &Message<'_>) -> Call {
        Call::Unknown { type_id: message.type_id, payload: message.payload.to_vec() }
    }
}

impl Call {
    /// The call with the bits that its fields have.
    pub(crate) fn within_fields(mut self) -> Self {
        if let Self::Everything(all) = &mut self {
            all.numbers[1] &= 0xFFFF;
            all.numbers[4] &= 0xFFFF;
        }
        self
    }
}

proptest! {
    #[test]
    fn a_call_is_the_bytes_that_the_schema_says(call in Call::any()) {
        let call = call.within_fields();
        prop_assert_eq!(written(&call), call.bytes());
    }

    #[test]
    fn a_dispatched_message_is_the_call_that_was_made(call in Call::any()) {
        let call = call.within_fields();
        let (type_id, payload) = written(&call);
        let again = greetings_2::dispatch(&message(type_id, &payload), &mut Recorded);
        prop_assert_eq!(again, Ok(call));
    }
}
