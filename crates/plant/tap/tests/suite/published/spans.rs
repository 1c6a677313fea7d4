//! The spans of a plant: which messages have them, and that the times of one message follow each
//! other.

use std::{
    collections::BTreeMap,
    fs,
    net::{Ipv4Addr, SocketAddr, UdpSocket},
    path::Path,
    thread,
};

use nanotape_board::{PLANT_THREAD, trace_path};
use nanotape_clock::{Clock, Stamp};
use nanotape_live::{GroupAddress, LiveConfig};
use nanotape_plant::{Ended, PlantConfig, PlantRun, PlantSource, ShutdownFlag, records::Record};
use nanotape_ring::Start;
use nanotape_shm::OwnerState;
use nanotape_tap::{Event, Subscription};
use nanotape_trace::spans::{Polled, Rate, Span, SpanReader};
use nanotape_types::Alpha;
use nanotape_wire::framing::{
    binary_file::Records,
    moldudp64::{PacketWriter, end_of_session},
};

use crate::published::support::{self, Folder};

const MESSAGES: u64 = 20_000;

/// The places of the sites.
const RECEIVE: usize = 0;
const ARBITRATE: usize = 1;
const QUEUE: usize = 2;
const DECODE: usize = 3;
const WAIT: usize = 4;
const BOOK: usize = 5;
const RECORDS: usize = 6;
const RING: usize = 7;
const QUERY: usize = 8;
/// Spans of a message that the kernel was queried about: four stages, the question and its answers.
const MESSAGE: usize = 4 + SITES.len() - QUERY;
const SITES: [&str; 18] = [
    "plant.receive",
    "plant.arbitrate",
    "plant.queue",
    "plant.decode",
    "plant.wait",
    "plant.book",
    "plant.records",
    "plant.ring",
    "kernel.ask",
    "kernel.elapsed",
    "kernel.ran",
    "kernel.queued",
    "kernel.minor-faults",
    "kernel.major-faults",
    "kernel.slept",
    "kernel.preempted",
    "kernel.throttled",
    "kernel.moved",
];

fn run(config: &PlantConfig, rates: &[Rate]) -> Ended {
    let mut run = PlantRun::open(config, ShutdownFlag::new()).unwrap();
    run.trace_switches().unwrap().set(rates);
    run.run(|_| ()).unwrap()
}

