//! Reads an interface from TOML: names, types, values. `check` does the rest.

use super::{Interface, Method, MethodField, check};
use crate::{
    Field, FieldType,
    read::{identifier, is_camel, is_snake},
    reader::{Source, Table},
};

pub(crate) fn read(
    source: &mut Source<'_>,
    path: &str,
    mut root: Table<'_, '_>,
) -> Option<Interface> {
    let mut table = root.table(source, "interface")?;
    let name = table.text(source, "name");
    identifier(source, &table, "name", &name, is_camel);
    let title = table.text(source, "title");
    let doc = table.text(source, "doc");
    let version = table.optional_count(source, "version").unwrap_or(1);
    let runtime = table.optional_text(source, "runtime");
    let output = table.text(source, "output");
    for part in output.split('/') {
        if ["", ".", ".."].contains(&part) && !output.is_empty() {
            table.refuse(source, format!("output '{output}' must be a path below this folder"));
            break;
        }
    }
    let document = table.optional_text(source, "document");
    let line = table.line();
    table.finish(source);
    let mut interface = Interface {
        path: path.into(),
        line,
        name,
        title,
        doc,
        version,
        runtime: runtime.unwrap_or_else(|| "nanotape_interface".into()),
        output,
        document,
        methods: Vec::new(),
    };
    let (mut count, mut all_read) = (0, true);
    for table in root.tables(source, "method") {
        count += 1;
        match method(source, table) {
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

fn method(source: &mut Source<'_>, mut table: Table<'_, '_>) -> Option<Method> {
    let name = table.text(source, "name");
    let subject = format!("method '{name}'");
    table.call(subject.clone());
    identifier(source, &table, "name", &name, is_snake);
    let number = table.count(source, "number");
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

fn field(
    source: &mut Source<'_>,
    owner: &str,
    since: usize,
    mut table: Table<'_, '_>,
) -> Option<MethodField> {
    let name = table.text(source, "name");
    table.call(format!("{owner} field '{name}'"));
    identifier(source, &table, "name", &name, is_snake);
    let offset = table.count(source, "offset");
    let type_name = table.text(source, "type");
    let kind = FieldType::named_in_interface(&type_name);
    if kind.is_none() && !type_name.is_empty() {
        table.refuse(source, format!("unknown type '{type_name}'"));
    }
    let doc = table.text(source, "doc");
    let unit = table.optional_text(source, "unit");
    let since = table.optional_count(source, "since").unwrap_or(since);
    let default = table.optional_value(source, "default");
    let constant = table.optional_value(source, "constant");
    let most = table.optional_count(source, "most");
    let line = table.line();
    table.finish(source);
    let field = Field { line, name, offset: offset?, kind: kind?, doc, codes: None, most };
    Some(MethodField { field, unit, since, default, constant })
}
