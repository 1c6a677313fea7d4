//! The Rust module of a protocol: one table for each enumeration, message and structure.
//!
//! The tables have the syntax of the macros `enumeration!`, `bits!`, `message!`, `structure!`,
//! `entry!` and `messages!` of `nanotape-wire`, whose modules describe it.

use std::collections::BTreeSet;

use super::origin;
use crate::{
    BitSet, Enumeration, Field, FieldType, Include, Layout, Protocol, Role, Tag,
    text::{byte_literal, comment, fill, filled, row},
};

const MESSAGES: &str = "
/// Writes a table of this protocol, after the fields that every message begins with.
macro_rules! with_head {
    ($table:ident: $($rows:tt)*) => {
        @wire@::$table! {
            head {
@head@            }
            $($rows)*
        }
    };
}

with_head! { messages:
    type @kind@at @tag_offset@;
    messages {
@messages@    }
    shared {@shared@}
}
";

/// The Rust module. `wire` is the path to the wire crate in that module: `crate` inside the crate,
/// `nanotape_wire` elsewhere.
pub fn code(protocol: &Protocol, wire: &str) -> String {
    let title = format!("{}: views, encoders and codes.", protocol.title);
    let mut out = comment("//!", &title);
    out.push_str("//!\n");
    out.push_str(&comment("//!", &origin(protocol)));
    out.push_str(&comment("//!", &format!("Covers version {}.", protocol.version)));
    out.push_str(&imports(protocol));
    for include in &protocol.includes {
        out.push_str(&included(include));
    }
    if !protocol.messages.is_empty() {
        out.push_str(&messages(protocol, wire));
    }
    for message in protocol.messages.iter().filter(|message| message.origin.is_none()) {
        let is_own = |field: &&Field| !protocol.head.iter().any(|head| head.name == field.name);
        let rows = message.fields.iter().filter(is_own);
        out.push_str(&table("with_head! { message:", &layout(protocol, message, rows)));
    }
    for structure in &protocol.structures {
        let rows = layout(protocol, structure, structure.fields.iter());
        out.push_str(&table(&format!("{wire}::structure! {{"), &rows));
        if structure.role == Role::GroupHeader {
            out.push_str(&format!("\n{wire}::group_header! {{ {} }}\n", structure.name));
        }
    }
    for entry in &protocol.entries {
        let rows = layout(protocol, entry, entry.fields.iter());
        out.push_str(&table(&format!("{wire}::entry! {{"), &rows));
    }
    let is_own = |name: &String| !protocol.includes.iter().any(|from| from.types.contains(name));
    for item in protocol.enumerations.iter().filter(|item| is_own(&item.name)) {
        out.push_str(&table(&format!("{wire}::enumeration! {{"), &enumeration(item)));
    }
    for item in protocol.bits.iter().filter(|item| is_own(&item.name)) {
        out.push_str(&table(&format!("{wire}::bits! {{"), &bits(item)));
    }
    out
}

/// The types of another generated module, which is beside this one.
fn included(include: &Include) -> String {
    let open = format!("pub use super::{}::{{", include.module);
    format!("\n{}", filled(0, &open, &include.types, "};"))
}

fn table(open: &str, rows: &str) -> String {
    format!("\n{open}\n{rows}}}\n")
}

fn imports(protocol: &Protocol) -> String {
    let own = protocol.own_layouts().flat_map(|layout| &layout.fields);
    let fields = own.chain(&protocol.head);
    let types: BTreeSet<&str> = fields.flat_map(Field::imports).collect();
    let types: Vec<String> = types.into_iter().map(str::to_owned).collect();
    match types.as_slice() {
        [] => String::new(),
        [only] => format!("\nuse nanotape_types::{only};\n"),
        _ => format!("\n{}", filled(0, "use nanotape_types::{", &types, "};")),
    }
}

/// The fields that all messages begin with, and the enum of all messages.
fn messages(protocol: &Protocol, wire: &str) -> String {
    let head: String = protocol.head.iter().map(|field| field_row(16, field)).collect();
    let mut messages = String::new();
    for message in &protocol.messages {
        let tag = message.tag.map_or(String::new(), |tag| tag.to_string());
        messages.push_str(&row(8, &message.name, &format!("`{tag}` {}.", message.title)));
    }
    let shared: String = protocol.shared.iter().map(|name| shared(protocol, name)).collect();
    let shared = if shared.is_empty() { shared } else { format!("\n{shared}    ") };
    let order = if protocol.is_little_endian { "little" } else { "big" };
    let kind = match protocol.is_extended() {
        true => format!("as {} {order}-endian ", protocol.tag_kind.name()),
        false => String::new(),
    };
    fill(
        MESSAGES,
        &[
            ("wire", wire),
            ("head", &head),
            ("kind", &kind),
            ("tag_offset", &protocol.tag_offset.to_string()),
            ("messages", &messages),
            ("shared", &shared),
        ],
    )
}

