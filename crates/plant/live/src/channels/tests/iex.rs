//! IEX DEEP and DEEP+ on two lines, without a socket.

use nanotape_book::DefaultBooks;
use nanotape_engine::BookEngine;
use nanotape_feed::{
    Feed,
    channels::IexTp,
    session::{Join, Line, PacketOrigin, SessionSettings},
};
use nanotape_harness::Random;
use nanotape_market::{EventHandler, SessionChange};
use nanotape_synth::FeedProtocol;

use super::{
    super::set::{ChannelSet, SetSettings},
    day::{MIDNIGHT_NS, Reference, TestDay, Watcher, books},
};

const MS: u64 = 1_000_000;

/// Bytes of the header of a segment.
const IEX_HEADER: usize = 40;

fn settings() -> SetSettings {
    let session = SessionSettings { join: Join::Snapshot, ..SessionSettings::default() };
    let session = SessionSettings { ahead_messages: 1 << 14, ahead_bytes: 2 << 20, ..session };
    SetSettings { session, has_images: [false; 256] }
}

/// Passes packets of the day on lines that lose some: `lost` decides, by place and line. Returns
/// the time after the last one.
fn pass<H: EventHandler>(
    set: &mut ChannelSet<IexTp>,
    packets: &[Vec<u8>],
    mut now_ns: u64,
    handler: &mut H,
    mut lost: impl FnMut(usize, Line) -> bool,
) -> u64 {
    for (place, bytes) in packets.iter().enumerate() {
        for line in [Line::A, Line::B] {
            if !lost(place, line) {
                set.packet(PacketOrigin::Line(line), (now_ns, now_ns), bytes, handler);
            }
        }
        now_ns += MS / 2;
        set.tick(now_ns, handler);
    }
    for _ in 0..20 {
        now_ns += 10 * MS;
        set.tick(now_ns, handler);
    }
    now_ns
}

fn day(feed: Feed, seed: u64) -> (TestDay, Vec<Vec<u8>>) {
    let protocol = match feed {
        Feed::IexDeep => FeedProtocol::IexDeep,
        _ => FeedProtocol::IexDeepPlus,
    };
    let day = TestDay::of::<IexTp>((protocol, feed), 1, 2_000 + seed);
    let packets = day.packets.iter().map(|packet| packet.bytes.clone()).collect();
    (day, packets)
}

fn engine() -> BookEngine<DefaultBooks> {
    BookEngine::new(DefaultBooks::with_capacity(1024))
}

#[test]
fn lines_that_lose_different_packets_bring_everything() {
    for feed in [Feed::IexDeep, Feed::IexDeepPlus] {
        let (day, packets) = day(feed, 0);
        for seed in 1..20 {
            let mut random = Random::new(seed);
            let losses: Vec<u64> = packets.iter().map(|_| random.below(10)).collect();
            let mut set = ChannelSet::<IexTp>::new(feed, settings(), MIDNIGHT_NS);
            let (mut ours, mut watcher) = (engine(), Watcher::default());
            let mut handler = ours.live(&mut watcher);
            let now_ns = pass(&mut set, &packets, MIDNIGHT_NS, &mut handler, |place, line| {
                losses[place] == line.index() as u64
            });
            assert_eq!(set.common.messages, day.messages[0].len() as u64, "seed {seed}");
            assert_eq!((set.common.gaps.declared, set.common.missing), (0, 0), "seed {seed}");
            assert!(set.has_ended(now_ns), "the last message ends it");
            let mut theirs = Reference::new(&day, 0);
            theirs.advance(&day.messages[0], day.messages[0].len());
            assert_eq!(books(&ours), books(&theirs.engine), "seed {seed}");
            let is_suspect = |change: &SessionChange| matches!(change, SessionChange::Suspect(_));
            assert!(!watcher.changes.iter().any(is_suspect));
        }
    }
}

#[test]
fn what_no_line_brings_is_reported_as_missing() {
    let (day, packets) = day(Feed::IexDeep, 0);
    let mut set = ChannelSet::<IexTp>::new(Feed::IexDeep, settings(), MIDNIGHT_NS);
    let (mut ours, mut watcher) = (engine(), Watcher::default());
    let mut handler = ours.live(&mut watcher);
    let place = packets.len() / 2;
    pass(&mut set, &packets, MIDNIGHT_NS, &mut handler, |at, _| at == place);
    let lost = day.packets[place + 1].first - day.packets[place].first;
    assert_eq!((watcher.missing, set.common.missing), (lost, lost));
    let total = day.messages[0].len() as u64;
    assert_eq!(set.common.messages, total - lost);
    // Later messages have the numbers that they would have had.
    assert_eq!(set.common.next, total + 1);
    let [declared, suspect, closed] = &watcher.changes[..] else { panic!("{watcher:?}") };
    assert!(matches!(declared, SessionChange::GapDeclared(gap) if gap.next - gap.first == lost));
    assert!(matches!(suspect, SessionChange::Suspect(_)));
    assert!(matches!(closed, SessionChange::GapClosed(gap) if gap.lost == lost), "{closed:?}");
}

