//! What a decoder returns is what a reader of the ring saw, whatever is between.

use nanotape_clock::{Clock, Stamp};
use nanotape_harness::Scratch;
use nanotape_ring::Start;
use proptest::prelude::*;

use super::*;
use crate::spans::{Polled, Rate, Site, Sites, Span, Tracer, TracerOptions};

const SITES: Sites = Sites::new(&["work.parse", "work.store", "work.send"]);
const SPANS_KEPT: usize = 64;

fn tracer(scratch: &Scratch) -> Tracer {
    let options = TracerOptions { spans: SPANS_KEPT, build: 7, ..TracerOptions::default() };
    let tracer = Tracer::create(scratch.path(), SITES, Clock::monotonic(), &options).unwrap();
    tracer.switches().set(&[Rate::ALL; 3]);
    tracer
}

fn reader(scratch: &Scratch) -> SpanReader {
    SpanReader::open(scratch.path(), Start::Oldest).unwrap()
}

fn site(place: usize) -> Site {
    SITES.site(SITES.names()[place])
}

/// A journal in memory: excerpts, with the announcements that a segment of 5 needs.
#[derive(Default)]
struct Excerpts {
    all: Vec<(u16, Vec<u8>)>,
    announced: Vec<(usize, u32)>,
}

impl Excerpts {
    fn write(&mut self, entry: &Collected<'_>) {
        if self.all.len().is_multiple_of(5) {
            self.announced.clear();
        }
        let announced = (entry.thread, entry.version);
        if !self.announced.contains(&announced) {
            self.announced.push(announced);
            self.all.push((THREAD, entry.announcement.to_vec()));
        }
        self.all.push((entry.type_id, entry.payload.to_vec()));
    }

    fn drain(&mut self, collector: &mut Collector) {
        while let Some(entry) = collector.next_entry() {
            self.write(&entry);
        }
    }

    fn decoded(&self) -> (Decoder, Vec<Result<Entry, Damage>>) {
        let mut decoder = Decoder::new();
        let mut entries = Vec::new();
        for (type_id, payload) in &self.all {
            entries.extend(decoder.decode(*type_id, payload));
        }
        (decoder, entries)
    }
}

/// The spans of a thread in a recording: with their numbers, or what is missing.
fn of_thread(entries: &[Result<Entry, Damage>], of: usize) -> Vec<(u64, Option<Span>, u64)> {
    let of_entry = |entry: &Result<Entry, Damage>| match *entry.as_ref().ok()? {
        Entry::Span { thread, sequence, span } if thread == of => Some((sequence, Some(span), 1)),
        Entry::Lost { thread, sequence, count } if thread == of => Some((sequence, None, count)),
        _ => None,
    };
    entries.iter().filter_map(of_entry).collect()
}

