//! Sends a day of ITCH as messages of another protocol.
//!
//! Where: [`ProtocolDay`] makes packets of the messages of ITCH. Their messages go to the lines,
//! which cut packets of their own.

use std::{io, ops::ControlFlow};

use nanotape_feed::{Damage, DayEnd, DaySource, DaySummary, MessageHandler, Position, read_day};
use nanotape_synth::{FeedPacket, FeedProtocol, ProtocolDay};
use nanotape_types::{NanosSinceMidnight, StockLocate, TrackingNumber};
use nanotape_wire::{
    framing::{
        iextp::IexTp,
        numbered::{NumberedPacket, PacketFraming},
        pitch::Pitch,
    },
    itch50::{EventCode, Message, SystemEventFields},
};

use crate::{sender::Sender, server::ExchangeError, transport::Transport};

/// The day on its way to the lines.
struct Translation<'a, T, D> {
    sender: &'a mut Sender<T>,
    day: ProtocolDay,
    protocol: FeedProtocol,
    /// The message as a record.
    record: Vec<u8>,
    on_damage: D,
}

/// Sends the messages of a day, up to its end or to a requested shutdown. A day that is sent until
/// a moment has its last message there. Returns how the reading ended, and how long the sending
/// took.
pub(super) fn send_day<T: Transport>(
    sender: &mut Sender<T>,
    (day, protocol): (ProtocolDay, FeedProtocol),
    source: &mut DaySource,
    progress: impl FnMut(&DaySource),
    on_damage: impl FnMut(Damage),
) -> Result<(DaySummary, u64), ExchangeError> {
    let clock = sender.clock;
    let began = clock.stamp();
    let mut translation = Translation { sender, day, protocol, record: Vec::new(), on_damage };
    let summary = read_day(source, &mut translation, progress)?;
    let is_cut = matches!(summary.end, DayEnd::Stopped) && !translation.sender.stop.is_requested();
    if let Some(until) = translation.sender.until.filter(|_| is_cut) {
        let end = SystemEventFields {
            stock_locate: StockLocate::default(),
            tracking_number: TrackingNumber::default(),
            timestamp: until,
            event_code: EventCode::EndOfMessages,
        };
        let _ = translation.add(&end.encode());
    }
    let Translation { sender, day, .. } = translation;
    if !sender.stop.is_requested() {
        let mut flow = ControlFlow::Continue(());
        // No error: a broken flow ends the sending.
        let _ = day.finish(&mut |packet| deliver(sender, protocol, packet, &mut flow));
    }
    sender.complete()?;
    Ok((summary, clock.nanos_between(began, clock.stamp())))
}

impl<T: Transport, D> Translation<'_, T, D> {
    /// Gives the messages of one of ITCH to the lines.
    fn add(&mut self, bytes: &[u8]) -> ControlFlow<()> {
        let Self { sender, day, protocol, record, .. } = self;
        record.clear();
        record.extend_from_slice(&(bytes.len() as u16).to_be_bytes());
        record.extend_from_slice(bytes);
        let mut flow = ControlFlow::Continue(());
        // No error: a broken flow ends the sending.
        let _ = day.add(record, &mut |packet| deliver(sender, *protocol, packet, &mut flow));
        flow
    }
}

impl<T: Transport, D: FnMut(Damage)> MessageHandler for Translation<'_, T, D> {
    fn message(&mut self, _: Position, message: Message<'_>) -> ControlFlow<()> {
        let sender = &self.sender;
        let time = message.timestamp().map_or(0, NanosSinceMidnight::get);
        if sender.stop.is_requested() || sender.until.is_some_and(|until| time >= until.get()) {
            return ControlFlow::Break(());
        }
        self.add(message.as_bytes())
    }

    fn damage(&mut self, damage: Damage) {
        (self.on_damage)(damage);
    }

    fn idle(&mut self) -> ControlFlow<()> {
        self.sender.idle()
    }
}

/// Gives the messages of a packet to the lines, until one of them breaks the flow.
fn deliver<T: Transport>(
    sender: &mut Sender<T>,
    protocol: FeedProtocol,
    packet: FeedPacket<'_>,
    flow: &mut ControlFlow<()>,
) -> io::Result<()> {
    match protocol {
        FeedProtocol::CboePitch => messages(sender, Pitch::decode(packet.payload), packet, flow),
        _ => messages(sender, IexTp::decode(packet.payload), packet, flow),
    }
    Ok(())
}

fn messages<T: Transport, F: PacketFraming>(
    sender: &mut Sender<T>,
    decoded: Result<NumberedPacket<'_, F>, impl Sized>,
    packet: FeedPacket<'_>,
    flow: &mut ControlFlow<()>,
) {
    // A heartbeat has no messages: the lines make their own.
    let Ok(decoded) = decoded else { return };
    let time_ns = packet.ts_ns.saturating_sub(sender.midnight_ns);
    for (_, message) in decoded.messages() {
        if flow.is_continue() {
            // The offset is that of a day file, which has other messages.
            *flow = sender.message_of(packet.stream, 0, message, time_ns);
        }
    }
}
