//! What schemas have in common whose versions are ours: the head of an interface or a value, and
//! the fields that a later version can add.

use crate::{
    Field, FieldType, Literal,
    names::{identifier, is_camel, is_path, is_snake},
    reader::{Source, Table},
};

/// A file that is generated from an interface or a value.
#[derive(Clone, Debug)]
pub struct Target {
    /// Line of its path in the schema.
    pub line: usize,
    /// Its path, below the folder of the command.
    pub path: String,
}

/// A field of a method, or of a value.
#[derive(Clone, Debug)]
pub struct MethodField {
    /// Its bytes, name, type and meaning.
    pub field: Field,
    /// The unit of its value.
    pub unit: Option<String>,
    /// The first version with this field.
    pub since: usize,
    /// The value in bytes of an earlier version.
    pub default: Option<Literal>,
    /// The value that every writer writes. Readers ignore the field.
    pub constant: Option<Literal>,
}

/// The keys that an interface and a value both have.
pub(crate) struct Head {
    pub(crate) line: usize,
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) doc: String,
    pub(crate) version: usize,
    pub(crate) runtime: String,
    pub(crate) output: Target,
    pub(crate) document: Option<Target>,
}

/// Reads them; `runtime` is the crate of the macro, and `example` another path of it.
pub(crate) fn head(
    source: &mut Source<'_>,
    table: &mut Table<'_, '_>,
    runtime: &str,
    example: &str,
) -> Head {
    let name = table.text(source, "name");
    identifier(source, table, "name", &name, is_camel);
    let title = table.text(source, "title");
    let doc = table.text(source, "doc");
    let version = table.optional_count(source, "version").unwrap_or(1);
    let stated = table.optional_text(source, "runtime");
    let runtime = stated.unwrap_or_else(|| runtime.into());
    if !is_path(&runtime) {
        let text = format!("runtime '{runtime}' must be a path of Rust, such as {example}");
        table.refuse_value(source, "runtime", text);
    }
    let output = table.text(source, "output");
    let output = target(source, table, "output", ".rs", output);
    let document = table.optional_text(source, "document");
    let document = document.map(|path| target(source, table, "document", ".md", path));
    Head { line: table.line(), name, title, doc, version, runtime, output, document }
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

/// The types that fields can have.
pub(crate) struct FieldTypes {
    pub(crate) named: fn(&str) -> Option<FieldType>,
    pub(crate) all: fn() -> Vec<String>,
}

/// Reads the keys of a field that a later version can add. The caller reads the others, and
/// finishes the table.
pub(crate) fn added_field(
    source: &mut Source<'_>,
    owner: &str,
    since: usize,
    table: &mut Table<'_, '_>,
    types: &FieldTypes,
) -> Option<MethodField> {
    let name = table.text(source, "name");
    table.call(format!("{owner} field '{name}'"));
    identifier(source, table, "name", &name, is_snake);
    let offset = table.count(source, "offset");
    let type_name = table.text(source, "type");
    let kind = (types.named)(&type_name);
    if kind.is_none() && !type_name.is_empty() {
        let types = (types.all)().join(", ");
        let text = format!("unknown type '{type_name}', expected one of {types}");
        table.refuse_value(source, "type", text);
    }
    let doc = table.text(source, "doc");
    let unit = table.optional_text(source, "unit");
    let since = table.optional_count(source, "since").unwrap_or(since);
    let default = table.optional_value(source, "default");
    let line = table.line();
    let (codes, most, null, is_optional) = (None, None, None, false);
    let (offset, kind) = (offset?, kind?);
    let field = Field { line, name, offset, kind, doc, codes, most, null, is_optional };
    Some(MethodField { field, unit, since, default, constant: None })
}