/// Adds the same of a reader of the ring; what was lost before the first span is left out.
fn see(reader: &mut SpanReader, seen: &mut Vec<(u64, Option<Span>, u64)>) {
    loop {
        match reader.try_next().unwrap() {
            Polled::Span(span) => seen.push((reader.next_sequence() - 1, Some(span), 1)),
            Polled::Lost(gap) if !seen.is_empty() => seen.push((gap.from, None, gap.count())),
            Polled::Lost(_) => {}
            Polled::Damaged { sequence } => seen.push((sequence, None, 1)),
            Polled::Empty => return,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Step {
    thread: usize,
    spans: u64,
    site: usize,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    // More spans than a ring keeps: some are lost.
    let step = (0..2_usize, 0..100_u64, 0..3_usize);
    prop::collection::vec(
        step.prop_map(|(thread, spans, site)| Step { thread, spans, site }),
        0..12,
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_recording_has_what_a_reader_saw(steps in steps(), again in any::<bool>()) {
        let scratches = [Scratch::new("one"), Scratch::new("two")];
        let mut tracers = [0, 1].map(|at: usize| tracer(&scratches[at]));
        let mut readers = [0, 1].map(|at: usize| reader(&scratches[at]));
        let mut collector = Collector::new();
        for (at, scratch) in scratches.iter().enumerate() {
            collector.add(&format!("ring {at}"), reader(scratch));
            assert!(collector.has(&reader(scratch)));
        }
        let mut excerpts = Excerpts::default();
        excerpts.all.push((START, start_entry("ring")));
        let mut expected = [Vec::new(), Vec::new()];
        for (number, step) in steps.iter().enumerate() {
            let tracer = &mut tracers[step.thread];
            for value in 0..step.spans {
                tracer.begin(site(step.site), number as u64);
                tracer.end(site(step.site), number as u64, value);
            }
            for at in 0..2 {
                see(&mut readers[at], &mut expected[at]);
            }
            excerpts.drain(&mut collector);
        }
        let lost: u64 = collector.stats().map(|stat| stat.lost).sum();
        if again {
            // A collector that starts later reads what is still there again.
            let mut collector = Collector::new();
            collector.add("ring 1", reader(&scratches[1]));
            excerpts.announced.clear();
            excerpts.all.push((START, start_entry("ring")));
            excerpts.drain(&mut collector);
        }
        let (decoder, entries) = excerpts.decoded();
        prop_assert!(entries.iter().all(Result::is_ok));
        let mut counted = 0;
        for (at, name) in ["ring 0", "ring 1"].into_iter().enumerate() {
            let place = decoder.threads().position(|info| info.name == name);
            let Some(place) = place else {
                // A thread without spans was not announced.
                prop_assert!(expected[at].is_empty());
                continue;
            };
            let mine = reader(&scratches[at]);
            prop_assert_eq!(decoder.thread(place), &ThreadInfo::of(name, &mine));
            let found = of_thread(&entries, place);
            counted += found.iter().filter(|item| item.1.is_none()).map(|item| item.2).sum::<u64>();
            prop_assert_eq!(&found, &expected[at]);
        }
        prop_assert_eq!(counted, lost);
    }

    #[test]
    fn arbitrary_bytes_are_damage_or_nothing(
        entries in prop::collection::vec(
            (FIRST_TYPE_ID - 1..=LAST_TYPE_ID + 1, prop::collection::vec(any::<u8>(), 0..200)),
            0..20,
        ),
    ) {
        let mut decoder = Decoder::new();
        for (type_id, payload) in &entries {
            let items = decoder.decode(*type_id, payload).count();
            prop_assert!(items <= 2 + payload.len() / SPAN_ITEM_BYTES);
        }
    }
}

/// An entry with spans from number `first` on.
fn spans_of(number: u32, first: u64, spans: &[Span]) -> Vec<u8> {
    let mut payload = Vec::new();
    encode::begin_spans(&mut payload, number, first);
    spans.iter().for_each(|span| encode::add_span(&mut payload, span));
    encode::end_spans(&mut payload, spans.len());
    payload
}

fn lost_of(number: u32, first: u64, count: u64) -> Vec<u8> {
    let mut payload = Vec::new();
    encode::put_lost(&mut payload, number, layout::OVERWRITTEN, first, count);
    payload
}

fn span(number: u64) -> Span {
    let [from, to] = [10 * number, 10 * number + 5].map(Stamp::from_ticks);
    Span { site: site(1), number, value: 0, from, to }
}

fn info(name: &str) -> ThreadInfo {
    let timescale =
        Timescale { ticks_per_second: 2e9, anchor: Stamp::from_ticks(5), anchor_utc_ns: 77 };
    let sites = vec![None, Some(SiteName::of("work.store"))];
    ThreadInfo { name: name.to_owned(), pid: 1, build: 2, created_ns: 3, timescale, sites }
}

/// A decoder that knows thread 7, and the numbers of the spans that an entry has, and its damage.
fn with_thread() -> Decoder {
    let mut decoder = Decoder::new();
    let announced: Vec<_> = decoder.decode(THREAD, &encode::thread_entry(7, &info("a"))).collect();
    assert_eq!(announced, [Ok(Entry::Thread { thread: 0 })]);
    assert_eq!(decoder.threads().collect::<Vec<_>>(), [&info("a")]);
    decoder
}

fn numbers(decoder: &mut Decoder, type_id: u16, payload: &[u8]) -> Vec<String> {
    let text = |item: Result<Entry, Damage>| match item {
        Ok(Entry::Span { sequence, .. }) => sequence.to_string(),
        Ok(Entry::Lost { sequence, count, .. }) => format!("{sequence}+{count}"),
        Ok(entry) => format!("{entry:?}"),
        Err(damage) => damage.to_string(),
    };
    decoder.decode(type_id, payload).map(text).collect()
}

#[test]
fn damage_is_reported_and_the_spans_around_it_stay() {
    let spans: Vec<Span> = (1..=3).map(span).collect();
    let good = spans_of(7, 1, &spans);
    let mut decoder = with_thread();
    // The second span ends before it begins; the third is of a site that does not exist.
    let mut bad = good.clone();
    bad[16 + SPAN_ITEM_BYTES + 8..][..8].fill(0xff);
    bad[16 + 2 * SPAN_ITEM_BYTES] = 64;
    let reported = numbers(&mut decoder, SPANS, &bad);
    let damaged = |sequence| format!("span {sequence} of thread 7 is damaged");
    assert_eq!(reported, ["1".to_owned(), damaged(2), damaged(3)]);
    assert_eq!(numbers(&mut decoder, SPANS, &spans_of(7, 4, &spans)), ["4", "5", "6"]);

    for (type_id, payload, expected) in [
        (SPANS, &good[..good.len() - 1], "an entry of type 0xff12 with 135 bytes: it cannot"),
        (SPANS, &[][..], "an entry of type 0xff12 with 0 bytes"),
        (SPANS, &spans_of(8, 7, &spans), "an entry of thread 8, which is not announced"),
        (SPANS, &spans_of(7, 0, &spans), "first is 0, which is not possible"),
        (SPANS, &spans_of(7, u64::MAX, &spans), "first is 18446744073709551615, which"),
        (LOST, &lost_of(7, 1, 2), "first is 1, which is not possible"),
        (LOST, &[0; 23], "an entry of type 0xff13 with 23 bytes"),
        (THREAD, &[0; 55], "an entry of type 0xff11 with 55 bytes"),
        (0xFF1A, &[], "an entry of type 0xff1a, which this version does not know"),
    ] {
        let reported = numbers(&mut decoder, type_id, payload);
        assert!(reported.len() == 1 && reported[0].starts_with(expected), "{reported:?}");
    }
    let mut many = encode::thread_entry(9, &info("b"));
    many[48] = 65;
    assert_eq!(numbers(&mut decoder, THREAD, &many), ["sites is 65, which is not possible"]);
}

#[test]
fn a_wrong_number_of_a_span_hides_no_other() {
    let mut decoder = with_thread();
    let spans = [span(1), span(2)];
    let next = |decoder: &mut Decoder, first| numbers(decoder, SPANS, &spans_of(7, first, &spans));
    assert_eq!(next(&mut decoder, 1), ["1", "2"]);
    // Entries are missing, or the number is wrong.
    assert_eq!(next(&mut decoder, 1_000), ["3+997", "1000", "1001"]);
    assert_eq!(next(&mut decoder, 5), ["first is 5, which is not possible", "5", "6"]);
    assert_eq!(
        numbers(&mut decoder, LOST, &lost_of(7, 7, 1 << 60)),
        [format!("7+{}", 1_u64 << 60)]
    );
    assert_eq!(next(&mut decoder, 9), ["first is 9, which is not possible", "9", "10"]);
    // A collector that starts again reads the last spans again.
    let start = numbers(&mut decoder, START, &start_entry("x"));
    assert_eq!(start, [r#"Start { program: "x" }"#]);
    assert!(next(&mut decoder, 9)[0].starts_with("an entry of thread 7, which is not announced"));
    let again = decoder.decode(THREAD, &encode::thread_entry(7, &info("a"))).count();
    assert_eq!(again, 0);
    assert_eq!(next(&mut decoder, 8), [""; 0]);
    assert_eq!(next(&mut decoder, 10), ["11"]);
    assert_eq!(next(&mut decoder, 14), ["12+2", "14", "15"]);
}

#[test]
fn names_that_appear_later_are_announced_again() {
    let mut decoder = with_thread();
    let mut more = info("a");
    more.sites[0] = Some(SiteName::of("work.parse"));
    let reported = numbers(&mut decoder, THREAD, &encode::thread_entry(7, &more));
    assert_eq!(reported, ["Thread { thread: 0 }"]);
    assert_eq!(decoder.thread(0), &more);
    // Another thread of the same name: its region was created later.
    let reported = numbers(
        &mut decoder,
        THREAD,
        &encode::thread_entry(7, &ThreadInfo { created_ns: 4, ..more }),
    );
    assert_eq!(reported, ["Thread { thread: 1 }"]);
}

#[test]
fn a_recording_has_a_bounded_number_of_threads() {
    let mut decoder = Decoder::new();
    for created_ns in 0..MAX_THREADS as u64 {
        let thread = ThreadInfo { created_ns, sites: Vec::new(), ..info("") };
        assert_eq!(decoder.decode(THREAD, &encode::thread_entry(1, &thread)).count(), 1);
    }
    let reported = numbers(&mut decoder, THREAD, &encode::thread_entry(1, &info("b")));
    assert_eq!(reported, ["more than 4096 threads"]);
}

#[test]
fn long_names_are_cut_between_characters() {
    let long = "\u{e9}".repeat(MAX_NAME_BYTES);
    let mut decoder = Decoder::new();
    assert_eq!(decoder.decode(THREAD, &encode::thread_entry(1, &info(&long))).count(), 1);
    assert_eq!(decoder.thread(0).name, "\u{e9}".repeat(MAX_NAME_BYTES / 2));
}
