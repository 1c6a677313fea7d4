//! `nanotape inspect` of captures of IEX and Cboe: the messages of any feed, with time and stock.

use std::collections::BTreeMap;

use nanotape_types::{
    Alpha, Decimal, NanosOffset, OrderReferenceNumber, SecondsSinceMidnight, Shares,
};
use nanotape_wire::{
    capture::CaptureFormat,
    framing::pitch::{PitchUnit, UnitWriter},
    pitch::{
        AddFlags, AddOrderLongFields, DeleteOrderFields, SideIndicator, TimeFields, UnitClearFields,
    },
};
use serde_json::Value;

use crate::support::{Folder, capture::MadeCapture, nanotape, real_data, running::objects};

fn inspected(path: &str, options: &[&str]) -> Vec<Value> {
    let ran = nanotape([&["inspect", path, "--format", "json"], options].concat());
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{options:?}");
    objects(&ran.stdout)
}

/// The types of a feed in a synthetic day, with the one that shows an order or a level.
const FEEDS: [(&str, &str, &str); 4] = [
    ("iex-tops", "Q", "bid_price"),
    ("iex-deep", "8", "price"),
    ("iex-deep-plus", "a", "order_reference_number"),
    ("cboe-pitch", "0x29", "order_reference_number"),
];

#[test]
fn messages_of_any_feed_are_printed_and_selected() {
    let folder = Folder::new("inspect-feeds");
    for (protocol, of_type, field) in FEEDS {
        let file = folder.path(&format!("{protocol}.pcap"));
        let market = ["--messages", "3k", "--stocks", "6", "--date", "2024-03-11"];
        let made =
            nanotape([&["synth", "--protocol", protocol, "-o", &file], &market[..]].concat());
        assert_eq!(made.status, 0, "{}", made.stderr);
        let all = inspected(&file, &[]);
        for (number, message) in (1u64..).zip(&all) {
            assert_eq!((&message["message"], &message["offset"]), (&number.into(), &number.into()));
        }
        let type_of = |message: &Value| match &message["type"] {
            Value::String(letter) => letter.clone(),
            number => format!("{:#04x}", number.as_u64().unwrap()),
        };
        let mut by_type = BTreeMap::new();
        all.iter().for_each(|message| *by_type.entry(type_of(message)).or_insert(0) += 1);
        assert!(by_type.len() > 4, "{by_type:?}");

        let some = inspected(&file, &["--type", of_type]);
        assert!(some.len() == by_type[of_type] && some.iter().all(|one| type_of(one) == of_type));
        assert!(some.iter().all(|one| !one[field].is_null() && one["symbol"].is_string()));
        let stock = some[0]["symbol"].as_str().unwrap();
        let of_stock = inspected(&file, &["--symbols", stock]);
        let expected = all.iter().filter(|message| message["symbol"] == stock).count();
        assert!(of_stock.len() == expected && expected > 10, "{expected} of {stock}");

        let number = some[0]["message"].to_string();
        assert_eq!(inspected(&file, &["--offset", &number]), some[..1]);
        assert_eq!(inspected(&file, &["--type", of_type, "--count", "2"]), some[..2]);
        let span = inspected(&file, &["--from", "10:00", "--until", "10:30"]);
        let is_within = |message: &&Value| {
            message["ts_ns"]
                .as_u64()
                .is_some_and(|ns| (36_000..37_800).contains(&(ns / 1_000_000_000)))
        };
        assert_eq!(span.len(), all.iter().filter(is_within).count());
        assert!(span.iter().all(|message| is_within(&message)));

        let table = nanotape(["inspect", &file, "--type", of_type, "--format", "csv"]).stdout;
        let header = table.lines().next().unwrap();
        assert!(header.starts_with("message,offset,type,ts_ns,symbol,"), "{header}");
        assert!(header.contains(field) && !header.contains("timestamp"), "{header}");
        assert_eq!(table.lines().count(), 1 + some.len());
        let text = nanotape(["inspect", &file, "--type", of_type, "--count", "1"]).stdout;
        assert!(text.contains(&format!(" {stock} ")) && text.contains(&format!(" {of_type} ")));
    }
}

