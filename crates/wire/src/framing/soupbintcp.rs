//! SoupBinTCP: cuts a TCP stream into packets.
//!
//! Where: whoever reads the socket gives what has come so far to [`split`] and keeps what is left.
//! Layout: two big-endian bytes that count what follows them, the type byte, the payload.
//! Failure: a length of 0 leaves no type byte; the stream cannot be followed any further.
//! Cost: no allocation, no copy.

/// What stands at the beginning of the bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Split<'a> {
    /// A whole packet, its length included, ready for `soupbintcp::Message::decode`.
    Packet {
        /// The packet.
        packet: &'a [u8],
        /// What follows it.
        rest: &'a [u8],
    },
    /// The packet is not all there yet.
    NeedMore {
        /// Bytes missing, at least: until the length is there, until it is.
        bytes: usize,
    },
    /// The length is 0.
    Invalid,
}

/// Looks at the beginning of `bytes`, which must be the beginning of a packet.
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
