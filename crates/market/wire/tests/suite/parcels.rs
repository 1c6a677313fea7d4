//! Messages that grow, types of two bytes, and groups, with a protocol of no exchange.

use std::fmt::Write as _;

use nanotape_testkit::generated::parcels::{
    Handling, Item, ItemFields, Message, Nothing, Opened, OpenedFields, Posted, PostedFields, Size,
    Stamps, StopFields, TAGS, Zone,
};
use nanotape_types::{Alpha, Decimal, NanosOffset, NanosSinceEpoch, Nullable, SecondsSinceEpoch};
use nanotape_wire::{DecodeError, EncodeError, codec::WriteEntry, render::Describe};
use proptest::{collection::vec, prelude::*};

fn posted() -> PostedFields {
    PostedFields {
        schema_version: 2,
        posted_at: NanosSinceEpoch::new(1_700_000_000_000_000_001),
        sorted_after: NanosOffset::new(44_000),
        weight: Decimal::new(1234),
        postage: Decimal::new(-25_000),
        handling: Handling::FRAGILE.with(Handling::new(0x10)),
        one: -1,
        two: -2,
        four: -4,
        eight: i64::MIN,
        zone: Nullable::none(),
        stamps: Stamps::CUSTOMS,
        shift: Nullable::of(-127),
        address: Alpha::new(*b"HOME"),
        country: Zone::Far,
        insurance: None,
    }
}

fn encode(fields: &PostedFields) -> Vec<u8> {
    fields.encode(&mut [0; 100]).expect("room").to_vec()
}

fn text<'a>(described: impl Describe<'a>) -> String {
    let mut out = String::new();
    described.write_text(&mut out).expect("a String takes any text");
    out.push('\n');
    described.write_json(&mut out).expect("a String takes any text");
    let _ = writeln!(out);
    out
}

#[test]
fn every_new_type_of_field_is_read_written_and_shown() {
    let bytes = encode(&posted());
    let view = Posted::wrap(&bytes).unwrap();
    assert_eq!(view.fields(), posted());
    assert_eq!((bytes.len(), view.message_length(), view.block_length()), (55, 55, 47));
    assert_eq!(bytes[4..6], [7, 0]);
    assert!(view.handling().is_fragile() && !view.handling().is_last_of_event());
    let expected = "7 Posted message_length=55 block_length=47 schema_version=2 \
         posted_at=2023-11-14T22:13:20.000000001Z sorted_after=44000 weight=12.34 \
         postage=-2.5000 handling=0x11(fragile+4) one=-1 two=-2 four=-4 \
         eight=-9223372036854775808 zone=- stamps=0x200(customs) shift=-127 address=HOME \
         country=200(Far) insurance=-\n{\"type\":7,\"name\":\"Posted\",\"message_length\":55,\"block_length\":47,\
         \"schema_version\":2,\"posted_at\":\"1700000000000000001\",\"sorted_after\":44000,\
         \"weight\":12.34,\"postage\":-2.5000,\"handling\":[\"fragile\",4],\"one\":-1,\"two\":-2,\
         \"four\":-4,\"eight\":\"-9223372036854775808\",\"zone\":null,\"stamps\":[\"customs\"],\
         \"shift\":-127,\"address\":\"HOME\",\"country\":200,\"insurance\":null}\n";
    assert_eq!(text(view), expected);
}

#[test]
fn a_code_that_is_a_number_is_preserved_if_it_is_not_listed() {
    let mut bytes = encode(&posted());
    for code in 0..=u8::MAX {
        bytes[54] = code;
        let view = Posted::wrap(&bytes).unwrap();
        assert_eq!(view.country().code(), code);
        assert_eq!(Zone::KNOWN.contains(&view.country()), matches!(code, 0 | 200));
        assert_eq!(encode(&view.fields()), bytes);
    }
    assert!(text(Posted::wrap(&bytes).unwrap()).contains(" country=255(Unknown) "));
}

