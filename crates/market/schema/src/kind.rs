//! A schema of any kind. The name of its first table is the kind.

use crate::{
    Interface, Load, Problems, Protocol, ValueSchema, interface, read,
    reader::{Source, Table},
    value,
};

/// One schema file, of any kind.
#[derive(Clone, Debug)]
pub enum Schema {
    /// Messages that others have defined: `[protocol]`.
    Protocol(Protocol),
    /// Calls that are messages: `[interface]`.
    Interface(Interface),
    /// What the words of a map's values mean: `[value]`.
    Value(ValueSchema),
}

/// Reads the schema `text`, of any kind; `path` is its name in problems. It must not include
/// another one.
pub fn read_any(path: &str, text: &str) -> Result<Schema, Problems> {
    read_any_with(path, text, &mut read::no_file)
}

/// The same; `load` returns the texts of included schemas.
pub fn read_any_with(path: &str, text: &str, load: Load<'_>) -> Result<Schema, Problems> {
    read::parse(path, text, |source, root| {
        if root.has("protocol") && !is_ours(&root) {
            return read::protocol(source, path, root, load).map(Schema::Protocol);
        }
        ours(source, path, root, "table [interface], [value] or [protocol] is missing")
    })
}

/// Reads the schema `text` of an interface or a value, whose versions are ours; `path` is its name
/// in problems.
pub fn read_ours(path: &str, text: &str) -> Result<Schema, Problems> {
    read::parse(path, text, |source, root| {
        ours(source, path, root, "table [interface] or [value] is missing")
    })
}

fn is_ours(root: &Table<'_, '_>) -> bool {
    root.has("interface") || root.has("value")
}

fn ours(source: &mut Source<'_>, path: &str, root: Table<'_, '_>, missing: &str) -> Option<Schema> {
    if root.has("interface") {
        return interface::read(source, path, root).map(Schema::Interface);
    }
    if root.has("value") {
        return value::read(source, path, root).map(Schema::Value);
    }
    source.problem(1, missing);
    None
}

/// Reads the schema `text` of an interface; `path` is its name in problems.
pub fn read_interface(path: &str, text: &str) -> Result<Interface, Problems> {
    read::parse(path, text, |source, root| interface::read(source, path, root))
}

/// Reads the schema `text` of a value; `path` is its name in problems.
pub fn read_value(path: &str, text: &str) -> Result<ValueSchema, Problems> {
    read::parse(path, text, |source, root| value::read(source, path, root))
}
