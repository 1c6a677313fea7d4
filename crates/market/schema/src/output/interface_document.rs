//! The Markdown page of an interface: the bytes of every method.

use std::fmt::Write as _;

use super::{cell, interface_code::described, written_from};
use crate::{FieldType, Interface, Method, MethodField};

/// The page.
pub fn interface_document(interface: &Interface) -> String {
    let Interface { title, doc, version, methods, .. } = interface;
    let mut out = format!("# {title}\n\n<!-- {} -->\n\n", written_from(&interface.path));
    let _ = writeln!(out, "{doc}\n");
    let _ = writeln!(
        out,
        "Version {version}. Numbers are little-endian. Offsets and lengths are in bytes, from the \
         first byte of the message. Types are those of `nanotape-types`. A later version may add \
         methods, and fields at the end of a method. A reader ignores what it does not know. It \
         does not check the values of constants."
    );
    out.push_str("\n## All methods\n\n| number | name | length | meaning |\n|---|---|---|---|\n");
    for method in methods {
        let (number, name, doc) = (method.number, &method.name, cell(&method.doc));
        let _ = writeln!(out, "| {number:#06x} | {name} | {} | {doc} |", length(method));
    }
    for method in methods {
        table(&mut out, method);
    }
    out
}

fn table(out: &mut String, method: &Method) {
    let Method { number, name, doc, since, .. } = method;
    let length = length(method);
    let _ = writeln!(out, "\n## {name}: type {number:#06x}, {length} bytes\n\n{doc}");
    if *since > 1 {
        let _ = writeln!(out, "Since version {since}.");
    }
    if method.fields.is_empty() {
        return;
    }
    out.push_str("\n| offset | length | type | field | meaning |\n|---|---|---|---|---|\n");
    for field in &method.fields {
        row(out, method, field);
    }
}

fn row(out: &mut String, method: &Method, field: &MethodField) {
    let of = &field.field;
    let width = match (of.kind.width(), of.most) {
        (Some(width), _) => width.to_string(),
        (None, Some(most)) => format!("0 to {most}"),
        (None, None) => "the rest".into(),
    };
    let mut meaning = cell(&described(field));
    if let Some(constant) = &field.constant {
        let _ = write!(meaning, " Always {constant}.");
    }
    if of.kind == FieldType::TailOffset {
        meaning.push_str(" The offset of the tail.");
    }
    if field.since > method.since {
        let _ = write!(meaning, " Since version {}", field.since);
        match &field.default {
            Some(default) => {
                let _ = write!(meaning, "; {default} in a message of an earlier version.");
            }
            None => meaning.push('.'),
        }
    }
    let (offset, kind, name) = (of.offset, of.kind.schema_name(), &of.name);
    let _ = writeln!(out, "| {offset} | {width} | `{kind}` | {name} | {meaning} |");
}

fn length(method: &Method) -> String {
    match method.tail() {
        None => method.length.to_string(),
        Some(tail) => match tail.most {
            Some(most) => format!("{} to {}", method.length, method.length + most),
            None => format!("{} or more", method.length),
        },
    }
}
