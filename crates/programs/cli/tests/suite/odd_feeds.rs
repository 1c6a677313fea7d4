//! Feeds whose messages no book can have, or which contradict each other: every book that can be
//! wrong is marked, and the others are right. And what a feed of levels cannot answer.

use nanotape_types::{
    Alpha, Decimal, MatchNumber, NanosOffset, OrderReferenceNumber, SecondsSinceMidnight, Shares,
};
use nanotape_wire::{
    capture::CaptureFormat,
    framing::pitch::{PitchUnit, UnitWriter},
    pitch::{
        AddFlags, AddOrderLongFields, DeleteOrderFields, ModifyFlags, ModifyOrderLongFields,
        OrderExecutedAtPriceSizeFields, SideIndicator, TimeFields,
    },
};
use serde_json::Value;

use crate::support::{Folder, capture::MadeCapture, nanotape, plants::Ring, running::objects};

/// A price above those of a book, as one of BRK.A is.
const LARGE: u64 = 7_400_000_000;

fn second(seconds: u32) -> Vec<u8> {
    let time = TimeFields { time: SecondsSinceMidnight::new(seconds), epoch_time: None };
    time.encode(&mut [0; 10]).unwrap().to_vec()
}

fn add(offset_ns: u32, number: u64, symbol: [u8; 6], price: u64) -> Vec<u8> {
    let added = AddOrderLongFields {
        time_offset: NanosOffset::new(offset_ns),
        order_reference_number: OrderReferenceNumber::new(number),
        side_indicator: SideIndicator::Buy,
        shares: Shares::new(100),
        symbol: Alpha::new(symbol),
        price: Decimal::new(price),
        add_flags: AddFlags::default(),
    };
    added.encode().to_vec()
}

fn delete(offset_ns: u32, number: u64) -> Vec<u8> {
    let order_reference_number = OrderReferenceNumber::new(number);
    let time_offset = NanosOffset::new(offset_ns);
    DeleteOrderFields { time_offset, order_reference_number }.encode().to_vec()
}

fn modify(offset_ns: u32, number: u64, price: u64) -> Vec<u8> {
    let modified = ModifyOrderLongFields {
        time_offset: NanosOffset::new(offset_ns),
        order_reference_number: OrderReferenceNumber::new(number),
        shares: Shares::new(100),
        price: Decimal::new(price),
        modify_flags: ModifyFlags::default(),
    };
    modified.encode().to_vec()
}

fn executed(offset_ns: u32, number: u64, (shares, remaining): (u32, u32), price: u64) -> Vec<u8> {
    let executed = OrderExecutedAtPriceSizeFields {
        time_offset: NanosOffset::new(offset_ns),
        order_reference_number: OrderReferenceNumber::new(number),
        executed_shares: Shares::new(shares),
        remaining_shares: Shares::new(remaining),
        match_number: MatchNumber::new(number),
        price: Decimal::new(price),
    };
    executed.encode().to_vec()
}

/// Packets of units, each with the number of its first message.
fn capture(packets: &[(u8, u64, &[Vec<u8>])]) -> Vec<u8> {
    let mut capture = MadeCapture::new(CaptureFormat::Pcap);
    for &(unit, first, messages) in packets {
        let mut buffer = [0; 1_400];
        let mut packet = UnitWriter::new(PitchUnit(unit), first, &mut buffer).unwrap();
        assert!(messages.iter().all(|message| packet.push(message)));
        capture.datagram("224.0.62.2:30001", &[], packet.finish());
    }
    capture.bytes
}

/// The bids of a stock: price and shares, as they are printed.
fn bids(input: &str, symbol: &str, options: &[&str]) -> Vec<(Value, Value)> {
    let book = ["book", input, "--symbols", symbol, "--format", "json"];
    let ran = nanotape([&book, options].concat());
    let levels = objects(&ran.stdout).into_iter();
    levels.map(|level| (level["price"].clone(), level["size"].clone())).collect()
}

/// How many anomalies of a kind each stock has.
fn anomalies(input: &str, kind: &str) -> Vec<(String, u64)> {
    let ran = nanotape(["stats", input, "--format", "json"]);
    let rows = objects(&ran.stdout).into_iter();
    let counts =
        rows.map(|row| (row["symbol"].as_str().unwrap().to_owned(), row[kind].as_u64().unwrap()));
    let mut counts: Vec<_> = counts.filter(|(_, count)| *count > 0).collect();
    counts.sort();
    counts
}

fn of(stocks: &[(&str, u64)]) -> Vec<(String, u64)> {
    stocks.iter().map(|&(stock, count)| (stock.to_owned(), count)).collect()
}

#[test]
fn an_order_at_a_price_that_no_book_has_leaves_its_level_and_marks_its_book() {
    let messages = [
        second(36_000),
        add(1, 1, *b"BRK.A ", 4_000_000_000),
        add(2, 2, *b"MAT   ", 100_000),
        add(3, 3, *b"MAT   ", 90_000),
        modify(4, 1, LARGE),
        add(5, 4, *b"BRK.A ", LARGE),
        // The trade cannot be stated, and what is left of the order is known.
        executed(6, 2, (30, 70), LARGE),
    ];
    let folder = Folder::new("odd-prices");
    let file = folder.write("odd.pcap", &capture(&[(1, 1, &messages)]));
    assert_eq!(bids(&file, "BRK.A", &["--at", "10:00:00.000000003"]).len(), 1);
    assert_eq!(bids(&file, "BRK.A", &[]), []);
    let of_mat = bids(&file, "MAT", &[]);
    assert_eq!(of_mat, [(10.0.into(), 70.into()), (9.0.into(), 100.into())]);
    assert_eq!(anomalies(&file, "price_out_of_range"), of(&[("*", 2), ("BRK.A", 2)]));
    let stderr = nanotape(["stats", &file]).stderr;
    assert!(stderr.contains("message 7") && stderr.contains("BRK.A"), "{stderr}");
    let trades = nanotape(["trades", &file, "--format", "json"]).stdout;
    assert_eq!(objects(&trades).len(), 0, "{trades}");
}

