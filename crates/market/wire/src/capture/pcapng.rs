//! The pcapng format: sections of blocks, each with its length at both ends.
//!
//! ```text
//! +------+--------+------------------+--------+
//! | type | length | body             | length |   length = all of it, a multiple of 4
//! +------+--------+------------------+--------+
//! ```
//!
//! A section header sets the byte order and removes the interfaces of the section before it.
//! Interface descriptions set link type and resolution of times. Blocks of other types are skipped.

use super::{
    ByteOrder, CaptureDamage, CapturedPacket, LinkType, MOST_INTERFACES, MOST_RECORD_BYTES, Step,
    pcap::{self, Pcap},
};
use crate::codec::field;

/// Type of a section header, equal in both byte orders.
pub(super) const SECTION_HEADER: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

const INTERFACE: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

/// Bytes of a block without a body.
const LEAST_BLOCK_BYTES: u32 = 12;

/// Bytes of a section header without options.
const SECTION_BYTES: u32 = 28;

/// The supported major version.
const VERSION: u16 = 1;

/// Whether these are the first bytes of a section.
pub(super) fn begins(start: &[u8; 16]) -> bool {
    *field::<0, 4, _>(start) == SECTION_HEADER
        && ByteOrder::of_section(*field::<8, 4, _>(start)).is_some()
}

/// The current section.
#[derive(Debug)]
pub(super) struct Pcapng {
    order: ByteOrder,
    interfaces: Vec<Interface>,
    /// The length that must follow a skipped block.
    trailing: Option<u32>,
    /// Offset of a block whose trailing length was reported.
    reported: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Interface {
    link_type: LinkType,
    /// Most captured bytes of a packet; 0 means no limit.
    snapshot_length: u32,
    resolution: Resolution,
    /// Added to every time.
    offset_seconds: i64,
}

/// How units of time become nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Resolution {
    /// A unit is this many nanoseconds.
    Multiply(u64),
    /// A nanosecond is this many units.
    Divide(u64),
    /// A second is 2 to this power of units.
    Shift(u8),
    /// All 64-bit times are within the first nanosecond.
    TooFine,
}

impl Default for Pcapng {
    fn default() -> Self {
        // The first block is a section header, which sets the byte order.
        Self { order: ByteOrder::Little, interfaces: Vec::new(), trailing: None, reported: None }
    }
}

