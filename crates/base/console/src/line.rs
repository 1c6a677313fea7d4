//! One line of CSV made of numbers, prices and symbols: eight characters at a time.
//!
//! Eight digits are made in one register, without a loop or a branch on their number, and stored
//! as a word. The next cell begins inside that word and overwrites the rest. Nothing is read back
//! from memory: a load that spans several recent stores would wait for them.

use nanotape_types::Symbol;

/// Characters of the longest line, and of a word that begins at its end.
pub(crate) const LINE_BYTES: usize = 144;

/// Cells in a line, and the characters of the longest cell with its comma.
pub(crate) const MAX_CELLS: usize = 6;
const MAX_CELL_BYTES: usize = 20 + 1;

const _: () = assert!(MAX_CELLS * MAX_CELL_BYTES + 8 <= LINE_BYTES);

/// The cells of a line, of which there are at most six.
#[derive(Debug)]
pub(crate) struct Line<'a> {
    place: &'a mut [u8; LINE_BYTES],
    length: usize,
}

/// A symbol that is written as it is: no quotes, no escapes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PlainSymbol {
    characters: u64,
    length: usize,
}

impl PlainSymbol {
    /// `None` if a character is not printable ASCII above `,`.
    #[inline]
    pub(crate) fn of(symbol: Symbol) -> Option<Self> {
        let characters = u64::from_le_bytes(symbol.as_bytes());
        let length = 8 - ((characters ^ every(b' ')).leading_zeros() / 8) as usize;
        let of_padding = u64::MAX.checked_shl(8 * length as u32).unwrap_or(0);
        // Padding counts as a letter. The highest bit of a byte is clear in every character, and
        // set in a sum that is too great.
        let letters = (characters & !of_padding) | (every(b'A') & of_padding);
        let is_low = !letters.wrapping_add(every(0x80 - (b',' + 1)));
        let is_high = letters.wrapping_add(every(0x80 - (b'~' + 1)));
        let is_plain = (letters | is_low | is_high) & every(0x80) == 0;
        (is_plain && length > 0).then_some(Self { characters, length })
    }
}

impl<'a> Line<'a> {
    pub(crate) fn new(place: &'a mut [u8; LINE_BYTES]) -> Self {
        Self { place, length: 0 }
    }

    /// Characters without the comma after the last cell.
    pub(crate) fn length(&self) -> usize {
        self.length - 1
    }

    /// Appends an absent cell.
    #[inline(always)]
    pub(crate) fn absent(&mut self) {
        self.characters(u64::from(b','), 1);
    }

    /// Appends a symbol.
    #[inline(always)]
    pub(crate) fn symbol(&mut self, symbol: PlainSymbol) {
        self.characters(symbol.characters, symbol.length);
        self.absent();
    }

    /// Appends a whole number.
    #[inline(always)]
    pub(crate) fn integer(&mut self, value: u64) {
        if value < E8 {
            self.leading(value as u32);
        } else if value < E8 * E8 {
            self.leading((value / E8) as u32);
            self.characters(digits((value % E8) as u32) | every(b'0'), 8);
        } else {
            self.long_integer(value);
        }
        self.absent();
    }

    /// Appends a price in units of 0.0001, with four decimals.
    #[inline(always)]
    pub(crate) fn price(&mut self, units: u64) {
        let fraction = (units % UNITS) as u32;
        self.leading((units / UNITS) as u32);
        // The four digits and a comma between a point and nothing.
        let fraction = (digits(fraction) | every(b'0')) >> 24 & !0xff;
        self.characters(fraction | u64::from(b'.') | u64::from(b',') << 40, 6);
    }

    /// Appends a number below 10^8 without leading zeros.
    #[inline(always)]
    fn leading(&mut self, value: u32) {
        let digits = digits(value);
        // The last digit is written even if it is 0.
        let zeros = (digits.trailing_zeros() / 8).min(7);
        self.characters((digits | every(b'0')) >> (8 * zeros), 8 - zeros as usize);
    }

    #[cold]
    fn long_integer(&mut self, value: u64) {
        self.integer_part(value / E8);
        self.characters(digits((value % E8) as u32) | every(b'0'), 8);
    }

    /// A number below 10^12.
    fn integer_part(&mut self, value: u64) {
        self.leading((value / E8) as u32);
        self.characters(digits((value % E8) as u32) | every(b'0'), 8);
    }