/// The row of a field that several messages have.
fn shared(protocol: &Protocol, name: &str) -> String {
    let find = |message: &Layout| {
        let field = message.fields.iter().find(|field| field.name == name)?;
        Some((message.name.clone(), field.rust()))
    };
    let (names, kinds): (Vec<_>, Vec<_>) = protocol.messages.iter().filter_map(find).unzip();
    let kind = kinds.first().map_or("", String::as_str);
    filled(8, &format!("{name}: {kind} {{ "), &names, " }")
}

fn layout<'p>(
    protocol: &Protocol,
    layout: &Layout,
    fields: impl Iterator<Item = &'p Field>,
) -> String {
    let order = if protocol.is_little_endian { " little-endian" } else { "" };
    let Layout { tag, tag_offset, name, title, doc, length, .. } = layout;
    let (growth, kind) = match protocol.is_extended() && layout.role == Role::Message {
        true if protocol.grows => (", growing", Some(protocol.tag_kind)),
        true => (", exact", Some(protocol.tag_kind)),
        false => ("", None),
    };
    let (about, tag) = match tag {
        Some(tag) => {
            let kind = kind.map_or(String::new(), |kind| format!(" as {}", kind.name()));
            let text = format!("{growth}, type {}{kind} at {tag_offset}", tag_literal(*tag));
            (format!("`{tag}` {title}. {doc}"), text)
        }
        None => (format!("{title}. {doc}"), String::new()),
    };
    let rows: String = fields.map(|field| field_row(4, field)).collect();
    let start = format!("{name} / {name}Fields: {length} bytes{order}");
    let header = match start.len() + tag.len() < 95 {
        true => row(4, &format!("{start}{tag}"), title),
        false => format!("    {start},\n{}", row(8, tag.trim_start_matches(", "), title)),
    };
    comment("    ///", &about) + &header + &rows + &groups(layout)
}

fn tag_literal(tag: Tag) -> String {
    match tag {
        Tag::Char(byte) => byte_literal(byte),
        Tag::U8(_) | Tag::U16(_) => tag.to_string(),
    }
}

fn groups(layout: &Layout) -> String {
    if layout.groups.is_empty() {
        return String::new();
    }
    let row = |group: &crate::Group| {
        let start = format!("{}: {} of {}", group.name, group.header, group.entry);
        row(8, &start, &group.doc)
    };
    let rows: String = layout.groups.iter().map(row).collect();
    format!("    groups {{\n{rows}    }}\n")
}

fn field_row(indent: usize, field: &Field) -> String {
    let Field { name, offset, kind, doc, codes, most, .. } = field;
    let bytes = match (field.end(), most) {
        (Some(end), _) if end == offset + 1 => offset.to_string(),
        (Some(end), _) => format!("{offset}..{end}"),
        (None, Some(most)) => format!("{offset}.. max {most}"),
        (None, None) => format!("{offset}.."),
    };
    let kind = match kind {
        FieldType::LengthAfter | FieldType::Text | FieldType::Bytes => kind.schema_name(),
        // The row of its bytes has the width.
        FieldType::MessageLength(_) => "MessageLength".into(),
        FieldType::BlockLength(from) => format!("BlockLength<{from}>"),
        _ => field.rust(),
    };
    let codes = codes.as_ref().map(|codes| format!(" Codes: {codes} in the document."));
    row(indent, &format!("[{bytes}] {name}: {kind}"), &(doc.clone() + &codes.unwrap_or_default()))
}

fn enumeration(enumeration: &Enumeration) -> String {
    let mut out = comment("    ///", &enumeration.doc);
    let kind = if enumeration.is_numeric { " as u8" } else { "" };
    out.push_str(&format!("    {}{kind} {{\n", enumeration.name));
    for code in &enumeration.codes {
        let start = match enumeration.is_numeric {
            true => format!("{} => {}", code.byte, code.name),
            false => format!("{:?} => {}", char::from(code.byte), code.name),
        };
        out.push_str(&row(8, &start, &code.doc));
    }
    out + "    }\n"
}

fn bits(set: &BitSet) -> String {
    let mut out = comment("    ///", &set.doc);
    out.push_str(&format!("    {}: u{} {{\n", set.name, 8 * set.width));
    for bit in &set.bits {
        let (name, constant) = (&bit.name, bit.name.to_uppercase());
        let start = format!("{} => {constant}, is_{name}, {name:?}", bit.number);
        out.push_str(&row(8, &start, &bit.doc));
    }
    out + "    }\n"
}