#[test]
fn a_field_that_was_appended_is_there_if_its_bytes_are() {
    let short = encode(&posted());
    let fields = PostedFields { insurance: Some(9), ..posted() };
    let long = encode(&fields);
    assert_eq!((short.len(), long.len()), (55, 59));
    assert_eq!(Posted::wrap(&short).unwrap().insurance(), None);
    assert_eq!(Posted::wrap(&long).unwrap().insurance(), Some(9));
    // A version that appends two bytes only, and one that appends more than is known.
    for (extra, insurance) in [(&[1, 2][..], None), (&[9, 0, 0, 0, 5, 5], Some(9))] {
        let mut grown = [&short[..], extra].concat();
        grown[0] += extra.len() as u8;
        grown[2] += extra.len() as u8;
        let view = Posted::wrap(&grown).unwrap();
        assert_eq!((view.insurance(), view.as_bytes()), (insurance, &grown[..]));
        let mut buffer = [0; 100];
        let encoded = Message::Posted(view).encode(&mut buffer).unwrap();
        assert_eq!(encoded, if insurance.is_some() { &long } else { &short });
    }
}

#[test]
fn a_wrong_type_or_length_is_refused() {
    let bytes = encode(&posted());
    let with = |at: usize, value: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = value;
        Posted::wrap(&bytes).map(drop).unwrap_err().to_string()
    };
    assert_eq!(with(5, 1), "expected type 7 (0x7), not 263 (0x107)");
    assert_eq!(with(0, 54), "the length in Posted is 54, but the message has 55 bytes");
    assert_eq!(with(1, 1), "the length in Posted is 311, but the message has 55 bytes");
    for block in [46, 48, 255] {
        let expected = format!("the fields of Posted cannot have {block} of its 55 bytes");
        assert_eq!(with(2, block), expected);
    }
    let short = Posted::wrap(&bytes[..54]).map(drop).unwrap_err();
    let expected = DecodeError::Short { name: "Posted", least: 55, actual: 54 };
    assert_eq!(short, expected);
    let no_type = Message::decode(&bytes[..5]).unwrap_err();
    assert_eq!(no_type.to_string(), "expected at least 6 bytes of a message, not 5");
    assert!(
        matches!(Message::decode(b"\x06\0\0\0\x08\0"), Ok(Message::Unknown(m)) if m.tag() == 8)
    );
    assert_eq!(TAGS, [Posted::TAG, Opened::TAG, Nothing::TAG]);
}

fn item(value: Option<i64>, pieces: Option<i32>) -> ItemFields {
    let value = value.map_or(Nullable::none(), |value| Nullable::of(Decimal::new(value)));
    ItemFields { value, size: Size::Small, pieces: pieces.map(Nullable::of) }
}

/// The fields of a stop, the length of its items, and the items.
type StopBytes = (Vec<u8>, u16, Vec<Vec<u8>>);

/// An opened parcel by hand: a root block, and groups whose entries have any length.
fn opened_by_hand(root: &[u8], items: (u16, &[Vec<u8>]), stops: (u16, &[StopBytes])) -> Vec<u8> {
    let mut bytes = vec![0, 0];
    bytes.extend((root.len() as u16).to_le_bytes());
    bytes.extend([0x2c, 1, 2, 0]);
    bytes.extend(root);
    bytes.extend(items.0.to_le_bytes());
    bytes.push(items.1.len() as u8);
    bytes.extend(items.1.concat());
    bytes.extend(stops.0.to_le_bytes());
    bytes.extend(b"\0\0\0\0");
    bytes.extend((stops.1.len() as u16).to_le_bytes());
    for (stop, length, unloaded) in stops.1 {
        bytes.extend(stop);
        bytes.extend(length.to_le_bytes());
        bytes.push(unloaded.len() as u8);
        bytes.extend(unloaded.concat());
    }
    let length = bytes.len() as u16;
    bytes[..2].copy_from_slice(&length.to_le_bytes());
    bytes
}

fn item_bytes(value: i64, more: &[u8]) -> Vec<u8> {
    [&value.to_le_bytes()[..], b"S", more].concat()
}

