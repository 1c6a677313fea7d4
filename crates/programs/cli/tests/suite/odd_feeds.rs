//! Feeds whose messages no book can have, or which contradict each other: every book that can be
//! wrong is marked, and the others are right. And what a feed of levels cannot answer.

use nanotape_types::{
    Alpha, Decimal, MatchNumber, NanosOffset, NanosSinceMidnight, OrderReferenceNumber, Price4,
    SecondsSinceMidnight, Shares, Side, StockLocate, TrackingNumber,
};
use nanotape_wire::{
    capture::CaptureFormat,
    framing::{
        iextp::{IexSession, SegmentWriter},
        pitch::{PitchUnit, UnitWriter},
    },
    itch50::{AddOrderFields, BuySellIndicator},
    pitch::{
        AddFlags, AddOrderLongFields, DeleteOrderFields, ModifyFlags, ModifyOrderLongFields,
        OrderExecutedAtPriceSizeFields, SideIndicator, TimeFields,
    },
};
use serde_json::Value;

use crate::support::{Folder, capture::MadeCapture, nanotape, plants::Ring, running::objects};

/// A price above those of a book, in units of 0.0001.
const LARGE: u64 = 24_949_672_960;

/// A price of BRK.A, which is none in 32 bits and units of 0.0001: 740,000.
const DEAR: u64 = 7_400_000_000;

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

#[test]
fn a_share_that_costs_more_than_32_bits_hold_has_its_book_everywhere() {
    let messages = [
        second(36_000),
        add(1, 1, *b"BRK.A ", 100),
        add(2, 2, *b"BRK.A ", DEAR),
        add(3, 3, *b"BRK.A ", DEAR - 100),
        modify(4, 1, DEAR + 200),
        executed(5, 2, (30, 70), DEAR + 50),
        // Between two steps.
        modify(6, 3, DEAR + 1),
        add(7, 4, *b"BRK.A ", DEAR - 100),
    ];
    let folder = Folder::new("odd-dear");
    let file = folder.write("odd.pcap", &capture(&[(1, 1, &messages)]));
    let journal = journal_of(&folder, &file, "odd-dear");
    let dbn = folder.path("day.dbn");
    let ran = nanotape(["convert", &journal, "-o", &dbn]);
    assert!(ran.status < 2, "{}", ran.stderr);
    let snapshots = nanotape(["journal", "snapshot", &journal, "--format", "json"]);
    assert_eq!(objects(&snapshots.stdout).len(), 1, "{}", snapshots.stderr);

    let at = |price: f64, shares: u32| (Value::from(price), Value::from(shares));
    let first = [at(740_000.02, 100), at(740_000.0, 70), at(739_999.99, 100)];
    for input in [&file, &journal, &dbn] {
        assert_eq!(bids(input, "BRK.A", &[]), first, "{input}");
        let before = bids(input, "BRK.A", &["--at", "10:00:00.000000003"]);
        assert_eq!(before, [at(740_000.0, 100), at(739_999.99, 100), at(0.01, 100)], "{input}");
        let inside = nanotape(["inside", input, "--symbols", "BRK.A", "--format", "csv"]);
        let insides: Vec<_> =
            inside.stdout.lines().skip(1).map(|row| row.split(',').nth(2).unwrap()).collect();
        assert_eq!(insides, ["0.0100", "740000.0000", "740000.0200"], "{input}");
        let trades = nanotape(["trades", input, "--format", "json"]).stdout;
        assert_eq!(objects(&trades)[0]["price"], 740_000.005, "{input}: {trades}");
        let strict = nanotape(["book", input, "--symbols", "BRK.A", "--strict"]);
        assert_eq!(strict.status, 1, "order 3 makes the book unreliable: {}", strict.stderr);
    }
    assert_eq!(anomalies(&file, "price_out_of_range"), of(&[("*", 1), ("BRK.A", 1)]));
    let lobster = folder.path("lobster");
    let ran = nanotape(["depth", &file, "--symbols", "BRK.A", "--lobster", &lobster]);
    assert!(ran.status < 2, "{}", ran.stderr);
    let files = std::fs::read_dir(&lobster).unwrap().map(|file| file.unwrap().path());
    let rows = files.map(|path| std::fs::read_to_string(path).unwrap()).collect::<String>();
    assert!(rows.contains(",7400000050,") && rows.contains(",7399999900,"), "{rows}");
}

