//! The spans of a plant: which messages have them, and that the times of one message follow each
//! other.

use std::path::Path;

use nanotape_plant::{Ended, PLANT_THREAD, PlantConfig, PlantRun, ShutdownFlag, trace_path};
use nanotape_ring::Start;
use nanotape_shm::OwnerState;
use nanotape_trace::spans::{Look, Rate, Span, SpanReader};

use crate::published::support::Folder;

const MESSAGES: u64 = 20_000;

/// The places of the sites.
const DECODE: usize = 0;
const WAIT: usize = 1;
const BOOK: usize = 2;
const RECORDS: usize = 3;
const RING: usize = 4;

fn run(config: &PlantConfig, rates: &[Rate; 5]) -> Ended {
    let mut run = PlantRun::open(config, ShutdownFlag::new()).unwrap();
    run.trace_switches().unwrap().set(rates);
    run.run(|_| ()).unwrap()
}

/// All spans of the plant of this ring, which are still there.
fn spans(ring: &str) -> Vec<Span> {
    let path = trace_path(Path::new(ring), PLANT_THREAD);
    let mut reader = SpanReader::open(&path, Start::Oldest).unwrap();
    assert_eq!(reader.owner().state, OwnerState::Closed);
    let names: Vec<String> =
        reader.sites().iter().map(|site| site.name.unwrap().to_string()).collect();
    let expected = ["plant.decode", "plant.wait", "plant.book", "plant.records", "plant.ring"];
    assert_eq!(names, expected);
    let mut spans = Vec::new();
    loop {
        match reader.try_next().unwrap() {
            Look::Span(span) => spans.push(span),
            Look::Empty => return spans,
            other => panic!("{other:?} after {} spans", spans.len()),
        }
    }
}

/// Checks that a message has these stages, one after the other, and nothing between them.
fn check_stages(message: &[Span], stages: &[usize]) {
    let sites: Vec<usize> = message.iter().map(|span| span.site.index()).collect();
    assert_eq!(sites, stages, "{message:?}");
    for pair in message.windows(2) {
        assert_eq!((pair[0].to, pair[0].number), (pair[1].from, pair[1].number));
    }
}

fn config(folder: &Folder) -> PlantConfig {
    let mut config = folder.config(&folder.day(MESSAGES, 50));
    config.trace.spans = 1 << 17;
    config
}

#[test]
fn every_message_has_its_stages_without_a_moment_between_them() {
    let folder = Folder::new();
    let config = config(&folder);
    let traced = run(&config, &[Rate::ALL; 5]);
    let all = spans(&config.ring.name);
    for message in all.chunks(4) {
        check_stages(message, &[DECODE, BOOK, RECORDS, RING]);
    }
    // A plant looks at its switches once in 15 messages.
    let first = all[0].number;
    assert!(first <= 16, "{first}");
    let numbers: Vec<u64> = all.chunks(4).map(|message| message[0].number).collect();
    assert_eq!(numbers, (first..=traced.stop.messages).collect::<Vec<_>>());
    for pair in all.windows(2) {
        assert_eq!(pair[0].to, pair[1].from, "{pair:?}");
    }
    let offsets: Vec<u64> = all.chunks(4).map(|message| message[0].value).collect();
    assert!(offsets.is_sorted() && offsets[0] > 0);
    // The number of the record after those of the message. The last record is the stop.
    let records: Vec<u64> = all.chunks(4).map(|message| message[2].value).collect();
    assert!(records.is_sorted());
    assert!(records.last().is_some_and(|&next| next <= traced.stop.records));

    // Records are the same with spans and without.
    let mut config = config;
    (config.ring.name, config.trace.spans) = (folder.path("other").display().to_string(), 0);
    let mut plain = PlantRun::open(&config, ShutdownFlag::new()).unwrap();
    assert!(plain.trace_switches().is_none());
    assert_eq!(plain.run(|_| ()).unwrap().stop.digest, traced.stop.digest);
    assert!(!trace_path(Path::new(&config.ring.name), PLANT_THREAD).exists());
}

#[test]
fn one_message_in_many_is_that_of_a_number_which_all_threads_choose() {
    for count in [2, 16, 64] {
        let folder = Folder::new();
        let config = config(&folder);
        let rate = Rate::one_in(count).unwrap();
        let ended = run(&config, &[rate; 5]);
        let all = spans(&config.ring.name);
        let mut expected = (1..=ended.stop.messages / count).map(|number| number * count);
        let first = all[0].number;
        let expected: Vec<u64> = expected.by_ref().skip_while(|&number| number < first).collect();
        assert!(first <= 16 + count, "{first}");
        let numbers: Vec<u64> = all.chunks(4).map(|message| message[0].number).collect();
        assert_eq!(numbers, expected, "one in {count}");
        for message in all.chunks(4) {
            check_stages(message, &[DECODE, BOOK, RECORDS, RING]);
        }
    }
}

#[test]
fn sites_of_different_rates_have_their_own_messages() {
    let folder = Folder::new();
    let config = config(&folder);
    let rates =
        [Rate::Off, Rate::Off, Rate::one_in(4).unwrap(), Rate::Off, Rate::one_in(8).unwrap()];
    run(&config, &rates);
    let all = spans(&config.ring.name);
    for (site, count) in [(BOOK, 4), (RING, 8)] {
        let of_site = all.iter().filter(|span| span.site.index() == site);
        let numbers: Vec<u64> = of_site.map(|span| span.number).collect();
        assert!(numbers.len() as u64 > MESSAGES / count - 10);
        assert!(numbers.windows(2).all(|pair| pair[1] - pair[0] == count), "{site}");
        assert!(numbers[0].is_multiple_of(count));
    }
    assert!(all.iter().all(|span| [BOOK, RING].contains(&span.site.index())));
    // The book of a message begins when it was decoded, not at the end of an earlier message.
    for pair in all.windows(2).filter(|pair| pair[0].site.index() == BOOK) {
        assert!(pair[0].to <= pair[1].from, "{pair:?}");
    }
}

#[test]
fn a_paced_message_waits_in_a_stage_of_its_own() {
    let folder = Folder::new();
    let mut config = config(&folder);
    config.input.pace = "10000x".parse().unwrap();
    config.input.pace_from = Some("09:29".parse().unwrap());
    config.input.until = Some("09:50".parse().unwrap());
    let ended = run(&config, &[Rate::ALL; 5]);
    let all = spans(&config.ring.name);
    for message in all.chunks(5) {
        check_stages(message, &[DECODE, WAIT, BOOK, RECORDS, RING]);
    }
    assert!(all.len() as u64 > 5 * (ended.stop.messages - 20));
}
