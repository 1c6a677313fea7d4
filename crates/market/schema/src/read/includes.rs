//! Includes: messages of another schema that a protocol has too, so that their tables are written
//! once.

use super::{Load, parse, protocol};
use crate::{
    Field, FieldType, Include, Layout, Problems, Protocol,
    reader::{Source, Table},
};

/// The messages of another schema, before their heads are compared.
pub(super) struct Included {
    line: usize,
    from: Protocol,
    messages: Vec<Layout>,
}

/// Reads an included schema, and takes its enumerations and sets of bits.
pub(super) fn include(
    source: &mut Source<'_>,
    protocol: &mut Protocol,
    mut table: Table<'_, '_>,
    load: Load<'_>,
) -> Option<Included> {
    table.call("include".into());
    let schema = table.text(source, "schema");
    let names = table.texts(source, "messages");
    let line = table.line();
    let from = read_other(source, &protocol.path, &table, &schema, load);
    if names.is_empty() {
        table.refuse(source, "'messages' must name at least one message");
    }
    table.finish(source);
    let from = from?;
    let mut messages: Vec<Layout> = Vec::new();
    for (line, name) in names {
        match from.messages.iter().find(|message| message.name == name) {
            Some(message) => messages.push(message.clone()),
            None => source.problem(line, format!("include: {schema} has no message '{name}'")),
        }
    }
    let mut types = Vec::new();
    for field in messages.iter().flat_map(|message| &message.fields) {
        let (FieldType::Enumeration(name) | FieldType::Bits(name, _)) = &field.kind else {
            continue;
        };
        if !types.contains(name) {
            types.push(name.clone());
        }
    }
    for name in &types {
        protocol.enumerations.extend(from.enumeration(name).cloned());
        protocol.bits.extend(from.bit_set(name).cloned());
    }
    for message in &mut messages {
        types.extend([message.name.clone(), format!("{}Fields", message.name)]);
        (message.origin, message.line) = (Some(from.name.clone()), line);
    }
    types.sort();
    let (module, name) = (from.module.clone(), from.name.clone());
    protocol.includes.push(Include { module, name, types });
    Some(Included { line, from, messages })
}

fn read_other(
    source: &mut Source<'_>,
    path: &str,
    table: &Table<'_, '_>,
    schema: &str,
    load: Load<'_>,
) -> Option<Protocol> {
    let is_name = |name: &str| !name.contains(['/', '\\']) && name.ends_with(".toml");
    if !is_name(schema) {
        let text =
            format!("schema '{schema}' must be the name of a file *.toml in the same folder");
        table.refuse_value(source, "schema", text);
        return None;
    }
    let folder = path.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
    let other = format!("{folder}{schema}");
    let read = |text: String| -> Result<Protocol, Problems> {
        parse(&other, &text, |source, root| protocol(source, &other, root, &mut one_level))
    };
    match load(&other).map(read) {
        Ok(Ok(protocol)) => Some(protocol),
        Ok(Err(problems)) => {
            let first = problems.0.first().map(ToString::to_string).unwrap_or_default();
            table.refuse_value(source, "schema", format!("has mistakes: {first}"));
            None
        }
        Err(reason) => {
            table.refuse_value(source, "schema", format!("{other} cannot be read: {reason}"));
            None
        }
    }
}

fn one_level(_: &str) -> Result<String, String> {
    Err("an included schema includes no other".into())
}

/// Adds the messages, whose head must be that of the protocol.
pub(super) fn add(source: &mut Source<'_>, protocol: &mut Protocol, included: Included) {
    let Included { line, from, messages } = included;
    let facts = |protocol: &Protocol| {
        let Protocol { is_little_endian, tag_offset, tag_kind, grows, head, .. } = protocol;
        let of = |field: &Field| (field.name.clone(), field.offset, field.kind.clone());
        let head: Vec<_> = head.iter().map(of).collect();
        (*is_little_endian, *tag_offset, *tag_kind, *grows, head)
    };
    if facts(protocol) != facts(&from) {
        let text = format!(
            "include: {} differs in byte order, type, growth or head, expected the same",
            from.name
        );
        source.problem(line, text);
    }
    protocol.messages.extend(messages);
}
