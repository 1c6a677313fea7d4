//! A DBN file contains the published records, as read by the dbn crate's own decoder.

use std::{
    fs,
    path::{Path, PathBuf},
};

use dbn::{
    ErrorMsg, Metadata, SymbolMappingMsg, SystemMsg,
    decode::{DbnMetadata as _, DecodeRecordRef as _, dbn::Decoder},
};
use nanotape_plant::records::{Notice, Record, RecordKind};
use nanotape_ring::{Gap, Start};
use nanotape_tap::{DbnFile, Event, NextFile, Subscriber, Subscription};
use nanotape_types::{StockLocate, Symbol};

use crate::published::{
    messages::{add, directory},
    support::{Folder, run},
};

/// The records that were added to a file, and those that were read from it.
#[derive(Default)]
struct Written {
    file: Vec<u8>,
    /// The earlier files, and why each one ended.
    before: Vec<(Vec<u8>, NextFile)>,
    /// Records of the ring with a DBN type.
    records: Vec<Vec<u8>>,
    notices: Vec<Notice>,
    lost: Vec<Gap>,
    names: Vec<(StockLocate, Symbol)>,
}

#[derive(Debug)]
struct Decoded {
    metadata: Metadata,
    records: Vec<Vec<u8>>,
    systems: Vec<String>,
    errors: Vec<(u32, String)>,
    /// Mappings, with the number of records before each.
    mappings: Vec<(usize, u32, String, u64)>,
}

fn write(mut subscriber: Subscriber, symbols: &[Symbol], stops: usize) -> Written {
    let mut written = Written::default();
    let mut file = DbnFile::new(Vec::new(), symbols);
    let mut stopped = 0;
    while stopped < stops {
        let read = subscriber.poll(|event| {
            if let Err(next) = file.add(&event) {
                let following = file.following(Vec::new());
                let over = std::mem::replace(&mut file, following);
                written.before.push((over.close().unwrap(), next));
                file.add(&event).unwrap();
            }
            match event {
                Event::Lost(lapped) => written.lost.push(lapped),
                Event::Healed(_) | Event::Reported { .. } => panic!("{event:?}, without a journal"),
                Event::Record(delivery) => match delivery.record {
                    Record::Notice(notice) => {
                        stopped += usize::from(matches!(notice, Notice::Stop(_)));
                        written.notices.push(notice);
                    }
                    _ => written.records.push(delivery.bytes.to_vec()),
                },
            }
        });
        assert!(read.unwrap() > 0, "a stop is the last record");
        file.write(&subscriber).unwrap();
    }
    written.names = subscriber.symbols();
    written.file = file.finish(&subscriber).unwrap();
    written
}

fn decode(file: &[u8]) -> Decoded {
    let mut decoder = Decoder::new(file).unwrap();
    let mut decoded = Decoded {
        metadata: decoder.metadata().clone(),
        records: Vec::new(),
        systems: Vec::new(),
        errors: Vec::new(),
        mappings: Vec::new(),
    };
    while let Some(record) = decoder.decode_record_ref().unwrap() {
        let id = record.header().instrument_id;
        if let Some(system) = record.get::<SystemMsg>() {
            decoded.systems.push(system.msg().unwrap().to_owned());
        } else if let Some(error) = record.get::<ErrorMsg>() {
            decoded.errors.push((id, error.err().unwrap().to_owned()));
        } else if let Some(mapping) = record.get::<SymbolMappingMsg>() {
            assert_eq!(mapping.stype_in_symbol().unwrap(), id.to_string());
            let symbol = mapping.stype_out_symbol().unwrap().to_owned();
            decoded.mappings.push((decoded.records.len(), id, symbol, mapping.start_ts));
        } else {
            decoded.records.push(record.as_ref().to_vec());
        }
    }
    decoded
}

fn from_oldest(folder: &Folder) -> Subscription {
    Subscription::to(&folder.ring()).from(Start::Oldest)
}

