//! Which units are channels of the feed, and which are headers that were damaged.

use nanotape_engine::DamageLog;
use nanotape_feed::{
    Feed,
    channels::Pitch,
    session::{Join, Line, PacketOrigin, SessionSettings},
};
use nanotape_market::{EventHandler, MarketEvent, Origin, Position};

use super::{
    super::set::{ChannelSet, SetSettings},
    day::{MIDNIGHT_NS, unit},
};

/// End of Session, and a message of no known type.
const END: [u8; 6] = [6, 0x2d, 0, 0, 0, 0];
const OTHER: [u8; 2] = [2, 0x99];

#[derive(Default)]
struct Seen {
    now_ns: u64,
    events: usize,
    damage: DamageLog,
}

impl EventHandler for Seen {
    type Hint = ();

    fn event(
        &mut self,
        _: Position,
        _: &MarketEvent,
        _: impl Origin,
    ) -> core::ops::ControlFlow<()> {
        self.events += 1;
        core::ops::ControlFlow::Continue(())
    }

    fn damage(&mut self, damage: nanotape_market::Damage) {
        self.damage.record(damage);
    }
}

fn set() -> ChannelSet<Pitch> {
    let session = SessionSettings { join: Join::Snapshot, ..SessionSettings::default() };
    let settings = SetSettings { session, has_images: [false; 256] };
    ChannelSet::new(Feed::Pitch, settings, MIDNIGHT_NS)
}

fn give(set: &mut ChannelSet<Pitch>, key: u8, first: u64, message: &[u8], seen: &mut Seen) {
    let packet = unit(key, first, &[message.to_vec()]);
    seen.now_ns = seen.now_ns.max(MIDNIGHT_NS) + 1_000_000;
    let now_ns = seen.now_ns;
    set.packet(PacketOrigin::Line(Line::A), (now_ns, now_ns), &packet, seen);
    set.tick(now_ns, seen);
}

#[test]
fn packets_of_a_unit_that_nothing_else_has_change_nothing_and_the_feed_ends() {
    let (mut set, mut seen) = (set(), Seen::default());
    for number in 1..40 {
        give(&mut set, 1, number, &OTHER, &mut seen);
        // Some of them follow each other.
        if number % 10 > 2 {
            give(&mut set, 77, number + 1, &OTHER, &mut seen);
        }
    }
    give(&mut set, 1, 40, &END, &mut seen);
    assert_eq!((set.channels().0, set.has_ended(seen.now_ns)), (1, true));
    assert!(set.progress(77).is_none() && !set.is_late());
}

#[test]
fn a_unit_that_is_joined_late_is_believed_after_packets_in_a_row() {
    let (mut set, mut seen) = (set(), Seen::default());
    give(&mut set, 1, 1, &OTHER, &mut seen);
    for number in 500..900 {
        give(&mut set, 2, number, &OTHER, &mut seen);
    }
    assert_eq!(set.channels().0, 2);
    assert_eq!(set.progress(2).map(|(next, _)| next), Some(900));
    assert!(set.is_late());
}

#[test]
fn a_channel_too_many_is_damage() {
    let (mut set, mut seen) = (set(), Seen::default());
    for key in 1..70 {
        give(&mut set, key, 1, &OTHER, &mut seen);
    }
    assert_eq!((set.channels().0, seen.damage.total()), (64, 1));
}