#[test]
fn groups_are_walked_with_the_lengths_of_the_wire() {
    let items = [item_bytes(1, &[5, 0, 0, 0, 0xee]), item_bytes(i64::MAX, &[6, 0, 0, 0, 0xee])];
    let stop = |time: u8, unloaded: Vec<Vec<u8>>| (vec![time, 0, 0, 0, 0xdd, 0xdd], 9, unloaded);
    let stops = [stop(1, vec![item_bytes(7, &[]), item_bytes(8, &[])]), stop(2, vec![])];
    let bytes = opened_by_hand(&[3, 0, 0xaa], (14, &items), (6, &stops));
    let view = Opened::wrap(&bytes).unwrap();
    assert_eq!((view.weight(), view.items().len(), view.stops().len()), (Decimal::new(3), 2, 2));
    let found: Vec<ItemFields> = view.items().map(Item::fields).collect();
    assert_eq!(found, [item(Some(1), Some(5)), item(None, Some(6))]);
    let unloaded: Vec<Vec<_>> = view
        .stops()
        .map(|stop| stop.unloaded().map(|item| (item.value().get(), item.pieces())).collect())
        .collect();
    let value = |raw| Some(Decimal::new(raw));
    assert_eq!(unloaded, [vec![(value(7), None), (value(8), None)], vec![]]);
    let expected = "300 Opened message_length=86 block_length=3 schema_version=2 weight=0.03 \
         items=[{1 value=0.000000001 size=S(Small) pieces=5}{2 value=- size=S(Small) pieces=6}] \
         stops=[{1 arrival=1970-01-01T00:00:01Z unloaded=[{1 value=0.000000007 size=S(Small) \
         pieces=-}{2 value=0.000000008 size=S(Small) pieces=-}]}{2 \
         arrival=1970-01-01T00:00:02Z unloaded=[]}]\n";
    let shown = text(view);
    assert!(shown.starts_with(expected), "{shown}");
    let json: serde_json::Value = serde_json::from_str(&shown[expected.len()..]).expect("JSON");
    assert_eq!(json["items"][1]["entry"], 2);
    assert_eq!(json["stops"][0]["unloaded"][1]["value"], 0.000000008);

    // Written again, everything that is known stays, and the rest is gone.
    let mut buffer = [0; 100];
    let written = Message::Opened(view).encode(&mut buffer).unwrap();
    let items = [item_bytes(1, &[5, 0, 0, 0]), item_bytes(i64::MAX, &[6, 0, 0, 0])];
    let stop = |time: u8, length, unloaded| (vec![time, 0, 0, 0], length, unloaded);
    let stops = [stop(1, 9, vec![item_bytes(7, &[]), item_bytes(8, &[])]), stop(2, 0, vec![])];
    assert_eq!(written, opened_by_hand(&[3, 0], (13, &items), (4, &stops)));
}

#[test]
fn groups_are_written_from_fields() {
    let fields = OpenedFields { schema_version: 2, weight: Decimal::new(3) };
    let none = core::iter::empty::<nanotape_testkit::generated::parcels::Stop<'_>>;
    let mut buffer = [0; 300];
    let items = [item(Some(1), Some(5)), item(None, Some(6))];
    let written = fields.encode(&mut buffer, items.into_iter(), none()).unwrap();
    let by_hand = [item_bytes(1, &[5, 0, 0, 0]), item_bytes(i64::MAX, &[6, 0, 0, 0])];
    assert_eq!(written, opened_by_hand(&[3, 0], (13, &by_hand), (0, &[])));
    let needed = written.len();
    for length in 0..needed {
        let error = fields.encode(&mut buffer[..length], items.into_iter(), none()).unwrap_err();
        assert!(matches!(error, EncodeError::Buffer { .. }), "{error}");
    }
    let mixed = [item(Some(1), Some(5)), item(Some(1), None)];
    let error = fields.encode(&mut buffer, mixed.into_iter(), none()).unwrap_err();
    assert_eq!(error, EncodeError::Group { name: "Opened" });
    let mut large = vec![0; 10_000];
    let count = |count: usize| core::iter::repeat_n(item(Some(1), None), count);
    assert!(fields.encode(&mut large, count(255), none()).is_ok());
    assert!(fields.encode(&mut large, count(256), none()).is_err());
    let stop = StopFields { arrival: SecondsSinceEpoch::new(1) };
    assert_eq!(stop.arrival.get(), 1);
    assert_eq!(items[0].block_length(), 13);
}

