//! Surveys of captures against sets of numbers, and on damaged captures.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::{Ipv4Addr, SocketAddrV4},
};

use nanotape_feed::{
    CaptureChoice, DaySource,
    capture::{CaptureSurvey, Carried, MOST_ROWS},
    read_day,
};
use nanotape_harness::Random;
use nanotape_types::Alpha;
use nanotape_wire::{capture::CaptureFormat, framing::moldudp64::PacketWriter};

use crate::{captures::Capture, support::Seen};

/// What the naive counting knows of a session on a destination.
#[derive(Default)]
struct Naive {
    numbers: BTreeSet<u64>,
    /// The lowest number that a packet had, and the highest next one.
    known: Option<(u64, u64)>,
    messages: u64,
}

impl Naive {
    /// Numbers without a message.
    fn missing(&self) -> BTreeSet<u64> {
        let (first, next) = self.known.unwrap_or_default();
        (first..next).filter(|number| !self.numbers.contains(number)).collect()
    }
}

/// The destination and the session.
type NaiveRows = BTreeMap<(SocketAddrV4, [u8; 10]), Naive>;

/// Packets of two sessions to three destinations, lost, repeated and out of order.
fn any_capture(seed: u64) -> (Vec<u8>, NaiveRows) {
    let (mut capture, mut random) = (Capture::new(CaptureFormat::Pcap), Random::new(seed));
    let mut naive = NaiveRows::new();
    for _ in 0..random.below(120) {
        let at = SocketAddrV4::new(Ipv4Addr::new(239, 0, 0, random.below(3) as u8), 5_001);
        let session = [*b"MONDAY    ", *b"TUESDAY   "][random.below(2) as usize];
        let (first, count) = (1 + random.below(60), random.below(5));
        let mut buffer = [0; 200];
        let mut packet = PacketWriter::new(Alpha::new(session), first, &mut buffer).unwrap();
        assert!((0..count).all(|_| packet.push(b"message")));
        let payload = packet.finish().to_vec();
        capture.datagram(at, &payload);
        let of = naive.entry((at, session)).or_default();
        of.numbers.extend(first..first + count);
        of.messages += count;
        let known = of.known.unwrap_or((first, first));
        of.known = Some((known.0.min(first), known.1.max(first + count)));
    }
    (capture.bytes, naive)
}

fn survey(bytes: Vec<u8>) -> CaptureSurvey {
    CaptureSurvey::read(&mut DaySource::memory("capture", bytes), |_| ()).unwrap()
}

#[test]
fn a_survey_counts_what_sets_of_numbers_count() {
    for seed in 0..300 {
        let (bytes, naive) = any_capture(seed);
        let survey = survey(bytes);
        assert_eq!(survey.rows.len(), naive.len());
        for row in &survey.rows {
            let Carried::MoldUdp64(session) = row.carried else { panic!("seed {seed}: {row:?}") };
            let naive_row = &naive[&(row.destination, *session.as_bytes())];
            let (numbers, missing) = (&naive_row.numbers, naive_row.missing());
            assert_eq!(row.messages, naive_row.messages, "seed {seed}");
            assert_eq!(row.duplicates, row.messages - numbers.len() as u64, "seed {seed}");
            assert_eq!(row.first_message, numbers.first().copied(), "seed {seed}");
            assert_eq!(row.last_message, numbers.last().copied(), "seed {seed}");
            assert_eq!(row.missing, missing.len() as u64, "seed {seed}");
            let begins_gap = |number: &&u64| !missing.contains(&(**number - 1));
            assert_eq!(row.gaps, missing.iter().filter(begins_gap).count() as u64, "seed {seed}");
            let is_other = |(at, name): &(SocketAddrV4, [u8; 10])| {
                *at != row.destination && name == session.as_bytes()
            };
            let others = naive.iter().filter(|(key, _)| is_other(key));
            let others: BTreeSet<u64> =
                others.flat_map(|(_, of)| of.numbers.iter().copied()).collect();
            assert_eq!(row.shared, numbers.intersection(&others).count() as u64, "seed {seed}");
        }
        for session in &survey.sessions {
            let Carried::MoldUdp64(name) = session.carried else { panic!("seed {seed}") };
            let mut all = Naive::default();
            for (_, of) in naive.iter().filter(|((_, of), _)| of == name.as_bytes()) {
                all.numbers.extend(&of.numbers);
                let (first, next) = of.known.unwrap();
                let known = all.known.unwrap_or((first, next));
                all.known = Some((known.0.min(first), known.1.max(next)));
            }
            assert_eq!(session.messages, Some(all.numbers.len() as u64), "seed {seed}");
            assert_eq!(session.missing, Some(all.missing().len() as u64), "seed {seed}");
        }
    }
}

/// Datagrams of other programs take no room that a session needs.
#[test]
fn a_session_after_many_other_destinations_has_its_row_and_its_messages() {
    let mut capture = Capture::new(CaptureFormat::Pcap);
    let noise = MOST_ROWS as u16 + 10;
    for port in 0..noise {
        capture.datagram(SocketAddrV4::new(Ipv4Addr::LOCALHOST, port), b"a question");
    }
    let mut buffer = [0; 200];
    let mut packet = PacketWriter::new(Alpha::new(*b"MONDAY    "), 1, &mut buffer).unwrap();
    assert!(packet.push(b"message"));
    let payload = packet.finish().to_vec();
    capture.datagram(SocketAddrV4::new(Ipv4Addr::new(239, 0, 0, 1), 5_001), &payload);
    let found = survey(capture.bytes.clone());
    assert_eq!(found.sessions.iter().map(|of| of.messages).collect::<Vec<_>>(), [Some(1)]);
    assert_eq!(found.without_row, u64::from(noise) - MOST_ROWS as u64 / 2);
    let mut source = DaySource::memory("capture", capture.bytes);
    let summary = read_day(&mut source, &mut Seen::default(), |_| ()).unwrap();
    let session = summary.session.unwrap();
    assert_eq!((session.messages, session.others.datagrams()), (1, u64::from(noise)));
}

#[test]
fn every_packet_of_a_damaged_capture_is_counted_once() {
    for seed in 0..300 {
        let (mut bytes, _) = any_capture(seed);
        let mut random = Random::new(seed);
        for _ in 0..random.below(30) {
            let at = 24 + random.below(bytes.len() as u64) as usize;
            if let Some(byte) = bytes.get_mut(at) {
                *byte = random.below(256) as u8;
            }
        }
        let survey = survey(bytes.clone());
        for session in &survey.sessions {
            // A name with other bytes than text cannot be typed.
            let typed = session.carried.session().filter(|name| !name.contains('\\'));
            let Some(Ok(name)) = typed.map(|name| name.parse()) else { continue };
            let mut source = DaySource::memory("capture", bytes.clone());
            source.choose(&CaptureChoice { session: Some(name), ..CaptureChoice::default() });
            source.set_kept_bytes(random.below(2) as usize * 5_000);
            let read = read_day(&mut source, &mut Seen::default(), |_| ()).unwrap();
            let read = read.session.unwrap();
            let counted = (Some(read.messages), Some(read.missing));
            assert_eq!(counted, (session.messages, session.missing), "seed {seed}");
        }
        let in_rows: u64 = survey.rows.iter().map(|row| row.packets).sum();
        let skipped: u64 = survey.skipped.iter().sum();
        assert_eq!(survey.packets, in_rows + skipped + survey.without_row, "seed {seed}");
        assert!(survey.rows.iter().all(|row| row.duplicates <= row.messages), "seed {seed}");
        assert!(!survey.is_good() || survey.total_damage == 0, "seed {seed}");
    }
}
