//! Each fault alone, all together, and the messages that both lines lose.

use std::collections::BTreeMap;

use nanotape_types::Alpha;
use nanotape_wire::framing::{moldudp64::MoldUdp64, numbered::PacketFraming as _};

use super::*;
use crate::packetiser::{Cut, Packetiser};

const SESSION: Alpha<10> = Alpha::new(*b"MONDAY    ");
const PACKETS: u64 = 20_000;
/// Time between two packets.
const STEP_NS: u64 = 1_000_000;

fn faults(text: &str) -> Faults {
    text.parse().unwrap()
}

/// The packets that leave a line: when they were due, when they left, and their bytes.
fn run(line: &mut Line, cut: Cut) -> Vec<(u64, Vec<u8>)> {
    let mut packetiser = Packetiser::new(SESSION, 1, cut);
    let mut left = Vec::new();
    for number in 1..=PACKETS {
        let time_ns = number * STEP_NS;
        packetiser.push(&number.to_be_bytes(), time_ns, |packet| line.packet(packet));
        while let Some((due_ns, bytes)) = line.take(time_ns - STEP_NS) {
            assert!(due_ns <= time_ns - STEP_NS);
            left.push((due_ns, bytes));
        }
    }
    packetiser.flush(|packet| line.packet(packet));
    while let Some(due_ns) = line.next_due() {
        left.push(line.take(due_ns).unwrap());
    }
    assert_eq!(line.take(u64::MAX), None);
    assert_eq!(line.counts().sent, left.len() as u64);
    left
}

fn line_of(text: &str, both: &str, seed: u64, line: u64) -> Line {
    Line::new(faults(text), &faults(both), seed, line)
}

/// A packet for each message, and what a line with these faults makes of them.
fn sent(text: &str) -> (LineCounts, Vec<(u64, Vec<u8>)>) {
    let mut line = line_of(text, "", 7, 0);
    let sent = run(&mut line, Cut::default());
    assert_eq!((line.counts().packets, line.counts().messages), (PACKETS, PACKETS));
    (line.counts(), sent)
}

/// The number of the first message of each packet.
fn numbers(sent: &[(u64, Vec<u8>)]) -> Vec<u64> {
    let number = |bytes: &[u8]| MoldUdp64::decode(bytes).unwrap().first;
    sent.iter().map(|(_, bytes)| number(bytes)).collect()
}

/// Whether a count is what the probability gives, within five standard deviations.
#[track_caller]
fn assert_rate(count: u64, percent: f64) {
    let (n, p) = (PACKETS as f64, percent / 100.0);
    let apart = (count as f64 - n * p).abs();
    assert!(apart <= 5.0 * (n * p * (1.0 - p)).sqrt(), "{count} of {n} at {percent}%");
}

#[test]
fn a_line_without_faults_sends_every_packet_once_at_its_time() {
    let (counts, sent) = sent("");
    assert_eq!(numbers(&sent), (1..=PACKETS).collect::<Vec<_>>());
    assert!(sent.iter().zip(1..).all(|((due_ns, _), number)| *due_ns == number * STEP_NS));
    let sent_bytes = PACKETS * (20 + 2 + 8);
    let expected =
        LineCounts { packets: PACKETS, messages: PACKETS, sent: PACKETS, sent_bytes, ..counts };
    assert_eq!(counts, expected);
    let others = LineCounts { packets: 0, messages: 0, sent: 0, sent_bytes: 0, ..counts };
    assert_eq!(others, LineCounts::default());
}

#[test]
fn drops_and_bursts_remove_packets() {
    let (counts, dropped) = sent("drop=2%");
    assert_rate(counts.dropped, 2.0);
    assert_eq!(counts.sent, PACKETS - counts.dropped);
    assert!(numbers(&dropped).is_sorted());

    let (counts, bursts) = sent("burst=0.1%x20");
    let numbers = numbers(&bursts);
    let gaps: Vec<u64> = numbers.windows(2).map(|pair| pair[1] - pair[0] - 1).collect();
    assert_eq!(
        gaps.iter().sum::<u64>() + PACKETS - numbers.last().unwrap(),
        counts.dropped_in_bursts
    );
    assert!(gaps.iter().filter(|&&gap| gap > 0).all(|&gap| gap >= 20), "a burst is whole");
    assert!(counts.dropped_in_bursts > 200, "{counts:?}");
}

