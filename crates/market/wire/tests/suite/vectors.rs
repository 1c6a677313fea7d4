//! Every vector of the shared specification decodes to its stated values, and these encode to the
//! same bytes.
//!
//! Independent programs have decoded the vectors before, so a mistake shared by the schema and its
//! generator would show here. The file is outside the repository: without it, these tests print
//! `SKIPPED` and pass, and the golden files of `testdata/` remain.

use std::{fs, path::Path};

use nanotape_types::Alpha;
use nanotape_wire::{
    framing::{
        binary_file::{End, Records},
        moldudp64::{MoldUdp64, PacketWriter, end_of_session},
        numbered::{PacketFraming as _, PacketKind},
        soupbintcp::{Split, split},
    },
    itch50,
    moldudp64::RequestPacket,
    render::{Describe, FieldVisitor, Value},
    soupbintcp,
};

use nanotape_harness::skipped;

/// The text under the heading `name`, or `None` if the file does not exist.
fn section(name: &str) -> Option<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../../shared/specs/vectors.md");
    let Ok(text) = fs::read_to_string(Path::new(path)) else {
        skipped(format_args!("no vectors.md in ../shared/specs ({name})"));
        return None;
    };
    let start = text.find(&format!("# {name}\n")).expect("the heading is there");
    let body = text[start..].split_once('\n').map_or("", |(_, body)| body);
    let end = body.find("\n#").unwrap_or(body.len());
    Some(body[..end].to_owned())
}

/// The cells of each row of the tables in `text`, without headings.
fn rows(text: &str) -> Vec<Vec<&str>> {
    let tables = text.lines().filter(|line| line.starts_with('|'));
    let cells = tables.map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect());
    cells.skip(2).collect()
}

/// The bytes of the first hexadecimal number in backquotes.
fn bytes(cell: &str) -> Vec<u8> {
    let hex = cell.split('`').nth(1).expect("hex in backquotes");
    let pairs = hex.as_bytes().chunks(2);
    let pair = |pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    pairs.map(pair).collect()
}

#[derive(Default)]
struct Collected<'a>(Vec<(&'static str, Value<'a>)>);

impl<'a> FieldVisitor<'a> for Collected<'a> {
    type Error = ();

    fn field(&mut self, name: &'static str, value: Value<'a>) -> Result<(), ()> {
        self.0.push((name, value));
        Ok(())
    }
}

/// Our names of fields that the specification abbreviates.
fn our_name(name: &str) -> &str {
    match name {
        "order_ref" => "order_reference_number",
        "original_ref" => "original_order_reference_number",
        "new_ref" => "new_order_reference_number",
        "side" => "buy_sell_indicator",
        "current_ref_price" => "current_reference_price",
        "min_allowable_price" => "minimum_allowable_price",
        "max_allowable_price" => "maximum_allowable_price",
        other => other,
    }
}

/// Whether `value` matches the specification: numbers raw or as decimals, text in quotes.
fn agrees(value: Value<'_>, stated: &str) -> bool {
    let text = stated.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    match value {
        Value::Integer(number) => number.to_string() == stated,
        Value::Price4(price) => price.get().to_string() == stated || price.to_string() == stated,
        Value::Price8(price) => price.get().to_string() == stated,
        Value::NanosSinceMidnight(time) => time.get().to_string() == stated,
        Value::SecondsSinceMidnight(time) => time.get().to_string() == stated,
        Value::Text(bytes) => text.is_some_and(|text| {
            bytes.trim_ascii_end() == text.trim_end().as_bytes() && text.len() <= bytes.len()
        }),
        Value::Code(code, name) => text.map(str::as_bytes) == Some(&[code]) && name != "Unknown",
        Value::Absent => matches!(stated, "0" | "0.0000"),
        Value::Bytes(_) | Value::Signed(_) | Value::Decimal(_) | Value::Bits(..) => false,
        Value::Numbered(..) => false,
        Value::NanosSinceEpoch(_) | Value::SecondsSinceEpoch(_) => false,
    }
}

#[track_caller]
fn check_itch(bytes: &[u8], tag: u8, stated: &str) {
    let message = itch50::Message::decode(bytes).expect("the vector decodes");
    assert!(!matches!(message, itch50::Message::Unknown(_)));
    assert_eq!((message.tag(), message.as_bytes()), (tag, bytes));

    let mut fields = Collected::default();
    message.for_each_field(&mut fields).expect("collecting cannot fail");
    let stated: Vec<(&str, &str)> =
        stated.split(", ").map(|pair| pair.split_once('=').expect("name=value")).collect();
    assert_eq!(fields.0.len(), stated.len(), "{message:?}");
    for ((name, value), (stated_name, stated)) in fields.0.into_iter().zip(stated) {
        assert_eq!(name, our_name(stated_name));
        assert!(agrees(value, stated), "{name}: {value:?}, stated {stated}");
    }

    let mut buffer = [0; itch50::LONGEST];
    assert_eq!(message.encode(&mut buffer), Ok(bytes));
}

fn constructed() -> Option<Vec<Vec<u8>>> {
    let text = section("ITCH 5.0, constructed")?;
    Some(rows(&text).iter().map(|row| bytes(row[4])).collect())
}

#[test]
fn constructed_itch_messages() {
    let (Some(messages), Some(values)) = (constructed(), section("Expected field values")) else {
        return;
    };
    let values: Vec<&str> = values.lines().filter(|line| line.contains(". `")).collect();
    assert_eq!((messages.len(), values.len()), (25, 25));
    for (bytes, line) in messages.iter().zip(values) {
        let (_, line) = line.split_once(". `").expect("numbered");
        let (tag, stated) = line.split_once("` ").expect("type in backquotes");
        check_itch(bytes, tag.as_bytes()[0], stated);
    }
}

