//! Byte strings of any length up to a bound, as keys or values of words.
//!
//! Layout: the first word is the length in bytes; the bytes follow, eight in a word, the first one
//! in its lowest byte; all others are zero. So each string has one form, and two that differ in
//! trailing zero bytes are different keys.

/// Words that a byte string of up to this many bytes needs.
pub const fn words_for_bytes(most: usize) -> usize {
    1 + most.div_ceil(8)
}

/// Writes a byte string into the words of a key or a value; returns false, and writes nothing, if
/// it is too long.
#[must_use]
pub fn pack_bytes(bytes: &[u8], words: &mut [u64]) -> bool {
    let Some((length, room)) = words.split_first_mut() else { return false };
    let has_room = pack_text(bytes, room);
    if has_room {
        *length = bytes.len() as u64;
    }
    has_room
}

/// Writes a text into the words of a key, eight bytes in a word and zeros behind it, as `nanotape
/// latest --keys text` does; returns false, and writes nothing, if it is too long. Two texts that
/// differ in trailing zero bytes are the same key.
#[must_use]
pub fn pack_text(text: &[u8], words: &mut [u64]) -> bool {
    if text.len() > 8 * words.len() {
        return false;
    }
    words.fill(0);
    for (word, bytes) in words.iter_mut().zip(text.chunks(8)) {
        let mut eight = [0; 8];
        eight[..bytes.len()].copy_from_slice(bytes);
        *word = u64::from_le_bytes(eight);
    }
    true
}

/// The byte string in the words of a key or a value, in a buffer; `None` if the words are not those
/// of one, or the buffer is too short.
pub fn unpack_bytes<'b>(words: &[u64], buffer: &'b mut [u8]) -> Option<&'b [u8]> {
    let (length, content) = words.split_first()?;
    let length = usize::try_from(*length).ok().filter(|length| *length <= 8 * content.len())?;
    let bytes = buffer.get_mut(..length)?;
    for (bytes, word) in bytes.chunks_mut(8).zip(content) {
        bytes.copy_from_slice(&word.to_le_bytes()[..bytes.len()]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_strings_of_every_length_come_back_and_differ() {
        assert_eq!([0, 1, 8, 9].map(words_for_bytes), [1, 2, 2, 3]);
        let mut seen = std::collections::BTreeSet::new();
        for length in 0..=24 {
            for fill in [0, 7] {
                let bytes = vec![fill; length];
                let mut words = vec![u64::MAX; words_for_bytes(24)];
                assert!(pack_bytes(&bytes, &mut words));
                assert_eq!(unpack_bytes(&words, &mut [9; 24]), Some(&bytes[..]));
                assert!(seen.insert(words.clone()) || length == 0);
                if length > 0 {
                    assert_eq!(unpack_bytes(&words, &mut vec![9; length - 1]), None);
                }
            }
        }
        let mut words = [5; 4];
        assert!(!pack_bytes(&[1; 25], &mut words) && words == [5; 4]);
        assert!(!pack_bytes(&[], &mut []));
        assert_eq!(unpack_bytes(&[17, 1, 2], &mut [0; 64]), None);
        assert_eq!(unpack_bytes(&[], &mut [0; 64]), None);
    }
}
