//! A feed of channels on any packets and any answers at any time: nothing panics, numbers are in
//! order, each gap that is declared is closed at the end, and what is kept has its bounds.

use core::ops::ControlFlow;

use nanotape_book::DefaultBooks;
use nanotape_engine::{BookEngine, Observer};
use nanotape_feed::{
    Feed, SpinImage,
    channels::Pitch,
    pitch_tcp::RefusedFor,
    session::{Join, Line, PacketOrigin, RequestSettings, SessionSettings, SnapshotSettings},
};
use nanotape_harness::Random;
use nanotape_market::{Damage, MarketEvent, Position, SessionChange};

use super::{
    super::set::{ChannelSet, Refusal, SetSettings},
    day::{MIDNIGHT_NS, unit},
};

const MS: u64 = 1_000_000;
const SEEDS: u64 = 400;
const STEPS: usize = 600;

#[derive(Default)]
struct Seen {
    number: u64,
    open: i64,
    damaged: u64,
}

impl Observer<DefaultBooks> for Seen {
    fn admit(&mut self, at: Position, _: &MarketEvent) -> ControlFlow<()> {
        assert!(at.number >= self.number, "message {} after message {}", at.number, self.number);
        self.number = at.number;
        ControlFlow::Continue(())
    }

    fn damage(&mut self, _: Damage) {
        self.damaged += 1;
    }

    fn session(&mut self, change: &SessionChange) {
        match change {
            SessionChange::GapDeclared(_) => self.open += 1,
            SessionChange::GapClosed(_) => self.open -= 1,
            _ => {}
        }
        assert!(self.open >= 0);
    }
}

/// A message of a type that changes books, with any content; sometimes its length is a lie.
fn message(random: &mut Random) -> Vec<u8> {
    let types = [0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x27, 0x28, 0x29, 0x2b, 0x2d, 0x31, 0x97];
    let length = [6, 6, 26, 34, 30, 38, 18, 27, 19, 14, 33, 22, 2, 90][random.index(14)];
    let mut bytes = vec![0; length];
    // Few orders and stocks, so that messages meet.
    bytes.iter_mut().for_each(|byte| *byte = random.below(3) as u8);
    (bytes[0], bytes[1]) = (length as u8, types[random.index(types.len())]);
    bytes
}

fn packet(random: &mut Random, next: u64) -> Vec<u8> {
    let first = match random.below(12) {
        0 => 1,
        1 => u64::from(u32::MAX) - random.below(3),
        2 => next.saturating_sub(random.below(40)),
        3 => next + random.below(40),
        _ => next,
    };
    let messages: Vec<_> = (0..random.below(5)).map(|_| message(random)).collect();
    let key = 1 + random.below(3) as u8;
    let mut packet = unit(key, first.max(1), &messages);
    if random.below(10) == 0 {
        let place = random.index(packet.len());
        packet[place] = random.below(256) as u8;
    }
    if random.below(40) == 0 {
        packet.truncate(random.index(packet.len()));
    }
    packet
}

fn image(random: &mut Random) -> SpinImage {
    let mut image = SpinImage::default();
    for _ in 0..random.below(6) {
        // A message that an image cannot have ends it, as a connection would.
        let _ = image.message(&message(random));
    }
    image
}

fn step(
    set: &mut ChannelSet<Pitch>,
    now_ns: u64,
    random: &mut Random,
    live: &mut impl nanotape_market::EventHandler,
) {
    let key = 1 + random.below(3) as u8;
    let next = set.progress(key).map_or(1, |(next, _)| next);
    match random.below(20) {
        0 => {
            let lasts = [RefusedFor::Now, RefusedFor::Perhaps, RefusedFor::Good][random.index(3)];
            let first = next + random.below(5);
            set.refused(Refusal { key, first, lasts }, now_ns, live);
        }
        1 => {
            let at = (next + random.below(60)).saturating_sub(20);
            let image = (random.below(4) > 0).then(|| (image(random), at));
            set.image(key, image, now_ns, live);
        }
        2 => set.restarted(now_ns, live),
        3 => {
            set.packet(PacketOrigin::Retransmission, (now_ns, now_ns), &packet(random, next), live)
        }
        _ => {
            let line = Line::new(random.index(2)).unwrap();
            let bytes = packet(random, next);
            set.packet(PacketOrigin::Line(line), (now_ns, now_ns), &bytes, live);
        }
    }
}

#[test]
fn any_packets_and_answers_leave_numbers_in_order_and_no_gap_open() {
    let requests = RequestSettings { timeout_ns: MS, retries: 1, ..RequestSettings::default() };
    let snapshots = SnapshotSettings { timeout_ns: 50 * MS, attempts: 2, retry_after_ns: 9 * MS };
    let (mut events, mut damaged) = (0, 0);
    for seed in 0..SEEDS {
        let mut random = Random::new(seed);
        let session = SessionSettings {
            join: [Join::Here, Join::Start, Join::Snapshot][random.index(3)],
            requests: (random.below(2) > 0).then_some(requests),
            snapshots: Some(snapshots),
            ..SessionSettings::default()
        };
        let has_images = [random.below(2) > 0; 256];
        let settings = SetSettings { session, has_images };
        let mut set = ChannelSet::<Pitch>::new(Feed::Pitch, settings, MIDNIGHT_NS);
        let mut engine = BookEngine::new(DefaultBooks::with_capacity(64));
        let mut seen = Seen::default();
        let mut now_ns = MIDNIGHT_NS;
        for _ in 0..STEPS {
            now_ns += random.below(3) * MS;
            step(&mut set, now_ns, &mut random, &mut engine.live(&mut seen));
            set.tick(now_ns, &mut engine.live(&mut seen));
            set.common.wishes.clear();
            let (channels, _) = set.channels();
            assert!(channels <= 64, "{channels}");
        }
        set.close(now_ns + 1_000 * MS, &mut engine.live(&mut seen));
        assert_eq!(seen.open, 0, "seed {seed}: gaps are open at the end");
        events += seen.number;
        damaged += seen.damaged;
    }
    assert!(events > 100 * SEEDS && damaged > SEEDS, "{events} events, {damaged} damaged");
}
