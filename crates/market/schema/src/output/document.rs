//! The Markdown page of a protocol: every offset and every code.

use std::fmt::Write as _;

use super::{cell, origin};
use crate::{Enumeration, Field, Layout, Protocol};

/// The page.
pub fn document(protocol: &Protocol) -> String {
    let mut out = format!("# {}\n\n", protocol.title);
    let version = &protocol.version;
    let _ = writeln!(out, "<!-- {} -->\n", origin(protocol));
    let _ = writeln!(out, "Version covered: {version}.  ");
    let specification = protocol.specification.trim_end_matches('.');
    let _ = writeln!(out, "Specification: {specification}.\n");
    let order = if protocol.is_little_endian { "little" } else { "big" };
    let _ = writeln!(
        out,
        "Numbers are unsigned and {order}-endian. Offsets and lengths are in bytes, from the first \
         byte of the message or structure. Types are those of `nanotape-types`; `Maybe<T>` is a \
         `T` whose value 0 means absent. An unlisted code is passed on and is never an error."
    );
    if !protocol.messages.is_empty() {
        out.push_str(
            "\n## All messages\n\n| type | name | length | meaning |\n|---|---|---|---|\n",
        );
        for message in &protocol.messages {
            let (tag, length) = (code(message.tag.unwrap_or(b' ')), length(message));
            let (name, doc) = (&message.name, cell(&message.doc));
            let _ = writeln!(out, "| {tag} | {name} | {length} | {doc} |");
        }
    }
    for layout in protocol.layouts() {
        table(&mut out, layout);
    }
    if !protocol.enumerations.is_empty() || !protocol.code_lists.is_empty() {
        out.push_str("\n## Codes\n");
    }
    for enumeration in &protocol.enumerations {
        codes(&mut out, protocol, enumeration);
    }
    for list in &protocol.code_lists {
        let _ = writeln!(out, "\n### {}\n\n{}\n", list.name, list.doc);
        let codes: Vec<String> = list.codes.iter().map(|code| format!("`{code}`")).collect();
        let _ = writeln!(out, "{}", codes.join(" "));
    }
    out
}

fn table(out: &mut String, layout: &Layout) {
    let (name, title, doc) = (&layout.name, &layout.title, &layout.doc);
    let tag = layout.tag.map_or(String::new(), |tag| format!("{} ", code(tag)));
    let _ = writeln!(out, "\n## {tag}{title}\n\n`{name}`, {} bytes. {doc}\n", length(layout));
    out.push_str("| offset | length | type | field | meaning |\n|---|---|---|---|---|\n");
    let mut rows: Vec<(usize, String)> = layout.fields.iter().map(row).collect();
    if let Some(tag) = layout.tag {
        let offset = layout.tag_offset;
        let row = format!("| {offset} | 1 | | | type byte, {} |", code(tag));
        rows.push((offset, row));
    }
    rows.sort_by_key(|&(offset, _)| offset);
    for (_, row) in rows {
        let _ = writeln!(out, "{row}");
    }
}

fn row(field: &Field) -> (usize, String) {
    let (name, kind) = (&field.name, field.kind.schema_name());
    let width = match (field.kind.width(), field.most) {
        (Some(width), _) => width.to_string(),
        (None, Some(most)) => format!("0 to {most}"),
        (None, None) => "the rest".into(),
    };
    let codes = field.codes.as_ref().map_or(String::new(), |codes| format!(" See {codes}."));
    let doc = cell(&field.doc);
    (field.offset, format!("| {} | {width} | `{kind}` | {name} | {doc}{codes} |", field.offset))
}

fn codes(out: &mut String, protocol: &Protocol, enumeration: &Enumeration) {
    let _ = writeln!(out, "\n### {}\n\n{}", enumeration.name, enumeration.doc);
    let kind = crate::FieldType::Enumeration(enumeration.name.clone());
    let mut users: Vec<String> = Vec::new();
    for layout in protocol.layouts() {
        for field in layout.fields.iter().filter(|field| field.kind == kind) {
            users.push(format!("{} {}", layout.name, field.name));
        }
    }
    let _ = writeln!(out, "Used by: {}.\n", users.join(", "));
    out.push_str("| code | name | meaning |\n|---|---|---|\n");
    for item in &enumeration.codes {
        let _ = writeln!(out, "| {} | {} | {} |", code(item.byte), item.name, cell(&item.doc));
    }
}

fn length(layout: &Layout) -> String {
    match layout.tail() {
        None => layout.length.to_string(),
        Some(tail) => match tail.most {
            Some(most) => format!("{} to {}", layout.length, layout.length + most),
            None => format!("{} or more", layout.length),
        },
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
