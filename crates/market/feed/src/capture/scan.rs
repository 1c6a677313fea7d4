//! Which numbers of a session are in a capture: what is in none of its packets is lost, however
//! long the reader would wait for it.
//!
//! Where: the reader, when packets that wait for an earlier one fill their memory, if the capture
//! can be opened a second time.
//! Bounds: [`MOST_SCANNED`] ranges of numbers, 2 MiB. With more, the lowest become one, and some
//! lost numbers seem to be there: the reader waits for them to the end of the file.

use core::{cell::Cell, ops::ControlFlow};

use nanotape_wire::capture::datagram;

use super::{
    counting::joined,
    coverage::Coverage,
    groups::{Group, is_chosen},
    items::{Item, read_items},
    packet::Captured,
};
use crate::{DaySource, SourceError};

/// Ranges of numbers that are kept.
const MOST_SCANNED: usize = 1 << 17;

/// The numbers of a session.
pub(super) struct Scanned {
    /// Those of its messages, from the lowest one that was wanted.
    pub(super) numbers: Coverage,
    /// The lowest one of all packets, and one above the highest.
    pub(super) known: Option<(u64, u64)>,
}

/// Reads a capture to its end, for the numbers from `wanted` on. `None` if that fails, or if `idle`
/// breaks, which is called once per block.
pub(super) fn scan<F: Captured>(
    source: &mut DaySource,
    (groups, session): (&[Group], F::Session),
    wanted: u64,
    mut idle: impl FnMut() -> ControlFlow<()>,
) -> Option<Scanned> {
    let mut scanned = Scanned { numbers: Coverage::with_most(MOST_SCANNED), known: None };
    let (flow, mut has_ended) = (Cell::new(ControlFlow::Continue(())), false);
    let read = read_items(
        source,
        |_| flow.set(idle()),
        |item| {
            match item {
                Item::Packet(packet) => {
                    if let Ok(datagram) = datagram(packet.link_type, packet.bytes)
                        && is_chosen(groups, datagram.destination)
                        && let Ok(packet) = F::decode(datagram.payload)
                        && packet.session == session
                        && packet.first > 0
                    {
                        let near = scanned.known.map_or(wanted, |(_, next)| next);
                        let packet = packet.nearest(near);
                        let (first, next) = (packet.first, packet.next());
                        scanned.numbers.add(first.max(wanted)..next);
                        scanned.known = joined(scanned.known, Some((first, next)));
                    }
                }
                Item::End(_) => has_ended = true,
                Item::Damage(_) | Item::Idle => {}
            }
            Ok::<_, SourceError>(flow.get())
        },
    );
    // Bad data ends the first reading at the same byte; another fault might not.
    let is_read = source.fault().is_none_or(|fault| fault.is_bad_data());
    (read.is_ok() && is_read && has_ended).then_some(scanned)
}
