//! The Markdown page of a value: the bytes of every field.

use std::fmt::Write as _;

use super::{
    cell,
    value_code::{layout_text, meaning},
    written_from,
};
use crate::{ValueField, ValueSchema};

/// The page.
pub fn value_document(value: &ValueSchema) -> String {
    let ValueSchema { title, doc, version, fields, .. } = value;
    let mut out = format!("# {title}\n\n<!-- {} -->\n\n", written_from(&value.path));
    let _ = writeln!(out, "{doc}\n");
    let _ = writeln!(
        out,
        "Version {version}: {} words of 8 bytes. Offsets and lengths are in bytes. Byte 0 of a word \
         is its lowest one, and numbers are little-endian in it. Types are those of \
         `nanotape-types`. Bytes of no field are zero. A later version adds fields at the end.",
        value.words()
    );
    out.push_str("\n## Layouts\n\n| version | words | layout |\n|---|---|---|\n");
    for (index, layout) in value.layouts().into_iter().enumerate() {
        let (version, layout) = (index + 1, layout_text(layout));
        let _ = writeln!(out, "| {version} | {} | `{layout}` |", value.words_of(version));
    }
    out.push_str(
        "\n## Fields\n\n| offset | length | type | field | meaning |\n|---|---|---|---|---|\n",
    );
    fields.iter().for_each(|field| row(&mut out, field));
    out
}

fn row(out: &mut String, field: &ValueField) {
    let of = &field.of.field;
    let (offset, name, meaning) = (of.offset, &of.name, cell(&meaning(field)));
    let (width, kind) = (field.width(), of.kind.schema_name());
    let _ = match field.count {
        None => writeln!(out, "| {offset} | {width} | `{kind}` | {name} | {meaning} |"),
        Some(count) => {
            writeln!(out, "| {offset} | {count} times {width} | `{kind}` | {name} | {meaning} |")
        }
    };
}
