//! One difference between a schema and a description.

use core::fmt;

use crate::{Spot, problem::printable};

/// What differs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Aspect {
    /// The byte order of all numbers.
    ByteOrder,
    /// What precedes the fields of every message.
    Head,
    /// A message that one side lacks.
    Message,
    /// The bytes of a message or an entry.
    Length,
    /// A field that one side lacks.
    Field,
    /// Where a field begins.
    Offset,
    /// The bytes of a field.
    Width,
    /// Whether a field is a number, text, codes or bits.
    Type,
    /// Whether a number is signed.
    Sign,
    /// The implied decimals of a number.
    Decimals,
    /// The codes of a field.
    Codes,
    /// The named bits of a field.
    Bits,
    /// The value that means absence.
    Null,
    /// The groups of a message.
    Group,
}

impl Aspect {
    /// All of them, in the order of [`Self::NAMES`].
    pub const ALL: [Self; 14] = [
        Self::ByteOrder,
        Self::Head,
        Self::Message,
        Self::Length,
        Self::Field,
        Self::Offset,
        Self::Width,
        Self::Type,
        Self::Sign,
        Self::Decimals,
        Self::Codes,
        Self::Bits,
        Self::Null,
        Self::Group,
    ];

    /// The names in output and in lists of explanations.
    pub const NAMES: [&'static str; 14] = [
        "byte order",
        "head",
        "message",
        "length",
        "field",
        "offset",
        "width",
        "type",
        "sign",
        "decimals",
        "codes",
        "bits",
        "null",
        "group",
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The aspect of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|aspect| aspect.name() == name)
    }
}

/// One difference. It has no line break in any part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// What differs.
    pub aspect: Aspect,
    /// The type of the message: `A`, `0x21`; empty if it is about all messages.
    pub message: String,
    /// The name of the message with us, or there if we lack it.
    pub name: String,
    /// The field with us, or there if we lack it; with its groups before it: `entries/price`.
    pub field: String,
    /// What our schema has.
    pub ours: String,
    /// What the description has.
    pub theirs: String,
    /// The position in the description; 1:1 for what it lacks.
    pub spot: Spot,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        if !self.message.is_empty() {
            text = format!("message '{}' {}", self.message, self.name);
        }
        if !self.field.is_empty() {
            text = format!("{text} field '{}'", self.field);
        }
        let (aspect, Self { ours, theirs, .. }) = (self.aspect.name(), self);
        let text = format!("{text}: {aspect}: ours {ours}, theirs {theirs}");
        f.write_str(&printable(text.trim_start_matches([':', ' '])))
    }
}