    /// Appends the first `length` of eight characters.
    #[inline(always)]
    fn characters(&mut self, characters: u64, length: usize) {
        if let Some(place) = self.place[self.length..].first_chunk_mut() {
            *place = characters.to_le_bytes();
        }
        self.length += length;
    }
}

/// Units of a price in 1.0.
const UNITS: u64 = 10_000;

const E8: u64 = 100_000_000;

/// A word of eight times a byte.
const fn every(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// The eight digits of a number below 10^8, the first one in the lowest byte. They are split in
/// halves three times; a product with a rounded reciprocal divides all parts of a word at once.
#[inline(always)]
const fn digits(value: u32) -> u64 {
    let fours = (value / 10_000) as u64 | ((value % 10_000) as u64) << 32;
    let hundreds = (fours * 10_486) >> 20 & 0x7f_0000_007f;
    let twos = hundreds | (fours - 100 * hundreds) << 16;
    let tens = (twos * 103) >> 10 & 0x000f_000f_000f_000f;
    tens | (twos - 10 * tens) << 8
}

#[cfg(test)]
mod tests {
    use nanotape_types::Price4;
    use proptest::prelude::*;

    use super::*;

    fn line(write: impl FnOnce(&mut Line<'_>)) -> String {
        let mut place = [0xff; LINE_BYTES];
        let mut line = Line::new(&mut place);
        write(&mut line);
        let length = line.length();
        String::from_utf8(place[..length].to_vec()).unwrap()
    }

    #[test]
    fn every_power_of_ten_and_its_neighbours_have_their_digits() {
        let powers = (0..20).map(|power| 10_u64.pow(power));
        for value in powers.flat_map(|power| [power - 1, power, power + 1]).chain([u64::MAX]) {
            assert_eq!(line(|line| line.integer(value)), value.to_string());
            if let Ok(price) = value.try_into() {
                let price = Price4::new(price);
                assert_eq!(line(|line| line.price(price.get().into())), price.to_string());
            }
        }
    }

    #[test]
    fn all_numbers_of_four_digits_have_their_digits() {
        for value in 0..10_000 {
            assert_eq!(line(|line| line.integer(value)), value.to_string());
            let (high, low) = (value as u32 * 10_000 + 1_234, value as u32 + 56_780_000);
            for value in [high, low] {
                assert_eq!(line(|line| line.integer(value.into())), value.to_string());
            }
        }
    }

    #[test]
    fn a_symbol_is_plain_if_it_needs_no_quotes_and_no_escapes() {
        let plain = |bytes| PlainSymbol::of(Symbol::new(bytes)).is_some();
        for byte in 0..=255 {
            let is_plain = (b'-'..=b'~').contains(&byte);
            assert_eq!(plain([byte; 8]), is_plain, "{byte}");
            assert_eq!(plain([b'A', byte, b'B', b' ', b' ', b' ', b' ', b' ']), is_plain, "{byte}");
            assert!(byte == b' ' || !plain([byte, 0, 0, 0, 0, 0, 0, byte]));
        }
        assert!(!plain(*b"        "));
    }

    proptest! {
        #[test]
        fn a_line_has_the_cells_of_the_standard_formatter(
            integers in prop::array::uniform3(any::<(u64, u32)>()),
            prices in prop::array::uniform2(any::<(u32, u32)>()),
            letters in "[A-Z.-]{1,8}",
        ) {
            // All lengths are as probable.
            let integers = integers.map(|(value, bits)| value >> (bits % 64));
            let prices = prices.map(|(value, bits)| Price4::new(value >> (bits % 32)));
            let symbol: Symbol = letters.parse().unwrap();
            let ([time, bid, offer], [bid_price, offer_price]) = (integers, prices);
            let got = line(|line| {
                line.integer(time);
                line.symbol(PlainSymbol::of(symbol).unwrap());
                line.price(bid_price.get().into());
                line.integer(bid);
                line.price(offer_price.get().into());
                line.integer(offer);
            });
            let (bid, offer) = (format!("{bid_price},{bid}"), format!("{offer_price},{offer}"));
            prop_assert_eq!(got, format!("{time},{symbol},{bid},{offer}"));
        }
    }
}
