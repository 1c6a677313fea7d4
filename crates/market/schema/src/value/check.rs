//! Checks a value: its bytes, its names, and that each version extends the one before.

use std::collections::BTreeMap;

use super::{Form, MOST_WORDS, ValueField, ValueSchema};
use crate::{
    FieldType,
    check::{Holes, Span, one_after_the_other, own_name},
    evolution::{Defaults, misfit, ordered, valid, versions},
    names::is_snake,
    reader::Source,
};

/// Names of functions that generated code has already, and columns of the command line.
const TAKEN_BY_FIELDS: [&str; 4] = ["of", "words", "key", "version"];

/// Names of types that generated code has already: wrappers of fields, and a parameter.
const TAKEN_BY_VALUES: [&str; 3] = ["Maybe", "Alpha", "W"];

pub(super) fn value(source: &mut Source<'_>, value: &ValueSchema) {
    let ValueSchema { line, name, version, fields, .. } = value;
    if *version == 0 {
        source.problem(*line, "value: the first version is 1, not 0");
        return;
    }
    if FieldType::named_in_value(name).is_some() || TAKEN_BY_VALUES.contains(&name.as_str()) {
        let text = format!("value: generated code has a type '{name}', expected another name");
        source.problem(*line, text);
    }
    names(source, fields);
    bytes(source, value);
    ordered(source, "value", 1, *version, fields.iter().map(|field| &field.of));
    for field in fields {
        valid(source, "value", 1, &field.of, Defaults::Optional);
        absent(source, field);
        form(source, field);
        flags(source, field);
    }
    let used = fields.iter().map(|field| field.of.since).collect();
    versions(source, "value", *line, *version, &used);
}

fn refuse(source: &mut Source<'_>, field: &ValueField, text: impl AsRef<str>) {
    let of = &field.of.field;
    source.problem(of.line, format!("value field '{}': {}", of.name, text.as_ref()));
}

fn names(source: &mut Source<'_>, fields: &[ValueField]) {
    let all: Vec<_> = fields.iter().map(|field| &field.of.field).collect();
    let mut taken: BTreeMap<String, &ValueField> = BTreeMap::new();
    for (index, field) in fields.iter().enumerate() {
        let name = &field.of.field.name;
        let has_same_name = all[..index].iter().any(|before| before.name == *name);
        own_name(source, "value", &all[..index], all[index]);
        let is_key = name.strip_prefix("key_").is_some_and(|rest| rest.parse::<u16>().is_ok());
        if is_key || TAKEN_BY_FIELDS.contains(&name.as_str()) {
            let text = "generated code has a function, or the command line a column, of this \
                        name, expected another name";
            refuse(source, field, text);
        }
        if has_same_name {
            continue;
        }
        for used in uses(field) {
            if let Some(other) = taken.get(&used) {
                let of = &other.of.field;
                let text = format!(
                    "the name '{used}' is also used for '{}' on line {}, expected another name",
                    of.name, of.line
                );
                refuse(source, field, text);
                break;
            }
            taken.insert(used, field);
        }
    }
}

/// The names of the functions and of the columns of a field.
fn uses(field: &ValueField) -> Vec<String> {
    let name = &field.of.field.name;
    match field.count {
        None => vec![name.clone(), format!("set_{name}")],
        Some(count) => {
            let columns = (0..count).map(|number| field.element_name(number));
            columns.chain([format!("{name}_at"), format!("set_{name}_at")]).collect()
        }
    }
}

fn bytes(source: &mut Source<'_>, value: &ValueSchema) {
    for field in &value.fields {
        if field.count == Some(0) {
            refuse(source, field, "'count' is 0, expected 1 or more");
        }
        let (offset, width) = (field.of.field.offset, field.width());
        if !offset.is_multiple_of(width) {
            let text = format!("begins at byte {offset}, expected a multiple of its {width} bytes");
            refuse(source, field, text);
        }
    }
    let spans = value.fields.iter().map(|field| {
        let of = &field.of.field;
        Span { start: of.offset, end: field.end(), name: &of.name, line: of.line }
    });
    // Bytes between two fields align the second one.
    let _ = one_after_the_other(source, "value", spans.collect(), Holes::Allowed);
    if value.words() > MOST_WORDS {
        let words = value.words();
        let text = format!("value: it has {words} words of 8 bytes, expected at most {MOST_WORDS}");
        source.problem(value.line, text);
    }
}

fn absent(source: &mut Source<'_>, field: &ValueField) {
    let Some(absent) = &field.absent else { return };
    let kind = &field.of.field.kind;
    if matches!(kind, FieldType::Maybe(_)) {
        let text = format!("'absent' is not for {}, whose absent value is 0", kind.schema_name());
        refuse(source, field, text);
    } else if kind.is_text() {
        refuse(source, field, "'absent' is for numbers only");
    } else if let Some(range) = misfit(kind, absent) {
        refuse(source, field, format!("'absent' must be {range}"));
    }
}

fn flags(source: &mut Source<'_>, field: &ValueField) {
    let Some(last) = field.flags.last() else { return };
    let bits = 8 * field.width();
    if !matches!(field.of.field.kind, FieldType::Integer(_)) || field.form != Form::Number {
        refuse(source, field, "'flags' needs a type such as u16, and no 'form'");
    } else if field.flags.len() > bits {
        refuse(source, field, format!("flag '{last}' is one of more than {bits} bits"));
    }
    for (place, flag) in field.flags.iter().enumerate() {
        if !is_snake(flag) {
            refuse(source, field, format!("flag '{flag}' is not in snake_case"));
        } else if field.flags[..place].contains(flag) {
            refuse(source, field, format!("flag '{flag}' is there twice"));
        }
    }
}

fn form(source: &mut Source<'_>, field: &ValueField) {
    let kind = &field.of.field.kind;
    let is_plain = matches!(kind, FieldType::Integer(_) | FieldType::Signed(_));
    let is_u64 = matches!(kind, FieldType::Integer(_)) && field.width() == 8;
    match field.form {
        Form::Number => {}
        Form::Price if is_plain && !is_u64 => {}
        Form::Price => refuse(source, field, "form 'price' needs a type such as i64 or u32"),
        Form::Time if is_u64 => {}
        Form::Time => refuse(source, field, "form 'time' needs the type u64"),
    }
}
