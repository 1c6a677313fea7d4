//! The messages of a capture as their exchange sent them, undecoded: for measurements of decoding.

use core::ops::ControlFlow;

use nanotape_market::Damage;

use super::{PacketMessages, PacketSink, messages_of, packet::AnyPacket, read_if_capture};
use crate::{DaySource, DaySummary, SourceError};

/// Passes the messages of a capture to `take`, those of all channels in the order in which they are
/// delivered, up to the end or to the one for which it breaks. Damage is left out. `None` if the
/// source is a day: then nothing was read.
pub fn read_messages(
    source: &mut DaySource,
    take: impl FnMut(&[u8]) -> ControlFlow<()>,
) -> Result<Option<DaySummary>, SourceError> {
    read_if_capture(source, Messages(take), |_| ())
}

struct Messages<F>(F);

impl<F: FnMut(&[u8]) -> ControlFlow<()>> PacketSink for Messages<F> {
    fn messages(&mut self, _: u64, messages: &PacketMessages<'_, '_>) -> ControlFlow<()> {
        let numbers = messages.numbers.clone();
        match &messages.packet {
            AnyPacket::MoldUdp64(packet) => messages_of(packet, numbers).try_for_each(&mut self.0),
            AnyPacket::IexTp(packet) => messages_of(packet, numbers).try_for_each(&mut self.0),
            AnyPacket::Pitch(packet) => messages_of(packet, numbers).try_for_each(&mut self.0),
        }
    }

    fn damage(&mut self, _: Damage) {}

    fn idle(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}
