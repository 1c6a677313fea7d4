//! A protocol as an XML description has it, so that one of ours can be imported from it or compared
//! with it.
//!
//! Where: [`describe`] reads either form, [`import`](crate::import()) writes a schema, and
//! [`compare`](crate::compare()) lists differences. Offsets count from the first byte of a message,
//! as in our schemas: what precedes the fields in both forms is the head.

mod error;
mod omi;
mod sbe;
mod xml;

pub use error::{DescriptionError, Spot};
pub(crate) use omi::is_filler;

use crate::{Tag, TagKind};
use xml::Xml;

/// A protocol in the words of its description.
#[derive(Clone, Debug)]
pub struct Description {
    /// The path of the file, as the caller gave it.
    pub path: String,
    /// What the protocol is called there.
    pub name: String,
    /// The version there.
    pub version: String,
    /// The form, and what of the protocol is known from the form alone.
    pub form: &'static str,
    /// Whether numbers are little-endian.
    pub is_little_endian: bool,
    /// How the type of a message is written.
    pub tag_kind: TagKind,
    /// Offset of the type of a message.
    pub tag_offset: usize,
    /// Fields before those of each message, apart from the type.
    pub head: Vec<DescribedHead>,
    /// Where the fields of a message begin.
    pub begin: usize,
    /// Whether messages may be longer than described.
    pub grows: bool,
    /// Whether the form has values that mean absence.
    pub has_nulls: bool,
    /// The messages, in the order of the file.
    pub messages: Vec<DescribedLayout>,
    /// Headers of groups.
    pub group_headers: Vec<DescribedLayout>,
    /// Lists of codes.
    pub codes: Vec<DescribedCodes>,
    /// Sets of bits.
    pub bits: Vec<DescribedBits>,
    /// What the file has and this does not.
    pub notes: Vec<(Spot, String)>,
}

/// A field before those of each message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DescribedHead {
    /// Name: `length`.
    pub name: String,
    /// First byte.
    pub offset: usize,
    /// Type in a schema of ours: `MessageLength<u8>`.
    pub kind: String,
}

/// A message, an entry of a group, or the header of a group.
#[derive(Clone, Debug)]
pub struct DescribedLayout {
    /// Its position.
    pub spot: Spot,
    /// Its name.
    pub name: String,
    /// Its description, or nothing.
    pub doc: String,
    /// Its type, if it is a message.
    pub tag: Option<Tag>,
    /// Total bytes, those before the fields included.
    pub length: usize,
    /// Its fields, in the order of their offsets.
    pub fields: Vec<DescribedField>,
    /// Groups after the fields.
    pub groups: Vec<DescribedGroup>,
}

/// A group of entries.
#[derive(Clone, Debug)]
pub struct DescribedGroup {
    /// Which header precedes the entries.
    pub header: usize,
    /// An entry, which has the position and the name of the group.
    pub entry: DescribedLayout,
}

/// A field with bytes.
#[derive(Clone, Debug)]
pub struct DescribedField {
    /// Its position.
    pub spot: Spot,
    /// Its name.
    pub name: String,
    /// Its description, or nothing.
    pub doc: String,
    /// First byte, from the start of the layout.
    pub offset: usize,
    /// Bytes.
    pub width: usize,
    /// What the bytes are.
    pub meaning: Meaning,
    /// Which list of codes it has, if it has one.
    pub codes: Option<usize>,
    /// The bits of the value that means absence, if it has one.
    pub null: Option<u64>,
}

/// What the bytes of a field are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meaning {
    /// A whole number, with implied decimals or without.
    Number {
        /// Whether it is signed, if that is stated.
        is_signed: Option<bool>,
        /// Decimal places, if they are stated.
        places: Option<usize>,
    },
    /// Text.
    Text,
    /// Bits, and which set names them.
    Bits(Option<usize>),
    /// Bytes that a schema of ours has no type for.
    Opaque,
}

/// A list of codes.
#[derive(Clone, Debug)]
pub struct DescribedCodes {
    /// Its position.
    pub spot: Spot,
    /// Its name.
    pub name: String,
    /// Its description, or nothing.
    pub doc: String,
    /// Position, value as written, name and description of each code.
    pub codes: Vec<DescribedCode>,
}

/// One code of a list.
#[derive(Clone, Debug)]
pub struct DescribedCode {
    /// Its position.
    pub spot: Spot,
    /// Its value, as written: `A`, `12`.
    pub value: String,
    /// Its name.
    pub name: String,
    /// Its description, or nothing.
    pub doc: String,
}

/// A set of named bits.
#[derive(Clone, Debug)]
pub struct DescribedBits {
    /// Its position.
    pub spot: Spot,
    /// Its name.
    pub name: String,
    /// Its description, or nothing.
    pub doc: String,
    /// Bytes.
    pub width: usize,
    /// Number, from the lowest bit, with the name and the description of each named bit.
    pub bits: Vec<(usize, DescribedCode)>,
}

/// The most bytes of a description.
pub const MOST_BYTES: usize = 16 << 20;

/// The most fields of all messages of a description. The largest known one has some thousand.
const MOST_FIELDS: usize = 1 << 15;

/// Reads an XML description of either form; `path` is its name in errors.
pub fn describe(path: &str, text: &str) -> Result<Description, DescriptionError> {
    xml::with_root(path, text, |xml, root| match root.tag_name().name() {
        "messageSchema" => sbe::read(xml, root),
        _ => omi::read(xml, root),
    })
}

/// The number that a code is, or `None` if it is no number: `12`, `0x1f`.
pub(crate) fn number(text: &str) -> Option<i128> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) if !digits.starts_with(['+', '-']) => i128::from_str_radix(digits, 16).ok(),
        Some(_) => None,
        None => text.parse().ok(),
    }
}

/// A note without characters that end a line or control a terminal.
pub(crate) fn printed(note: &str) -> String {
    xml::one_line(note)
}
