//! Reads a value from TOML: names, paths, types. `check` does the rest.

use super::{Form, ValueField, ValueSchema, check};
use crate::{
    FieldType,
    head::{FieldTypes, Head, added_field, head},
    reader::{Source, Table},
};

const TYPES: FieldTypes =
    FieldTypes { named: FieldType::named_in_value, all: FieldType::names_in_values };

pub(crate) fn read(
    source: &mut Source<'_>,
    path: &str,
    mut root: Table<'_, '_>,
) -> Option<ValueSchema> {
    let mut table = root.table(source, "value")?;
    let Head { line, name, title, doc, version, runtime, output, document } =
        head(source, &mut table, "nanotape_latest", "nanotape_latest");
    table.finish(source);
    let (mut fields, mut count, mut all_read) = (Vec::new(), 0, true);
    for table in root.tables(source, "field") {
        count += 1;
        match field(source, table) {
            Some(field) => fields.push(field),
            None => all_read = false,
        }
    }
    if count == 0 {
        source.problem(line, "value: it has no [[field]]");
    }
    root.finish(source);
    fields.sort_by_key(|field| field.of.field.offset);
    let path = path.into();
    let value =
        ValueSchema { path, line, name, title, doc, version, runtime, output, document, fields };
    // With a field missing, the checks would report the same mistake again.
    if all_read && count > 0 {
        check::value(source, &value);
    }
    Some(value)
}

fn field(source: &mut Source<'_>, mut table: Table<'_, '_>) -> Option<ValueField> {
    table.call("value field".into());
    let of = added_field(source, "value", 1, &mut table, &TYPES);
    let count = table.optional_count(source, "count");
    let absent = table.optional_value(source, "absent");
    let name = table.optional_text(source, "form");
    let form = match &name {
        None => Some(Form::Number),
        Some(name) => Form::ALL.into_iter().find(|form| form.name() == name),
    };
    if let (Some(name), None) = (&name, form) {
        let text = format!("unknown form '{name}', expected one of number, price, time");
        table.refuse_value(source, "form", text);
    }
    let flags = table.texts(source, "flags").into_iter().map(|(_, flag)| flag).collect();
    table.finish(source);
    Some(ValueField { of: of?, count, absent, form: form?, flags })
}
