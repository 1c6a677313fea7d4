//! Writes captures: UDP frames, and the records of pcap and pcapng that contain them.
//!
//! Both writers fill a buffer of the caller and return the bytes used. Files are little-endian with
//! times in nanoseconds. Checksums are right, and the address of a multicast frame is the one of
//! its group, so that other programs read the frames without a warning.

use core::net::{Ipv4Addr, SocketAddrV4};

use super::{
    CaptureFormat, LinkType, MOST_INTERFACES, MOST_RECORD_BYTES,
    frame::{MOST_TAGS, fold, pseudo_header_sum, sum},
    pcapng::SECTION_HEADER,
};

/// The limit on the bytes of a packet that headers state.
const SNAPSHOT_LENGTH: u32 = 65_535;

/// Bytes of the headers of IPv4 and UDP.
const IP_BYTES: usize = 20;
const UDP_BYTES: usize = 8;

/// Writes the parts of a capture file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CaptureWriter {
    format: CaptureFormat,
    link_type: LinkType,
    interfaces: u32,
}

impl CaptureWriter {
    /// A writer of captures with `interfaces` interfaces of one type, at most
    /// [`MOST_INTERFACES`]; pcap has one.
    pub fn new(format: CaptureFormat, link_type: LinkType, interfaces: u32) -> Self {
        let most = if format == CaptureFormat::Pcap { 1 } else { MOST_INTERFACES };
        Self { format, link_type, interfaces: interfaces.clamp(1, most) }
    }

    /// Writes the beginning of a file, and returns its bytes. `None` if it does not fit.
    pub fn header(&self, buffer: &mut [u8]) -> Option<usize> {
        let mut out = Output { buffer, length: 0 };
        let link_type = self.link_type.0;
        if self.format == CaptureFormat::Pcap {
            out.put(&[0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0])?;
            out.words(&[0, 0, SNAPSHOT_LENGTH, link_type.into()])?;
            return Some(out.length);
        }
        out.put(&SECTION_HEADER)?;
        // Length, byte order, version 1.0, and a section of unknown length.
        out.words(&[28, 0x1a2b_3c4d, 1, u32::MAX, u32::MAX, 28])?;
        for _ in 0..self.interfaces {
            out.words(&[1, 32, link_type.into(), SNAPSHOT_LENGTH])?;
            // The option if_tsresol: nanoseconds. Then the end of options.
            out.put(&[9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0])?;
            out.words(&[32])?;
        }
        Some(out.length)
    }

    /// Writes the record of a packet, and returns its bytes. `ts_ns` is in nanoseconds since the
    /// UNIX epoch.
    ///
    /// `None` if it does not fit in the buffer, if no reader accepts a packet of this length, if
    /// the file has no such interface, or if pcap cannot express the time (after 2106-02-07).
    pub fn packet(
        &self,
        ts_ns: u64,
        interface: u32,
        packet: &[u8],
        buffer: &mut [u8],
    ) -> Option<usize> {
        let mut out = Output { buffer, length: 0 };
        let length = u32::try_from(packet.len()).ok()?;
        if interface >= self.interfaces || length > MOST_RECORD_BYTES - 64 {
            return None;
        }
        if self.format == CaptureFormat::Pcap {
            let seconds = u32::try_from(ts_ns / 1_000_000_000).ok()?;
            out.words(&[seconds, (ts_ns % 1_000_000_000) as u32, length, length])?;
            out.put(packet)?;
            return Some(out.length);
        }
        let block = 32 + length.next_multiple_of(4);
        let (high, low) = ((ts_ns >> 32) as u32, ts_ns as u32);
        out.words(&[6, block, interface, high, low, length, length])?;
        out.put(packet)?;
        out.put([0; 3].get(..(block - 32 - length) as usize)?)?;
        out.words(&[block])?;
        Some(out.length)
    }
}