/// Order ids are those of all units: an id that is live in one and comes in another makes both
/// books doubtful, since later messages state no stock.
#[test]
fn an_id_that_two_units_have_marks_both_books() {
    let first = [second(36_000), add(1, 7, *b"MAT   ", 100_000), add(2, 8, *b"ZVZZT ", 100_000)];
    let second = [second(36_000), add(3, 7, *b"IBM   ", 100_000), delete(4, 7)];
    let folder = Folder::new("odd-ids");
    let file = folder.write("odd.pcap", &capture(&[(1, 1, &first), (2, 1, &second)]));
    let both = of(&[("*", 2), ("IBM", 1), ("MAT", 1)]);
    assert_eq!(anomalies(&file, "duplicate_reference"), both);

    let records = nanotape(["tap", &file, "--format", "json"]).stdout;
    let taints = objects(&records).into_iter().filter(|one| one["record"] == "taint");
    let tainted: Vec<_> = taints.map(|one| one["symbol"].clone()).collect();
    assert_eq!(tainted, ["IBM", "MAT"], "{records}");
}

/// The units of an exchange are not in the order of their times: a moment has the messages of all
/// of them up to it.
#[test]
fn a_moment_has_the_messages_of_every_unit() {
    const HALF: u32 = 500_000_000;
    let first =
        [second(36_000), add(100, 1, *b"MAT   ", 100_000), add(HALF, 2, *b"MAT   ", 110_000)];
    let later = [second(36_001), add(HALF, 3, *b"MAT   ", 120_000)];
    let second =
        [second(36_000), add(200, 4, *b"IBM   ", 100_000), add(HALF + 1, 5, *b"IBM   ", 200_000)];
    let folder = Folder::new("odd-times");
    let packets = [(1, 1, &first[..]), (2, 1, &second[..]), (1, 4, &later)];
    let file = folder.write("odd.pcap", &capture(&packets));
    let (journal, ring) = (folder.path("journal"), Ring::new("odd-times"));
    let run = ["run", "--input", &file, "--ring", ring.path(), "--format", "json"];
    let ran = nanotape([&run[..], &["--journal", &journal]].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let date = ["--date", "2019-12-30"];
    for (input, options) in [(&file, &date[..]), (&journal, &[])] {
        for (moment, of_mat, of_ibm) in [
            ("10:00:00.000000099", 0, 0),
            ("10:00:00.000000150", 1, 0),
            ("10:00:00.000000200", 1, 1),
            ("10:00:00.500000000", 2, 1),
            ("10:00:00.500000001", 2, 2),
            ("10:00:01.499999999", 2, 2),
            ("10:00:01.500000000", 3, 2),
        ] {
            let at = [&["--at", moment], options].concat();
            let counts = ["MAT", "IBM"].map(|symbol| bids(input, symbol, &at).len());
            assert_eq!(counts, [of_mat, of_ibm], "{input} {moment}");
        }
    }
    // A plant ends there, too.
    let early = folder.path("early");
    let until = ["--until", "10:00:00.3", "--journal", &early];
    let ran = nanotape([&run[..], &date, &until].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(["MAT", "IBM"].map(|symbol| bids(&early, symbol, &[]).len()), [1, 1]);
    // An earlier message that comes in a span is not of it.
    let rows = nanotape(["inside", &file, "--from", "10:00:00.5", "--format", "json"]).stdout;
    let times =
        objects(&rows).into_iter().map(|row| row["ts_ns"].as_u64().unwrap() - 36_000_000_000_000);
    let half = u64::from(HALF);
    assert_eq!(times.collect::<Vec<_>>(), [half, half + 1, 3 * half], "{rows}");
}

#[test]
fn a_feed_of_levels_lists_no_orders() {
    let folder = Folder::new("odd-levels");
    let (file, out) = (folder.capture("iex-deep", 2_000, 5), folder.path("lobster"));
    let rows = nanotape(["stats", &file, "--format", "json"]).stdout;
    let symbol = objects(&rows)[1]["symbol"].as_str().unwrap().to_owned();
    let book = nanotape(["book", &file, "--symbols", &symbol, "--orders"]);
    let lobster = nanotape(["depth", &file, "--symbols", &symbol, "--lobster", &out]);
    for (ran, option) in [(book, "--orders"), (lobster, "--lobster")] {
        let why = format!("{option} needs orders, and the feed shows price levels only");
        assert!((ran.status, ran.stdout.len()) == (2, 0), "{} {}", ran.status, ran.stderr);
        assert!(ran.stderr.contains(&why), "{}", ran.stderr);
    }
    assert_eq!(std::fs::read_dir(&out).unwrap().count(), 0);
}
