//! The fast path to the first message of some records finds what framing and decoding find.

use nanotape_testkit::strategies::any_message;
use nanotape_wire::{
    framing::binary_file::{Records, length_prefix},
    itch50::{self, Message, ORDER_RECORD_BYTES, TakeMessage, take_order_message},
};
use proptest::prelude::*;

/// Encodes the message: its type and all its fields.
struct Encode;

impl TakeMessage for Encode {
    type Output = (u8, Vec<u8>);

    fn take(self, message: Message<'_>) -> (u8, Vec<u8>) {
        let mut buffer = [0; itch50::LONGEST];
        (message.tag(), message.encode(&mut buffer).unwrap().to_vec())
    }
}

/// The same by framing and decoding.
fn expected(records: &[u8]) -> Option<(u8, Vec<u8>)> {
    let message = Message::decode(Records::new(records, 0).next()?.bytes).ok()?;
    match message {
        Message::AddOrder(_)
        | Message::AddOrderMpid(_)
        | Message::OrderExecuted(_)
        | Message::OrderExecutedWithPrice(_)
        | Message::OrderCancel(_)
        | Message::OrderDelete(_)
        | Message::OrderReplace(_) => Some(Encode.take(message)),
        _ => None,
    }
}

#[track_caller]
fn check(records: &[u8; ORDER_RECORD_BYTES]) {
    assert_eq!(take_order_message(records, Encode), expected(records));
}

#[test]
fn every_type_is_taken_with_its_length_only() {
    let mut taken = String::new();
    for tag in 0..=u8::MAX {
        for length in 0..=u16::MAX {
            let mut records = [0; ORDER_RECORD_BYTES];
            records[..2].copy_from_slice(&length.to_be_bytes());
            records[2] = tag;
            let first = take_order_message(&records, Encode);
            let fits = itch50::length_of(tag) == Some(length.into());
            match first {
                Some((found, bytes)) => {
                    assert!(fits && found == tag && bytes.len() == usize::from(length));
                    taken.push(char::from(tag));
                }
                None => assert!(!(fits && b"ACDEFUX".contains(&tag))),
            }
        }
    }
    assert_eq!(taken, "ACDEFUX");
}

proptest! {
    #[test]
    fn any_message_is_taken_as_it_decodes(
        message in any_message(itch50::LAYOUTS, itch50::TAG_OFFSET),
        after in any::<[u8; ORDER_RECORD_BYTES]>(),
    ) {
        let bytes = [&length_prefix(&message).unwrap()[..], &message, &after].concat();
        check(bytes.first_chunk().unwrap());
    }

    #[test]
    fn any_bytes_are_taken_as_they_decode(bytes in any::<[u8; ORDER_RECORD_BYTES]>()) {
        check(&bytes);
    }
}
