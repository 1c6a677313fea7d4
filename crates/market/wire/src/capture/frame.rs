//! From a captured packet to the payload of its UDP datagram: Ethernet or another link, VLAN tags,
//! IPv4, UDP.
//!
//! The lengths of IP and UDP cut the payload, not the length of the frame: short frames are padded,
//! and switches and capture cards append trailers. A frame is skipped for exactly one reason, so
//! that counters add up.

use core::net::{Ipv4Addr, SocketAddrV4};

use super::LinkType;
use crate::codec::field;

/// Most VLAN tags of a frame.
pub(super) const MOST_TAGS: usize = 4;

/// Bytes of the header of UDP.
const UDP_BYTES: usize = 8;

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
const PROTOCOL_UDP: u8 = 17;

/// A UDP datagram of IPv4.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Datagram<'a> {
    /// Address and port of the sender.
    pub source: SocketAddrV4,
    /// Address and port of the receiver: of a multicast group, or of one machine.
    pub destination: SocketAddrV4,
    /// The VLANs that the frame is tagged with.
    pub vlans: Vlans,
    /// The bytes after the header of UDP, up to its length.
    pub payload: &'a [u8],
    /// The header of IPv4, with options.
    ip_header: &'a [u8],
    /// The header of UDP and the payload.
    udp: &'a [u8],
}

/// The VLAN identifiers of a frame, outermost first.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Vlans {
    identifiers: [u16; MOST_TAGS],
    count: u8,
}

/// Why a captured packet is not a whole UDP datagram of IPv4.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum SkipReason {
    /// The link type has no decoder.
    UnknownLinkType,
    /// The frame carries another protocol than IP.
    NotIp,
    /// The frame carries IPv6.
    Ipv6,
    /// The packet carries another protocol than UDP.
    NotUdp,
    /// The packet is one of the fragments of a datagram.
    Fragment,
    /// The capture has only the beginning of the packet.
    Truncated,
    /// A header contradicts itself, or the frame has more than four VLAN tags.
    Malformed,
}

impl SkipReason {
    /// All reasons. `reason as usize` is the index of a reason, for an array of counters.
    pub const ALL: [Self; 7] = [
        Self::UnknownLinkType,
        Self::NotIp,
        Self::Ipv6,
        Self::NotUdp,
        Self::Fragment,
        Self::Truncated,
        Self::Malformed,
    ];

    /// A name for reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::UnknownLinkType => "unknown link type",
            Self::NotIp => "not IP",
            Self::Ipv6 => "IPv6",
            Self::NotUdp => "not UDP",
            Self::Fragment => "fragment",
            Self::Truncated => "truncated",
            Self::Malformed => "malformed",
        }
    }
}

impl Vlans {
    /// The identifiers, outermost first.
    pub fn as_slice(&self) -> &[u16] {
        self.identifiers.get(..usize::from(self.count)).unwrap_or_default()
    }

    /// Adds the tag of a frame; `false` if there are too many.
    fn push(&mut self, tag: u16) -> bool {
        let Some(identifier) = self.identifiers.get_mut(usize::from(self.count)) else {
            return false;
        };
        // The upper four bits are priority and drop eligibility.
        *identifier = tag & 0x0fff;
        self.count += 1;
        true
    }
}

/// The UDP datagram in a packet that was captured on a link of this type.
#[inline]
pub fn datagram(link_type: LinkType, bytes: &[u8]) -> Result<Datagram<'_>, SkipReason> {
    let mut vlans = Vlans::default();
    let packet = match link_type {
        LinkType::ETHERNET => after_tags::<14, 12>(bytes, &mut vlans)?,
        LinkType::LINUX_SLL => after_tags::<16, 14>(bytes, &mut vlans)?,
        LinkType::LINUX_SLL2 => after_tags::<20, 0>(bytes, &mut vlans)?,
        LinkType::NULL | LinkType::LOOP => after_family(link_type, bytes)?,
        LinkType::RAW | LinkType(12 | 14) => match bytes.first().map(|byte| byte >> 4) {
            Some(6) => return Err(SkipReason::Ipv6),
            _ => bytes,
        },
        LinkType::IPV4 => bytes,
        LinkType::IPV6 => return Err(SkipReason::Ipv6),
        _ => return Err(SkipReason::UnknownLinkType),
    };
    ipv4(packet, vlans)
}

/// The packet after a link header of `LEN` bytes with an EtherType at `AT`, and after VLAN tags.
#[inline]
fn after_tags<'b, const LEN: usize, const AT: usize>(
    bytes: &'b [u8],
    vlans: &mut Vlans,
) -> Result<&'b [u8], SkipReason> {
    let (header, mut rest) = bytes.split_first_chunk::<LEN>().ok_or(SkipReason::Truncated)?;
    let mut ethertype = u16::from_be_bytes(*field::<AT, 2, LEN>(header));
    while matches!(ethertype, 0x8100 | 0x88a8 | 0x9100) {
        let (tag, after) = rest.split_first_chunk::<4>().ok_or(SkipReason::Truncated)?;
        if !vlans.push(u16::from_be_bytes(*field::<0, 2, _>(tag))) {
            return Err(SkipReason::Malformed);
        }
        (ethertype, rest) = (u16::from_be_bytes(*field::<2, 2, _>(tag)), after);
    }
    match ethertype {
        ETHERTYPE_IPV4 => Ok(rest),
        ETHERTYPE_IPV6 => Err(SkipReason::Ipv6),
        _ => Err(SkipReason::NotIp),
    }
}

