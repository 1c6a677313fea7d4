//! Checks one message, structure or entry: its bytes, its fields and its groups.

use std::collections::BTreeSet;

use super::{own_name, whole};
use crate::{Field, FieldType, Layout, Protocol, Role, reader::Source};

/// Names of functions that generated code has already.
pub(crate) const TAKEN_BY_FUNCTIONS: [&str; 10] = [
    "wrap",
    "fields",
    "as_bytes",
    "decode",
    "encode",
    "tag",
    "name",
    "after_block",
    "block",
    "wrap_first",
];

pub(super) fn layout(source: &mut Source<'_>, protocol: &Protocol, layout: &Layout) {
    bytes(source, protocol, layout);
    counts(source, protocol, layout);
    for (index, field) in layout.fields.iter().enumerate() {
        let fields: Vec<&Field> = layout.fields[..index].iter().collect();
        own_name(source, &layout.subject(), &fields, field);
        let is_last = index + 1 == layout.fields.len();
        for text in mistakes(protocol, layout, field, is_last) {
            source.problem(field.line, text);
        }
    }
    groups(source, layout);
    if layout.role == Role::GroupHeader {
        header(source, layout);
    }
}

/// The fields that every message has; an optional one follows them.
fn bytes(source: &mut Source<'_>, protocol: &Protocol, layout: &Layout) {
    let subject = layout.subject();
    let width = if layout.role == Role::Message { protocol.tag_kind.width() } else { 1 };
    let tag = layout.tag.map(|_| (layout.tag_offset, layout.tag_offset + width));
    let fields: Vec<&Field> = layout.fields.iter().filter(|field| !field.is_optional).collect();
    whole(source, &subject, layout.line, tag, &fields, layout.length);
    if let Some(field) = layout.fields.iter().find(|field| field.is_optional)
        && field.offset != layout.length
    {
        let (name, offset, length) = (&field.name, field.offset, layout.length);
        let text = format!(
            "{subject} field '{name}': is optional, so it must begin at byte {length}, where the \
             other fields end, not at {offset}"
        );
        source.problem(field.line, text);
    }
}

/// Checks the fields that the encoder computes.
fn counts(source: &mut Source<'_>, protocol: &Protocol, layout: &Layout) {
    let subject = layout.subject();
    let mut refuse = |field: &Field, text: String| {
        source.problem(field.line, format!("{subject} field '{}': {text}", field.name));
    };
    let mut seen: Vec<&Field> = Vec::new();
    for field in layout.fields.iter().filter(|field| field.kind.is_computed()) {
        let kind = field.kind.schema_name();
        let same = core::mem::discriminant(&field.kind);
        let of_kind = |other: &&&Field| core::mem::discriminant(&other.kind) == same;
        if let Some(first) = seen.iter().find(of_kind) {
            refuse(field, format!("a second {kind}; the first is on line {}", first.line));
        }
        seen.push(field);
        match &field.kind {
            // The macros read and write this count in big-endian order only.
            FieldType::LengthAfter if protocol.is_little_endian => {
                refuse(field, format!("{kind} is for byte order 'big' only"));
            }
            FieldType::LengthAfter if protocol.is_extended() && layout.role == Role::Message => {
                refuse(field, format!("{kind} is not for messages that grow or have a length"));
            }
            FieldType::LengthAfter => {}
            _ if layout.role != Role::Message => {
                refuse(field, format!("{kind} is for messages only"));
            }
            FieldType::MessageLength(of) if layout.length >> (8 * of.width) != 0 => {
                let (bytes, length) = (of.width, layout.length);
                refuse(field, format!("{bytes} bytes cannot count the {length} of the message"));
            }
            FieldType::BlockLength(from) if *from <= field.offset => {
                refuse(field, format!("{kind} is for the head only"));
            }
            _ => {}
        }
    }
}

/// The mistakes of a field, apart from its bytes and its name.
fn mistakes(protocol: &Protocol, layout: &Layout, field: &Field, is_last: bool) -> Vec<String> {
    let (name, kind) = (&field.name, field.kind.schema_name());
    let (is_tail, is_message) = (field.kind.width().is_none(), layout.role == Role::Message);
    let is_extended = protocol.is_extended() && is_message;
    let is_entry = layout.role == Role::Entry;
    let mut found = Vec::new();
    let mut refuse = |is_mistake: bool, text: String| {
        if is_mistake {
            found.push(format!("{} field '{name}': {text}", layout.subject()));
        }
    };
    refuse(is_tail && !is_last, format!("only the last field may be {kind}"));
    refuse(is_tail && !is_message, "a structure has a fixed length".into());
    refuse(
        is_tail && is_extended,
        format!("{kind} is not for messages that grow or have a length"),
    );
    refuse(field.most.is_some() && !is_tail, "'most' is for Text and Bytes only".into());
    refuse(field.codes.is_some() && !field.kind.is_text(), "'codes' is for text only".into());
    if field.is_optional {
        refuse(!is_last, "only the last field may be optional".into());
        refuse(!is_message && !is_entry, "'optional' is for messages and entries only".into());
        let is_free = !is_tail && !field.kind.is_computed();
        refuse(!is_free, format!("'optional' is not for {kind}"));
    }
    let is_taken = TAKEN_BY_FUNCTIONS.contains(&name.as_str()) || name.starts_with("write_");
    refuse(is_taken, "generated code has a function of this name".into());
    found
}

fn groups(source: &mut Source<'_>, layout: &Layout) {
    for (index, group) in layout.groups.iter().enumerate() {
        let name = &group.name;
        let fields = layout.fields.iter().map(|field| (field.line, &field.name));
        let groups = layout.groups[..index].iter().map(|group| (group.line, &group.name));
        let mut before = fields.chain(groups);
        let subject = layout.subject();
        if let Some((first, _)) = before.find(|(_, other)| *other == name) {
            let text = format!("{subject} group '{name}': the name is on line {first} too");
            source.problem(group.line, text);
        }
        if TAKEN_BY_FUNCTIONS.contains(&name.as_str()) {
            let text =
                format!("{subject} group '{name}': generated code has a function of this name");
            source.problem(group.line, text);
        }
    }
}

/// The macro reads these two fields of the header of a group.
fn header(source: &mut Source<'_>, layout: &Layout) {
    for (name, widths) in [("block_length", &[2][..]), ("count", &[1, 2])] {
        let field = layout.fields.iter().find(|field| field.name == name);
        let is_right = field.is_some_and(|field| match &field.kind {
            FieldType::Integer(integer) => widths.contains(&integer.width),
            _ => false,
        });
        if !is_right {
            let types = if widths.len() == 1 { "u16" } else { "u8 or u16" };
            let text =
                format!("{}: it must have a field '{name}' of type {types}", layout.subject());
            source.problem(field.map_or(layout.line, |field| field.line), text);
        }
    }
}

/// Entries and headers of groups that nothing uses.
pub(super) fn unused(source: &mut Source<'_>, protocol: &Protocol, used: &BTreeSet<&str>) {
    let headers = protocol.structures.iter().filter(|layout| layout.role == Role::GroupHeader);
    for layout in headers.chain(&protocol.entries) {
        if !used.contains(layout.name.as_str()) && !source.has_problems() {
            source.problem(layout.line, format!("{}: no group uses it", layout.subject()));
        }
    }
}
