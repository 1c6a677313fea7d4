//! The packets of a capture, block by block: the loop of everything that reads one.

use core::ops::ControlFlow;

use nanotape_wire::capture::{CaptureDamage, CaptureDecoder, CaptureItem, CapturedPacket};

use crate::{DaySource, SourceError};

/// What a capture has next.
#[derive(Debug)]
pub enum Item<'a> {
    /// A packet.
    Packet(CapturedPacket<'a>),
    /// Damage after which reading continues.
    Damage(CaptureDamage),
    /// The end of the last file, or damage that ends the reading.
    End(Option<CaptureDamage>),
    /// No bytes came for the whole patience of the source.
    Idle,
}

/// Passes the items of a capture and of its further pieces to `take`, up to the end or to the one
/// for which it breaks, and returns the bytes that were read. Calls `progress` once per block.
/// Offsets are those of the pieces in a row.
pub fn read_items<E: From<SourceError>>(
    source: &mut DaySource,
    mut progress: impl FnMut(&DaySource),
    mut take: impl FnMut(Item<'_>) -> Result<ControlFlow<()>, E>,
) -> Result<u64, E> {
    let mut decoder = CaptureDecoder::new();
    let (mut used_bytes, mut left_bytes) = (0, 0);
    loop {
        let block = source.next_block(used_bytes)?;
        let mut rest = block.bytes;
        let (mut flow, mut end) = (ControlFlow::Continue(()), None);
        if block.bytes.len() <= left_bytes && !block.is_last {
            flow = take(Item::Idle)?;
        }
        while flow.is_continue() && end.is_none() {
            match decoder.next(&mut rest, block.is_last) {
                CaptureItem::Packet(packet) => flow = take(Item::Packet(packet))?,
                CaptureItem::Damage(damage) => flow = take(Item::Damage(damage))?,
                CaptureItem::NeedMore => break,
                CaptureItem::End(damage) => end = Some(damage),
            }
        }
        left_bytes = rest.len();
        used_bytes = block.bytes.len() - left_bytes;
        progress(source);
        if let Some(damage) = end {
            if !source.next_piece()? {
                let _ = take(Item::End(damage))?;
                return Ok(decoder.offset());
            }
            decoder = CaptureDecoder::at(decoder.offset() + left_bytes as u64);
            (used_bytes, left_bytes) = (0, 0);
            flow = damage.map_or(Ok(flow), |damage| take(Item::Damage(damage)))?;
        }
        if flow.is_break() {
            return Ok(decoder.offset());
        }
    }
}
