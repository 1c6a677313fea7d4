//! The frame: the unit that a link sends.
//!
//! ```text
//!  0   length   4 bytes, little-endian: bytes of the payload
//!  4   kind     2 bytes
//!  6   zero     2 bytes
//!  8   number   8 bytes: of this frame in its direction, from 0 with each connection
//!  16  check    4 bytes: CRC-32C of the 16 bytes before and the payload, from the seed
//!  20  zero     4 bytes
//!  24  payload
//! ```
//!
//! The seed comes from what both sides chose at random for this connection. So a frame of another
//! connection, and one that is sent again, is invalid. A hello, and the reason of a side that
//! closes, have the seed 0: a side that refuses a hello has no other.

use nanotape_shm::checksum_bytes;

/// Bytes of a frame before its payload.
pub const FRAME_HEADER_BYTES: usize = 24;

/// Kinds of the link itself.
pub(crate) const HELLO: u16 = 0xff00;
pub(crate) const HEARTBEAT: u16 = 0xff01;
pub(crate) const BYE: u16 = 0xff02;

/// Bytes of the header that the checksum covers.
const CHECKED_BYTES: usize = 16;

/// Why bytes are not the next frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// A longer payload than both sides have agreed on.
    #[error("a frame of {length} bytes, at most {most} are allowed")]
    Length {
        /// Bytes of its payload, as its header states.
        length: u32,
        /// The limit.
        most: usize,
    },
    /// A frame that was received already, or one after a frame that is missing.
    #[error("frame {found}, expected frame {expected}")]
    Number {
        /// Its number.
        found: u64,
        /// The number of the next frame.
        expected: u64,
    },
    /// Its bytes changed on the way, or it belongs to another connection.
    #[error("frame {number} has checksum {found:#010x}, expected {expected:#010x}")]
    Checksum {
        /// Its number.
        number: u64,
        /// The checksum of its bytes.
        found: u32,
        /// The checksum in its header.
        expected: u32,
    },
    /// Bytes that must be zero are not.
    #[error("frame {number} has a reserved byte that is not zero")]
    Reserved {
        /// Its number.
        number: u64,
    },
}

/// The first frame of some bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Split {
    /// A whole frame: its kind, and the bytes of its payload.
    Frame { kind: u16, length: usize },
    /// It is not complete.
    NeedMore,
}

/// Checks the first frame of `bytes`.
#[inline]
pub(crate) fn split(
    bytes: &[u8],
    seed: u32,
    expected: u64,
    most: usize,
) -> Result<Split, FrameError> {
    let Some(header) = bytes.first_chunk::<FRAME_HEADER_BYTES>() else {
        return Ok(Split::NeedMore);
    };
    let four = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| header[at + byte]));
    let (length, found) = (four(0), u64::from(four(8)) | u64::from(four(12)) << 32);
    // Before its bytes are waited for.
    if length as usize > most {
        return Err(FrameError::Length { length, most });
    }
    if found != expected {
        return Err(FrameError::Number { found, expected });
    }
    if header[6..8] != [0; 2] || header[20..24] != [0; 4] {
        return Err(FrameError::Reserved { number: found });
    }
    let payload = &bytes[FRAME_HEADER_BYTES..];
    let Some(payload) = payload.get(..length as usize) else { return Ok(Split::NeedMore) };
    let kind = u16::from_le_bytes([header[4], header[5]]);
    let sum = check(seed_of(kind, seed), header, payload);
    if sum != four(16) {
        return Err(FrameError::Checksum { number: found, found: sum, expected: four(16) });
    }
    Ok(Split::Frame { kind, length: length as usize })
}

/// Writes the header of the frame whose payload follows it in `frame`.
#[inline]
pub(crate) fn seal(frame: &mut [u8], seed: u32, number: u64, kind: u16) {
    let Some((header, payload)) = frame.split_first_chunk_mut::<FRAME_HEADER_BYTES>() else {
        return;
    };
    *header = [0; FRAME_HEADER_BYTES];
    header[..4].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    header[4..6].copy_from_slice(&kind.to_le_bytes());
    header[8..16].copy_from_slice(&number.to_le_bytes());
    let sum = check(seed_of(kind, seed), header, payload);
    header[16..20].copy_from_slice(&sum.to_le_bytes());
}

/// The seed of a frame of this kind, in a connection with this seed.
fn seed_of(kind: u16, seed: u32) -> u32 {
    if matches!(kind, HELLO | BYE) { 0 } else { seed }
}

fn check(seed: u32, header: &[u8; FRAME_HEADER_BYTES], payload: &[u8]) -> u32 {
    checksum_bytes(checksum_bytes(seed, &header[..CHECKED_BYTES]), payload)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(payload: &[u8], seed: u32, number: u64) -> Vec<u8> {
        let mut frame = [&[0; FRAME_HEADER_BYTES], payload].concat();
        seal(&mut frame, seed, number, 0x1234);
        frame
    }

    #[test]
    fn a_frame_is_read_as_it_was_written_and_not_with_any_bit_changed() {
        for payload in [&b""[..], b"a", b"thirteen byte"] {
            let mut bytes = frame(payload, 7, 9);
            let whole = Split::Frame { kind: 0x1234, length: payload.len() };
            assert_eq!(split(&bytes, 7, 9, 13), Ok(whole));
            for cut in 0..bytes.len() {
                assert_eq!(split(&bytes[..cut], 7, 9, 13), Ok(Split::NeedMore), "{cut}");
            }
            for bit in 0..bytes.len() * 8 {
                bytes[bit / 8] ^= 1 << (bit % 8);
                assert_ne!(split(&bytes, 7, 9, 13), Ok(whole), "bit {bit}");
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
        }
    }

    #[test]
    fn frames_of_another_connection_and_frames_that_come_again_are_refused() {
        let bytes = frame(b"abc", 7, 9);
        assert!(matches!(split(&bytes, 8, 9, 13), Err(FrameError::Checksum { number: 9, .. })));
        assert_eq!(split(&bytes, 7, 10, 13), Err(FrameError::Number { found: 9, expected: 10 }));
        assert_eq!(split(&bytes, 7, 9, 2), Err(FrameError::Length { length: 3, most: 2 }));
    }

    #[test]
    fn an_absurd_length_is_refused_before_its_bytes_come() {
        let mut bytes = frame(b"", 7, 9);
        bytes[..4].copy_from_slice(&u32::MAX.to_le_bytes());
        let error = FrameError::Length { length: u32::MAX, most: 1 << 20 };
        assert_eq!(split(&bytes, 7, 9, 1 << 20), Err(error));
    }
}
