//! Two versions of an interface: each reads what the other writes.

use nanotape_interface::{
    Message, UtcNanos,
    types::{Alpha, Price4, StockLocate},
};
use proptest::prelude::*;

use crate::{
    calls::{Call, Recorded, encoded, message, written},
    generated::{greetings_1, greetings_2},
};

/// Records the calls of version 1, with the defaults of version 2.
struct First;

impl greetings_1::Greetings for First {
    type Output = Call;

    fn met(&mut self, stock_locate: StockLocate, price: Price4, count: u64) -> Call {
        let (locate, price) = (stock_locate.get(), price.get());
        Call::Met { locate, price, count, shares: 100, place: *b"here         ", balance: -7 }
    }

    fn said(&mut self, who: Alpha<6>, loudness: i32, text: &[u8]) -> Call {
        let (who, text) = (*who.as_bytes(), text.to_vec());
        Call::Said { who, loudness, time: 0, reply_to: 0xFFFF, text }
    }

    fn unknown(&mut self, message: &Message<'_>) -> Call {
        Call::Unknown { type_id: message.type_id, payload: message.payload.to_vec() }
    }
}

/// The call as version 1 knows it: fields of version 2 have their defaults.
fn defaulted(call: &Call) -> Option<Call> {
    call.make_first(&mut First)
}

fn first_writer(call: &Call) -> Option<(u16, Vec<u8>)> {
    call.make_first(&mut First)?;
    Some(encoded(|sink| {
        let mut writer = greetings_1::GreetingsWriter::new(sink, UtcNanos::new(0));
        assert_eq!(call.make_first(&mut writer), Some(Ok(0)));
    }))
}

proptest! {
    #[test]
    fn a_message_of_an_earlier_version_has_the_defaults(call in Call::any()) {
        if let Some((type_id, payload)) = first_writer(&call) {
            prop_assert_eq!(Some((type_id, payload.clone())), call.first_bytes());
            let read = greetings_2::dispatch(&message(type_id, &payload), &mut Recorded);
            prop_assert_eq!(read.ok(), defaulted(&call));
        }
    }

    #[test]
    fn a_message_of_a_later_version_has_the_fields_that_are_known(call in Call::any()) {
        let (type_id, payload) = written(&call);
        let read = greetings_1::dispatch(&message(type_id, &payload), &mut First);
        match defaulted(&call) {
            Some(known) => prop_assert_eq!(read, Ok(known)),
            None => prop_assert_eq!(read, Ok(Call::Unknown { type_id, payload })),
        }
    }

    /// Version 1 hands on a method of version 2, and version 2 reads it.
    #[test]
    fn an_unknown_message_is_handed_on_byte_for_byte(call in Call::any()) {
        let call = call.within_fields();
        if defaulted(&call).is_none() {
            let (type_id, payload) = written(&call);
            let passed = encoded(|sink| {
                let mut writer = greetings_1::GreetingsWriter::new(sink, UtcNanos::new(0));
                let done = greetings_1::dispatch(&message(type_id, &payload), &mut writer);
                assert_eq!(done, Ok(Ok(0)));
            });
            prop_assert_eq!(&passed, &(type_id, payload));
            let read = greetings_2::dispatch(&message(passed.0, &passed.1), &mut Recorded);
            prop_assert_eq!(read, Ok(call));
        }
    }
}

/// Version 2 of the interface added fields, and version 3 more: a message of each is read.
#[test]
fn each_version_in_between_is_read() {
    let call = Call::Met {
        locate: 1,
        price: 2,
        count: 3,
        shares: 4,
        place: *b"there        ",
        balance: 5,
    };
    let (type_id, payload) = call.bytes();
    let read = |length: usize| {
        greetings_2::dispatch(&message(type_id, &payload[..length]), &mut Recorded).ok()
    };
    let Call::Met { locate, price, count, shares, place, .. } = call.clone() else { panic!() };
    let second = Call::Met { locate, price, count, shares, place, balance: -7 };
    for length in 0..payload.len() {
        let expected = match length {
            14 => defaulted(&call),
            31 => Some(second.clone()),
            _ => None,
        };
        assert_eq!(read(length), expected, "{length} bytes");
    }
    assert_eq!(read(payload.len()), Some(call));
}