#[test]
fn a_day_in_a_file_is_the_day_that_was_published() {
    let folder = Folder::new();
    let ended = run(&folder.config(&folder.day(20_000, 20)));
    let written = write(from_oldest(&folder).open().unwrap(), &[], 1);
    let decoded = decode(&written.file);
    assert!(written.records.len() > 20_000);
    assert_eq!(written.records.len() as u64 + 2, ended.stop.records);
    assert!(decoded.records == written.records, "every record, in order, and no other");

    let [start, stop] = written.notices[..] else { panic!("{:?}", written.notices) };
    assert_eq!(decoded.systems, [format!("plant start: {start}"), format!("plant stop: {stop}")]);
    assert!(decoded.systems[0].contains("trade date 2019-12-30"));
    assert!(decoded.errors.is_empty(), "{:?}", decoded.errors);
    check_names(&written, &decoded, 0, 1_577_682_000_000_000_000);
    let Notice::Stop(stop) = stop else { panic!("{stop:?}") };

    let metadata = decoded.metadata;
    assert_eq!((metadata.dataset.as_str(), metadata.schema), ("XNAS.ITCH", None));
    assert_eq!(metadata.start, 1_577_682_000_000_000_000);
    let names: Vec<_> = written.names.iter().map(|(_, symbol)| symbol.to_string()).collect();
    assert_eq!((names.len(), &metadata.symbols), (20, &names));
    let mapped: Vec<_> = metadata.mappings.iter().map(|of| &of.raw_symbol).collect();
    assert_eq!(mapped, names.iter().collect::<Vec<_>>());
    for (mapping, (locate, _)) in metadata.mappings.iter().zip(&written.names) {
        let [interval] = mapping.intervals.as_slice() else { panic!("one interval a stock") };
        assert_eq!(interval.symbol, locate.to_string());
        assert_eq!(interval.start_date.to_string(), "2019-12-30");
    }
    // The names also hold on the day of the plant's run, since tables are indexed by it.
    let map = metadata.symbol_map().unwrap();
    let (locate, symbol) = &written.names[0];
    for at in [stop.ts_event, stop.stopped_ns] {
        let name = map.get_for_ts(at, u32::from(locate.get()));
        assert_eq!(name.map(String::as_str), Some(symbol.to_string().as_str()));
    }
}

#[test]
fn a_file_of_some_stocks_and_kinds_names_these_stocks_only() {
    let folder = Folder::new();
    run(&folder.config(&folder.day(20_000, 20)));
    let all = from_oldest(&folder).open().unwrap().symbols();
    let wanted: Vec<Symbol> = all[3..5].iter().map(|&(_, symbol)| symbol).collect();
    let subscription = from_oldest(&folder).symbols(wanted.clone()).records([RecordKind::Bbo]);
    let written = write(subscription.open().unwrap(), &wanted, 1);
    let decoded = decode(&written.file);
    assert!(decoded.records.len() > 10 && decoded.records == written.records);
    let texts: Vec<_> = wanted.iter().map(ToString::to_string).collect();
    assert_eq!(decoded.metadata.symbols, texts);
    let mapped: Vec<_> = decoded.metadata.mappings.iter().map(|of| &of.raw_symbol).collect();
    assert_eq!(mapped, texts.iter().collect::<Vec<_>>());
}

#[test]
fn what_dbn_has_no_record_for_is_text_with_the_exact_numbers() {
    let folder = Folder::new();
    let day = folder.day(20_000, 4);
    spoil_an_add(&day);
    let mut config = folder.config(&day);
    config.ring.capacity_bytes = Some(64 << 10);
    let ended = run(&config);
    assert_eq!(ended.stop.damaged, 1);

    let subscription = Subscription::to(&folder.ring()).from(Start::Sequence(1));
    let written = write(subscription.open().unwrap(), &[], 1);
    let [lost] = written.lost.as_slice() else { panic!("lapped once: {:?}", written.lost) };
    assert_eq!(lost.from, 1);
    // Lost records and records of the file add up to the published ones.
    let kept = written.records.len() + written.notices.len();
    assert_eq!(lost.count() + kept as u64, ended.stop.records);
    let decoded = decode(&written.file);
    let text = format!(
        "lost {} messages, 1 to {} of the ring, overwritten before they were read",
        lost.to, lost.to
    );
    assert_eq!(decoded.errors, [(0, text)]);
    assert!(decoded.records == written.records);

    config.ring.capacity_bytes = Some(16 << 20);
    config.ring.replace = true;
    let ended = run(&config);
    let written = write(from_oldest(&folder).open().unwrap(), &[], 1);
    let mut expected = Vec::new();
    for notice in &written.notices {
        match notice {
            Notice::Gap(gap) => expected.push((0, format!("gap: {gap}"))),
            Notice::Taint(taint) => {
                let locate = StockLocate::new(taint.instrument_id as u16);
                let (_, symbol) = written.names.iter().find(|(of, _)| *of == locate).unwrap();
                expected.push((taint.instrument_id, format!("taint: {symbol}: {taint}")));
            }
            _ => {}
        }
    }
    assert_eq!((expected.len(), ended.tainted_stocks), (2, 1), "{expected:?}");
    let decoded = decode(&written.file);
    assert_eq!(decoded.errors, expected);
    assert!(decoded.records == written.records);
}

/// A day of one stock with one order: together with the next day it fits into a reader's buffer.
fn short_day(folder: &Folder, name: &str, stock: &str) -> PathBuf {
    let mut bytes = Vec::new();
    for message in [directory(1, stock), add(1, 7, b'B', 100, 100_000)] {
        bytes.extend(u16::try_from(message.len()).unwrap().to_be_bytes());
        bytes.extend(message);
    }
    let path = folder.path(name);
    fs::write(&path, bytes).unwrap();
    path
}

/// Symbols of the records of stocks, by the metadata of the file.
fn names_of(file: &[u8]) -> Vec<String> {
    let decoded = decode(file);
    let map = decoded.metadata.symbol_map().unwrap();
    let name = |record: &Vec<u8>| {
        let id = u32::from_le_bytes(record[4..8].try_into().unwrap());
        let ts_event = u64::from_le_bytes(record[8..16].try_into().unwrap());
        map.get_for_ts(ts_event, id).cloned().unwrap_or_default()
    };
    decoded.records.iter().map(name).collect()
}

