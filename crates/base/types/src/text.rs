//! Fixed-width text as exchanges write it: left-justified, padded with spaces, never a `String`.
//!
//! The bytes are external input and may be anything. They are kept exactly; only `Display` escapes
//! other bytes than printable ASCII, so that a hostile file cannot control a terminal.

use core::{
    fmt::{self, Write as _},
    str::FromStr,
};

use crate::{Sentinel, WireValue};

/// `N` bytes of space-padded text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Alpha<const N: usize>([u8; N]);

/// Market participant identifier.
pub type Mpid = Alpha<4>;

impl<const N: usize> Alpha<N> {
    /// Wraps the bytes unchanged.
    #[inline]
    pub const fn new(bytes: [u8; N]) -> Self {
        Self(bytes)
    }

    /// All bytes, padding included.
    #[inline]
    pub const fn as_bytes(&self) -> &[u8; N] {
        &self.0
    }

    /// The bytes without trailing spaces.
    pub fn trimmed(&self) -> &[u8] {
        without_padding(&self.0)
    }
}

impl<const N: usize> WireValue<N> for Alpha<N> {
    const IS_TEXT: bool = true;

    #[inline]
    fn from_be_bytes(bytes: [u8; N]) -> Self {
        Self(bytes)
    }

    #[inline]
    fn to_be_bytes(self) -> [u8; N] {
        self.0
    }
}

/// Blank text is absent.
impl<const N: usize> Sentinel for Alpha<N> {
    const ABSENT: Self = Self([b' '; N]);
}

impl<const N: usize> fmt::Display for Alpha<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_escaped(f, self.trimmed())
    }
}

impl<const N: usize> fmt::Debug for Alpha<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

/// A stock symbol: eight bytes in one machine word, compared as one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Symbol(u64);

impl Symbol {
    /// Wraps the eight bytes of the wire, padding included.
    #[inline]
    pub const fn new(bytes: [u8; 8]) -> Self {
        Self(u64::from_be_bytes(bytes))
    }

    /// Whether it is a pattern in a selection: it has a `*`, which stands for any characters.
    pub fn is_pattern(self) -> bool {
        self.as_bytes().contains(&b'*')
    }

    /// Whether a selection by this symbol or pattern has the other symbol.
    pub fn selects(self, other: Self) -> bool {
        if self == other || !self.is_pattern() {
            return self == other;
        }
        let (pattern, other) = (self.as_bytes(), other.as_bytes());
        matches(without_padding(&pattern), without_padding(&other))
    }

    /// The eight bytes, padding included.
    #[inline]
    pub const fn as_bytes(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }
}

impl WireValue<8> for Symbol {
    const IS_TEXT: bool = true;

    #[inline]
    fn from_be_bytes(bytes: [u8; 8]) -> Self {
        Self::new(bytes)
    }

    #[inline]
    fn to_be_bytes(self) -> [u8; 8] {
        self.as_bytes()
    }
}

/// A blank symbol is absent.
impl Sentinel for Symbol {
    const ABSENT: Self = Self(u64::from_be_bytes([b' '; 8]));
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.as_bytes();
        let trimmed = without_padding(&bytes);
        match core::str::from_utf8(trimmed) {
            Ok(text) if trimmed.iter().all(u8::is_ascii_graphic) => f.pad(text),
            _ => write_escaped(f, trimmed),
        }
    }
}

impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

/// Text that cannot be a symbol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParseSymbolError;

impl fmt::Display for ParseSymbolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected a symbol of 1 to 8 printable characters without spaces")
    }
}

impl core::error::Error for ParseSymbolError {}

impl FromStr for Symbol {
    type Err = ParseSymbolError;

    fn from_str(text: &str) -> Result<Self, ParseSymbolError> {
        let source = text.as_bytes();
        if source.is_empty() || source.len() > 8 || !source.iter().all(u8::is_ascii_graphic) {
            return Err(ParseSymbolError);
        }
        let mut bytes = [b' '; 8];
        bytes[..source.len()].copy_from_slice(source);
        Ok(Self::new(bytes))
    }
}

/// Whether the pieces of a pattern between its `*` are in a text in this order.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    match (pattern.split_first(), text.split_first()) {
        (None, rest) => rest.is_none(),
        (Some((b'*', after)), None) => matches(after, text),
        (Some((b'*', after)), Some((_, rest))) => matches(after, text) || matches(pattern, rest),
        (Some((wanted, after)), Some((found, rest))) => wanted == found && matches(after, rest),
        (Some(_), None) => false,
    }
}

/// Only spaces are padding: a trailing newline is part of the text.
fn without_padding(bytes: &[u8]) -> &[u8] {
    let length = bytes.iter().rposition(|&b| b != b' ').map_or(0, |last| last + 1);
    &bytes[..length]
}

fn write_escaped(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    for &byte in bytes {
        match byte {
            b'\\' | b'"' => write!(f, "\\{}", char::from(byte))?,
            b' '..=b'~' => f.write_char(char::from(byte))?,
            _ => write!(f, "\\x{byte:02x}")?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_one_word_and_print_without_padding() {
        assert_eq!(size_of::<Symbol>(), 8);
        let symbol: Symbol = "AAPL".parse().unwrap();
        assert_eq!(symbol.as_bytes(), *b"AAPL    ");
        assert_eq!(symbol.to_string(), "AAPL");
        assert_eq!(format!("{symbol:<6}|"), "AAPL  |");
    }

    #[test]
    fn a_pattern_selects_what_its_pieces_are_in() {
        let symbol = |text: &str| text.parse::<Symbol>().unwrap();
        for (pattern, yes, no) in [
            ("A*", "AAPL", "BA"),
            ("A*", "A", "a"),
            ("*", "ZVZZT", ""),
            ("BRK.*", "BRK.A", "BRKA"),
            ("*.U", "ABCDEF.U", "ABC.UV"),
            ("A*L*X", "AALQX", "AALQXY"),
            ("AAPL", "AAPL", "AAPLW"),
        ] {
            assert!(symbol(pattern).selects(symbol(yes)), "{pattern} {yes}");
            let other = if no.is_empty() { Symbol::ABSENT } else { symbol(no) };
            assert!(pattern == "*" || !symbol(pattern).selects(other), "{pattern} {no}");
        }
    }

    #[test]
    fn bytes_that_are_not_text_are_kept_and_escaped() {
        let hostile = Symbol::new(*b"A\x1b[2J\xff  ");
        assert_eq!(hostile.to_string(), "A\\x1b[2J\\xff");
        assert_eq!(hostile.to_be_bytes(), *b"A\x1b[2J\xff  ");
        assert_eq!(Alpha::new(*b"\"\\\n ").to_string(), "\\\"\\\\\\x0a");
    }

    #[test]
    fn text_that_is_no_symbol_is_refused() {
        for text in ["", "TOOLONGBY1", "A B", "\u{e9}"] {
            assert_eq!(text.parse::<Symbol>(), Err(ParseSymbolError), "{text:?}");
        }
    }
}
