//! Checks the arithmetic of a schema: every byte belongs to one field, every name to one thing.

use std::collections::{BTreeMap, BTreeSet};

mod layouts;

pub(crate) use layouts::TAKEN_BY_FUNCTIONS;

use crate::{Bit, Code, Field, FieldType, Layout, Protocol, Role, Tag, reader::Source};

/// Names that have another meaning in the code of a protocol.
pub(crate) const TAKEN: [&str; 20] = [
    "Alpha",
    "Err",
    "DecodeError",
    "Describe",
    "Decimal",
    "EncodeError",
    "FieldVisitor",
    "Maybe",
    "Message",
    "None",
    "Nullable",
    "Ok",
    "Option",
    "Result",
    "Shape",
    "Some",
    "Unknown",
    "UnknownCode",
    "Value",
    "WireValue",
];

pub(crate) fn protocol(source: &mut Source<'_>, protocol: &Protocol) {
    names(source, protocol);
    tags(source, protocol);
    let mut used = BTreeSet::new();
    for layout in protocol.layouts() {
        used.extend(layout.fields.iter().filter_map(|field| match &field.kind {
            FieldType::Enumeration(name) | FieldType::Bits(name, _) => Some(name.as_str()),
            _ => None,
        }));
        used.extend(layout.groups.iter().flat_map(|group| [&*group.header, &*group.entry]));
    }
    for layout in protocol.own_layouts() {
        layouts::layout(source, protocol, layout);
        head(source, protocol, layout);
    }
    let enumerations = protocol.enumerations.iter().map(|e| (e.line, "enumeration", &e.name));
    let bits = protocol.bits.iter().map(|bits| (bits.line, "bits", &bits.name));
    for (line, kind, name) in enumerations.chain(bits) {
        if !used.contains(name.as_str()) && !source.has_problems() {
            source.problem(line, format!("{kind} '{name}': no field uses it"));
        }
    }
    layouts::unused(source, protocol, &used);
    shared(source, protocol);
}

/// Checks the names and numbers of the bits of a set.
pub(crate) fn bits(
    source: &mut Source<'_>,
    set: &str,
    width: Option<usize>,
    bits: &[(usize, Bit)],
) {
    for (index, (line, bit)) in bits.iter().enumerate() {
        let earlier = &bits[..index];
        let (number, name) = (bit.number, &bit.name);
        if let Some((first, _)) = earlier.iter().find(|(_, other)| other.number == number) {
            source.problem(*line, format!("bits '{set}': bit {number} is on line {first} too"));
        }
        if let Some((first, _)) = earlier.iter().find(|(_, other)| other.name == *name) {
            source.problem(*line, format!("bits '{set}': name '{name}' is on line {first} too"));
        }
        if let Some(width) = width.filter(|width| number >= 8 * width) {
            let last = 8 * width - 1;
            let text = format!("bits '{set}': bit {number} must be from 0 to {last}");
            source.problem(*line, text);
        }
        // Its constant would have the name of that of the list.
        if name == "names" {
            let text = format!("bits '{set}': generated code has a constant of the name '{name}'");
            source.problem(*line, text);
        }
    }
}

pub(crate) fn codes(
    source: &mut Source<'_>,
    enumeration: &str,
    is_numeric: bool,
    codes: &[(usize, Code)],
) {
    for (index, (line, code)) in codes.iter().enumerate() {
        let earlier = &codes[..index];
        if let Some((first, _)) = earlier.iter().find(|(_, other)| other.byte == code.byte) {
            let byte = match is_numeric {
                true => code.byte.to_string(),
                false => char::from(code.byte).to_string(),
            };
            let text = format!("enumeration '{enumeration}': code '{byte}' is on line {first} too");
            source.problem(*line, text);
        }
        if let Some((first, _)) = earlier.iter().find(|(_, other)| other.name == code.name) {
            let name = &code.name;
            let text = format!("enumeration '{enumeration}': name '{name}' is on line {first} too");
            source.problem(*line, text);
        }
        if code.name == "Unknown" {
            let text =
                format!("enumeration '{enumeration}': name 'Unknown' is for codes not listed");
            source.problem(*line, text);
        }
    }
}

fn names(source: &mut Source<'_>, protocol: &Protocol) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let enumerations = protocol.enumerations.iter().map(|e| (e.line, e.name.clone()));
    let bits = protocol.bits.iter().map(|bits| (bits.line, bits.name.clone()));
    let layouts = protocol.layouts().map(|layout| (layout.line, layout.name.clone()));
    let generated =
        protocol.layouts().map(|layout| (layout.line, format!("{}Fields", layout.name)));
    for (line, name) in enumerations.chain(bits).chain(layouts).chain(generated) {
        if TAKEN.contains(&name.as_str()) || FieldType::named_in_protocol(&name).is_some() {
            source.problem(line, format!("name '{name}' is reserved in generated code"));
        } else if let Some(first) = seen.get(&name) {
            // Two layouts of one name also have field structs of one name; one report is enough.
            let is_said =
                name.strip_suffix("Fields").is_some_and(|base| seen.get(base) == Some(first));
            if !is_said {
                source.problem(line, format!("name '{name}' is taken by line {first}"));
            }
        } else {
            seen.insert(name, line);
        }
    }
}

