//! The Markdown page of a protocol: every offset and every code.

use std::fmt::Write as _;

use super::{cell, origin};
use crate::{BitSet, Enumeration, Field, FieldType, Layout, Protocol, Role, Tag};

/// The page.
pub fn document(protocol: &Protocol) -> String {
    let mut out = format!("# {}\n\n", protocol.title);
    let version = &protocol.version;
    let _ = writeln!(out, "<!-- {} -->\n", origin(protocol));
    let _ = writeln!(out, "Version covered: {version}.  ");
    let specification = protocol.specification.trim_end_matches('.');
    let _ = writeln!(out, "Specification: {specification}.\n");
    out.push_str(&conventions(protocol));
    if !protocol.messages.is_empty() {
        out.push_str(
            "\n## All messages\n\n| type | name | length | meaning |\n|---|---|---|---|\n",
        );
        for message in &protocol.messages {
            let (tag, length) = (tag(message.tag), length(message));
            let name = match &message.origin {
                Some(origin) => format!("[{}]({origin}.md)", message.name),
                None => message.name.clone(),
            };
            let doc = cell(&message.doc);
            let _ = writeln!(out, "| {tag} | {name} | {length} | {doc} |");
        }
        included(&mut out, protocol);
    }
    for layout in protocol.own_layouts() {
        table(&mut out, protocol, layout);
    }
    let is_own = |name: &String| !protocol.includes.iter().any(|from| from.types.contains(name));
    let mut enumerations = protocol.enumerations.iter().filter(|e| is_own(&e.name)).peekable();
    if enumerations.peek().is_some() || !protocol.code_lists.is_empty() {
        out.push_str("\n## Codes\n");
    }
    for enumeration in enumerations {
        codes(&mut out, protocol, enumeration);
    }
    for list in &protocol.code_lists {
        let _ = writeln!(out, "\n### {}\n\n{}\n", list.name, list.doc);
        let codes: Vec<String> = list.codes.iter().map(|code| format!("`{code}`")).collect();
        let _ = writeln!(out, "{}", codes.join(" "));
    }
    let own_bits: Vec<_> = protocol.bits.iter().filter(|bits| is_own(&bits.name)).collect();
    if !own_bits.is_empty() {
        out.push_str("\n## Bits\n");
    }
    own_bits.into_iter().for_each(|set| bits(&mut out, protocol, set));
    out
}

/// How to read the tables.
fn conventions(protocol: &Protocol) -> String {
    let order = if protocol.is_little_endian { "little" } else { "big" };
    let offsets = "Offsets and lengths are in bytes, from the first byte of the message or \
                   structure. Types are those of `nanotape-types`; `Maybe<T>` is a `T` whose value \
                   0 means absent. An unlisted code is passed on and is never an error.";
    let is_new = |field: &Field| {
        field.null.is_some() || matches!(field.kind, FieldType::Signed(_) | FieldType::Decimal(..))
    };
    let has_new = protocol.layouts().flat_map(|layout| &layout.fields).any(is_new);
    if !protocol.is_extended() && !has_new {
        return format!("Numbers are unsigned and {order}-endian. {offsets}\n");
    }
    let mut out = format!(
        "Numbers are {order}-endian, and unsigned unless their type begins with `i`. {offsets} \
         `Decimal<T, N>` is an integer `T` with N implied decimals.\n"
    );
    if protocol.grows {
        out.push_str(
            "\nA message may be longer than its table, because later versions add fields at its \
             end. Bytes after the known ones are kept and not read.\n",
        );
    }
    out
}

/// Where the messages of other schemas are described.
fn included(out: &mut String, protocol: &Protocol) {
    for include in &protocol.includes {
        let name = &include.name;
        let _ = writeln!(
            out,
            "\nThe messages with a link are in [{name}.md]({name}.md), with their codes and bits."
        );
    }
}