#[test]
fn an_unknown_type_is_an_error_with_the_types_of_the_feed() {
    let folder = Folder::new("inspect-feed-types");
    let file = folder.path("pitch.pcap");
    nanotape([
        "synth",
        "--protocol",
        "cboe-pitch",
        "-o",
        &file,
        "--messages",
        "2k",
        "--stocks",
        "5",
    ]);
    for (of_type, status, expected) in [
        (
            "0x99",
            1,
            "no message of type 0x99, which Cboe PITCH 2 does not have: its types are 0x20,",
        ),
        ("A", 2, "--type A: types of Cboe PITCH 2 are numbers: 0x20, "),
        ("AB", 2, "use one letter, or a number such as 0x21"),
        ("0x2d,0xb1", 0, "no message of type 0xb1 in the selected time"),
    ] {
        let ran = nanotape(["inspect", &file, "--type", of_type]);
        assert_eq!(ran.status, status, "{of_type}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{of_type}: {}", ran.stderr);
    }
    let ran = nanotape(["inspect", &file, "--offset", "9999999"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("message 9999999: not in the capture"), "{}", ran.stderr);
}

/// A clear of a unit is an event of each of its stocks, and one message.
#[test]
fn a_unit_clear_is_printed_once() {
    let time_offset = NanosOffset::new(5);
    let add = |number, symbol| AddOrderLongFields {
        time_offset,
        order_reference_number: OrderReferenceNumber::new(number),
        side_indicator: SideIndicator::Buy,
        shares: Shares::new(100),
        symbol: Alpha::new(symbol),
        price: Decimal::new(1_000_000),
        add_flags: AddFlags::default(),
    };
    let delete =
        DeleteOrderFields { time_offset, order_reference_number: OrderReferenceNumber::new(2) };
    let time = TimeFields { time: SecondsSinceMidnight::new(36_000), epoch_time: None };
    let messages = [
        time.encode(&mut [0; 10]).unwrap().to_vec(),
        add(1, *b"MAT   ").encode().to_vec(),
        add(2, *b"ZVZZT ").encode().to_vec(),
        delete.encode().to_vec(),
        UnitClearFields { time_offset }.encode().to_vec(),
        // A delete without the bytes of its order.
        vec![6, 0x29, 0, 0, 0, 0],
        delete.encode().to_vec(),
    ];
    let mut buffer = [0; 1_400];
    let mut unit = UnitWriter::new(PitchUnit(1), 1, &mut buffer).unwrap();
    assert!(messages.iter().all(|message| unit.push(message)));
    let mut capture = MadeCapture::new(CaptureFormat::Pcap);
    capture.datagram("224.0.62.2:30001", &[], unit.finish());
    let folder = Folder::new("inspect-unit-clear");
    let file = folder.write("clear.pcap", &capture.bytes);
    for (options, numbers) in [
        (&[][..], &[1, 2, 3, 4, 5, 7][..]),
        (&["--symbols", "MAT"], &[2, 5]),
        (&["--symbols", "ZVZZT"], &[3, 4, 5]),
        (&["--type", "0x97,0x29"], &[4, 5, 7]),
    ] {
        let ran = nanotape([&["inspect", &file, "--format", "json"], options].concat());
        assert_eq!(ran.status, 1);
        assert!(
            ran.stderr.contains(", 6 bytes: its length or a value of it cannot be read"),
            "{}",
            ran.stderr
        );
        let found: Vec<_> =
            objects(&ran.stdout).iter().map(|one| one["message"].as_u64().unwrap()).collect();
        assert_eq!(found, numbers, "{options:?}");
    }
    let text = nanotape(["inspect", &file, "--type", "0x29"]).stdout;
    let expected = "        4            4 10:00:00.000000005 ZVZZT    0x29 DeleteOrder ";
    assert!(text.starts_with(expected), "{text}");
    let after_the_clear = text.lines().nth(1).unwrap();
    assert!(after_the_clear.contains(" 10:00:00.000000005 -        0x29 "), "{after_the_clear}");
}

#[test]
fn the_messages_of_a_real_capture_are_printed() {
    let Some(file) = real_data("iex_deep10_20231002.pcap.gz") else { return };
    let levels = inspected(&file, &["--type", "8,5"]);
    let first = &levels[0];
    assert_eq!((&first["symbol"], &first["shares"]), (&"TBF".into(), &2_982.into()), "{first}");
    assert_eq!((&first["message"], &first["price"]), (&45_537.into(), &25.2.into()), "{first}");
    // 08:00 in New York.
    assert_eq!(first["ts_ns"], 28_800_183_276_502_u64);
    assert!(levels.iter().all(|one| one["ts_ns"].as_u64().is_some()));
}
