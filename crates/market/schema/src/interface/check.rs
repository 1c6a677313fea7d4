//! Checks an interface: its bytes, its names, and that each version extends the one before.

use std::collections::{BTreeMap, BTreeSet};

use super::{Interface, Method};
use crate::{
    FieldType, MethodField,
    check::{own_name, whole},
    evolution::{Defaults, ordered, valid, versions},
    names::is_camel,
    reader::Source,
};

/// Names of methods that generated code has already, or that calls of every value have.
const TAKEN_BY_METHODS: [&str; 6] = ["unknown", "new", "at", "dispatch", "into", "try_into"];

/// Names of interfaces that generated code has already: a type of the prelude, and the parameters
/// of its functions. Types of fields are imported.
const TAKEN_BY_TRAITS: [&str; 5] = ["H", "Maybe", "Alpha", "Result", "S"];

pub(super) fn interface(source: &mut Source<'_>, interface: &Interface) {
    if interface.version == 0 {
        source.problem(interface.line, "interface: the first version is 1, not 0");
        return;
    }
    trait_name(source, interface);
    let mut numbers: BTreeMap<usize, &Method> = BTreeMap::new();
    let mut names: BTreeMap<String, &Method> = BTreeMap::new();
    for method in &interface.methods {
        let subject = format!("method '{}'", method.name);
        if let Some(first) = numbers.get(&method.number) {
            let (number, name, line) = (method.number, &first.name, first.line);
            let text = format!("{subject}: number {number} is taken by '{name}' on line {line}");
            source.problem(method.line, text);
        }
        // Other languages write names without underscores.
        let joined = method.name.replace('_', "");
        match names.get(&joined) {
            Some(first) if first.name == method.name => {
                let text = format!("{subject}: the name is on line {} too", first.line);
                source.problem(method.line, text);
            }
            Some(first) => {
                let (name, line) = (&first.name, first.line);
                let text = format!(
                    "{subject}: differs from '{name}' on line {line} in underscores only, \
                     expected another name"
                );
                source.problem(method.line, text);
            }
            None => {}
        }
        if TAKEN_BY_METHODS.contains(&method.name.as_str()) {
            let text = format!(
                "{subject}: generated code has a function of this name, expected another name"
            );
            source.problem(method.line, text);
        }
        numbers.entry(method.number).or_insert(method);
        names.entry(joined).or_insert(method);
        bytes(source, &subject, method);
        tail(source, &subject, method);
        order(source, interface, &subject, method);
        for field in &method.fields {
            valid(source, &subject, method.since, field, Defaults::Needed);
        }
    }
    let fields = interface.methods.iter().flat_map(|method| &method.fields);
    let mut used: BTreeSet<usize> = fields.map(|field| field.since).collect();
    used.extend(interface.methods.iter().map(|method| method.since));
    versions(source, "interface", interface.line, interface.version, &used);
}

fn trait_name(source: &mut Source<'_>, interface: &Interface) {
    let Interface { line, name, .. } = interface;
    let is_type = is_camel(name) && FieldType::named_in_interface(name).is_some();
    if is_type || TAKEN_BY_TRAITS.contains(&name.as_str()) {
        let text = format!("interface: generated code has a type '{name}', expected another name");
        source.problem(*line, text);
    }
    if name.ends_with("Writer") {
        let text = format!("interface: name '{name}' is that of a writer, expected one without it");
        source.problem(*line, text);
    }
}

fn bytes(source: &mut Source<'_>, subject: &str, method: &Method) {
    let fields: Vec<_> = method.fields.iter().map(|field| &field.field).collect();
    whole(source, subject, method.line, None, &fields, method.length);
    for (index, field) in fields.iter().enumerate() {
        let name = &field.name;
        own_name(source, subject, &fields[..index], field);
        let is_tail = field.kind.width().is_none();
        if is_tail && index + 1 != fields.len() {
            let kind = field.kind.schema_name();
            let text = format!("{subject} field '{name}': only the last field may be {kind}");
            source.problem(field.line, text);
        }
        if field.most.is_some() && !is_tail {
            let text = format!("{subject} field '{name}': 'most' is for Text and Bytes only");
            source.problem(field.line, text);
        }
    }
}

/// A tail needs an offset of its own, so that later versions can add fields before it.
fn tail(source: &mut Source<'_>, subject: &str, method: &Method) {
    let is_offset = |field: &&MethodField| field.field.kind == FieldType::TailOffset;
    let offsets: Vec<_> = method.fields.iter().filter(is_offset).collect();
    if let [_, second, ..] = offsets.as_slice() {
        let text = format!("{subject} field '{}': a second TailOffset", second.field.name);
        source.problem(second.field.line, text);
    }
    match (offsets.first(), method.tail()) {
        (Some(offset), None) => {
            let text = format!("{subject} field '{}': there is no tail", offset.field.name);
            source.problem(offset.field.line, text);
        }
        (Some(offset), Some(_)) if offset.since > method.since => {
            let name = &offset.field.name;
            let text = format!("{subject} field '{name}': a tail begins with its method");
            source.problem(offset.field.line, text);
        }
        (None, Some(tail)) => {
            let text = format!("{subject} field '{}': needs a field of type TailOffset", tail.name);
            source.problem(tail.line, text);
        }
        _ => {}
    }
    let is_whole = |length: &usize| length.is_multiple_of(8);
    if let Some(tail) = method.tail()
        && let Some(length) = method.earlier().into_iter().find(|length| !is_whole(length))
    {
        let text = format!(
            "{subject} field '{}': began at byte {length} in an earlier version, expected a \
             multiple of 8",
            tail.name
        );
        source.problem(tail.line, text);
    }
    // The words of the fields and those of the tail are stored separately.
    if let Some(tail) = method.tail().filter(|tail| tail.offset % 8 != 0) {
        let (name, missing) = (&tail.name, 8 - tail.offset % 8);
        let text = format!(
            "{subject} field '{name}': begins at byte {}, which is no multiple of 8: add {missing} \
             bytes before it, such as a field with 'constant = 0'",
            tail.offset
        );
        source.problem(tail.line, text);
    }
}

/// Fields of a later version come after those of earlier ones; a tail stays the last one.
fn order(source: &mut Source<'_>, interface: &Interface, subject: &str, method: &Method) {
    if method.since == 0 || method.since > interface.version {
        let (since, last) = (method.since, interface.version);
        let text = format!("{subject}: since {since}, but versions are 1 to {last}");
        source.problem(method.line, text);
    }
    let fixed = method.fields.iter().filter(|field| field.field.kind.width().is_some());
    ordered(source, subject, method.since, interface.version, fixed);
    if let Some(last) = method.fields.last()
        && last.field.kind.width().is_none()
        && last.since != method.since
    {
        let text = format!("{subject} field '{}': a tail begins with its method", last.field.name);
        source.problem(last.field.line, text);
    }
}
