//! The spans of a recorder and of a tap: each has the number of the message whose record it is.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    thread,
    time::Duration,
};

use nanotape_board::{PLANT_THREAD, trace_names, trace_path};
use nanotape_harness::eventually;
use nanotape_journal::{Appender, AppenderOptions, SyncPolicy};
use nanotape_plant::{
    Ended, PlantConfig, PlantRun, ShutdownFlag,
    records::{Record, RecordKind},
};
use nanotape_ring::Start;
use nanotape_tap::{Event, Recorder, RecorderOptions, Subscription};
use nanotape_trace::spans::{Polled, Rate, Request, Span, SpanReader};

use crate::published::support::{self, Folder};

const MESSAGES: u64 = 20_000;

/// The places of the sites of a plant, and of a thread that reads its records.
const BOOK: usize = 5;
const RECORDS: usize = 6;
const READ: usize = 0;

/// The recorder syncs its journal after so many records.
const SYNC_AFTER: u64 = 500;

/// All spans of a thread of this ring, with those that are lost as none.
fn spans(ring: &Path, thread: &str) -> Vec<Span> {
    let mut reader = SpanReader::open(&trace_path(ring, thread), Start::Oldest).unwrap();
    let mut spans = Vec::new();
    loop {
        match reader.try_next().unwrap() {
            Polled::Span(span) => spans.push(span),
            Polled::Lost(_) => {}
            Polled::Empty => return spans,
            other => panic!("{other:?} after {} spans", spans.len()),
        }
    }
}

/// Switches the sites of a thread as `nanotape trace on` does.
fn switch(ring: &Path, thread: &str, rate: Rate) {
    let reader = SpanReader::open(&trace_path(ring, thread), Start::Newest).unwrap();
    let rates = vec![rate; reader.sites().len()];
    Request::send(&reader, &rates).unwrap().wait().unwrap();
}

fn record(ring: &Path, folder: &Folder, wait: Duration) -> u64 {
    let sync = SyncPolicy::Excerpts(SYNC_AFTER);
    let options = AppenderOptions { sync, ..AppenderOptions::default() };
    let journal = Appender::open(&folder.path("journal"), &options).unwrap();
    let options = RecorderOptions { wait, mode: 0o600, ..RecorderOptions::default() };
    let mut recorder = Recorder::open(ring, journal, &options).unwrap().unwrap();
    recorder.run(|_| ()).unwrap();
    let recorded = recorder.summary().recorded;
    recorder.close().unwrap();
    recorded
}

/// Reads all records, and visits each for a moment.
fn tap(ring: &Path) -> u64 {
    let subscription = Subscription::to(ring).from(Start::Oldest).traced();
    let mut subscriber = subscription.open().unwrap();
    let mut count = 0;
    while let Some(event) = subscriber.next().unwrap() {
        let Event::Record(_) = event else { panic!("nothing is lost") };
        count += 1;
        subscriber.written();
    }
    count
}

/// Runs a plant with a recorder and a tap, all of which are traced at this rate.
fn run(folder: &Folder, config: &PlantConfig, rate: Rate) -> Ended {
    let ring = config.ring.name.as_path();
    thread::scope(|scope| {
        let mut plant = PlantRun::open(config, ShutdownFlag::new()).unwrap();
        let recorder = scope.spawn(|| record(ring, folder, Duration::from_secs(5)));
        let tap = scope.spawn(|| tap(&config.ring.name));
        let all = ["plant", "recorder", "tap"];
        eventually("all threads are traced", || trace_names(ring) == all);
        all.iter().for_each(|thread| switch(ring, thread, rate));
        let ended = plant.run(|_| ()).unwrap();
        let _ = plant.finish();
        assert_eq!(recorder.join().unwrap(), ended.stop.records);
        assert_eq!(tap.join().unwrap(), ended.stop.records);
        ended
    })
}

/// For each message: when its records were begun, and the numbers of its records.
fn published(ring: &Path) -> BTreeMap<u64, (Span, std::ops::Range<u64>)> {
    let all = spans(ring, PLANT_THREAD);
    let of_records: Vec<Span> =
        all.iter().copied().filter(|span| span.site.index() == RECORDS).collect();
    let pairs = of_records.windows(2).filter(|pair| pair[0].number + 1 == pair[1].number);
    pairs.map(|pair| (pair[1].number, (pair[1], pair[0].value..pair[1].value))).collect()
}