#[test]
fn captured_itch_messages() {
    let Some(text) = section("ITCH 5.0, real captures (2023)") else { return };
    let rows = rows(&text);
    assert_eq!(rows.len(), 16);
    for row in rows {
        check_itch(&bytes(row[2]), row[0].as_bytes()[1], row[3]);
    }
}

#[test]
fn messages_in_a_binary_file() {
    let Some(messages) = constructed() else { return };
    let mut file = Vec::new();
    for message in &messages {
        file.extend((message.len() as u16).to_be_bytes());
        file.extend(message);
    }
    let mut records = Records::new(&file, 0);
    let found: Vec<_> = records.by_ref().map(|record| record.bytes.to_vec()).collect();
    assert_eq!(found, messages);
    assert_eq!(records.end(), Some(End::Exact { offset: file.len() as u64 }));
}

#[test]
fn moldudp64_packets() {
    let (Some(text), Some(messages)) = (section("MoldUDP64"), constructed()) else { return };
    let rows = rows(&text);
    assert_eq!(rows.len(), 7);
    let mut kinds = Vec::new();
    for row in &rows {
        let mut packet = bytes(row[3]);
        if row[0] == "7" {
            for message in &messages {
                packet.extend((message.len() as u16).to_be_bytes());
                packet.extend(message);
            }
        }
        assert_eq!(packet.len().to_string(), row[1]);
        if row[2].starts_with("request") {
            let request = RequestPacket::wrap(&packet).expect("a request");
            assert_eq!((request.sequence_number(), request.requested_message_count()), (2, 3));
            assert_eq!(request.fields().encode(), *packet);
            continue;
        }
        let decoded = MoldUdp64::decode(&packet).expect("a packet");
        let (session, first) = (decoded.session, decoded.first);
        assert_eq!(session, Alpha::new(*b"000001234A"));
        kinds.push((decoded.kind, first, decoded.messages().count()));
        if decoded.kind == PacketKind::EndOfSession {
            assert_eq!(end_of_session(session, first), *packet);
            continue;
        }
        let mut buffer = [0; 1472];
        let mut writer = PacketWriter::new(session, first, &mut buffer).expect("room");
        for (_, message) in decoded.messages() {
            let mut again = [0; itch50::LONGEST];
            let again = match itch50::Message::decode(message) {
                Ok(message) => message.encode(&mut again).expect("room"),
                Err(_) => &[],
            };
            assert!(writer.push(again));
        }
        assert_eq!(writer.finish(), packet);
    }
    let expected = [
        (PacketKind::Data, 1, 2),
        (PacketKind::Data, 3, 1),
        (PacketKind::Data, 4, 2),
        (PacketKind::Heartbeat, 6, 0),
        (PacketKind::EndOfSession, 6, 0),
        (PacketKind::Data, 100, 25),
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn soupbintcp_packets() {
    let Some(text) = section("SoupBinTCP / GLIMPSE") else { return };
    let rows = rows(&text);
    assert_eq!(rows.len(), 13);
    let stream: Vec<u8> = rows.iter().flat_map(|row| bytes(row[4])).collect();
    let mut left = stream.as_slice();
    let mut tags = Vec::new();
    for row in &rows {
        let Split::Packet { packet, rest } = split(left) else { panic!("{row:?}") };
        left = rest;
        assert_eq!((packet, packet.len().to_string()), (&*bytes(row[4]), row[2].to_owned()));
        let message = soupbintcp::Message::decode(packet).expect("a packet");
        tags.push(message.tag());
        let mut buffer = [0; 100];
        assert_eq!(message.encode(&mut buffer), Ok(packet));
        check_soup_numbers(message);
    }
    assert_eq!(split(left), Split::NeedMore { bytes: 2 });
    assert_eq!(tags, b"LASSSHRU+JOZL");
}

/// Checks the numbers in packets, and the content of sequenced data.
fn check_soup_numbers(message: soupbintcp::Message<'_>) {
    use soupbintcp::{GlimpseEndOfSnapshot, Message, RejectReason, format_number, parse_number};
    match message {
        Message::LoginRequest(login) => {
            assert_eq!(login.username(), Alpha::new(*b"GLIMPS"));
            let number = login.requested_sequence_number();
            assert_eq!(parse_number(number.as_bytes()), Some(1));
            assert_eq!(format_number(1), Some(number));
            let timeout = parse_number(login.heartbeat_timeout());
            assert_eq!(timeout.is_some(), login.as_bytes().len() == 54);
            assert_eq!(timeout.unwrap_or(5000), 5000);
        }
        Message::LoginAccepted(accepted) => {
            assert_eq!(parse_number(accepted.sequence_number().as_bytes()), Some(1));
        }
        Message::LoginRejected(rejected) => {
            assert_eq!(rejected.reject_reason(), RejectReason::NotAuthorised);
        }
        Message::DebugText(debug) => assert_eq!(debug.text(), b"hi"),
        Message::SequencedData(data) if data.message()[0] == b'G' => {
            let end = GlimpseEndOfSnapshot::wrap(data.message()).expect("an end of snapshot");
            assert_eq!(parse_number(end.sequence_number().as_bytes()), Some(4711));
            assert_eq!(end.fields().encode(), data.message());
        }
        Message::SequencedData(data) => {
            let inner = itch50::Message::decode(data.message()).expect("a message of ITCH");
            assert!(matches!(inner.tag(), b'R' | b'A'));
        }
        _ => {}
    }
}