fn tags(source: &mut Source<'_>, protocol: &Protocol) {
    let mut seen: BTreeMap<Tag, &Layout> = BTreeMap::new();
    for message in &protocol.messages {
        let Some(tag) = message.tag else { continue };
        if let Some(first) = seen.get(&tag) {
            let text = format!(
                "{} ({}): the tag is taken by {} on line {}",
                message.subject(),
                message.name,
                first.name,
                first.line
            );
            source.problem(message.line, text);
        } else {
            seen.insert(tag, message);
        }
    }
}

/// Checks that each field, in the order of offsets, begins where the one before it ends.
pub(crate) fn whole<'s>(
    source: &mut Source<'_>,
    subject: &str,
    line: usize,
    tag: Option<(usize, usize)>,
    fields: &[&'s Field],
    length: usize,
) {
    let tag = tag.map(|(start, end)| Span { start, end, name: "tag", line });
    let of = |field: &&'s Field| Span {
        start: field.offset,
        end: field.end().unwrap_or(field.offset),
        name: &field.name,
        line: field.line,
    };
    let spans = tag.into_iter().chain(fields.iter().map(of)).collect();
    let end = one_after_the_other(source, subject, spans, Holes::Refused);
    if let Some(end) = end.filter(|end| *end != length) {
        let text = format!("{subject}: length is {length}, but its last field ends at byte {end}");
        source.problem(line, text);
    }
}

/// The bytes of a field, or of a tag.
pub(crate) struct Span<'s> {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) name: &'s str,
    pub(crate) line: usize,
}

/// Whether there may be bytes between two fields.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holes {
    Refused,
    Allowed,
}

/// Checks that no field begins before the one before it ends; returns where the last one ends, if
/// there is no mistake.
pub(crate) fn one_after_the_other(
    source: &mut Source<'_>,
    subject: &str,
    mut spans: Vec<Span<'_>>,
    holes: Holes,
) -> Option<usize> {
    spans.sort_by_key(|span| span.start);
    let (mut end, mut previous, mut sound) = (0, "", true);
    for &Span { start, end: stop, name, line } in &spans {
        if start < end {
            let from = spans.iter().find(|span| span.name == previous);
            let from = from.map_or(0, |span| span.start);
            let text =
                format!("{subject} field '{name}': overlaps '{previous}' (bytes {from}..{end})");
            source.problem(line, text);
            sound = false;
        } else if start > end && holes == Holes::Refused {
            let text = format!("{subject} field '{name}': leaves a hole at bytes {end}..{start}");
            source.problem(line, text);
            sound = false;
        }
        if stop >= end {
            (end, previous) = (stop, name);
        }
    }
    sound.then_some(end)
}

/// Refuses a name that a field before has.
pub(crate) fn own_name(source: &mut Source<'_>, subject: &str, before: &[&Field], field: &Field) {
    let Field { line, name, .. } = field;
    if let Some(first) = before.iter().find(|other| other.name == *name) {
        let text = format!("{subject} field '{name}': the name is on line {} too", first.line);
        source.problem(*line, text);
    }
}

/// The tables of messages begin with the head, so no other field may precede a field of it.
fn head(source: &mut Source<'_>, protocol: &Protocol, layout: &Layout) {
    let is_head = |field: &Field| protocol.head.iter().any(|head| head.name == field.name);
    let last = layout.fields.iter().rposition(is_head).filter(|_| layout.role == Role::Message);
    let before = last.and_then(|last| layout.fields[..last].iter().find(|field| !is_head(field)));
    if let Some(field) = before {
        let (subject, name) = (layout.subject(), &field.name);
        let text = format!("{subject} field '{name}': is before a field of the head");
        source.problem(field.line, text);
    }
}

fn shared(source: &mut Source<'_>, protocol: &Protocol) {
    for name in &protocol.shared {
        let mut first: Option<&Field> = None;
        for message in &protocol.messages {
            let Some(field) = message.fields.iter().find(|field| field.name == *name) else {
                continue;
            };
            match first {
                Some(first) if first.kind != field.kind || first.null != field.null => {
                    let text = format!(
                        "{} field '{name}': is shared, so it must be {} as on line {}",
                        message.subject(),
                        first.kind.schema_name(),
                        first.line
                    );
                    source.problem(field.line, text);
                }
                _ => first = first.or(Some(field)),
            }
        }
        if first.is_none() && !source.has_problems() {
            source.problem(1, format!("protocol: shared field '{name}' is in no message"));
        }
    }
}
