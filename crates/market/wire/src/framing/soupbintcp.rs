//! SoupBinTCP: splits a TCP stream into packets.
//!
//! Where: the reader of the socket passes the bytes so far to [`split`] and keeps the rest.
//! Layout: two big-endian bytes with the number of bytes after them, the type byte, the payload.
//! Failure: a length of 0 leaves no type byte; the rest of the stream cannot be split.
//! Cost: no allocation, no copy.

/// The first packet of some bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Split<'a> {
    /// A whole packet, its length included, ready for `soupbintcp::Message::decode`.
    Packet {
        /// The packet.
        packet: &'a [u8],
        /// The bytes after it.
        rest: &'a [u8],
    },
    /// The packet is incomplete.
    NeedMore {
        /// Minimum number of missing bytes: of the length, or, once that is known, of the packet.
        bytes: usize,
    },
    /// The length is 0.
    Invalid,
}

/// Splits off the first packet of `bytes`, which must begin with one.
#[inline]
pub fn split(bytes: &[u8]) -> Split<'_> {
    let Some((&length, _)) = bytes.split_first_chunk::<2>() else {
        return Split::NeedMore { bytes: 2 - bytes.len() };
    };
    let total = 2 + usize::from(u16::from_be_bytes(length));
    match bytes.split_at_checked(total) {
        _ if total == 2 => Split::Invalid,
        Some((packet, rest)) => Split::Packet { packet, rest },
        None => Split::NeedMore { bytes: total - bytes.len() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_cut_anywhere_gives_the_same_packets() {
        let stream = b"\0\x01H\0\x04Uabc\0\x01R";
        for cut in 0..=stream.len() {
            let mut found = Vec::new();
            let mut rest = &stream[..cut];
            while let Split::Packet { packet, rest: after } = split(rest) {
                found.push(packet.len());
                rest = after;
            }
            let mut joined = rest.to_vec();
            joined.extend_from_slice(&stream[cut..]);
            let mut rest = joined.as_slice();
            while let Split::Packet { packet, rest: after } = split(rest) {
                found.push(packet.len());
                rest = after;
            }
            assert_eq!(found, [3, 6, 3], "cut at {cut}");
            assert_eq!(split(rest), Split::NeedMore { bytes: 2 });
        }
    }

    #[test]
    fn missing_bytes_are_counted_and_length_0_is_refused() {
        assert_eq!(split(b""), Split::NeedMore { bytes: 2 });
        assert_eq!(split(b"\0"), Split::NeedMore { bytes: 1 });
        assert_eq!(split(b"\0\x05S"), Split::NeedMore { bytes: 4 });
        assert_eq!(split(b"\0\0anything"), Split::Invalid);
    }
}