#[test]
fn another_trade_date_begins_another_file_with_its_own_names() {
    let folder = Folder::new();
    let day = folder.day(2_000, 5);
    let first = run(&folder.config(&day)).stop.records;
    let next_day = folder.path("20191231.itch50");
    fs::rename(&day, &next_day).unwrap();
    run(&folder.config(&next_day));
    let written = write(from_oldest(&folder).open().unwrap(), &[], 2);
    let [(before, next)] = written.before.as_slice() else { panic!("two files") };
    assert_eq!(*next, NextFile::Date { sequence: first + 1, date: 20_191_231 });
    assert_eq!(next.to_string(), format!("message {} of trade date 2019-12-31", first + 1));
    let (before, decoded) = (decode(before), decode(&written.file));
    // Starts and stops do not count as records here.
    assert_eq!(before.records.len() as u64, first - 2);
    assert!([before.records.clone(), decoded.records.clone()].concat() == written.records);
    for (file, date, midnight_ns) in [
        (&before, "2019-12-30", 1_577_682_000_000_000_000),
        (&decoded, "2019-12-31", 1_577_768_400_000_000_000),
    ] {
        assert_eq!((file.systems.len(), file.metadata.mappings.len()), (2, 5));
        assert!(file.systems[0].contains(date), "{:?}", file.systems);
        assert_eq!(file.metadata.start, midnight_ns);
        check_names(&written, file, 0, midnight_ns);
    }
}

#[test]
fn days_that_are_read_at_once_have_a_file_each_with_the_names_of_its_day() {
    let folder = Folder::new();
    run(&folder.config(&short_day(&folder, "20191230.itch50", "AAPL")));
    run(&folder.config(&short_day(&folder, "20191231.itch50", "AAZ")));
    let written = write(from_oldest(&folder).open().unwrap(), &[], 2);
    assert_eq!(written.before.len(), 1);
    assert_eq!(names_of(&written.before[0].0), ["AAPL"; 3]);
    assert_eq!(names_of(&written.file), ["AAZ"; 3]);
}

#[test]
fn a_locate_that_is_another_stock_on_the_same_date_begins_another_file() {
    let folder = Folder::new();
    run(&folder.config(&short_day(&folder, "20191230.itch50", "AAPL")));
    let other = folder.path("other");
    fs::create_dir(&other).unwrap();
    run(&folder.config(&short_day(&folder, "other/20191230.itch50", "AAZ")));
    let written = write(from_oldest(&folder).open().unwrap(), &[], 2);
    let [(before, next)] = written.before.as_slice() else { panic!("two files") };
    let expected = "instrument 1 is AAZ, but was AAPL in the file so far";
    assert!(next.to_string().ends_with(expected), "{next}");
    assert_eq!(names_of(before), ["AAPL"; 3]);
    assert_eq!(names_of(&written.file), ["AAZ"; 3]);
    // The same stocks continue in the same file.
    run(&folder.config(&short_day(&folder, "20191230.itch50", "AAZ")));
    let again = write(from_oldest(&folder).open().unwrap(), &[], 3);
    assert_eq!((again.before.len(), names_of(&again.file)), (1, vec!["AAZ".to_owned(); 6]));
}

/// Checks that every stock is named once after record `first`, before its own first record.
fn check_names(written: &Written, decoded: &Decoded, first: usize, midnight_ns: u64) {
    assert_eq!(decoded.mappings.len(), written.names.len());
    for (place, id, symbol, start_ts) in &decoded.mappings {
        let id_of = |record: &Vec<u8>| u32::from_le_bytes(record[4..8].try_into().unwrap());
        assert!(*place >= first);
        assert_eq!(id_of(&decoded.records[*place]), *id);
        assert!(!decoded.records[first..*place].iter().any(|record| id_of(record) == *id));
        let named = written.names.iter().find(|(of, _)| u32::from(of.get()) == *id).unwrap();
        assert_eq!(*symbol, named.1.to_string());
        assert_eq!(*start_ts, midnight_ns);
    }
}

/// Invalidates the type of a message that enters an order, which a later message removes.
fn spoil_an_add(day: &Path) {
    let mut bytes = fs::read(day).unwrap();
    let (mut at, mut adds) = (0, Vec::new());
    while at < bytes.len() {
        let length = usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
        let message = &bytes[at + 2..at + 2 + length];
        // The reference is at byte 11 of an order message.
        match message[0] {
            b'A' => adds.push((at + 2, message[11..19].to_vec())),
            b'D' => {
                let gone = &message[11..19];
                if let Some((add, _)) = adds.iter().rev().find(|(_, of)| of == gone) {
                    bytes[*add] = b'D';
                    return fs::write(day, bytes).unwrap();
                }
            }
            _ => {}
        }
        at += 2 + length;
    }
    panic!("no order that enters is deleted");
}
