//! The Rust module of a value: its table for the macro `value!` of `nanotape-latest`, whose module
//! describes the syntax.

use super::{imported, interface_code::described, written_from};
use crate::{
    Form, ValueField, ValueSchema,
    text::{comment, filled, row},
};

/// The Rust module.
pub fn value_code(value: &ValueSchema) -> String {
    let ValueSchema { name, title, doc, version, runtime, fields, .. } = value;
    let mut out = comment("//!", &format!("{title}: a value of a map."));
    out.push_str("//!\n");
    out.push_str(&comment("//!", &written_from(&value.path)));
    out.push_str(&comment("//!", &format!("Version {version}.")));
    out.push_str(&imported(runtime, fields.iter().map(|field| &field.of.field)));
    out.push_str(&format!("\n{runtime}::value! {{\n"));
    out.push_str(&comment("    ///", &format!("{title}. {doc}")));
    let layouts: Vec<String> = value.layouts().into_iter().map(layout_text).collect();
    let open = format!("{name}: {} words, layouts [", value.words());
    out.push_str(&filled(4, &open, &layouts, "];"));
    let of = |is_array: bool| fields.iter().filter(move |field| field.count.is_some() == is_array);
    list(&mut out, "fields", of(false).map(|field| row(8, &scalar(field), &meaning(field))));
    list(&mut out, "arrays", of(true).map(|field| row(8, &array(field), &meaning(field))));
    out + "}\n"
}

fn list(out: &mut String, name: &str, rows: impl Iterator<Item = String>) {
    let rows: String = rows.collect();
    match rows.is_empty() {
        true => out.push_str(&format!("    {name} {{}}\n")),
        false => out.push_str(&format!("    {name} {{\n{rows}    }}\n")),
    }
}

fn scalar(field: &ValueField) -> String {
    let of = &field.of.field;
    let (name, kind) = (&of.name, of.kind.rust());
    format!("[{}..{}] {name}, set_{name}: {kind}", of.offset, field.end())
}

fn array(field: &ValueField) -> String {
    let of = &field.of.field;
    let (name, kind, count) = (&of.name, of.kind.rust(), field.elements());
    let upper = name.to_uppercase();
    format!(
        "[{}..{}] {name}_at, set_{name}_at, {upper}_COUNT: [{kind}; {count}]",
        of.offset,
        field.end()
    )
}

/// A layout as documents and code have it.
pub(super) fn layout_text(layout: u64) -> String {
    format!("{:#06x}_{:012x}", layout >> 48, layout & 0xffff_ffff_ffff)
}

/// The meaning of a field, with its unit, its form, and its absent value.
pub(super) fn meaning(field: &ValueField) -> String {
    let mut text = described(&field.of);
    match field.form {
        Form::Number => {}
        Form::Price => text.push_str(" In units of 1e-9."),
        Form::Time => text.push_str(" In nanoseconds since the UNIX epoch."),
    }
    if !field.flags.is_empty() {
        let flags = field.flags.iter().enumerate();
        let flags: Vec<_> = flags.map(|(bit, flag)| format!("{} {flag}", 1u64 << bit)).collect();
        text.push_str(&format!(" Flags: {}.", flags.join(", ")));
    }
    if let Some(absent) = &field.absent {
        text.push_str(&format!(" Absent: {absent}."));
    }
    if field.of.since > 1 {
        text.push_str(&format!(" Since version {}", field.of.since));
        match &field.of.default {
            Some(default) => text.push_str(&format!("; {default} in values of before.")),
            None if field.absent_bits().is_some() => {
                text.push_str("; absent in values of before.");
            }
            None => text.push_str("; 0 in values of before."),
        }
    }
    text
}