fn table(out: &mut String, protocol: &Protocol, layout: &Layout) {
    let (name, title, doc) = (&layout.name, &layout.title, &layout.doc);
    let prefix = layout.tag.map_or(String::new(), |of| format!("{} ", tag(Some(of))));
    let size = match length(layout).split_once(" and groups") {
        Some((fields, _)) => format!("{fields} bytes and groups"),
        None => format!("{} bytes", length(layout)),
    };
    let _ = writeln!(out, "\n## {prefix}{title}\n\n`{name}`, {size}. {doc}\n");
    out.push_str("| offset | length | type | field | meaning |\n|---|---|---|---|---|\n");
    let mut rows: Vec<(usize, String)> = layout.fields.iter().map(row).collect();
    if let Some(of) = layout.tag {
        let offset = layout.tag_offset;
        let row = match of {
            Tag::Char(_) => format!("| {offset} | 1 | | | type byte, {} |", tag(Some(of))),
            Tag::U8(_) | Tag::U16(_) => {
                let width = protocol.tag_kind.width();
                format!("| {offset} | {width} | | | type, {} |", tag(Some(of)))
            }
        };
        rows.push((offset, row));
    }
    rows.sort_by_key(|&(offset, _)| offset);
    for (_, row) in rows {
        let _ = writeln!(out, "{row}");
    }
    if layout.groups.is_empty() {
        return;
    }
    out.push_str("\nGroups after the fields, in this order:\n\n");
    out.push_str("| group | header | entry | meaning |\n|---|---|---|---|\n");
    for group in &layout.groups {
        let (name, header, entry, doc) = (&group.name, &group.header, &group.entry, &group.doc);
        let _ = writeln!(out, "| {name} | `{header}` | `{entry}` | {} |", cell(doc));
    }
}

fn bits(out: &mut String, protocol: &Protocol, set: &BitSet) {
    let _ = writeln!(out, "\n### {}\n\n{}", set.name, set.doc);
    let kind = FieldType::Bits(set.name.clone(), set.width);
    let _ = writeln!(out, "Used by: {}.\n", users(protocol, &kind));
    out.push_str("| bit | value | name | meaning |\n|---|---|---|---|\n");
    for bit in &set.bits {
        let (number, name, doc) = (bit.number, &bit.name, cell(&bit.doc));
        let _ = writeln!(out, "| {number} | {:#04x} | {name} | {doc} |", 1u32 << number);
    }
}

/// The fields of a type.
fn users(protocol: &Protocol, kind: &FieldType) -> String {
    let mut users: Vec<String> = Vec::new();
    for layout in protocol.layouts() {
        for field in layout.fields.iter().filter(|field| field.kind == *kind) {
            users.push(format!("{} {}", layout.name, field.name));
        }
    }
    users.join(", ")
}

fn row(field: &Field) -> (usize, String) {
    let (name, kind) = (&field.name, field.kind.schema_name());
    let width = match (field.kind.width(), field.most) {
        (Some(width), _) => width.to_string(),
        (None, Some(most)) => format!("0 to {most}"),
        (None, None) => "the rest".into(),
    };
    let codes = field.codes.as_ref().map_or(String::new(), |codes| format!(" See {codes}."));
    let mut doc = cell(&field.doc);
    if let Some(null) = field.null {
        doc.push_str(&format!(" Absent: {null:#x}."));
    }
    if field.is_optional {
        doc.push_str(" Not in every message.");
    }
    (field.offset, format!("| {} | {width} | `{kind}` | {name} | {doc}{codes} |", field.offset))
}

fn codes(out: &mut String, protocol: &Protocol, enumeration: &Enumeration) {
    let _ = writeln!(out, "\n### {}\n\n{}", enumeration.name, enumeration.doc);
    let kind = FieldType::Enumeration(enumeration.name.clone());
    let _ = writeln!(out, "Used by: {}.\n", users(protocol, &kind));
    out.push_str("| code | name | meaning |\n|---|---|---|\n");
    for item in &enumeration.codes {
        let code = if enumeration.is_numeric { item.byte.to_string() } else { code(item.byte) };
        let _ = writeln!(out, "| {code} | {} | {} |", item.name, cell(&item.doc));
    }
}

fn length(layout: &Layout) -> String {
    if let Some(last) = layout.fields.last().filter(|last| last.is_optional) {
        return format!("{} or {}", layout.length, last.end().unwrap_or(layout.length));
    }
    if !layout.groups.is_empty() && layout.role == Role::Message {
        return format!("{} and groups", layout.length);
    }
    match layout.tail() {
        None => layout.length.to_string(),
        Some(tail) => match tail.most {
            Some(most) => format!("{} to {}", layout.length, layout.length + most),
            None => format!("{} or more", layout.length),
        },
    }
}

fn tag(tag: Option<Tag>) -> String {
    match tag {
        Some(Tag::Char(byte)) => code(byte),
        Some(tag) => format!("`{tag}`"),
        None => String::new(),
    }
}

fn code(byte: u8) -> String {
    match byte {
        b' ' => "blank".into(),
        b'|' => "`\\|`".into(),
        b'!'..=b'~' => format!("`{}`", char::from(byte)),
        _ => format!("0x{byte:02x}"),
    }
}
