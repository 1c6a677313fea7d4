//! A protocol as the schema states it, after reading. Lines are those of the schema file.

use crate::FieldType;

/// One schema file.
#[derive(Clone, Debug)]
pub struct Protocol {
    /// The file it came from, as the caller named it.
    pub path: String,
    /// Name of the protocol, also of its document: `nasdaq-itch-5.0`.
    pub name: String,
    /// Name of the generated module: `itch50`.
    pub module: String,
    /// Title for people.
    pub title: String,
    /// Which version of the specification is covered.
    pub version: String,
    /// The specification itself, by title.
    pub specification: String,
    /// Where the type byte of a message stands.
    pub tag_offset: usize,
    /// Fields that every message begins with, apart from the type byte.
    pub head: Vec<Field>,
    /// Names of fields that the enum of all messages answers for, where a message has them.
    pub shared: Vec<String>,
    /// Lists of one-byte codes.
    pub enumerations: Vec<Enumeration>,
    /// Lists of longer codes, for the documents only.
    pub code_lists: Vec<CodeList>,
    /// Layouts told apart by a type byte.
    pub messages: Vec<Layout>,
    /// Layouts known from their place, not from a type byte.
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
    /// Where the type byte stands.
    pub tag_offset: usize,
    /// Type name: `AddOrder`.
    pub name: String,
    /// Name in the specification: `Add Order`.
    pub title: String,
    /// What it says.
    pub doc: String,
    /// Bytes in all, or before the tail if the last field is one.
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
    /// What it says.
    pub doc: String,
    /// Name of the list of its known codes, if it is text with such a list.
    pub codes: Option<String>,
    /// Most bytes, if it is a tail with a limit.
    pub most: Option<usize>,
}

/// A list of one-byte codes.
#[derive(Clone, Debug)]
pub struct Enumeration {
    /// Line of its table.
    pub line: usize,
    /// Type name.
    pub name: String,
    /// What it tells apart.
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
    /// What it means.
    pub doc: String,
}

/// A list of codes of more than one character.
#[derive(Clone, Debug)]
pub struct CodeList {
    /// Name by which fields refer to it.
    pub name: String,
    /// What the codes tell apart.
    pub doc: String,
    /// Longest code, in characters.
    pub width: usize,
    /// The known codes.
    pub codes: Vec<String>,
}

impl Field {
    /// The byte after the field, or `None` for a tail.
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

    /// Where the count of the bytes that follow it stands, if there is one.
    pub fn length_field(&self) -> Option<&Field> {
        self.fields.iter().find(|field| field.kind == FieldType::LengthAfter)
    }

    /// The fields a caller chooses: all but the length, which the encoder knows.
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