#[test]
fn a_group_that_does_not_fit_is_refused() {
    let items = [item_bytes(1, &[]), item_bytes(2, &[])];
    let stops = [(vec![1, 0, 0, 0], 9, vec![item_bytes(7, &[])])];
    let bytes = opened_by_hand(&[3, 0], (9, &items), (4, &stops));
    assert!(Opened::wrap(&bytes).is_ok());
    // The message ends anywhere: in a header, in an entry, in an entry of an entry.
    for length in 0..bytes.len() {
        let mut cut = bytes[..length].to_vec();
        if let Some(own) = cut.get_mut(..2) {
            own.copy_from_slice(&(length as u16).to_le_bytes());
        }
        let refused = Opened::wrap(&cut).map(drop).unwrap_err();
        assert_eq!(matches!(refused, DecodeError::Group { .. }), length >= 10, "{length}");
    }
    let with = |at: usize, value: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = value;
        Opened::wrap(&bytes).map(drop).map_err(|error| error.to_string())
    };
    let refused = |group: &str, at: usize, left: usize| {
        Err(format!(
            "the entries of group {group} at byte {at} do not fit in the {left} bytes left"
        ))
    };
    // Entries shorter than the table, or longer than the message; none; too many.
    for length in [0, 1, 8, 255] {
        assert_eq!(with(10, length), refused("items", 10, bytes.len() - 10));
    }
    assert_eq!(with(12, 255), refused("items", 10, bytes.len() - 10));
    for (at, value) in [(31, 0), (31, 3), (37, 2), (38, 255), (43, 8), (45, 2), (45, 255)] {
        assert_eq!(with(at, value), refused("stops", 31, bytes.len() - 31), "byte {at}");
    }
}

proptest! {
    #[test]
    fn any_groups_survive(
        weight in any::<u16>(),
        item_growth in 0..4usize,
        values in vec(any::<i64>(), 0..5),
        stops in vec((any::<u32>(), 0..3usize, vec(any::<i64>(), 0..3)), 0..4),
        noise in any::<u8>(),
    ) {
        let items: Vec<_> = values.iter().map(|v| item_bytes(*v, &vec![noise; item_growth])).collect();
        let by_hand: Vec<_> = stops
            .iter()
            .map(|(time, growth, values)| {
                let more = vec![noise; *growth];
                let unloaded = values.iter().map(|v| item_bytes(*v, &more)).collect();
                (time.to_le_bytes().to_vec(), 9 + *growth as u16, unloaded)
            })
            .collect();
        let lengths = (9 + item_growth as u16, 4);
        let root = weight.to_le_bytes();
        let bytes = opened_by_hand(&root, (lengths.0, &items), (lengths.1, &by_hand));
        let view = Opened::wrap(&bytes).unwrap();
        prop_assert_eq!(view.weight().get(), weight);
        // A null is an absent value, which has its own bits.
        let raw = |item: Item<'_>| item.value().get().map_or(i64::MAX, |value| value.get());
        prop_assert_eq!(view.items().map(raw).collect::<Vec<_>>(), values);
        let found: Vec<_> = view
            .stops()
            .map(|stop| (stop.arrival().get(), stop.unloaded().map(raw).collect::<Vec<_>>()))
            .collect();
        let expected: Vec<_> = stops.into_iter().map(|(time, _, values)| (time, values)).collect();
        prop_assert_eq!(found, expected);
        let mut buffer = vec![0; bytes.len()];
        let written = Message::Opened(view).encode(&mut buffer).unwrap();
        let again = Message::decode(written).unwrap();
        let mut second = vec![0; written.len()];
        prop_assert_eq!(again.encode(&mut second), Ok(written));
    }

    #[test]
    fn damaged_groups_are_walked_to_their_end_or_refused(
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let items = [item_bytes(1, &[]), item_bytes(2, &[])];
        let stops = [
            (vec![1, 0, 0, 0], 9, vec![item_bytes(7, &[]), item_bytes(8, &[])]),
            (vec![2, 0, 0, 0], 0, vec![]),
        ];
        let mut bytes = opened_by_hand(&[3, 0], (9, &items), (4, &stops));
        for (index, value) in changes {
            let at = index.index(bytes.len());
            bytes[at] = value;
        }
        if let Ok(view) = Opened::wrap(&bytes) {
            prop_assert_eq!(view.items().count(), view.items().len());
            prop_assert_eq!(view.stops().count(), view.stops().len());
            for stop in view.stops() {
                prop_assert_eq!(stop.unloaded().count(), stop.unloaded().len());
            }
            text(view);
        }
    }
}
