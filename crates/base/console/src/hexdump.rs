//! Human-readable bytes: offset, hexadecimal, and the printable ASCII characters.

use std::fmt::Write as _;

/// Bytes per line of text.
const BYTES_IN_A_LINE: usize = 16;

/// Appends the lines of a hex dump to a text.
pub fn hexdump(text: &mut String, payload: &[u8]) {
    for (number, bytes) in payload.chunks(BYTES_IN_A_LINE).enumerate() {
        let _ = write!(text, "  {:08x} ", number * BYTES_IN_A_LINE);
        for at in 0..BYTES_IN_A_LINE {
            if at == BYTES_IN_A_LINE / 2 {
                text.push(' ');
            }
            let _ = match bytes.get(at) {
                Some(byte) => write!(text, " {byte:02x}"),
                None => write!(text, "   "),
            };
        }
        text.push_str("  |");
        for &byte in bytes {
            let is_printable = byte == b' ' || byte.is_ascii_graphic();
            text.push(if is_printable { char::from(byte) } else { '.' });
        }
        text.push_str("|\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hexdump_has_offsets_bytes_and_letters() {
        let mut text = String::new();
        hexdump(&mut text, b"bid 100.25\0\n\x7f|ask");
        let expected = "  \
            00000000  62 69 64 20 31 30 30 2e  32 35 00 0a 7f 7c 61 73  |bid 100.25...|as|\n  \
            00000010  6b                                                |k|\n";
        assert_eq!(text, expected);
        let mut empty = String::new();
        hexdump(&mut empty, b"");
        assert_eq!(empty, "");
    }
}
