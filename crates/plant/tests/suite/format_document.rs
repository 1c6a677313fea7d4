//! The format documents of records and boards agree with the code.

use std::fs;

use nanotape_harness::Scratch;
use nanotape_plant::{
    PlantConfig, PlantRun, PlantState, ShutdownFlag,
    board::{BoardReader, FIELDS, KIND, LAYOUT, board_path},
    records::{Notice, RecordKind},
};
use nanotape_shm::HEADER_BYTES;
use nanotape_synth::{Market, MarketConfig};
use nanotape_types::StockLocate;

const BOARD: &str = include_str!("../../../../docs/formats/board.md");
const RECORDS: &str = include_str!("../../../../docs/formats/records.md");

/// The part of a document that begins with this heading, up to the next of its kind.
fn part(document: &'static str, heading: &str) -> &'static str {
    let (_, rest) = document.split_once(heading).unwrap_or_else(|| panic!("{heading}?"));
    let mark = format!("\n{} ", heading.split(' ').next().unwrap());
    rest.split(&mark).next().unwrap()
}

/// The cells of the rows of all tables of a text.
fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines().filter_map(|line| {
        let row = line.strip_prefix('|')?.strip_suffix('|')?;
        Some(row.split('|').map(str::trim).collect())
    })
}

#[test]
fn the_table_of_a_board_is_the_constants_of_the_code() {
    let rows = rows(part(BOARD, "## Layout")).filter_map(|cells| {
        let (offset, size) = (cells[0].parse::<usize>().ok()?, cells[1].parse::<usize>().ok()?);
        Some((offset, size, cells[2].trim_matches('`').to_owned()))
    });
    let fields = FIELDS.map(|(offset, size, name)| (offset, size, name.to_owned()));
    assert_eq!(rows.collect::<Vec<_>>(), fields);
    let letters = |number: [u8; 8]| String::from_utf8(number.to_vec()).unwrap();
    assert!(BOARD.contains(&format!("layout `{}`", letters(LAYOUT.to_be_bytes()))));
    assert!(BOARD.contains(&format!("Region kind `{}`", letters(KIND).trim_end())));
}

/// The result of a plant that has read a small day, in a temporary folder.
struct Ran(Scratch);

impl Ran {
    fn new() -> Self {
        let folder = Scratch::folder("document");
        let day = folder.join("20191230.itch50");
        let config = MarketConfig { messages: 4_000, symbols: 9, ..MarketConfig::default() };
        let mut bytes = Vec::new();
        Market::new(config).unwrap().write_to(&mut bytes).unwrap();
        fs::write(&day, bytes).unwrap();
        let mut config = PlantConfig::default();
        config.input.file = day;
        config.ring.name = folder.join("ring").display().to_string();
        PlantRun::open(&config, ShutdownFlag::new()).unwrap().run(|_| ()).unwrap();
        Self(folder)
    }
}

/// Each documented value is at its documented position, and no other word is stored.
#[test]
fn a_real_board_is_as_the_document_says() {
    let ran = Ran::new();
    let ring = ran.0.join("ring");
    let bytes = fs::read(board_path(&ring)).unwrap();
    let word = |at: usize| u64::from_ne_bytes(*bytes[HEADER_BYTES + at..].first_chunk().unwrap());
    let at = |name: &str| FIELDS.iter().find(|field| field.2 == name).unwrap().0;
    let board = BoardReader::open(&ring).unwrap();
    let stat = board.look();
    let PlantState::Stopped(_) = stat.state else { panic!("{:?}", stat.state) };
    assert_eq!(word(at("state")) as u32, 2);
    for (name, value) in [
        ("updated_ns", stat.updated_ns),
        ("messages", stat.messages),
        ("ts_event", stat.ts_event),
        ("offset", stat.offset),
        ("live_orders", stat.live_orders),
        ("records", stat.records[0]),
        ("notices", stat.notices),
        ("anomalies", stat.anomalies[0]),
    ] {
        assert_eq!(word(at(name)), value, "{name}");
    }
    assert_eq!((stat.messages, stat.notices), (4_000, 2));
    let locate = StockLocate::new(1);
    let symbol = word(at("symbols") + 8 * locate.index()).to_le_bytes();
    assert_eq!(board.symbol(locate).unwrap().as_bytes(), symbol);
    for offset in (0..bytes.len() - HEADER_BYTES).step_by(8) {
        let is_named = FIELDS.iter().any(|&(from, size, _)| (from..from + size).contains(&offset));
        assert!(is_named || word(offset) == 0, "byte {offset} is not in the document");
    }
}

#[test]
fn the_types_and_lengths_of_records_are_those_of_the_code() {
    for (kind, heading) in [
        (RecordKind::Mbo, "### Order records"),
        (RecordKind::Bbo, "### Insides"),
        (RecordKind::Trades, "### Trades"),
        (RecordKind::Status, "### States"),
        (RecordKind::Definitions, "### Definitions"),
        (RecordKind::Imbalances, "### Imbalances"),
    ] {
        let says = format!("type {:#06x}, {} bytes", kind.type_id(), kind.length());
        assert!(part(RECORDS, heading).contains(&says), "{heading}: {says}");
    }
}

/// A notice with the words of its table is valid, and with one word less it is refused.
#[test]
fn the_tables_of_notices_have_as_many_words_as_the_code_reads() {
    let headings = ["### Gap: ", "### Taint: ", "### Start: ", "### Stop: "];
    for (type_id, heading) in (0xFFF0_u16..).zip(headings) {
        let text = part(RECORDS, heading);
        let words: Vec<_> = rows(text).filter_map(|cells| cells[0].parse::<usize>().ok()).collect();
        assert_eq!(words, (0..words.len()).collect::<Vec<_>>(), "{heading}");
        let length = 8 * words.len();
        assert!(text.starts_with(&format!("type {type_id:#06x}, {length} bytes")), "{heading}");
        let notice = Notice::decode(type_id, &vec![0; length]).unwrap();
        assert_eq!(notice.type_id(), type_id);
        assert_eq!(Notice::decode(type_id, &vec![0; length - 8]), None);
    }
}
