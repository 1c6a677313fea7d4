//! Reads a schema from TOML: names, types and references. `check` does the byte arithmetic.

use toml::de::DeTable;

use crate::{
    Code, CodeList, Enumeration, Field, FieldType, Layout, Problems, Protocol, check,
    names::{identifier, is_camel, is_snake},
    reader::{Source, Table},
};

/// Reads the schema `text` of a protocol; `path` is its name in problems.
pub fn read(path: &str, text: &str) -> Result<Protocol, Problems> {
    parse(path, text, |source, root| protocol(source, path, root))
}

/// Reads and checks a protocol.
pub(crate) fn protocol(
    source: &mut Source<'_>,
    path: &str,
    root: Table<'_, '_>,
) -> Option<Protocol> {
    let protocol = read_protocol(source, path, root)?;
    check::protocol(source, &protocol);
    Some(protocol)
}

/// Parses TOML, and reads its root.
pub(crate) fn parse<T>(
    path: &str,
    text: &str,
    read: impl FnOnce(&mut Source<'_>, Table<'_, '_>) -> Option<T>,
) -> Result<T, Problems> {
    let mut source = Source::new(path, text);
    let (root, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let line = source.line(error.span().unwrap_or(0..0));
        let message: Vec<&str> = error.message().lines().collect();
        source.problem(line, format!("not TOML: {}", message.join(", ")));
    }
    let root = root.into_inner();
    let read = match source.has_problems() {
        true => None,
        false => read(&mut source, Table::new("", 1, &root)),
    };
    // A schema that was not read has a problem.
    source.finish(()).map(|()| read.expect("a schema without problems was read"))
}

fn read_protocol(source: &mut Source<'_>, path: &str, mut root: Table<'_, '_>) -> Option<Protocol> {
    let mut table = root.table(source, "protocol")?;
    let name = table.text(source, "name");
    // The page has this name.
    if name.contains('/') {
        table.refuse_value(source, "name", format!("name '{name}' must have no '/'"));
    }
    let module = table.text(source, "module");
    identifier(source, &table, "module", &module, is_snake);
    let title = table.text(source, "title");
    let version = table.text(source, "version");
    let specification = table.text(source, "specification");
    let byte_order = table.text(source, "byte_order");
    if !["big", "little"].contains(&byte_order.as_str()) {
        table.refuse(source, format!("byte order '{byte_order}' must be 'big' or 'little'"));
    }
    let tag_offset = table.optional_count(source, "tag_offset").unwrap_or(0);
    let shared = table.texts(source, "shared").into_iter().map(|(_, name)| name).collect();

    let mut enumerations = Vec::new();
    for table in root.tables(source, "enumeration") {
        enumerations.push(read_enumeration(source, table));
    }
    let code_lists =
        root.tables(source, "code_list").into_iter().map(|t| read_code_list(source, t)).collect();
    let mut protocol = Protocol {
        path: path.into(),
        name,
        module,
        title,
        version,
        specification,
        is_little_endian: byte_order == "little",
        tag_offset,
        head: Vec::new(),
        shared,
        enumerations,
        code_lists,
        messages: Vec::new(),
        structures: Vec::new(),
    };
    for field in table.tables(source, "head") {
        protocol.head.extend(read_field(source, &protocol, "head", field));
    }
    table.finish(source);
    for message in root.tables(source, "message") {
        let layout = read_layout(source, &protocol, message, true);
        protocol.messages.extend(layout);
    }
    for structure in root.tables(source, "structure") {
        let layout = read_layout(source, &protocol, structure, false);
        protocol.structures.extend(layout);
    }
    root.finish(source);
    Some(protocol)
}

fn read_enumeration(source: &mut Source<'_>, mut table: Table<'_, '_>) -> Enumeration {
    let name = table.text(source, "name");
    table.call(format!("enumeration '{name}'"));
    identifier(source, &table, "name", &name, is_camel);
    let doc = table.text(source, "doc");
    let line = table.line();
    let mut codes = Vec::new();
    for mut entry in table.tables(source, "codes") {
        let text = entry.text(source, "code");
        let name = entry.text(source, "name");
        identifier(source, &entry, "name", &name, is_camel);
        let doc = entry.text(source, "doc");
        match text.as_bytes() {
            &[byte] => codes.push((entry.line(), Code { byte, name, doc })),
            _ => entry.refuse(
                source,
                format!("code '{text}' is {} bytes wide; a code is one byte", text.len()),
            ),
        }
        entry.finish(source);
    }
    check::codes(source, &name, &codes);
    table.finish(source);
    Enumeration { line, name, doc, codes: codes.into_iter().map(|(_, code)| code).collect() }
}

fn read_code_list(source: &mut Source<'_>, mut table: Table<'_, '_>) -> CodeList {
    let name = table.text(source, "name");
    table.call(format!("code list '{name}'"));
    let doc = table.text(source, "doc");
    let width = table.count(source, "width").unwrap_or(usize::MAX);
    let mut codes: Vec<String> = Vec::new();
    for (line, code) in table.texts(source, "codes") {
        if code.is_empty() || code.len() > width || !code.is_ascii() {
            let text = format!("code list '{name}': code '{code}' is not 1 to {width} bytes wide");
            source.problem(line, text);
        }
        if codes.contains(&code) {
            source.problem(line, format!("code list '{name}': code '{code}' is listed twice"));
        }
        codes.push(code);
    }
    table.finish(source);
    CodeList { name, doc, width, codes }
}

fn read_layout(
    source: &mut Source<'_>,
    protocol: &Protocol,
    mut table: Table<'_, '_>,
    is_message: bool,
) -> Option<Layout> {
    let name = table.text(source, "name");
    let tag_text = if is_message {
        Some(table.text(source, "tag"))
    } else {
        table.optional_text(source, "tag")
    };
    let subject = match &tag_text {
        Some(tag) if is_message => format!("message '{tag}'"),
        _ => format!("structure '{name}'"),
    };
    table.call(subject.clone());
    identifier(source, &table, "name", &name, is_camel);
    let tag = match tag_text.as_deref().map(str::as_bytes) {
        None => None,
        Some(&[byte]) => Some(byte),
        Some(_) => {
            table.refuse(source, "the tag must be one byte");
            None
        }
    };
    let title = table.text(source, "title");
    let doc = table.text(source, "doc");
    let length = table.count(source, "length");
    let mut fields = Vec::new();
    let mut all_read = true;
    for entry in table.tables(source, "fields") {
        match read_field(source, protocol, &subject, entry) {
            Some(field) => fields.push(field),
            None => all_read = false,
        }
    }
    let line = table.line();
    table.finish(source);
    let tag_offset = if is_message { protocol.tag_offset } else { 0 };
    if is_message {
        fields.splice(0..0, protocol.head.iter().cloned());
    }
    fields.sort_by_key(|field| field.offset);
    let length = length?;
    // With a field missing, the arithmetic would report the same mistake again.
    (all_read && (tag.is_some() || !is_message)).then_some(Layout {
        line,
        is_message,
        tag,
        tag_offset,
        name,
        title,
        doc,
        length,
        fields,
    })
}

fn read_field(
    source: &mut Source<'_>,
    protocol: &Protocol,
    owner: &str,
    mut table: Table<'_, '_>,
) -> Option<Field> {
    let name = table.text(source, "name");
    table.call(format!("{owner} field '{name}'"));
    identifier(source, &table, "name", &name, is_snake);
    let offset = table.count(source, "offset");
    let type_name = table.text(source, "type");
    let kind = match protocol.enumeration(&type_name) {
        Some(_) => Some(FieldType::Enumeration(type_name.clone())),
        None => FieldType::named(&type_name),
    };
    if kind.is_none() && !type_name.is_empty() {
        let text = format!("unknown type '{type_name}', and no enumeration has that name");
        table.refuse(source, text);
    }
    let doc = table.text(source, "doc");
    let codes = table.optional_text(source, "codes");
    if let Some(codes) = &codes
        && !protocol.code_lists.iter().any(|list| list.name == *codes)
    {
        table.refuse(source, format!("unknown code list '{codes}'"));
    }
    let most = table.optional_count(source, "most");
    let line = table.line();
    table.finish(source);
    Some(Field { line, name, offset: offset?, kind: kind?, doc, codes, most })
}
