//! Tests the expansion of table rows, with a protocol that has every type of field.
//!
//! `nanotape-schema` tests that an edit of a schema becomes rows. This file tests the next step:
//! from a row to getter, encoder, variant, rendering and the lists over all messages.

use nanotape_testkit::generated::toy::{
    self, Colour, EveryWidth, EveryWidthFields, HeadOnly, Message, Note,
};
use nanotape_types::{Maybe, Mpid, NanosSinceMidnight, Price4, StockLocate, Symbol};
use nanotape_wire::{render::Describe, soupbintcp};

/// One message with different bytes everywhere.
fn every_width() -> [u8; 118] {
    let mut bytes = core::array::from_fn(|index| b' ' + (index % 90) as u8);
    bytes[0] = b'w';
    bytes[34..42].fill(0);
    bytes[115..].copy_from_slice(b"OKG");
    bytes
}

#[test]
fn a_row_is_a_getter_and_a_field_of_the_encoder() {
    let bytes = every_width();
    assert_eq!((EveryWidth::TAG, EveryWidth::LEN, EveryWidth::NAME), (b'w', 118, "Every Width"));
    let view = EveryWidth::wrap(&bytes).unwrap();
    assert_eq!(view.one(), bytes[9]);
    assert_eq!(view.four().to_be_bytes(), bytes[12..16]);
    assert_eq!(view.maybe_order().get(), None);
    assert_eq!(view.colour(), Colour::Green);

    let changed = EveryWidthFields { four: 7, colour: Colour::Off, ..view.fields() }.encode();
    let differences: Vec<usize> = (0..118).filter(|&at| changed[at] != bytes[at]).collect();
    assert_eq!(differences, [12, 13, 14, 15, 117]);
    assert_eq!((&changed[12..16], changed[117]), (&[0, 0, 0, 7][..], b' '));
}

#[test]
fn a_table_is_a_variant_and_an_entry_in_every_list() {
    let bytes = every_width();
    let (message, view) = (Message::decode(&bytes).unwrap(), EveryWidth::wrap(&bytes).unwrap());
    assert_eq!(message, Message::EveryWidth(view));
    assert_eq!(
        (message.tag(), message.name(), message.type_name()),
        (EveryWidth::TAG, EveryWidth::NAME, "EveryWidth")
    );
    assert_eq!(message.timestamp(), Some(view.timestamp()));
    assert_eq!(message.stock(), Some(view.stock()));
    let head = [b'\'', 0, 13, 0, 0, 0, 0, 0, 1];
    assert_eq!(Message::decode(&head).unwrap().stock(), None);

    assert_eq!(toy::TAGS, [EveryWidth::TAG, HeadOnly::TAG, Note::TAG]);
    assert_eq!(toy::LONGEST, EveryWidth::LEN);
    assert_eq!(toy::length_of(HeadOnly::TAG), Some(9));
    assert_eq!(toy::length_of(Note::TAG), None);
}

nanotape_wire::message! {
    head { [1..3] stock_locate: StockLocate, "The stock."; }
    /// `l` Little. Numbers are little-endian, and text is not.
    Little / LittleFields: 27 bytes little-endian, type b'l' at 0, "Little";
    [3..9] timestamp: NanosSinceMidnight, "A time of six bytes.";
    [9..13] price: Maybe<Price4>, "A price or none.";
    [13..21] stock: Symbol, "A symbol.";
    [21..25] mpid: Maybe<Mpid>, "A participant or none.";
    [25] colour: Colour, "A code.";
    [26] one: u8, "One byte.";
    [27..] text: Text, "The text.";
}

#[test]
fn a_little_endian_table_reverses_numbers_and_not_text() {
    let bytes = b"l\x0d\0\x01\0\0\0\0\0\x02\0\0\0AAPL    MPIDG\x07tail";
    let view = Little::wrap(bytes).unwrap();
    assert_eq!(view.stock_locate(), StockLocate::new(13));
    assert_eq!((view.timestamp().get(), view.price().get()), (1, Some(Price4::new(2))));
    assert_eq!((view.stock().to_string(), view.colour()), ("AAPL".into(), Colour::Green));
    assert_eq!(view.fields().encode(&mut [0; 40]), Ok(bytes.as_slice()));
    let mut text = String::new();
    view.write_text(&mut text).unwrap();
    let expected = "l Little stock_locate=13 timestamp=00:00:00.000000001 price=0.0002 stock=AAPL \
                    mpid=MPID colour=G(Green) one=7 text=tail";
    assert_eq!(text, expected);
}

#[test]
fn a_limit_of_a_tail_holds_although_the_count_is_right() {
    let mut bytes = [b' '; 32];
    bytes[0] = Note::TAG;
    bytes[18] = 12;
    bytes[17] = 0;
    assert_eq!(Note::wrap(&bytes[..31]).map(Note::text), Ok(&bytes[19..31]));
    bytes[18] = 13;
    let refused = Note::wrap(&bytes).unwrap_err().to_string();
    assert_eq!(refused, "expected at most 31 bytes of Note, not 32");
}

#[test]
fn the_longest_message_is_one_of_fixed_length() {
    let (fixed, varying) = (soupbintcp::LoginAccepted::LEN, soupbintcp::LoginRequest::LEN);
    assert!(varying > fixed);
    assert_eq!(soupbintcp::LONGEST, fixed);
}

#[test]
fn every_type_of_field_is_shown_in_its_own_way() {
    let mut text = String::new();
    let bytes = every_width();
    EveryWidth::wrap(&bytes).unwrap().write_text(&mut text).unwrap();
    let expected = concat!(
        "w EveryWidth stock_locate=8482 timestamp=10:43:58.149052200 one=41 two=10795 ",
        "four=741158447 eight=3472611983179986487 tracking_number=14393 ",
        "order_reference_number=4196013711560753217 maybe_order=- ",
        "match_number=5353456476969979985 shares=1381192789 total_shares=6221538551026900061 ",
        "price=158330.8897 maybe_price=165068.0933 index_level=73789813164.36126829 ",
        "seconds=514665:50:41 maybe_seconds=533380:17:57 stock=\"vwxy !\\\"#\" ",
        "mpid=\"$%&\\'\" note=()*+,-./012345678 mood=OK colour=G(Green)",
    );
    assert_eq!(text, expected);

    let note = b"n\0\x0d\0\0\0\0\0\x01NOTE    \0\x05hello";
    let mut text = String::new();
    Note::wrap(note).unwrap().write_text(&mut text).unwrap();
    let expected = "n Note stock_locate=13 timestamp=00:00:00.000000001 stock=NOTE text_length=5 \
                    text=hello";
    assert_eq!(text, expected);
}