/// An order of ITCH to buy or sell a share of BRK.A, with its length.
fn itch_add(number: u64, side: Side, price: u32) -> Vec<u8> {
    let order = AddOrderFields {
        stock_locate: StockLocate::new(7),
        tracking_number: TrackingNumber::default(),
        timestamp: NanosSinceMidnight::from_hms(10, 0, 0),
        order_reference_number: OrderReferenceNumber::new(number),
        buy_sell_indicator: BuySellIndicator::from(side),
        shares: Shares::new(1),
        stock: "BRK.A".parse().unwrap(),
        price: Price4::new(price),
    };
    [&[0, 36][..], &order.encode()].concat()
}

/// Books of ITCH have its own scale, and those of its journal the scale with two steps.
#[test]
fn a_day_of_itch_with_dear_shares_has_the_same_books_as_its_journal() {
    let orders = [
        (1, Side::Buy, 3_064_500_000),
        (2, Side::Buy, 1_999_999_900),
        (3, Side::Sell, 4_294_967_290),
    ];
    let day: Vec<u8> = orders
        .into_iter()
        .flat_map(|(number, side, price)| itch_add(number, side, price))
        .collect();
    let folder = Folder::new("odd-itch");
    let file = folder.write("odd.itch", &day);
    let journal = journal_of(&folder, &file, "odd-itch");
    let prices = [306_450.0, 199_999.99, 429_496.729].map(Value::from);
    for input in [&file, &journal] {
        let found: Vec<_> = bids(input, "BRK.A", &[]).into_iter().map(|(price, _)| price).collect();
        assert_eq!(found, prices, "{input}");
        let insides = nanotape(["inside", input, "--format", "csv"]).stdout;
        let last = insides.lines().next_back().unwrap();
        assert!(last.ends_with(",BRK.A,306450.0000,1,429496.7290,1"), "{insides}");
    }
    let both = nanotape(["inside", "--consolidated", &file, &journal, "--format", "csv"]);
    let last = both.stdout.lines().next_back().unwrap();
    assert!(
        last.contains(",306450.0000,2,") && last.contains(",429496.7290,2,"),
        "{}",
        both.stdout
    );
}

/// An order of ITCH between two steps of the books of a journal marks these, from snapshots too.
#[test]
fn a_price_of_itch_that_books_of_records_lack_marks_its_stock() {
    let day = [itch_add(1, Side::Buy, 3_064_500_000), itch_add(2, Side::Buy, 3_064_500_001)];
    let folder = Folder::new("odd-between");
    let file = folder.write("odd.itch", &day.concat());
    let strict = |input: &str| nanotape(["book", input, "--symbols", "BRK.A", "--strict"]).status;
    assert_eq!((bids(&file, "BRK.A", &[]).len(), strict(&file)), (2, 0));
    let journal = journal_of(&folder, &file, "odd-between");
    assert_eq!((bids(&journal, "BRK.A", &[]).len(), strict(&journal)), (1, 1));
    let snapshots = nanotape(["journal", "snapshot", &journal, "--format", "json"]);
    assert_eq!(objects(&snapshots.stdout).len(), 1, "{}", snapshots.stderr);
    assert_eq!((bids(&journal, "BRK.A", &[]).len(), strict(&journal)), (1, 1));
}

