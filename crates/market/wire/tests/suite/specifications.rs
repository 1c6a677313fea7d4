//! The tables and vectors of the shared specifications of IEX and Cboe: every message has the
//! length and the fields that they state, and every vector decodes to its values and encodes to its
//! bytes.
//!
//! The files are outside the repository: without them, these tests print `SKIPPED` and pass.

use std::{collections::BTreeSet, fs, path::Path};

use nanotape_harness::skipped;
use nanotape_wire::{
    codec::{Layout, Shape},
    iex_common, iex_deep, iex_deep_plus, pitch, pitch_tcp,
};

fn specification(name: &str) -> Option<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../../shared/specs");
    let text = fs::read_to_string(Path::new(folder).join(name));
    if text.is_err() {
        skipped(format_args!("no {name} in ../shared/specs"));
    }
    text.ok()
}

/// The cells of a row of a table.
fn cells(row: &str) -> Vec<&str> {
    row.trim().trim_matches('|').split(" | ").map(|cell| cell.trim_matches([' ', '|'])).collect()
}

/// The sections of a page whose heading has a length: heading, length, and its rows.
fn messages(text: &str) -> Vec<(&str, usize, Vec<Vec<&str>>)> {
    let sections = text.split("\n### ").skip(1).filter_map(|section| {
        let (heading, body) = section.split_once('\n')?;
        let (name, length) = heading.rsplit_once("(len ")?;
        let length = length.trim_end_matches(')').parse().ok()?;
        let body = body.split("\n## ").next().unwrap_or_default();
        let rows = body.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| off"));
        Some((name, length, rows.map(cells).collect()))
    });
    sections.collect()
}

fn tag_of(shape: &Shape) -> Option<u8> {
    let number = shape.extension.number.map(|(_, of)| of.value as u8);
    shape.tag.map(|(_, tag)| tag).or(number)
}

/// Offset and length of every field of a layout, its type included.
fn fields_of(layout: &Layout) -> BTreeSet<(usize, usize)> {
    let slots = layout.fields.iter().map(|slot| (slot.offset, slot.length));
    let offset = layout.shape.tag.map(|(offset, _)| offset);
    let offset = offset.or(layout.shape.extension.number.map(|(offset, _)| offset));
    slots.chain(offset.map(|offset| (offset, 1))).collect()
}

/// Compares a page with layouts, and returns how many have all their fields there. A section may
/// also say in words that it has the fields of another one.
fn compare(text: &str, layouts: &[&[Layout]], tag_in: impl Fn(&str) -> Option<u8>) -> usize {
    let mut compared = 0;
    for (heading, length, rows) in messages(text) {
        let Some(tag) = tag_in(heading) else { continue };
        let of_tag = |layout: &&&Layout| tag_of(&layout.shape) == Some(tag);
        let all: Vec<&Layout> = layouts.iter().flat_map(|list| list.iter()).collect();
        let found: Vec<&&Layout> = all.iter().filter(of_tag).collect();
        assert!(!found.is_empty(), "no message for '{heading}'");
        for layout in found {
            assert_eq!(layout.shape.length, length, "{heading}");
            let stated: BTreeSet<(usize, usize)> = rows
                .iter()
                .filter_map(|row| Some((row[0].parse().ok()?, row[1].parse().ok()?)))
                .collect();
            if !stated.is_empty() {
                assert_eq!(fields_of(layout), stated, "{heading}");
                compared += 1;
            }
        }
    }
    compared
}

/// The character in backquotes.
fn character(heading: &str) -> Option<u8> {
    heading.strip_prefix('`')?.bytes().next()
}

/// The number after `0x`.
fn number(heading: &str) -> Option<u8> {
    u8::from_str_radix(heading.strip_prefix("0x")?.get(..2)?, 16).ok()
}

#[test]
fn every_table_of_iex_has_these_bytes() {
    let Some(text) = specification("iex-deep.md") else { return };
    // The page has the messages of both feeds, and of both some twice.
    let (deep, plus) = text.split_once("## DEEP+ trading messages").expect("two feeds");
    assert_eq!(compare(deep, &[iex_deep::LAYOUTS, iex_common::LAYOUTS], character), 23);
    assert_eq!(compare(plus, &[iex_deep_plus::LAYOUTS], character), 7);
}

#[test]
fn every_table_of_pitch_has_these_bytes() {
    let Some(text) = specification("cboe-pitch.md") else { return };
    assert_eq!(compare(&text, &[pitch::LAYOUTS], number), 21);
    // The messages on TCP are rows of one table: type, name, length, fields in words.
    let rows = text.lines().filter(|line| line.starts_with("| 0x0") || line.starts_with("| 0x8"));
    let mut compared = 0;
    for row in rows.map(cells).filter(|row| row.len() == 4) {
        let (Some(tag), Ok(length)) = (number(row[0]), row[2].parse::<usize>()) else { continue };
        let layout = pitch_tcp::LAYOUTS.iter().find(|of| tag_of(&of.shape) == Some(tag));
        assert_eq!(layout.map(|layout| layout.shape.length), Some(length), "{row:?}");
        compared += 1;
    }
    assert_eq!(compared, 8);
}

