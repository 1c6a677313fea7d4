//! One tracer, its switches, its region and its readers in this process.

use nanotape_clock::Clock;
use nanotape_ring::Start;
use nanotape_shm::OwnedRegion;

use super::*;

const SITES: Sites = Sites::new(&["work.read", "work.parse", "work.store"]);
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
    assert_eq!((reader.build(), reader.try_next().unwrap()), (42, Look::Empty));
    tracer.switches().set(&[Rate::ALL, Rate::Off, Rate::one_in(16).unwrap()]);
    let sites: Vec<_> = reader
        .sites()
        .iter()
        .map(|site| (site.name.unwrap().to_string(), site.rate.unwrap().count()))
        .collect();
    let name = |site| SITES.name(site).to_owned();
    assert_eq!(sites, [(name(READ), Some(1)), (name(PARSE), None), (name(STORE), Some(16))]);
    work(&mut tracer, 16..17);
    let Look::Span(read) = reader.try_next().unwrap() else { panic!("a span") };
    let Look::Span(store) = reader.try_next().unwrap() else { panic!("a span") };
    assert_eq!((read.site, store.site, store.value), (READ, STORE, 160));
    let nanos = clock.nanos_between(store.from, store.to) as f64;
    assert!((reader.nanos_between(store.from, store.to) - nanos).abs() <= 2.0);
    let utc_ns = clock.utc(store.to).get() as u64;
    assert!(reader.utc_ns(store.to).abs_diff(utc_ns) < 10_000, "within the error of the rate");
    // A reader that is too slow learns how many it lost.
    work(&mut tracer, 17..117);
    let Look::Lost(lost) = reader.try_next().unwrap() else { panic!("a loss") };
    assert_eq!(lost.from, 3);
}

#[test]
fn a_region_of_anything_is_read_without_a_panic() {
    let scratch = nanotape_harness::Scratch::new("hostile-spans");
    let path = scratch.path();
    let tracer = Tracer::create(path, SITES, Clock::monotonic(), &TracerOptions::default());
    drop(tracer.unwrap());
    for fill in [1, u64::MAX, 0x4141_4141_4141_4141, 1 << 63] {
        let mut spec = layout::spec(SITES.names().len(), 0);
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
        let Look::Span(span) = reader.try_next().unwrap() else { panic!("a span") };
        let sites = reader.sites();
        assert_eq!(sites.len(), place + 1);
        assert_eq!(sites[span.site.index()], SiteStat { name: Some(name), rate: Some(Rate::ALL) });
    }
    assert_eq!(tracer.add_site(&SiteName::like("more").unwrap()), None);
    let mut closed = Tracer::on_heap(SITES, Clock::monotonic(), 8);
    assert_eq!(closed.add_site(&SiteName::like("more").unwrap()), None);
}
