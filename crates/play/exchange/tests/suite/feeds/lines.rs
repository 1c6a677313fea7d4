//! What arrives on the lines is the day, in every protocol, and faults are counted.

use nanotape_exchange::feeds::FeedExchangeOptions;
use nanotape_synth::FeedProtocol;
use nanotape_wire::framing::{
    iextp::{IexTp, StreamOffsets},
    numbered::{PacketFraming as _, PacketKind},
};

use super::{Messages, Receiver, Running, messages_of, options, translated};
use crate::support::day;

/// The messages of each socket, and the first number of every heartbeat. Every packet must
/// continue the one before.
fn in_order(protocol: FeedProtocol, packets: &[Vec<Vec<u8>>]) -> Vec<(Messages, u64)> {
    let of_socket = |packets: &Vec<Vec<u8>>| {
        let (mut messages, mut heartbeats) = (Messages::new(), 0);
        for packet in packets {
            let (kind, found) = messages_of(protocol, packet).expect("a whole packet");
            assert!(packet.len() <= 1_400);
            heartbeats += u64::from(kind == PacketKind::Heartbeat);
            for (number, message) in found {
                assert_eq!(number, messages.len() as u64 + 1, "{protocol}");
                messages.insert(number, message);
            }
        }
        (messages, heartbeats)
    };
    packets.iter().map(of_socket).collect()
}

#[test]
fn both_lines_have_the_whole_day_in_order_in_every_protocol() {
    let day = day(3_000, 20, 1);
    for (protocol, units) in [
        (FeedProtocol::CboePitch, 3),
        (FeedProtocol::IexDeep, 1),
        (FeedProtocol::IexDeepPlus, 1),
        (FeedProtocol::IexTops, 1),
    ] {
        let mut options = options(protocol, units);
        let expected = translated(&day, &options);
        let ((line_a, a), (line_b, b)) =
            (Receiver::start(units.into()), Receiver::start(units.into()));
        options.lines.lines = [Some(a), Some(b)];
        options.lines.linger = std::time::Duration::from_millis(1_200);
        let summary = Running::start(&day, options).summary();
        let [line_a, line_b] = [line_a, line_b].map(Receiver::packets);
        assert!(line_a != line_b, "the lines cut packets differently");
        let found = [&line_a, &line_b].map(|packets| in_order(protocol, packets));
        for line in &found {
            for ((messages, heartbeats), expected) in line.iter().zip(&expected) {
                assert!(messages == expected, "{protocol}");
                assert!(*heartbeats >= 1, "{protocol}: an idle line sends heartbeats");
            }
        }
        let all: usize = expected.iter().map(Messages::len).sum();
        assert_eq!(summary.sent.messages, all as u64);
        for (line, packets) in summary.sent.lines.iter().zip([&line_a, &line_b]) {
            let arrived: usize = packets.iter().map(Vec::len).sum();
            assert_eq!(line.counts.sent + line.counts.idle_packets, arrived as u64);
            assert_eq!((line.counts.messages, line.send_errors), (all as u64, 0));
        }
        let last: Vec<_> = summary.units.iter().map(|unit| unit.last as usize).collect();
        assert_eq!(last, expected.iter().map(Messages::len).collect::<Vec<_>>());
        if protocol != FeedProtocol::CboePitch {
            let mut offsets = StreamOffsets::default();
            for packet in &line_a[0] {
                offsets.check(&IexTp::decode(packet).unwrap()).unwrap();
            }
        }
    }
}

/// Runs a day with faults, and returns the packets of both lines and the options.
fn faulty(
    protocol: FeedProtocol,
    change: impl FnOnce(&mut FeedExchangeOptions),
) -> ([Vec<Vec<u8>>; 2], Messages, nanotape_exchange::feeds::FeedSummary) {
    let day = day(3_000, 20, 2);
    let mut options = options(protocol, 1);
    let ((line_a, a), (line_b, b)) = (Receiver::start(1), Receiver::start(1));
    options.lines.lines = [Some(a), Some(b)];
    change(&mut options);
    let expected = translated(&day, &options).remove(0);
    let summary = Running::start(&day, options).summary();
    ([line_a, line_b].map(|line| line.packets().remove(0)), expected, summary)
}

#[test]
fn a_judge_can_count_what_faults_did() {
    for protocol in [FeedProtocol::CboePitch, FeedProtocol::IexDeep] {
        let (lines, expected, summary) = faulty(protocol, |options| {
            options.lines.faults =
                ["drop=5%,dup=5%", "session=5%,corrupt=5%"].map(|text| text.parse().unwrap());
            options.lines.faults_of_both = "drop=1%".parse().unwrap();
        });
        let [a, b] = summary.sent.lines.map(|line| line.counts);
        let is_data = |packet: &&Vec<u8>| {
            messages_of(protocol, packet).is_none_or(|(kind, _)| kind == PacketKind::Data)
        };
        let data = lines.each_ref().map(|line| line.iter().filter(is_data).count() as u64);
        assert!(a.dropped > 5 && a.dropped_on_both > 5 && a.duplicated > 5, "{a:?}");
        assert_eq!(data[0], a.packets - a.dropped - a.dropped_on_both + a.duplicated);
        assert_eq!(data[1], b.packets - b.dropped_on_both);
        let malformed = lines[1].iter().filter(|packet| messages_of(protocol, packet).is_none());
        assert_eq!(malformed.count() as u64, b.corrupted);
        assert!(b.corrupted > 5 && b.other_session > 5, "{b:?}");
        // What both lines have is never wrong, and what is on neither is lost by its number.
        for (number, message) in
            lines.iter().flatten().filter_map(|p| messages_of(protocol, p)).flat_map(|(_, m)| m)
        {
            assert!(expected.get(&number) == Some(&message), "{protocol}: message {number}");
        }
    }
}

#[test]
fn a_restart_begins_again_with_number_1_on_both_lines() {
    let (lines, expected, summary) = faulty(FeedProtocol::IexDeepPlus, |options| {
        options.lines.faults_of_both = "restart=@12:00".parse().unwrap();
    });
    for line in &lines {
        let mut numbers = Vec::new();
        let mut found = Vec::new();
        for packet in line {
            let (_, messages) = messages_of(FeedProtocol::IexDeepPlus, packet).unwrap();
            numbers.extend(messages.iter().map(|(number, _)| *number));
            found.extend(messages.into_iter().map(|(_, message)| message));
        }
        assert!(found.iter().eq(expected.values()));
        let again = numbers.iter().skip(1).position(|number| *number == 1).unwrap() as u64 + 1;
        assert!(numbers.iter().copied().eq((1..=again).chain(1..=numbers.len() as u64 - again)));
        let sessions = line.iter().map(|packet| IexTp::decode(packet).unwrap().session);
        assert_eq!(sessions.collect::<std::collections::HashSet<_>>().len(), 1);
        let after = line.iter().map(|packet| IexTp::decode(packet).unwrap());
        let second = after.filter(|packet| packet.first == 1 && packet.count > 0).nth(1).unwrap();
        assert_eq!(second.stream_offset, Some(0));
    }
    assert_eq!(summary.sent.messages, expected.len() as u64);
}