/// The hexadecimal numbers in backquotes of some text.
fn hexadecimal(text: &str) -> Vec<Vec<u8>> {
    let quoted = text.split('`').skip(1).step_by(2);
    let is_hex = |text: &&str| text.len() > 4 && text.bytes().all(|b| b.is_ascii_hexdigit());
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes =
        quoted.filter(is_hex).map(|text| text.as_bytes().chunks(2).map_while(pair).collect());
    bytes.collect()
}

/// The text of a message that encodes to its bytes.
macro_rules! text_of {
    ($protocol:ident, $bytes:expr) => {{
        let bytes: &[u8] = $bytes;
        let message = $protocol::Message::decode(bytes).expect("the vector decodes");
        assert!(!matches!(message, $protocol::Message::Unknown(_)), "{message:?}");
        let mut buffer = [0; 255];
        assert_eq!(message.encode(&mut buffer), Ok(bytes));
        let mut text = String::new();
        message.write_text(&mut text).expect("a String takes any text");
        text
    }};
}

/// Checks that each text has what the specification states of its vector.
#[track_caller]
fn check(found: &[String], stated: &[&str]) {
    assert_eq!(found.len(), stated.len(), "{found:#?}");
    for (found, stated) in found.iter().zip(stated) {
        let mut rest = found.as_str();
        for part in stated.split(", ") {
            let at = rest.find(part);
            assert!(at.is_some(), "{found}: expected {stated}");
            rest = &rest[at.unwrap_or_default()..];
        }
    }
}

#[test]
fn every_vector_of_iex_has_its_values() {
    let Some(text) = specification("iex-deep.md") else { return };
    let (_, vectors) = text.split_once("## Vectors").expect("vectors");
    let rows = vectors.lines().filter(|line| line.starts_with("| `")).map(cells);
    let mut found = Vec::new();
    for row in rows {
        let bytes = hexadecimal(row[2]).remove(0);
        found.push(match row[1] {
            "DEEP" => text_of!(iex_deep, &bytes),
            "DEEP+" => text_of!(iex_deep_plus, &bytes),
            other => panic!("feed {other}"),
        });
    }
    let stated = [
        "S SystemEvent, =O(StartOfMessages)",
        "D SecurityDirectory, (test_security), =ZEXIT, =100, =10.0000, luld_tier=1(Tier1)",
        "H TradingStatus, =T(Trading)",
        "I RetailLiquidityIndicator, =\" \"(None)",
        "O OperationalHaltStatus, =N(NotHalted)",
        "P ShortSalePriceTestStatus, status=0(NotInEffect), detail=\" \"(NoTest)",
        "E SecurityEvent, =O(OpeningComplete)",
        "a AddOrder, =5(Sell), =IBKR, =27866022694354954, shares=100, price=136.5000",
        "M OrderModify, modify_flags=0x00, shares=200, price=138.3300",
        "R OrderDelete, =27866022694354954",
        "L OrderExecuted, (extended_hours), shares=100, price=138.0000, =27866022694354968",
        "T TradeReport",
        "B TradeBreak",
        "8 PriceLevelUpdateBuy, (event_complete), =V, shares=190, price=202.7700",
        "5 PriceLevelUpdateSell, (event_complete), =UNH, shares=82, price=344.1400",
    ];
    check(&found, &stated);
}

#[test]
fn every_vector_of_pitch_has_its_values() {
    let Some(text) = specification("cboe-pitch.md") else { return };
    let (_, vectors) = text.split_once("## Vectors").expect("vectors");
    let found: Vec<String> =
        hexadecimal(vectors).iter().map(|bytes| text_of!(pitch, bytes)).collect();
    let order = u64::from_le_bytes(*b"ORID0001");
    let added = format!(
        "0x21 AddOrderLong, time_offset=44000, ={order}, =B(Buy), shares=95000, \
                         symbol=AAPL, price=0.9050, (displayed)"
    );
    let stated = [
        "0x20 Time, time=09:31:40",
        &added,
        "0x22 AddOrderShort, =B(Buy), shares=25000, symbol=AAPL, price=0.95",
        "0x2f AddOrderExpanded, shares=25000, symbol=AAPL, price=0.9050, =MPID, =C(Customer)",
        "0x23 OrderExecuted, executed_shares=25000",
        "0x24 OrderExecutedAtPriceSize, executed_shares=25000, remaining_shares=20000, =0.9050",
        "0x25 ReduceSizeLong, cancelled_shares=25000",
        "0x26 ReduceSizeShort, cancelled_shares=25000",
        "0x27 ModifyOrderLong, shares=25000, price=0.9050, modify_flags=0x01(displayed)",
        "0x28 ModifyOrderShort, shares=25000, price=0.99, modify_flags=0x01(displayed)",
        "0x29 DeleteOrder",
        "0x20 Time, time=09:30:00",
        "0x22 AddOrderShort, =B(Buy), shares=400, symbol=MAT, price=20.66",
        "0x28 ModifyOrderShort, shares=100, price=27.87, modify_flags=0x01(displayed)",
    ];
    check(&found, &stated);
}
