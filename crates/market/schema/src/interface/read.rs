//! Reads an interface from TOML: names, paths, types, values. `check` does the rest.

use super::{FIRST_RESERVED_NUMBER, Interface, Method, MethodField, Target, check};
use crate::{
    Field, FieldType,
    names::{identifier, is_camel, is_path, is_snake},
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
    let runtime = runtime.unwrap_or_else(|| "nanotape_interface".into());
    if !is_path(&runtime) {
        let text =
            format!("runtime '{runtime}' must be a path of Rust, such as nanotape::interface");
        table.refuse_value(source, "runtime", text);
    }
    let output = table.text(source, "output");
    let output = target(source, &table, "output", ".rs", output);
    let document = table.optional_text(source, "document");
    let document = document.map(|path| target(source, &table, "document", ".md", path));
    let has_reserved_numbers = table.flag(source, "reserved_numbers");
    let line = table.line();
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

/// A file to generate. Its extension keeps it apart from the schema, from the list of what is
/// published, and from the other file.
fn target(
    source: &mut Source<'_>,
    table: &Table<'_, '_>,
    key: &'static str,
    extension: &str,
    path: String,
) -> Target {
    let is_outside = path.split('/').any(|part| ["", ".", ".."].contains(&part));
    let name = path.rsplit('/').next().unwrap_or_default();
    if !path.is_empty()
        && (is_outside || name.len() <= extension.len() || !name.ends_with(extension))
    {
        let text = format!(
            "{key} '{path}' must be the path of a file *{extension} below the current folder, \
             without '.' and '..'"
        );
        table.refuse_value(source, key, text);
    }
    Target { line: table.line_of(source, key), path }
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
    let name = table.text(source, "name");
    table.call(format!("{owner} field '{name}'"));
    identifier(source, &table, "name", &name, is_snake);
    let offset = table.count(source, "offset");
    let type_name = table.text(source, "type");
    let kind = FieldType::named_in_interface(&type_name);
    if kind.is_none() && !type_name.is_empty() {
        let types = FieldType::names_in_interfaces().join(", ");
        let text = format!("unknown type '{type_name}', expected one of {types}");
        table.refuse_value(source, "type", text);
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
