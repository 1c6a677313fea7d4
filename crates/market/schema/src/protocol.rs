//! A protocol after reading. Line numbers are those of the schema file.

use std::fmt;

use crate::FieldType;

/// One schema file of the kind protocol.
#[derive(Clone, Debug)]
pub struct Protocol {
    /// The path of the file, as the caller gave it.
    pub path: String,
    /// Name of the protocol, also of its document: `nasdaq-itch-5.0`.
    pub name: String,
    /// Name of the generated module: `itch50`.
    pub module: String,
    /// Human-readable title.
    pub title: String,
    /// The version of the specification.
    pub version: String,
    /// The title of the specification.
    pub specification: String,
    /// Whether numbers are little-endian.
    pub is_little_endian: bool,
    /// Offset of the type of a message.
    pub tag_offset: usize,
    /// How the type of a message is written.
    pub tag_kind: TagKind,
    /// Whether messages may be longer than their tables.
    pub grows: bool,
    /// Fields that every message begins with, apart from the type.
    pub head: Vec<Field>,
    /// Names of fields with a getter in the enum of all messages, for the messages that have them.
    pub shared: Vec<String>,
    /// Lists of one-byte codes.
    pub enumerations: Vec<Enumeration>,
    /// Lists of longer codes, for the documents only.
    pub code_lists: Vec<CodeList>,
    /// Sets of named bits.
    pub bits: Vec<BitSet>,
    /// Layouts that a type identifies.
    pub messages: Vec<Layout>,
    /// Layouts without a type, which their position identifies.
    pub structures: Vec<Layout>,
    /// Entries of groups.
    pub entries: Vec<Layout>,
    /// Protocols whose messages this one has too.
    pub includes: Vec<Include>,
}

/// How the type of a message is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TagKind {
    /// One character: `A`.
    Char,
    /// A number of one byte: `0x21`.
    U8,
    /// A number of two bytes: `46`.
    U16,
}

impl TagKind {
    /// All kinds, in the order of their names in [`Self::NAMES`].
    pub const ALL: [Self; 3] = [Self::Char, Self::U8, Self::U16];

    /// The names in a schema and in a table.
    pub const NAMES: [&'static str; 3] = ["char", "u8", "u16"];

    /// The name in a schema and in a table.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Bytes of a type.
    pub fn width(self) -> usize {
        match self {
            Self::Char | Self::U8 => 1,
            Self::U16 => 2,
        }
    }
}

/// The type of a message, as the specification writes it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Tag {
    /// One character.
    Char(u8),
    /// A number of one byte.
    U8(u8),
    /// A number of two bytes.
    U16(u16),
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Char(byte) => write!(f, "{}", char::from(*byte)),
            Self::U8(number) => write!(f, "{number:#04x}"),
            Self::U16(number) => write!(f, "{number}"),
        }
    }
}

/// Messages of another schema that a protocol has too.
#[derive(Clone, Debug)]
pub struct Include {
    /// The module of their protocol.
    pub module: String,
    /// The name of their protocol, also of its page.
    pub name: String,
    /// Types of that module that this one has too.
    pub types: Vec<String>,
}

/// A message or a structure.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Line of its table.
    pub line: usize,
    /// What it is.
    pub role: Role,
    /// Its type, if it has one.
    pub tag: Option<Tag>,
    /// Offset of the type.
    pub tag_offset: usize,
    /// Type name: `AddOrder`.
    pub name: String,
    /// Name in the specification: `Add Order`.
    pub title: String,
    /// Description.
    pub doc: String,
    /// Total bytes, or bytes before the tail or the optional field if the last field is one.
    pub length: usize,
    /// All fields, the head's included, in the order of their offsets.
    pub fields: Vec<Field>,
    /// The groups after the fields.
    pub groups: Vec<Group>,
    /// The name of the protocol that it was included from.
    pub origin: Option<String>,
}

/// What a layout is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// A message, which its type identifies.
    Message,
    /// A structure, which its position identifies.
    Structure,
    /// The header of a group.
    GroupHeader,
    /// An entry of a group.
    Entry,
}

/// A group of entries in a message or an entry.
#[derive(Clone, Debug)]
pub struct Group {
    /// Line of the group.
    pub line: usize,
    /// Name: `entries`.
    pub name: String,
    /// The structure before the entries.
    pub header: String,
    /// The layout of each entry.
    pub entry: String,
    /// Description.
    pub doc: String,
}

/// A field of a layout.
#[derive(Clone, Debug)]
pub struct Field {
    /// Line of the field.
    pub line: usize,
    /// Name: `order_reference_number`.
    pub name: String,
    /// First byte, from the start of the layout.
    pub offset: usize,
    /// Type.
    pub kind: FieldType,
    /// Description.
    pub doc: String,
    /// Name of the list of its known codes, if it is text with such a list.
    pub codes: Option<String>,
    /// Maximum bytes, if it is a tail with a limit.
    pub most: Option<usize>,
    /// The bits of the value that means absence, if the field has one.
    pub null: Option<u64>,
    /// Whether some messages end before it.
    pub is_optional: bool,
}