#[test]
fn copies_delays_and_reordering_keep_every_packet() {
    let (counts, twice) = sent("dup=1%");
    assert_rate(counts.duplicated, 1.0);
    assert_eq!(counts.sent, PACKETS + counts.duplicated);
    let mut numbers_of_copies = numbers(&twice);
    numbers_of_copies.dedup();
    assert_eq!(numbers_of_copies.len() as u64, PACKETS);

    let (counts, delayed) = sent("delay=1%x3500us");
    assert_rate(counts.delayed, 1.0);
    let mut late = 0;
    for ((due_ns, _), number) in delayed.iter().zip(numbers(&delayed)) {
        late += u64::from(*due_ns == number * STEP_NS + 3_500_000);
        assert!(*due_ns == number * STEP_NS || *due_ns == number * STEP_NS + 3_500_000);
    }
    assert_eq!(late, counts.delayed);
    assert!(delayed.is_sorted_by_key(|(due_ns, _)| *due_ns));

    let (counts, reordered) = sent("reorder=1%x4");
    assert_rate(counts.reordered, 1.0);
    let numbers = numbers(&reordered);
    assert_eq!(numbers.len() as u64, PACKETS);
    let mut most = 0;
    for (position, &number) in numbers.iter().enumerate() {
        let overtook = numbers[..position].iter().rev().take(20).filter(|&&n| n > number).count();
        most = most.max(overtook);
    }
    assert!((2..=4).contains(&most), "{most} packets overtook one");
}

#[test]
fn a_held_packet_leaves_although_no_other_follows() {
    let mut line = line_of("reorder=100%x1000", "", 1, 0);
    let mut packetiser = Packetiser::new(SESSION, 1, Cut::default());
    packetiser.push(b"message", 5, |_| {});
    packetiser.flush(|packet| line.packet(packet));
    assert_eq!(line.next_due(), Some(5 + HOLD_NS));
    assert_eq!(line.take(5 + HOLD_NS - 1), None);
    assert_eq!(line.take(5 + HOLD_NS).map(|(due_ns, _)| due_ns), Some(5 + HOLD_NS));
}

#[test]
fn a_damaged_packet_is_refused_unless_a_byte_of_a_message_changed() {
    let (counts, cut) = sent("truncate=1%");
    assert_rate(counts.truncated, 1.0);
    let refused = |sent: &[(u64, Vec<u8>)]| {
        sent.iter().filter(|(_, bytes)| MoldUdp64::decode(bytes).is_err()).count() as u64
    };
    assert_eq!(refused(&cut), counts.truncated);

    let (counts, corrupt) = sent("corrupt=1%");
    assert_rate(counts.corrupted, 1.0);
    assert_eq!(refused(&corrupt), counts.corrupted);

    let (counts, flipped) = sent("flip=1%");
    assert_rate(counts.flipped, 1.0);
    assert_eq!(refused(&flipped), 0);
    let is_changed = |bytes: &[u8]| {
        let (number, message) = MoldUdp64::decode(bytes).unwrap().messages().next().unwrap();
        message != number.to_be_bytes()
    };
    let changed = flipped.iter().filter(|(_, bytes)| is_changed(bytes)).count();
    assert_eq!(changed as u64, counts.flipped);

    let (counts, renamed) = sent("session=1%");
    assert_rate(counts.other_session, 1.0);
    let is_other = |bytes: &[u8]| MoldUdp64::decode(bytes).unwrap().session != SESSION;
    let others = renamed.iter().filter(|(_, bytes)| is_other(bytes)).count();
    assert_eq!(others as u64, counts.other_session);
}

#[test]
fn a_line_starts_late_is_silent_and_changes_its_session_at_the_given_times() {
    // Packet n leaves at n ms after midnight.
    let text = "start=@00:00:02,silence=@00:00:03+50ms,silence=@00:00:04+1ms,session=@00:00:10";
    let mut line = line_of(text, "", 7, 0);
    let packets = run(&mut line, Cut::default());
    let expected: Vec<u64> = (2_000..3_000).chain(3_050..4_000).chain(4_001..=PACKETS).collect();
    assert_eq!(numbers(&packets), expected);
    let counts = line.counts();
    assert_eq!((counts.before_start, counts.silenced), (1_999, 51));
    assert_eq!(counts.other_session, PACKETS - 9_999);
    for (time_ns, is_silent) in [
        (1_999_999_999, true),
        (2_000_000_000, false),
        (3_000_000_000, true),
        (3_049_999_999, true),
        (3_050_000_000, false),
    ] {
        assert_eq!(line.is_silent(time_ns), is_silent, "{time_ns}");
        assert_eq!(line.idle_packet(time_ns, vec![b'x'; 20]).is_none(), is_silent, "{time_ns}");
    }
    assert_eq!(line.idle_packet(9_999_999_999, vec![b'x'; 20]), Some(vec![b'x'; 20]));
    assert_eq!(
        line.idle_packet(10_000_000_000, vec![b'x'; 20]).map(|packet| packet[0]),
        Some(b'#')
    );
}