/// All spans of the plant of this ring, which are still there.
fn spans(ring: impl AsRef<Path>) -> Vec<Span> {
    let path = trace_path(ring.as_ref(), PLANT_THREAD);
    let mut reader = SpanReader::open(&path, Start::Oldest).unwrap();
    assert_eq!(reader.owner().state, OwnerState::Closed);
    let names: Vec<String> =
        reader.sites().iter().map(|site| site.name.unwrap().to_string()).collect();
    assert_eq!(names, SITES);
    let mut spans = Vec::new();
    loop {
        match reader.try_next().unwrap() {
            Polled::Span(span) => spans.push(span),
            Polled::Empty => return spans,
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
    let traced = run(&config, &[Rate::ALL; 8]);
    let all = spans(&config.ring.name);
    for message in all.chunks(4) {
        check_stages(message, &[DECODE, BOOK, RECORDS, RING]);
    }
    // A plant loads its switches once in 15 messages.
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
    (config.ring.name, config.trace.spans) = (folder.path("other"), 0);
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
        let ended = run(&config, &[rate; 8]);
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
    let mut rates = [Rate::Off; 8];
    (rates[BOOK], rates[RING]) = (Rate::one_in(4).unwrap(), Rate::one_in(8).unwrap());
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
    let ended = run(&config, &[Rate::ALL; 8]);
    let all = spans(&config.ring.name);
    for message in all.chunks(5) {
        check_stages(message, &[DECODE, WAIT, BOOK, RECORDS, RING]);
    }
    assert!(all.len() as u64 > 5 * (ended.stop.messages - 20));
}

const SESSION: Alpha<10> = Alpha::new(*b"LIVE      ");

/// Messages in a packet of line A and of line B.
const CUTS: [usize; 2] = [7, 4];

/// Line A loses one packet in so many.
const LOST: usize = 50;

/// Sends a day on two lines, slowly enough for the plant. Line B is later, and line A loses
/// packets.
fn send(day: &[u8], lines: &[SocketAddr]) {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let messages: Vec<&[u8]> = Records::new(day, 0).map(|record| record.bytes).collect();
    let mut packets = Vec::new();
    for (line, cut) in CUTS.into_iter().enumerate() {
        for (place, together) in messages.chunks(cut).enumerate() {
            let (mut buffer, first) = ([0; 1_400], 1 + (place * cut) as u64);
            let mut packet = PacketWriter::new(SESSION, first, &mut buffer).unwrap();
            assert!(together.iter().all(|message| packet.push(message)));
            let is_lost = line == 0 && place % LOST == LOST / 2;
            if !is_lost {
                let when = place * cut + if line == 1 { 20 } else { 0 };
                packets.push((when, line, packet.finish().to_vec()));
            }
        }
    }
    packets.sort_by_key(|(when, ..)| *when);
    for (count, (_, line, packet)) in packets.iter().enumerate() {
        socket.send_to(packet, lines[*line]).unwrap();
        if count.is_multiple_of(64) {
            thread::sleep(std::time::Duration::from_micros(500));
        }
    }
    let end = end_of_session(SESSION, 1 + messages.len() as u64);
    lines.iter().for_each(|line| assert_eq!(socket.send_to(&end, line).unwrap(), end.len()));
}

/// Runs a live plant to the end of its session.
fn run_live(folder: &Folder, config: &PlantConfig, rates: [Rate; 8]) -> Ended {
    let day = fs::read(folder.path("20191230.itch50")).unwrap();
    let mut plant = PlantRun::open(config, ShutdownFlag::new()).unwrap();
    plant.trace_switches().unwrap().set(&rates);
    let PlantSource::Live(source) = plant.source() else { panic!("a live plant") };
    let lines: Vec<SocketAddr> = source.addresses().collect();
    let sender = thread::spawn(move || {
        // The first messages that the plant reads while it starts have no spans.
        thread::sleep(std::time::Duration::from_millis(200));
        send(&day, &lines);
    });
    let ended = plant.run(|_| ()).unwrap();
    sender.join().unwrap();
    ended
}

fn live(folder: &Folder) -> PlantConfig {
    let mut config = config(folder);
    let line = Some(GroupAddress::from(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))));
    let keep = Some(folder.path("kept"));
    let (date, hold) = ("2019-12-30".parse().unwrap(), std::time::Duration::from_secs(5));
    config.input.live =
        Some(LiveConfig { line_a: line.clone(), line_b: line, keep, hold, ..Default::default() });
    config.input.date = Some(date);
    config.trace.spans = 1 << 18;
    config
}

/// The spans of each message, in the order of their sites.
fn by_message(all: Vec<Span>) -> BTreeMap<u64, Vec<Span>> {
    let mut messages: BTreeMap<u64, Vec<Span>> = BTreeMap::new();
    all.into_iter().for_each(|span| messages.entry(span.number).or_default().push(span));
    messages.values_mut().for_each(|spans| spans.sort_by_key(|span| span.site.index()));
    messages
}

/// The first message that was handed on while spans were on; most of the day is after it.
fn first_handed_on(messages: &BTreeMap<u64, Vec<Span>>) -> u64 {
    let is_handed_on = |spans: &[Span]| spans.iter().any(|span| span.site.index() == ARBITRATE);
    let (&first, _) = messages.iter().find(|(_, spans)| is_handed_on(spans)).unwrap();
    assert!(first < MESSAGES / 2, "{first}");
    first
}