#[test]
fn a_late_join_without_a_server_leaves_the_books_suspect() {
    let (_, packets) = day(Feed::IexDeep, 0);
    let mut set = ChannelSet::<IexTp>::new(Feed::IexDeep, settings(), MIDNIGHT_NS);
    let (mut ours, mut watcher) = (engine(), Watcher::default());
    let mut handler = ours.live(&mut watcher);
    pass(&mut set, &packets, MIDNIGHT_NS, &mut handler, |at, _| at < 30);
    assert!(set.is_late());
    let [SessionChange::Suspect(suspect)] = &watcher.changes[..] else { panic!("{watcher:?}") };
    assert!(suspect.is_late_join && suspect.next > 1);
}

#[test]
fn a_session_that_begins_again_at_1_is_a_new_stream_with_empty_books() {
    for feed in [Feed::IexDeep, Feed::IexDeepPlus] {
        let ((_, mut packets), (mut second, mut again)) = (day(feed, 0), day(feed, 700));
        packets.truncate(packets.len() / 2);
        // Message 1 has another time.
        again[0][IEX_HEADER + 2 + 2] ^= 1;
        second.messages[0][0][2] ^= 1;
        let mut set = ChannelSet::<IexTp>::new(feed, settings(), MIDNIGHT_NS);
        let (mut ours, mut watcher) = (engine(), Watcher::default());
        let mut handler = ours.live(&mut watcher);
        // Line B is three packets behind when line A begins again.
        let late = packets.split_off(packets.len() - 3);
        let now_ns = pass(&mut set, &packets, MIDNIGHT_NS, &mut handler, |_, _| false);
        let on_a = PacketOrigin::Line(Line::A);
        late.iter().for_each(|late| set.packet(on_a, (now_ns, now_ns), late, &mut handler));
        let (first, rest) = again.split_at(2);
        first.iter().for_each(|first| set.packet(on_a, (now_ns, now_ns), first, &mut handler));
        let on_b = PacketOrigin::Line(Line::B);
        late.iter().for_each(|late| set.packet(on_b, (now_ns, now_ns), late, &mut handler));
        first.iter().for_each(|first| set.packet(on_b, (now_ns, now_ns), first, &mut handler));
        pass(&mut set, rest, now_ns, &mut handler, |_, _| false);
        let mut theirs = Reference::new(&second, 0);
        theirs.advance(&second.messages[0], second.messages[0].len());
        assert_eq!(books(&ours), books(&theirs.engine));
        assert_eq!((set.common.missing, watcher.missing), (0, 0));
    }
}

#[test]
fn bytes_of_any_kind_change_nothing_and_end_nothing() {
    let (_, packets) = day(Feed::IexDeep, 0);
    let mut set = ChannelSet::<IexTp>::new(Feed::IexDeep, settings(), MIDNIGHT_NS);
    let (mut ours, mut watcher) = (engine(), Watcher::default());
    let mut handler = ours.live(&mut watcher);
    let mut random = Random::new(9);
    let mut now_ns = MIDNIGHT_NS;
    for packet in &packets {
        let mut changed = packet.clone();
        for _ in 0..1 + random.below(4) {
            let place = random.below(changed.len() as u64) as usize;
            changed[place] = [0, 1, 0x7f, 0xff][random.below(4) as usize];
        }
        changed.truncate(random.below(changed.len() as u64 + 1) as usize);
        let origin = match random.below(3) {
            0 => PacketOrigin::Retransmission,
            line => PacketOrigin::Line(Line::new(line as usize - 1).unwrap()),
        };
        set.packet(origin, (now_ns, now_ns), &changed, &mut handler);
        set.packet(PacketOrigin::Line(Line::A), (now_ns, now_ns), packet, &mut handler);
        now_ns += MS;
        set.tick(now_ns, &mut handler);
    }
    set.close(now_ns, &mut handler);
    assert!(set.common.messages > 0);
}