#[test]
fn a_seed_always_gives_the_same_faults_and_lines_have_their_own() {
    let all = "drop=2%,burst=0.1%x20,dup=1%,reorder=1%x4,delay=1%x2ms,truncate=1%,flip=1%";
    let of = |seed, line| run(&mut line_of(all, "drop=1%", seed, line), Cut::default());
    let first = of(1, 0);
    assert!(first == of(1, 0));
    assert!(first != of(2, 0) && first != of(1, 1));
}

#[test]
fn what_both_lines_lose_is_the_same_although_they_cut_packets_differently() {
    let lost = |line, seed| {
        let cut = Cut { share_ns: 5 * STEP_NS, seed: Some(seed), ..Cut::default() };
        let mut line = line_of("", "drop=0.5%,burst=0.02%x30", 9, line);
        let mut found = BTreeMap::new();
        for (_, bytes) in run(&mut line, cut) {
            found.extend(
                MoldUdp64::decode(&bytes).unwrap().messages().map(|(n, m)| (n, m.to_vec())),
            );
        }
        assert!(line.counts().dropped_on_both > 0);
        (1..=PACKETS).filter(|n| !found.contains_key(n)).collect::<Vec<_>>()
    };
    let (a, b) = (lost(0, 1), lost(1, 2));
    assert!(a != b, "packets around a lost message differ");
    // A lost message is missing on both lines, and its neighbours where they share its packet.
    let both = LostOnBoth::new(&faults("drop=0.5%,burst=0.02%x30"), 9);
    let doomed: Vec<u64> = (1..=PACKETS).filter(|&number| both.hits(number, 1)).collect();
    assert!(doomed.len() > 100, "{}", doomed.len());
    for number in &doomed {
        assert!(a.binary_search(number).is_ok() && b.binary_search(number).is_ok(), "{number}");
    }
    let bursts = LostOnBoth::new(&faults("burst=0.02%x30"), 9);
    let run: Vec<u64> = (1..=PACKETS).filter(|&number| bursts.hits(number, 1)).collect();
    assert!(run.len() >= 30 && run.chunk_by(|a, b| a + 1 == *b).all(|burst| burst.len() >= 30));
}

#[test]
fn whatever_the_faults_are_every_packet_is_accounted_for() {
    for seed in 0..40 {
        let mut rng = Rng::new(seed, 77);
        let mut parts = Vec::new();
        for fault in [
            "drop=3%",
            "burst=0.2%x9",
            "dup=4%",
            "reorder=5%x50",
            "delay=2%x40ms",
            "truncate=1%",
            "corrupt=1%",
            "session=1%",
            "start=@00:00:01",
            "silence=@00:00:05+2s",
        ] {
            parts.extend((rng.below(2) == 0).then_some(fault));
        }
        let mut line = line_of(&parts.join(","), "drop=0.1%,silence=@00:00:15+100ms", seed, 0);
        let packets =
            run(&mut line, Cut { share_ns: 3 * STEP_NS, seed: Some(seed), ..Cut::default() });
        let counts = line.counts();
        let lost = counts.dropped
            + counts.dropped_in_bursts
            + counts.dropped_on_both
            + counts.silenced
            + counts.before_start;
        assert_eq!(
            counts.sent,
            counts.packets - lost + counts.duplicated,
            "seed {seed}: {counts:?}"
        );
        assert_eq!(counts.messages, PACKETS);
        assert!(packets.is_sorted_by_key(|(due_ns, _)| *due_ns), "seed {seed}");
        let mut damaged = 0;
        for (_, bytes) in packets {
            let Ok(packet) = MoldUdp64::decode(&bytes) else {
                damaged += 1;
                continue;
            };
            for (number, message) in packet.messages() {
                assert_eq!(message, number.to_be_bytes(), "seed {seed}");
            }
        }
        // A copy of a damaged packet is damaged too.
        let most = 2 * (counts.truncated + counts.corrupted);
        assert!(damaged <= most && damaged * 2 >= most / 2, "seed {seed}: {damaged} of {counts:?}");
    }
}
