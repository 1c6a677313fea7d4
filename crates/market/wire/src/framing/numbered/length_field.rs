//! How the length of a message is written in a packet.

/// The length of a message in a packet: before it or at its front, in one byte or two.
///
/// ```text
/// before:  | length | message            |    the length does not count itself
/// at front:         | length ... message |    the length is a part of the message, and counted
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LengthField {
    /// Two big-endian bytes before the message: MoldUDP64.
    BigBefore,
    /// Two little-endian bytes before the message: IEX-TP.
    LittleBefore,
    /// The first byte of the message: PITCH.
    FirstByte,
    /// The first two bytes of the message, little-endian: NYSE XDP, CME MDP 3.0.
    LittleFirst,
}

impl LengthField {
    /// Bytes of the length.
    pub const fn width(self) -> usize {
        match self {
            Self::BigBefore | Self::LittleBefore | Self::LittleFirst => 2,
            Self::FirstByte => 1,
        }
    }

    /// Whether the length is a part of the message.
    pub const fn is_in_message(self) -> bool {
        matches!(self, Self::FirstByte | Self::LittleFirst)
    }

    /// The length that is written at the front of `bytes`.
    #[inline(always)]
    fn stated(self, bytes: &[u8]) -> Option<usize> {
        match self {
            Self::FirstByte => bytes.first().map(|&length| length.into()),
            Self::BigBefore => bytes.first_chunk().map(|b| u16::from_be_bytes(*b).into()),
            Self::LittleBefore | Self::LittleFirst => {
                bytes.first_chunk().map(|b| u16::from_le_bytes(*b).into())
            }
        }
    }

    /// The length in the two bytes before a message.
    #[inline]
    pub(super) const fn of_bytes(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::BigBefore => u16::from_be_bytes(bytes),
            Self::LittleBefore | Self::LittleFirst | Self::FirstByte => u16::from_le_bytes(bytes),
        }
    }

    /// The first message of `bytes`, whose length is a part of it, and the bytes after it.
    /// Otherwise how many bytes it needs; fewer than those of a length are what it states.
    #[inline]
    pub(super) fn split_counted(self, bytes: &[u8]) -> Result<(&[u8], &[u8]), usize> {
        let width = self.width();
        let length = self.stated(bytes).ok_or(width)?;
        if length < width {
            return Err(length);
        }
        bytes.split_at_checked(length).ok_or(length)
    }

    /// The bytes to write before a message; `None` if its length cannot be written, or is not the
    /// one at its front.
    pub(super) fn prefix(self, message: &[u8]) -> Option<([u8; 2], usize)> {
        if self.is_in_message() {
            let is_right = self.stated(message) == Some(message.len());
            return is_right.then_some(([0; 2], 0));
        }
        let length = u16::try_from(message.len()).ok()?;
        match self {
            Self::BigBefore => Some((length.to_be_bytes(), 2)),
            _ => Some((length.to_le_bytes(), 2)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_split_off_as_it_is_written() {
        for (field, message, bytes) in [
            (LengthField::BigBefore, &b"abc"[..], &b"\0\x03abc"[..]),
            (LengthField::LittleBefore, b"abc", b"\x03\0abc"),
            (LengthField::LittleBefore, b"", b"\0\0"),
            (LengthField::FirstByte, b"\x04abc", b"\x04abc"),
            (LengthField::FirstByte, b"\x01", b"\x01"),
            (LengthField::LittleFirst, b"\x05\0abc", b"\x05\0abc"),
            (LengthField::LittleFirst, b"\x02\0", b"\x02\0"),
        ] {
            let (prefix, width) = field.prefix(message).unwrap();
            assert_eq!([&prefix[..width], message].concat(), bytes);
            assert_eq!(width, if field.is_in_message() { 0 } else { field.width() });
            if !field.is_in_message() {
                assert_eq!(usize::from(field.of_bytes(prefix)), message.len());
                continue;
            }
            let long = [bytes, b"rest"].concat();
            assert_eq!(field.split_counted(&long), Ok((message, &b"rest"[..])));
            for length in 0..bytes.len() {
                let expected = if length < field.width() { field.width() } else { bytes.len() };
                assert_eq!(field.split_counted(&bytes[..length]), Err(expected));
            }
        }
        assert_eq!(LengthField::FirstByte.split_counted(b"\0abc"), Err(0));
        assert_eq!(LengthField::LittleFirst.split_counted(b"\x01\0abc"), Err(1));
        assert_eq!(LengthField::FirstByte.prefix(b"\x05abc"), None);
        assert_eq!(LengthField::BigBefore.prefix(&[0; 65_536]), None);
    }
}