/// A set of named bits.
#[derive(Clone, Debug)]
pub struct BitSet {
    /// Line of its table.
    pub line: usize,
    /// Type name.
    pub name: String,
    /// Description.
    pub doc: String,
    /// Bytes: one or two.
    pub width: usize,
    /// The named bits.
    pub bits: Vec<Bit>,
}

/// One bit of a [`BitSet`].
#[derive(Clone, Debug)]
pub struct Bit {
    /// Its number, from the lowest one.
    pub number: usize,
    /// Name: `event_complete`.
    pub name: String,
    /// Meaning.
    pub doc: String,
}

/// A list of one-byte codes.
#[derive(Clone, Debug)]
pub struct Enumeration {
    /// Line of its table.
    pub line: usize,
    /// Type name.
    pub name: String,
    /// Description.
    pub doc: String,
    /// Whether its codes are numbers and not characters.
    pub is_numeric: bool,
    /// The known codes.
    pub codes: Vec<Code>,
}

/// One code of an [`Enumeration`].
#[derive(Clone, Debug)]
pub struct Code {
    /// The byte.
    pub byte: u8,
    /// Name of the variant.
    pub name: String,
    /// Meaning.
    pub doc: String,
}

/// A list of codes of more than one character.
#[derive(Clone, Debug)]
pub struct CodeList {
    /// Name by which fields refer to it.
    pub name: String,
    /// Description.
    pub doc: String,
    /// Length of the longest code, in characters.
    pub width: usize,
    /// The known codes.
    pub codes: Vec<String>,
}

impl Field {
    /// The offset after the field, or `None` for a tail.
    pub fn end(&self) -> Option<usize> {
        self.kind.width().map(|width| self.offset + width)
    }

    /// The type that a getter returns.
    pub fn rust(&self) -> String {
        let kind = match self.null {
            Some(null) => format!("Nullable<{}, {}>", self.kind.rust(), hexadecimal(null)),
            None => self.kind.rust(),
        };
        if self.is_optional { format!("Option<{kind}>") } else { kind }
    }

    /// The names to import from `nanotape_types`.
    pub fn imports(&self) -> Vec<&'static str> {
        let nullable = self.null.map(|_| "Nullable");
        self.kind.imports().into_iter().chain(nullable).collect()
    }
}

/// A number in groups of four digits: `0x7fff_ffff`.
pub(crate) fn hexadecimal(number: u64) -> String {
    let digits = format!("{number:x}");
    let groups: Vec<&[u8]> = digits.as_bytes().rchunks(4).rev().collect();
    let groups = groups.into_iter().map(|group| String::from_utf8_lossy(group).into_owned());
    format!("0x{}", groups.collect::<Vec<_>>().join("_"))
}

impl Layout {
    /// The variable-length last field, if there is one.
    pub fn tail(&self) -> Option<&Field> {
        self.fields.last().filter(|field| field.kind.width().is_none())
    }

    /// The field that counts the bytes after it, if there is one.
    pub fn length_field(&self) -> Option<&Field> {
        self.fields.iter().find(|field| field.kind == FieldType::LengthAfter)
    }

    /// The name in problems: `message 'A'`.
    pub fn subject(&self) -> String {
        match (self.role, self.tag) {
            (Role::Message, Some(tag)) => format!("message '{tag}'"),
            (Role::Message | Role::Structure, _) => format!("structure '{}'", self.name),
            (Role::GroupHeader, _) => format!("group header '{}'", self.name),
            (Role::Entry, _) => format!("entry '{}'", self.name),
        }
    }
}

impl Protocol {
    /// Messages, then structures, then entries.
    pub fn layouts(&self) -> impl Iterator<Item = &Layout> {
        self.messages.iter().chain(&self.structures).chain(&self.entries)
    }

    /// The layouts that are defined here, and not in another schema.
    pub fn own_layouts(&self) -> impl Iterator<Item = &Layout> {
        self.layouts().filter(|layout| layout.origin.is_none())
    }

    /// Whether the tables of its messages are those of the macro `extended!`.
    pub fn is_extended(&self) -> bool {
        let is_new = |field: &Field| {
            field.is_optional
                || matches!(field.kind, FieldType::MessageLength(_) | FieldType::BlockLength(_))
        };
        let has_new =
            |layout: &Layout| !layout.groups.is_empty() || layout.fields.iter().any(is_new);
        self.grows || self.tag_kind != TagKind::Char || self.messages.iter().any(has_new)
    }

    /// The set of bits of that name.
    pub fn bit_set(&self, name: &str) -> Option<&BitSet> {
        self.bits.iter().find(|bits| bits.name == name)
    }

    /// The enumeration of that name.
    pub fn enumeration(&self, name: &str) -> Option<&Enumeration> {
        self.enumerations.iter().find(|enumeration| enumeration.name == name)
    }
}
