//! One tracer, its switches, its region and its readers in this process.

use nanotape_clock::Clock;
use nanotape_ring::{Gap, Start};
use nanotape_shm::OwnedRegion;

use super::*;

const SITES: Sites = Sites::new(&["work.read", "work.parse", "work.store"]);
const OTHER_SITES: Sites = Sites::new(&["other"]);
const READ: Site = SITES.site("work.read");
const PARSE: Site = SITES.site("work.parse");
const STORE: Site = SITES.site("work.store");

/// Passes messages with these numbers through all stages.
fn work(tracer: &mut Tracer, numbers: std::ops::Range<u64>) {
    for number in numbers {
        tracer.begin(READ, number);
        tracer.end(READ, number, 7);
        tracer.end(PARSE, number, 8);
        tracer.end(STORE, number, number * 10);
    }
}

fn spans_of(tracer: &Tracer) -> Vec<Span> {
    use nanotape_ring::{Publish as _, Read, Subscribe as _};
    let mut reader = tracer.spans().reader(Start::Oldest).unwrap();
    let mut bytes = [0; SPAN_BYTES];
    let mut spans = Vec::new();
    while let Read::Message(received) = reader.try_read(&mut bytes).unwrap() {
        spans.push(Span::of_message(received.type_id, &bytes).unwrap());
    }
    spans
}

#[test]
fn a_site_that_is_off_writes_nothing() {
    let mut tracer = Tracer::on_heap(SITES, Clock::monotonic(), 64);
    work(&mut tracer, 0..100);
    assert!(spans_of(&tracer).is_empty() && tracer.rate().is_none());
}

#[test]
fn each_stage_begins_with_the_stamp_that_ends_the_one_before() {
    let mut tracer = Tracer::on_heap(SITES, Clock::monotonic(), 64);
    tracer.switches().set(&[Rate::ALL; 3]);
    assert!(tracer.rate().is_some());
    work(&mut tracer, 1..5);
    let spans = spans_of(&tracer);
    let sites: Vec<Site> = spans.iter().map(|span| span.site).collect();
    assert_eq!(sites, [READ, PARSE, STORE].repeat(4));
    for message in spans.chunks(3) {
        let [read, parse, store] = message else { panic!("three stages") };
        assert_eq!((read.to, parse.to), (parse.from, store.from));
        assert!(read.from <= read.to && store.from <= store.to);
        assert_eq!((read.value, parse.value, store.value), (7, 8, store.number * 10));
    }
}

#[test]
fn one_site_alone_has_a_beginning_too() {
    let mut tracer = Tracer::on_heap(SITES, Clock::monotonic(), 64);
    tracer.switches().set(&[Rate::Off, Rate::one_in(4).unwrap()]);
    assert_eq!(tracer.switches().rates(), [Rate::Off, Rate::one_in(4).unwrap(), Rate::Off]);
    let before = Clock::monotonic().stamp();
    work(&mut tracer, 1..10);
    let spans = spans_of(&tracer);
    assert!(spans.iter().map(|span| (span.site, span.number)).eq([(PARSE, 4), (PARSE, 8)]));
    // From the end of the stage before, and not from the last message that was recorded.
    assert!(spans[0].from >= before && spans[1].from >= spans[0].to);
    tracer.switches().set(&[]);
    work(&mut tracer, 1..10);
    assert_eq!(spans_of(&tracer).len(), 2);
}

#[test]
fn another_process_reads_names_rates_and_spans() {
    let scratch = nanotape_harness::Scratch::new("spans");
    let path = scratch.path();
    let clock = Clock::calibrate();
    let options = TracerOptions { spans: 8, build: 42, ..TracerOptions::default() };
    let mut tracer = Tracer::create(path, SITES, clock, &options).unwrap();
    let mut reader = SpanReader::open(path, Start::Oldest).unwrap();
    assert_eq!((reader.build(), reader.try_next().unwrap()), (42, Polled::Empty));
    tracer.switches().set(&[Rate::ALL, Rate::Off, Rate::one_in(16).unwrap()]);
    let sites: Vec<_> = reader
        .sites()
        .iter()
        .map(|site| (site.name.unwrap().to_string(), site.rate.unwrap().count()))
        .collect();
    let name = |site| SITES.name(site).to_owned();
    assert_eq!(sites, [(name(READ), Some(1)), (name(PARSE), None), (name(STORE), Some(16))]);
    work(&mut tracer, 16..17);
    let Polled::Span(read) = reader.try_next().unwrap() else { panic!("a span") };
    let Polled::Span(store) = reader.try_next().unwrap() else { panic!("a span") };
    assert_eq!((read.site, store.site, store.value), (READ, STORE, 160));
    let nanos = clock.nanos_between(store.from, store.to) as f64;
    assert!((reader.nanos_between(store.from, store.to) - nanos).abs() <= 2.0);
    let utc_ns = clock.utc(store.to).get() as u64;
    assert!(reader.utc_ns(store.to).abs_diff(utc_ns) < 10_000, "within the error of the rate");
    // A reader that is too slow learns how many it lost.
    work(&mut tracer, 17..117);
    let Polled::Lost(lost) = reader.try_next().unwrap() else { panic!("a loss") };
    assert_eq!(lost.from, 3);
}

