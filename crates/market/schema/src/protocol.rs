//! A protocol after reading. Line numbers are those of the schema file.

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
    /// Offset of the type byte of a message.
    pub tag_offset: usize,
    /// Fields that every message begins with, apart from the type byte.
    pub head: Vec<Field>,
    /// Names of fields with a getter in the enum of all messages, for the messages that have them.
    pub shared: Vec<String>,
    /// Lists of one-byte codes.
    pub enumerations: Vec<Enumeration>,
    /// Lists of longer codes, for the documents only.
    pub code_lists: Vec<CodeList>,
    /// Layouts that a type byte identifies.
    pub messages: Vec<Layout>,
    /// Layouts without a type byte, which their position identifies.
    pub structures: Vec<Layout>,
}

/// A message or a structure.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Line of its table.
    pub line: usize,
    /// Whether it is one of [`Protocol::messages`].
    pub is_message: bool,
    /// Its type byte, if it has one.
    pub tag: Option<u8>,
    /// Offset of the type byte.
    pub tag_offset: usize,
    /// Type name: `AddOrder`.
    pub name: String,
    /// Name in the specification: `Add Order`.
    pub title: String,
    /// Description.
    pub doc: String,
    /// Total bytes, or bytes before the tail if the last field is one.
    pub length: usize,
    /// All fields, the head's included, in the order of their offsets.
    pub fields: Vec<Field>,
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
}

impl Layout {
    /// The variable-length last field, if there is one.
    pub fn tail(&self) -> Option<&Field> {
        self.fields.last().filter(|field| field.kind.width().is_none())
    }

    /// The fields before the tail.
    pub fn fixed_fields(&self) -> &[Field] {
        &self.fields[..self.fields.len() - usize::from(self.tail().is_some())]
    }

    /// The field that counts the bytes after it, if there is one.
    pub fn length_field(&self) -> Option<&Field> {
        self.fields.iter().find(|field| field.kind == FieldType::LengthAfter)
    }

    /// The fields that a caller sets: all but the length, which the encoder computes.
    pub fn chosen_fields(&self) -> impl Iterator<Item = &Field> {
        self.fields.iter().filter(|field| field.kind != FieldType::LengthAfter)
    }
}

impl Protocol {
    /// Messages, then structures.
    pub fn layouts(&self) -> impl Iterator<Item = &Layout> {
        self.messages.iter().chain(&self.structures)
    }

    /// The enumeration of that name.
    pub fn enumeration(&self, name: &str) -> Option<&Enumeration> {
        self.enumerations.iter().find(|enumeration| enumeration.name == name)
    }
}