/// The packet after the address family of a loopback link. The byte order of the capturing machine
/// is unknown, and both are accepted: a family is less than 256.
fn after_family(link_type: LinkType, bytes: &[u8]) -> Result<&[u8], SkipReason> {
    let (family, rest) = bytes.split_first_chunk::<4>().ok_or(SkipReason::Truncated)?;
    let family = match u32::from_be_bytes(*family) {
        family if family > 0xffff && link_type == LinkType::NULL => family.swap_bytes(),
        family => family,
    };
    match family {
        2 => Ok(rest),
        // The numbers of BSD, FreeBSD, Darwin and Linux.
        24 | 28 | 30 | 10 => Err(SkipReason::Ipv6),
        _ => Err(SkipReason::NotIp),
    }
}

#[inline]
fn ipv4(packet: &[u8], vlans: Vlans) -> Result<Datagram<'_>, SkipReason> {
    let header = packet.first_chunk::<20>().ok_or(SkipReason::Truncated)?;
    let [version_and_words, ..] = *header;
    let header_length = usize::from(version_and_words & 0x0f) * 4;
    let total_length = usize::from(u16::from_be_bytes(*field::<2, 2, _>(header)));
    if version_and_words >> 4 != 4 || header_length < 20 || total_length < header_length {
        return Err(SkipReason::Malformed);
    }
    let [protocol] = *field::<9, 1, _>(header);
    if protocol != PROTOCOL_UDP {
        return Err(SkipReason::NotUdp);
    }
    // More fragments follow, or bytes come before this one.
    if u16::from_be_bytes(*field::<6, 2, _>(header)) & 0x3fff != 0 {
        return Err(SkipReason::Fragment);
    }
    let packet = packet.get(..total_length).ok_or(SkipReason::Truncated)?;
    let (ip_header, rest) = packet.split_at_checked(header_length).ok_or(SkipReason::Malformed)?;
    let udp_header = rest.first_chunk::<UDP_BYTES>().ok_or(SkipReason::Malformed)?;
    let udp_length = usize::from(u16::from_be_bytes(*field::<4, 2, _>(udp_header)));
    let udp = rest.get(..udp_length).ok_or(SkipReason::Malformed)?;
    let payload = udp.get(UDP_BYTES..).ok_or(SkipReason::Malformed)?;
    let address = |bytes: &[u8; 4], port: &[u8; 2]| {
        SocketAddrV4::new(Ipv4Addr::from(*bytes), u16::from_be_bytes(*port))
    };
    Ok(Datagram {
        source: address(field::<12, 4, _>(header), field::<0, 2, _>(udp_header)),
        destination: address(field::<16, 4, _>(header), field::<2, 2, _>(udp_header)),
        vlans,
        payload,
        ip_header,
        udp,
    })
}

impl Datagram<'_> {
    /// Whether the checksum of the IPv4 header is right.
    ///
    /// A capture on the sending machine often has wrong checksums, because the network card writes
    /// them. So a wrong one is a count, and no reason to drop a datagram.
    pub fn ip_checksum_is_right(&self) -> bool {
        fold(sum(self.ip_header)) == 0xffff
    }

    /// Whether the checksum of UDP is right, or absent.
    pub fn udp_checksum_is_right(&self) -> bool {
        let is_absent = self.udp.get(6..8) == Some(&[0, 0]);
        is_absent || fold(pseudo_header_sum(self.source, self.destination, self.udp)) == 0xffff
    }
}

/// The sum of the addresses, protocol and length that UDP includes, and of the datagram.
pub(super) fn pseudo_header_sum(
    source: SocketAddrV4,
    destination: SocketAddrV4,
    udp: &[u8],
) -> u64 {
    let addresses = sum(&source.ip().octets()) + sum(&destination.ip().octets());
    addresses + u64::from(PROTOCOL_UDP) + udp.len() as u64 + sum(udp)
}

/// The sum of the big-endian 16-bit words; an odd last byte is the upper half of a word.
pub(super) fn sum(bytes: &[u8]) -> u64 {
    let (words, last) = bytes.as_chunks::<2>();
    let words: u64 = words.iter().map(|word| u64::from(u16::from_be_bytes(*word))).sum();
    words + last.first().map_or(0, |&byte| u64::from(byte) << 8)
}

/// The sum with its carries added: 16 bits of ones' complement.
pub(super) fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    sum as u16
}

#[cfg(test)]
mod tests;