#[test]
fn an_id_of_another_unit_at_a_price_that_no_book_has_marks_both_books() {
    let first = [second(36_000), add(1, 1, *b"MAT   ", 200)];
    let other = [second(36_000), add(2, 1, *b"IBM   ", LARGE), modify(3, 1, 300)];
    let folder = Folder::new("odd-both");
    let file = folder.write("odd.pcap", &capture(&[(1, 1, &first), (2, 1, &other)]));
    assert_eq!(anomalies(&file, "price_out_of_range"), of(&[("*", 1), ("IBM", 1)]));
    assert_eq!(anomalies(&file, "duplicate_reference"), of(&[("*", 1), ("MAT", 1)]));
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

/// A quote of TOPS, as bytes: symbol, bid and ask with shares and price.
fn quote(nanos: u64, symbol: &[u8; 8], bid: (u32, i64), offer: (u32, i64)) -> Vec<u8> {
    let mut bytes = vec![b'Q', 0];
    bytes.extend((OPEN_NS + nanos).to_le_bytes());
    bytes.extend(symbol);
    bytes.extend(bid.0.to_le_bytes());
    bytes.extend(bid.1.to_le_bytes());
    bytes.extend(offer.1.to_le_bytes());
    bytes.extend(offer.0.to_le_bytes());
    bytes
}

/// 2019-12-30 at 10:00 in New York, ns since the UNIX epoch.
const OPEN_NS: u64 = 1_577_718_000_000_000_000;

/// Segments of IEX-TP from its messages, each with its first number.
fn segments(protocol: u16, segments: &[(u64, &[Vec<u8>])]) -> Vec<u8> {
    let mut capture = MadeCapture::new(CaptureFormat::Pcap);
    let session = IexSession { message_protocol_id: protocol, channel_id: 1, session_id: 77 };
    let mut offset = 0;
    for &(first, messages) in segments {
        let mut buffer = [0; 1_400];
        offset = if first == 1 { 0 } else { offset };
        let mut segment = SegmentWriter::new(session, first, offset, 0, &mut buffer).unwrap();
        assert!(messages.iter().all(|message| segment.push(message)));
        let payload = segment.finish();
        offset += payload.len() as u64 - 40;
        capture.datagram("233.215.21.4:10378", &[], payload);
    }
    capture.bytes
}

/// The journal of a plant of a file.
fn journal_of(folder: &Folder, file: &str, name: &str) -> String {
    let (journal, ring) = (folder.path(name), Ring::new(name));
    let run = ["run", "--input", file, "--ring", ring.path(), "--date", "2019-12-30"];
    let ran = nanotape([&run[..], &["--journal", &journal]].concat());
    assert!(ran.status < 2, "{}", ran.stderr);
    journal
}

#[test]
fn a_quote_at_a_price_that_no_book_has_shows_its_other_side_and_is_marked() {
    let messages = [
        quote(1, b"ZIEXT   ", (100, 1_000_000), (100, 1_000_100)),
        quote(2, b"ZIEXT   ", (100, LARGE as i64), (50, 1_000_200)),
        quote(3, b"MAT     ", (10, 1_000_000), (10, -5)),
    ];
    let folder = Folder::new("odd-quotes");
    let file = folder.write("odd.pcap", &segments(0x8003, &[(1, &messages)]));
    let insides = |input: &str| {
        let ran = nanotape(["inside", input, "--symbols", "ZIEXT,MAT", "--format", "csv"]);
        ran.stdout.lines().skip(1).map(|row| row[row.find(',').unwrap()..].to_owned()).collect()
    };
    let rows: Vec<String> = insides(&file);
    assert_eq!(
        rows,
        [",ZIEXT,100.0000,100,100.0100,100", ",ZIEXT,,,100.0200,50", ",MAT,100.0000,10,,"]
    );
    let journal = journal_of(&folder, &file, "odd-quotes");
    assert_eq!(insides(&journal), rows);
    let records = nanotape(["tap", &journal, "--records", "bbo", "--format", "json"]).stdout;
    let records = objects(&records);
    let bbo = records.iter().filter(|one| one["record"] == "bbo");
    // The last record of a message, and the flag of a book that is not reliable.
    let flags: Vec<_> = bbo.map(|one| one["flags"].as_u64().unwrap() & (128 | 4)).collect();
    assert_eq!(flags, [128, 128 | 4, 128 | 4], "{records:?}");
    assert_eq!(anomalies(&file, "price_out_of_range"), of(&[("*", 2), ("MAT", 1), ("ZIEXT", 1)]));
    let rows = objects(&nanotape(["stats", &file, "--format", "json"]).stdout);
    assert_eq!(rows[0]["messages"], 3, "a quote is one message");
}

#[test]
fn a_stock_with_nothing_but_an_order_that_no_book_has_is_in_a_journal() {
    let messages = [second(36_000), add(1, 1, *b"BRK.A ", LARGE)];
    let folder = Folder::new("odd-alone");
    let file = folder.write("odd.pcap", &capture(&[(1, 1, &messages)]));
    let journal = journal_of(&folder, &file, "odd-alone");
    for input in [&file, &journal] {
        let ran = nanotape(["book", input, "--symbols", "BRK.A", "--strict"]);
        assert_eq!(ran.status, 1, "{input}: {}", ran.stderr);
        assert!(ran.stderr.contains("BRK.A"), "{input}: {}", ran.stderr);
    }
}

#[test]
fn an_id_that_two_units_had_marks_each_stock_that_gets_it_later() {
    let first = [second(36_000), add(1, 7, *b"MAT   ", 100_000)];
    let second_unit = [second(36_000), add(3, 7, *b"IBM   ", 100_000)];
    let third = [delete(5, 7), add(6, 7, *b"ZVZZT ", 100_000)];
    let folder = Folder::new("odd-reused");
    let packets = [(1, 1, &first[..]), (2, 1, &second_unit[..]), (1, 3, &third[..])];
    let file = folder.write("odd.pcap", &capture(&packets));
    let marked = of(&[("*", 3), ("IBM", 1), ("MAT", 1), ("ZVZZT", 1)]);
    assert_eq!(anomalies(&file, "duplicate_reference"), marked);
}

/// What an order has after an execution can differ from what it had less what was executed.
#[test]
fn an_execution_with_other_shares_left_is_one_change_in_a_journal_too() {
    for remaining in [95, 60] {
        let messages = [
            second(36_000),
            add(1, 2, *b"MAT   ", 100_000),
            executed(2, 2, (10, remaining), 100_000),
            delete(3, 2),
        ];
        let folder = Folder::new("odd-rest");
        let file = folder.write("odd.pcap", &capture(&[(1, 1, &messages)]));
        let name = format!("odd-rest-{remaining}");
        let journal = journal_of(&folder, &file, &name);
        let insides = |input: &str| nanotape(["inside", input, "--symbols", "MAT"]).stdout;
        assert_eq!(insides(&file).lines().count(), 4);
        assert_eq!(insides(&file), insides(&journal));
        let records = nanotape(["tap", &journal, "--records", "mbo", "--format", "json"]).stdout;
        let records = objects(&records);
        let orders = records.iter().filter(|one| one["record"] == "mbo");
        let last = orders.filter(|one| one["flags"].as_u64().unwrap() & 128 > 0);
        assert_eq!(last.count(), 3, "one for each message: {records:?}");
    }
}

#[test]
fn records_of_a_span_are_those_of_its_times() {
    let first = [second(36_000), add(100, 1, *b"MAT   ", 1), add(900, 2, *b"MAT   ", 2)];
    let second_unit = [second(36_000), add(200, 4, *b"IBM   ", 3), add(500, 5, *b"IBM   ", 4)];
    let folder = Folder::new("odd-spans");
    let packets = [(1, 1, &first[..]), (2, 1, &second_unit[..])];
    let file = folder.write("odd.pcap", &capture(&packets));
    let journal = journal_of(&folder, &file, "odd-spans");
    let span = ["--from", "10:00:00.0000002", "--until", "10:00:00.0000009"];
    for input in [&file, &journal] {
        let tap = ["tap", input, "--records", "mbo", "--format", "json"];
        let records = objects(&nanotape([&tap[..], &span].concat()).stdout);
        let orders = records.iter().filter(|one| one["record"] == "mbo");
        let times = orders.map(|one| one["ts_ns"].as_u64().unwrap() - 36_000_000_000_000);
        assert_eq!(times.collect::<Vec<_>>(), [200, 500], "{input}: {records:?}");
    }
}

#[test]
fn a_stream_that_begins_again_has_its_books_until_then() {
    let before = [quote(1, b"ZIEXT   ", (100, 1_000_000), (100, 1_000_100))];
    let after = [quote(60_000_000_000, b"MAT     ", (10, 500_000), (10, 500_100))];
    let folder = Folder::new("odd-restart");
    let file = folder.write("odd.pcap", &segments(0x8003, &[(1, &before), (1, &after)]));
    let journal = journal_of(&folder, &file, "odd-restart");
    for (input, options) in [(&file, &["--date", "2019-12-30"][..]), (&journal, &[])] {
        for (moment, levels) in [("10:00:59.999999999", 1), ("10:01:00", 0)] {
            let at = [&["--at", moment, "--levels", "1"], options].concat();
            let found = bids(input, "ZIEXT", &at);
            assert_eq!(found.len(), 2 * levels, "{input} {moment}: {found:?}");
        }
    }
}