impl Pcapng {
    pub(super) fn step<'b>(&mut self, bytes: &'b [u8], offset: u64) -> Step<'b> {
        if let Some(expected) = self.trailing {
            return self.trailing_step(expected, bytes, offset);
        }
        let Some(start) = bytes.first_chunk::<{ LEAST_BLOCK_BYTES as usize }>() else {
            return Step::NeedMore(LEAST_BLOCK_BYTES);
        };
        if *field::<0, 4, _>(start) == SECTION_HEADER {
            return self.section_step(bytes, offset);
        }
        if Pcap::by_magic(*field::<0, 4, _>(start)).is_some() {
            match bytes.first_chunk() {
                Some(start) if Pcap::begins(start) => return Step::Restart,
                Some(_) => {}
                None => return Step::NeedMore(pcap::RECORD_BYTES),
            }
        }
        let kind = self.order.u32(*field::<0, 4, _>(start));
        let length = self.order.u32(*field::<4, 4, _>(start));
        if length < LEAST_BLOCK_BYTES || !length.is_multiple_of(4) {
            let least = LEAST_BLOCK_BYTES;
            return Step::Stop(CaptureDamage::BlockLength { offset, least, found: length });
        }
        let least = match kind {
            INTERFACE => 20,
            OBSOLETE_PACKET | ENHANCED_PACKET => 32,
            SIMPLE_PACKET => 16,
            _ => return self.skip(length),
        };
        if length < least {
            let damage = CaptureDamage::BlockLength { offset, least, found: length };
            return Step::Damage(damage, u64::from(length));
        }
        if length > MOST_RECORD_BYTES {
            let (most, found) = (MOST_RECORD_BYTES, u64::from(length));
            let damage = CaptureDamage::TooLarge { offset, most, found };
            // Without its description, the packets of an interface cannot be read.
            if kind == INTERFACE {
                return Step::Stop(damage);
            }
            self.skip(length);
            return Step::Damage(damage, u64::from(length) - 4);
        }
        let Some(block) = bytes.get(..length as usize) else { return Step::NeedMore(length) };
        if let Some(damage) = self.mismatch(block, length, offset) {
            return Step::Damage(damage, 0);
        }
        // The lengths around the body are checked, so it has at least 8 bytes less than `least`.
        let body = block.get(8..block.len() - 4).unwrap_or_default();
        match kind {
            INTERFACE => self.interface(body, length, offset),
            SIMPLE_PACKET => self.simple_packet(body, length, offset),
            _ => self.packet(kind, body, length, offset),
        }
    }

    /// Whether the second length of a skipped block is next.
    pub(super) fn is_inside(&self) -> bool {
        self.trailing.is_some()
    }

    /// Skips a block up to its second length.
    fn skip<'b>(&mut self, length: u32) -> Step<'b> {
        self.trailing = Some(length);
        Step::Skip(u64::from(length) - 4)
    }

    /// Checks the second length of a skipped block.
    fn trailing_step<'b>(&mut self, expected: u32, bytes: &[u8], offset: u64) -> Step<'b> {
        let Some(found) = bytes.first_chunk() else { return Step::NeedMore(4) };
        self.trailing = None;
        match self.order.u32(*found) {
            found if found == expected => Step::Skip(4),
            found => Step::Damage(CaptureDamage::TrailingLength { offset, expected, found }, 4),
        }
    }

    /// The damage of a block whose lengths differ. It is reported once, before the block is used.
    fn mismatch(&mut self, block: &[u8], expected: u32, offset: u64) -> Option<CaptureDamage> {
        let found = self.order.u32(*block.last_chunk()?);
        if found == expected || self.reported == Some(offset) {
            return None;
        }
        self.reported = Some(offset);
        let offset = offset + u64::from(expected) - 4;
        Some(CaptureDamage::TrailingLength { offset, expected, found })
    }

    /// A section header. Only its first bytes are read, and its options are skipped.
    fn section_step<'b>(&mut self, bytes: &[u8], offset: u64) -> Step<'b> {
        let Some(start) = bytes.first_chunk::<16>() else { return Step::NeedMore(SECTION_BYTES) };
        let magic = *field::<8, 4, _>(start);
        let Some(order) = ByteOrder::of_section(magic) else {
            let (offset, found) = (offset + 8, u32::from_be_bytes(magic));
            return Step::Stop(CaptureDamage::ByteOrder { offset, found });
        };
        self.order = order;
        let length = self.order.u32(*field::<4, 4, _>(start));
        if length < SECTION_BYTES || !length.is_multiple_of(4) {
            let least = SECTION_BYTES;
            return Step::Stop(CaptureDamage::BlockLength { offset, least, found: length });
        }
        let found = self.order.u16(*field::<12, 2, _>(start));
        if found != VERSION {
            let (offset, expected) = (offset + 12, VERSION);
            return Step::Stop(CaptureDamage::Version { offset, expected, found });
        }
        self.interfaces.clear();
        self.skip(length)
    }

    fn interface<'b>(&mut self, body: &[u8], length: u32, offset: u64) -> Step<'b> {
        if self.interfaces.len() >= MOST_INTERFACES as usize {
            return Step::Stop(CaptureDamage::Interfaces { offset, most: MOST_INTERFACES });
        }
        let Some((fixed, options)) = body.split_first_chunk::<8>() else {
            return Step::Skip(u64::from(length));
        };
        let mut interface = Interface {
            link_type: LinkType(self.order.u16(*field::<0, 2, _>(fixed))),
            snapshot_length: self.order.u32(*field::<4, 4, _>(fixed)),
            resolution: Resolution::Multiply(1000),
            offset_seconds: 0,
        };
        for (code, value) in Options(self.order, options) {
            match (code, value) {
                (9, &[exponent]) => interface.resolution = Resolution::from_option(exponent),
                (14, value) if let Ok(value) = value.try_into() => {
                    interface.offset_seconds = self.order.u64(value).cast_signed();
                }
                _ => {}
            }
        }
        self.interfaces.push(interface);
        Step::Skip(u64::from(length))
    }

    /// An enhanced packet, or the obsolete packet with a narrower interface.
    fn packet<'b>(&self, kind: u32, body: &'b [u8], length: u32, offset: u64) -> Step<'b> {
        let Some((fixed, data)) = body.split_first_chunk::<20>() else {
            return Step::Skip(u64::from(length));
        };
        let number = match kind {
            OBSOLETE_PACKET => u32::from(self.order.u16(*field::<0, 2, _>(fixed))),
            _ => self.order.u32(*field::<0, 4, _>(fixed)),
        };
        let interface = match self.interface_of(number, length, offset) {
            Ok(interface) => interface,
            Err(step) => return step,
        };
        let high = u64::from(self.order.u32(*field::<4, 4, _>(fixed)));
        let low = u64::from(self.order.u32(*field::<8, 4, _>(fixed)));
        let captured = self.order.u32(*field::<12, 4, _>(fixed));
        let packet = CapturedPacket {
            offset,
            ts_ns: interface.nanoseconds(high << 32 | low),
            interface: number,
            link_type: interface.link_type,
            bytes: data,
            original_length: self.order.u32(*field::<16, 4, _>(fixed)),
        };
        cut_to_length(packet, captured, length)
    }

    /// A simple packet: of the first interface, without a time.
    fn simple_packet<'b>(&self, body: &'b [u8], length: u32, offset: u64) -> Step<'b> {
        let Some((original, data)) = body.split_first_chunk::<4>() else {
            return Step::Skip(u64::from(length));
        };
        let interface = match self.interface_of(0, length, offset) {
            Ok(interface) => interface,
            Err(step) => return step,
        };
        let original_length = self.order.u32(*original);
        let captured = match interface.snapshot_length {
            0 => original_length,
            most => original_length.min(most),
        };
        let link_type = interface.link_type;
        let packet = CapturedPacket {
            offset,
            ts_ns: None,
            interface: 0,
            link_type,
            bytes: data,
            original_length,
        };
        cut_to_length(packet, captured, length)
    }

    fn interface_of<'b>(
        &self,
        number: u32,
        length: u32,
        offset: u64,
    ) -> Result<&Interface, Step<'b>> {
        self.interfaces.get(number as usize).ok_or_else(|| {
            let interfaces = self.interfaces.len() as u32;
            let damage = CaptureDamage::Interface { offset, interfaces, found: number };
            Step::Damage(damage, u64::from(length))
        })
    }
}