#[test]
fn a_region_of_anything_is_read_without_a_panic() {
    let scratch = nanotape_harness::Scratch::new("hostile-spans");
    let path = scratch.path();
    let tracer = Tracer::create(path, SITES, Clock::monotonic(), &TracerOptions::default());
    drop(tracer.unwrap());
    for fill in [1, u64::MAX, 0x4141_4141_4141_4141, 1 << 63] {
        let mut spec = layout::spec(SITES.names().len(), 0, 0);
        spec.parameters[0] = fill;
        let fill_all =
            |words: &[nanotape_shm::Word]| words.iter().for_each(|word| word.store(fill));
        let options = nanotape_shm::RegionOptions::default();
        drop(OwnedRegion::replace(path, spec, &options, fill_all).unwrap());
        let reader = SpanReader::open(path, Start::Oldest).unwrap();
        assert!(reader.sites().iter().all(|site| site.name.is_none()));
        assert!(reader.sites().len() <= MAX_SITES);
        let stamp = nanotape_clock::Stamp::from_ticks;
        for (one, two) in [(0, u64::MAX), (u64::MAX, 0), (fill, 5)] {
            assert!(reader.nanos_between(stamp(one), stamp(two)) >= 0.0);
            reader.utc_ns(stamp(two));
        }
    }
}

/// Symptom: a thread replaced the ring and then the region of an earlier one. A reader between the
/// two gave the names of the earlier thread to the spans of the new one.
#[test]
fn the_names_of_one_thread_are_never_given_to_the_spans_of_another() {
    let scratch = nanotape_harness::Scratch::folder("pairs");
    let [path, kept] = ["thread", "kept"].map(|name| scratch.join(name));
    let clock = Clock::monotonic();
    let options = TracerOptions { spans: 8, ..TracerOptions::default() };
    drop(Tracer::create(&path, SITES, clock, &options).unwrap());
    std::fs::rename(&path, &kept).unwrap();
    let other = Tracer::create(&path, OTHER_SITES, clock, &options).unwrap();
    let names = |reader: &SpanReader| reader.sites()[0].name.unwrap().to_string();
    assert_eq!(names(&SpanReader::open(&path, Start::Oldest).unwrap()), "other");
    // The moment between the two replacements, and what a thread that is killed there leaves.
    std::fs::rename(&kept, &path).unwrap();
    match SpanReader::open(&path, Start::Oldest) {
        Err(TraceError::Unpaired { path: named }) => assert_eq!(named, path),
        Ok(reader) => panic!("spans of `other` with the names of {}", names(&reader)),
        Err(error) => panic!("{error}"),
    }
    drop(other);
    // The next start repairs it.
    drop(Tracer::create(&path, SITES, clock, &options).unwrap());
    assert_eq!(names(&SpanReader::open(&path, Start::Oldest).unwrap()), SITES.names()[0]);
}

#[test]
fn a_reader_of_threads_that_start_again_and_again_has_the_right_names() {
    const STARTS: u64 = 400;
    let scratch = nanotape_harness::Scratch::new("starts");
    let path = scratch.path();
    let clock = Clock::monotonic();
    let options = TracerOptions { spans: 8, ..TracerOptions::default() };
    let start = |number: u64| {
        let sites = if number.is_multiple_of(2) { SITES } else { OTHER_SITES };
        let mut tracer = Tracer::create(path, sites, clock, &options).unwrap();
        tracer.switches().set(&[Rate::ALL]);
        let stamp = clock.stamp();
        // The value says which names belong to the span.
        tracer.span(Site::at(0).unwrap(), 1, number % 2, stamp..stamp);
    };
    start(0);
    std::thread::scope(|scope| {
        let starting = scope.spawn(|| (1..=STARTS).for_each(start));
        let mut spans = 0;
        while !starting.is_finished() || spans == 0 {
            // Between two starts there is no region, or a start is in progress.
            let Ok(mut reader) = SpanReader::open(path, Start::Oldest) else { continue };
            let name = reader.sites()[0].name.unwrap().to_string();
            let Polled::Span(span) = reader.try_next().unwrap() else { continue };
            let expected = if span.value == 0 { SITES.names()[0] } else { "other" };
            assert_eq!(name, expected);
            spans += 1;
        }
        starting.join().unwrap();
    });
}

