//! An interface after reading: calls that are messages. Line numbers are those of the schema file.

mod check;
mod read;

pub(crate) use read::read;

use crate::{Field, FieldType, Literal, MethodField, Target};

/// The first number that only nanotape's own formats use: logs from 0xff00, spans from 0xff10,
/// notices from 0xfff0. They can be in one stream with the messages of any interface.
pub const FIRST_RESERVED_NUMBER: usize = 0xff00;

/// One schema file of the kind interface.
#[derive(Clone, Debug)]
pub struct Interface {
    /// The path of the file, as the caller gave it.
    pub path: String,
    /// Line of its table.
    pub line: usize,
    /// Name of the trait: `Orders`.
    pub name: String,
    /// Human-readable title.
    pub title: String,
    /// Description.
    pub doc: String,
    /// The version of the interface, from 1.
    pub version: usize,
    /// The Rust path to `nanotape_interface` in the generated module.
    pub runtime: String,
    /// The generated module.
    pub output: Target,
    /// The generated page, if there is one.
    pub document: Option<Target>,
    /// Whether it is a format of nanotape, whose numbers are reserved.
    pub has_reserved_numbers: bool,
    /// Its methods, in the order of the file.
    pub methods: Vec<Method>,
}

/// A method: a message with a number.
#[derive(Clone, Debug)]
pub struct Method {
    /// Line of its table.
    pub line: usize,
    /// The type of the message.
    pub number: usize,
    /// Name: `order_accepted`.
    pub name: String,
    /// Description.
    pub doc: String,
    /// The first version of the interface with this method.
    pub since: usize,
    /// Bytes of all fields, without the tail.
    pub length: usize,
    /// All fields, in the order of their offsets.
    pub fields: Vec<MethodField>,
}

impl Interface {
    /// The name of the writer.
    pub fn writer(&self) -> String {
        format!("{}Writer", self.name)
    }
}

impl Method {
    /// The variable-length last field, if there is one.
    pub fn tail(&self) -> Option<&Field> {
        self.fields.last().map(|last| &last.field).filter(|field| field.kind.width().is_none())
    }

    /// The field with the offset of the tail, if there is one.
    pub fn tail_offset(&self) -> Option<&Field> {
        let fields = self.fields.iter().map(|field| &field.field);
        fields.into_iter().find(|field| field.kind == FieldType::TailOffset)
    }

    /// The fields with a constant value.
    pub fn constants(&self) -> impl Iterator<Item = (&MethodField, &Literal)> {
        self.fields.iter().filter_map(|field| Some((field, field.constant.as_ref()?)))
    }

    /// The fields that are arguments, without the tail.
    pub fn arguments(&self) -> impl Iterator<Item = &MethodField> {
        self.fields.iter().filter(|field| {
            let kind = &field.field.kind;
            field.constant.is_none() && kind.width().is_some() && *kind != FieldType::TailOffset
        })
    }

    /// Bytes of all fields in each earlier version in which they differ, the shortest first.
    pub fn earlier(&self) -> Vec<usize> {
        let mut lengths = Vec::new();
        for pair in self.fields.windows(2) {
            if pair[1].since > pair[0].since {
                lengths.push(pair[1].field.offset);
            }
        }
        lengths
    }
}
