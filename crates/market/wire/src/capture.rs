//! Captures of networks: pcap and pcapng files, and the UDP datagrams in their frames.
//!
//! Where: a source of blocks passes bytes to [`CaptureDecoder::next`], which returns packets in
//! place. [`datagram`] then removes the layers of a packet down to the payload of UDP, which is a
//! packet of a [`numbered`](crate::framing::numbered) protocol. [`CaptureWriter`] and
//! [`FrameWriter`] write the same. A compressed file must be decompressed first.
//!
//! ```text
//! blocks of a file --> CaptureDecoder --> CapturedPacket --> datagram --> payload --> framing
//! ```
//!
//! A file can be several captures one after the other, of either format, as `cat` joins them: where
//! a record would begin, the header of the next one is recognised.
//!
//! Bounds: an incomplete record leaves less than [`MOST_RECORD_BYTES`] unused. A longer packet is
//! damage. A longer block of pcapng without a packet is skipped. A section has at most
//! [`MOST_INTERFACES`] interfaces.
//! Failure: damage has a type and the offset in the file. After damage that leaves the next record
//! certain, reading continues.
//! Cost: no copy and no allocation for a packet; 32 bytes for an interface of pcapng.
//!
//! ```
//! use nanotape_wire::capture::{CaptureDecoder, CaptureItem, datagram};
//! fn payload_bytes(file: &[u8]) -> usize {
//!     let (mut decoder, mut rest, mut total) = (CaptureDecoder::new(), file, 0);
//!     loop {
//!         match decoder.next(&mut rest, true) {
//!             CaptureItem::Packet(packet) => {
//!                 let datagram = datagram(packet.link_type, packet.bytes);
//!                 total += datagram.map_or(0, |datagram| datagram.payload.len());
//!             }
//!             CaptureItem::Damage(damage) => eprintln!("{damage}"),
//!             CaptureItem::NeedMore | CaptureItem::End(_) => return total,
//!         }
//!     }
//! }
//! assert_eq!(payload_bytes(b""), 0);
//! ```

mod damage;
mod frame;
mod pcap;
mod pcapng;
mod writer;

use core::fmt;

pub use damage::CaptureDamage;
pub use frame::{Datagram, SkipReason, Vlans, datagram};
pub use writer::{CaptureWriter, FrameWriter};

use pcap::Pcap;
use pcapng::Pcapng;

/// Most bytes of a record with a packet, its header included.
pub const MOST_RECORD_BYTES: u32 = 256 << 10;

/// Most interfaces of a section.
pub const MOST_INTERFACES: u32 = 4096;

/// A file format of captures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CaptureFormat {
    /// A file header, then records.
    Pcap,
    /// Sections of blocks.
    Pcapng,
}

/// The kind of link that a packet was captured on: which header its bytes begin with.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LinkType(pub u16);

/// A captured packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CapturedPacket<'a> {
    /// Offset of its record in the file.
    pub offset: u64,
    /// Nanoseconds since the UNIX epoch. `None` if the record has no time (a simple packet block),
    /// or a time that does not fit in 64 bits.
    pub ts_ns: Option<u64>,
    /// The interface, numbered from 0 in each section; 0 in pcap.
    pub interface: u32,
    /// The header that the bytes begin with.
    pub link_type: LinkType,
    /// The captured bytes.
    pub bytes: &'a [u8],
    /// Bytes of the packet on the wire.
    pub original_length: u32,
}

/// What [`CaptureDecoder::next`] found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CaptureItem<'a> {
    /// A packet.
    Packet(CapturedPacket<'a>),
    /// Damage after which reading continues.
    Damage(CaptureDamage),
    /// The next record is incomplete: call again with the unused bytes and more after them.
    NeedMore,
    /// The capture ends, or reading stops at the damage.
    End(Option<CaptureDamage>),
}

/// Reads the packets of a capture from its bytes, in blocks of any size.
#[derive(Debug, Default)]
pub struct CaptureDecoder {
    offset: u64,
    /// Bytes that no item needs.
    discard: u64,
    state: State,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Start,
    Pcap(Pcap),
    Pcapng(Pcapng),
    Ended(Option<CaptureDamage>),
}

/// What a format found at the beginning of some bytes.
enum Step<'b> {
    /// The next record takes at least this many bytes, and there are fewer.
    NeedMore(u32),
    /// Bytes without a packet, all present or not.
    Skip(u64),
    /// A packet, and the bytes of its record.
    Packet(CapturedPacket<'b>, usize),
    /// Damage, and the bytes after which reading continues.
    Damage(CaptureDamage, u64),
    /// Damage that leaves no certain next record.
    Stop(CaptureDamage),
    /// Another file begins here: captures were joined end to end.
    Restart,
}

impl CaptureFormat {
    /// The format of a file that begins with `bytes`, of which the first four count.
    pub fn detect(bytes: &[u8]) -> Option<Self> {
        match bytes.first_chunk()? {
            magic if *magic == pcapng::SECTION_HEADER => Some(Self::Pcapng),
            magic if Pcap::by_magic(*magic).is_some() => Some(Self::Pcap),
            _ => None,
        }
    }
}