/// Writes Ethernet frames with a UDP datagram of IPv4.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameWriter<'v> {
    /// Address and port of the sender.
    pub source: SocketAddrV4,
    /// Address and port of the receiver.
    pub destination: SocketAddrV4,
    /// The Ethernet address of the sender.
    pub source_mac: [u8; 6],
    /// At most four VLAN tags, outermost first. With several, the outer ones are service tags.
    pub vlans: &'v [u16],
    /// How many routers may pass the packet on.
    pub time_to_live: u8,
}

impl FrameWriter<'_> {
    /// Writes a frame, and returns its bytes. `identification` is the number of the IPv4 packet.
    ///
    /// `None` if the frame does not fit in the buffer, if the payload does not fit in a packet of
    /// IPv4, or if there are too many tags.
    pub fn write(&self, identification: u16, payload: &[u8], buffer: &mut [u8]) -> Option<usize> {
        if self.vlans.len() > MOST_TAGS {
            return None;
        }
        let mut out = Output { buffer, length: 0 };
        let udp_length = u16::try_from(UDP_BYTES + payload.len()).ok()?;
        let total_length = udp_length.checked_add(IP_BYTES as u16)?;
        let (source, destination) = (self.source.ip().octets(), self.destination.ip().octets());
        out.put(&mac_of(*self.destination.ip()))?;
        out.put(&self.source_mac)?;
        for (index, &vlan) in self.vlans.iter().enumerate() {
            let is_last = index + 1 == self.vlans.len();
            out.put(if is_last { &[0x81, 0x00] } else { &[0x88, 0xa8] })?;
            out.put(&(vlan & 0x0fff).to_be_bytes())?;
        }
        out.put(&[0x08, 0x00])?;

        let start = out.length;
        // Version 4 and five words; no service.
        out.put(&[0x45, 0])?;
        out.put(&total_length.to_be_bytes())?;
        out.put(&identification.to_be_bytes())?;
        // Not to be fragmented; protocol 17 is UDP; the checksum comes later.
        out.put(&[0x40, 0, self.time_to_live, 17, 0, 0])?;
        out.put(&source)?;
        out.put(&destination)?;
        let checksum = !fold(sum(out.buffer.get(start..out.length)?));
        out.set(start + 10, checksum)?;

        let start = out.length;
        out.put(&self.source.port().to_be_bytes())?;
        out.put(&self.destination.port().to_be_bytes())?;
        out.put(&udp_length.to_be_bytes())?;
        out.put(&[0, 0])?;
        out.put(payload)?;
        let udp = out.buffer.get(start..out.length)?;
        let checksum = !fold(pseudo_header_sum(self.source, self.destination, udp));
        // 0 means that there is no checksum, and the other zero of ones' complement is equal to it.
        out.set(start + 6, if checksum == 0 { 0xffff } else { checksum })?;
        Some(out.length)
    }
}

/// The Ethernet address of a group, from its lower 23 bits. That of a machine is unknown here: a
/// local one with the bytes of its IP address stands for it.
fn mac_of(address: Ipv4Addr) -> [u8; 6] {
    let [first, second, third, fourth] = address.octets();
    match address.is_multicast() {
        true => [0x01, 0x00, 0x5e, second & 0x7f, third, fourth],
        false => [0x02, 0x00, first, second, third, fourth],
    }
}

/// A buffer that fills from its front.
struct Output<'b> {
    buffer: &'b mut [u8],
    length: usize,
}

impl Output<'_> {
    fn put(&mut self, bytes: &[u8]) -> Option<()> {
        let end = self.length.checked_add(bytes.len())?;
        self.buffer.get_mut(self.length..end)?.copy_from_slice(bytes);
        self.length = end;
        Some(())
    }

    /// Little-endian words.
    fn words(&mut self, words: &[u32]) -> Option<()> {
        words.iter().try_for_each(|word| self.put(&word.to_le_bytes()))
    }

    /// Overwrites two bytes.
    fn set(&mut self, offset: usize, value: u16) -> Option<()> {
        self.buffer.get_mut(offset..offset + 2)?.copy_from_slice(&value.to_be_bytes());
        Some(())
    }
}