impl ByteOrder {
    /// The byte order of a section with this magic.
    fn of_section(magic: [u8; 4]) -> Option<Self> {
        match magic {
            [0x1a, 0x2b, 0x3c, 0x4d] => Some(Self::Big),
            [0x4d, 0x3c, 0x2b, 0x1a] => Some(Self::Little),
            _ => None,
        }
    }
}

/// A packet whose bytes are those of the block from its beginning on: all but the captured ones are
/// padding and options.
fn cut_to_length(packet: CapturedPacket<'_>, captured: u32, length: u32) -> Step<'_> {
    match packet.bytes.get(..captured as usize) {
        Some(bytes) => Step::Packet(CapturedPacket { bytes, ..packet }, length as usize),
        None => {
            let (offset, most) = (packet.offset, packet.bytes.len() as u32);
            let damage = CaptureDamage::PacketLength { offset, most, found: captured };
            Step::Damage(damage, u64::from(length))
        }
    }
}

impl Interface {
    /// A time of this interface in nanoseconds since the UNIX epoch.
    fn nanoseconds(&self, units: u64) -> Option<u64> {
        let nanos = match self.resolution {
            Resolution::Multiply(factor) => i128::from(units) * i128::from(factor),
            Resolution::Divide(divisor) => i128::from(units / divisor),
            Resolution::Shift(bits) => (i128::from(units) * 1_000_000_000) >> bits,
            Resolution::TooFine => 0,
        };
        u64::try_from(nanos + i128::from(self.offset_seconds) * 1_000_000_000).ok()
    }
}

impl Resolution {
    /// The value of the option `if_tsresol`.
    fn from_option(value: u8) -> Self {
        let exponent = value & 0x7f;
        match exponent {
            _ if value & 0x80 != 0 => Self::Shift(exponent),
            0..=9 => Self::Multiply(10u64.pow(9 - u32::from(exponent))),
            // 10^19 is the highest power in 64 bits.
            10..=28 => Self::Divide(10u64.pow(u32::from(exponent) - 9)),
            _ => Self::TooFine,
        }
    }
}

/// The options of a block, up to the end mark or the end of the block. Each is a code, a length,
/// and a value that is padded to a multiple of 4 bytes.
struct Options<'b>(ByteOrder, &'b [u8]);

impl<'b> Iterator for Options<'b> {
    type Item = (u16, &'b [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (head, rest) = self.1.split_first_chunk::<4>()?;
        let code = self.0.u16(*field::<0, 2, _>(head));
        let length = usize::from(self.0.u16(*field::<2, 2, _>(head)));
        let value = rest.get(..length).filter(|_| code != 0)?;
        self.1 = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((code, value))
    }
}

#[cfg(test)]
mod tests;
