//! The Rust module of an interface: its table for the macro `interface!` of `nanotape-interface`,
//! whose module describes the syntax.

use super::{imported, written_from};
use crate::{
    Interface, Literal, Method, MethodField,
    text::{comment, row},
};

/// The Rust module.
pub fn interface_code(interface: &Interface) -> String {
    let Interface { name, title, doc, version, runtime, methods, .. } = interface;
    let mut out = comment("//!", &format!("{title}: trait, writer and dispatcher."));
    out.push_str("//!\n");
    out.push_str(&comment("//!", &written_from(&interface.path)));
    out.push_str(&comment("//!", &format!("Version {version}.")));
    let fields = methods.iter().flat_map(|method| &method.fields);
    out.push_str(&imported(runtime, fields.map(|field| &field.field)));
    out.push_str(&format!("\n{runtime}::interface! {{\n"));
    out.push_str(&comment("    ///", &format!("{title}. {doc}")));
    out.push_str(&format!("    {name} / {};\n", interface.writer()));
    for method in methods {
        out.push_str(&table(method));
    }
    out + "}\n"
}

fn table(method: &Method) -> String {
    let Method { number, name, doc, since, length, .. } = method;
    let mut out = String::from("\n");
    let doc = if *since > 1 { format!("{doc} Since version {since}.") } else { doc.clone() };
    out.push_str(&comment("    ///", &doc));
    let earlier: Vec<String> = method.earlier().iter().map(usize::to_string).collect();
    let earlier = match earlier.as_slice() {
        [] => String::new(),
        lengths => format!(", earlier [{}]", lengths.join(", ")),
    };
    out.push_str(&format!("    {number:#06x} {name}: {length} bytes{earlier} {{\n"));
    let constants = method.constants().map(|(field, value)| {
        row(12, &format!("{} = {}", typed(field), form(value)), &field.field.doc)
    });
    list(&mut out, "constants", constants);
    list(&mut out, "fields", method.arguments().map(|field| argument(method, field)));
    let tail = method.tail().zip(method.tail_offset()).map(|(tail, offset)| {
        // A message has fewer bytes than 32 bits can count.
        let most = tail.most.map_or("0xffff_ffff".into(), |most| most.to_string());
        let start =
            format!("[{}..] {} max {most}, offset at {}", tail.offset, tail.name, offset.offset);
        row(12, &start, &tail.doc)
    });
    list(&mut out, "tail", tail.into_iter());
    out + "    }\n"
}

fn list(out: &mut String, name: &str, rows: impl Iterator<Item = String>) {
    let rows: String = rows.collect();
    match rows.is_empty() {
        true => out.push_str(&format!("        {name} {{}}\n")),
        false => out.push_str(&format!("        {name} {{\n{rows}        }}\n")),
    }
}

fn argument(method: &Method, field: &MethodField) -> String {
    let mut start = typed(field);
    if let Some(default) = field.default.as_ref().filter(|_| field.since > method.since) {
        start.push_str(&format!(", since {} else {}", field.since, form(default)));
    }
    row(12, &start, &described(field))
}

fn typed(field: &MethodField) -> String {
    let of = &field.field;
    let end = of.end().unwrap_or(of.offset);
    format!("[{}..{end}] {}: {}", of.offset, of.name, of.kind.rust())
}

/// The meaning of a field, with its unit.
pub(super) fn described(field: &MethodField) -> String {
    match &field.unit {
        Some(unit) => format!("{} Unit: {unit}.", field.field.doc),
        None => field.field.doc.clone(),
    }
}

/// A value as the macro takes it: negative numbers in two's complement.
fn form(value: &Literal) -> String {
    match value {
        Literal::Text(text) => format!("text({text:?})"),
        Literal::Number(number @ 0..=0xffff) => format!("number({number})"),
        Literal::Number(number) => format!("number({:#x})", *number as u64),
    }
}
