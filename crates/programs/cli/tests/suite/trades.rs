//! `nanotape trades`: its volume is that of `nanotape stats`, and broken trades are marked.
//! `scripts/day-proof/stages/naive_day.py` compares every row of a day.

use std::collections::BTreeMap;

use nanotape_harness::Random;
use nanotape_plant::{
    TradeDate,
    records::{
        Common, PublisherInstrument,
        dbn::{Action, Metadata, SType, Schema, Side as DbnSide, encode::DbnMetadataEncoder},
        encode::{Change, bytes, mbo},
    },
};
use nanotape_wire::framing::binary_file::Records;

use crate::support::{Folder, Ran, nanotape, nanotape_fed};

fn rows_of(ran: &Ran) -> Vec<BTreeMap<String, serde_json::Value>> {
    ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Per stock: trades and shares.
type Volumes = BTreeMap<String, (u64, u64)>;

/// The trades that are not broken, by stock; those of `trades` are those of `stats`.
fn agreed_volumes(day: &str, span: &[&str]) -> Volumes {
    let run = |command| nanotape([&[command, day, "--format", "json"], span].concat());
    let mut volumes = Volumes::new();
    for row in rows_of(&run("trades")).iter().filter(|row| row["broken"] == false) {
        let sum = volumes.entry(row["symbol"].as_str().unwrap().to_owned()).or_default();
        *sum = (sum.0 + 1, sum.1 + row["size"].as_u64().unwrap());
    }
    let stats = rows_of(&run("stats"));
    let of_stock = |row: &BTreeMap<String, serde_json::Value>| {
        let number = |name: &str| row[name].as_i64().unwrap();
        let symbol = row["symbol"].as_str().unwrap().to_owned();
        (symbol, (number("trades") as u64, number("volume_shares") as u64))
    };
    let of_stats: Volumes =
        stats[1..].iter().map(of_stock).filter(|(_, volume)| *volume != (0, 0)).collect();
    assert_eq!(of_stats, volumes, "{span:?}");
    volumes
}

/// The match number of a message that is a trade or a break.
fn match_number(message: &[u8]) -> Option<std::ops::Range<usize>> {
    let at = match message[0] {
        b'E' | b'C' => 23,
        b'P' => 36,
        b'Q' => 31,
        b'B' => 11,
        _ => return None,
    };
    Some(at..at + 8)
}

/// A day in which breaks name any trades, crosses too, before and after them, some twice; and some
/// trades have the number of another.
fn with_breaks_anywhere(day: &[u8], seed: u64) -> Vec<u8> {
    let mut messages: Vec<Vec<u8>> = Records::new(day, 0).map(|r| r.bytes.to_vec()).collect();
    let mut random = Random::new(seed);
    let trades: Vec<usize> =
        (0..messages.len()).filter(|&at| b"ECPQ".contains(&messages[at][0])).collect();
    let any = |random: &mut Random, messages: &[Vec<u8>]| {
        let crosses: Vec<_> =
            trades.iter().copied().filter(|&at| messages[at][0] == b'Q').collect();
        let from = if random.below(3) == 0 { &crosses } else { &trades };
        let message = &messages[from[random.below(from.len() as u64) as usize]];
        message[match_number(message).unwrap()].to_vec()
    };
    for _ in 0..trades.len() / 20 {
        let number = any(&mut random, &messages);
        let to = &mut messages[trades[random.below(trades.len() as u64) as usize]];
        let place = match_number(to).unwrap();
        to[place].copy_from_slice(&number);
    }
    for _ in 0..trades.len() / 10 {
        let number = any(&mut random, &messages);
        let at = 1 + random.below(messages.len() as u64 - 1) as usize;
        // Its stock and its time are those of the message before.
        let header = messages[at - 1][1..11].to_vec();
        let broken = [b"B".as_slice(), &header, &number].concat();
        // Indices of later messages stay: it takes the place of one that is no trade.
        if match_number(&messages[at]).is_none() && messages[at][0] != b'R' {
            messages[at] = broken;
        }
    }
    messages.iter().flat_map(|m| [&(m.len() as u16).to_be_bytes(), m.as_slice()].concat()).collect()
}

#[test]
fn trades_and_stats_agree_on_breaks_of_any_trade_in_any_order() {
    let folder = Folder::new("trades-breaks");
    let day = folder.day(40_000, 10);
    for seed in 0..3 {
        let bytes = with_breaks_anywhere(&std::fs::read(&day).unwrap(), seed);
        let path = folder.write("breaks.itch50", &bytes);
        let whole = agreed_volumes(&path, &[]);
        assert!(!whole.is_empty() && whole != agreed_volumes(&day, &[]), "seed {seed}");
        // Breaks after the span, and before it, are valid for trades of the span.
        agreed_volumes(&path, &["--from", "10:00", "--until", "15:00"]);
    }
}

/// As Databento writes it: one aggressor takes two orders.
#[test]
fn a_trade_with_two_fills_is_an_execution_with_the_side_of_the_trade() {
    let folder = Folder::new("trades-fills");
    let path = folder.write("fills.dbn", &two_fills());
    let ran = nanotape(["trades", &path, "--format", "json"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let [row] = rows_of(&ran).try_into().unwrap();
    assert_eq!((&row["kind"], &row["aggressor"]), (&"execution".into(), &"buy".into()));
    let price = row["price"].to_string();
    assert!(row["size"] == 60 && price.contains("101"), "{row:?}");
    assert!(row["order_reference_number"].is_null());
    let stats = rows_of(&nanotape(["stats", &path, "--format", "json"]));
    assert_eq!((&stats[0]["trades"], &stats[0]["volume_shares"]), (&1.into(), &60.into()));
    // The orders of the fills lost their shares: 60 of the second one are left.
    let inside = rows_of(&nanotape(["inside", &path, "--format", "json"])).pop().unwrap();
    assert_eq!((inside["ask_price"].to_string(), &inside["ask_size"]), (price, &60.into()));
}

/// Two orders to sell 50 and 70, and a trade of 60 with two fills, then their cancels.
fn two_fills() -> Vec<u8> {
    const LAST: u8 = 128;
    let midnight = "2024-01-02".parse::<TradeDate>().unwrap().midnight_ns();
    let common = |sequence| Common {
        instrument: PublisherInstrument::none_of(2).numbered(1),
        ts_event: midnight + 34_200_000_000_000,
        ts_recv: midnight + 34_200_000_000_000,
        sequence,
        flags: 0,
    };
    let record = |sequence, last, order_id, (action, side, size)| {
        let change = Change { action, side, price: 101_000_000_000, size };
        bytes(mbo(&common(sequence), last, order_id, change)).as_flattened().to_vec()
    };
    let (offer, bid) = (DbnSide::Ask, DbnSide::Bid);
    let records = [
        record(1, LAST, 12, (Action::Add, offer, 50)),
        record(2, LAST, 13, (Action::Add, offer, 70)),
        record(3, 0, 0, (Action::Trade, bid, 60)),
        record(3, 0, 12, (Action::Fill, offer, 50)),
        record(3, 0, 13, (Action::Fill, offer, 10)),
        record(3, 0, 12, (Action::Cancel, offer, 50)),
        record(3, LAST, 13, (Action::Cancel, offer, 10)),
    ];
    let metadata = Metadata::builder()
        .dataset("XNAS.ITCH")
        .schema(Some(Schema::Mbo))
        .start(midnight)
        .stype_in(Some(SType::RawSymbol))
        .stype_out(SType::InstrumentId)
        .symbols(vec!["TEST".to_owned()])
        .build();
    let mut file = Vec::new();
    DbnMetadataEncoder::new(&mut file).encode(&metadata).unwrap();
    file.extend(records.concat());
    file
}

#[test]
fn trades_that_are_not_broken_add_up_to_the_volume_of_each_stock() {
    let folder = Folder::new("trades");
    let day = folder.day(150_000, 30);
    let ran = nanotape(["trades", &day, "--format", "json"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let rows = rows_of(&ran);
    let broken = rows.iter().filter(|row| row["broken"] == true).count();
    let breaks = nanotape(["inspect", &day, "--type", "B"]).stdout.lines().count();
    assert!(broken == breaks && breaks > 0, "{broken} marked, {breaks} B messages");
    assert!(!agreed_volumes(&day, &[]).is_empty());

    // Standard input is read once, so a break that comes later is a line.
    let bytes = std::fs::read(&day).unwrap();
    let piped = nanotape_fed(["trades", "-", "--format", "json"], &bytes);
    assert_eq!(piped.status, 0);
    let expected = format!("standard input: {breaks} trade");
    let reported = piped.stderr.replace("nanotape: -:", "nanotape: standard input:");
    assert!(
        reported.contains(&expected) && reported.contains("match numbers "),
        "{}",
        piped.stderr
    );
    for (one, other) in rows_of(&piped).iter().zip(&rows) {
        assert!(one["broken"].is_null());
        assert_eq!(one["price"], other["price"]);
    }
}

/// The price of an execution is that of its order, from a journal too.
#[test]
fn trades_of_a_journal_and_of_a_dbn_file_are_those_of_the_day() {
    let folder = Folder::new("trades-records");
    let day = folder.path("2019-12-30.itch50");
    let good = |arguments: &[&str]| {
        let ran = nanotape(arguments);
        assert_eq!(ran.status, 0, "{arguments:?}: {}", ran.stderr);
        ran
    };
    good(&["synth", "-o", &day, "--messages", "60k", "--stocks", "20"]);
    let (ring, journal, dbn) = (folder.path("ring"), folder.path("days"), folder.path("day.dbn"));
    good(&["run", "--input", &day, "--ring", &ring, "--capacity", "64MB"]);
    good(&["journal", "record", &ring, &journal]);
    good(&["tap", &day, "-o", &dbn]);
    let of_day = rows_of(&good(&["trades", &day, "--format", "json"]));
    for records in [&journal, &dbn] {
        let ran = good(&["trades", records, "--format", "json"]);
        assert!(ran.stderr.contains("records have no match numbers"), "{}", ran.stderr);
        let of_records = rows_of(&ran);
        assert_eq!(of_records.len(), of_day.len());
        for (own, expected) in of_records.iter().zip(&of_day) {
            for name in [
                "message",
                "ts_ns",
                "symbol",
                "price",
                "size",
                "aggressor",
                "order_reference_number",
            ] {
                assert_eq!(own[name], expected[name], "{name} of {expected:?}");
            }
            let kind = if expected["kind"] == "execution" { "execution" } else { "off_book" };
            assert_eq!(own["kind"], kind);
            assert!(own["match_number"].is_null() && own["broken"].is_null());
        }
    }
}
