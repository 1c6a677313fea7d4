//! The classic pcap format: a header of 24 bytes, then records of a header of 16 bytes and a
//! packet. Times are in micro- or nanoseconds, and numbers in either byte order, by the magic.
//!
//! The header of another capture can take the place of a record. A length that is too large leaves
//! no certain next record, so reading stops there.

use super::{ByteOrder, CaptureDamage, CapturedPacket, LinkType, MOST_RECORD_BYTES, Step, pcapng};
use crate::codec::field;

/// Bytes of the header of a file.
pub(super) const HEADER_BYTES: u32 = 24;

/// Bytes of the header of a record.
pub(super) const RECORD_BYTES: u32 = 16;

/// The supported major version.
const VERSION: u16 = 2;

/// How to read the records of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pcap {
    order: ByteOrder,
    nanos_per_unit: u64,
    link_type: LinkType,
}

impl Pcap {
    /// The byte order and unit of a file that begins with `magic`.
    pub(super) fn by_magic(magic: [u8; 4]) -> Option<Self> {
        let (order, nanos_per_unit) = match magic {
            [0xa1, 0xb2, 0xc3, 0xd4] => (ByteOrder::Big, 1000),
            [0xd4, 0xc3, 0xb2, 0xa1] => (ByteOrder::Little, 1000),
            [0xa1, 0xb2, 0x3c, 0x4d] => (ByteOrder::Big, 1),
            [0x4d, 0x3c, 0xb2, 0xa1] => (ByteOrder::Little, 1),
            _ => return None,
        };
        Some(Self { order, nanos_per_unit, link_type: LinkType::NULL })
    }

    /// Whether these are the first bytes of a file: magic, version, time zone 0, accuracy 0. As the
    /// header of a record they would be that of a packet without bytes.
    pub(super) fn begins(start: &[u8; RECORD_BYTES as usize]) -> bool {
        let is_version = |pcap: Self| pcap.order.u16(*field::<4, 2, _>(start)) == VERSION;
        Self::by_magic(*field::<0, 4, _>(start)).is_some_and(is_version)
            && *field::<8, 8, _>(start) == [0; 8]
    }

    /// Reads the rest of the header. The snapshot length is not needed.
    pub(super) fn with_header(
        self,
        header: &[u8; HEADER_BYTES as usize],
        offset: u64,
    ) -> Result<Self, CaptureDamage> {
        let found = self.order.u16(*field::<4, 2, _>(header));
        if found != VERSION {
            let (offset, expected) = (offset + 4, VERSION);
            return Err(CaptureDamage::Version { offset, expected, found });
        }
        // The upper bits may hold the length of the frame check sequence.
        let link_type = LinkType(self.order.u32(*field::<20, 4, _>(header)) as u16);
        Ok(Self { link_type, ..self })
    }

    #[inline]
    pub(super) fn step<'b>(&self, bytes: &'b [u8], offset: u64) -> Step<'b> {
        let Some((header, rest)) = bytes.split_first_chunk::<{ RECORD_BYTES as usize }>() else {
            return Step::NeedMore(RECORD_BYTES);
        };
        let seconds = u64::from(self.order.u32(*field::<0, 4, _>(header)));
        let units = u64::from(self.order.u32(*field::<4, 4, _>(header)));
        let captured = self.order.u32(*field::<8, 4, _>(header));
        if captured == 0 && Self::begins(header) {
            return Step::Restart;
        }
        if captured > MOST_RECORD_BYTES - RECORD_BYTES {
            if pcapng::begins(header) {
                return Step::Restart;
            }
            return Step::Stop(CaptureDamage::TooLarge {
                offset,
                most: MOST_RECORD_BYTES,
                found: u64::from(captured) + u64::from(RECORD_BYTES),
            });
        }
        let Some(packet) = rest.get(..captured as usize) else {
            return Step::NeedMore(RECORD_BYTES + captured);
        };
        let packet = CapturedPacket {
            offset,
            // Both factors fit in 32 bits and 10^9 in 30, so neither product nor sum overflows.
            ts_ns: Some(seconds * 1_000_000_000 + units * self.nanos_per_unit),
            interface: 0,
            link_type: self.link_type,
            bytes: packet,
            original_length: self.order.u32(*field::<12, 4, _>(header)),
        };
        Step::Packet(packet, (RECORD_BYTES + captured) as usize)
    }
}
