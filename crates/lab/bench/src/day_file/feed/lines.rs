//! The cost of arbitration and sequencing: the packets of both lines, without a plant, with a
//! receiver and without one.
//!
//! Both walk over every message once and add up the lengths, so that the difference is the
//! receiver.

use core::{hint::black_box, ops::ControlFlow};

use nanotape_clock::Clock;
use nanotape_feed::session::{
    Line, Messages, NasdaqReceiver, Numbers, SessionEvent, SessionHandler, SessionSettings,
};
use nanotape_wire::framing::{moldudp64::MoldUdp64, numbered::PacketFraming as _};

use super::{
    super::{
        Day,
        reading::{Answer, DayReading},
    },
    packets::{Packet, Shape, for_each_batch},
};
use crate::{engine::Reading, error::Error};

/// Lines of the session.
const LINES: usize = 2;

/// Decodes the packets. The messages of one line are walked over, because a receiver delivers each
/// message once.
pub(super) fn decode(day: &Day, clock: Clock) -> Result<Reading, Error> {
    let mut sum = Sum::default();
    let take = |packet: Packet<'_>| {
        let Ok(decoded) = MoldUdp64::decode(packet.bytes) else { return };
        if packet.line == Line::A {
            sum.add(decoded.messages().map(|(_, message)| message));
        }
    };
    let (packets, nanos) = measure(day, clock, take)?;
    Ok(report(packets, nanos, sum))
}

/// Puts the packets in order.
pub(super) fn arbitrate(day: &Day, clock: Clock) -> Result<Reading, Error> {
    let settings = SessionSettings { lines: LINES, join_ns: 0, ..Default::default() };
    let mut receiver = NasdaqReceiver::new(settings);
    let mut sum = Sum::default();
    let take = |packet: Packet<'_>| {
        let ns = packet.arrives_ns;
        receiver.packet(packet.origin(), (ns, ns), packet.bytes, &mut sum);
        if receiver.deadline_ns() <= ns {
            receiver.tick(ns, &mut sum);
        }
    };
    let (packets, nanos) = measure(day, clock, take)?;
    Ok(report(packets, nanos, sum))
}

/// The number of packets, and the time of `take` for all of them.
fn measure(day: &Day, clock: Clock, mut take: impl FnMut(Packet<'_>)) -> Result<(u64, u64), Error> {
    let (mut packets, mut nanos) = (0, 0);
    for_each_batch(&mut day.open()?, (LINES, Shape::Usual), |batch| {
        let began = clock.stamp_start();
        for packet in black_box(batch).iter() {
            take(packet);
        }
        nanos += clock.nanos_between(began, clock.stamp());
        packets += batch.len() as u64;
        ControlFlow::Continue(())
    })?;
    Ok((packets, nanos))
}

fn report(packets: u64, nanos: u64, sum: Sum) -> Reading {
    black_box(sum.bytes);
    let answer = Answer { messages: Some(sum.messages), ..Answer::default() };
    let (wall_nanos, processor_nanos, operations) = (nanos, nanos, packets);
    DayReading { wall_nanos, processor_nanos, operations, answer, ..DayReading::default() }.into()
}

/// Adds up messages.
#[derive(Default)]
struct Sum {
    messages: u64,
    bytes: u64,
}

impl Sum {
    #[inline(always)]
    fn add<'a>(&mut self, messages: impl Iterator<Item = &'a [u8]>) {
        for message in messages {
            self.messages += 1;
            self.bytes += message.len() as u64;
        }
    }
}

impl<S> SessionHandler<S> for Sum {
    #[inline]
    fn messages<'a>(&mut self, _: Numbers, _: u64, messages: impl Messages<'a>) {
        self.add(messages);
    }

    fn skipped(&mut self, _: Numbers) {}

    fn snapshot(&mut self, _: u64) {}

    fn request(&mut self, _: S, _: u64, _: u16) {}

    fn fetch_snapshot(&mut self, _: u64) {}

    fn event(&mut self, _: &SessionEvent<S>) {}
}
