//! The format documents of records, boards and recorders agree with the code.

use std::fs;

use nanotape_board::{
    BoardReader, FIELDS, FOLLOWER_FIELDS, FOLLOWER_KIND, FOLLOWER_LAYOUT, FollowerReader, KIND,
    LAYOUT, PlantState, RECORDER_FIELDS, RECORDER_KIND, RECORDER_LAYOUT, RecorderReader,
    RecorderState, board_path, follower_path, recorder_path,
};
use nanotape_harness::Scratch;
use nanotape_journal::{Appender, AppenderOptions};
use nanotape_plant::{PlantConfig, PlantRun, ShutdownFlag, records::RecordKind};
use nanotape_ring::stream;
use nanotape_shm::{HEADER_BYTES, SharedRegion};
use nanotape_synth::{Market, MarketConfig};
use nanotape_tap::{Recorder, RecorderOptions, Subscription};
use nanotape_types::StockLocate;

const BOARD: &str = include_str!("../../../../../docs/formats/board.md");
const RECORDER: &str = include_str!("../../../../../docs/formats/recorder.md");
const FOLLOWER: &str = include_str!("../../../../../docs/formats/follower.md");
const RECORDS: &str = include_str!("../../../../../docs/formats/records.md");

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

/// The rows of the table of a region: offset, size and name.
fn fields(document: &'static str) -> Vec<(usize, usize, String)> {
    let rows = rows(part(document, "## Layout")).filter_map(|cells| {
        let (offset, size) = (cells[0].parse::<usize>().ok()?, cells[1].parse::<usize>().ok()?);
        Some((offset, size, cells[2].trim_matches('`').to_owned()))
    });
    rows.collect()
}

fn check_layout(
    document: &'static str,
    expected: &[(usize, usize, &str)],
    kind: [u8; 8],
    layout: u64,
) {
    let named = |&(offset, size, name): &(usize, usize, &str)| (offset, size, name.to_owned());
    assert_eq!(fields(document), expected.iter().map(named).collect::<Vec<_>>());
    let letters = |number: [u8; 8]| String::from_utf8(number.to_vec()).unwrap();
    assert!(document.contains(&format!("layout `{}`", letters(layout.to_be_bytes()))));
    assert!(document.contains(&format!("Region kind `{}`", letters(kind).trim_end())));
}

#[test]
fn the_tables_of_regions_are_the_constants_of_the_code() {
    check_layout(BOARD, &FIELDS, KIND, LAYOUT);
    check_layout(RECORDER, &RECORDER_FIELDS, RECORDER_KIND, RECORDER_LAYOUT);
    check_layout(FOLLOWER, &FOLLOWER_FIELDS, FOLLOWER_KIND, FOLLOWER_LAYOUT);
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
        config.ring.name = folder.join("ring");
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
    let stat = board.sample();
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
    check_rest(&bytes, &FIELDS);
}

/// Checks that all words that the document does not list are zero.
fn check_rest(bytes: &[u8], fields: &[(usize, usize, &str)]) {
    for (place, word) in bytes[HEADER_BYTES..].chunks(8).enumerate() {
        let is_named =
            fields.iter().any(|&(from, size, _)| (from..from + size).contains(&(8 * place)));
        assert!(is_named || word.iter().all(|&byte| byte == 0), "word {place} is not documented");
    }
}

#[test]
fn a_real_region_of_a_recorder_is_as_the_document_says() {
    let ran = Ran::new();
    let (ring, journal) = (ran.0.join("ring"), ran.0.join("journal"));
    let appender = Appender::open(&journal, &AppenderOptions::default()).unwrap();
    let options = RecorderOptions { mode: 0o600, ..RecorderOptions::default() };
    let mut recorder = Recorder::open(&ring, appender, &options).unwrap().unwrap();
    recorder.run(|_| ()).unwrap();
    let summary = recorder.summary();
    let reader = RecorderReader::open(&ring).unwrap();
    let stat = reader.sample();
    assert_eq!(stat.state, RecorderState::Recording);
    assert!(summary.recorded > 4_000, "{summary:?}");
    assert_eq!((stat.recorded, stat.next_sequence), (summary.recorded, summary.next_sequence));
    assert_eq!((&stat.journal, stat.lost, stat.gaps), (&journal, 0, 0));
    recorder.close().unwrap();
    assert_eq!(reader.sample().state, RecorderState::Gone);

    let bytes = fs::read(recorder_path(&ring)).unwrap();
    let word = |at: usize| u64::from_ne_bytes(*bytes[HEADER_BYTES + at..].first_chunk().unwrap());
    let at = |name: &str| RECORDER_FIELDS.iter().find(|field| field.2 == name).unwrap().0;
    for (name, value) in [
        ("state", 1),
        ("updated_ns", stat.updated_ns),
        ("next_sequence", stat.next_sequence),
        ("position_bytes", stat.position_bytes),
        ("recorded", stat.recorded),
        ("journal_length", journal.as_os_str().len() as u64),
    ] {
        assert_eq!(word(at(name)), value, "{name}");
    }
    check_rest(&bytes, &RECORDER_FIELDS);
}

#[test]
fn a_real_region_of_a_follower_is_as_the_document_says() {
    let ran = Ran::new();
    let ring = ran.0.join("ring");
    // Another writer of the ring: a follower joins a living one.
    let mut config = PlantConfig::default();
    config.input.file = ran.0.join("20191230.itch50");
    config.ring.name.clone_from(&ring);
    let mut plant = PlantRun::open(&config, ShutdownFlag::new()).unwrap();
    let first = plant.first_sequence();
    let subscription = Subscription::to(&config.ring.name).named("audit");
    let mut subscriber = subscription.open().unwrap();
    assert_eq!(subscriber.next_sequence(), first);
    plant.run(|_| ()).unwrap();
    while subscriber.poll(|_| ()).unwrap() > 0 {}
    let stat = FollowerReader::open(&ring, "audit").unwrap().sample();
    assert_eq!((stat.first_sequence, stat.next_sequence), (first, plant.next_sequence()));
    let created_ns = SharedRegion::open(&ring, stream::KIND).unwrap().created_ns();
    assert!(stat.follows(created_ns, 2) && !stat.follows(created_ns, 1), "{stat:?}");
    assert!(stat.position_bytes > 0 && stat.lost == 0);

    let bytes = fs::read(follower_path(&ring, "audit").unwrap()).unwrap();
    let word = |at: usize| u64::from_ne_bytes(*bytes[at..].first_chunk().unwrap());
    // The parameters are after the seven words of the header before them.
    assert_eq!([word(56), word(64), word(72), word(80)], [created_ns, 2, first, 0]);
    let at = |name: &str| FOLLOWER_FIELDS.iter().find(|field| field.2 == name).unwrap().0;
    for (name, value) in
        [("next_sequence", stat.next_sequence), ("position_bytes", stat.position_bytes)]
    {
        assert_eq!(word(HEADER_BYTES + at(name)), value, "{name}");
    }
    check_rest(&bytes, &FOLLOWER_FIELDS);
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
