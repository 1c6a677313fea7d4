//! Proptest strategies: any message with any field values, unknown types and codes included.
//!
//! The macros and the functions `value` and `code` that they call are in the parent module of the
//! generated ones.

use std::collections::BTreeSet;

use super::origin;
use crate::{
    Field, FieldType, Layout, Protocol,
    text::{comment, fill, filled},
};

/// Longest tail to try where the schema sets no limit.
const TAIL_MOST: usize = 100;

const ANY_MESSAGE: &str = "
/// The bytes of any message: every listed type, and types that are not listed.
pub fn any_message() -> impl Strategy<Value = Vec<u8>> {
    Union::new([
@boxes@        unknown_message().boxed(),
    ])
}

/// The bytes of a message whose type is not listed.
pub fn unknown_message() -> impl Strategy<Value = Vec<u8>> {
    unlisted(@module@::TAG_OFFSET, @module@::TAGS)
}
";

/// The module of strategies. `module` is the path of the protocol's generated module.
pub fn strategies(protocol: &Protocol, module: &str) -> String {
    let title = format!("{}: proptest strategies.", protocol.title);
    let mut out = comment("//!", &title);
    out.push_str("//!\n");
    out.push_str(&comment("//!", &origin(protocol)));
    out.push_str(&imports(protocol, module));
    if !protocol.messages.is_empty() {
        let (_, last) = split(module);
        let boxes: String = protocol.messages.iter().map(boxed).collect();
        out.push_str(&fill(ANY_MESSAGE, &[("boxes", &boxes), ("module", last)]));
    }
    for layout in protocol.layouts() {
        out.push_str(&strategy(layout));
    }
    out
}

fn split(module: &str) -> (&str, &str) {
    module.rsplit_once("::").unwrap_or(("", module))
}

fn imports(protocol: &Protocol, module: &str) -> String {
    let has_messages = !protocol.messages.is_empty();
    let mut names = BTreeSet::new();
    let mut support = BTreeSet::new();
    for layout in protocol.layouts() {
        names.insert(format!("{}Fields", layout.name));
        for field in layout.chosen_fields() {
            match &field.kind {
                FieldType::Enumeration(name) => {
                    names.insert(name.clone());
                    support.insert("code".to_owned());
                }
                FieldType::Text | FieldType::Bytes => {
                    support.insert("tail".to_owned());
                }
                _ => {
                    support.insert("value".to_owned());
                }
            }
        }
    }
    if has_messages {
        support.insert("unlisted".to_owned());
    }
    let own = has_messages.then(|| "self".to_owned());
    let names: Vec<String> = own.into_iter().chain(names).collect();
    let support: Vec<String> = support.into_iter().collect();
    let proptest = if has_messages { "{prelude::*, strategy::Union}" } else { "prelude::*" };
    let support = match support.as_slice() {
        [only] => format!("use super::{only};\n"),
        _ => filled("use super::{", &support, "};"),
    };
    format!(
        "\n{}use proptest::{proptest};\n\n{}",
        filled(&format!("use {module}::{{"), &names, "};"),
        support,
    )
}

fn boxed(layout: &Layout) -> String {
    let name = layout.snake_name();
    match layout.tail() {
        Some(_) => format!("        {name}().boxed(),\n"),
        None => {
            format!("        {name}().prop_map(|fields| fields.encode().to_vec()).boxed(),\n")
        }
    }
}

fn strategy(layout: &Layout) -> String {
    let mut sources = String::new();
    for field in layout.chosen_fields().filter(|field| field.kind.width().is_some()) {
        sources.push_str(&format!("        {}: {},\n", field.name, source(field)));
    }
    let tail = layout.tail().map(|tail| format!("{}: {}", tail.name, source(tail)));
    let tail = tail.unwrap_or_default();
    let (template, room) = match layout.tail() {
        None => (
            "
fields_strategy! {
    /// [`@Name@Fields`] with any values.
    pub fn @snake@() -> @Name@Fields {
@sources@    }
}
",
            0,
        ),
        Some(tail) => (
            "
bytes_strategy! {
    /// The encoded bytes of [`@Name@Fields`] with any values.
    pub fn @snake@() -> @Name@Fields[@room@] {
@sources@    } @tail@
}
",
            layout.length + tail.most.unwrap_or(TAIL_MOST),
        ),
    };
    fill(
        template,
        &[
            ("Name", &layout.name),
            ("snake", &layout.snake_name()),
            ("sources", &sources),
            ("room", &room.to_string()),
            ("tail", &tail),
        ],
    )
}

fn source(field: &Field) -> String {
    match &field.kind {
        FieldType::Enumeration(name) => format!("code(&{name}::KNOWN)"),
        FieldType::Text | FieldType::Bytes => {
            format!("tail({})", field.most.unwrap_or(TAIL_MOST))
        }
        _ => "value()".into(),
    }
}