#[test]
fn every_message_of_a_live_session_has_its_stages_from_its_receive_time_to_the_ring() {
    let folder = Folder::new();
    let config = live(&folder);
    let (clock, began) = (Clock::calibrate(), Clock::calibrate().stamp());
    let traced = run_live(&folder, &config, [Rate::ALL; 8]);
    assert_eq!(traced.stop.messages, MESSAGES);
    let messages = by_message(spans(&config.ring.name));
    let numbers: Vec<u64> = messages.keys().copied().collect();
    let first = numbers[0];
    assert_eq!(numbers, (first..=MESSAGES).collect::<Vec<_>>());

    // The receive times of the records of each message.
    let mut ts_recv = BTreeMap::new();
    let mut ring = Subscription::to(&config.ring.name).from(Start::Oldest).open().unwrap();
    let mut note = |event: Event<'_>| match event {
        Event::Record(record) => {
            if let Record::Mbo(order) = record.record {
                ts_recv.insert(u64::from(order.sequence), order.ts_recv);
            }
        }
        other => panic!("{other:?}"),
    };
    while ring.poll(&mut note).unwrap() > 0 {}

    let (mut kept, mut queued, mut last_end) = (0, 0, Stamp::from_ticks(0));
    let (mut own_time, mut with_time, mut last_recv) = (0, 0, 0);
    // Spans are on when the first packets, kept until the session is joined, are handed on already.
    let joined = first_handed_on(&messages);
    for (number, message) in messages.range(joined + 64..) {
        let sites: Vec<usize> = message.iter().map(|span| span.site.index()).collect();
        let had = usize::from(sites[0] == RECEIVE);
        let begin = &[RECEIVE, ARBITRATE][1 - had..];
        let is_queued = sites[had + 1] == QUEUE;
        let queue = &[QUEUE][..usize::from(is_queued)];
        let expected = [begin, queue, &[DECODE, BOOK, RECORDS, RING]].concat();
        check_stages(message, &expected);
        (kept, queued) = (kept + usize::from(had == 0), queued + usize::from(is_queued));
        let arbitrate = message[had];
        assert_eq!(arbitrate.value, u64::from(had == 0));
        // The packet was there before its first message was decoded, and after the start.
        assert!(arbitrate.from > began, "{message:?}");
        let decode = message[sites.iter().position(|&site| site == DECODE).unwrap()];
        assert!(decode.from >= last_end, "{number}: messages are decoded one after the other");
        last_end = message.last().unwrap().to;
        if let Some(&ts_recv_ns) = ts_recv.get(number) {
            // A packet that was received before the one ahead of it, on the other line, has the
            // time of that one.
            assert!(ts_recv_ns >= last_recv, "{number}: {ts_recv_ns} after {last_recv}");
            if had == 1 {
                assert!(
                    message[0].value <= ts_recv_ns,
                    "{number}: {} {ts_recv_ns}",
                    message[0].value
                );
                own_time += usize::from(message[0].value == ts_recv_ns);
                with_time += 1;
            }
            last_recv = ts_recv_ns;
            // By a clock that was anchored at another time.
            let begin_ns = clock.utc(message[0].from).unix_ns();
            assert!(begin_ns.abs_diff(ts_recv_ns) < 50_000_000, "{begin_ns} {ts_recv_ns}");
        }
    }
    assert!(ts_recv.len() as u64 > MESSAGES / 2 && kept > 100 && queued > kept);
    assert!(own_time > with_time / 2, "{own_time} of {with_time}");

    // The same packets without spans have the same records.
    let mut again = support::Folder::config(&folder, &folder.path("kept"));
    (again.ring.name, again.trace.spans) = (folder.path("again"), 0);
    assert_eq!(support::run(&again).stop.digest, traced.stop.digest);
}

#[test]
fn one_live_message_in_many_has_all_of_its_stages() {
    let folder = Folder::new();
    let config = live(&folder);
    run_live(&folder, &config, [Rate::one_in(16).unwrap(); 8]);
    let messages = by_message(spans(&config.ring.name));
    assert!(messages.len() as u64 > MESSAGES / 16 - 10);
    let joined = first_handed_on(&messages);
    for (number, message) in messages.range(joined + 64..) {
        assert!(number.is_multiple_of(16));
        let sites: Vec<usize> = message.iter().map(|span| span.site.index()).collect();
        assert!(sites.contains(&ARBITRATE) && sites.ends_with(&[DECODE, BOOK, RECORDS, RING]));
        check_stages(message, &sites);
    }
}