/// Symptom: the first span of a full ring is overwritten before it is read, and the reader went on
/// in the middle: half of what was kept was not shown.
#[test]
fn everything_that_is_kept_is_read_but_for_what_is_overwritten_meanwhile() {
    let scratch = nanotape_harness::Scratch::new("kept-spans");
    let clock = Clock::monotonic();
    let options = TracerOptions { spans: 64, ..TracerOptions::default() };
    let mut tracer = Tracer::create(scratch.path(), SITES, clock, &options).unwrap();
    tracer.switches().set(&[Rate::ALL]);
    let mut write = |numbers: std::ops::RangeInclusive<u64>| {
        for number in numbers {
            let stamp = clock.stamp();
            tracer.span(READ, number, 0, stamp..stamp);
        }
    };
    write(1..=100);
    let mut reader = SpanReader::open(scratch.path(), Start::Oldest).unwrap();
    // The thread writes five spans between the opening and the first read.
    write(101..=105);
    let kept = reader.kept(101).unwrap();
    let lost = Gap { from: 38, to: 42 };
    assert_eq!(kept[0], (38, Polled::Lost(lost)));
    let numbers = kept[1..].iter().map(|(sequence, polled)| match polled {
        Polled::Span(span) if span.number == *sequence => *sequence,
        other => panic!("{sequence}: {other:?}"),
    });
    assert!(numbers.eq(43..101));
    let Polled::Span(next) = reader.try_next().unwrap() else { panic!("a span") };
    assert_eq!(next.number, 101);
}

proptest::proptest! {
    #[test]
    fn a_span_is_the_same_behind_a_ring_or_refused(
        type_id: u16,
        bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..=2 * SPAN_BYTES),
    ) {
        match Span::of_message(type_id, &bytes) {
            Some(span) => {
                assert_eq!(span.to_bytes()[..], bytes[..]);
                assert_eq!(span.site.index(), usize::from(type_id));
            }
            None => {
                let is_whole = bytes.len() == SPAN_BYTES && usize::from(type_id) < MAX_SITES;
                let tick = |at: usize| u64::from_ne_bytes(*bytes[at..].first_chunk().unwrap());
                assert!(!is_whole || tick(0) > tick(8));
            }
        }
    }
}

#[test]
fn sites_appear_with_their_names_and_may_be_on_already() {
    let scratch = nanotape_harness::Scratch::new("open");
    let options = TracerOptions { spans: 64, ..TracerOptions::default() };
    let mut tracer = Tracer::create_open(scratch.path(), Clock::monotonic(), &options).unwrap();
    let mut reader = SpanReader::open(scratch.path(), Start::Oldest).unwrap();
    assert_eq!((reader.sites(), tracer.sites()), (vec![], 0));
    tracer.switches().set(&[Rate::ALL; MAX_SITES]);
    for place in 0..MAX_SITES {
        let name = SiteName::like(&format!("Site {place}")).unwrap();
        let site = tracer.add_site(&name).unwrap();
        assert_eq!((site.index(), tracer.sites()), (place, place + 1));
        let stamp = Clock::monotonic().stamp();
        assert!(tracer.records(site, 1));
        tracer.span(site, 1, 2, stamp..stamp);
        let Polled::Span(span) = reader.try_next().unwrap() else { panic!("a span") };
        let sites = reader.sites();
        assert_eq!(sites.len(), place + 1);
        assert_eq!(sites[span.site.index()], SiteStat { name: Some(name), rate: Some(Rate::ALL) });
    }
    assert_eq!(tracer.add_site(&SiteName::like("more").unwrap()), None);
    let mut closed = Tracer::on_heap(SITES, Clock::monotonic(), 8);
    assert_eq!(closed.add_site(&SiteName::like("more").unwrap()), None);
}
