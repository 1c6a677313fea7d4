//! Checks an interface: its bytes, its names, and that each version extends the one before.

use std::collections::{BTreeMap, BTreeSet};

use super::{Interface, Method, MethodField};
use crate::{FieldType, Literal, check::whole, names::is_camel, reader::Source};

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
            values(source, &subject, method, field);
        }
    }
    versions(source, interface);
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
        if let Some(first) = fields[..index].iter().find(|other| other.name == *name) {
            let text = format!("{subject} field '{name}': the name is on line {} too", first.line);
            source.problem(field.line, text);
        }
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

/// Fields of a later version come after those of earlier ones.
fn order(source: &mut Source<'_>, interface: &Interface, subject: &str, method: &Method) {
    if method.since == 0 || method.since > interface.version {
        let (since, last) = (method.since, interface.version);
        let text = format!("{subject}: since {since}, but versions are 1 to {last}");
        source.problem(method.line, text);
    }
    let mut latest: Option<&MethodField> = None;
    let fixed = method.fields.iter().filter(|field| field.field.kind.width().is_some());
    for field in fixed {
        let (name, line, since) = (&field.field.name, field.field.line, field.since);
        // A field without 'since' has that of its method.
        let is_reported = since == method.since;
        if !is_reported && (since > interface.version || since < method.since) {
            let (first, last) = (method.since, interface.version);
            let text = format!(
                "{subject} field '{name}': since {since}, but versions are {first} to {last}"
            );
            source.problem(line, text);
        }
        match latest {
            Some(latest) if latest.since > since => {
                let (other, at) = (&latest.field.name, latest.since);
                let text = format!(
                    "{subject} field '{name}': since {since}, but is after '{other}', since {at}: \
                     new fields are at the end"
                );
                source.problem(line, text);
            }
            _ => latest = Some(field),
        }
    }
    if let Some(last) = method.fields.last()
        && last.field.kind.width().is_none()
        && last.since != method.since
    {
        let text = format!("{subject} field '{}': a tail begins with its method", last.field.name);
        source.problem(last.field.line, text);
    }
}

fn values(source: &mut Source<'_>, subject: &str, method: &Method, field: &MethodField) {
    let MethodField { field, since, default, constant, .. } = field;
    let subject = format!("{subject} field '{}'", field.name);
    let is_plain = field.kind.width().is_some() && field.kind != FieldType::TailOffset;
    for (key, value) in [("default", default), ("constant", constant)] {
        let Some(value) = value else { continue };
        if !is_plain {
            let kind = field.kind.schema_name();
            source.problem(field.line, format!("{subject}: '{key}' is not for {kind}"));
        } else if let Some(range) = misfit(&field.kind, value) {
            source.problem(field.line, format!("{subject}: '{key}' must be {range}"));
        }
    }
    let is_added = *since > method.since;
    match (is_added, default, constant) {
        (_, Some(_), Some(_)) => {
            source.problem(field.line, format!("{subject}: has both 'default' and 'constant'"));
        }
        (true, None, None) if is_plain => {
            let text = format!(
                "{subject}: since {since}, so it needs a 'default' for messages of earlier versions"
            );
            source.problem(field.line, text);
        }
        (false, Some(_), None) => {
            let text =
                format!("{subject}: 'default' is for fields of a later version: add 'since'");
            source.problem(field.line, text);
        }
        _ => {}
    }
}

/// What the value of a field of this type must be, if this one is not.
fn misfit(kind: &FieldType, value: &Literal) -> Option<String> {
    let width = kind.width()?;
    let inner = match kind {
        FieldType::Maybe(inner) => inner,
        kind => kind,
    };
    match (inner.is_text(), value) {
        (true, Literal::Text(text)) if text.is_ascii() && text.len() <= width => None,
        (true, _) => Some(format!("text of at most {width} ASCII characters")),
        (false, value) => {
            let bits = 8 * width as u32;
            let (least, most) = match inner {
                FieldType::Signed(_) => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
                _ => (0, (1_i128 << bits) - 1),
            };
            match value {
                Literal::Number(number) if (least..=most).contains(number) => None,
                _ => Some(format!("a whole number from {least} to {most}")),
            }
        }
    }
}

/// Each version adds something.
fn versions(source: &mut Source<'_>, interface: &Interface) {
    let mut used: BTreeSet<usize> = BTreeSet::new();
    for method in &interface.methods {
        used.insert(method.since);
        used.extend(method.fields.iter().map(|field| field.since));
    }
    // A version that does not exist was reported before.
    if !used.iter().all(|since| (1..=interface.version).contains(since)) {
        return;
    }
    let unused = (1..=interface.version).find(|version| !used.contains(version));
    if let Some(version) = unused {
        let text = format!("interface: version {version} adds nothing");
        source.problem(interface.line, text);
    }
}
