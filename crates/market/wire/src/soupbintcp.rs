//! SoupBinTCP: the generated packets, and the decimal numbers in them.
//!
//! [`crate::framing::soupbintcp`] splits a stream into packets. The offset tables are in
//! `docs/protocols/soupbintcp.md`.

use nanotape_types::Alpha;

pub use crate::generated::soupbintcp::*;

/// Parses a decimal number that is padded with spaces on either side, since servers differ. `None`
/// if it is blank, contains anything but digits, or exceeds 64 bits.
pub fn parse_number(text: &[u8]) -> Option<u64> {
    let digits = text.trim_ascii();
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    digits.iter().try_fold(0u64, |number, digit| {
        number.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
    })
}

/// Writes `number` right-aligned in `N` bytes, padded with spaces; `None` if it does not fit.
pub fn format_number<const N: usize>(number: u64) -> Option<Alpha<N>> {
    let mut bytes = [b' '; N];
    let mut rest = number;
    for place in bytes.iter_mut().rev() {
        *place = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            return Some(Alpha::new(bytes));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_on_the_right_and_read_anywhere() {
        for (number, text) in [
            (0, *b"                   0"),
            (4711, *b"                4711"),
            (u64::MAX, *b"18446744073709551615"),
        ] {
            assert_eq!(format_number(number), Some(Alpha::new(text)));
            assert_eq!(parse_number(&text), Some(number));
        }
        assert_eq!(parse_number(b"007   "), Some(7));
        assert_eq!(format_number::<5>(99_999), Some(Alpha::new(*b"99999")));
        assert_eq!(format_number::<5>(100_000), None);
    }

    #[test]
    fn text_that_is_no_number_is_refused() {
        for text in ["", "     ", "1 2", "-1", "+1", "0x1", "18446744073709551616"] {
            assert_eq!(parse_number(text.as_bytes()), None, "{text:?}");
        }
    }
}
