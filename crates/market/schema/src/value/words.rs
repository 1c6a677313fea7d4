//! The fields of a value in its words, for programs that have a schema at run time only.

use crate::{FieldType, Literal, ValueField, ValueSchema, evolution::misfit};

impl ValueSchema {
    /// The words of a value in which nothing was stored: each field has its default, or else the
    /// number that means absent, or else 0.
    pub fn initial(&self) -> Vec<u64> {
        let mut words = vec![0; self.words()];
        self.fields.iter().for_each(|field| field.reset(&mut words));
        words
    }

    /// Makes the words of a value of this version from those of an earlier one. Fields that were
    /// added since are as in [`ValueSchema::initial`].
    ///
    /// # Panics
    ///
    /// If the numbers of words are not those of the versions.
    pub fn upgrade(&self, version: usize, old: &[u64], new: &mut [u64]) {
        let lengths = (self.words_of(version), self.words());
        assert_eq!((old.len(), new.len()), lengths, "words of another version");
        let (same, added) = new.split_at_mut(old.len());
        same.copy_from_slice(old);
        added.fill(0);
        let later = self.fields.iter().filter(|field| field.of.since > version);
        later.for_each(|field| field.reset(new));
    }
}

impl ValueField {
    /// The bits of an element; those above its bytes are zero.
    ///
    /// # Panics
    ///
    /// If there is no such element, or the words are not those of the value.
    pub fn bits(&self, words: &[u64], element: usize) -> u64 {
        let (word, shift) = self.place(element);
        words[word] >> shift & self.mask()
    }

    /// Stores the bits of an element.
    ///
    /// # Panics
    ///
    /// As [`ValueField::bits`] does.
    pub fn set_bits(&self, words: &mut [u64], element: usize, bits: u64) {
        let (word, shift) = self.place(element);
        words[word] = words[word] & !(self.mask() << shift) | (bits & self.mask()) << shift;
    }

    /// The number that these bits are; of a text, that of its bytes.
    pub fn number(&self, bits: u64) -> i128 {
        match self.kind() {
            FieldType::Signed(_) => {
                let unused = 64 - 8 * self.width();
                i128::from((bits << unused).cast_signed() >> unused)
            }
            _ => i128::from(bits),
        }
    }

    /// Whether these bits mean that there is no number.
    pub fn is_absent(&self, bits: u64) -> bool {
        self.absent_bits() == Some(bits)
    }

    /// The bits that mean that there is no number.
    pub fn absent_bits(&self) -> Option<u64> {
        match (&self.absent, &self.of.field.kind) {
            (Some(absent), _) => Some(self.bits_of(absent)),
            (None, FieldType::Maybe(_)) => Some(0),
            (None, _) => None,
        }
    }

    /// The bits of a value that fits the field; a text has blanks after it.
    pub fn bits_of(&self, value: &Literal) -> u64 {
        match value {
            Literal::Number(number) => *number as u64 & self.mask(),
            Literal::Text(text) => {
                let mut bytes = [b' '; 8];
                for (byte, letter) in bytes.iter_mut().zip(text.bytes()) {
                    *byte = letter;
                }
                u64::from_le_bytes(bytes) & self.mask()
            }
        }
    }

    /// The bits of a value, or what it must be to fit the field.
    pub fn checked(&self, value: &Literal) -> Result<u64, String> {
        match misfit(&self.of.field.kind, value) {
            Some(expected) => Err(expected),
            None => Ok(self.bits_of(value)),
        }
    }

    fn reset(&self, words: &mut [u64]) {
        let default = self.of.default.as_ref().map(|default| self.bits_of(default));
        let bits = default.or(self.absent_bits()).unwrap_or(0);
        (0..self.elements()).for_each(|element| self.set_bits(words, element, bits));
    }

    fn mask(&self) -> u64 {
        u64::MAX >> (64 - 8 * self.width())
    }

    fn place(&self, element: usize) -> (usize, usize) {
        assert!(element < self.elements(), "no such element");
        let at = self.of.field.offset + element * self.width();
        (at / 8, 8 * (at % 8))
    }
}