#[test]
fn spans_of_readers_have_the_numbers_of_the_messages_whose_records_they_read() {
    let folder = Folder::new();
    let mut config = folder.config(&folder.day(MESSAGES, 50));
    config.trace.spans = 1 << 17;
    let traced = run(&folder, &config, Rate::ALL);
    let ring = config.ring.name.as_path();
    let published = published(ring);
    assert!(published.len() as u64 > MESSAGES - 50);

    // The kinds of records that have a number, by their number on the ring.
    let mut numbered = BTreeMap::new();
    let mut reader = Subscription::to(&config.ring.name).from(Start::Oldest).open().unwrap();
    let mut note = |event: Event<'_>| {
        let Event::Record(record) = event else { panic!("nothing is lost") };
        let number = match record.record {
            Record::Mbo(order) => order.sequence,
            Record::Bbo(inside) => inside.sequence,
            Record::Trade(trade) => trade.sequence,
            _ => return,
        };
        numbered.insert(record.sequence, u64::from(number));
    };
    while reader.poll(&mut note).unwrap() > 0 {}

    for (thread, count) in [("recorder", 4), ("tap", 3)] {
        let all = spans(ring, thread);
        let mut read: BTreeMap<u64, Span> = BTreeMap::new();
        let (mut last, mut sites) = (None, BTreeSet::new());
        // The ring may begin with a later stage of a record.
        for span in all.iter().skip_while(|span| span.site.index() != READ) {
            let (site, record) = (span.site.index(), span.value);
            assert_eq!(numbered.get(&record), Some(&span.number), "{thread}: {span:?}");
            if let Some((stage, records)) = published.get(&span.number) {
                assert!(records.contains(&record), "{thread}: {span:?} is none of {records:?}");
                if site == READ {
                    // It was read after the plant began to write it.
                    assert!(span.to > stage.from, "{thread}: {span:?} {stage:?}");
                }
            }
            match site {
                READ => assert!(read.insert(record, *span).is_none(), "{thread}: read twice"),
                // Each other stage follows the one before, of the same record.
                _ => assert_eq!(last, Some((record, span.from)), "{thread}: {span:?}"),
            }
            sites.insert(site);
            last = Some((record, span.to));
        }
        assert!(sites.into_iter().eq(0..count), "{thread}: it has passed all of its sites");
        // None is left out of those that are still there.
        let first = *read.keys().next().unwrap();
        let expected: Vec<u64> = numbered.range(first..).map(|(&record, _)| record).collect();
        assert!(expected.len() > 4_000, "{} of {}", expected.len(), numbered.len());
        assert!(read.into_keys().eq(expected), "{thread}");
    }

    // The records are those of a plant without spans and without readers.
    (config.ring.name, config.trace.spans) = (folder.path("other"), 0);
    assert_eq!(support::run(&config).stop.digest, traced.stop.digest);
}

#[test]
fn all_threads_choose_the_same_messages() {
    let folder = Folder::new();
    let mut config = folder.config(&folder.day(MESSAGES, 50));
    config.publish.records = [RecordKind::Mbo, RecordKind::Bbo].into_iter().collect();
    run(&folder, &config, Rate::one_in(16).unwrap());
    let ring = config.ring.name.as_path();
    let plant: Vec<u64> = spans(ring, PLANT_THREAD)
        .iter()
        .filter(|span| span.site.index() == BOOK)
        .map(|span| span.number)
        .collect();
    for thread in ["recorder", "tap"] {
        let all = spans(ring, thread);
        assert!(all.len() > 1_000, "{thread}: {}", all.len());
        for span in all {
            assert!(span.number.is_multiple_of(16), "{span:?}");
            assert!(span.number < plant[0] || plant.binary_search(&span.number).is_ok());
        }
    }
}

#[test]
fn a_reader_without_spans_leaves_no_file() {
    let folder = Folder::new();
    let mut config = folder.config(&folder.day(2_000, 5));
    let ring = config.ring.name.clone();
    run(&folder, &config, Rate::Off);
    assert_eq!(trace_names(&ring), [PLANT_THREAD]);
    assert_eq!(folder.names("ring.trace."), ["ring.trace.plant", "ring.trace.plant.spans"]);

    // Nor one of a plant that is not traced.
    (config.ring.name, config.trace.spans) = (folder.path("other"), 0);
    let mut plant = PlantRun::open(&config, ShutdownFlag::new()).unwrap();
    let subscription = Subscription::to(&config.ring.name).traced();
    let mut subscriber = subscription.open().unwrap();
    plant.run(|_| ()).unwrap();
    while subscriber.poll(|_| ()).unwrap() > 0 {}
    assert_eq!(folder.names("other.trace."), [""; 0]);
}
