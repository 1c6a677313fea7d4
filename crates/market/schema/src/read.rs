//! Reads a schema from TOML: names, types and references. `check` does the byte arithmetic.

mod codes;
mod includes;
mod layouts;

use toml::de::DeTable;

use crate::{
    FieldType, Problems, Protocol, Role, TagKind, check,
    names::{identifier, is_snake},
    reader::{Source, Table},
};

/// Returns the text of a schema that another one includes, by its path; or why it cannot.
pub type Load<'l> = &'l mut dyn FnMut(&str) -> Result<String, String>;

/// Reads the schema `text` of a protocol; `path` is its name in problems. It must not include
/// another one: [`read_any_with`](crate::read_any_with) reads those.
pub fn read(path: &str, text: &str) -> Result<Protocol, Problems> {
    parse(path, text, |source, root| protocol(source, path, root, &mut no_file))
}

/// Refuses every included schema.
pub(crate) fn no_file(_: &str) -> Result<String, String> {
    Err("no other file is read here".into())
}

/// Reads and checks a protocol.
pub(crate) fn protocol(
    source: &mut Source<'_>,
    path: &str,
    root: Table<'_, '_>,
    load: Load<'_>,
) -> Option<Protocol> {
    let protocol = read_protocol(source, path, root, load)?;
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

fn read_protocol(
    source: &mut Source<'_>,
    path: &str,
    mut root: Table<'_, '_>,
    load: Load<'_>,
) -> Option<Protocol> {
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
    let mut protocol = Protocol {
        path: path.into(),
        name,
        module,
        title,
        version,
        specification,
        is_little_endian: byte_order == "little",
        tag_offset: table.optional_count(source, "tag_offset").unwrap_or(0),
        tag_kind: tag_kind(source, &mut table),
        grows: grows(source, &mut table),
        head: Vec::new(),
        shared: table.texts(source, "shared").into_iter().map(|(_, name)| name).collect(),
        enumerations: Vec::new(),
        code_lists: Vec::new(),
        bits: Vec::new(),
        messages: Vec::new(),
        structures: Vec::new(),
        entries: Vec::new(),
        includes: Vec::new(),
    };
    let mut included = Vec::new();
    for table in root.tables(source, "include") {
        included.extend(includes::include(source, &mut protocol, table, load));
    }
    for table in root.tables(source, "enumeration") {
        protocol.enumerations.push(codes::enumeration(source, table));
    }
    for table in root.tables(source, "code_list") {
        protocol.code_lists.push(codes::code_list(source, table));
    }
    for table in root.tables(source, "bits") {
        protocol.bits.extend(codes::bit_set(source, table));
    }
    for field in table.tables(source, "head") {
        protocol.head.extend(layouts::field(source, &protocol, "head", field));
    }
    table.finish(source);
    begin_after_the_head(&mut protocol);
    for include in included {
        includes::add(source, &mut protocol, include);
    }
    for (key, role) in [
        ("group_header", Role::GroupHeader),
        ("structure", Role::Structure),
        ("entry", Role::Entry),
        ("message", Role::Message),
    ] {
        for table in root.tables(source, key) {
            let layout = layouts::layout(source, &protocol, table, role);
            match role {
                Role::Message => protocol.messages.extend(layout),
                Role::Entry => protocol.entries.extend(layout),
                Role::Structure | Role::GroupHeader => protocol.structures.extend(layout),
            }
        }
    }
    root.finish(source);
    Some(protocol)
}

fn tag_kind(source: &mut Source<'_>, table: &mut Table<'_, '_>) -> TagKind {
    let Some(name) = table.optional_text(source, "tag_type") else { return TagKind::Char };
    let kind = TagKind::ALL.into_iter().find(|kind| kind.name() == name);
    kind.unwrap_or_else(|| {
        let text = format!("tag type '{name}' must be one of {}", TagKind::NAMES.join(", "));
        table.refuse_value(source, "tag_type", text);
        TagKind::Char
    })
}

fn grows(source: &mut Source<'_>, table: &mut Table<'_, '_>) -> bool {
    let Some(growth) = table.optional_text(source, "growth") else { return false };
    if growth != "at_end" {
        let text = format!("growth '{growth}' must be 'at_end', or missing");
        table.refuse_value(source, "growth", text);
    }
    true
}

/// The block of a message begins after the fields of the head and the type.
fn begin_after_the_head(protocol: &mut Protocol) {
    let tag_end = protocol.tag_offset + protocol.tag_kind.width();
    let ends = protocol.head.iter().filter_map(|field| field.end());
    let from = ends.chain([tag_end]).max().unwrap_or_default();
    for field in &mut protocol.head {
        if field.kind == FieldType::BlockLength(0) {
            field.kind = FieldType::BlockLength(from);
        }
    }
}