impl CaptureDecoder {
    /// A decoder at the beginning of a file.
    pub fn new() -> Self {
        Self::default()
    }

    /// A decoder at the beginning of a file whose first byte has this offset in a row of files.
    pub fn at(offset: u64) -> Self {
        Self { offset, ..Self::default() }
    }

    /// Offset in the file of the first unused byte.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the next item, and removes its bytes from the front of `rest`. `rest` must begin
    /// with the bytes that the last call left, and `is_last` states that no bytes come after it.
    pub fn next<'b>(&mut self, rest: &mut &'b [u8], is_last: bool) -> CaptureItem<'b> {
        loop {
            if self.discard > 0 {
                self.advance(rest);
            }
            if self.discard > 0 {
                return self.wait(u32::try_from(self.discard).unwrap_or(u32::MAX), rest, is_last);
            }
            let step = match &mut self.state {
                State::Start => self.start(rest),
                State::Pcap(pcap) => pcap.step(rest, self.offset),
                State::Pcapng(pcapng) => pcapng.step(rest, self.offset),
                State::Ended(end) => return CaptureItem::End(*end),
            };
            match step {
                Step::Packet(packet, bytes) => {
                    self.discard = bytes as u64;
                    self.advance(rest);
                    return CaptureItem::Packet(packet);
                }
                Step::Skip(bytes) => self.discard = bytes,
                Step::Damage(damage, bytes) => {
                    self.discard = bytes;
                    self.advance(rest);
                    return CaptureItem::Damage(damage);
                }
                Step::NeedMore(needed) => return self.wait(needed, rest, is_last),
                Step::Stop(damage) => self.state = State::Ended(Some(damage)),
                Step::Restart => self.state = State::Start,
            }
        }
    }

    /// Removes discarded bytes from `rest`.
    fn advance(&mut self, rest: &mut &[u8]) {
        let present = usize::try_from(self.discard).unwrap_or(usize::MAX).min(rest.len());
        *rest = rest.get(present..).unwrap_or_default();
        self.offset += present as u64;
        self.discard -= present as u64;
    }

    fn start<'b>(&mut self, bytes: &[u8]) -> Step<'b> {
        let Some(&magic) = bytes.first_chunk() else { return Step::NeedMore(4) };
        if magic == pcapng::SECTION_HEADER {
            self.state = State::Pcapng(Pcapng::default());
            return Step::Skip(0);
        }
        let Some(pcap) = Pcap::by_magic(magic) else {
            let (offset, found) = (self.offset, u32::from_be_bytes(magic));
            return Step::Stop(CaptureDamage::Magic { offset, found });
        };
        let Some(header) = bytes.first_chunk() else { return Step::NeedMore(pcap::HEADER_BYTES) };
        match pcap.with_header(header, self.offset) {
            Ok(pcap) => {
                self.state = State::Pcap(pcap);
                Step::Skip(u64::from(pcap::HEADER_BYTES))
            }
            Err(damage) => Step::Stop(damage),
        }
    }

    /// Requests more bytes, or ends the capture if there are none.
    fn wait<'b>(&mut self, needed: u32, rest: &[u8], is_last: bool) -> CaptureItem<'b> {
        if !is_last {
            return CaptureItem::NeedMore;
        }
        let is_inside = match &self.state {
            State::Start => true,
            State::Pcapng(pcapng) => pcapng.is_inside(),
            State::Pcap(_) | State::Ended(_) => false,
        };
        let is_between = rest.is_empty() && self.discard == 0 && !is_inside;
        let end = (!is_between).then_some(CaptureDamage::Cut {
            offset: self.offset,
            needed,
            present: rest.len() as u32,
        });
        self.state = State::Ended(end);
        CaptureItem::End(end)
    }
}

impl LinkType {
    /// BSD loopback: the address family, in the byte order of the capturing machine.
    pub const NULL: Self = Self(0);
    /// Ethernet.
    pub const ETHERNET: Self = Self(1);
    /// OpenBSD loopback: the address family, big-endian.
    pub const LOOP: Self = Self(108);
    /// IP without a header before it. Some systems write 12 or 14.
    pub const RAW: Self = Self(101);
    /// Linux cooked capture, version 1.
    pub const LINUX_SLL: Self = Self(113);
    /// IPv4 without a header before it.
    pub const IPV4: Self = Self(228);
    /// IPv6 without a header before it.
    pub const IPV6: Self = Self(229);
    /// Linux cooked capture, version 2.
    pub const LINUX_SLL2: Self = Self(276);
}

impl fmt::Display for LinkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "link type {}", self.0)
    }
}

/// The byte order of a file or section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ByteOrder {
    Big,
    Little,
}

impl ByteOrder {
    fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Big => u16::from_be_bytes(bytes),
            Self::Little => u16::from_le_bytes(bytes),
        }
    }

    fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Big => u32::from_be_bytes(bytes),
            Self::Little => u32::from_le_bytes(bytes),
        }
    }

    fn u64(self, bytes: [u8; 8]) -> u64 {
        match self {
            Self::Big => u64::from_be_bytes(bytes),
            Self::Little => u64::from_le_bytes(bytes),
        }
    }
}
