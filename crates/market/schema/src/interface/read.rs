//! Reads an interface from TOML: names, paths, types, values. `check` does the rest.

use super::{FIRST_RESERVED_NUMBER, Interface, Method, check};
use crate::{
    Field, FieldType, MethodField,
    head::{FieldTypes, Head, added_field, head},
    names::{identifier, is_snake},
    reader::{Source, Table},
};

const TYPES: FieldTypes =
    FieldTypes { named: FieldType::named_in_interface, all: FieldType::names_in_interfaces };

pub(crate) fn read(
    source: &mut Source<'_>,
    path: &str,
    mut root: Table<'_, '_>,
) -> Option<Interface> {
    let mut table = root.table(source, "interface")?;
    let Head { line, name, title, doc, version, runtime, output, document } =
        head(source, &mut table, "nanotape_interface", "nanotape::interface");
    let has_reserved_numbers = table.flag(source, "reserved_numbers");
    table.finish(source);
    let mut interface = Interface {
        path: path.into(),
        line,
        name,
        title,
        doc,
        version,
        runtime,
        output,
        document,
        has_reserved_numbers,
        methods: Vec::new(),
    };
    let (mut count, mut all_read) = (0, true);
    for table in root.tables(source, "method") {
        count += 1;
        match method(source, has_reserved_numbers, table) {
            Some(method) => interface.methods.push(method),
            None => all_read = false,
        }
    }
    if count == 0 {
        source.problem(line, "interface: it has no [[method]]");
    }
    root.finish(source);
    // With a method missing, the checks would report the same mistake again.
    if all_read && count > 0 {
        check::interface(source, &interface);
    }
    Some(interface)
}

fn method(
    source: &mut Source<'_>,
    has_reserved_numbers: bool,
    mut table: Table<'_, '_>,
) -> Option<Method> {
    table.call("method".into());
    let name = table.text(source, "name");
    let subject = format!("method '{name}'");
    table.call(subject.clone());
    identifier(source, &table, "name", &name, is_snake);
    let number = table.count(source, "number");
    number_range(source, &table, has_reserved_numbers, number);
    let doc = table.text(source, "doc");
    let since = table.optional_count(source, "since").unwrap_or(1);
    let length = table.count(source, "length");
    let mut fields = Vec::new();
    let mut all_read = true;
    for entry in table.tables(source, "fields") {
        match field(source, &subject, since, entry) {
            Some(field) => fields.push(field),
            None => all_read = false,
        }
    }
    let line = table.line();
    table.finish(source);
    fields.sort_by_key(|field| field.field.offset);
    let (number, length) = (number?, length?);
    all_read.then_some(Method { line, number, name, doc, since, length, fields })
}

fn number_range(
    source: &mut Source<'_>,
    table: &Table<'_, '_>,
    has_reserved_numbers: bool,
    number: Option<usize>,
) {
    let Some(number) = number else { return };
    let (first, text) = (FIRST_RESERVED_NUMBER, format!("number {number:#06x}"));
    let text = match (number >= first, has_reserved_numbers) {
        (true, false) => {
            let last = first - 1;
            format!("{text} is reserved for formats of nanotape, expected 0x0000 to {last:#06x}")
        }
        (false, true) => format!("{text} is not reserved, expected {first:#06x} to 0xffff"),
        _ => return,
    };
    table.refuse_value(source, "number", text);
}

fn field(
    source: &mut Source<'_>,
    owner: &str,
    since: usize,
    mut table: Table<'_, '_>,
) -> Option<MethodField> {
    let field = added_field(source, owner, since, &mut table, &TYPES);
    let constant = table.optional_value(source, "constant");
    let most = table.optional_count(source, "most");
    table.finish(source);
    field.map(|of| MethodField { field: Field { most, ..of.field }, constant, ..of })
}
