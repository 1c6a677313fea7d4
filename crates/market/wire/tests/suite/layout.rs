//! Sizes of messages, as the specification states them, and of the results of decoding.

use core::mem::size_of;

use nanotape_wire::{
    DecodeError, EncodeError, iextp, itch50, moldudp64, render::Describe as _, soupbintcp,
};

#[test]
fn every_itch_type_has_its_length() {
    let expected = "S12 R39 H25 Y20 L26 V35 W12 K28 J35 h21 A36 F40 E31 C36 X23 D19 U35 P44 Q40 \
                    B19 I50 N20 O48";
    let found: Vec<String> = itch50::TAGS
        .iter()
        .map(|&tag| format!("{}{}", char::from(tag), itch50::length_of(tag).unwrap()))
        .collect();
    assert_eq!(found.join(" "), expected);
    let listed = (0..=u8::MAX).filter(|&tag| itch50::length_of(tag).is_some()).count();
    assert_eq!(listed, 23);
    assert_eq!(itch50::LONGEST, 50);
}

#[test]
fn a_length_that_varies_is_no_length() {
    assert_eq!(soupbintcp::length_of(b'S'), None);
    assert_eq!(soupbintcp::length_of(b'A'), Some(33));
    assert_eq!(moldudp64::DownstreamHeader::LEN, 20);
    assert_eq!(moldudp64::MessageBlockHeader::LEN, 2);
    assert_eq!(moldudp64::RequestPacket::LEN, 20);
    assert_eq!(soupbintcp::GlimpseEndOfSnapshot::LEN, 21);
    assert_eq!(iextp::SegmentHeader::LEN, 40);
    assert_eq!(iextp::MessageBlockHeader::LEN, 2);
}

#[test]
fn a_little_endian_number_has_its_lowest_byte_first() {
    let bytes: [u8; 40] = core::array::from_fn(|index| index as u8);
    let header = iextp::SegmentHeader::wrap(&bytes).unwrap();
    assert_eq!((header.version(), header.message_protocol_id()), (0, 0x0302));
    assert_eq!((header.channel_id(), header.session_id()), (0x0706_0504, 0x0b0a_0908));
    assert_eq!(header.send_time(), 0x2726_2524_2322_2120);
    assert_eq!(header.fields().encode(), bytes);
    let mut text = String::new();
    header.write_text(&mut text).unwrap();
    assert!(text.starts_with("SegmentHeader version=0 reserved=1 message_protocol_id=770 "));
}

#[test]
fn views_are_pointers_and_errors_are_small() {
    assert_eq!(size_of::<itch50::AddOrder<'_>>(), size_of::<usize>());
    assert_eq!(size_of::<itch50::Message<'_>>(), 3 * size_of::<usize>());
    assert!(size_of::<DecodeError>() <= 32);
    assert!(size_of::<EncodeError>() <= 32);
    assert!(size_of::<Result<itch50::Message<'_>, DecodeError>>() <= 40);
    assert_eq!(size_of::<itch50::BuySellIndicator>(), 2);
}

#[test]
fn refusals_say_what_is_wrong() {
    let text = |result: Result<(), DecodeError>| result.unwrap_err().to_string();
    let itch = |bytes: &[u8]| text(itch50::Message::decode(bytes).map(drop));
    let soup = |bytes: &[u8]| text(soupbintcp::Message::decode(bytes).map(drop));
    assert_eq!(itch(b""), "expected a message, not 0 bytes");
    assert_eq!(itch(b"A1"), "expected 36 bytes of Add Order (type A), not 2");
    let wrapped = itch50::OrderDelete::wrap(&[b'\n'; 19]).map(drop);
    assert_eq!(text(wrapped), "expected type D, not \\n");
    assert_eq!(soup(b"\0\x01"), "expected at least 3 bytes of a message, not 2");
    assert_eq!(soup(b"\0\x02Sxyz"), "expected 2 bytes after the length in Sequenced Data, not 4");
    assert_eq!(soup(b"\0\x04L123"), "expected at least 49 bytes of Login Request, not 6");
    assert_eq!(soup(&[b'L'; 60]), "expected at most 54 bytes of Login Request, not 60");
    let header = moldudp64::DownstreamHeader::wrap(&[0; 21]).map(drop);
    assert_eq!(text(header), "expected 20 bytes of Downstream packet header, not 21");
    let header = moldudp64::DownstreamHeader::wrap_first(&[0; 19]).map(drop);
    assert_eq!(text(header), "expected at least 20 bytes of Downstream packet header, not 19");
}

#[test]
fn what_is_too_long_is_not_encoded() {
    let mut buffer = [0; 70_000];
    let message = [0; 65_535];
    let data = soupbintcp::SequencedDataFields { message: &message[1..] };
    assert_eq!(data.encode(&mut buffer).map(<[u8]>::len), Ok(65_537));
    let data = soupbintcp::SequencedDataFields { message: &message };
    let error = data.encode(&mut buffer).unwrap_err();
    assert_eq!(
        error.to_string(),
        "at most 65534 bytes fit into the last field of Sequenced Data, not 65535"
    );
    let error = soupbintcp::DebugTextFields { text: b"hi" }.encode(&mut [0; 4]).unwrap_err();
    assert_eq!(error.to_string(), "buffer of 4 bytes is too small for Debug, 5 bytes");
}