#[test]
fn a_kept_session_that_is_run_again_has_no_packets_to_wait_for() {
    let folder = Folder::new();
    let config = live(&folder);
    run_live(&folder, &config, [Rate::Off; 8]);
    let mut again = support::Folder::config(&folder, &folder.path("kept"));
    (again.ring.name, again.trace.spans) = (folder.path("again"), 1 << 17);
    run(&again, &[Rate::ALL; 8]);
    for message in by_message(spans(&again.ring.name)).values() {
        check_stages(message, &[DECODE, BOOK, RECORDS, RING]);
    }
}

#[test]
fn the_kernel_is_queried_after_messages_that_took_too_long() {
    let folder = Folder::new();
    let mut config = config(&folder);
    config.input.until = Some("09:50".parse().unwrap());
    let traced_run = |config: &PlantConfig, rates: &[Rate]| -> (Vec<Span>, u64) {
        let ended = run(config, rates);
        (spans(&config.ring.name), ended.stop.messages)
    };
    // Every message takes longer than nothing, and the answers follow its last stage.
    config.trace.ask_above = std::time::Duration::ZERO;
    config.trace.spans = 1 << 20;
    let (all, messages) = traced_run(&config, &[Rate::ALL; SITES.len()]);
    for message in all.chunks(MESSAGE) {
        check_stages(&message[..4], &[DECODE, BOOK, RECORDS, RING]);
        let sites: Vec<usize> = message.iter().map(|span| span.site.index()).collect();
        assert_eq!(sites[4..], (QUERY..SITES.len()).collect::<Vec<_>>()[..]);
        let query = &message[4];
        assert_eq!((query.from, query.number), (message[3].to, message[3].number));
        let of_one = |span: &Span| span.number == query.number && span.from == span.to;
        assert!(message[5..].iter().all(of_one) && message[5].from == query.to, "{message:?}");
        let [elapsed, ran] = [message[5].value, message[6].value];
        // The accounts are read one after the other.
        assert!(elapsed > 0 && ran <= elapsed + 100_000, "{elapsed} {ran}");
    }
    let numbers: Vec<u64> = all.chunks(MESSAGE).map(|message| message[0].number).collect();
    assert!(numbers.len() as u64 > messages - 20 && numbers.is_sorted());
    for pair in all.chunks(MESSAGE).zip(all.chunks(MESSAGE).skip(1)) {
        assert_eq!(pair.0[4].to, pair.1[0].from, "the question is before the next message");
    }
    // No message takes a minute, and without its site nothing is queried.
    for (above, rates) in [(60, vec![Rate::ALL; SITES.len()]), (0, vec![Rate::ALL; QUERY])] {
        let folder = Folder::new();
        let mut config = self::config(&folder);
        config.trace.ask_above = std::time::Duration::from_secs(above);
        let (all, _) = traced_run(&config, &rates);
        assert!(all.iter().all(|span| span.site.index() < QUERY), "{above}");
    }
}

#[test]
fn a_paced_message_shows_how_late_it_was() {
    let folder = Folder::new();
    let mut config = config(&folder);
    config.input.pace = "10000x".parse().unwrap();
    config.input.pace_from = Some("09:29".parse().unwrap());
    config.input.until = Some("09:50".parse().unwrap());
    run(&config, &[Rate::ALL; 8]);
    let waits: Vec<Span> =
        spans(&config.ring.name).into_iter().filter(|span| span.site.index() == WAIT).collect();
    // Messages are due in their order: so are their ends, less the time that each was late.
    let clock = nanotape_clock::Clock::calibrate();
    let due = |span: &Span| {
        let ticks = span.value as f64 * clock.rate().ticks_per_second / 1e9;
        span.to.ticks() as f64 - ticks
    };
    let tolerance = clock.rate().ticks_per_second / 1e6;
    for pair in waits.windows(2) {
        assert!(due(&pair[0]) <= due(&pair[1]) + tolerance, "{pair:?}");
    }
    assert!(waits.len() > 1_000 && waits.iter().any(|span| span.value > 0));
}
